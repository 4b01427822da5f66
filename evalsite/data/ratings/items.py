"""The items that ratings and scores name, their outputs, and who has answered them already."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Any, Protocol

from django.core.exceptions import ValidationError

from evalsite.data.ratings.columns import shorten
from evalsite.handout.models import Annotation
from evalsite.instruments.scales import BOTH
from evalsite.people.models import ParticipantIdentity
from evalsite.studies.models import Item, Output, Study

# the platform of those whom a file of ratings names
PLATFORM = "import"
CHUNK = 2_000
_FEW = 5_000
_HINTS = 20
# preferred: neither output
_NEITHER = ("tie", *BOTH)
# ids of an item in the files that brought it
_IDS = ("item", "source_id")
_SEPARATOR = re.compile(r"\s*[,|]\s*")


class Naming(Protocol):
    """A row that names an item, and perhaps a system."""

    item: str
    system: str


@dataclass(frozen=True, slots=True)
class FoundItem:
    """An item that a file names. `outputs`: id and system of each, in the order of the batch."""

    pk: int
    key: str
    kind: str
    batch: Any
    is_open: bool
    outputs: tuple[tuple[int, str], ...]

    def find(self, system: str) -> int | None:
        """Return the number of the output of this system, from 0; None: the item has none."""
        names = [name for _, name in self.outputs]
        return names.index(system) if system in names else None

    @property
    def systems(self) -> str:
        return ", ".join(name for _, name in self.outputs)


class ItemFinder:
    """Finds the items of rows by their ids; an id of the uploaded file will do where it can."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._items: dict[str, FoundItem | None] = {}
        # of an id that became several items their own ids, one for each output
        self._parts: dict[str, list[str]] = {}
        # short ids of items that are also what a file called others, and then mean those
        self._ambiguous: set[str] = set()
        self._hints: dict[str, str] = {}

    def load(self, names: Iterable[str]) -> None:
        """These items can be found from here on, in a few queries."""
        if not self._items:
            self._find_parts()
        keys = [key for key in dict.fromkeys(names) if key not in self._items]
        parts = [part for key in keys for part in self._parts.get(key, ())]
        self._items |= dict.fromkeys(keys) | _load(self.study, dict.fromkeys([*keys, *parts]))

    def is_known(self, name: str) -> bool:
        """Return whether the study has an item of this id, or several that it became."""
        return self._items.get(name) is not None or name in self._parts

    def find(self, row: Naming, *, is_whole: bool = False) -> FoundItem | None:
        """Return the item that a row means; with `is_whole` by its own id alone."""
        item = self._items.get(row.item)
        if row.item in self._ambiguous:
            item = None
        parts = [] if is_whole else self._list_parts(row)
        if not parts or (item is not None and item.find(row.system) is not None):
            return item
        if len(parts) == 1:
            return parts[0]
        # an id with several outputs became several items, one for each system
        of_system = [part for part in parts if part.find(row.system) is not None]
        return of_system[0] if len(of_system) == 1 else None

    def explain(self, row: Naming) -> str:
        """Why a row's item is not found, and what to do."""
        if parts := self._list_parts(row):
            return _explain_parts(row, parts)
        if row.item not in self._hints:
            self._hints[row.item] = self._hint(row.item)
        return f"There is no item “{shorten(row.item)}” in this study. {self._hints[row.item]}"

    def _list_parts(self, row: Naming) -> list[FoundItem]:
        """Return the items that an id became; those of later files are among them."""
        keys = self._parts.get(row.item)
        whole = () if row.item in self._ambiguous else (row.item,)
        parts = [self._items.get(key) for key in (*whole, *keys)] if keys else []
        return list({part.pk: part for part in parts if part is not None}.values())

    def _hint(self, name: str) -> str:
        known = Item.objects.main().filter(study=self.study).order_by("id")
        # a file of another study has nothing but such faults
        keys = known.values_list("key", flat=True)[:_FEW] if len(self._hints) < _HINTS else ()
        if near := get_close_matches(name, keys, n=1):
            return f"Did you mean “{near[0]}”?"
        return "Upload its batch first, or correct the id."

    def _find_parts(self) -> None:
        items = Item.objects.main().filter(study=self.study, extra__has_any_keys=[*_IDS])
        columns = ("key", *(f"extra__{name}" for name in _IDS))
        originals: dict[str, str] = {}
        for key, item, original in items.order_by("id").values_list(*columns).iterator():
            for source in dict.fromkeys(map(str, filter(None, (item, original)))):
                self._parts.setdefault(source, []).append(key)
            if original:
                originals[key] = str(original)
        names = {*originals.values()}
        self._ambiguous = {key for key, name in originals.items() if name != key and key in names}


def _explain_parts(row: Naming, parts: Sequence[FoundItem]) -> str:
    systems = dict.fromkeys(part.systems for part in parts)
    if row.system and row.system not in systems:
        by = f"by system “{shorten(row.system)}”"
        return f"No output of “{shorten(row.item)}” is {by}. It has {', '.join(systems)}."
    return (
        f"“{shorten(row.item)}” became {len(parts)} items, one for each system. Name "
        f"one of them, such as {parts[0].key}, or give the system."
    )


def _load(study: Study, keys: Iterable[str]) -> dict[str, FoundItem]:
    items: dict[str, FoundItem] = {}
    for chunk in in_chunks(keys):
        rows = Item.objects.filter(study=study, key__in=chunk)
        outputs: dict[int, list[tuple[int, str]]] = defaultdict(list)
        of_items = Output.objects.filter(item__in=rows.values("pk")).order_by("item", "position")
        for item_id, pk, system in of_items.values_list("item", "pk", "system__name"):
            outputs[item_id].append((pk, system or ""))
        columns = ("pk", "key", "kind", "batch", "batch__opened_at")
        for pk, key, kind, batch, opened_at in rows.values_list(*columns):
            items[key] = FoundItem(
                pk, key, kind, batch, opened_at is not None, tuple(outputs.get(pk, ()))
            )
    return items


def find_answered(study: Study, names: Collection[str]) -> dict[tuple[str, int], str]:
    """Return what these participants have answered already, by name and item, with its file."""
    answered: dict[tuple[str, int], str] = {}
    for chunk in in_chunks(names):
        people = ParticipantIdentity.objects.filter(
            study=study, platform=PLATFORM, outside_id__in=chunk
        )
        answers = Annotation.objects.filter(participant__identities__in=people).order_by()
        rows = answers.values_list(
            "participant__identities__outside_id",
            "participant__identities__platform",
            "item",
            "ratings_file__file_name",
        )
        answered |= {
            (name, item): file_name or "another file"
            for name, platform, item, file_name in rows
            if platform == PLATFORM
        }
    return answered


def in_chunks(values: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(values)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk


# --- which output -------------------------------------------------------------------
# ValidationError: the cell names none, with the field of that cell as its code


def find_output(item: FoundItem, system: str) -> int:
    """The number of the output of this system, from 0; of the only one where none is named."""
    if not system and len(item.outputs) == 1:
        return 0
    number = item.find(system)
    if number is not None:
        return number
    name = f"“{shorten(system)}” is not a system" if system else "Name the system"
    raise ValidationError(f"{name} of this item. It has {item.systems}.", code="system")


def find_preferred(item: FoundItem, text: str, outcome: str) -> int | None:
    """Return the number of the output preferred, from 0; None: neither.

    `outcome`: as our files have it, 1 and 2 for the systems in the order of their names.
    """
    if text.strip().casefold() in _NEITHER or (not text and outcome in _NEITHER):
        return None
    if not text and outcome in ("1", "2"):
        text = sorted(system for _, system in item.outputs)[int(outcome) - 1]
    number = item.find(text)
    if number is not None:
        return number
    name = f"“{shorten(text)}” is not a system of this item" if text else "The cell is empty"
    raise ValidationError(f"{name}. Write {item.systems} or tie.", code="preferred")


def read_order(text: str, item: FoundItem) -> tuple[int, ...]:
    """The numbers of the outputs, from 0, in the order shown: of numbers from 1, or systems."""
    parts = _SEPARATOR.split(text) if _SEPARATOR.search(text) else text.split()
    numbers = {str(number): number - 1 for number in range(1, len(item.outputs) + 1)}
    order = [at if (at := item.find(part)) is not None else numbers.get(part) for part in parts]
    known = [number for number in order if number is not None]
    if sorted(known) != list(range(len(item.outputs))) or len(known) != len(order):
        raise ValidationError(
            f"“{shorten(text)}” is not an order of the outputs. Name each once, by its system or "
            f"its number in the batch, such as {', '.join(numbers)}.",
            code="order_shown",
        )
    return tuple(known)


def read_first(system: str, item: FoundItem) -> tuple[int, ...]:
    """Return the order of two outputs, given the one shown first; unknown for more."""
    first = item.find(system)
    if first is None:
        raise ValidationError(
            f"“{shorten(system)}” is not a system of this item. It has {item.systems}.",
            code="shown_first",
        )
    return (first, 1 - first) if len(item.outputs) == 2 else ()
