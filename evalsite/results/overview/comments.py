"""What people wrote last, beside their answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, OuterRef, QuerySet, Subquery, Value

from evalsite.annotation.models import Annotation, Rating
from evalsite.instruments.scales.base import COMMENT
from evalsite.quality.frozen_plans import ItemNames
from evalsite.results.overview.activity_log import describe_time
from evalsite.studies.models import Item, Output, Study

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
