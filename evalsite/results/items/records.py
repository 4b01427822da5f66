"""The items of a study as researchers know them: an input with the outputs of all systems.

Where outputs are rated alone or in pairs, a record is several items of the study.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.db.models import Count, Exists, F, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from evalsite.data.items.items import is_made_group
from evalsite.decisions.frozen_plans import ItemNames, list_hidden
from evalsite.decisions.models import Exclusion
from evalsite.lib.seeds import make_random
from evalsite.studies.models import Item, Output, Study, name_record


class State(NamedTuple):
    """What decides how pages show items: hidden systems, exclusions, and the primary question."""

    is_blind: bool
    has_exclusions: bool
    primary: str


def read_state(study: Study) -> State:
    """Read all of it in one query: pages of results have few to spend."""
    active = Exclusion.objects.active().filter(study=OuterRef("pk"))
    row = Study.objects.filter(pk=study.pk).values_list(
        Exists(list_hidden().filter(pk=OuterRef("pk"))),
        Exists(active),
        Coalesce("analysis_plan__primary", Value("")),
    )
    return State(*row.get())


class Record(NamedTuple):
    """A record with the ids of its items, the first first; `number`: in the order uploaded."""

    number: int
    name: str
    items: tuple[int, ...]
    is_held: bool


def list_records(study: Study) -> list[Record]:
    """Return the records that people rate, in the order uploaded, in one query.

    Withdrawn items aren't listed, but keep their numbers.
    """
    is_whole = study.config.unit_name == "item"
    items = Item.objects.planned().filter(study=study).order_by("pk")
    name = F("key") if is_whole else name_record("group")
    rows = items.values_list("pk", name, "kind", "held_at")
    numbers: dict[str, int] = {}
    parts: dict[str, list[int]] = {}
    held_names: set[str] = set()
    for pk, name, kind, held_at in rows.iterator(chunk_size=10_000):
        numbers.setdefault(name, len(numbers) + 1)
        if kind == Item.Kind.MAIN:
            parts.setdefault(name, []).append(pk)
            if held_at is not None:
                held_names.add(name)
    return [
        Record(numbers[name], name, tuple(pks), name in held_names) for name, pks in parts.items()
    ]


def count_records() -> Any:
    """Return the number of records of outputs that are rated alone, as a part of a query of
    studies."""
    items = Item.objects.main().filter(study=OuterRef("pk")).order_by()
    counted: Any = items.annotate(name=name_record("group")).values("study")
    return Coalesce(Subquery(counted.annotate(n=Count("name", distinct=True)).values("n")), 0)


def find_items(study: Study, items: Iterable[Item]) -> QuerySet[Item]:
    """Return all items of the records that these belong to.

    Pages link to the first: the id of another would tell which output is meant, so which system.
    """
    if study.config.unit_name == "item":
        return Item.objects.filter(pk__in=[item.pk for item in items])
    names = {get_record_name(study, item) for item in items}
    stored = Item.objects.planned().filter(study=study)
    return stored.annotate(name=name_record("group")).filter(name__in=names)


def get_record_name(study: Study, item: Item) -> str:
    is_whole = study.config.unit_name == "item"
    return item.key if is_whole else str(item.extra.get("item", item.group))


class Titles:
    """What pages call records: by the id in the file; while systems are hidden, without them."""

    def __init__(self, study: Study, *, is_blind: bool) -> None:
        self._names, self._study = ItemNames(study, is_blind=is_blind), study

    def find(self, item: Item, *, is_alone: bool) -> str:
        """Return what the record of this item is called. `is_alone`: it has no other items."""
        name = item.key if is_alone else get_record_name(self._study, item)
        name = item.key if is_made_group(name) else name
        return self._names[Item(key=str(item.extra.get("source_id", name)))]


def name_outputs_of(
    study: Study,
    outputs: Iterable[Output],
    *,
    reader: Any,
    is_blind: bool,
    systems: Sequence[int] = (),
) -> dict[int, str]:
    """Return what a page calls the outputs of one record, those of one system alike.

    By system, in the order of `systems`; while these are hidden, by numbers that are drawn for this
    record and reader.
    """
    by_system: dict[str, list[Output]] = {}
    for output in outputs:
        by_system.setdefault(f"{output.system_id or f'output {output.pk}'}", []).append(output)
    keys = sorted(by_system)
    first = min((output.item_id for parts in by_system.values() for output in parts), default=0)
    make_random(study.seed, "reading", first, reader.pk).shuffle(keys)
    names = {}
    for number, key in enumerate(keys, start=1):
        name = f"Output {number}" if len(keys) > 1 or not is_blind else "Output"
        for output in by_system[key]:
            system = None if is_blind else output.system
            names[output.pk] = system.name if system else name
    if is_blind:
        return names
    places = {system: place for place, system in enumerate(systems)}
    order = {
        output.pk: (places.get(output.system_id or 0, len(places)), names[output.pk])
        for parts in by_system.values()
        for output in parts
    }
    return dict(sorted(names.items(), key=lambda pair: (order[pair[0]], pair[0])))
