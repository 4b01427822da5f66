"""Items of a study as a researcher knows them: records of the files, with all of their outputs.

Where each output is rated alone, or outputs in pairs, a record is several items of the study.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast

from evalsite.imports.batches.columns import makes_pairs
from evalsite.studies.models import Item, Output, Study, System

# systems with a column of their own; items by which the length of outputs is told
MOST_COLUMNS, SAMPLED = 12, 200


@dataclass
class Record:
    """One item of the files: its inputs and its outputs by system."""

    item: Item
    name: str
    inputs: list[str]
    # by system, "" for an output without a text
    outputs: dict[int | None, str] = field(default_factory=dict)


def list_records(study: Study, search: str = "") -> QuerySet[Any]:
    """Return the id of each record with the first and the last of its items, in file order."""
    items = Item.objects.filter(study=study, batch__isnull=False)
    if search:
        # how JSON writes other letters differs between databases
        written = json.dumps(search)[1:-1]
        outputs = Output.objects.filter(item=OuterRef("pk"), text__icontains=search)
        items = items.annotate(texts=Cast("inputs", TextField())).filter(
            Q(key__icontains=search)
            | Q(texts__icontains=search)
            | Q(texts__icontains=written)
            | Exists(outputs)
        )
    if is_whole(study):
        # a values() of the same shape as below, without grouping
        return items.order_by("id").values(name=F("key"), first=F("id"), last=F("id"))
    return items.records().annotate(first=Min("id"), last=Max("id")).order_by("first")


def is_whole(study: Study) -> bool:
    """Return whether people see all outputs of a record at once, so that each is one item."""
    return study.config.unit_name == "item"


def read_records(study: Study, rows: Sequence[dict[str, Any]]) -> list[Record]:
    """Return these records with all of their texts."""
    ranges = Q()
    for row in rows:
        ranges |= Q(pk__range=(row["first"], row["last"]))
    if not rows:
        return []
    items = Item.objects.filter(ranges, study=study, batch__isnull=False)
    records: dict[str, Record] = {}
    names = {row["name"] for row in rows}
    of_items: dict[int, Record] = {}
    for item in items.order_by("id"):
        name = item.key if is_whole(study) else str(item.extra.get("item", item.key))
        if name not in names:
            continue
        if name not in records:
            texts = [item.inputs.get(column.name, "") for column in study.config.columns]
            shown = str(item.extra.get("source_id", name))
            records[name] = Record(item, shown, [str(text) for text in texts])
        of_items[item.pk] = records[name]
    outputs = Output.objects.filter(item__in=of_items).order_by("item_id", "position")
    for pk, system, text in outputs.values_list("item_id", "system_id", "text"):
        of_items[pk].outputs.setdefault(system, text)
    return [records[row["name"]] for row in rows if row["name"] in records]


@dataclass(frozen=True)
class SystemFigures:
    """How many outputs a system has, how many without a text, and how long they are."""

    system: System
    outputs: int
    empty: int
    words: int | None


def describe_systems(study: Study) -> list[SystemFigures]:
    """Return the systems with their figures; the words are those of the first items."""
    outputs = Output.objects.stored().filter(study=study, item__batch__isnull=False).order_by()
    # a system meets others in several pairs of one input
    number = Count("item__group", distinct=True) if makes_pairs(study.config) else Count("pk")
    counts = outputs.values("system").annotate(n=number, empty=Count("pk", filter=Q(text="")))
    by_system = {key: (n, empty) for key, n, empty in counts.values_list("system", "n", "empty")}
    first = Item.objects.filter(study=study, batch__isnull=False).order_by("id")[:SAMPLED]
    words: Counter[int | None] = Counter()
    texts: Counter[int | None] = Counter()
    pks = list(first.values_list("pk", flat=True))
    for system, text in Output.objects.filter(item__in=pks).values_list("system", "text"):
        if text:
            texts[system] += 1
            words[system] += len(text.split())
    return [
        SystemFigures(
            system,
            *by_system.get(system.pk, (0, 0)),
            round(words[system.pk] / texts[system.pk]) if texts[system.pk] else None,
        )
        for system in System.objects.filter(study=study).order_by("pk")
    ]
