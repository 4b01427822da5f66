"""The items that ratings name, and who has answered them already."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Protocol

from evalsite.annotation.models import Annotation
from evalsite.imports.ratings.rows import shorten
from evalsite.imports.ratings.values import FoundItem
from evalsite.participants.models import ParticipantIdentity
from evalsite.studies.models import Item, Output, Study

# the platform of those whom a file of ratings names
IMPORT = "import"
_CHUNK = 2_000
_FEW = 5_000
_HINTS = 20


class Naming(Protocol):
    """A row that names an item, and perhaps a system."""

    item: str
    system: str


class ItemFinder:
    """Finds the items of rows by their ids; an id of the uploaded file will do where it can."""

    def __init__(self, study: Study, rows: Iterable[Naming]) -> None:
        self.study = study
        keys = list(dict.fromkeys(row.item for row in rows))
        self._found = _load(study, keys)
        self._parts: dict[str, list[str]] = defaultdict(list)
        self._hints: dict[str, str] = {}
        if study.config.outputs[1] == 1 and len(self._found) < len(keys):
            self._load_parts(set(keys) - self._found.keys())

    def find(self, row: Naming) -> FoundItem | None:
        if item := self._found.get(row.item):
            return item
        # an id with several outputs became several items, one for each system
        parts = [self._found[key] for key in self._parts.get(row.item, ())]
        of_system = [part for part in parts if part.find(row.system) is not None]
        return of_system[0] if len(of_system) == 1 else None

    def explain(self, row: Naming) -> str:
        """Why a row's item is not found, and what to do."""
        if parts := self._parts.get(row.item):
            return self._explain_parts(row, parts)
        message = f"There is no item “{shorten(row.item)}” in this study."
        if row.item not in self._hints:
            self._hints[row.item] = self._hint(row.item)
        return f"{message} {self._hints[row.item]}"

    def _explain_parts(self, row: Naming, parts: Sequence[str]) -> str:
        systems = [self._found[part].systems for part in parts]
        if row.system and row.system not in systems:
            known = ", ".join(dict.fromkeys(systems))
            by = f"by system “{shorten(row.system)}”"
            return f"No output of “{shorten(row.item)}” is {by}. It has {known}."
        return (
            f"“{shorten(row.item)}” stands for {len(parts)} items, one for each system. Name "
            f"one of them, such as {parts[0]}, or give the system."
        )

    def _hint(self, name: str) -> str:
        known = Item.objects.main().filter(study=self.study).order_by("id")
        # a file of another study has nothing but such faults
        keys = known.values_list("key", flat=True)[:_FEW] if len(self._hints) < _HINTS else ()
        if near := get_close_matches(name, keys, n=1):
            return f"Did you mean “{near[0]}”?"
        return "Upload its batch first, or correct the id."

    def _load_parts(self, missing: Collection[str]) -> None:
        items = Item.objects.main().filter(study=self.study, extra__has_key="item")
        rows = items.order_by("id").values_list("extra__item", "key").iterator()
        wanted = [(str(given), key) for given, key in rows if str(given) in missing]
        for given, key in wanted:
            self._parts[given].append(key)
        self._found |= _load(self.study, [key for _, key in wanted])


def _load(study: Study, keys: Sequence[str]) -> dict[str, FoundItem]:
    found: dict[str, FoundItem] = {}
    for some in _in_chunks(keys):
        items = Item.objects.filter(study=study, key__in=some)
        outputs: dict[int, list[tuple[int, str]]] = defaultdict(list)
        rows = Output.objects.filter(item__in=items.values("pk")).order_by("item", "position")
        for item_id, pk, system in rows.values_list("item", "pk", "system__name"):
            outputs[item_id].append((pk, system or ""))
        columns = ("pk", "key", "kind", "batch", "batch__opened_at")
        for pk, key, kind, batch, opened_at in items.values_list(*columns):
            found[key] = FoundItem(
                pk, key, kind, batch, opened_at is not None, tuple(outputs.get(pk, ()))
            )
    return found


def find_answered(study: Study, names: Collection[str]) -> dict[tuple[str, int], str]:
    """What these participants have answered already, by name and item, with the file it is of."""
    found: dict[tuple[str, int], str] = {}
    for some in _in_chunks(names):
        people = ParticipantIdentity.objects.filter(
            study=study, platform=IMPORT, outside_id__in=some
        )
        answers = Annotation.objects.filter(participant__identities__in=people).order_by()
        rows = answers.values_list(
            "participant__identities__outside_id",
            "participant__identities__platform",
            "item",
            "ratings_file__file_name",
        )
        found |= {
            (name, item): file_name or "another file"
            for name, platform, item, file_name in rows
            if platform == IMPORT
        }
    return found


def _in_chunks(names: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(names)
    while some := list(islice(rest, _CHUNK)):
        yield some
