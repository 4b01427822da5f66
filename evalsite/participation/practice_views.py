"""Practice in the real layout, with feedback that says why. Nothing in it counts."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from evalsite.handout.models import Annotation
from evalsite.instruments.answer import AnswerRow
from evalsite.lib.clock import now
from evalsite.participation.entry_views import describe_place
from evalsite.participation.feedback import explain_answers
from evalsite.participation.forms import RatingForm, ShownForm, read_circumstances
from evalsite.participation.next_step import entry_step, next_practice
from evalsite.participation.saving import Submission, submit_annotation
from evalsite.participation.screens import Screen, answered_screen, entered_values, load_screen
from evalsite.participation.shown_screens import Shown, as_shown, read_shown
from evalsite.participation.view_models import ItemView, Progress, add_feedback
from evalsite.people.access import address, page_context, participant_page, unknown_link
from evalsite.people.models import Participant
from evalsite.people.visits import find_visit
from evalsite.studies.models import Item


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def practice(request: HttpRequest, participant: Participant, number: int) -> HttpResponse:
    """Ask a practice item, then explain it. The first answer is the one that is kept.

    It may be tried again after that. Such an answer is explained from the address, and not stored.
    """
    items = list(Item.objects.practice().filter(study=participant.study))
    if not 1 <= number <= len(items):
        return unknown_link(request)
    step = entry_step(participant)
    is_for_practice = step is None or step.name == "participant-practice"
    if participant.study.is_qualification_on or not is_for_practice:
        return redirect(address(request, "participant-home"))
    if ShownForm(request.POST).read("go") == "skip" and _may_skip(participant):
        _end_practice(participant)
        return redirect(address(request, "participant-home"))
    item = items[number - 1]
    annotation = (
        Annotation.objects.filter(participant=participant, item=item)
        .prefetch_related("ratings")
        .first()
    )
    frame = _frame(request, participant, number, len(items))
    if annotation is not None and not participant.may_reopen(annotation.visit_id):
        return redirect(address(request, "participant-home"))
    if annotation is not None:
        if "again" in request.GET:
            return _try_again(
                request, participant, answered_screen(annotation, participant.study), frame
            )
        return _explain(request, participant, annotation, frame)
    screen = load_screen(participant, item, None)
    if request.method == "POST":
        return _check(request, participant, screen, frame)
    return _ask(request, participant, screen, frame)


def _may_skip(participant: Participant) -> bool:
    """Return whether this person is somebody whom the team knows, and may know the task."""
    visit = find_visit(participant)
    return visit is not None and visit.recruitment.adapter.has_personal_links


def _frame(
    request: HttpRequest, participant: Participant, number: int, total: int
) -> dict[str, Any]:
    is_last = number == total
    config = participant.study.config
    return frame_of(request, participant, number, total) | {
        "has_highlight": config.has_highlight,
        "highlight_hint": config.highlight,
        "frame": "participation/practice.html",
        "is_checked": False,
        "may_skip": _may_skip(participant),
        "next_url": "" if is_last else address(request, "participant-practice", number + 1),
        "start_url": address(request, "participant-start"),
        "next_label": _("Start rating") if is_last else _("Next item"),
    }


def frame_of(
    request: HttpRequest, participant: Participant, number: int, total: int
) -> dict[str, Any]:
    """Return the context around an item that is answered outside a set."""
    config = participant.study.config
    return page_context(request, participant) | {
        "layout": config.layout,
        "number": number,
        "total": total,
        "place": number,
        "errors": [],
        "progress": Progress(number - 1, total),
        **describe_place(request, participant),
        "aids_script": config.aids_script,
        "help_label": config.help_label,
        # nothing to ignore or to report here
        "is_practice": True,
    }


def _ask(
    request: HttpRequest, participant: Participant, screen: Screen, frame: dict[str, Any]
) -> HttpResponse:
    context = frame | {
        "item": screen.view({}, with_marks=True),
        "state": as_shown(participant, screen).sign(),
    }
    return render(request, participant.study.config.item_template, context)


def _check(
    request: HttpRequest, participant: Participant, screen: Screen, frame: dict[str, Any]
) -> HttpResponse:
    form = screen.make_form(request.POST)
    shown = read_shown(ShownForm(request.POST).read("state"))
    if shown is None or (shown.participant_id, shown.item_id) != (participant.pk, screen.item.pk):
        return unknown_link(request)
    if not form.is_valid():
        context = frame | {
            "item": screen.view(form.entered, form.first_errors, with_marks=True),
            "errors": list(form.first_errors.items()),
            "state": shown.sign(),
            "status": _("Fix what is marked, then check again"),
        }
        return render(request, participant.study.config.item_template, context, status=422)
    submit_annotation(participant=participant, submission=read_submission(screen, shown, form))
    if next_practice(participant) is None:
        _end_practice(participant)
    return redirect(request.path)


def _end_practice(participant: Participant) -> None:
    Participant.objects.filter(pk=participant.pk, practised_at=None).update(practised_at=now())


def _try_again(
    request: HttpRequest, participant: Participant, screen: Screen, frame: dict[str, Any]
) -> HttpResponse:
    """Ask an item that has been explained once more, then explain the new answer."""
    frame |= {"is_again": True, "may_skip": False}
    if request.method == "POST":
        form = screen.make_form(request.POST, with_marks=False)
        if form.is_valid():
            return redirect(f"{request.path}?{urlencode({'again': 'checked'} | form.entered)}")
        errors = form.first_errors
        context = frame | {
            "item": screen.view(form.entered, errors),
            "errors": list(errors.items()),
            "status": _("Fix what is marked, then check again"),
        }
        return render(request, participant.study.config.item_template, context, status=422)
    if request.GET["again"] == "checked":
        form = screen.make_form(request.GET, with_marks=False)
        if form.is_valid():
            view = screen.view(form.entered, is_disabled=True)
            rows = form.list_rows(screen.item.pk)
            return _show_verdict(request, screen, view, rows, frame)
    return render(
        request, participant.study.config.item_template, frame | {"item": screen.view({})}
    )


def read_submission(screen: Screen, shown: Shown, form: RatingForm) -> Submission:
    """Return what a valid form submits, outside any set."""
    return Submission(
        item=screen.item,
        rows=form.list_rows(screen.item.pk),
        note=form.cleaned_data.get("note", ""),
        version_id=shown.version_id,
        order_shown=tuple(screen.order),
        is_aided=shown.is_aided,
        started_at=shown.shown_at,
        **read_circumstances(form.data),
    )


def _explain(
    request: HttpRequest, participant: Participant, annotation: Annotation, frame: dict[str, Any]
) -> HttpResponse:
    screen = answered_screen(annotation, participant.study)
    entered = entered_values(screen, annotation)
    view = screen.view(entered, is_disabled=True, with_marks=True)
    return _show_verdict(request, screen, view, annotation.list_rows(), frame)


def _show_verdict(
    request: HttpRequest,
    screen: Screen,
    view: ItemView,
    rows: Iterable[AnswerRow],
    frame: dict[str, Any],
) -> HttpResponse:
    feedback = explain_answers(screen, rows)
    why = screen.item.gold.get("why", "")
    if len(feedback) == 1:  # then the reason goes with the only verdict
        feedback, why = [replace(feedback[0], why=why)], ""
    met = sum(line.is_met for line in feedback)
    if feedback:
        status = _("Agreed on %(met)s of %(asked)s") % {"met": met, "asked": len(feedback)}
    else:
        status = _("There is no single right answer here.")
    context = frame | {
        "item": add_feedback(view, feedback),
        "is_checked": True,
        "may_try_again": met < len(feedback),
        "has_highlight": False,
        "progress": Progress(frame["number"], frame["total"]),
        "status": status,
        "why": why,
    }
    return render(request, screen.study.config.item_template, context)
