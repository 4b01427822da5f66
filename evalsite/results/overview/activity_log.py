"""What happened last in a study: finished sets, what the team did, and what people wrote."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, OuterRef, QuerySet, Subquery, Value
from django.utils import timezone
from django.utils.formats import date_format

from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.frozen_plans import ItemNames
from evalsite.handout.models import Annotation, Rating
from evalsite.instruments.scales.base import COMMENT
from evalsite.people.models import ItemSet
from evalsite.people.recruiting import LINKS_VIEWED
from evalsite.studies.models import Item, Output, Study

# --- events

LATEST = 9
# what is logged so often, or so late, that it says nothing here
_LEFT_OUT = ("pilot started", "identity view", "round created", LINKS_VIEWED)
# researchers know no rounds
_WORDS = {"round turned on": "recruiting turned on", "round turned off": "recruiting turned off"}


@dataclass(frozen=True, kw_only=True)
class Event:
    """One line: what the team did, or which set a participant finished."""

    at: datetime
    when: str
    action: str = ""
    actor: str = ""
    pseudonym: str = ""
    set_number: int = 0


def list_events(study: Study, moment: datetime) -> list[Event]:
    """Return the latest events, the newest first, in one query."""
    entries = AuditEntry.objects.filter(study_id=study.pk).exclude(action__in=_LEFT_OUT)
    sets = ItemSet.objects.filter(
        study=study, participant__is_pilot=False, finished_at__isnull=False
    )
    # the latest of each by key: SQLite takes no limit within a union
    entries = entries.filter(pk__in=entries.order_by("-id").values("pk")[:LATEST]).order_by()
    sets = sets.filter(pk__in=sets.order_by("-finished_at").values("pk")[:LATEST]).order_by()
    rows = entries.values_list("created_at", "action", "actor_name", Value(0)).union(
        sets.values_list("finished_at", Value(""), "participant__pseudonym", "number"), all=True
    )
    events = [
        Event(
            at=at,
            when=describe_time(at, moment),
            action=_WORDS.get(action, action),
            actor=name if action else "",
            pseudonym="" if action else name,
            set_number=number,
        )
        for at, action, name, number in rows
    ]
    return sorted(events, key=lambda event: event.at, reverse=True)[:LATEST]


def describe_time(at: datetime, moment: datetime) -> str:
    """Return the time of day today, the day within a week, and the date before that."""
    at, moment = timezone.localtime(at), timezone.localtime(moment)
    if at.date() == moment.date():
        return date_format(at, "H:i")
    return date_format(at, "D" if moment - at < timedelta(days=6) else "j M")


# --- remarks of people

SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Remark:
    """What one person wrote of an item or output; without the system while results are hidden."""

    text: str
    at: datetime
    when: str
    pseudonym: str
    name: str
    item: str
    system: str


def list_remarks(
    study: Study,
    latest: Sequence[Any],
    names: Mapping[str, str],
    moment: datetime,
    *,
    is_blind: bool,
) -> list[Remark]:
    """Return the newest comments among these answers, in two queries at most.

    `names`: of the people that the reader may know, by pseudonym.
    """
    noted = [pk for pk, _, _, note in latest if note][:SHOWN]
    rows = _read(_with_system(Annotation.objects.filter(pk__in=noted), study), "note")
    if any(criterion.comment for criterion in study.config.criteria):
        answers = [pk for pk, _, _, _ in latest]
        ratings = Rating.objects.filter(annotation__in=answers, part=COMMENT).exclude(text="")
        ratings = ratings.annotate(
            system=F("output__system__name"),
            at=F("annotation__submitted_at"),
            pseudonym=F("annotation__participant__pseudonym"),
            item_key=F("annotation__item__key"),
        )
        rows += _read(ratings, "text")
    items = ItemNames(study, is_blind=is_blind) if rows else None
    newest = sorted(rows, key=lambda row: row[1], reverse=True)[:SHOWN]
    return [
        Remark(
            text=text,
            at=at,
            when=describe_time(at, moment),
            pseudonym=pseudonym,
            name=names.get(pseudonym, pseudonym),
            item=items[Item(key=key)] if items else key,
            system="" if is_blind else system or "",
        )
        for text, at, pseudonym, key, system in newest
    ]


def _with_system(answers: QuerySet[Annotation], study: Study) -> QuerySet[Annotation, Any]:
    """Return these answers with the system of their item, where it has one output alone."""
    outputs = Output.objects.filter(item=OuterRef("item"))
    is_single = study.config.item.outputs.most == 1
    return answers.annotate(
        system=Subquery(outputs.values("system__name")[:1]) if is_single else Value(""),
        at=F("submitted_at"),
        pseudonym=F("participant__pseudonym"),
        item_key=F("item__key"),
    )


def _read(rows: QuerySet[Any, Any], text: str) -> list[tuple[Any, ...]]:
    newest = rows.order_by("-id")[:SHOWN]
    return list(newest.values_list(text, "at", "pseudonym", "item_key", "system"))
