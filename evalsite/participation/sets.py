"""Sets: what is still to answer, changes that were not sent yet, and finishing."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from string import ascii_uppercase

from django.db import transaction
from django.db.models import FilteredRelation, Q

from evalsite.handout.controls import CONTROLS
from evalsite.handout.leases import answered_items, find_end, lock_participant
from evalsite.handout.models import ASSIGNED, Annotation, Draft
from evalsite.lib.clock import now
from evalsite.lib.prepared import Prepared
from evalsite.participation.forms import RatingForm
from evalsite.participation.saving import LEFT_TO_OTHERS, Submission, submit_annotation
from evalsite.participation.screens import Screen, answered_screen, entered_values
from evalsite.participation.view_models import NO_GROUP, GroupPlace
from evalsite.people.models import ItemSet, Participant
from evalsite.people.random_codes import make_completion_code
from evalsite.people.services import has_agreed
from evalsite.people.visits import complete_visit
from evalsite.studies.models import Item, Study

# pages after which people are told that they may take a break
BREAK_EVERY = 20

_set_of = Prepared(
    lambda participant, number: ItemSet.objects.filter(
        participant=participant, number=number
    ).order_by()
)
_answers_to = Prepared(
    lambda participant, *items: (
        Item.objects.filter(pk__in=items)
        .annotate(
            mine=FilteredRelation("annotations", condition=Q(annotations__participant=participant))
        )
        .order_by()
        .values_list("pk", "group", "kind", "mine__started_at", "mine__submitted_at")
    )
)
_drafts_of = Prepared(
    lambda participant, *items: Draft.objects.filter(participant=participant, item__pk__in=items)
)


def find_set(participant: Participant, number: int) -> ItemSet | None:
    """Return this person's set of this number, if there is one."""
    return _set_of.one(participant.pk, number)


def unanswered_places(item_set: ItemSet, answered: Collection[int] | None = None) -> list[int]:
    """Return the places of the set, from 1, without an answer; those lost to others need none."""
    settled = {*(answered_items(item_set) if answered is None else answered), *item_set.lost_ids}
    return [
        place for place, item_id in enumerate(item_set.item_ids, start=1) if item_id not in settled
    ]


def wanted_places(
    participant: Participant, item_set: ItemSet, answered: Collection[int] | None = None
) -> list[int]:
    """Return the places that this person may still answer: none once the study has ended."""
    has_ended = participant.study.has_ended or participant.study.is_past_its_end
    if has_ended and not participant.is_pilot and not participant.slots.leased().exists():
        return []
    return unanswered_places(item_set, answered)


def open_places(item_set: ItemSet) -> list[int]:
    """Return the places of the set, from 1, that weren't lost to others."""
    lost = set(item_set.lost_ids)
    return [
        place for place, item_id in enumerate(item_set.item_ids, start=1) if item_id not in lost
    ]


def read_progress(
    participant: Participant, item_set: ItemSet
) -> tuple[dict[int, float], dict[int, str]]:
    """Return the seconds that each answered item of the set took, and the group of every item."""
    times, groups = {}, {}
    rows = _answers_to.all(participant.pk, *item_set.item_ids)
    for pk, group, kind, started, submitted in rows:
        groups[pk] = _group_in_set(pk, group, kind)
        if submitted is not None:
            times[pk] = (submitted - started).total_seconds()
    return times, groups


def _group_in_set(item_id: int, group: str, kind: str) -> str:
    """Return the group of an item in a set; a control is always a group of its own."""
    is_main = kind in (Item.Kind.MAIN, Item.Kind.WITHDRAWN)
    return group if is_main else f"control {item_id}"


def group_place(
    participant: Participant,
    item_set: ItemSet,
    item_id: int,
    answered: Collection[int] = (),
    groups: Mapping[int, str] | None = None,
) -> GroupPlace:
    """Return the position of this item in its group, and of its group in the set.

    What went to others counts no more, but no group ever takes the letter of another.
    `groups` are those of `read_progress`, where they are at hand.
    """
    if participant.study.groups != Study.Groups.TOGETHER:
        return NO_GROUP
    if groups is None:
        items = Item.objects.filter(pk__in=item_set.item_ids).order_by()
        rows = items.values_list("pk", "group", "kind")
        groups = {pk: _group_in_set(pk, group, kind) for pk, group, kind in rows}
    letters = list(dict.fromkeys(groups[pk] for pk in item_set.item_ids))
    lost = set(item_set.lost_ids) - set(answered) - {item_id}
    mates = [pk for pk in item_set.item_ids if groups[pk] == groups[item_id] and pk not in lost]
    return GroupPlace(
        letter=_letter_of(letters.index(groups[item_id])),
        place=mates.index(item_id) + 1,
        size=len(mates),
    )


def _letter_of(number: int) -> str:
    """Return A, B, ... Z, AA, AB, ... for 0, 1, ... 25, 26, 27, ..."""
    more, last = divmod(number, len(ascii_uppercase))
    return (_letter_of(more - 1) if more else "") + ascii_uppercase[last]


def kept_until(
    participant: Participant,
    screen: Screen,
    item_set: ItemSet | None,
    answered: Collection[int] = (),
) -> datetime | None:
    """Return until when the place of this screen is kept for this person; None: it isn't.

    A control is kept as long as the rest of its set, and looks like any other item.
    """
    if (
        screen.slot is not None
        or screen.item.kind not in CONTROLS
        or participant.is_pilot
        or screen.answer
    ):
        return screen.slot.lease_until if screen.slot else None
    if item_set is not None and not participant.slots.leased().exists():
        missing = {*item_set.item_ids} - {*item_set.lost_ids} - {*answered}
        if Item.objects.main().filter(pk__in=missing).exists():
            return None
    return find_end(participant, participant.study)


def shown_end(until: datetime | None) -> datetime | None:
    """Return the end to show to a person: an expert's places have none."""
    return None if until == ASSIGNED else until


@dataclass(frozen=True)
class Change:
    """A change of an answer that was entered but not sent, with the form that judges it."""

    annotation: Annotation
    place: int
    screen: Screen
    form: RatingForm


def find_changes(participant: Participant, item_set: ItemSet) -> list[Change]:
    """Return drafts of answered items that are newer than the answer and say something else."""
    drafts = {draft.item_id: draft for draft in _drafts_of.all(participant.pk, *item_set.item_ids)}
    if not drafts:
        return []
    annotations = (
        Annotation.objects.filter(participant=participant, item_id__in=list(drafts))
        .select_related("item")
        .prefetch_related("ratings")
    )
    changes = []
    for annotation in annotations:
        draft = drafts[annotation.item_id]
        screen = answered_screen(annotation, participant.study)
        if draft.updated_at <= annotation.submitted_at or not draft.fits(screen.order):
            continue
        if draft.values == entered_values(screen, annotation):
            continue
        form = screen.make_form(draft.values)
        if annotation.outcome in LEFT_TO_OTHERS and not form.is_valid():
            # nobody has to rate an item that they reported or skipped
            continue
        place = item_set.item_ids.index(annotation.item_id) + 1
        changes.append(Change(annotation, place, screen, form))
    return changes


@transaction.atomic
def finish_set(*, participant: Participant, item_set: ItemSet) -> bool:
    """Finish the set and give it its code; its answers are final. Doing it again changes nothing.

    Changes that were entered but not sent are saved first, because their page said that they are
    kept. False, and nothing done, while a place wants an answer, a change is no valid answer, or
    the current consent text isn't agreed to, or if every place went to others.
    """
    locked = lock_participant(participant)
    locked.study = participant.study
    if not has_agreed(locked):
        return False
    current = find_set(locked, item_set.number)
    if current is None:
        raise ItemSet.DoesNotExist
    if current.finished_at is not None:
        return True
    changes = find_changes(locked, current)
    if (
        not current.total
        or wanted_places(locked, current)
        or not all(change.form.is_valid() for change in changes)
    ):
        return False
    for change in changes:
        submit_annotation(participant=locked, submission=_as_submission(change))
    current.finished_at = now()
    current.code = current.code or make_completion_code()
    ItemSet.objects.filter(pk=current.pk).update(finished_at=current.finished_at, code=current.code)
    Draft.objects.filter(participant=locked).delete()
    complete_visit(locked, current)
    return True


def _as_submission(change: Change) -> Submission:
    return Submission(
        item=change.annotation.item,
        rows=change.form.list_rows(change.annotation.item_id),
        note=change.form.cleaned_data.get("note", ""),
        order_shown=tuple(change.screen.order),
    )
