"""The rating page and what belongs to it: drafts and problem reports."""

import logging
import re
from statistics import median
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from evalsite.annotation.display import NO_GROUP, Progress
from evalsite.annotation.forms import RatingForm, ReportForm, read_circumstances, read_entered
from evalsite.annotation.ignoring import ignored_items, reason_of
from evalsite.annotation.menu import asked_place, build_menu, place_after
from evalsite.annotation.models import Annotation, Draft, Slot
from evalsite.annotation.screens import (
    Screen,
    answered_screen,
    entered_values,
    load_screen,
)
from evalsite.annotation.services import (
    Saved,
    Submission,
    keep_lease,
    save_draft,
    submit_annotation,
)
from evalsite.annotation.sets import group_place, kept_until, look_over
from evalsite.annotation.state import Shown, read_shown
from evalsite.lib.clock import now
from evalsite.lib.prepared import Prepared
from evalsite.lib.rows import only
from evalsite.participants.access import address, page_context, participant_page, unknown_link
from evalsite.participants.models import ItemSet, Participant
from evalsite.participants.services import has_agreed
from evalsite.studies.bonus import say_bonus
from evalsite.studies.controls import items_per_set
from evalsite.studies.models import Item

logger = logging.getLogger(__name__)

_LONGEST_MINUTES = 10

_set_of = Prepared(
    lambda participant, number: ItemSet.objects.filter(
        participant=participant, number=number
    ).order_by()
)
_draft_of = Prepared(
    lambda participant, item: Draft.objects.filter(participant=participant, item=item)
)
_held_by = Prepared(
    lambda participant, item: Slot.objects.select_related("item").filter(
        participant=participant, item=item
    )
)
_slot_shown = Prepared(
    lambda slot, item: Slot.objects.select_related("item").filter(pk=slot, item=item)
)


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def rating_page(request: HttpRequest, me: Participant, number: int, place: int) -> HttpResponse:
    """One item of an open set. A GET changes nothing; a POST saves and goes on."""
    if request.method == "POST":
        return _save(request, me)
    if not has_agreed(me):
        return redirect(address(request, "participant-home"))
    item_set = _set_of.one(me.pk, number)
    if item_set is None or not 1 <= place <= len(item_set.item_ids):
        return unknown_link(request)
    if item_set.finished_at is not None:
        asked = request.GET.urlencode()
        return redirect(address(request, "participant-finish") + (f"?{asked}" if asked else ""))
    return _show(request, me, item_set, place)


def _show(request: HttpRequest, me: Participant, item_set: ItemSet, place: int) -> HttpResponse:
    item_id = item_set.item_ids[place - 1]
    times, groups = look_over(me, item_set)
    if item_id in item_set.lost_ids and item_id not in times:
        return redirect(address(request, "participant-home"))
    screen, values = _fill(me, item_id, is_answered=item_id in times)
    until = kept_until(me, screen, item_set, times)
    if item_id not in times and not me.is_pilot and (until is None or until < now()):
        lapsed = page_context(request, me) | {
            "start_url": address(request, "participant-start"),
            "status": Saved.words_of(request.GET.get("was", "")),
        }
        return render(request, "annotation/continue.html", lapsed)
    context = {
        **_frame(request, me, as_shown(me, screen, item_set, place)),
        "ignored": ignored_here(request, screen, item_set, place)
        or ignored_before(request, me, item_set),
        "item": screen.view(values, group=group_place(me, item_set, item_id, times, groups)),
        "note": values.get("note", ""),
        "status": Saved.words_of(request.GET.get("was", "")),
        "menu": build_menu(me, item_set, place, times),
        "progress": Progress(len(times), item_set.total),
        "minutes_left": _minutes_left(me, list(times.values()), item_set.total),
        "lease_until": until,
    }
    return render(request, me.study.config.item_template, context)


def ignored_here(
    request: HttpRequest, screen: Screen, item_set: ItemSet, place: int
) -> dict[str, Any] | None:
    """What the page of an item that this person ignored says about that; None of any other."""
    answer = screen.answer
    if answer is None or answer.outcome != Annotation.Outcome.IGNORED:
        return None
    return {
        "is_here": True,
        "reason": reason_of(screen.study.config, answer.reason),
        "undo_url": address(request, "ignore-undo", item_set.number, place),
    }


def ignored_before(
    request: HttpRequest, me: Participant, item_set: ItemSet
) -> dict[str, Any] | None:
    """What the page after an ignored item says of it, with the way back; None of any other."""
    place = request.GET.get("undo", "")
    if request.GET.get("was") != "ignored" or not re.fullmatch("[0-9]{1,5}", place):
        return None
    item_id = dict(enumerate(item_set.item_ids, start=1)).get(int(place))
    ignored = ignored_items(me, item_set)
    if item_id not in ignored:
        return None
    return {
        "place": int(place),
        "reason": reason_of(me.study.config, ignored[item_id]),
        "undo_url": address(request, "ignore-undo", item_set.number, int(place)),
    }


def _fill(me: Participant, item_id: int, *, is_answered: bool) -> tuple[Screen, dict[str, str]]:
    """The screen of an item, and what stands in its boxes: the newest of answer and draft."""
    draft = _draft_of.one(me.pk, item_id)
    if not is_answered:
        return _screen_of(me, item_id), dict(draft.values) if draft else {}
    annotation = (
        Annotation.objects.select_related("item")
        .prefetch_related("ratings")
        .get(participant=me, item_id=item_id)
    )
    screen = answered_screen(annotation, me.study)
    if draft is not None and draft.updated_at > annotation.submitted_at:
        return screen, dict(draft.values)
    return screen, entered_values(screen, annotation)


def _screen_of(me: Participant, item_id: int) -> Screen:
    slot = _held_by.one(me.pk, item_id) if not me.is_pilot else None
    item = slot.item if slot else Item.objects.get(pk=item_id)
    return load_screen(me, item, slot)


def as_shown(
    me: Participant, screen: Screen, item_set: ItemSet | None = None, place: int = 0
) -> Shown:
    """This screen as it is shown to this person at this moment."""
    return Shown(
        participant_id=me.pk,
        item_id=screen.item.pk,
        slot_id=screen.slot.pk if screen.slot else None,
        set_id=item_set.pk if item_set else None,
        set_number=item_set.number if item_set else 0,
        place=place,
        total=len(item_set.item_ids) if item_set else 0,
        version_id=me.study.version_id,
        is_aided=screen.content["settings"]["is_aided"],
        shown_at=now(),
        arrangement=screen.slot.arrangement if screen.slot else 0,
    )


def _frame(request: HttpRequest, me: Participant, shown: Shown) -> dict[str, Any]:
    """What the rating page shows around its item."""
    config = me.study.config
    state = shown.sign()
    report = address(request, "rating-report", shown.set_number, shown.place)
    ignore = address(request, "rating-ignore", shown.set_number, shown.place)
    asked = urlencode({"state": state})
    return {
        **page_context(request, me),
        "frame": "annotation/annotate.html",
        "layout": config.layout,
        "place": shown.place,
        "total": shown.total,
        "state": state,
        "errors": [],
        "has_back": shown.place > 1,
        "has_note": config.has_note,
        "has_highlight": config.has_highlight,
        "highlight_hint": config.highlight_hint,
        "note_label": config.note_label,
        "draft_url": address(request, "rating-draft"),
        "report_url": f"{report}?{asked}",
        "ignore_url": f"{ignore}?{asked}" if config.has_ignore else "",
        "protocol_script": config.script,
        "protocol_style": config.style,
        "aids_script": config.aids_script,
        "set_label": _set_label(me, shown.set_number),
        "bonus": say_bonus(me.study),
    }


def _set_label(me: Participant, number: int) -> str:
    most = me.study.max_sets
    return f"Set {number} of at most {most}" if most else ""


def _minutes_left(me: Participant, seconds: list[float], total: int) -> int:
    """From this person's own median when there are two answers, else from the protocol's guess."""
    study = me.study
    guess = (
        study.minutes_per_set / items_per_set(study)
        if study.minutes_per_set
        else study.config.minutes_per_item
    )
    # what was ignored together with another item took no time
    taken = [one for one in seconds if one >= 1]
    pace = median(taken) / 60 if len(taken) > 1 else guess
    return max(1, round(min(pace, _LONGEST_MINUTES) * (total - len(seconds))))


# --- saving ---------------------------------------------------------------------------


def load_shown(text: str | None, me: Participant) -> tuple[Shown, Screen]:
    """What this signed text says was shown; Http404 unless it was shown to this very person."""
    shown = read_shown(text)
    if shown is None or shown.participant_id != me.pk:
        logger.warning("refused a post whose state belongs to nobody or to somebody else")
        raise Http404("Nothing to save here.")
    if shown.slot_id is None:
        return shown, _load_without_slot(me, shown)
    slot = _slot_shown.one(shown.slot_id, shown.item_id)
    if slot is None:
        return shown, _load_after_its_slot(me, shown)
    return shown, load_screen(me, slot.item, slot)


def _load_after_its_slot(me: Participant, shown: Shown) -> Screen:
    """The screen as it was shown, though the study asks for fewer answers since."""
    item = only(Item.objects.filter(pk=shown.item_id, study=me.study))
    if item is None:
        raise Http404("This item is gone.")
    screen = load_screen(me, item, Slot(arrangement=shown.arrangement))
    screen.slot = None
    return screen


def _load_without_slot(me: Participant, shown: Shown) -> Screen:
    """The screen of an answer that stood already, in the order of that answer, or of a pilot.

    An answer that has been taken back since leaves its place, and so its order, to this person.
    """
    standing = Annotation.objects.select_related("item")
    annotation = only(standing.filter(participant=me, item_id=shown.item_id))
    if annotation is not None:
        return answered_screen(annotation, me.study)
    try:
        return _screen_of(me, shown.item_id)
    except Item.DoesNotExist:
        raise Http404("This item is gone.") from None


def _save(request: HttpRequest, me: Participant) -> HttpResponse:
    try:
        shown, screen = load_shown(request.POST.get("state"), me)
    except Http404:
        return unknown_link(request)
    config = me.study.config
    go = request.POST.get("go")
    target = asked_place(go, shown, has_menu=bool(config.jump_menu))
    texts = [output.text for output in screen.outputs]
    form = RatingForm(request.POST, config=config, outputs=len(texts), texts=texts)
    # a jump saves what is complete, so that the menu never shows it as missing
    if target is not None and (go == "back" or not form.is_valid()):
        entered = read_entered(config, len(screen.outputs), request.POST)
        save_draft(participant=me, item=screen.item, values=entered)
        return _go_on(request, f"{_place_address(request, shown, target)}#main")
    if not form.is_valid():
        return _show_again(request, me, shown, screen, form)
    saved = submit_annotation(participant=me, submission=_submission(request, shown, screen, form))
    if not me.is_pilot and (screen.slot is None or screen.slot.participant_id == me.pk):
        keep_lease(me, me.study, screen.slot)
    # with a fragment of its own: a browser would carry over that of an error link, and land the
    # next keystrokes in a box of the next item
    following = _place_address(request, shown, target) if target else None
    following = following or _next_address(request, me, shown)
    return _go_on(request, f"{following}?was={saved.name.lower()}#main")


def _go_on(request: HttpRequest, address: str) -> HttpResponse:
    """The way on: a redirect, or the address alone for the script that holds the page meanwhile."""
    if request.headers.get("Accept") == "application/json":
        return JsonResponse({"next": address})
    return redirect(address)


def _submission(request: HttpRequest, shown: Shown, screen: Screen, form: RatingForm) -> Submission:
    return Submission(
        values=form.values(screen.output_ids),
        highlights=form.passages(screen.output_ids),
        note=form.cleaned_data.get("note", ""),
        language=request.headers.get("Accept-Language", "").split(",")[0][:35],
        **circumstances(shown, screen),
        **read_circumstances(request.POST),
    )


def circumstances(shown: Shown, screen: Screen) -> dict[str, Any]:
    """What was shown, where and since when: the same for a rating and a report."""
    return {
        "item": screen.item,
        "slot_id": shown.slot_id,
        "item_set_id": shown.set_id,
        "place": shown.place,
        "version_id": shown.version_id,
        "order_shown": tuple(screen.order),
        "is_aided": shown.is_aided,
        "started_at": shown.shown_at,
    }


def _show_again(
    request: HttpRequest, me: Participant, shown: Shown, screen: Screen, form: RatingForm
) -> HttpResponse:
    """The page again, as it was, with every entered value and a message at each fault."""
    errors = form.first_errors
    answers = "1 answer needs" if len(errors) == 1 else f"{len(errors)} answers need"
    item_set = only(ItemSet.objects.filter(participant=me, number=shown.set_number))
    times, groups = look_over(me, item_set) if item_set else ({}, {})
    group = group_place(me, item_set, shown.item_id, times, groups) if item_set else NO_GROUP
    total = item_set.total if item_set else shown.total
    context = {
        **_frame(request, me, shown),
        "item": screen.view(form.entered, errors, group=group),
        "note": form.entered.get("note", ""),
        "errors": list(errors.items()),
        "ignore_error": errors.get("ignore", ""),
        "status": f"Not saved: {answers} another look",
        "menu": build_menu(me, item_set, shown.place, times) if item_set else None,
        "progress": Progress(len(times), total),
        "minutes_left": _minutes_left(me, list(times.values()), total),
        "lease_until": kept_until(me, screen, item_set, times),
    }
    return render(request, me.study.config.item_template, context, status=422)


def _place_address(request: HttpRequest, shown: Shown, place: int) -> str:
    return address(request, "rating-page", shown.set_number, place)


def _next_address(request: HttpRequest, me: Participant, shown: Shown) -> str:
    following = place_after(me, shown)
    if following is None:
        return address(request, "set-review", shown.set_number)
    every = me.study.break_every
    if every and shown.place % every == 0 and following == shown.place + 1:
        return address(request, "set-break", shown.set_number, following)
    return _place_address(request, shown, following)


@participant_page
@require_POST
def draft(request: HttpRequest, me: Participant) -> HttpResponse:
    """What was entered so far is kept, and the place with it."""
    try:
        shown, screen = load_shown(request.POST.get("state"), me)
    except Http404:
        return unknown_link(request)
    entered = read_entered(me.study.config, len(screen.outputs), request.POST)
    if not _is_ignored_since(me, shown):
        save_draft(participant=me, item=screen.item, values=entered)
    if me.is_pilot:
        return JsonResponse({"lease_until": None})
    if screen.slot is not None and screen.slot.participant_id != me.pk:
        return JsonResponse({"lease_until": None}, status=409)
    keep_lease(me, me.study, screen.slot)
    if screen.slot is None:
        return JsonResponse({"lease_until": kept_until(me, screen, None)})
    screen.slot.refresh_from_db(fields=["lease_until"])
    return JsonResponse({"lease_until": screen.slot.lease_until})


def _is_ignored_since(me: Participant, shown: Shown) -> bool:
    """Whether the item was ignored after this page was shown.

    A draft that arrives late, from a page that was left for that, would undo it at Finish.
    """
    if not me.study.config.has_ignore:
        return False
    ignored = Annotation.objects.filter(
        participant=me, item_id=shown.item_id, outcome=Annotation.Outcome.IGNORED
    )
    return ignored.filter(submitted_at__gt=shown.shown_at).exists()


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def report(request: HttpRequest, me: Participant, number: int, place: int) -> HttpResponse:
    """A problem with an item: the item goes to somebody else, and this person goes on."""
    item_set = ItemSet.objects.filter(
        participant=me, number=number, finished_at__isnull=True
    ).first()
    if item_set is None or not 1 <= place <= len(item_set.item_ids):
        return unknown_link(request)
    text = request.POST.get("state") or request.GET.get("state")
    try:
        shown, screen = load_shown(text, me) if text else load_place(me, item_set, place)
    except Http404:
        return unknown_link(request)
    form = ReportForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        said = {name: form.cleaned_data[name] for name in ("reason", "note")}
        reported = Submission(
            outcome=Annotation.Outcome.REPORTED, **circumstances(shown, screen), **said
        )
        submit_annotation(participant=me, submission=reported)
        return redirect(f"{_next_address(request, me, shown)}#main")
    context = page_context(request, me) | {
        "reasons": ReportForm.REASONS,
        "reason": request.POST.get("reason", ""),
        "note": request.POST.get("note", "").replace("\x00", ""),
        "errors": [(name, messages[0]) for name, messages in form.errors.items()],
        **{f"{name}_error": messages[0] for name, messages in form.errors.items()},
        "place": place,
        "state": shown.sign(),
        "back_url": address(request, "rating-page", number, place),
    }
    return render(request, "annotation/report.html", context, status=422 if form.errors else 200)


def load_place(me: Participant, item_set: ItemSet, place: int) -> tuple[Shown, Screen]:
    screen = _screen_of(me, item_set.item_ids[place - 1])
    return as_shown(me, screen, item_set, place), screen
