"""Places kept for people who have gone quiet or not begun, and taking them back."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef, QuerySet

from evalsite.core.audit.models import AuditEntry
from evalsite.handout.leases import RESERVATION, forget_ends
from evalsite.handout.models import ASSIGNED, Annotation, Draft, Slot
from evalsite.lib.clock import now
from evalsite.lib.deadlocks import in_transaction
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.models import Study

IDLE_MINUTES = 10


@dataclass(frozen=True, kw_only=True)
class Holder:
    """A person for whom places are kept, when they were last active, and until when at most."""

    participant_id: int
    pseudonym: str
    places: int
    silent_since: datetime
    kept_until: datetime


def list_holders(study: Study, *, before: datetime) -> list[Holder]:
    """Return the people who hold places and were not active since, the longest first.

    Experts are none of them: their items are reassigned instead.
    """
    rows = list(
        _find_leased(study)
        .order_by()
        .values_list("participant", "participant__pseudonym")
        .annotate(places=Count("pk"), until=Max("lease_until"))
    )
    if not rows:
        return []
    signs = _find_signs(study, {row[0]: row[3] for row in rows})
    holders = [
        Holder(
            participant_id=pk,
            pseudonym=pseudonym,
            places=places,
            silent_since=signs[pk],
            kept_until=until,
        )
        for pk, pseudonym, places, until in rows
        if signs[pk] < before
    ]
    return sorted(holders, key=lambda holder: (holder.silent_since, holder.participant_id))


def _find_signs(study: Study, leases: dict[int, datetime]) -> dict[int, datetime]:
    """Return when each person last answered, entered something, or took or renewed places."""
    sets = ItemSet.objects.filter(participant__in=leases, finished_at__isnull=True).order_by()
    answers = Annotation.objects.filter(participant__in=leases).order_by()
    drafts = Draft.objects.filter(participant__in=leases).order_by()
    lease = timedelta(minutes=study.lease_minutes)
    signs = {pk: [until - lease] for pk, until in leases.items()}
    for pk, dealt_at, reserved_until in sets.values_list(
        "participant", "created_at", "reserved_until"
    ):
        if reserved_until is not None:
            signs[pk] = [reserved_until - 2 * RESERVATION]
        signs[pk].append(dealt_at)
    for pk, last in answers.values_list("participant").annotate(last=Max("submitted_at")):
        signs[pk].append(last)
    for pk, last in drafts.values_list("participant").annotate(last=Max("updated_at")):
        signs[pk].append(last)
    return {pk: max(moments) for pk, moments in signs.items()}


def count_places(holders: Collection[Holder]) -> int:
    return sum(holder.places for holder in holders)


def take_back_places(*, study: Study, before: datetime, by: Any) -> list[Holder]:
    """Free the places of people who were not active since; return who held them.

    People who have answered meanwhile keep theirs. A repeated request changes nothing.
    """
    return in_transaction(partial(_take_back, study, before, by))


def _take_back(study: Study, before: datetime, by: Any) -> list[Holder]:
    asked = [holder.participant_id for holder in list_holders(study, before=before)]
    _lock(asked)
    # again, now that none of them can save
    holders = [
        holder for holder in list_holders(study, before=before) if holder.participant_id in asked
    ]
    if holders:
        _release(study, [holder.participant_id for holder in holders])
        AuditEntry.objects.record(
            "places taken back",
            by=by,
            study_id=study.pk,
            places=count_places(holders),
            silent_before=before.isoformat(),
            who=[holder.pseudonym for holder in holders],
        )
    return holders


def _lock(people: Collection[int]) -> None:
    locked = Participant.objects.filter(pk__in=people).select_for_update(no_key=True)
    list(locked.order_by("pk"))


def _release(study: Study, people: Collection[int]) -> None:
    """Free all places that these people, who are locked, hold."""
    slots = Slot.objects.leased().filter(study=study, participant__in=people)
    locked = slots.select_for_update().order_by("pos", "id").values_list("pk", flat=True)
    Slot.objects.filter(pk__in=list(locked)).update(
        state=Slot.State.FREE, participant=None, lease_until=None
    )
    forget_ends(people)


# --- people without an answer -----------------------------------------------------------


@dataclass(frozen=True)
class Squatter:
    """A person who holds places and has saved nothing in their set."""

    participant_id: int
    pseudonym: str
    places: int


def list_squatters(study: Study) -> list[Squatter]:
    """Return the people who hold places and have saved nothing in their set; experts are none."""
    rows = (
        _find_leased(study)
        .exclude(Exists(_answers_in_open_set()))
        .order_by("participant")
        .values_list("participant", "participant__pseudonym")
        .annotate(places=Count("pk"))
    )
    return [Squatter(*row) for row in rows]


def _find_leased(study: Study) -> QuerySet[Slot]:
    """Return the places that people have for a time; those of experts have no end."""
    return Slot.objects.leased().filter(
        study=study, lease_until__gt=now(), lease_until__lt=ASSIGNED
    )


def _answers_in_open_set() -> QuerySet[Annotation]:
    return Annotation.objects.filter(
        participant=OuterRef("participant"),
        # not outside of any set, as practice is
        item_set__isnull=False,
        item_set__finished_at__isnull=True,
    ).order_by()


def take_back_unanswered(*, study: Study, by: Any) -> list[Squatter]:
    """Free the places of people who have saved nothing in their set; return who held them.

    Repeated, it takes back what is held by then.
    """
    return in_transaction(partial(_take_back_unanswered, study, by))


def _take_back_unanswered(study: Study, by: Any) -> list[Squatter]:
    asked = [squatter.participant_id for squatter in list_squatters(study)]
    _lock(asked)
    # again, now that none of them can save
    squatters = [row for row in list_squatters(study) if row.participant_id in asked]
    if squatters:
        _release(study, [squatter.participant_id for squatter in squatters])
        AuditEntry.objects.record(
            "places without an answer taken back",
            by=by,
            study_id=study.pk,
            places=sum(squatter.places for squatter in squatters),
            who=[squatter.pseudonym for squatter in squatters],
        )
    return squatters


@dataclass(frozen=True)
class Crowding:
    """How many places are held, and by whom: people without an answer, a single network."""

    total: int
    unanswered: int
    by_a_network: int


def measure_crowding(study: Study) -> Crowding:
    """Return what is held now, for the warnings of the overview."""
    rows = (
        _find_leased(study)
        .annotate(has_answer=Exists(_answers_in_open_set()))
        .order_by()
        .values_list("participant__network", "has_answer")
        .annotate(places=Count("pk"))
    )
    networks: Counter[str] = Counter()
    total = unanswered = 0
    for network, has_answer, places in rows:
        total += places
        networks[network] += places if network else 0
        unanswered += 0 if has_answer else places
    return Crowding(total, unanswered, max(networks.values(), default=0))
