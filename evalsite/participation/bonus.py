"""To whom the bonus is due, decided from rows alone.

To people who have finished as many sets as the cap allows; or fewer, and all that they were
dealt, if at that moment no place was left to deal to them: each had gone to someone who has
filled it since, or the study had ended.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from operator import itemgetter

from django.db.models import Max
from django.db.models.functions import Coalesce

from evalsite.handout.models import Annotation, Slot
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.bonus import due_bonus_in_words, promises_bonus
from evalsite.studies.models import Item, Study

_NOT_DEALT = datetime.max.replace(tzinfo=UTC)


def find_earners(study: Study, sets: Iterable[ItemSet] | None = None) -> set[int]:
    """Return to whom of the people with these sets, all that they have, the bonus is due."""
    if not promises_bonus(study):
        return set()
    by_person: dict[int, list[ItemSet]] = {}
    for item_set in ItemSet.objects.filter(study=study) if sets is None else sets:
        by_person.setdefault(item_set.participant_id, []).append(item_set)
    earners, fewer = set(), {}
    for participant, person_sets in by_person.items():
        finished = [
            item_set.finished_at for item_set in person_sets if item_set.finished_at is not None
        ]
        if len(finished) >= (study.max_sets or 0):
            earners.add(participant)
        elif finished and not any(
            item_set.finished_at is None and item_set.total for item_set in person_sets
        ):
            fewer[participant] = max(finished)
    return earners | _find_stranded(study, fewer)


def _find_stranded(study: Study, finished_at: dict[int, datetime]) -> set[int]:
    """Return to whom no place was left at the moment when they had finished all their sets."""
    end = _end_of(study)
    stranded = {
        participant
        for participant, moment in finished_at.items()
        if end is not None and moment >= end
    }
    rest = finished_at.keys() - stranded
    if not rest:
        return stranded
    met = _find_met(study, rest)
    latest = sorted(_last_dealt(study).items(), key=itemgetter(1), reverse=True)
    for participant in rest:
        # the place that was dealt last of all that this person could have had
        dealt_at = next((at for unit, at in latest if unit not in met.get(participant, ())), None)
        if dealt_at is None or dealt_at <= finished_at[participant]:
            stranded.add(participant)
    return stranded


def _end_of(study: Study) -> datetime | None:
    """Return since when nothing is dealt any more, for good; None while the study may go on."""
    if study.closed_at is not None:
        return study.closed_at
    return study.closes_at if study.is_past_its_end else None


def _unit_of(study: Study) -> str:
    """Return what a participant meets once: a group where the study says so, else an item."""
    return "item__group" if study.groups == Study.Groups.ONCE else "item_id"


def _find_met(study: Study, participants: Iterable[int]) -> dict[int, set[object]]:
    """Return the items, or groups, that each of these participants has answered in the work."""
    met: dict[int, set[object]] = {}
    answered = Annotation.objects.agreed().filter(study=study, participant__in=list(participants))
    # as for those who deal: a control takes nobody away from an item that shares its inputs
    answered = answered.filter(item__kind__in=(Item.Kind.MAIN, Item.Kind.WITHDRAWN))
    for participant, unit in answered.order_by().values_list("participant_id", _unit_of(study)):
        met.setdefault(participant, set()).add(unit)
    return met


def _last_dealt(study: Study) -> dict[object, datetime]:
    """Return when the last place of each item, or group, was dealt to the person who filled it.

    A place that is not filled may yet come free: it counts as never dealt.
    """
    unit = _unit_of(study)
    slots = Slot.objects.filter(study=study).order_by()
    moment = Coalesce("annotation__item_set__created_at", "annotation__started_at")
    last_dealt = dict(slots.done().values_list(unit).annotate(last=Max(moment)))
    unfilled = slots.exclude(state=Slot.State.DONE)
    if _end_of(study) is not None:
        # held until the end, so nobody could have had them
        unfilled = unfilled.filter(item__held_at__isnull=True)
    return last_dealt | dict.fromkeys(unfilled.values_list(unit, flat=True).distinct(), _NOT_DEALT)


def due_bonus(participant: Participant) -> str:
    """Return the sentence for a person to whom the bonus is due; "" for others."""
    if participant.pk not in find_earners(participant.study, participant.item_sets.all()):
        return ""
    return due_bonus_in_words(
        participant.study, participant.item_sets.filter(finished_at__isnull=False).count()
    )
