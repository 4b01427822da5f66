"""How far studies are: counted from rows, in few queries, however many rows there are."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Max, Q, QuerySet
from django.utils.timesince import timesince

from evalsite.annotation.models import Annotation, Draft, Slot
from evalsite.lib.clock import now
from evalsite.participants.models import ItemSet, Origin, Participant
from evalsite.studies.models import Item, Output, Study

ACTIVE_MINUTES = 10
_COUNTED = Q(status=Annotation.Status.COUNTED)
_REAL = ~Q(status=Annotation.Status.PILOT)


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Counted answers, of how many, and when the last one came."""

    done: int
    target: int
    last_at: datetime | None

    @property
    def last_ago(self) -> str:
        """How long ago the last answer came, in one unit, such as "2 minutes"."""
        return "" if self.last_at is None else timesince(self.last_at, now(), depth=1)


def progress_of(studies: Collection[Study]) -> dict[UUID, Progress]:
    """The progress of each of these studies, in two queries for all of them."""
    ids = [study.pk for study in studies]
    items = dict(
        Item.objects.main()
        .filter(study__in=ids)
        .order_by()
        .values_list("study")
        .annotate(items=Count("pk"))
    )
    answers: dict[UUID, Mapping[str, Any]] = {
        row["study"]: row
        for row in Annotation.objects.filter(study__in=ids)
        .order_by()
        .values("study")
        .annotate(done=Count("pk", filter=_COUNTED), last=Max("submitted_at", filter=_REAL))
    }
    return {
        study.pk: Progress(
            done=answers.get(study.pk, {}).get("done", 0),
            target=items.get(study.pk, 0) * study.k,
            last_at=answers.get(study.pk, {}).get("last"),
        )
        for study in studies
    }


@dataclass(frozen=True, kw_only=True)
class Activity:
    """What goes on in one study beyond its count of answers."""

    finished_sets: int
    needed_sets: int
    active: int
    people: int
    stopped: int
    reports: int
    surplus: int
    held: int
    median_seconds: int | None
    is_simulated: bool


def activity_of(study: Study, progress: Progress) -> Activity:
    """The facts of the overview; pilots are left out of all of them."""
    people = Participant.objects.filter(study=study, is_pilot=False).aggregate(
        started=Count("pk", filter=Q(pk__in=_starters(study))),
        stopped=Count(
            "pk",
            filter=Q(pk__in=_starters(study))
            & (Q(stopped_at__isnull=False) | Q(withdrawn_at__isnull=False)),
        ),
    )
    answers = Annotation.objects.filter(_REAL, study=study).aggregate(
        reports=Count("pk", filter=Q(outcome=Annotation.Outcome.REPORTED)),
        surplus=Count("pk", filter=Q(status=Annotation.Status.SURPLUS)),
        simulated=Count("pk", filter=Q(origin=Origin.SIMULATED)),
    )
    return Activity(
        finished_sets=_real_sets(study).filter(finished_at__isnull=False).count(),
        needed_sets=ceil(progress.target / study.set_size),
        active=_count_active(study),
        people=people["started"],
        stopped=people["stopped"],
        reports=answers["reports"],
        surplus=answers["surplus"],
        held=Item.objects.filter(study=study, held_at__isnull=False).count(),
        median_seconds=_median_seconds(study),
        is_simulated=answers["simulated"] > 0,
    )


def _real_sets(study: Study) -> QuerySet[ItemSet]:
    return ItemSet.objects.filter(study=study, participant__is_pilot=False)


def _starters(study: Study) -> Any:
    return ItemSet.objects.filter(study=study).values("participant")


def _count_active(study: Study) -> int:
    """People whose answers, drafts or places were touched in the last minutes."""
    since = now() - timedelta(minutes=ACTIVE_MINUTES)
    renewed = since + timedelta(minutes=study.lease_minutes)
    answered = Annotation.objects.filter(study=study, submitted_at__gte=since)
    drafted = Draft.objects.filter(study=study, updated_at__gte=since)
    leased = Slot.objects.leased().filter(study=study, lease_until__gte=renewed)
    return (
        Participant.objects.filter(study=study, is_pilot=False)
        .filter(
            Q(pk__in=answered.values("participant"))
            | Q(pk__in=drafted.values("participant"))
            | Q(pk__in=leased.values("participant"))
        )
        .count()
    )


def _median_seconds(study: Study) -> int | None:
    """The median time from shown to saved, of the answers that count."""
    times = (
        Annotation.objects.counted()
        .filter(study=study)
        .annotate(took=F("submitted_at") - F("started_at"))
        .order_by("took")
        .values_list("took", flat=True)
    )
    count = times.count()
    if not count:
        return None
    middle = times[(count - 1) // 2 : count // 2 + 1]
    return round(sum(took.total_seconds() for took in middle) / len(middle))


def items_by_progress(study: Study, batch_id: Any = None) -> QuerySet[Item]:
    """The main items with their count of answers, those with the fewest first."""
    items = Item.objects.main().filter(study=study)
    if batch_id is not None:
        items = items.filter(batch=batch_id)
    return (
        items.select_related("batch")
        .annotate(done=Count("annotations", filter=Q(annotations__status="counted")))
        .order_by("done", "id")
    )


def progress_by_system(study: Study) -> list[dict[str, Any]]:
    """For each system: its items, and how many answers they have of how many."""
    rows = (
        Output.objects.filter(study=study, item__kind=Item.Kind.MAIN, system__isnull=False)
        .order_by("system__name")
        .values("system__name")
        .annotate(
            items=Count("item", distinct=True),
            done=Count("item__annotations", filter=Q(item__annotations__status="counted")),
        )
    )
    return [
        {
            "name": row["system__name"],
            "items": row["items"],
            "done": row["done"],
            "target": row["items"] * study.k,
        }
        for row in rows
    ]
