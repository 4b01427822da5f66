"""Items of a study as a researcher knows them: records of the files, with all of their outputs.

Where each output is rated alone, or outputs in pairs, a record is several items of the study.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import (
    Count,
    Exists,
    F,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Window,
)
from django.db.models.functions import Cast

from evalsite.data.items.columns import find_tuple_size, makes_pairs
from evalsite.studies.models import Batch, Item, Output, Study, System, name_record

# systems with a column of their own
MOST_COLUMNS = 12
# ids between the first and the last part of a record that are read as a stretch
_STRETCH = 200


@dataclass
class Record:
    """One item of the files: its inputs and its outputs by system."""

    item: Item
    name: str
    inputs: list[str]
    # by system, "" for an output without a text
    outputs: dict[int | None, str] = field(default_factory=dict)


def list_records(study: Study, search: str = "", *, has_one_batch: bool = False) -> QuerySet[Any]:
    """Return each record's id, its first and last item, and how many there are, in file order."""
    items = Item.objects.filter(study=study, batch__isnull=False)
    if search:
        items = search_items(items, search)
    if is_whole(study) or (has_one_batch and study.config.item.outputs.most == 1 and not search):
        # much quicker than to group all items: each record has one item that is its first
        firsts = items if is_whole(study) else _list_firsts(items)
        number = firsts.order_by().values("study").annotate(number=Count("pk")).values("number")
        records = firsts.values(
            name=F("key") if is_whole(study) else name_record(), first=F("id"), last=F("id")
        )
        return records.annotate(total=Subquery(number)).order_by("first")
    named = items.annotate(name=name_record()).order_by()
    records = named.values("name").annotate(first=Min("id"), last=Max("id"))
    return records.annotate(total=Window(Count("*"))).order_by("first")


def search_items(items: QuerySet[Item], search: str, *, has_ids: bool = True) -> QuerySet[Item]:
    """Return the items with these words in their inputs or outputs, or in their ids."""
    # how JSON writes other letters differs between databases
    written = json.dumps(search)[1:-1]
    outputs = Output.objects.filter(item=OuterRef("pk"), text__icontains=search)
    in_inputs = Q(texts__icontains=search) | Q(texts__icontains=written)
    in_id = Q(key__icontains=search) if has_ids else Q(pk=None)
    with_texts = items.annotate(texts=Cast("inputs", TextField()))
    return with_texts.filter(in_inputs | in_id | Exists(outputs))


def _list_firsts(items: QuerySet[Item]) -> QuerySet[Item]:
    """Return the first outputs of records that were imported together: they are numbered."""
    written = items.annotate(metadata=Cast("extra", TextField()))
    return written.exclude(~Q(key__endswith="/1") & Q(metadata__contains='"item": '))


def is_whole(study: Study) -> bool:
    """Return whether people see all outputs of a record at once, so that each is one item."""
    return study.config.unit_name == "item"


def read_records(study: Study, rows: Sequence[dict[str, Any]]) -> list[Record]:
    """Return these records with all of their texts."""
    names = {row["name"] for row in rows}
    records: dict[str, Record] = {}
    outputs = Output.objects.filter(item__in=_find_parts(study, rows)).select_related("item")
    for output in outputs.order_by("item_id", "position"):
        item = output.item
        name = item.key if is_whole(study) else str(item.extra.get("item", item.key))
        if name not in names:
            continue
        if name not in records:
            texts = [str(item.inputs.get(column.name, "")) for column in study.config.columns]
            records[name] = Record(item, str(item.extra.get("source_id", name)), texts)
        records[name].outputs.setdefault(output.system_id, output.text)
    return [records[row["name"]] for row in rows if row["name"] in records]


def _find_parts(study: Study, rows: Sequence[dict[str, Any]]) -> QuerySet[Item] | list[int]:
    """Return the items of these records; those of a later file are far from the others."""
    stretches = [range(row["first"], row["last"] + 1) for row in rows]
    if not is_whole(study) and all(len(stretch) == 1 for stretch in stretches):
        # perhaps only the first parts are known; the others come before the next record
        ends = [*(row["first"] for row in rows[1:]), rows[-1]["first"] + _STRETCH]
        stretches = [range(row["first"], end) for row, end in zip(rows, ends, strict=True)]
    if all(len(stretch) <= _STRETCH for stretch in stretches):
        return [pk for stretch in stretches for pk in stretch]
    groups = Item.objects.filter(pk__in=[row["first"] for row in rows]).values("group")
    return Item.objects.filter(study=study, batch__isnull=False, group__in=groups).order_by()


@dataclass(frozen=True)
class SystemFigures:
    """How many outputs a system has, how many without a text, and the words of some of them."""

    system: System
    outputs: int
    empty: int
    words: int | None


def describe_systems(
    study: Study, records: Sequence[Record], *, unstored: Sequence[Batch]
) -> list[SystemFigures]:
    """Return the systems with their figures; words are counted in these records.

    Outputs of `unstored` batches aren't there yet, or no longer.
    """
    mine = System.objects.filter(study=study).values("pk")
    texts = Output.objects.filter(system__in=mine, text="").order_by()
    if unstored:
        texts = texts.exclude(item__batch__in=unstored)
    empty = Counter(texts.values_list("system", flat=True))
    return [
        SystemFigures(system, system.number, empty[system.pk], _count_words(system, records))
        for system in System.objects.filter(study=study)
        .annotate(number=_count_outputs(study, unstored))
        .order_by("pk")
    ]


def _count_outputs(study: Study, unstored: Sequence[Batch]) -> Count:
    stored = ~Q(outputs__item__batch__in=unstored) if unstored else None
    if makes_pairs(study.config) or find_tuple_size(study.config):
        # a system meets others in several items of one input
        return Count("outputs__item__group", distinct=True, filter=stored)
    return Count("outputs", filter=stored)


def _count_words(system: System, records: Sequence[Record]) -> int | None:
    texts = [text for record in records if (text := record.outputs.get(system.pk))]
    return round(sum(len(text.split()) for text in texts) / len(texts)) if texts else None
