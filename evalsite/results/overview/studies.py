"""The list of studies: what is left to do in each, those with the newest change first."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import (
    CharField,
    Count,
    DateTimeField,
    Exists,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
)
from django.db.models.functions import Cast, Coalesce, Greatest, Substr

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.data.items.importer import ITEMS
from evalsite.decisions.frozen_plans import list_hidden, list_undecided
from evalsite.fieldwork.checklist import Counts, check_launch
from evalsite.handout.models import Annotation
from evalsite.instruments.installed import installed_folders
from evalsite.lib.clock import now
from evalsite.people.models import PersonalLink
from evalsite.results.models import Report
from evalsite.results.overview.headline import HALTED_AFTER, describe_moment
from evalsite.results.overview.pace import WINDOW, Forecast, floor_hour, forecast_end
from evalsite.results.progress import GIVEN_HERE, Outline, count_for, outline_progress
from evalsite.studies.items import MainItems
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.summary_lines import name_of_instrument, name_of_protocol

PAGE = 50
LONGEST_SEARCH = 200
# a personal link that nobody opened for so long
UNOPENED_AFTER = timedelta(days=3)
# this many times the answers of the last days
_FARTHEST = 10
# answers of the hours that are over, by study and the hour after them
_MOST_KNOWN = 1024
Hours = list[tuple[datetime, int]]
_past_hours: dict[tuple[UUID, datetime], Hours] = {}
_RUNNING = (Study.State.LIVE, Study.State.PAUSED)


# what somebody should look at; the first that is so is what a row says
_URGENT = (
    "missing",
    "all-in",
    "paused",
    "past-end",
    "halted",
    "held",
    "slow",
    "unopened",
    "decide",
)


@dataclass(frozen=True, kw_only=True)
class StudyRow:
    """One study of the list, and what is left to do in it."""

    study: Study
    instrument: str
    progress: Outline
    left: int
    missing: int  # what a draft lacks before its launch
    reported: int  # items that people reported
    unopened: int  # links that nobody opened for days
    flag: str
    is_undecided: bool  # closed, and its rules for exclusions neither applied nor declined
    is_slow: bool
    storing: Job | None  # how far the items of a large new study are stored
    done_by: str  # when a running study is done at its present pace
    result: str  # what the answers say, of a study that is over

    @property
    def is_urgent(self) -> bool:
        return bool(self.flag or self.reported)

    @property
    def task(self) -> str:
        """Return what is left to do, as the template calls it; "" if nothing is."""
        facts = {
            "missing": self.missing,
            self.flag: self.flag,
            "held": self.reported,
            "slow": self.is_slow,
            "unopened": self.unopened,
            "decide": self.is_undecided,
        }
        return next((task for task in _URGENT if facts.get(task)), "")


def list_studies(user: Any, query: Any) -> dict[str, Any]:
    """Return what the page of studies shows: those of this person that the address asks for."""
    search = query.get("q", "").strip()[:LONGEST_SEARCH]
    visible = Study.objects.visible_to(user).select_related("instrument")
    studies = _search(visible.defer("instrument__content"), search)
    archived = Q(state=Study.State.ARCHIVED)
    is_archive = "archived" in query
    shown = studies.filter(archived) if is_archive else studies.exclude(archived)
    page = Paginator(_put_newest_first(shown), PAGE).get_page(query.get("page"))
    rows = list(_describe(list(page)).values())
    put_away = page.paginator.count if is_archive else studies.filter(archived).count()
    return {
        "search": search,
        "is_archive": is_archive,
        "archived": put_away,
        "rows": rows,
        "page": page,
        "urgent": sum(bool(row.task) for row in rows),
        "running": sum(row.study.state in _RUNNING for row in rows),
        # nobody has begun anything yet
        "is_empty": not (rows or put_away or search or is_archive),
    }


def _search(studies: QuerySet[Study], search: str) -> QuerySet[Study]:
    """Return those with these words in their title, their instrument's, or a member's name."""
    if not search:
        return studies
    protocols = [
        name for name in installed_folders() if search.lower() in name_of_protocol(name).lower()
    ]
    names = Q()
    for field in ("username", "first_name", "last_name"):
        names |= Q(**{f"user__{field}__icontains": search})
    members = Membership.objects.filter(names, study=OuterRef("pk"))
    return studies.filter(
        Q(title__icontains=search)
        | Q(protocol__in=protocols, instrument=None)
        | Q(instrument__title__icontains=search)
        | Q(Exists(members))
    )


def _put_newest_first(studies: QuerySet[Study]) -> QuerySet[Study]:
    """Order studies by what happened last: what somebody did, or an answer."""
    # by time, not by number: PostgreSQL would read the whole log from its end
    entries = AuditEntry.objects.filter(study_id=OuterRef("pk")).order_by("-created_at")
    answers = Annotation.objects.counted().filter(study=OuterRef("pk")).order_by("-submitted_at")
    moments = [
        Subquery(entries.values("created_at")[:1]),
        *(
            Subquery(answers.filter(origin=origin).values("submitted_at")[:1])
            for origin in GIVEN_HERE
        ),
    ]
    known = [Coalesce(moment, F("created_at"), output_field=DateTimeField()) for moment in moments]
    return studies.order_by(Greatest(*known).desc(), "-created_at", "pk")


def _describe(studies: Collection[Study]) -> dict[UUID, StudyRow]:
    """Describe each of these studies in eight queries, however many there are."""
    moment = now()
    outlines = outline_progress(studies)
    facts = {row["pk"]: row for row in _find_facts([study.pk for study in studies], moment)}
    forecasts = _forecast_ends(studies, outlines, facts, moment)
    hiding = [study.pk for study in studies if study.has_ended and study.hides_results]
    hidden = set(list_hidden().filter(pk__in=hiding).values_list("pk", flat=True)) if hiding else ()
    rows = {}
    for study in studies:
        progress, row, forecast = outlines[study.pk], facts[study.pk], forecasts.get(study.pk)
        flag = _find_flag(study, progress, moment)
        rows[study.pk] = StudyRow(
            study=study,
            instrument=name_of_instrument(study),
            progress=progress,
            left=max(0, progress.target - progress.done),
            missing=_count_missing(study, progress, row),
            reported=row["held"] if study.state in _RUNNING else 0,
            unopened=row["unopened"] if _is_long_open(study, moment) and not flag else 0,
            flag=flag,
            is_undecided=row["is_undecided"],
            is_slow=bool(forecast and study.closes_at and forecast.likely > study.closes_at),
            storing=Job(done=row["stored"] or 0, total=row["to_store"])
            if row["to_store"]
            else None,
            done_by=describe_moment(forecast.likely, moment) if forecast and not flag else "",
            result="" if study.pk in hidden else row["result"] or "",
        )
    return rows


def _is_long_open(study: Study, moment: datetime) -> bool:
    launched_at = study.launched_at
    if study.state != Study.State.LIVE or launched_at is None:
        return False
    return launched_at < moment - UNOPENED_AFTER


def describe_running(ids: Collection[UUID]) -> dict[UUID, StudyRow]:
    """Return those of these studies that are running, as the list shows them."""
    return _describe(list(Study.objects.filter(pk__in=ids, state__in=_RUNNING)))


def _find_facts(ids: Collection[UUID], moment: datetime) -> Any:
    mine = {"study": OuterRef("pk")}
    items = Item.all_objects
    checks = (Item.Kind.GOLD, Item.Kind.ATTENTION)
    # of people who were invited by name
    links = PersonalLink.objects.filter(participant=None, expert__isnull=False)
    first = Annotation.objects.counted().filter(**mine).order_by("submitted_at")
    storing = Job.objects.filter(
        study_id=OuterRef("pk"), kind=ITEMS.create_kind, state=Job.State.RUNNING
    )
    return (
        Study.objects.filter(pk__in=ids)
        .order_by()
        .values("pk")
        .annotate(
            **{kind: count_for(items.filter(kind=kind)) for kind in (Item.Kind.PRACTICE, *checks)},
            held=count_for(items.filter(held_at__isnull=False)),
            unopened=count_for(links.filter(created_at__lt=moment - UNOPENED_AFTER)),
            stored=Subquery(storing.values("done")[:1]),
            to_store=Subquery(storing.values("total")[:1]),
            is_undecided=Exists(list_undecided().filter(pk=OuterRef("pk"))),
            result=Subquery(
                Report.objects.filter(**mine).order_by("-requested_at").values("headline")[:1]
            ),
            **{
                f"first_{origin}": Subquery(first.filter(origin=origin).values("submitted_at")[:1])
                for origin in GIVEN_HERE
            },
        )
    )


def _count_missing(study: Study, progress: Outline, row: dict[str, Any]) -> int:
    """Return how many things keep a draft from its launch."""
    is_draft = study.state == Study.State.DRAFT and study.version_id is None
    if not is_draft or progress.done:
        return 0
    kinds = {kind: row[kind] for kind in Item.Kind.values if kind in row}
    counts = Counts(
        main=MainItems(study.pk, progress.items, None, 0),
        by_kind=kinds | {Item.Kind.MAIN: progress.items},
        records=progress.records,
        systems=progress.systems,
    )
    return sum(not check.is_met for check in check_launch(study, counts))


def _find_flag(study: Study, progress: Outline, moment: datetime) -> str:
    """Return why a running study needs attention, as the template calls it; "" for no reason."""
    if study.state not in _RUNNING or progress.more_than:
        return ""
    if progress.target and progress.done >= progress.target:
        return "all-in"
    if study.state == Study.State.PAUSED:
        return "paused"
    if study.is_past_its_end:
        return "past-end"
    if progress.last_at is not None and moment - progress.last_at > HALTED_AFTER:
        return "halted"
    return ""


def _forecast_ends(
    studies: Collection[Study],
    outlines: dict[UUID, Outline],
    facts: dict[UUID, dict[str, Any]],
    moment: datetime,
) -> dict[UUID, Forecast]:
    """Forecast the ends of the live studies among these that had answers lately."""
    live = [
        study
        for study in studies
        if study.state == Study.State.LIVE
        and outlines[study.pk].last_at is not None
        and not outlines[study.pk].has_more_done
        and not _find_flag(study, outlines[study.pk], moment)
    ]
    forecasts = {}
    counts = _count_by_hour([study.pk for study in live], floor_hour(moment)) if live else {}
    for study in live:
        outline, hours = outlines[study.pk], counts[study.pk]
        first = min(filter(None, (facts[study.pk][f"first_{origin}"] for origin in GIVEN_HERE)))
        remaining = outline.target - outline.done
        # further off than that, an end isn't worth its forecast
        if remaining > _FARTHEST * sum(count for _, count in hours):
            continue
        forecast = forecast_end(
            [(floor_hour(first), 0), *hours] if first < hours[0][0] else hours,
            since=study.launched_at or first,
            now=moment,
            remaining=remaining,
        )
        if forecast is not None:
            forecasts[study.pk] = forecast
    return forecasts


def _count_by_hour(ids: Collection[UUID], hour: datetime) -> dict[UUID, Hours]:
    """Count the answers of the last days by hour; those of hours that are over once a process."""
    unknown = [pk for pk in ids if (pk, hour) not in _past_hours]
    answers = Annotation.objects.counted().filter(origin__in=GIVEN_HERE).order_by()
    if unknown:
        since = hour - timedelta(hours=WINDOW)
        past = answers.filter(
            study__in=unknown, submitted_at__gte=since, submitted_at__lt=hour
        ).annotate(hour=Substr(Cast("submitted_at", CharField()), 1, 13))
        counts: dict[UUID, Hours] = defaultdict(list)
        for pk, start, count in (
            past.values_list("study", "hour").annotate(answers=Count("pk")).order_by("hour")
        ):
            counts[pk].append((datetime.strptime(start, "%Y-%m-%d %H").replace(tzinfo=UTC), count))
        if len(_past_hours) > _MOST_KNOWN:
            _past_hours.clear()
        _past_hours.update({(pk, hour): counts[pk] for pk in unknown})
    present = answers.filter(study__in=ids, submitted_at__gte=hour).values_list("study")
    last = dict(present.annotate(answers=Count("pk")))
    return {pk: [*_past_hours.get((pk, hour), []), (hour, last.get(pk, 0))] for pk in ids}
