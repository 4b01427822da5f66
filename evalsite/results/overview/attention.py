"""What needs the team's attention, by the state of the study; each with its action."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce

from evalsite.decisions.frozen_plans import needs_decision
from evalsite.decisions.top_up import find_shortage
from evalsite.fieldwork.invite_page import panel_url
from evalsite.fieldwork.invited_people import count_unassigned
from evalsite.fieldwork.kept_places import (
    IDLE_MINUTES,
    count_places,
    list_holders,
    measure_crowding,
)
from evalsite.fieldwork.launch import count_held
from evalsite.handout.models import Annotation, Slot
from evalsite.handout.rounds import count_taken
from evalsite.lib.clock import now
from evalsite.participation.held_items import LEAST_HELD, count_waiting, name_reason
from evalsite.people.recruiting import name_round
from evalsite.results.overview.invited import Invited, find_stopped, find_unopened
from evalsite.results.people.work import count_flagged
from evalsite.results.progress import Activity, Progress
from evalsite.studies.models import Item, Study
from evalsite.studies.set_size import mains_per_set
from evalsite.studies.staff_pages import study_url

# more than so many sets, and this part of what is free or of all places, held by people who have
# answered nothing or by one network
CROWDED_SETS = 5
UNANSWERED_PERCENT, NETWORK_PERCENT = 20, 10
# so many people who join within ten minutes may be a script
BURST = 30


@dataclass(frozen=True, kw_only=True)
class Task:
    """One thing to look at; its sentences and its action are the template's."""

    key: str
    count: int = 0
    items: int = 0
    item: Item | None = None
    reason: str = ""
    until: datetime | None = None
    person: Invited | None = None  # the only one that it is about
    panel: str = ""  # the only one that it is about
    url: str = ""

    @property
    def apart(self) -> int:
        return abs(self.count - self.items)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """What the person at the page may do."""

    can_edit: bool
    is_owner: bool
    sees_identities: bool


def list_tasks(
    study: Study, progress: Progress, activity: Activity, people: list[Invited], reader: Reader
) -> list[Task]:
    """Return the tasks of this person: what the state asks for, then the most pressing first."""
    results = [Task(key="results")] if progress.done and _is_over(study, progress) else []
    if not reader.can_edit or study.state == Study.State.ARCHIVED:
        return results
    if not study.is_launched:
        return results
    tasks = _by_state(study, progress, is_owner=reader.is_owner) or results
    is_live = study.state == Study.State.LIVE
    lacks_answers = not (progress.target and progress.done >= progress.target)
    if reader.sees_identities and activity.reviews:
        tasks += [Task(key="reviews", count=activity.reviews, until=activity.review_due_at)]
    if is_live and lacks_answers:
        tasks += _out_of_reach(study, people) + _waiting_for(people)
        if progress.last_at is None and not people and not study.is_past_its_end:
            tasks += [Task(key="invite")]
    gone = (activity.excluded, activity.left_early)
    if flagged := count_flagged(study, activity.measured_at, activity.thresholds, gone):
        tasks += [Task(key="flagged", count=flagged)]
    if not study.has_ended:
        tasks += _held_items(study, activity)
    if reader.sees_identities and activity.to_approve:
        tasks += [Task(key="approve", count=activity.to_approve)]
    if is_live:
        tasks += _panels(study, progress, activity) if lacks_answers else []
        tasks += _arrivals(study, progress, activity)
    if not study.has_ended:
        tasks += _quiet_places(study, activity) + _shortage(study, activity)
        if activity.waiting:
            tasks += [Task(key="batches", count=activity.waiting)]
    return tasks


def _is_over(study: Study, progress: Progress) -> bool:
    """Whether it was closed, or all its answers were imported."""
    is_complete = bool(progress.target) and progress.done >= progress.target
    return study.has_ended or (study.version_id is None and is_complete)


def _by_state(study: Study, progress: Progress, *, is_owner: bool) -> list[Task]:
    """Return what comes next in this state: to resume, to close, or what keeps results hidden."""
    if study.state == Study.State.PAUSED:
        return [Task(key="resume", count=max(0, progress.target - progress.done))]
    if not study.has_ended:
        is_complete = progress.target and progress.done >= progress.target
        return [Task(key="close")] if is_owner and is_complete else []
    places = count_held(study)
    if places is not None:
        return [Task(key="kept", count=places.places, until=places.until)]
    return [Task(key="decide", count=int(is_owner))] if needs_decision(study) else []


def _out_of_reach(study: Study, people: list[Invited]) -> list[Task]:
    missing = count_unassigned(study) if people and people[0].is_alone else 0
    return [Task(key="reach", count=missing)] if missing else []


def _waiting_for(people: list[Invited]) -> list[Task]:
    """Return the people who haven't opened their link, and those who stopped halfway, for days."""
    moment = now()
    tasks = []
    for key, late in (
        ("unopened", find_unopened(people, moment)),
        ("stopped", find_stopped(people, moment)),
    ):
        if late:
            left = sum(person.left for person in late)
            only = late[0] if len(late) == 1 else None
            tasks.append(Task(key=key, count=len(late), items=left, person=only))
    return tasks


def _panels(study: Study, progress: Progress, activity: Activity) -> list[Task]:
    """Compare how many people may still come from panels with how many there is work for."""
    leases = Slot.objects.leased().filter(study=study, lease_until__gt=now()).order_by()
    leased = leases.values("study").annotate(n=Count("pk")).values("n")
    every = count_taken(study.recruitments.order_by("number"), study)
    rounds = list(every.annotate(leased=Coalesce(Subquery(leased), 0)))
    open_rounds = [row for row in rounds if row.is_on and not row.adapter.has_personal_links]
    if not open_rounds or any(not row.number or row.places is None for row in open_rounds):
        return []  # as many as there is work for may come
    free = max(0, progress.target - progress.done - open_rounds[0].leased)
    coming = sum(max(0, row.places - row.taken) for row in open_rounds)
    needed = ceil(free / activity.set_items)
    # with further sets a person may do the work of several
    if coming == needed or (coming < needed and any(row.has_further_sets for row in open_rounds)):
        return []
    if len(open_rounds) > 1:
        url = study_url("study-invite", study)
        return [Task(key="panels", count=coming, items=needed, url=url)]
    [panel] = open_rounds
    time = sum(row.platform == panel.platform and row.number <= panel.number for row in rounds)
    name, url = name_round(panel.adapter, time, panel), panel_url(study, panel.platform, time)
    return [Task(key="panels", count=coming, items=needed, panel=name, url=url)]


def _arrivals(study: Study, progress: Progress, activity: Activity) -> list[Task]:
    """Return what is worth knowing of how people come: a burst, a pause, or places without work."""
    joined = activity.joined
    tasks = [Task(key="joins-paused", until=study.joins_paused_at)] if study.joins_paused_at else []
    tasks += [Task(key="burst", count=joined)] if joined >= BURST else []
    return tasks + (_crowding(study, progress) if activity.may_be_crowded else [])


def _crowding(study: Study, progress: Progress) -> list[Task]:
    """Warn if people without an answer, or of one network, hold a large part of the places."""
    crowding = measure_crowding(study)
    few = CROWDED_SETS * mains_per_set(study)
    places = max(0, progress.target - progress.done)
    free = places - crowding.total + crowding.unanswered
    if crowding.unanswered > max(few, free * UNANSWERED_PERCENT / 100):
        return [Task(key="unanswered", count=crowding.unanswered, items=free)]
    is_crowded = crowding.by_a_network > max(few, places * NETWORK_PERCENT / 100)
    if is_crowded and not study.is_from_one_place:
        return [Task(key="network", count=crowding.by_a_network, items=places)]
    return []


def _held_items(study: Study, activity: Activity) -> list[Task]:
    if not activity.on_hold:
        return []
    reports = Annotation.objects.reports().filter(item=OuterRef("pk"))
    items = Item.objects.filter(study=study, held_at__isnull=False).order_by("held_at", "id")
    item = items.annotate(reason=Subquery(reports.values("reason")[:1])).first()
    reason = name_reason(item.reason) if item is not None and item.reason else ""
    # more may have two reports than reports may hold
    more = count_waiting(study) if activity.on_hold >= LEAST_HELD else 0
    return [Task(key="held", count=activity.on_hold, items=more, item=item, reason=reason)]


def _quiet_places(study: Study, activity: Activity) -> list[Task]:
    if not activity.may_be_quiet:
        return []
    holders = list_holders(study, before=now() - timedelta(minutes=IDLE_MINUTES))
    if not holders:
        return []
    return [Task(key="quiet", count=count_places(holders), items=len(holders))]


def _shortage(study: Study, activity: Activity) -> list[Task]:
    if not activity.excluded:
        return []
    short = find_shortage(study)
    return [Task(key="short", count=short.places, items=short.items)] if short.places else []
