"""The rating page and its drafts."""

import logging
import re
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from math import ceil
from statistics import median
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from evalsite.handout.leases import (
    answered_items,
    find_end,
    find_renewal,
    keep_lease,
    keep_lease_once,
)
from evalsite.handout.models import Annotation, Draft
from evalsite.lib.clock import now
from evalsite.participation.forms import read_circumstances
from evalsite.participation.item_status import (
    count_answers,
    describe_arrival,
    describe_refusal,
    ignored_before,
    ignored_here,
)
from evalsite.participation.jump_menu import build_menu
from evalsite.participation.next_step import entry_step
from evalsite.participation.saving import (
    WITHOUT_CONSENT,
    Saved,
    Submission,
    save_draft,
    submit_annotation,
)
from evalsite.participation.screens import Screen
from evalsite.participation.sets import (
    BREAK_EVERY,
    find_set,
    group_place,
    kept_until,
    open_places,
    read_progress,
    shown_end,
    unanswered_places,
    wanted_places,
)
from evalsite.participation.sheet import anchor_of
from evalsite.participation.shown_screens import (
    Sent,
    Shown,
    as_shown,
    circumstances,
    fill_screen,
    read_sent,
)
from evalsite.participation.view_models import ItemView, Progress
from evalsite.people.access import (
    address,
    keeps_page,
    page_context,
    participant_page,
    unknown_link,
)
from evalsite.people.models import ItemSet, Participant
from evalsite.people.services import Agreement, agreement_of, has_agreed, is_paid
from evalsite.studies.bonus import bonus_in_words
from evalsite.studies.models import Study
from evalsite.studies.set_size import minutes_per_item
from evalsite.studies.versions import get_content_warning, has_sheet

logger = logging.getLogger(__name__)

_LONGEST_MINUTES = 10
_PLACE = re.compile("[0-9]{1,5}")
# from so many answers on, their own pace says how long the others will take
_OWN_PACE = 5


def show_unsaved(
    request: HttpRequest, participant: Participant, wait: int, number: int, place: int
) -> HttpResponse:
    """Show the page as it was sent, because too much came at once, and when to press Save again."""
    try:
        sent = read_sent(request.POST, participant)
    except Http404:
        return unknown_link(request)
    return _show_again(request, participant, sent, {}, ask_to_wait(wait), code=429)


def ask_to_wait(seconds: int) -> str:
    """Say that nothing is saved yet, and when to press Save again."""
    return ngettext(
        "Not saved yet: too much came at once. Wait %(seconds)s second, then press Save again.",
        "Not saved yet: too much came at once. Wait %(seconds)s seconds, then press Save again.",
        seconds,
    ) % {"seconds": seconds}


@participant_page
@keeps_page(show_unsaved)
@require_http_methods(["GET", "HEAD", "POST"])
def rating_page(
    request: HttpRequest, participant: Participant, number: int, place: int
) -> HttpResponse:
    """Show an item of an open set. A GET changes nothing; a POST saves and goes on."""
    if request.method == "POST":
        return _save(request, participant)
    if not has_agreed(participant):
        return redirect(address(request, "participant-home"))
    item_set = find_set(participant, number)
    if item_set is None or not 1 <= place <= len(item_set.item_ids):
        return unknown_link(request)
    asked = f"?{request.GET.urlencode()}" if request.GET else ""
    if item_set.finished_at is not None:
        return redirect(address(request, "participant-finish") + asked)
    if has_sheet(participant.study):
        # a sheet without an answer opens at its top
        anchor = f"#{anchor_of(place)}" if answered_items(item_set) else ""
        return redirect(address(request, "set-sheet", number) + asked + anchor)
    return _show(request, participant, item_set, place)


def _show(
    request: HttpRequest, participant: Participant, item_set: ItemSet, place: int
) -> HttpResponse:
    item_id = item_set.item_ids[place - 1]
    page = SetPage(request, participant, item_set)
    times = page.times
    is_lost = item_id in item_set.lost_ids and item_id not in times
    # a place is held before the instructions are read and practice is done
    if is_lost or (not times and entry_step(participant) is not None):
        return redirect(address(request, "participant-home"))
    screen, values = fill_screen(participant, item_id, is_answered=item_id in times)
    if screen.answer is not None and not participant.may_reopen(screen.answer.visit_id):
        return _show_earlier(request, participant, item_set, place, times)
    until = kept_until(participant, screen, item_set, times)
    if item_id not in times and not participant.is_pilot and (until is None or until < now()):
        return render_away(request, participant)
    if (
        item_id not in times
        and "shown" not in request.GET
        and get_content_warning(participant.study)
    ):
        return _cover(request, participant, item_set, place)
    shown = as_shown(participant, screen, item_set, place)
    view = page.view(screen, values)
    context = {
        **_frame(request, participant, shown),
        **page.describe(until),
        "reported": _find_report(request, participant, screen, shown),
        "ignored": ignored_here(request, screen, item_set, place)
        or ignored_before(request, participant, item_set),
        "item": view,
        "order_mark": screen.order_mark(participant),
        "note": values.get("note", ""),
        **_describe_state(request, participant, item_set, screen, view),
        "menu": build_menu(participant, item_set, place, times),
    }
    return render(request, participant.study.config.item_template, context)


def _show_earlier(
    request: HttpRequest,
    participant: Participant,
    item_set: ItemSet,
    place: int,
    times: Mapping[int, float],
) -> HttpResponse:
    """Say that this item is answered, without the answer, and lead on to one that isn't."""
    missing = unanswered_places(item_set, times)
    following = next((later for later in missing if later > place), next(iter(missing), None))
    names = (
        ("rating-page", item_set.number, following)
        if following
        else ("set-review", item_set.number)
    )
    context = page_context(request, participant) | {
        "place": place,
        "total": len(item_set.item_ids),
        "next_url": address(request, *names),
        "status": Saved.words_of(request.GET.get("was", "")),
    }
    return render(request, "participation/saved_earlier.html", context)


def _describe_state(
    request: HttpRequest,
    participant: Participant,
    item_set: ItemSet,
    screen: Screen,
    view: ItemView,
) -> dict[str, str]:
    """Return what the lower bar says: of the item before on arrival, else of this one."""
    arrival = describe_arrival(request, participant, item_set)
    if "status" in arrival:
        return arrival
    if is_skipped(screen):
        return arrival | {"status": _("Skipped")}
    return arrival | {
        "status": count_answers(view, is_typed=participant.study.config.layout.is_typed)
    }


def _cover(
    request: HttpRequest, participant: Participant, item_set: ItemSet, place: int
) -> HttpResponse:
    """Show what the item may contain in its place, with the ways to see it and to skip it."""
    context = page_context(request, participant) | {
        "place": place,
        "total": len(item_set.item_ids),
        "content_warning": get_content_warning(participant.study),
        "is_paid": is_paid(participant),
        "skip_url": skip_address(request, participant, item_set.number, place),
        **describe_arrival(request, participant, item_set),
    }
    return render(request, "participation/covered.html", context)


def skip_address(request: HttpRequest, participant: Participant, number: int, place: int) -> str:
    """Return where this item is skipped; "" where people can't skip."""
    return (
        address(request, "rating-skip", number, place)
        if get_content_warning(participant.study)
        else ""
    )


def is_skipped(screen: Screen) -> bool:
    return screen.answer is not None and screen.answer.outcome == Annotation.Outcome.SKIPPED


def render_away(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Show people whose places are no longer kept how to go on."""
    context = page_context(request, participant) | {
        "start_url": address(request, "participant-start"),
        "status": Saved.words_of(request.GET.get("was", "")),
        "is_ended": participant.study.state == Study.State.ARCHIVED,
    }
    return render(request, "participation/continue.html", context)


def _find_report(
    request: HttpRequest, participant: Participant, screen: Screen, shown: Shown
) -> dict[str, str] | None:
    """Return where to go on from an item that this person reported; None for any other."""
    if screen.answer is None or screen.answer.outcome != Annotation.Outcome.REPORTED:
        return None
    return {"next_url": next_address(request, participant, shown)}


def _frame(request: HttpRequest, participant: Participant, shown: Shown) -> dict[str, Any]:
    """Return what the rating page shows around its item."""
    config = participant.study.config
    state = shown.sign()
    report = address(request, "rating-report", shown.set_number, shown.place)
    ignore = address(request, "rating-ignore", shown.set_number, shown.place)
    asked = urlencode({"state": state})
    # notes and definitions appear in full on the very first item
    is_later = (shown.set_number, shown.place) > (1, 1)
    return {
        "frame": "participation/annotate.html",
        "place": shown.place,
        "total": shown.total,
        "state": state,
        "errors": [],
        "has_back": shown.place > 1,
        "has_note": config.has_note,
        "is_later_item": is_later,
        "may_fold_notes": is_later
        and any(criterion.scale.has_notes for criterion in config.criteria),
        "has_highlight": config.has_highlight,
        "highlight_hint": config.highlight,
        "note_label": config.note,
        "help_label": config.help_label,
        "draft_url": address(request, "rating-draft"),
        "report_url": f"{report}?{asked}",
        "ignore_url": f"{ignore}?{asked}" if config.has_ignore else "",
        "skip_url": skip_address(request, participant, shown.set_number, shown.place),
        "aids_script": config.aids_script,
    }


def describe_set(participant: Participant, number: int) -> str:
    """Return which set this is, of how many; "" where there is no limit."""
    most = participant.study.max_sets
    return (
        _("Set %(number)s of at most %(most)s") % {"number": number, "most": most} if most else ""
    )


class SetPage:
    """What pages show around an item of a set, or around all of them."""

    def __init__(self, request: HttpRequest, participant: Participant, item_set: ItemSet) -> None:
        self.request, self.participant, self.item_set = request, participant, item_set
        self.times, self.groups = read_progress(participant, item_set)
        self._taken = seconds_taken(self.times, item_set)
        self.progress = Progress(len(self._taken), item_set.total)

    @cached_property
    def minutes_left(self) -> int:
        return estimate_minutes_left(self.participant, self._taken, self.item_set.total)

    def view(
        self,
        screen: Screen,
        values: Mapping[str, str],
        errors: Mapping[str, str] | None = None,
        *,
        prefix: str = "",
    ) -> ItemView:
        """Return what the page shows of an item."""
        group = group_place(
            self.participant, self.item_set, screen.item.pk, self.times, self.groups
        )
        return screen.view(values, errors, group=group, prefix=prefix)

    def describe(self, until: datetime | None) -> dict[str, Any]:
        """Return the context around the items, whose places are kept until then."""
        return {
            **page_context(self.request, self.participant),
            "layout": self.participant.study.config.layout,
            "set_label": describe_set(self.participant, self.item_set.number),
            "bonus": bonus_in_words(self.participant.study),
            "progress": self.progress,
            "minutes_left": self.minutes_left,
            "lease_until": shown_end(until),
            "reserved_until": self.item_set.reserved_until,
        }


def seconds_taken(times: dict[int, float], item_set: ItemSet) -> list[float]:
    """Return the seconds of each answer that the set asks for, without those to lost items."""
    return [taken for item_id, taken in times.items() if item_id not in item_set.lost_ids]


def estimate_minutes_left(participant: Participant, seconds: list[float], total: int) -> int:
    """Estimate from this person's own median once there are five answers, else from the study's."""
    study = participant.study
    guess = minutes_per_item(study)
    # what was ignored together with another item took no time
    taken = [duration for duration in seconds if duration >= 1]
    pace = median(taken) / 60 if len(taken) >= _OWN_PACE else guess
    return max(1, ceil(min(pace, _LONGEST_MINUTES) * (total - len(seconds))))


# --- saving ---------------------------------------------------------------------------


def _save(request: HttpRequest, participant: Participant) -> HttpResponse:
    try:
        sent = read_sent(request.POST, participant)
    except Http404:
        return unknown_link(request)
    shown, form = sent.shown, sent.form
    go = form.button
    target = asked_place(go, shown, has_menu=bool(participant.study.config.layout.menu))
    # a jump saves what is complete, so that the menu never shows it as missing
    if target is not None and (go == "back" or not form.is_valid()):
        keep_entered(participant, sent.screen, sent.data)
        return go_on(request, _place_address(request, shown, target))
    if not form.is_valid():
        errors = form.first_errors
        status = describe_refusal(errors, form.entered)
        return _show_again(request, participant, sent, errors, status, code=422)
    saved = save_answer(request, participant, sent)
    if saved in WITHOUT_CONSENT:
        return go_on(request, address_for_consent(request, saved))
    following = _place_address(request, shown, target) if target else None
    following = following or next_address(request, participant, shown)
    return go_on(request, f"{following}?was={saved.name.lower()}&after={shown.place}")


def asked_place(go: str | None, shown: Shown, *, has_menu: bool) -> int | None:
    """Return the place that the pressed button names: [Back] or the menu; None: save and next."""
    if go == "back":
        return max(1, shown.place - 1)
    if not has_menu or go is None or not _PLACE.fullmatch(go):
        return None
    return min(max(1, int(go)), shown.total)


def place_after(participant: Participant, shown: Shown) -> int | None:
    """Return the place to go on to once this one is saved; None for the review page.

    With a menu: the next in order, and from the last one the first that is missing, until
    nothing is. Without: the next in order.
    """
    if not participant.study.config.layout.menu:
        return shown.place + 1 if shown.place < shown.total else None
    sets = ItemSet.objects.filter(participant=participant, number=shown.set_number).order_by()
    # the set beside each of my answers: one query, on a path where each of them counts
    rows = list(sets.values_list("item_ids", "lost_ids", "participant__annotations__item_id"))
    if not rows:
        return None
    item_ids, lost_ids, _ = rows[0]
    item_set = ItemSet(participant=participant, item_ids=item_ids, lost_ids=lost_ids)
    missing = wanted_places(participant, item_set, [answered for _, _, answered in rows])
    if not missing:
        return None
    return next((number for number in open_places(item_set) if number > shown.place), missing[0])


def save_answer(
    request: HttpRequest, participant: Participant, sent: Sent, *, began: datetime | None = None
) -> Saved:
    """Store what a valid form says of an item, and keep this person's places.

    `began`: when the time of the answer begins, if not when its item was shown.
    """
    screen, form = sent.screen, sent.form
    details = circumstances(sent.shown, screen) | read_circumstances(form.data)
    if began is not None:
        details["started_at"] = began
    renewal = (
        None if participant.is_pilot else find_renewal(participant, participant.study, screen.slot)
    )
    submission = Submission(
        rows=form.list_rows(screen.item.pk),
        note=form.cleaned_data.get("note", ""),
        language=request.headers.get("Accept-Language", "").split(",")[0][:35],
        renewal=renewal,
        **details,
    )
    saved = submit_annotation(participant=participant, submission=submission)
    if renewal is not None and saved is Saved.SAVED:
        # with the answer
        return saved
    if saved is Saved.UNCHANGED:
        # it comes back as a change to send once the new text is agreed to
        keep_entered(participant, screen, sent.data)
    if saved not in WITHOUT_CONSENT and not participant.is_pilot and is_mine(participant, screen):
        keep_lease(participant, participant.study, screen.slot)
    return saved


def is_mine(participant: Participant, screen: Screen) -> bool:
    """Return whether no other person has the place of this screen, if it has one.

    What I have answered is mine, even if its place went to others because I reported it.
    """
    if screen.slot is None or screen.slot.participant_id == participant.pk:
        return True
    return Annotation.objects.filter(participant=participant, item=screen.item).exists()


def keep_entered(participant: Participant, screen: Screen, data: Mapping[str, Any]) -> Draft | None:
    """Keep what was entered for an item as its draft; None without consent."""
    entered = screen.read_entered(data)
    return save_draft(participant=participant, item=screen.item, values=entered, order=screen.order)


def keep_draft(participant: Participant, screen: Screen, data: Mapping[str, Any]) -> bool:
    """Keep what was entered for an item, and this person's places with it.

    Tell whether a further draft could renew the places.
    """
    kept = keep_entered(participant, screen, data)
    if (
        kept is None
        or participant.is_pilot
        or not has_agreed(participant)
        or not is_mine(participant, screen)
    ):
        return False
    return keep_lease_once(participant, participant.study, kept)


def address_for_consent(request: HttpRequest, saved: Saved) -> str:
    """Return the page that says what became of an answer sent without agreeing."""
    name = "declined" if saved is Saved.UNUSED else "consent"
    return f"{address(request, f'participant-{name}')}?was={saved.name.lower()}"


def wants_json(request: HttpRequest) -> bool:
    """Return whether a script asks, which shows the answer on the present page."""
    return request.headers.get("Accept") == "application/json"


def go_on(request: HttpRequest, address: str) -> HttpResponse:
    """Redirect, or return the address alone for the script that holds the page meanwhile."""
    if wants_json(request):
        return JsonResponse({"next": address})
    return HttpResponseRedirect(address)


def _show_again(
    request: HttpRequest,
    participant: Participant,
    sent: Sent,
    errors: dict[str, str],
    status: str,
    *,
    code: int,
) -> HttpResponse:
    """Show the page again, as it was, with every entered value and a message at each fault."""
    screen, entered = sent.screen, sent.form.entered
    item_set = find_set(participant, sent.shown.set_number)
    if item_set is None:
        return unknown_link(request)
    page = SetPage(request, participant, item_set)
    context = {
        **_frame(request, participant, sent.shown),
        **page.describe(kept_until(participant, screen, item_set, page.times)),
        "item": page.view(screen, entered, errors),
        "order_mark": screen.order_mark(participant),
        "note": entered.get("note", ""),
        "errors": list(errors.items()),
        "ignore_error": errors.get("ignore", ""),
        "note_error": errors.get("note", ""),
        "status": status,
        "menu": build_menu(participant, item_set, sent.shown.place, page.times),
    }
    return render(request, participant.study.config.item_template, context, status=code)


def _place_address(request: HttpRequest, shown: Shown, place: int) -> str:
    return address(request, "rating-page", shown.set_number, place)


def next_address(request: HttpRequest, participant: Participant, shown: Shown) -> str:
    following = place_after(participant, shown)
    if following is None:
        return address(request, "set-review", shown.set_number)
    is_due = shown.place % BREAK_EVERY == 0 and not has_sheet(participant.study)
    if is_due and following == shown.place + 1:
        return address(request, "set-break", shown.set_number, following)
    return _place_address(request, shown, following)


@participant_page
@require_POST
def draft(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Keep what was entered so far, and the place with it."""
    try:
        sent = read_sent(request.POST, participant)
    except Http404:
        return unknown_link(request)
    may_renew = not _is_left_since(participant, sent.shown) and keep_draft(
        participant, sent.screen, sent.data
    )
    if agreement_of(participant) is Agreement.NONE:
        return JsonResponse({"lease_until": None}, status=403)
    drawn = draw_changes(sent.screen, sent.data)
    changes = {"changes": drawn} if drawn else {}
    if participant.is_pilot:
        return JsonResponse({"lease_until": None, **changes})
    if not is_mine(participant, sent.screen):
        return JsonResponse({"lease_until": None}, status=409)
    # whatever item it is, the end is that of the set
    until = shown_end(find_end(participant, participant.study))
    return JsonResponse({"lease_until": until, "is_final": not may_renew, **changes})


def draw_changes(screen: Screen, data: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return what has changed in texts that are being corrected, by the names of their boxes."""
    entered = screen.read_entered(data)
    return {
        f"{prefix}{question.name}": render_to_string(
            "scales/_changes.html",
            {"view": question.scale.view_entry(entered[question.name])},
        )
        for question in screen.questions
        if question.scale.rewrites and question.name in entered
    }


def _is_left_since(participant: Participant, shown: Shown) -> bool:
    """Return whether the item was ignored or skipped after this page was shown.

    A draft that arrives late, from a page that was left for that, would undo it at Finish.
    """
    if not participant.study.config.has_ignore and not get_content_warning(participant.study):
        return False
    left = (Annotation.Outcome.IGNORED, Annotation.Outcome.SKIPPED)
    answers = Annotation.objects.filter(
        participant=participant, item_id=shown.item_id, outcome__in=left
    )
    return answers.filter(submitted_at__gt=shown.shown_at).exists()
