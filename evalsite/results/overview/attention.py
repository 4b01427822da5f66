"""What needs the team's attention, by the state of the study; each with its action."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import OuterRef, Subquery

from evalsite.annotation.models import Annotation
from evalsite.annotation.pages.held_items import LEAST_HELD, count_waiting, name_reason
from evalsite.annotation.running.invited_people import count_out_of_reach
from evalsite.annotation.running.kept_places import (
    IDLE_MINUTES,
    count_places,
    list_holders,
    measure_crowding,
)
from evalsite.annotation.running.launch import count_held
from evalsite.quality.frozen_plans import needs_decision
from evalsite.quality.top_up import find_shortage
from evalsite.results.progress import Activity, Progress
from evalsite.studies.models import Item, Study
from evalsite.studies.set_size import mains_per_set

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


def list_tasks(
    study: Study,
    progress: Progress,
    activity: Activity,
    moment: datetime,
    *,
    can_edit: bool,
    is_owner: bool,
    sees_identities: bool,
) -> list[Task]:
    """Return the tasks of this person, the most pressing first."""
    if not can_edit or study.state == Study.State.ARCHIVED:
        return []
    if not study.is_launched:
        return _before_launch(study, progress)
    tasks = []
    if study.has_ended:
        tasks += _after_closing(study, is_owner=is_owner)
    elif study.state == Study.State.PAUSED:
        tasks += [Task(key="resume", count=max(0, progress.target - progress.done))]
    else:
        tasks += _while_live(study, progress, activity, is_owner=is_owner)
    if sees_identities:
        tasks += _pay(study, activity)
    if not study.has_ended:
        tasks += _held_items(study, activity)
        tasks += _quiet_places(study, activity, moment) + _shortage(study, activity)
        if activity.waiting:
            tasks += [Task(key="batches", count=activity.waiting)]
    return tasks


def _before_launch(study: Study, progress: Progress) -> list[Task]:
    if study.version_id is not None:
        return []  # the launch is on its way
    if not progress.target:
        return [Task(key="items")]
    # answers that were collected elsewhere are there before any launch
    if progress.done >= progress.target:
        return []
    needs_texts = not study.contact_email or not (study.has_notice or study.answers_kept_for)
    return [*([Task(key="texts")] if needs_texts else []), Task(key="pilot"), Task(key="launch")]


def _after_closing(study: Study, *, is_owner: bool) -> list[Task]:
    """Return what keeps results hidden after the closing: people at work, then the rules."""
    held = count_held(study)
    if held is not None:
        return [Task(key="kept", count=held.places, until=held.until)]
    return [Task(key="decide", count=int(is_owner))] if needs_decision(study) else []


def _while_live(
    study: Study, progress: Progress, activity: Activity, *, is_owner: bool
) -> list[Task]:
    joined = activity.joined
    tasks = [Task(key="joins-paused", until=study.joins_paused_at)] if study.joins_paused_at else []
    tasks += [Task(key="burst", count=joined)] if joined >= BURST else []
    tasks += _crowding(study, progress) if activity.may_be_crowded else []
    if progress.target and progress.done >= progress.target:
        return [*tasks, *([Task(key="close")] if is_owner else [])]
    if activity.is_for_invited and (out_of_reach := count_out_of_reach(study)):
        tasks += [Task(key="reach", count=out_of_reach)]
    if progress.last_at is None and not study.is_past_its_end:
        return [*tasks, Task(key="invite")]
    return tasks


def _pay(study: Study, activity: Activity) -> list[Task]:
    """Return the reviews to answer and the sets to approve."""
    tasks = []
    if activity.reviews:
        tasks += [Task(key="reviews", count=activity.reviews, until=activity.review_due_at)]
    if activity.to_approve:
        tasks += [Task(key="approve", count=activity.to_approve)]
    return tasks


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
    if not activity.held:
        return []
    reports = Annotation.objects.reports().filter(item=OuterRef("pk"))
    held = Item.objects.filter(study=study, held_at__isnull=False).order_by("held_at", "id")
    item = held.annotate(reason=Subquery(reports.values("reason")[:1])).first()
    reason = name_reason(item.reason) if item is not None and item.reason else ""
    # more may have two reports than reports may hold
    more = count_waiting(study) if activity.held >= LEAST_HELD else 0
    return [Task(key="held", count=activity.held, items=more, item=item, reason=reason)]


def _quiet_places(study: Study, activity: Activity, moment: datetime) -> list[Task]:
    if not activity.may_be_quiet:
        return []
    holders = list_holders(study, before=moment - timedelta(minutes=IDLE_MINUTES))
    if not holders:
        return []
    return [Task(key="quiet", count=count_places(holders), items=len(holders))]


def _shortage(study: Study, activity: Activity) -> list[Task]:
    if not activity.excluded:
        return []
    short = find_shortage(study)
    return [Task(key="short", count=short.places, items=short.items)] if short.places else []
