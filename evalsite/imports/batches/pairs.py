"""Items of more than two systems taken apart: into all pairs, or into those that are named."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

WHY = "why"
_MOST_TOLD = 10  # of the names in one cell that make no pair


class Named(Protocol):
    """An output: its system, the pairs that it is in, and its line."""

    @property
    def system(self) -> str: ...
    @property
    def pair(self) -> str: ...
    @property
    def line(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Pair:
    """Two outputs of an item, by their places from 0, and the name that the file gives them."""

    first: int
    second: int
    name: str = ""

    @property
    def suffix(self) -> str:
        """What makes the pair's id of the item's: the numbers of its outputs in the file."""
        return f"/{self.first + 1}-{self.second + 1}"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why these outputs make no pairs, and the place of the output where it shows."""

    message: str
    place: int


def count_pairs(outputs: Sequence[Named]) -> int:
    """Return how many pairs these outputs make, if all is well with their names."""
    if _is_named(outputs):
        return len({name for output in outputs for name in split_names(output.pair)})
    return len(outputs) * (len(outputs) - 1) // 2


def split_names(cell: str) -> list[str]:
    """Return the names of pairs in a cell, separated by commas, each once."""
    names = (name.strip() for name in cell.split(","))
    return list(dict.fromkeys(name for name in names if name))


def make_pairs(outputs: Sequence[Named]) -> list[Pair]:
    """The pairs that the outputs name, in the order of the file, or all where none is named."""
    places = _find_places(outputs)
    if not places:
        return [Pair(*two) for two in combinations(range(len(outputs)), 2)]
    return [Pair(first, second, name) for name, (first, second) in places.items()]


class PairCounts:
    """For each number of outputs, how many items have it and how many pairs these make."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, bool], list[int]] = defaultdict(lambda: [0, 0])
        self.made = 0

    def add(self, outputs: Sequence[Named]) -> None:
        if len(outputs) > 2:
            count, counts = count_pairs(outputs), self._found[len(outputs), _is_named(outputs)]
            counts[0] += 1
            counts[1] += count
            self.made += count

    def describe(self) -> list[str]:
        return [
            f"{items:,} item{'' if items == 1 else 's'} with {number} systems "
            f"{'becomes' if items == 1 else 'become'} {pairs:,} pairs"
            f"{', those that are named' if is_named else ''}, each a separate item"
            for (number, is_named), (items, pairs) in sorted(self._found.items())
        ]


def find_problems(key: str, outputs: Sequence[Named]) -> list[Problem]:
    """Return what is wrong with the names of this item's pairs; nothing where none is named.

    Only the first few of an output are reported one by one: a cell may hold very many names.
    """
    problems: list[Problem] = []
    found: Counter[int] = Counter()
    for problem in _find_all_problems(key, outputs):
        found[problem.place] += 1
        if found[problem.place] <= _MOST_TOLD:
            problems.append(problem)
    for place, count in found.items():
        if count > _MOST_TOLD:
            more = count - _MOST_TOLD
            message = (
                f"{more:,} more name{'' if more == 1 else 's'} of pairs in this cell of item "
                f"“{key}” can’t be used either. A pair is named in the rows of two outputs, once."
            )
            problems.append(Problem(message, place))
    return problems


def _find_all_problems(key: str, outputs: Sequence[Named]) -> Iterator[Problem]:
    places = _find_places(outputs)
    if not places:
        return
    for place, output in enumerate(outputs):
        if not split_names(output.pair):
            message = (
                f"This output of item “{key}” is in no pair, but others are. Name its pair, "
                "or remove it."
            )
            yield Problem(message, place)
    same: dict[tuple[int, ...], str] = {}
    for name, found in places.items():
        if len(found) != 2:
            yield Problem(_describe_size(key, name, [outputs[place] for place in found]), found[0])
        elif (other := same.setdefault(tuple(found), name)) != name:
            message = (
                f"Pairs “{other[:40]}” and “{name[:40]}” of item “{key}” are of the same two "
                "outputs. Remove one of the names."
            )
            yield Problem(message, found[0])


def pick_gold(gold: dict[str, str], systems: Sequence[str], pair: Pair) -> dict[str, str]:
    """Return what the right answers of a whole item say of this pair of its systems.

    The system that is named is better than all others, so nothing is said of a pair without it.
    """
    said = {"tie", systems[pair.first], systems[pair.second]}
    answers = {
        criterion: text
        for criterion, given in gold.items()
        if criterion != WHY and (text := _name_system(given.strip(), systems)) in said
    }
    return answers | ({WHY: gold[WHY]} if answers and WHY in gold else {})


def _name_system(text: str, systems: Sequence[str]) -> str:
    """The system that a right answer means, which may give the number of its output, or “tie”."""
    numbers = {str(number): name for number, name in enumerate(systems, start=1)}
    return text if text in systems else numbers.get(text, text.casefold())


def _is_named(outputs: Iterable[Named]) -> bool:
    return any(output.pair.strip(", ") for output in outputs)


def _find_places(outputs: Iterable[Named]) -> dict[str, list[int]]:
    """Return the places of the outputs that name a pair, by its name."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, output in enumerate(outputs):
        for name in split_names(output.pair):
            places[name].append(place)
    return places


def _describe_size(key: str, name: str, outputs: Sequence[Named]) -> str:
    found = len(outputs)
    plural = "" if found == 1 else "s"
    where = ", ".join(f"“{one.system}” in line {one.line}" for one in outputs[:5])
    more = f" and {found - 5:,} more" if found > 5 else ""
    return (
        f"Pair “{name[:40]}” of item “{key}” has {found:,} output{plural} ({where}{more}); "
        "a pair has 2. Name it in the rows of two outputs."
    )
