"""Drawing a study's plan again from its seed and its items, to compare it with what stands.

What `evalsite.annotation.slots` does with rows of the database is done here with plain data, so
that anyone can check a bundle anywhere.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evalsite.annotation.layers import Entry, plan_layers
from evalsite.annotation.models import TOP_UP_FROM
from evalsite.lib.seeds import derive_number

# when batches were opened to participants; those opened together are planned together
Opening = str | None


class Place(NamedTuple):
    """What is compared of a place."""

    position: int
    arrangement: int


@dataclass
class Replay:
    """The items of a study, then the places that stand; and how many stand otherwise than drawn.

    Where no batch is open yet, the places are those that a launch will make.
    """

    study: Mapping[str, Any]
    _items: dict[str, tuple[int, Opening]] = field(default_factory=dict)
    _entries: dict[Opening, list[Entry]] = field(default_factory=lambda: defaultdict(list))
    _standing: dict[tuple[Opening, int], dict[int, Place]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def __post_init__(self) -> None:
        seed, names = self.study["seed"], self.study["systems"]
        seeded = sorted(names, key=lambda name: (derive_number(seed, "system", name), name))
        self._ranks = {None: 0, **{name: rank for rank, name in enumerate(seeded, start=1)}}
        self._opened = {batch["id"]: batch["opened_at"] for batch in self.study["batches"]}
        self.is_open = any(opened is not None for opened in self._opened.values())

    def add_item(self, item: Mapping[str, Any]) -> None:
        """Items come in the order of their rows. Only main items of open batches have places."""
        if item["kind"] != "main" or item["batch"] is None:
            return
        opening = self._opened[item["batch"]]
        if opening is None and self.is_open:
            return
        seed, number = self.study["seed"], len(self._items)
        self._items[item["key"]] = number, opening
        self._entries[opening].append(
            Entry(
                number,
                derive_number(seed, "item", item["key"]),
                (derive_number(seed, "group", item["group"]), item["group"]),
                tuple(self._ranks[output["system"]] for output in item["outputs"]),
                item["cluster"],
            )
        )

    def add_place(self, item: str, number: int, place: Place) -> bool:
        """False where the item can't have a place, or has this one already."""
        if item not in self._items:
            return False
        key, opening = self._items[item]
        layer = self._standing[opening, number]
        if key in layer:
            return False
        layer[key] = place
        return True

    def count_strays(self) -> int:
        """How many places of the design stand otherwise than the seed gives them."""
        numbers = [number for _, number in self._standing if number <= TOP_UP_FROM]
        strays = 0
        for opening, entries in self._entries.items():
            layers = plan_layers(
                entries,
                seed=self.study["seed"],
                layers=max(numbers, default=0),
                is_together=self.study["groups"] == "together",
            )
            for number, places in enumerate(layers, start=1):
                strays += _count_strays(places, self._standing.get((opening, number), {}))
        return strays

    def list_short(self, k: int) -> Iterator[tuple[str, int]]:
        """Items that have another number of places in the design than k, with that number."""
        found = Counter(
            key
            for (_, number), layer in self._standing.items()
            if number <= TOP_UP_FROM
            for key in layer
        )
        for name, (key, _) in self._items.items():
            if found[key] != k:
                yield name, found[key]


def _count_strays(
    places: Iterable[Iterable[tuple[int, int]]], standing: Mapping[int, Place]
) -> int:
    """A layer stands as one: each place as far after the first as it was drawn."""
    good: Counter[int] = Counter()
    for rank, place in enumerate(places):
        for key, arrangement in place:
            one = standing.get(key)
            if one is not None and one.arrangement == arrangement:
                good[one.position - rank] += 1
    return len(standing) - max(good.values(), default=0)
