"""Practice in the real layout, with feedback that says why. Nothing in it counts."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from evalsite.annotation.models import Annotation
from evalsite.annotation.pages.feedback import explain_answers
from evalsite.annotation.pages.forms import RatingForm, read_circumstances
from evalsite.annotation.pages.next_step import entry_step, next_practice
from evalsite.annotation.pages.saving import Submission, submit_annotation
from evalsite.annotation.pages.screens import Screen, answered_screen, entered_values, load_screen
from evalsite.annotation.pages.shown_screens import as_shown
from evalsite.annotation.pages.signed_state import Shown, read_shown
from evalsite.annotation.pages.view_models import Progress
from evalsite.lib.clock import now
from evalsite.participants.access import address, page_context, participant_page, unknown_link
from evalsite.participants.models import Participant
from evalsite.studies.gold import find_gold
from evalsite.studies.models import Item


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def practice(request: HttpRequest, me: Participant, number: int) -> HttpResponse:
    """One practice item: asked, then explained. The first answer given is the one that is kept."""
    items = list(Item.objects.practice().filter(study=me.study))
    if not 1 <= number <= len(items):
        return unknown_link(request)
    step = entry_step(me)
    is_for_practice = step is None or step.name == "participant-practice"
    if me.study.is_qualification_on or not is_for_practice:
        return redirect(address(request, "participant-home"))
    item = items[number - 1]
    annotation = (
        Annotation.objects.filter(participant=me, item=item).prefetch_related("ratings").first()
    )
    frame = _frame(request, me, number, len(items))
    if annotation is not None:
        return _explain(request, me, item, annotation, frame)
    screen = load_screen(me, item, None)
    if request.method == "POST":
        return _check(request, me, screen, frame)
    return _ask(request, me, screen, frame)


def _frame(request: HttpRequest, me: Participant, number: int, total: int) -> dict[str, Any]:
    is_last = number == total
    return frame_of(request, me, number, total) | {
        "frame": "annotation/practice.html",
        "is_checked": False,
        "next_url": "" if is_last else address(request, "participant-practice", number + 1),
        "start_url": address(request, "participant-start"),
        "next_label": "Start rating" if is_last else "Next practice item",
    }


def frame_of(request: HttpRequest, me: Participant, number: int, total: int) -> dict[str, Any]:
    """What stands around an item that is answered outside a set."""
    config = me.study.config
    return page_context(request, me) | {
        "layout": config.layout.style,
        "number": number,
        "total": total,
        "place": number,
        "errors": [],
        "progress": Progress(number - 1, total),
        "aids_script": config.aids_script,
        # nothing to ignore, to mark or to report here
        "is_practice": True,
    }


def _ask(
    request: HttpRequest, me: Participant, screen: Screen, frame: dict[str, Any]
) -> HttpResponse:
    context = frame | {
        "item": screen.view({}),
        "state": as_shown(me, screen).sign(),
    }
    return render(request, me.study.config.item_template, context)


def _check(
    request: HttpRequest, me: Participant, screen: Screen, frame: dict[str, Any]
) -> HttpResponse:
    form = read_form(request, screen)
    shown = read_shown(request.POST.get("state"))
    if shown is None or (shown.participant_id, shown.item_id) != (me.pk, screen.item.pk):
        return unknown_link(request)
    if not form.is_valid():
        context = frame | {
            "item": screen.view(form.entered, form.first_errors),
            "errors": list(form.first_errors.items()),
            "state": shown.sign(),
            "status": "Look at what is marked, then check again",
        }
        return render(request, me.study.config.item_template, context, status=422)
    submit_annotation(participant=me, submission=read_submission(request, screen, shown, form))
    if next_practice(me) is None:
        Participant.objects.filter(pk=me.pk).update(practised_at=now())
    return redirect(request.path)


def read_form(request: HttpRequest, screen: Screen) -> RatingForm:
    """What was posted from a page that asks what this screen asks."""
    return RatingForm(
        request.POST,
        config=screen.study.config,
        outputs=len(screen.outputs),
        criteria=screen.criteria,
    )


def read_submission(
    request: HttpRequest, screen: Screen, shown: Shown, form: RatingForm
) -> Submission:
    """A valid form as what is submitted, outside any set."""
    return Submission(
        item=screen.item,
        values=form.values(screen.output_ids),
        note=form.cleaned_data.get("note", ""),
        version_id=shown.version_id,
        order_shown=tuple(screen.order),
        is_aided=shown.is_aided,
        started_at=shown.shown_at,
        **read_circumstances(request.POST),
    )


def _explain(
    request: HttpRequest,
    me: Participant,
    item: Item,
    annotation: Annotation,
    frame: dict[str, Any],
) -> HttpResponse:
    screen = answered_screen(annotation, me.study)
    context = frame | {
        "item": screen.view(entered_values(screen, annotation), is_disabled=True),
        "is_checked": True,
        "progress": Progress(frame["number"], frame["total"]),
        "feedback": explain_answers(screen, annotation),
        # with one criterion the page says which one it is
        "names_criteria": len(screen.criteria) > 1,
        "has_gold": bool(find_gold(me.study.config, item.gold)),
        "why": item.gold.get("why", ""),
    }
    return render(request, me.study.config.item_template, context)
