"""The sheet: one page with all items of a set, each saved separately."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from evalsite.handout.controls import CONTROLS
from evalsite.handout.leases import held_until
from evalsite.handout.models import Annotation, Draft
from evalsite.lib.clock import now
from evalsite.lib.markdown import render_markdown
from evalsite.participation.forms import RatingForm
from evalsite.participation.jump_menu import TITLE, menu_headings
from evalsite.participation.next_step import entry_step
from evalsite.participation.rating_views import (
    SetPage,
    address_for_consent,
    ask_to_wait,
    draw_changes,
    go_on,
    is_mine,
    is_skipped,
    keep_draft,
    keep_entered,
    render_away,
    save_answer,
    skip_address,
    wants_json,
)
from evalsite.participation.saving import WITHOUT_CONSENT, Saved
from evalsite.participation.screens import Screen
from evalsite.participation.sets import find_set, kept_until, wanted_places
from evalsite.participation.sheet import (
    SheetForm,
    ShownPart,
    anchor_of,
    is_changed,
    load_parts,
    next_time_shown,
    place_after,
    share_time,
    write_known,
)
from evalsite.participation.shown_screens import Sent, as_shown, fill_screen, read_sent
from evalsite.participation.view_models import ItemView
from evalsite.people.access import (
    address,
    keeps_page,
    participant_page,
    unknown_link,
)
from evalsite.people.models import ItemSet, Participant
from evalsite.people.services import Agreement, agreement_of, has_agreed
from evalsite.studies.versions import get_content_warning, has_sheet, shown_content

# of several outcomes of one press, the page says the first that occurs
_TELLING = (Saved.ENDED, Saved.FINAL, Saved.EARLIER, Saved.REPLACED, Saved.CHANGED, Saved.SAVED,
            Saved.ALREADY)  # fmt: skip


def show_unsaved(
    request: HttpRequest, participant: Participant, wait: int, number: int
) -> HttpResponse:
    """Show the page as it was sent, because too much came at once, and when to press Save again."""
    item_set = find_set(participant, number)
    if item_set is None:
        return unknown_link(request)
    status = ask_to_wait(wait)
    sent = SheetForm(request.POST).parts
    return _Sheet(request, participant, item_set, sent).render(status, code=429)


def _of_a_sheet(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Give a view the set of this number; unknown if there is none, or it was shown elsewhere."""

    @wraps(view)
    def wrapped(request: HttpRequest, participant: Participant, number: int) -> HttpResponse:
        item_set = find_set(participant, number)
        if item_set is None or not has_sheet(participant.study):
            return unknown_link(request)
        try:
            return view(request, participant, item_set)
        except Http404:
            return unknown_link(request)

    return wrapped


@participant_page
@keeps_page(show_unsaved)
@require_http_methods(["GET", "HEAD", "POST"])
@_of_a_sheet
def sheet(request: HttpRequest, participant: Participant, item_set: ItemSet) -> HttpResponse:
    """Show an open set. A GET changes nothing; a POST saves what is new and goes on."""
    if request.method == "POST":
        return _save(request, participant, item_set)
    if not has_agreed(participant):
        return redirect(address(request, "participant-home"))
    if item_set.finished_at is not None:
        asked = f"?{request.GET.urlencode()}" if request.GET else ""
        return redirect(address(request, "participant-finish") + asked)
    page = _Sheet(request, participant, item_set)
    # a place is held before the instructions are read and practice is done
    if not page.times and entry_step(participant) is not None:
        return redirect(address(request, "participant-home"))
    if page.is_away:
        return render_away(request, participant)
    return page.render(Saved.words_of(request.GET.get("was", "")))


@participant_page
@require_POST
@_of_a_sheet
def draft(request: HttpRequest, participant: Participant, item_set: ItemSet) -> HttpResponse:
    """Keep what is new, and save what is a whole answer; a script goes on with its page."""
    sent = _read_sent(SheetForm(request.POST), participant, item_set)
    agreement = agreement_of(participant)
    if agreement is Agreement.NONE:
        return JsonResponse({"lease_until": None}, status=403)
    # answers under a text that has changed are asked about when the button is pressed
    ready = [answer for answer in sent if agreement is Agreement.CURRENT and answer.form.is_valid()]
    rest = [answer for answer in sent if answer not in ready]
    saved = _store(request, participant, item_set, ready)
    for answer in rest:
        keep_draft(participant, answer.screen, answer.data)
    page = SetPage(request, participant, item_set)
    missing = wanted_places(participant, item_set, page.times)
    if not sent and missing:
        # people who are still there keep their places, as with a draft
        keep_draft(participant, *_find_unrenewed(participant, item_set, missing))
    is_lapsed = not participant.is_pilot and not all(
        is_mine(participant, answer.screen) for answer in rest
    )
    report = _describe_saved(page, sent, saved)
    report["is_final"] = not _may_renew(participant, item_set, missing)
    report["changes"] = {
        name: drawn
        for answer in sent
        for name, drawn in draw_changes(
            answer.screen, answer.data, f"{anchor_of(answer.shown.place)}-"
        ).items()
    }
    return JsonResponse(report, status=409 if is_lapsed else 200)


def _find_unrenewed(
    participant: Participant, item_set: ItemSet, missing: Sequence[int]
) -> tuple[Screen, dict[str, str]]:
    """Return a missing item whose draft may still renew the places, if there is one."""
    items = [item_set.item_ids[place - 1] for place in missing]
    renewed = _list_renewed(participant, items)
    item_id = next((item for item in items if item not in renewed), items[0])
    return fill_screen(participant, item_id, is_answered=False)


def _may_renew(participant: Participant, item_set: ItemSet, missing: Sequence[int]) -> bool:
    """Tell whether a further draft could renew the places: one of each missing item does once.

    Places of a set without an answer are kept to the end of their reservation.
    """
    item_set.refresh_from_db(fields=["reserved_until"])
    if item_set.reserved_until is not None:
        return held_until(participant) != item_set.reserved_until
    items = [item_set.item_ids[place - 1] for place in missing]
    return len(_list_renewed(participant, items)) < len(items)


def _list_renewed(participant: Participant, items: Sequence[int]) -> set[int]:
    renewed = Draft.objects.filter(
        participant=participant, item__in=items, renewed_at__isnull=False
    )
    return set(renewed.values_list("item_id", flat=True))


# --- saving ---------------------------------------------------------------------------


def _read_sent(form: SheetForm, participant: Participant, item_set: ItemSet) -> list[Sent]:
    """Return the parts that say something new.

    Http404 if one of them wasn't shown to this person in this set.
    """
    sent: list[Sent] = []
    for place, data in form.parts.items():
        if not is_changed(data):
            continue
        part = read_sent(data, participant)
        # before the next one is read: a page names no more places than its set has
        if (part.shown.set_id, part.shown.place) != (item_set.pk, place):
            raise Http404("This was shown elsewhere.")
        sent.append(part)
    return sent


def _store(
    request: HttpRequest, participant: Participant, item_set: ItemSet, ready: Sequence[Sent]
) -> dict[int, Saved]:
    """Save these answers one by one, and return what became of each, by place."""
    if not ready:
        return {}
    share = share_time(
        participant, item_set, min(part.shown.shown_at for part in ready), len(ready)
    )
    began = now() - share
    return {
        part.shown.place: save_answer(request, participant, part, began=began) for part in ready
    }


def _save(request: HttpRequest, participant: Participant, item_set: ItemSet) -> HttpResponse:
    form = SheetForm(request.POST)
    sent = _read_sent(form, participant, item_set)
    ready = [answer for answer in sent if answer.form.is_valid()]
    rest = [answer for answer in sent if answer not in ready]
    saved = _store(request, participant, item_set, ready)
    waiting = next((became for became in saved.values() if became in WITHOUT_CONSENT), None)
    if waiting is not None:
        return go_on(request, address_for_consent(request, waiting))
    page = SetPage(request, participant, item_set)
    at = _read_place(form.read("at"))
    place = place_after(
        wanted_places(participant, item_set, page.times), at or max(saved, default=0)
    )
    if target := _read_place(form.read("go")):
        # who jumps to another question goes on with this one later
        for answer in rest:
            keep_entered(participant, answer.screen, answer.data)
        place = target
    elif refused := _find_refused(participant, item_set, rest, only=place if place == at else None):
        return _refuse(request, participant, item_set, rest, refused)
    became = next((outcome for outcome in _TELLING if outcome in saved.values()), Saved.ALREADY)
    following = _describe_way(request, item_set, place, became)
    if wants_json(request):
        report = _describe_saved(page, sent, saved)
        return JsonResponse({"next": following, **report})
    return go_on(request, following)


def _find_refused(
    participant: Participant, item_set: ItemSet, rest: Sequence[Sent], *, only: int | None
) -> dict[int, RatingForm]:
    """Return what is no whole answer, by place; else the `only` one that is missing."""
    if item_set.finished_at is not None:
        return {}
    if rest or only is None:
        return {answer.shown.place: answer.form for answer in rest}
    # nothing else is missing, so there is nowhere to go on to
    screen, values = fill_screen(participant, item_set.item_ids[only - 1], is_answered=False)
    return {only: screen.make_form(values)}


def _refuse(
    request: HttpRequest,
    participant: Participant,
    item_set: ItemSet,
    rest: Sequence[Sent],
    refused: Mapping[int, RatingForm],
) -> HttpResponse:
    """Show the page again, with every entered value and a message at each fault."""
    errors = sum(len(form.first_errors) for form in refused.values())
    status = ngettext(
        "Not saved: %(count)s answer needs another look",
        "Not saved: %(count)s answers need another look",
        errors,
    ) % {"count": errors}
    sent = {answer.shown.place: answer.data for answer in rest}
    page = _Sheet(request, participant, item_set, sent)
    return page.render(status, refused, code=422)


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
    page: SetPage, sent: Sequence[Sent], saved: Mapping[int, Saved]
) -> dict[str, Any]:
    """Return what a script needs to know of the parts that it sent, and of the whole sheet."""
    parts = {}
    for answer in sent:
        place = answer.shown.place
        if place not in saved and answer.form.is_valid():
            # it waits for the person to agree to a text
            continue
        parts[place] = {"was": write_known(answer.form.entered)}
        if place in saved:
            # a change from this page was made with this answer in sight
            parts[place]["state"] = replace(answer.shown, shown_at=next_time_shown()).sign()
    places = enumerate(page.item_set.item_ids, start=1)
    outcome = next((became for became in _TELLING[:4] if became in saved.values()), None)
    return {
        "parts": parts,
        "answered": [place for place, item_id in places if item_id in page.times],
        "progress": _describe_progress(page) | {"bar": page.progress.words},
        "status": str(outcome.value) if outcome else "",
        "lease_until": None if page.participant.is_pilot else held_until(page.participant),
    }


# --- the page -------------------------------------------------------------------------


def _describe_progress(page: SetPage) -> dict[str, Any]:
    """Say how far a participant is in a sheet."""
    done, total, minutes = page.progress.done, page.progress.total, page.minutes_left
    left = ngettext("about %(minutes)s minute left", "about %(minutes)s minutes left", minutes) % {
        "minutes": minutes
    }
    return {
        "done": done,
        "words": _("%(done)s of %(total)s answered") % {"done": done, "total": total},
        "left": left if done < total else "",
    }


class _Sheet(SetPage):
    """A page with all items of a set. `sent`: what was entered, by place."""

    def __init__(
        self,
        request: HttpRequest,
        participant: Participant,
        item_set: ItemSet,
        sent: Mapping[int, QueryDict] | None = None,
    ) -> None:
        super().__init__(request, participant, item_set)
        self.sent = sent or {}
        self.parts = load_parts(participant, item_set)
        self.until = self._find_end()

    @property
    def is_away(self) -> bool:
        """Tell whether something is missing whose place is no longer kept."""
        is_missing = any(part.screen.answer is None for part in self.parts)
        is_kept = self.until is not None and self.until >= now()
        return not self.parts or (is_missing and not self.participant.is_pilot and not is_kept)

    def _find_end(self) -> datetime | None:
        """Return until when all that is missing is kept; None if a part of it is not."""
        missing = [part.screen for part in self.parts if part.screen.answer is None]
        main = [screen for screen in missing if screen.item.kind not in CONTROLS]
        if not main:
            # controls are kept together, as long as the rest of the set
            return (
                kept_until(self.participant, missing[0], self.item_set, self.times)
                if missing
                else None
            )
        ends = [screen.slot.lease_until for screen in main if screen.slot is not None]
        known = [end for end in ends if end is not None]
        return min(known) if len(known) == len(main) else None

    def render(
        self, status: str, refused: Mapping[int, RatingForm] | None = None, *, code: int = 200
    ) -> HttpResponse:
        """Return the page. `refused`: what is wrong with what was entered, by place."""
        participant, config = self.participant, self.participant.study.config
        several = [part.screen for part in self.parts if len(part.screen.outputs) > 1]
        errors = {place: form.first_errors for place, form in (refused or {}).items()}
        views = {part.place: self._view_part(part, errors) for part in self.parts}
        problems = [
            problem
            for place, view in views.items()
            if place in errors
            for problem in _list_problems(place, view, errors[place])
        ]
        frame = self.describe(self.until)
        context = {
            **frame,
            "set_number": self.item_set.number,
            "draft_url": address(self.request, "sheet-draft", self.item_set.number),
            "order_mark": "".join(screen.order_mark(participant) for screen in several),
            "html": render_markdown(
                shown_content(participant.study)["texts"]["instructions"], with_anchors=True
            ),
            "title_id": TITLE,
            "instructions_title": config.instructions_title,
            "headings": menu_headings(participant.study),
            "parts": [
                self._render_part(part, views[part.place], frame, problems) for part in self.parts
            ],
            "places": [(part.place, part.screen.answer is not None) for part in self.parts],
            "item": next(iter(views.values()), None),
            "has_errors": bool(problems),
            "has_notes": any(criterion.scale.has_notes for criterion in config.criteria),
            "status": status,
            "sheet_progress": _describe_progress(self),
        }
        return render(self.request, "participation/sheet.html", context, status=code)

    def _view_part(self, part: ShownPart, errors: Mapping[int, dict[str, str]]) -> ItemView:
        data = self.sent.get(part.place)
        values = part.values if data is None else part.screen.read_entered(data)
        prefix = f"{anchor_of(part.place)}-"
        return self.view(part.screen, values, errors.get(part.place), prefix=prefix)

    def _render_part(
        self,
        part: ShownPart,
        view: ItemView,
        frame: dict[str, Any],
        problems: list[dict[str, Any]],
    ) -> str:
        participant, config, answer = (
            self.participant,
            self.participant.study.config,
            part.screen.answer,
        )
        number = self.item_set.number
        context = {
            **frame,
            "frame": "participation/_sheet_part.html",
            "place": part.place,
            "part": anchor_of(part.place),
            "is_first": part is self.parts[0],
            "item": view,
            "state": as_shown(participant, part.screen, self.item_set, part.place).sign(),
            "was": write_known(part.known),
            "is_answered": answer is not None,
            "is_reported": answer is not None and answer.outcome == Annotation.Outcome.REPORTED,
            "is_skipped": is_skipped(part.screen),
            "is_covered": answer is None and bool(get_content_warning(participant.study)),
            "skip_url": skip_address(self.request, participant, number, part.place),
            "report_url": address(self.request, "rating-report", number, part.place),
            "problems": problems if problems and problems[0]["place"] == part.place else [],
        }
        return render_to_string(config.item_template, context)


def _list_problems(place: int, view: ItemView, errors: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what is wrong with one part, with the id of the control and the place."""
    part = anchor_of(place)
    controls = {question.name: question.control_id for question in view.questions}
    controls |= {question.comment_name: question.comment_name for question in view.questions}
    return [
        {
            "place": place,
            "id": controls.get(f"{part}-{name}", f"{part}-title"),
            "message": message,
        }
        for name, message in errors.items()
    ]
