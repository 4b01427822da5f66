"""The list of studies: searched, filtered by state, those that need attention first."""

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery

from evalsite.annotation.models import Annotation
from evalsite.instruments.installed import installed_folders
from evalsite.lib.clock import now
from evalsite.results.overview.headline import HALTED_AFTER
from evalsite.results.progress import Outline, outline_progress
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.summary_lines import name_of_instrument, name_of_protocol

PAGE = 50
# on the page of all studies, so many of those that aren't running
FEW = 5
LONGEST_SEARCH = 200
_STATES = {
    "running": (Study.State.LIVE, Study.State.PAUSED),
    "drafts": (Study.State.DRAFT,),
    "closed": (Study.State.CLOSED,),
    "archived": (Study.State.ARCHIVED,),
}
SORTS = ("attention", "latest", "title")


@dataclass(frozen=True, kw_only=True)
class StudyRow:
    """One study of the list, and why it needs attention, if it does."""

    study: Study
    protocol: str
    people: str
    progress: Outline
    left: int
    held: int
    flag: str

    @property
    def is_urgent(self) -> bool:
        return bool(self.flag or self.held)


@dataclass(frozen=True, kw_only=True)
class StudyList:
    """What the list of studies is given."""

    state: str  # a filter, or "" for all but the archived ones
    search: str
    sort: str
    counts: dict[str, int]
    sections: list[tuple[str, list[StudyRow], int]]
    rows: Page[Study] | None
    urgent: int
    running: int
    answers_today: int
    is_empty: bool


def list_studies(user: Any, query: Any) -> StudyList:
    """Return the studies of this person that the address asks for."""
    state = query.get("state", "archived" if "archived" in query else "")
    state = state if state in _STATES else ""
    sort = query.get("by", "")
    search = query.get("q", "").strip()[:LONGEST_SEARCH]
    visible = Study.objects.visible_to(user).select_related("instrument")
    studies = _order(_search(visible.defer("instrument__content"), search), sort)
    counts = _count_states(studies)
    page, shown = None, {}
    if state and state != "running":
        page = Paginator(studies.filter(state__in=_STATES[state]), PAGE).get_page(query.get("page"))
        shown = {state: list(page)}
    else:
        # running ones are few, and only all of them tell which of them come first
        wanted = (state,) if state else ("running", "drafts", "closed")
        for name in wanted:
            most = PAGE if name == "running" else FEW
            shown[name] = list(studies.filter(state__in=_STATES[name])[:most])
    rows = _describe([study for found in shown.values() for study in found])
    sections = [
        (name, _put_urgent_first([rows[study.pk] for study in found], sort), counts[name])
        for name, found in shown.items()
        if found
    ]
    running = shown.get("running", [])
    return StudyList(
        state=state,
        search=search,
        sort=sort if sort in SORTS else SORTS[0],
        counts=counts,
        sections=sections,
        rows=page,
        urgent=sum(rows[study.pk].is_urgent for study in running),
        running=counts["running"],
        answers_today=_count_answers_today(running),
        is_empty=not any(counts.values()),
    )


def _search(studies: QuerySet[Study], search: str) -> QuerySet[Study]:
    """Return those with these words in their title, their protocol's, or a member's name."""
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


def _order(studies: QuerySet[Study], sort: str) -> QuerySet[Study]:
    if sort == "title":
        return studies.order_by("title", "pk")
    if sort == "latest":
        newest = Annotation.objects.counted().filter(study=OuterRef("pk")).order_by("-submitted_at")
        last = Subquery(newest.values("submitted_at")[:1])
        return studies.annotate(last_answer=last).order_by(F("last_answer").desc(nulls_last=True))
    return studies.order_by("-created_at", "pk")


def _count_states(studies: QuerySet[Study]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for state, count in studies.order_by().values_list("state").annotate(count=Count("pk")):
        found[state] += count
    return {name: sum(found[state] for state in states) for name, states in _STATES.items()}


def _describe(studies: Collection[Study]) -> dict[UUID, StudyRow]:
    outlines = outline_progress(studies)
    people: dict[UUID, list[str]] = defaultdict(list)
    members = Membership.objects.filter(study__in=studies).select_related("user")
    for member in members.order_by("pk"):
        name = member.user.get_full_name() or member.user.get_username()
        people[member.study_id].append(name)
    held_items = Item.objects.filter(
        study__in=[study.pk for study in studies if study.state in _STATES["running"]],
        held_at__isnull=False,
    )
    held = dict(held_items.order_by().values_list("study").annotate(count=Count("pk")))
    moment = now()
    return {
        study.pk: StudyRow(
            study=study,
            protocol=name_of_instrument(study),
            people=", ".join(people[study.pk][:3]),
            progress=outlines[study.pk],
            left=max(0, outlines[study.pk].target - outlines[study.pk].done),
            held=held.get(study.pk, 0),
            flag=_find_flag(study, outlines[study.pk], moment),
        )
        for study in studies
    }


def describe_running(ids: Collection[UUID]) -> dict[UUID, StudyRow]:
    """Return those of these studies that are running, as the list shows them."""
    return _describe(list(Study.objects.filter(pk__in=ids, state__in=_STATES["running"])))


def _find_flag(study: Study, progress: Outline, moment: datetime) -> str:
    """Return why a running study needs attention, as the template calls it; "" for no reason."""
    if study.state not in _STATES["running"] or progress.more_than:
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


def _put_urgent_first(rows: list[StudyRow], sort: str) -> list[StudyRow]:
    if sort in ("latest", "title"):
        return rows
    return sorted(rows, key=lambda row: not row.is_urgent)


def _count_answers_today(studies: Collection[Study]) -> int:
    since = now() - timedelta(hours=24)
    answers = Annotation.objects.counted().filter(submitted_at__gte=since)
    # by origin too: the index of times begins with it
    return answers.filter(study__in=studies, origin__in=("own", "simulated")).count()
