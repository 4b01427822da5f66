"""How far studies are: counted from rows, in few queries, however many rows there are."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median
from typing import Any
from uuid import UUID

from django.db.models import (
    Case,
    Count,
    Exists,
    Func,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce
from django.utils.timesince import timesince

from evalsite.data.files.services import describe_imports
from evalsite.decisions.frozen_plans import list_hidden
from evalsite.decisions.models import (
    AnalysisPlan,
    AnalysisPlanVersion,
    Approval,
    Exclusion,
    PeopleFigures,
)
from evalsite.decisions.pay import filter_state, is_paid, list_payable, list_reviews
from evalsite.decisions.plan_commitment import make_line
from evalsite.fieldwork.checklist import counts_of
from evalsite.fieldwork.live_changes import unfinished_places
from evalsite.handout.models import ASSIGNED, TOP_UP_FROM, Annotation, Draft, RatingsFile, Slot
from evalsite.lib.clock import now
from evalsite.people.joins import find_recent_joins
from evalsite.people.models import ItemSet, Origin, Participant
from evalsite.studies.items import MainItems, count_records, count_records_of
from evalsite.studies.models import Batch, Change, Item, Output, Study, System
from evalsite.studies.summary_lines import count_groups, count_sets, most_in_a_set

ACTIVE_MINUTES = 10
JOINED_WITHIN = timedelta(minutes=10)
# more sets than anyone takes
NO_LIMIT = 1_000_000
LATEST = 1000
_REPORTED = Q(outcome=Annotation.Outcome.REPORTED)
# when answers were imported says nothing of how the study goes
GIVEN_HERE = (Origin.OWN, Origin.SIMULATED)
# on a page of many studies
COUNTED_TO = 10_000


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Counted answers, of how many, and when the last one came."""

    done: int
    target: int
    last_at: datetime | None

    @property
    def last_ago(self) -> str:
        """When the last answer came, in one unit, such as "2 minutes ago"."""
        if self.last_at is None:
            return ""
        moment = now()
        if moment - self.last_at < timedelta(minutes=1):
            return "just now"
        return f"{timesince(self.last_at, moment, depth=1)} ago"


def progress_of(study: Study) -> Progress:
    """Count the answers of one study."""
    edge = count_edge(study)
    return Progress(done=edge.done, target=edge.target, last_at=edge.last_at)


# --- the header of a study's pages --------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Edge:
    """What the header of each page counts: answers of how many, items and systems."""

    done: int
    target: int
    items: int
    records: int  # of the researcher's data: several items each, where outputs are rated alone
    systems: int
    last_at: datetime | None  # of the answers given here


def count_edge(study: Study) -> Edge:
    """Count what the header shows; once for each request's study."""
    known: Edge | None = study.__dict__.get("edge")
    if known is None:
        known = study.__dict__["edge"] = _count_edge(study)
    return known


def _count_edge(study: Study) -> Edge:
    if study.version_id is None:
        # nobody was let in yet: any answers were imported
        counts = counts_of(study)
        return Edge(
            done=counts.answers,
            target=counts.items * study.k,
            items=counts.items,
            records=counts.records,
            systems=counts.systems,
            last_at=None,
        )
    return _read_edge(study, _read_columns(study, _edge_columns(study)))


def _read_columns(study: Study, columns: dict[str, Any]) -> dict[str, Any]:
    """Return these columns, which count something of the study, in one query."""
    row: Any = Study.objects.filter(pk=study.pk).order_by().values("pk").annotate(**columns)
    counted: dict[str, Any] = row.get()
    return counted


def _edge_columns(study: Study) -> dict[str, Any]:
    # all, less those of hidden batches: so the index is enough
    stored = _count_in_study(study, Item.all_objects.main())
    hidden = Batch.all_objects.filter(study=study, stored_at=None)
    left_out = _count_in_study(study, Item.all_objects.main().filter(batch__in=hidden))
    items, counted = Item.objects.main(), Annotation.objects.counted().filter(study=study)
    newest = counted.order_by("-submitted_at").values("submitted_at")
    unopened = Batch.objects.filter(study=study, opened_at=None)
    return {
        "done": _count_in_study(study, counted),
        "all_items": stored - Case(When(Exists(hidden), then=left_out), default=0),
        # counted only where a batch waits: it reads every item
        "unopened": Value(0)
        if study.launched_at is None
        else Case(
            When(Exists(unopened), then=_count_in_study(study, items.filter(batch__in=unopened))),
            default=0,
        ),
        "added": _count_in_study(study, Slot.objects.filter(no__gte=TOP_UP_FROM)),
        "all_systems": _count_in_study(study, System.objects.all()),
        "newest": items.filter(study=study).order_by("-pk").values("pk")[:1],
        "changes": _count_in_study(study, Change.objects.all()),
        # one for each: by the index of origins and times
        **{f"last_{origin}": Subquery(newest.filter(origin=origin)[:1]) for origin in GIVEN_HERE},
    }


def _read_edge(study: Study, row: dict[str, Any]) -> Edge:
    target = (row["all_items"] - row["unopened"]) * study.k + row["added"]
    return Edge(
        done=row["done"],
        # nothing was planned here
        target=row["done"] if study.is_collected_elsewhere else target,
        items=row["all_items"],
        records=row["all_items"]
        if study.config.unit_name == "item"
        else count_records(MainItems(study.pk, row["all_items"], row["newest"], row["changes"])),
        systems=row["all_systems"],
        last_at=max(filter(None, (row[f"last_{origin}"] for origin in GIVEN_HERE)), default=None),
    )


def _count_in_study(study: Any, rows: QuerySet[Any]) -> Any:
    """Return the count of the study's rows among these, as a part of another query."""
    # not Count, which groups the rows: twice as slow
    count = Func("pk", function="COUNT", output_field=IntegerField())
    mine = rows.filter(study=study).order_by().annotate(row_count=count)
    return Coalesce(Subquery(mine.values("row_count")), 0)


# --- many studies at once -------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Outline(Progress):
    """What one study among many holds, and how far it is.

    Of a large one, items and records are as many as were counted, and there is no target.
    """

    items: int
    records: int  # of the researcher's data
    systems: int
    has_more_done: bool = False
    more_than: int = 0


def outline_progress(studies: Collection[Study]) -> dict[UUID, Outline]:
    """Outline each of these studies, in five queries however many there are, later in four.

    If a study has more than COUNTED_TO answers, or items, these are not counted, so a page of many
    studies takes no longer for large ones. What each study asks is read once in each process.
    """
    sizes = {row["pk"]: row for row in _find_sizes([study.pk for study in studies])}
    answers = _count_by_study(
        Annotation.objects.counted(), [pk for pk, row in sizes.items() if not row["many_answers"]]
    )
    small = [pk for pk, row in sizes.items() if not row["many_items"]]
    items = dict.fromkeys(sizes, COUNTED_TO)
    # those that are being stored, too: so the index is enough
    items |= dict.fromkeys(small, 0) | _count_by_study(Item.all_objects.main(), small)
    hidden, waiting = _count_left_out(small)
    mains = {
        pk: MainItems(pk, items[pk] - hidden.get(pk, 0), row["newest"], row["change_count"])
        for pk, row in sizes.items()
    }
    units = {study.pk: study.base_instrument.unit_name for study in studies}
    records = count_records_of([mains[pk] for pk in small if units[pk] != "item"])
    outlines = {}
    for study in studies:
        row, main = sizes[study.pk], mains[study.pk]
        has_more_done, is_large = bool(row["many_answers"]), bool(row["many_items"])
        done = COUNTED_TO if has_more_done else answers.get(study.pk, 0)
        target = (main.number - waiting.get(study.pk, 0)) * study.k + row["added"]
        if study.is_collected_elsewhere:
            target = done  # nothing was planned here
        outlines[study.pk] = Outline(
            done=done,
            target=0 if is_large else target,
            last_at=max(
                filter(None, (row[f"last_{origin}"] for origin in GIVEN_HERE)), default=None
            ),
            items=main.number,
            records=records.get(study.pk, main.number),
            systems=row["all_systems"],
            has_more_done=has_more_done,
            more_than=COUNTED_TO * study.k if is_large else 0,
        )
    return outlines


def count_for(rows: QuerySet[Any]) -> Any:
    """Return the count of a study's rows among these, as a part of a query of studies."""
    return _count_in_study(OuterRef("pk"), rows)


def _find_sizes(ids: Collection[UUID]) -> Any:
    """Find which studies have more answers or items than are counted, and their last answers."""
    counted = Annotation.objects.counted().filter(study=OuterRef("pk"))
    # those that are being stored, too: so the index is enough
    items = Item.all_objects.main().filter(study=OuterRef("pk"))
    # a batch has a row for each item at least
    rows = Batch.all_objects.filter(study=OuterRef("pk")).order_by()
    row_count = Func("rows", function="SUM", output_field=IntegerField())
    newest = counted.order_by("-submitted_at").values("submitted_at")
    beyond = slice(COUNTED_TO, COUNTED_TO + 1)
    return (
        Study.objects.filter(pk__in=ids)
        .order_by()
        .values("pk")
        .annotate(
            # in the order of an index: otherwise PostgreSQL reads the whole table for small studies
            many_answers=Subquery(
                counted.order_by("origin", "submitted_at").values("status")[beyond]
            ),
            all_rows=Subquery(rows.annotate(row_count=row_count).values("row_count")),
            many_items=Case(
                When(
                    all_rows__gt=COUNTED_TO,
                    then=Subquery(items.order_by("pk").values("pk")[beyond]),
                ),
            ),
            newest=Subquery(items.order_by("-pk").values("pk")[:1]),
            change_count=count_for(Change.objects.all()),
            added=count_for(Slot.objects.filter(no__gte=TOP_UP_FROM)),
            all_systems=count_for(System.objects.all()),
            **{
                f"last_{origin}": Subquery(newest.filter(origin=origin)[:1])
                for origin in GIVEN_HERE
            },
        )
    )


def _count_by_study(rows: QuerySet[Any], ids: Collection[UUID]) -> dict[UUID, int]:
    counts = rows.filter(study__in=ids).order_by().values_list("study")
    return dict(counts.annotate(rows=Count("pk")))


def _count_left_out(ids: Collection[UUID]) -> tuple[dict[UUID, int], dict[UUID, int]]:
    """Count the main items that are being stored, and those that wait to be dealt."""
    is_waiting = Q(opened_at=None, study__launched_at__isnull=False)
    batches = Batch.all_objects.filter(Q(stored_at=None) | is_waiting, study__in=ids).order_by()
    # usually there is none
    stored = dict(batches.values_list("pk", "stored_at"))
    hidden: dict[UUID, int] = {}
    waiting: dict[UUID, int] = {}
    rows = Item.all_objects.main().filter(batch__in=stored).order_by().values_list("study", "batch")
    for study, batch, count in rows.annotate(rows=Count("pk")) if stored else ():
        counts = hidden if stored[batch] is None else waiting
        counts[study] = counts.get(study, 0) + count
    return hidden, waiting


# --- one study ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class NewestPlan:
    """The version of the analysis plan that holds, and whether results by system are hidden now."""

    number: int
    frozen_at: datetime
    answers: int  # that were in before
    is_empty: bool
    hides: bool
    line: str  # to publish; "" while the launch is under way


@dataclass(frozen=True, kw_only=True)
class Activity:
    """What goes on in one study beyond its count of answers."""

    finished_sets: int
    needed_sets: int
    set_items: int  # the most that one set holds
    active: int
    people: int
    left_early: int
    reports: int
    surplus: int
    on_hold: int
    simulated: str
    waiting: int = 0
    may_be_quiet: bool = False
    may_be_crowded: bool = False
    excluded: int = 0
    joined: int = 0
    has_work: bool = False
    reviews: int = 0
    review_due_at: datetime | None = None
    to_approve: int = 0
    imported: tuple[str, ...] = ()
    plan: NewestPlan | None = None
    has_invited: bool = False  # people by name
    measured_at: datetime | None = None  # when people were measured last, for flags
    thresholds: dict[str, float] = field(default_factory=dict)


def activity_of(study: Study, *, has_others: bool = True) -> Activity:
    """Return the facts of the overview, those of its header too.

    Pilots are left out of all of them. `has_others`: reports and surplus answers are counted, too,
    in a query of their own.
    """
    # reports are never among those that count; with the origin named, an index leaves these out
    further = Annotation.objects.agreed().filter(
        study=study,
        origin__in=Origin.values,
        status__in=(Annotation.Status.SURPLUS, Annotation.Status.CONTROL),
    )
    answers = {"reports": 0, "surplus": 0}
    if has_others:
        answers = further.aggregate(
            reports=Count("pk", filter=_REPORTED),
            surplus=Count("pk", filter=~_REPORTED & Q(status=Annotation.Status.SURPLUS)),
        )
    starters = Participant.objects.filter(is_pilot=False, pk__in=find_starters(study))
    gone = Q(stopped_at__isnull=False) | Q(withdrawn_at__isnull=False)
    finished = ItemSet.objects.filter(participant__is_pilot=False, finished_at__isnull=False)
    reviews = list_reviews(study)
    columns = {
        **_edge_columns(study),
        "people": _count_in_study(study, starters),
        "left_early": _count_in_study(study, starters.filter(gone)),
        "finished": _count_in_study(study, finished),
        "active": _count_in_study(study, _find_active(study)),
        "has_work": Exists(unfinished_places(study)),
        "reviews": _count_in_study(study, reviews),
        "review_due_at": Subquery(reviews.values("review_due_at")[:1]),
        "to_approve": _count_in_study(study, find_unapproved(study)),
        "joined": _count_in_study(study, find_recent_joins(JOINED_WITHIN)),
        "on_hold": _count_in_study(study, Item.objects.filter(held_at__isnull=False)),
        "waiting": _count_in_study(study, Batch.objects.filter(opened_at__isnull=True)),
        "excluded": _count_in_study(study, Exclusion.objects.active()),
        "quiet": _count_in_study(study, _find_quiet_places(study)),
        "leased": Exists(Slot.objects.leased().filter(study=study, lease_until__gt=now())),
        "is_imported": Exists(RatingsFile.objects.filter(study=study)),
        "has_invited": Exists(study.experts.all()),
        "measured_at": Subquery(PeopleFigures.objects.filter(study=study).values("measured_at")),
        "thresholds": Subquery(AnalysisPlan.objects.filter(study=study).values("thresholds")),
        **_plan_columns(study),
    }
    row = _read_columns(study, columns)
    edge = study.__dict__["edge"] = _read_edge(study, row)
    items = edge.target // study.k
    groups = count_groups(study, Item.objects.main().open().filter(study=study))
    return Activity(
        finished_sets=row["finished"],
        needed_sets=count_sets(study, items, groups),
        set_items=max(1, most_in_a_set(study, items, groups)),
        active=row["active"],
        joined=row["joined"],
        has_invited=row["has_invited"],
        measured_at=row["measured_at"],
        thresholds=row["thresholds"] or {},
        has_work=row["has_work"],
        reviews=row["reviews"],
        review_due_at=row["review_due_at"],
        to_approve=row["to_approve"],
        people=row["people"],
        left_early=row["left_early"],
        reports=answers["reports"],
        surplus=answers["surplus"],
        on_hold=row["on_hold"],
        simulated=_describe_simulated(
            is_simulated=row["last_simulated"] is not None,
            is_real=row["last_own"] is not None or row["is_imported"],
        ),
        waiting=row["waiting"],
        excluded=row["excluded"],
        may_be_quiet=row["quiet"] > 0,
        may_be_crowded=row["leased"],
        imported=tuple(describe_imports(study)) if row["is_imported"] else (),
        plan=_read_plan(study, row),
    )


_OF_PLAN = ("number", "frozen_at", "answers", "has_plan", "commitment")


def _plan_columns(study: Study) -> dict[str, Any]:
    newest = AnalysisPlanVersion.objects.filter(study=study).order_by("-number")
    columns = {f"plan_{name}": Subquery(newest.values(name)[:1]) for name in _OF_PLAN}
    return {**columns, "plan_hides": Exists(list_hidden().filter(pk=study.pk))}


def _read_plan(study: Study, row: dict[str, Any]) -> NewestPlan | None:
    number, frozen_at, answers, has_plan, digest = (row[f"plan_{name}"] for name in _OF_PLAN)
    if number is None:
        return None
    return NewestPlan(
        number=number,
        frozen_at=frozen_at,
        answers=answers,
        is_empty=not has_plan,
        hides=row["plan_hides"],
        line=make_line(study.pk, digest, number, frozen_at) if digest else "",
    )


def find_unapproved(study: Study) -> QuerySet[ItemSet]:
    """Return the sets whose pay waits for a decision; none of a study that pays nothing."""
    if not is_paid(study):
        return ItemSet.objects.none()
    waiting = filter_state(list_payable(study), Approval.State.WAITING)
    return ItemSet.objects.filter(pk__in=waiting.values("pk"))


def _find_quiet_places(study: Study) -> QuerySet[Slot]:
    """Return the leased places that were not renewed lately; their holders may still type."""
    renewed = now() - timedelta(minutes=ACTIVE_MINUTES) + timedelta(minutes=study.lease_minutes)
    return Slot.objects.leased().filter(lease_until__gt=now(), lease_until__lt=renewed)


def _describe_simulated(*, is_simulated: bool, is_real: bool) -> str:
    """Return a warning if answers are simulated or not all from people; else nothing."""
    if not is_simulated:
        return ""
    if is_real:
        return "Some of these answers are simulated."
    return "These answers are simulated."


def find_starters(study: Study) -> Any:
    return ItemSet.objects.filter(study=study).values("participant")


def _find_active(study: Study) -> QuerySet[Participant]:
    """Return people at work whose answers, drafts or places were touched in the last minutes."""
    since = now() - timedelta(minutes=ACTIVE_MINUTES)
    renewed = since + timedelta(minutes=study.lease_minutes)
    answered = Annotation.objects.filter(
        study=study, origin__in=GIVEN_HERE, submitted_at__gte=since
    )
    drafted = Draft.objects.filter(study=study, updated_at__gte=since)
    # new sets are reserved for less than a lease at first
    sets = ItemSet.objects.filter(study=study, created_at__gte=since, finished_at=None)
    leased = Slot.objects.leased().filter(
        study=study, lease_until__gte=renewed, lease_until__lt=ASSIGNED
    )
    slots = Slot.objects.leased().filter(study=study, lease_until__gte=now())
    sets = sets.filter(participant__in=slots.values("participant"))
    touched = Q(pk__in=leased.values("participant")) | Q(pk__in=sets.values("participant"))
    if not study.has_ended:
        touched |= Q(pk__in=answered.values("participant"))
        touched |= Q(pk__in=drafted.values("participant"))
    people = Participant.objects.filter(study=study, is_pilot=False, withdrawn_at=None)
    return people.filter(touched).exclude(pk__in=_find_idle(study))


def _find_idle(study: Study) -> Any:
    """Those who have finished every set they were dealt, where no further one can be for them."""
    open_sets = ItemSet.objects.filter(participant=OuterRef("pk"), finished_at=None)
    people = Participant.objects.filter(study=study, item_sets__isnull=False)
    done = people.filter(~Exists(open_sets)).annotate(sets=Count("item_sets"))
    if study.is_open:
        places = Slot.objects.filter(study=study, item__held_at=None)
        # each by its own index
        has_places = Exists(places.filter(state=Slot.State.FREE)) | Exists(
            places.filter(state=Slot.State.LEASED)
        )
        has_all = Q(sets__gte=study.max_sets or NO_LIMIT)
        done = done.filter(has_all | ~Q(has_places))
    return done.order_by().values("pk")


def read_latest(study: Study) -> list[Any]:
    """Return the latest thousand items that were rated: id, shown, saved and comment of each."""
    # not of all: a database sorts what it computes from two columns without an index
    rated = Annotation.objects.counted().filter(
        study=study, origin__in=GIVEN_HERE, outcome=Annotation.Outcome.RATED
    )
    columns = ("pk", "started_at", "submitted_at", "note")
    return list(rated.order_by("-id").values_list(*columns)[:LATEST])


def median_seconds(latest: Sequence[Any]) -> int | None:
    """Return the median time from shown to saved of these."""
    seconds = [(saved - shown).total_seconds() for _, shown, saved, _ in latest]
    return round(median(seconds)) if seconds else None


def items_by_progress(study: Study, batch_id: Any = None) -> QuerySet[Item]:
    """Return the main items with their count of answers, those with the fewest first."""
    items = Item.objects.main().filter(study=study)
    if batch_id is not None:
        items = items.filter(batch=batch_id)
    counted = Annotation.objects.filter(item=OuterRef("pk"), status="counted").order_by()
    done = Subquery(counted.values("item").annotate(done=Count("pk")).values("done"))
    return items.select_related("batch").annotate(done=Coalesce(done, 0)).order_by("done", "id")


def progress_by_system(study: Study) -> list[dict[str, Any]]:
    """For each system: its items, and how many answers they have of how many."""
    # two plain counts: one with DISTINCT over the join took twice as long
    outputs = Output.objects.filter(item__in=Item.objects.main().open().filter(study=study))
    outputs = outputs.order_by()
    items = dict(outputs.values_list("system").annotate(items=Count("pk")))
    answered = outputs.filter(item__annotations__status=Annotation.Status.COUNTED)
    done = dict(answered.values_list("system").annotate(done=Count("pk")))
    return [
        {
            "id": system.pk,
            "name": system.name,
            "items": items.get(system.pk, 0),
            "done": done.get(system.pk, 0),
            "target": items.get(system.pk, 0) * study.k,
        }
        for system in System.objects.filter(study=study)
    ]
