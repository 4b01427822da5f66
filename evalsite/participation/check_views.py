"""The check of the instructions, and its last page for those who missed it twice."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from evalsite.participation.forms import ComprehensionForm, ShownForm
from evalsite.participation.instructions_check import answer_check, explain_check
from evalsite.participation.next_step import Step, entry_step
from evalsite.participation.qualification import Score
from evalsite.people.access import address, page_context, participant_page
from evalsite.people.models import Participant
from evalsite.studies.qualification import TRIES, Plan


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def check(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Ask all questions; at the second try what was right stays chosen."""
    attempt = participant.check_tries + 1
    is_asked = entry_step(participant) == Step("instructions-check")
    is_other_try = ShownForm(request.POST).read("attempt") != str(attempt)
    if not is_asked or (request.method == "POST" and is_other_try):
        return redirect(address(request, "participant-home"))
    results = explain_check(participant) if participant.later_visit_id is None else []
    data = request.POST if request.method == "POST" else None
    form = ComprehensionForm(data, config=participant.study.config, results=results)
    if form.is_bound and form.is_valid():
        answer_check(participant=participant, answers=form.answers, attempt=attempt)
        return redirect(address(request, "participant-home"))
    asked = len(form.questions)
    met = sum(result.is_met for result in results)
    context = page_context(request, participant) | {
        "attempt": attempt,
        "plan": Plan(screens=asked, asked=asked, needed=asked, is_on_instructions=True),
        "is_last_try": attempt == TRIES,
        "questions": form.questions,
        "wrong": [question for question in form.questions if question["given_wrong"]],
        "score": Score(met, asked, asked) if results else None,
        "errors": [question for question in form.questions if question["error"]],
    }
    status = 422 if form.errors else 200
    return render(request, "participation/qualification_questions.html", context, status=status)


@participant_page
@require_safe
def missed(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Thank people who didn't come from a platform and missed the check twice."""
    if entry_step(participant) != Step("instructions-missed"):
        return redirect(address(request, "participant-home"))
    return render(
        request, "participation/instructions_missed.html", page_context(request, participant)
    )
