"""The headline of the overview: the first state of the study that matches."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.formats import date_format

from evalsite.results.overview.invited import Invited, find_awaited
from evalsite.results.overview.pace import Forecast
from evalsite.results.progress import Progress
from evalsite.studies.models import Study

# without an answer for so long, a live study has come to a halt
HALTED_AFTER = timedelta(hours=24)


@dataclass(frozen=True, kw_only=True)
class Headline:
    """Which sentence to write, with its moment in words, its count and its person."""

    key: str
    moment: str = ""
    count: int = 0
    name: str = ""


def choose_headline(
    study: Study,
    progress: Progress,
    forecast: Forecast | None,
    people: list[Invited],
    moment: datetime,
) -> Headline:
    """Return the first headline that matches: the state of the study, its pace, or "early"."""
    if (headline := _of_state(study, progress, moment)) is not None:
        return headline
    if progress.last_at is None:
        return Headline(key="waiting")
    if moment - progress.last_at > HALTED_AFTER:
        return Headline(key="halted", moment=describe_day(progress.last_at, moment))
    if (person := find_awaited(people)) is not None:
        return Headline(key="awaited", name=person.name)
    return _of_pace(study, progress, forecast, moment) or Headline(key="early")


def _of_state(study: Study, progress: Progress, moment: datetime) -> Headline | None:
    left = max(0, progress.target - progress.done)
    if study.state == Study.State.ARCHIVED:
        return Headline(key="archived")
    if study.state == Study.State.CLOSED:
        when = "" if study.closed_at is None else describe_day(study.closed_at, moment)
        return Headline(key="closed", moment=when)
    if not study.is_launched and study.version_id is None:
        is_complete = progress.target and not left
        return Headline(key="complete" if is_complete else "draft")
    if study.is_launched and progress.target and not left:
        return Headline(key="all-in")
    if study.state == Study.State.PAUSED:
        return Headline(key="paused", count=left)
    if not study.is_launched:
        return Headline(key="launching")
    if study.is_before_opening and study.opens_at is not None:
        return Headline(key="opens", moment=describe_day(study.opens_at, moment))
    if study.is_past_its_end and study.closes_at is not None:
        return Headline(key="past-end", moment=describe_day(study.closes_at, moment))
    return None


def _of_pace(
    study: Study, progress: Progress, forecast: Forecast | None, moment: datetime
) -> Headline | None:
    if forecast is None:
        return None
    if study.closes_at is not None and forecast.likely > study.closes_at:
        return Headline(
            key="slow",
            moment=describe_day(study.closes_at, moment),
            count=min(progress.target, progress.done + forecast.count_until(study.closes_at)),
        )
    return Headline(key="on-track", moment=describe_moment(forecast.likely, moment))


def describe_day(day: datetime, moment: datetime) -> str:
    """Return a day near this moment by its name, and any other by its date."""
    day, moment = timezone.localtime(day), timezone.localtime(moment)
    apart = (day.date() - moment.date()).days
    if apart in (-1, 0, 1):
        return ("yesterday", "today", "tomorrow")[apart + 1]
    if -7 < apart < 7:
        return date_format(day, "l")
    return date_format(day, "j F" if day.year == moment.year else "j F Y")


def describe_moment(at: datetime, moment: datetime) -> str:
    """Return a moment as a day and an hour; without the hour where it is more than a week off."""
    day = describe_day(at, moment)
    hour = date_format(timezone.localtime(at), "H:i")
    return f"{day}, {hour}" if abs(at - moment) < timedelta(days=7) else day
