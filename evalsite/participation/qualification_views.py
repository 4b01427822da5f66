"""The qualification: announced, asked without feedback, explained to those who pass."""

from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from evalsite.handout.models import Annotation
from evalsite.instruments.questions import group_questions
from evalsite.lib.clock import now
from evalsite.participation.forms import ComprehensionForm, ShownForm
from evalsite.participation.next_step import entry_step
from evalsite.participation.practice_views import frame_of, read_submission
from evalsite.participation.qualification import (
    Explained,
    answer_item,
    answer_questions,
    current_try,
    decide_try,
    explain_questions,
    explain_try,
    has_begun,
    next_to_qualify,
    score_of,
)
from evalsite.participation.screens import Screen, entered_values, load_screen
from evalsite.participation.shown_screens import as_shown, read_shown
from evalsite.people.access import address, page_context, participant_page, unknown_link
from evalsite.people.models import Participant
from evalsite.studies.qualification import TRIES, list_qualifying, plan_qualification

_ASKING = ("participant-qualification", "qualification-item", "qualification-questions")


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def qualification(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Say what will be asked and what it takes to pass, and how the first try went."""
    plan = plan_qualification(participant.study)
    if plan is None or plan.is_on_instructions or not _is_asked(participant):
        return go_home(request)
    if request.method == "POST":
        number = next_to_qualify(participant)
        if number is None:
            decide_try(participant=participant)
            return go_home(request)
        return redirect(address(request, "qualification-item", number))
    context = page_context(request, participant) | {
        "plan": plan,
        "tries": TRIES,
        "is_last_try": current_try(participant) == TRIES,
        "score": score_of(participant)
        if participant.tries and not has_begun(participant)
        else None,
    }
    return render(request, "participation/qualification.html", context)


def _is_asked(participant: Participant) -> bool:
    """Return whether the qualification is what comes next for this person."""
    step = entry_step(participant)
    return step is not None and step.name in _ASKING


def go_home(request: HttpRequest) -> HttpResponse:
    return redirect(address(request, "participant-home"))


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def qualification_item(request: HttpRequest, participant: Participant, number: int) -> HttpResponse:
    """Ask an item in the real layout, once in each try and without an explanation."""
    items = list_qualifying(participant.study)
    if not 1 <= number <= len(items):
        return unknown_link(request)
    if not _is_asked(participant):
        return go_home(request)
    item, attempt = items[number - 1], current_try(participant)
    if Annotation.objects.filter(participant=participant, item=item, place=attempt).exists():
        return go_home(request)
    screen = load_screen(participant, item, None)
    frame = frame_of(request, participant, number, len(items)) | {
        "frame": "participation/qualification_item.html"
    }
    if request.method == "POST":
        return _take_item(request, participant, screen, frame)
    shown = replace(as_shown(participant, screen), set_number=attempt)
    context = frame | {"item": screen.view({}), "state": shown.sign()}
    return render(request, participant.study.config.item_template, context)


def _take_item(
    request: HttpRequest, participant: Participant, screen: Screen, frame: dict[str, Any]
) -> HttpResponse:
    shown = read_shown(ShownForm(request.POST).read("state"))
    if shown is None or (shown.participant_id, shown.item_id) != (participant.pk, screen.item.pk):
        return unknown_link(request)
    if shown.set_number != current_try(participant):
        # from an earlier try, in another tab
        return go_home(request)
    form = screen.make_form(request.POST, with_marks=False)
    if not form.is_valid():
        context = frame | {
            "item": screen.view(form.entered, form.first_errors),
            "errors": list(form.first_errors.items()),
            "state": shown.sign(),
            "status": _("Fix what is marked, then continue"),
        }
        return render(request, participant.study.config.item_template, context, status=422)
    submission = read_submission(screen, shown, form)
    answer_item(participant=participant, submission=submission, attempt=shown.set_number)
    return go_home(request)


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def qualification_questions(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Ask the questions on the instructions; at the second try those that were wrong again."""
    plan = plan_qualification(participant.study)
    if plan is None or not plan.is_on_instructions or not _is_asked(participant):
        return go_home(request)
    attempt = current_try(participant)
    if request.method == "POST" and ShownForm(request.POST).read("attempt") != str(attempt):
        return go_home(request)
    results = explain_questions(participant) if participant.later_visit_id is None else []
    form = ComprehensionForm(
        request.POST if request.method == "POST" else None,
        config=participant.study.config,
        results=results,
    )
    if form.is_bound and form.is_valid():
        answer_questions(participant=participant, answers=form.answers, attempt=attempt)
        return go_home(request)
    context = page_context(request, participant) | {
        "attempt": attempt,
        "plan": plan,
        "is_last_try": attempt == TRIES,
        "questions": form.questions,
        "wrong": [question for question in form.questions if question["given_wrong"]],
        "score": score_of(participant) if results else None,
        "errors": [question for question in form.questions if question["error"]],
    }
    status = 422 if form.errors else 200
    return render(request, "participation/qualification_questions.html", context, status=status)


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def suggestions(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Show people who passed every item with their answer, what is suggested, and why."""
    if not (participant.study.is_qualification_on and participant.is_qualified):
        return go_home(request)
    if request.method == "POST":
        Participant.objects.filter(pk=participant.pk, practised_at=None).update(practised_at=now())
        return redirect(address(request, "participant-start"))
    explained = [
        answer
        for answer in explain_try(participant)
        if participant.may_reopen(answer.annotation.visit_id)
    ]
    results = explain_questions(participant) if participant.later_visit_id is None else []
    context = page_context(request, participant) | {
        "score": score_of(participant),
        "explained": [_show(answer, number) for number, answer in enumerate(explained, start=1)],
        "questions": [result for result in results if not result.is_met],
        "is_read": participant.practised_at is not None,
    }
    return render(request, "participation/suggestions.html", context)


def _show(explained: Explained, number: int) -> dict[str, Any]:
    """Return an item and its answer, without the questions, which are known by now."""
    screen, config = explained.screen, explained.screen.study.config
    values = entered_values(screen, explained.annotation)
    context = {
        "frame": "participation/recalled.html",
        "item": screen.view(values, is_disabled=True),
        "id_prefix": f"item-{number}-",
        "texts": screen.content["texts"],
        "is_practice": True,
    }
    return {
        "number": number,
        "html": render_to_string(config.item_template, context),
        "feedback": explained.feedback,
        "names_criteria": len(group_questions(screen.questions)) > 1,
        "why": screen.item.gold.get("why", ""),
    }


@participant_page
@require_safe
def unqualified(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Thank people who failed both tries, and say what it means and what to do now."""
    if not participant.study.is_qualification_on or participant.is_qualified is not False:
        return go_home(request)
    context = page_context(request, participant) | {
        "score": score_of(participant),
        "plan": plan_qualification(participant.study),
    }
    return render(request, "participation/unqualified.html", context)
