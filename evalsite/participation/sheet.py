"""A sheet: all items of a set on one page, each of them a part with fields of its own."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max, Prefetch
from django.http import QueryDict

from evalsite.handout.models import Annotation, Draft, Slot, order_for
from evalsite.instruments.fields import SentField, SentForm, unify_breaks
from evalsite.lib.clock import now
from evalsite.lib.limited import read_json
from evalsite.participation.screens import Screen, answered_screen, entered_values, in_order
from evalsite.participation.sets import open_places
from evalsite.participation.shown_screens import newest_values
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.models import Item, Output

_FIELD = re.compile(r"q([1-9][0-9]{0,4})-(.+)", re.DOTALL)
# of a part, beside its answers
_NO_ANSWERS = frozenset({"state", "was", "device", "client_ms", "active_ms"})
# what is signed counts in milliseconds
_LEAST_TIME = timedelta(milliseconds=1)


def anchor_of(place: int) -> str:
    """Return the id of this place's part, with which the names of its fields begin."""
    return f"q{place}"


# --- shown ------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShownPart:
    """An item of a sheet as this person sees it.

    `values` are its newest entries, and `known` those that need no saving: the answer, or what was
    entered of one so far.
    """

    place: int
    screen: Screen
    values: dict[str, str]
    known: dict[str, str]


def load_parts(participant: Participant, item_set: ItemSet) -> list[ShownPart]:
    """Return the items of a set that are this participant's: 6 queries, however many they are.

    Those with an answer that the link in use doesn't open are left out.
    """
    places = {item_set.item_ids[place - 1]: place for place in open_places(item_set)}
    by_position = Prefetch("outputs", Output.objects.order_by("position"))
    items = Item.objects.filter(pk__in=places).prefetch_related(by_position)
    slots = {
        slot.item_id: slot for slot in Slot.objects.filter(participant=participant, item__in=places)
    }
    drafts = {
        draft.item_id: draft
        for draft in Draft.objects.filter(participant=participant, item__in=places)
        if participant.may_reopen(draft.visit_id)
    }
    answers = Annotation.objects.filter(participant=participant, item__in=places)
    answered = {answer.item_id: answer for answer in answers.prefetch_related("ratings")}
    earlier = {
        item for item, answer in answered.items() if not participant.may_reopen(answer.visit_id)
    }
    parts = [
        _load_part(
            participant,
            item,
            places[item.pk],
            slots.get(item.pk),
            drafts.get(item.pk),
            answered.get(item.pk),
        )
        for item in items
        if item.pk not in earlier
    ]
    return sorted(parts, key=lambda part: part.place)


def _load_part(
    participant: Participant,
    item: Item,
    place: int,
    slot: Slot | None,
    draft: Draft | None,
    answer: Annotation | None,
) -> ShownPart:
    if answer is not None:
        answer.item = item
        screen = answered_screen(answer, participant.study)
        values = newest_values(screen, draft)
        return ShownPart(place, screen, values, entered_values(screen, answer))
    outputs = list(item.outputs.all())
    order = order_for(participant, item, len(outputs), slot)
    screen = in_order(participant.study, item, outputs, order, slot, participant_id=participant.pk)
    values = newest_values(screen, draft)
    # a whole answer that waits for its saving is sent with the next one
    is_whole = bool(values) and screen.make_form(values).is_valid()
    starts = {
        question.name: start
        for question in screen.questions
        if (start := question.scale.start_entry)
    }
    return ShownPart(place, screen, values, {} if is_whole else starts | values)


def write_known(values: Mapping[str, str]) -> str:
    """Return entries as text for a page: what is posted with the same is not changed."""
    return json.dumps(values)


# --- sent -------------------------------------------------------------------------------


def is_changed(data: QueryDict) -> bool:
    """Tell whether what was sent for a part says anything else than the page did when shown."""
    entered = {
        name: unify_breaks(str(text))
        for name, text in data.items()
        if name not in _NO_ANSWERS and text
    }
    try:
        was = read_json(str(data.get("was", "")), most_depth=1)  # an object of texts
    except ValueError:
        was = {}
    known = was.items() if isinstance(was, Mapping) else ()
    return entered != {name: text for name, text in known if text}


class SheetForm(SentForm):
    """The place in view, the one that a button leads to, and what was sent for each place."""

    data: QueryDict
    at = SentField()
    go = SentField()

    @property
    def parts(self) -> dict[int, QueryDict]:
        """What was sent for each place, by the names that fields have on a page of one item."""
        fields: dict[int, QueryDict] = {}
        for name, values in self.data.lists():
            if match := _FIELD.fullmatch(name):
                part = fields.setdefault(int(match[1]), QueryDict(mutable=True))
                part.setlist(match[2], values)
        for part in fields.values():
            part["device"] = str(self.data.get("device", ""))
        return {place: fields[place] for place in sorted(fields)}


# --- time -------------------------------------------------------------------------------


def share_time(
    participant: Participant, item_set: ItemSet, shown_at: datetime, parts: int
) -> timedelta:
    """Return how long each of so many answers took that one press saves.

    The time of an answer begins when the one before it was saved, or the page was shown. Answers
    that come together have equal shares.
    """
    last = Annotation.objects.filter(participant=participant, item_set=item_set).aggregate(
        last=Max("submitted_at")
    )["last"]
    began = shown_at if last is None else max(shown_at, last)
    return (now() - began) / parts


def next_time_shown() -> datetime:
    """Return since when a person sees what they have just saved: not before it was."""
    return now() + _LEAST_TIME


def place_after(missing: Collection[int], at: int) -> int | None:
    """Return the next place that wants an answer, in order and from the end to the first."""
    return next((place for place in missing if place > at), next(iter(missing), None))
