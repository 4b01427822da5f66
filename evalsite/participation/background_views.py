"""Questions about a person after their work, which they may leave out."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from evalsite.people.access import (
    address,
    first_link_only,
    page_context,
    participant_page,
)
from evalsite.people.forms import BackgroundForm
from evalsite.people.models import Answer, Participant
from evalsite.people.services import finished_sets, has_agreed, record_answers
from evalsite.studies.questions import AFTER, list_background


@participant_page
@first_link_only
@require_http_methods(["GET", "HEAD", "POST"])
def background(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Ask after a finished set; what was answered may be changed or emptied here later."""
    questions = list_background(participant.study)
    if not questions or not has_agreed(participant) or not finished_sets(participant):
        return redirect(address(request, "participant-home"))
    rows = Answer.objects.filter(participant=participant, question__startswith=AFTER)
    stored = {
        name.removeprefix(AFTER): value for name, value in rows.values_list("question", "value")
    }
    data = request.POST if request.method == "POST" else None
    form = BackgroundForm(data, questions=questions, answers=stored)
    if form.is_bound and form.is_valid():
        answers = {AFTER + key: value for key, value in form.answers.items()}
        rows.filter(question__in=[name for name, value in answers.items() if not value]).delete()
        kept = {name: value for name, value in answers.items() if value}
        record_answers(participant=participant, answers=kept)
        return redirect(address(request, "participant-finish") + "?background=saved")
    shown = form.rows()
    errors = [(row["key"], row["error"]) for row in shown if row["error"]]
    context = page_context(request, participant) | {
        "questions": shown,
        "error_list": errors,
        "is_paid": participant.study.pay_per_set is not None,
    }
    status = 422 if errors else 200
    return render(request, "people/background.html", context, status=status)
