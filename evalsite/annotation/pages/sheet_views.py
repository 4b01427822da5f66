"""The sheet: one page with all items of a set, each saved separately."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from evalsite.annotation.allocation.controls import CONTROLS
from evalsite.annotation.allocation.leases import held_until, keep_lease_once
from evalsite.annotation.models import Annotation, Draft
from evalsite.annotation.pages.forms import RatingForm
from evalsite.annotation.pages.jump_menu import TITLE, menu_headings
from evalsite.annotation.pages.next_step import entry_step
from evalsite.annotation.pages.rating_views import (
    address_for_consent,
    ask_to_wait,
    describe_set,
    estimate_minutes_left,
    go_on,
    is_mine,
    keep_entered,
    make_submission,
    render_away,
    save_answer,
    seconds_taken,
    skip_address,
    wants_json,
)
from evalsite.annotation.pages.saving import WITHOUT_CONSENT, Saved
from evalsite.annotation.pages.screens import Screen
from evalsite.annotation.pages.sets import (
    find_set,
    group_place,
    kept_until,
    read_progress,
    shown_end,
    wanted_places,
)
from evalsite.annotation.pages.sheet import (
    SentPart,
    ShownPart,
    anchor_of,
    load_parts,
    name_apart,
    next_showing,
    place_after,
    read_parts,
    share_time,
    write_known,
)
from evalsite.annotation.pages.shown_screens import Shown, as_shown, fill_screen, load_shown
from evalsite.annotation.pages.view_models import Progress
from evalsite.lib.clock import now
from evalsite.lib.markdown import render_markdown
from evalsite.participants.access import (
    address,
    keeps_page,
    page_context,
    participant_page,
    unknown_link,
)
from evalsite.participants.models import ItemSet, Participant
from evalsite.participants.services import Agreement, agreement_of, has_agreed
from evalsite.studies.bonus import bonus_in_words
from evalsite.studies.versions import covers_items, has_sheet, shown_content

# of several outcomes of one press, the page says the first that occurs
_TELLING = (Saved.ENDED, Saved.FINAL, Saved.EARLIER, Saved.REPLACED, Saved.CHANGED, Saved.SAVED,
            Saved.ALREADY)  # fmt: skip


def show_unsaved(request: HttpRequest, me: Participant, wait: int, number: int) -> HttpResponse:
    """Show the page as it was sent, because too much came at once, and when to press Save again."""
    item_set = find_set(me, number)
    if item_set is None:
        return unknown_link(request)
    status = ask_to_wait(wait)
    sent = read_parts(request.POST)
    return _Page(request, me, item_set, sent=sent, status=status).render(code=429)


def _of_a_sheet(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Give a view the set of this number; unknown if there is none, or it was shown elsewhere."""

    @wraps(view)
    def wrapped(request: HttpRequest, me: Participant, number: int) -> HttpResponse:
        item_set = find_set(me, number)
        if item_set is None or not has_sheet(me.study):
            return unknown_link(request)
        try:
            return view(request, me, item_set)
        except Http404:
            return unknown_link(request)

    return wrapped


@participant_page
@keeps_page(show_unsaved)
@require_http_methods(["GET", "HEAD", "POST"])
@_of_a_sheet
def sheet(request: HttpRequest, me: Participant, item_set: ItemSet) -> HttpResponse:
    """Show an open set. A GET changes nothing; a POST saves what is new and goes on."""
    if request.method == "POST":
        return _save(request, me, item_set)
    if not has_agreed(me):
        return redirect(address(request, "participant-home"))
    if item_set.finished_at is not None:
        asked = f"?{request.GET.urlencode()}" if request.GET else ""
        return redirect(address(request, "participant-finish") + asked)
    page = _Page(request, me, item_set, status=Saved.words_of(request.GET.get("was", "")))
    # a place is held before the instructions are read and practice is done
    if not page.times and entry_step(me) is not None:
        return redirect(address(request, "participant-home"))
    return render_away(request, me) if page.is_away else page.render()


@participant_page
@require_POST
@_of_a_sheet
def draft(request: HttpRequest, me: Participant, item_set: ItemSet) -> HttpResponse:
    """Keep what is new, and save what is a whole answer; a script goes on with its page."""
    sent = _read_sent(request, me, item_set)
    agreement = agreement_of(me)
    if agreement is Agreement.NONE:
        return JsonResponse({"lease_until": None}, status=403)
    # answers under a text that has changed are asked about when the button is pressed
    ready = [answer for answer in sent if agreement is Agreement.CURRENT and answer.form.is_valid()]
    rest = [answer for answer in sent if answer not in ready]
    saved = _store(request, me, item_set, ready)
    for answer in rest:
        _keep(me, answer.screen, answer.part.data)
    times, _groups = read_progress(me, item_set)
    missing = wanted_places(me, item_set, times)
    if not sent and missing:
        # people who are still there keep their places, as with a draft
        _keep(me, *_find_unrenewed(me, item_set, missing))
    is_lapsed = not me.is_pilot and not all(is_mine(me, answer.screen) for answer in rest)
    report = _describe_saved(me, item_set, sent, saved, times)
    report["is_final"] = not _may_renew(me, item_set, missing)
    return JsonResponse(report, status=409 if is_lapsed else 200)


def _keep(me: Participant, screen: Screen, data: Mapping[str, Any]) -> None:
    """Keep what was entered for an item, and this person's places with it."""
    kept = keep_entered(me, screen, data)
    if kept is not None and not me.is_pilot and has_agreed(me) and is_mine(me, screen):
        keep_lease_once(me, me.study, kept)


def _find_unrenewed(
    me: Participant, item_set: ItemSet, missing: Sequence[int]
) -> tuple[Screen, dict[str, str]]:
    """Return a missing item whose draft may still renew the places, if there is one."""
    items = [item_set.item_ids[place - 1] for place in missing]
    renewed = _list_renewed(me, items)
    item_id = next((item for item in items if item not in renewed), items[0])
    return fill_screen(me, item_id, is_answered=False)


def _may_renew(me: Participant, item_set: ItemSet, missing: Sequence[int]) -> bool:
    """Tell whether a further draft could renew the places: one of each missing item does once.

    Places of a set without an answer are kept to the end of their reservation.
    """
    item_set.refresh_from_db(fields=["reserved_until"])
    if item_set.reserved_until is not None:
        return held_until(me) != item_set.reserved_until
    items = [item_set.item_ids[place - 1] for place in missing]
    return len(_list_renewed(me, items)) < len(items)


def _list_renewed(me: Participant, items: Sequence[int]) -> set[int]:
    renewed = Draft.objects.filter(participant=me, item__in=items, renewed_at__isnull=False)
    return set(renewed.values_list("item_id", flat=True))


# --- saving ---------------------------------------------------------------------------


@dataclass(eq=False)
class _Sent:
    """One part of what was sent, as it was shown, with the form that judges it."""

    part: SentPart
    shown: Shown
    screen: Screen
    form: RatingForm


def _read_sent(request: HttpRequest, me: Participant, item_set: ItemSet) -> list[_Sent]:
    """Return the parts that say something new.

    Http404 if one of them wasn't shown to this person in this set.
    """
    sent = []
    for place, part in read_parts(request.POST).items():
        if not part.is_changed:
            continue
        shown, screen = load_shown(part.data.get("state"), me)
        if (shown.set_id, shown.place) != (item_set.pk, place):
            raise Http404("This was shown elsewhere.")
        sent.append(_Sent(part, shown, screen, screen.make_form(part.data)))
    return sent


def _store(
    request: HttpRequest, me: Participant, item_set: ItemSet, ready: Sequence[_Sent]
) -> dict[int, Saved]:
    """Save these answers one by one, and return what became of each, by place."""
    if not ready:
        return {}
    share = share_time(me, item_set, min(answer.shown.shown_at for answer in ready), len(ready))
    began = now() - share
    saved = {}
    for answer in ready:
        submission = make_submission(request, answer.shown, answer.screen, answer.form)
        submission = replace(submission, started_at=began)
        saved[answer.part.place] = save_answer(me, answer.screen, answer.form, submission)
    return saved


def _save(request: HttpRequest, me: Participant, item_set: ItemSet) -> HttpResponse:
    sent = _read_sent(request, me, item_set)
    ready = [answer for answer in sent if answer.form.is_valid()]
    rest = [answer for answer in sent if answer not in ready]
    saved = _store(request, me, item_set, ready)
    waiting = next((became for became in saved.values() if became in WITHOUT_CONSENT), None)
    if waiting is not None:
        return go_on(request, address_for_consent(request, waiting))
    times, _groups = read_progress(me, item_set)
    at = _read_place(request.POST.get("at"))
    place = place_after(wanted_places(me, item_set, times), at or max(saved, default=0))
    if target := _read_place(request.POST.get("go")):
        # who jumps to another question goes on with this one later
        for answer in rest:
            keep_entered(me, answer.screen, answer.part.data)
        place = target
    elif refused := _find_refused(me, item_set, rest, only=place if place == at else None):
        parts = {answer.part.place: answer.part for answer in rest}
        return _refuse(request, me, item_set, parts, refused)
    became = next((outcome for outcome in _TELLING if outcome in saved.values()), Saved.ALREADY)
    following = _describe_way(request, item_set, place, became)
    if wants_json(request):
        report = _describe_saved(me, item_set, sent, saved, times)
        return JsonResponse({"next": following, **report})
    return go_on(request, following)


def _find_refused(
    me: Participant, item_set: ItemSet, rest: Sequence[_Sent], *, only: int | None
) -> dict[int, RatingForm]:
    """Return what is no whole answer, by place; else the `only` one that is missing."""
    if item_set.finished_at is not None:
        return {}
    if rest or only is None:
        return {answer.part.place: answer.form for answer in rest}
    # nothing else is missing, so there is nowhere to go on to
    screen, values = fill_screen(me, item_set.item_ids[only - 1], is_answered=False)
    return {only: screen.make_form(values)}


def _refuse(
    request: HttpRequest,
    me: Participant,
    item_set: ItemSet,
    parts: Mapping[int, SentPart],
    refused: Mapping[int, RatingForm],
) -> HttpResponse:
    """Show the page again, with every entered value and a message at each fault."""
    errors = sum(len(form.first_errors) for form in refused.values())
    status = ngettext(
        "Not saved: %(count)s answer needs another look",
        "Not saved: %(count)s answers need another look",
        errors,
    ) % {"count": errors}
    page = _Page(request, me, item_set, sent=parts, refused=refused, status=status)
    return page.render(code=422)


def _read_place(text: str | None) -> int:
    """Return the place that a script says is in view; 0 if it says none."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 6 else 0


def _describe_way(request: HttpRequest, item_set: ItemSet, place: int | None, became: Saved) -> str:
    """Return the address of this part, or of the page on which all answers are looked at."""
    asked = f"?was={became.name.lower()}"
    if item_set.finished_at is not None:
        return address(request, "participant-finish") + asked
    if place is None:
        return address(request, "set-review", item_set.number) + asked
    return f"{address(request, 'set-sheet', item_set.number)}{asked}#{anchor_of(place)}"


def _describe_saved(
    me: Participant,
    item_set: ItemSet,
    sent: Sequence[_Sent],
    saved: Mapping[int, Saved],
    times: Mapping[int, float],
) -> dict[str, Any]:
    """Return what a script needs to know of the parts that it sent, and of the whole sheet."""
    parts = {}
    for answer in sent:
        place = answer.part.place
        if place not in saved and answer.form.is_valid():
            # it waits for the person to agree to a text
            continue
        entered = answer.screen.read_entered(answer.part.data)
        parts[place] = {"was": write_known(entered)}
        if place in saved:
            # whoever changes it from this page has seen this answer
            parts[place]["state"] = replace(answer.shown, shown_at=next_showing()).sign()
    places = enumerate(item_set.item_ids, start=1)
    outcome = next((became for became in _TELLING[:4] if became in saved.values()), None)
    return {
        "parts": parts,
        "answered": [place for place, item_id in places if item_id in times],
        "progress": _SheetProgress.read(me, item_set, times).as_data(),
        "status": str(outcome.value) if outcome else "",
        "lease_until": None if me.is_pilot else held_until(me),
    }


# --- the page -------------------------------------------------------------------------


@dataclass(frozen=True)
class _SheetProgress:
    """How far a participant is in a sheet, in words."""

    done: int
    total: int
    minutes: int

    @classmethod
    def read(
        cls, me: Participant, item_set: ItemSet, times: Mapping[int, float]
    ) -> "_SheetProgress":
        taken = seconds_taken(dict(times), item_set)
        left = estimate_minutes_left(me, taken, item_set.total)
        return cls(len(taken), item_set.total, left if len(taken) < item_set.total else 0)

    @property
    def words(self) -> str:
        return _("%(done)s of %(total)s answered") % {"done": self.done, "total": self.total}

    @property
    def time_left(self) -> str:
        if not self.minutes:
            return ""
        return ngettext(
            "about %(minutes)s minute left", "about %(minutes)s minutes left", self.minutes
        ) % {"minutes": self.minutes}

    def as_data(self) -> dict[str, Any]:
        bar = Progress(self.done, self.total).words
        return {"done": self.done, "words": self.words, "left": self.time_left, "bar": bar}


@dataclass
class _Page:
    """The sheet of a set. `sent` and `refused`: what was entered, and what is wrong with it."""

    request: HttpRequest
    me: Participant
    item_set: ItemSet
    sent: Mapping[int, SentPart] = field(default_factory=dict)
    refused: Mapping[int, RatingForm] = field(default_factory=dict)
    status: str = ""

    def __post_init__(self) -> None:
        self.times, self.groups = read_progress(self.me, self.item_set)
        self.parts = load_parts(self.me, self.item_set)
        self.until = self._find_end()

    @property
    def is_away(self) -> bool:
        """Tell whether something is missing whose place is no longer kept."""
        is_missing = any(part.screen.answer is None for part in self.parts)
        is_kept = self.until is not None and self.until >= now()
        return not self.parts or (is_missing and not self.me.is_pilot and not is_kept)

    def _find_end(self) -> datetime | None:
        """Return until when all that is missing is kept; None if a part of it is not."""
        missing = [part.screen for part in self.parts if part.screen.answer is None]
        main = [screen for screen in missing if screen.item.kind not in CONTROLS]
        if not main:
            # controls are kept together, as long as the rest of the set
            return kept_until(self.me, missing[0], self.item_set, self.times) if missing else None
        ends = [screen.slot.lease_until for screen in main if screen.slot is not None]
        known = [end for end in ends if end is not None]
        return min(known) if len(known) == len(main) else None

    def render(self, *, code: int = 200) -> HttpResponse:
        me, config = self.me, self.me.study.config
        frame = page_context(self.request, me) | {"layout": config.layout}
        problems = self._list_problems()
        several = [part.screen for part in self.parts if len(part.screen.outputs) > 1]
        progress = _SheetProgress.read(me, self.item_set, self.times)
        context = {
            **frame,
            "set_number": self.item_set.number,
            "draft_url": address(self.request, "sheet-draft", self.item_set.number),
            "order_mark": "".join(screen.order_mark(me) for screen in several),
            "html": render_markdown(
                shown_content(me.study)["texts"]["instructions"], with_anchors=True
            ),
            "title_id": TITLE,
            "instructions_title": config.instructions_title,
            "headings": menu_headings(me.study),
            "parts": [self._render_part(part, frame, problems) for part in self.parts],
            "places": [(part.place, part.screen.answer is not None) for part in self.parts],
            "item": self.parts[0].screen.view({}) if self.parts else None,
            "has_errors": bool(problems),
            "has_notes": any(criterion.scale.has_notes for criterion in config.criteria),
            "status": self.status,
            "sheet_progress": progress,
            "progress": Progress(progress.done, progress.total),
            "lease_until": shown_end(self.until),
            "reserved_until": self.item_set.reserved_until,
            "set_label": describe_set(me, self.item_set.number),
            "bonus": bonus_in_words(me.study),
        }
        return render(self.request, "annotation/sheet.html", context, status=code)

    def _list_problems(self) -> list[dict[str, Any]]:
        """Return what is wrong, with the id of the control and the place."""
        problems = []
        for part in self.parts:
            form = self.refused.get(part.place)
            if form is None:
                continue
            errors = form.first_errors
            view = name_apart(part.screen.view({}, errors), part.place)
            problems += [
                {"place": part.place, "id": question.control_id, "message": question.error}
                for question in view.questions
                if question.error
            ]
            known = {name for name, error in errors.items() if name in form.fields and error}
            problems += [
                {"place": part.place, "id": f"{anchor_of(part.place)}-title", "message": message}
                for name, message in errors.items()
                if name not in known
            ]
        return problems

    def _render_part(
        self, part: ShownPart, frame: dict[str, Any], problems: list[dict[str, Any]]
    ) -> str:
        me, config = self.me, self.me.study.config
        sent, form = self.sent.get(part.place), self.refused.get(part.place)
        values = part.values
        if sent is not None:
            values = part.screen.read_entered(sent.data)
        group = group_place(me, self.item_set, part.screen.item.pk, self.times, self.groups)
        view = part.screen.view(values, form.first_errors if form else None, group=group)
        answer = part.screen.answer
        number = self.item_set.number
        context = {
            **frame,
            "frame": "annotation/_sheet_part.html",
            "place": part.place,
            "part": anchor_of(part.place),
            "is_first": part is self.parts[0],
            "item": name_apart(view, part.place),
            "state": as_shown(me, part.screen, self.item_set, part.place).sign(),
            "was": write_known(part.known),
            "is_answered": answer is not None,
            "is_reported": answer is not None and answer.outcome == Annotation.Outcome.REPORTED,
            "is_skipped": answer is not None and answer.outcome == Annotation.Outcome.SKIPPED,
            "is_covered": answer is None and covers_items(me.study),
            "skip_url": skip_address(self.request, me, number, part.place),
            "report_url": address(self.request, "rating-report", number, part.place),
            "problems": problems if problems and problems[0]["place"] == part.place else [],
        }
        return render_to_string(config.item_template, context)
