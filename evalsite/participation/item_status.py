"""What a rating page says of its state: in its lower bar, and above an item that is ignored."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.handout.models import Annotation
from evalsite.instruments.schema import Instrument
from evalsite.participation.ignored_items import list_ignored_together, reason_of
from evalsite.participation.saving import Saved
from evalsite.participation.screens import Screen
from evalsite.participation.view_models import ItemView
from evalsite.people.access import address
from evalsite.people.models import ItemSet, Participant

_ARRIVED = (Saved.SAVED, Saved.ALREADY, Saved.CHANGED, Saved.REPLACED, Saved.SKIPPED)
_PLACE = re.compile("[1-9][0-9]{0,4}")


def describe_arrival(
    request: HttpRequest, participant: Participant, item_set: ItemSet
) -> dict[str, str]:
    """Return what became of the item before, which led here, and where that is undone.

    What is longer than the bar is wide is a `notice`, in a row of its own.
    """
    became = Saved.find(request.GET.get("was", ""))
    if became is None or became is Saved.IGNORED:
        return {}
    before = _find_place(request.GET.get("after", ""), item_set)
    if became not in _ARRIVED:
        return {"notice": str(became.value)}
    notice = {"notice": str(became.value)} if became is Saved.REPLACED else {}
    if not before:
        return {"status": str(became.value)} | notice
    words = _("%(name)s skipped.") if became is Saved.SKIPPED else _("%(name)s saved.")
    name = name_places(participant.study.config, [before])
    # beside the page that shows it
    return notice | {"status": words % {"name": name}, "undo_url": f"../{before}/?undo"}


def count_answers(view: ItemView, *, is_typed: bool) -> str:
    """Say how much of this item is answered."""
    # what a page starts with is nobody's answer
    known = [
        question
        for question in view.questions
        if question.value and question.value != question.scale.start_entry
    ]
    if not known:
        return _("No scores yet") if is_typed else _("No answers yet")
    asked = [
        question for question in view.questions if question.criterion.required and not question.when
    ]
    answered = sum(question in known for question in asked)
    if answered == len(asked):
        return _("All answered, saved")
    return _("%(answered)s of %(asked)s answered, saved") % {
        "answered": answered, "asked": len(asked),
    }  # fmt: skip


def describe_refusal(errors: Mapping[str, str], entered: Mapping[str, Any]) -> str:
    """Say how many answers keep the item from being saved."""
    count = {"count": len(errors)}
    if not any(entered.get(name) for name in errors):
        words = ngettext(
            "Not saved: %(count)s answer is missing",
            "Not saved: %(count)s answers are missing",
            len(errors),
        )
    else:
        words = ngettext(
            "Not saved: %(count)s answer needs another look",
            "Not saved: %(count)s answers need another look",
            len(errors),
        )
    return words % count


def name_places(config: Instrument, places: Sequence[int]) -> str:
    """Name items by their places: "Item 2", "Items 1 to 3", "Items 1, 3 and 5"."""
    first, last = places[0], places[-1]
    if len(places) == 1:
        return _("%(name)s %(place)s") % {"name": config.item.name, "place": first}
    names = {"names": config.item.names, "first": first, "last": last}
    if len(places) > 2 and last - first == len(places) - 1:
        return _("%(names)s %(first)s to %(last)s") % names
    names["first"] = ", ".join(map(str, places[:-1]))
    return _("%(names)s %(first)s and %(last)s") % names


# --- ignored items ----------------------------------------------------------------------


def ignored_here(
    request: HttpRequest, screen: Screen, item_set: ItemSet, place: int
) -> dict[str, Any] | None:
    """Return what the page of an item says that this person ignored; None of any other item."""
    answer = screen.answer
    if answer is None or answer.outcome != Annotation.Outcome.IGNORED:
        return None
    reason = reason_of(screen.study.config, answer.reason)
    cover = ""
    if reason.covers == "group":
        together = list_ignored_together(answer.participant, item_set, screen.item.pk)
        cover = reason.describe_cover(len(together))
    return {
        "is_here": True,
        "reason": reason,
        "cover": cover,
        "undo_url": address(request, "ignore-undo", item_set.number, place),
    }


def ignored_before(
    request: HttpRequest, participant: Participant, item_set: ItemSet
) -> dict[str, Any] | None:
    """Return what the page after an ignored item says of it, with the way back; else None."""
    if participant.later_visit_id is not None:
        # only the first link opens what was ignored earlier
        return None
    place = _find_place(request.GET.get("undo", ""), item_set)
    if request.GET.get("was") != "ignored" or not place:
        return None
    ignored = list_ignored_together(participant, item_set, item_set.item_ids[place - 1])
    if not ignored:
        return None
    places = sorted(item_set.item_ids.index(answer.item_id) + 1 for answer in ignored)
    return {
        "names": name_places(participant.study.config, places),
        "count": len(places),
        "reason": reason_of(participant.study.config, ignored[0].reason),
        "undo_url": address(request, "ignore-undo", item_set.number, place),
    }


def _find_place(text: str, item_set: ItemSet) -> int:
    """Return the place in the set that an address names; 0: none."""
    place = int(text) if _PLACE.fullmatch(text) else 0
    return place if place <= len(item_set.item_ids) else 0
