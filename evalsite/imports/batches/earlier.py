"""The inputs that a study has already, found by the rows of a later file.

By the id in the file, then by group, then by equal texts: what joins an input is one input with it
in every analysis. All inputs are read in one pass, of which few bytes are kept.
"""

import json
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice

from evalsite.imports.batches.items import is_made_group
from evalsite.instruments.schema import Instrument
from evalsite.studies.models import Item, Output, Study

OutputRow = tuple[int, str, str]  # item, system, text
_AT_ONCE = 2_000


@dataclass(slots=True)
class EarlierInput:
    """An input of the study, its group, and the ids of the items that show it."""

    group: str
    cluster: str
    digest: bytes
    # whether a file named the group
    is_named: bool
    items: list[int] = field(default_factory=list)


class EarlierInputs:
    """Finds inputs of the main items of a study."""

    def __init__(self, study: Study, config: Instrument, systems: Collection[str]) -> None:
        self.systems = systems
        self.names = [column.name for column in config.columns if not column.is_of_output]
        # with the id that a file gave to the input, also where it became several items
        self.by_id: dict[str, tuple[EarlierInput, str]] = {}
        # ids of files by the short ones that were given for them
        self.originals: dict[str, str] = {}
        self._by_place: dict[tuple[str, bytes], EarlierInput] = {}
        # None: in several groups
        self._by_texts: dict[bytes, EarlierInput | None] = {}
        items = Item.objects.main().filter(study=study).order_by("id")
        columns = ("id", "key", "extra__item", "extra__source_id", "group", "cluster", "inputs")
        rows = items.values_list(*columns).iterator()
        for pk, key, source, original, group, cluster, inputs in rows:
            ids = key, str(source or key), str(original or "")
            self._add(pk, ids, (group, cluster), inputs)

    def _add(
        self, pk: int, ids: tuple[str, str, str], places: tuple[str, str], inputs: Mapping[str, str]
    ) -> None:
        (key, source, original), (group, cluster) = ids, places
        digest = self.digest(inputs)
        known = self._by_place.get((group, digest))
        if known is None:
            is_named = not is_made_group(group) and group != source
            known = EarlierInput(group, cluster, digest, is_named)
            self._by_place[group, digest] = known
            self._by_texts[digest] = None if digest in self._by_texts else known
        known.items.append(pk)
        for name in filter(None, (key, source)):
            self.by_id.setdefault(name, (known, source))
        # what a file called an input means it before another's short id does
        if original and original not in self.originals:
            self.originals[original] = source
            self.by_id[original] = known, source

    def __bool__(self) -> bool:
        return bool(self._by_place)

    def digest(self, inputs: Mapping[str, str]) -> bytes:
        """Return what is equal for inputs with equal texts; b"" for none at all."""
        texts = [normalise(inputs.get(name, "")) for name in self.names]
        if not any(map(str.strip, texts)):
            return b""
        return sha256(json.dumps(texts).encode()).digest()[:16]

    def find(self, inputs: Mapping[str, str], group: str) -> EarlierInput | None:
        """Return the input of this group, or else the one with equal texts, if there is one."""
        digest = self.digest(inputs)
        if group and (known := self._by_place.get((group, digest))):
            return known
        known = self._by_texts.get(digest) if digest else None
        # two files that name groups differ in them on purpose
        return None if known is None or (group and known.is_named) else known

    def is_ambiguous(self, inputs: Mapping[str, str]) -> bool:
        digest = self.digest(inputs)
        return digest in self._by_texts and self._by_texts[digest] is None


def normalise(text: str) -> str:
    """Return a text in the form in which equal texts are compared."""
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))


def list_outputs(items: Collection[int], systems: Collection[str]) -> Iterator[OutputRow]:
    """Yield item, system and text of the outputs of these items by these systems."""
    rest = iter(sorted(items))
    while keys := list(islice(rest, _AT_ONCE)):
        outputs = Output.objects.filter(item__in=keys, system__name__in=systems)
        rows = outputs.order_by("item_id", "position")
        yield from rows.values_list("item_id", "system__name", "text")


def name_sources(items: Iterable[int]) -> dict[int, tuple[Mapping[str, str], str]]:
    """Return the inputs of these items, and the name of the file that brought each."""
    rows = Item.objects.filter(pk__in=list(items)).values_list("pk", "inputs", "batch__file_name")
    return {pk: (inputs, name or "") for pk, inputs, name in rows}
