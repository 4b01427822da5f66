"""Planning slots: each item's position in the queue, and the arrangement of each showing.

No database here: a plan is a function of the seed and of what was uploaded, so it can be proved,
and made again to compare it with the slots that exist.

Words of this module: a *unit* is what is dealt as one: an item, or a whole group where groups
stay together. Its *kind* is which systems it shows. A *sublayer* is a part of a layer in which no
group has two units. A *turn* is one of the balanced arrangements of a unit: its outputs (of a
whole group: its items) in the study's seeded order of systems, rotated, and from three on also
mirrored. What is guaranteed, and played through in tests/annotation/test_layers.py:

- every unit is once in each layer, and each layer has another order;
- the units of a group are in different sublayers: with complete groups a Latin square of groups
  and sublayers, each with as many units of every kind, give or take one;
- where the kinds of a sublayer are equally frequent, any run of places in it has each kind
  equally often, give or take one, and each turn of a kind too. So where all items show the same
  two systems, any run shows each on the left as often as on the right, give or take one; where
  they show the same three or more, each in every place equally often, give or take two;
- over its slots each unit has every rotation equally often, give or take one: each output of an
  item, and each item of a group, is in every place equally often.

Kinds that are not equally frequent are spread in proportion. Where there are many kinds of few
units, as when each item shows some systems of many, places come in a random order in which each
next one is, of the few that are next, the one that shows what was shown least. More than five
outputs are rotated from a shuffle of their own: exact for each item, and by chance otherwise.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from random import Random
from typing import TypeVar

from evalsite.lib.seeds import count_orders, find_arrangement, make_random

# with more units than this in a group, sublayers are taken in turn and not weighed
_MOST_WEIGHED = 12
# up to this number, outputs are arranged by system
_MOST_ORDERED = 5
_LARGEST_NUMBER = 32_767
# where there are more kinds, of fewer units each than this, they do not alternate
_MOST_KINDS = 16
_FEWEST_UNITS = 3
# so many units are weighed against one another then
_NEXT = 16

# what shares one place in the queue: items, each with the arrangement that it shows there
Place = list[tuple[int, int]]
# a system, or the systems of an item, and where on the page or in its group it is shown
Mark = tuple[object, int]

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Entry:
    """What a plan must know of an item.

    `key` and the first part of `group` are their seeded numbers; `systems` are those of its
    outputs, in the order of the file, each as its place in the study's seeded order of systems.
    """

    item_id: int
    key: int
    group: tuple[int, str]
    systems: tuple[int, ...]
    cluster: str = ""


class _Kind:
    """What units that show the same systems have in common."""

    def __init__(self, rank: int, shows: tuple[tuple[int, ...], ...]) -> None:
        self.rank = rank
        # what a unit puts in order: the items of a group, else its outputs
        labels: Sequence[object] = shows if len(shows) > 1 else shows[0]
        self.size = max(1, len(labels))
        self.turns = _count_turns(self.size, is_group=len(shows) > 1)
        # more outputs than are ordered by system tell nothing of systems
        is_told = self.size <= _MOST_ORDERED or len(shows) > 1
        orders = [_order_in(self.size, turn) for turn in range(self.turns)] if is_told else []
        self.marks: list[tuple[Mark, ...]] = [
            tuple((labels[number], place) for place, number in enumerate(order) if labels)
            for order in orders
        ] or [()] * self.turns

    def turns_in(self, no: int) -> list[int]:
        """Return each turn as it is in this layer."""
        return [_turn_in(turn, no, self.size, self.turns) for turn in range(self.turns)]


@dataclass(slots=True)
class _Unit:
    """Entries that share a place, in the order of their systems, and what the plan gives them."""

    entries: tuple[Entry, ...]
    kind: _Kind
    turn: int = 0
    lap: int = 0
    time: float = 0.0


# units by the rank of their kind
Sublayer = dict[int, list[_Unit]]


def plan_layers(
    entries: Iterable[Entry], *, seed: str, layers: int, is_together: bool = False
) -> Iterator[list[Place]]:
    """One list of places for each layer, in the order in which they are dealt."""
    units = _make_units(entries, is_together, make_random(seed, "kinds"))
    sublayers = _spread(units)
    _give_turns(sublayers)
    balance = _Balance()
    for no in range(layers):
        _draw_times(sublayers, make_random(seed, "layer", no))
        yield [place for cells in sublayers for place in _line_up(cells, no, balance)]


# --- units, sublayers, turns ----------------------------------------------------------


def _make_units(entries: Iterable[Entry], is_together: bool, draw: Random) -> list[_Unit]:
    """Return the units in a seeded order, which is not that of the file."""
    shared: dict[object, list[Entry]] = defaultdict(list)
    for entry in sorted(entries, key=lambda entry: (entry.key, entry.item_id)):
        shared[entry.group if is_together else entry.item_id].append(entry)
    for members in shared.values():
        members.sort(key=lambda entry: _sorted(entry.systems))
    shows = [tuple(_sorted(entry.systems) for entry in members) for members in shared.values()]
    known = sorted(set(shows))
    draw.shuffle(known)
    apart = _keep_apart(known, lambda shown: [label for labels in shown for label in labels])
    kinds = {shown: _Kind(rank, shown) for rank, shown in enumerate(apart)}
    pairs = zip(shared.values(), shows, strict=True)
    return [_Unit(tuple(members), kinds[shown]) for members, shown in pairs]


@cache
def _sorted(systems: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(systems))


def _spread(units: Sequence[_Unit]) -> list[Sublayer]:
    """Return the units of each sublayer by kind; a group has no two units in one sublayer."""
    groups: dict[tuple[int, str], list[_Unit]] = defaultdict(list)
    for unit in units:
        groups[unit.entries[0].group].append(unit)
    count = max(map(len, groups.values()), default=0)
    sublayers: list[Sublayer] = [defaultdict(list) for _ in range(count)]
    for rank, name in enumerate(sorted(groups)):
        members = sorted(groups[name], key=lambda unit: unit.kind.rank)
        shift = _find_shift(members, sublayers, rank)
        for number, unit in enumerate(members):
            sublayers[(number + shift) % count][unit.kind.rank].append(unit)
    return sublayers


def _find_shift(members: Sequence[_Unit], sublayers: Sequence[Sublayer], rank: int) -> int:
    """By how much this group is turned against the sublayers, so that kinds are even in each."""
    count = len(sublayers)
    if count == 1 or count > _MOST_WEIGHED:
        return rank % count

    def weigh(shift: int) -> tuple[int, int]:
        there = (
            len(sublayers[(number + shift) % count].get(unit.kind.rank, ()))
            for number, unit in enumerate(members)
        )
        return sum(there), (shift - rank) % count

    return min(range(count), key=weigh)


def _keep_apart(
    things: Iterable[Thing], labels_of: Callable[[Thing], Iterable[object]]
) -> list[Thing]:
    """These things, each one next, of the few that come next, whose labels came least before."""
    found, came, rest = [], Counter[object](), iter(things)
    near = list(islice(rest, _NEXT))
    while near:
        one = min(near, key=lambda thing: sum(came[label] for label in labels_of(thing)))
        near.remove(one)
        near += islice(rest, 1)
        came.update(labels_of(one))
        found.append(one)
    return found


def _give_turns(sublayers: Sequence[Sublayer]) -> None:
    """Every turn is that of equally many units of a kind, in each sublayer and in all of them.

    A kind of few units has those of its turns that show what other kinds show least.
    """
    balance = _Balance()
    rounds: dict[int, list[int]] = defaultdict(list)
    given: Counter[int] = Counter()
    for cells in sublayers:
        for rank, units in cells.items():
            kind, order = units[0].kind, rounds[rank]
            for number, unit in enumerate(units, start=given[rank]):
                unit.lap, place = divmod(number, kind.turns)
                if place == len(order):
                    left = [turn for turn in range(kind.turns) if turn not in order]
                    order.append(min(left, key=lambda turn: balance.weigh(kind, turn)))
                unit.turn = order[place]
                balance.add(kind, unit.turn)
            given[rank] += len(units)


def _count_turns(size: int, *, is_group: bool = False) -> int:
    """Rotations, and those mirrored; not of two, where mirrored is rotated."""
    has_one_side = size <= 2 or (size > _MOST_ORDERED and not is_group)
    return size if has_one_side else 2 * size


def _turn_in(turn: int, no: int, size: int, turns: int) -> int:
    """Return the turn in this layer: rotated on by one each layer, mirrored after a whole round."""
    return (turn // size + no // size) * size % turns + (turn + no) % size


@cache
def _order_in(size: int, turn: int) -> tuple[int, ...]:
    """Return the system of each place in this turn, as numbers in the order of systems."""
    side, start = divmod(turn, size)
    order = list(range(size))[:: -1 if side else 1]
    return (*order[start:], *order[:start])


# --- the order of a layer -------------------------------------------------------------


def _draw_times(sublayers: Sequence[Sublayer], draw: Random) -> None:
    """Each unit has a random time, by which those of its kind and turn follow one another.

    In a cluster the times are in the order of the file: a person who is dealt one set after
    another meets the turns of a conversation in their order, but for close ones, for what was
    given back, and for what stands before the place at which they began.
    """
    for cells in sublayers:
        clusters: dict[str, list[_Unit]] = defaultdict(list)
        for units in cells.values():
            for unit in units:
                unit.time = draw.random()
                if unit.entries[0].cluster:
                    clusters[unit.entries[0].cluster].append(unit)
        for turns in clusters.values():
            times = sorted(unit.time for unit in turns)
            turns.sort(key=lambda unit: min(entry.item_id for entry in unit.entries))
            for unit, time in zip(turns, times, strict=True):
                unit.time = time


class _Balance:
    """How often what was shown where in all that is planned so far, and which kind came last."""

    def __init__(self) -> None:
        self.last = -1
        self.shown: dict[Mark, int] = defaultdict(int)

    def find_turn(self, rank: int) -> tuple[bool, int]:
        """Return the place of this kind in the cycle of kinds, which begins after the last one."""
        return rank <= self.last, rank

    def weigh(self, kind: _Kind, turn: int) -> tuple[int, int]:
        return sum(self.shown[mark] for mark in kind.marks[turn]), turn

    def add(self, kind: _Kind, turn: int) -> None:
        self.last = kind.rank
        for mark in kind.marks[turn]:
            self.shown[mark] += 1


class _Cell:
    """The units of one kind in a sublayer, given out turn by turn, in always the same round."""

    def __init__(self, units: Sequence[_Unit], no: int) -> None:
        self.kind = units[0].kind
        self.stacks: list[list[_Unit]] = [[] for _ in range(self.kind.turns)]
        turns = self.kind.turns_in(no)
        for unit in sorted(units, key=lambda unit: unit.time, reverse=True):
            self.stacks[turns[unit.turn]].append(unit)
        self.round: list[int] = []
        self.given = 0

    def take(self, balance: _Balance) -> tuple[_Unit, int]:
        """Return the next unit, and the turn in which it is shown."""
        place = self.given % len(self.stacks)
        if place == len(self.round):
            self.round.append(self._choose(balance))
        turn = self.round[place]
        self.given += 1
        balance.add(self.kind, turn)
        return self.stacks[turn].pop(), turn

    def _choose(self, balance: _Balance) -> int:
        """Of the turns that are not in the round yet, the one that shows what was shown least.

        Turns that have a unit more than others go first, so that no round breaks off.
        """
        left = [turn for turn in range(len(self.stacks)) if turn not in self.round]
        most = max(len(self.stacks[turn]) for turn in left)
        fullest = [turn for turn in left if len(self.stacks[turn]) == most]
        return min(fullest, key=lambda turn: balance.weigh(self.kind, turn))


def _line_up(cells: Sublayer, no: int, balance: _Balance) -> Iterator[Place]:
    """The places of a sublayer: kinds alternate in proportion, and in each kind the turns."""
    count = sum(map(len, cells.values()))
    if len(cells) > _MOST_KINDS and count < _FEWEST_UNITS * len(cells):
        yield from _mix(cells, no, balance)
        return
    # the time of each unit, and its kind; of equal times, that of the kind that comes next
    spread = [
        ((2 * number + 1) / len(units), after)
        for after, units in [(balance.find_turn(rank), units) for rank, units in cells.items()]
        for number in range(len(units))
    ]
    spread.sort()
    by_kind = {rank: _Cell(units, no) for rank, units in cells.items()}
    for _, (_, rank) in spread:
        unit, turn = by_kind[rank].take(balance)
        yield _arrange_unit(unit, turn, no)


def _mix(cells: Sublayer, no: int, balance: _Balance) -> Iterator[Place]:
    """Return the places of a sublayer of many kinds, in a random order that keeps systems apart."""
    turns = {rank: units[0].kind.turns_in(no) for rank, units in cells.items()}
    units = sorted((unit for same in cells.values() for unit in same), key=lambda unit: unit.time)
    shown = [(unit, turns[unit.kind.rank][unit.turn]) for unit in units]

    def labels_of(one: tuple[_Unit, int]) -> Iterator[object]:
        for mark in one[0].kind.marks[one[1]]:
            yield from (mark, mark[0])

    for unit, turn in _keep_apart(shown, labels_of):
        balance.add(unit.kind, turn)
        yield _arrange_unit(unit, turn, no)


# --- arrangements ---------------------------------------------------------------------


def _arrange_unit(unit: _Unit, turn: int, no: int) -> Place:
    """Return the items of a unit with the arrangement of each in this layer."""
    if len(unit.entries) == 1:
        (entry,) = unit.entries
        return [(entry.item_id, _arrangement(entry.systems, turn))]
    found: Place = []
    for place, number in enumerate(_order_in(len(unit.entries), turn)):
        entry = unit.entries[number]
        outputs = max(1, len(entry.systems))
        turns = _count_turns(outputs)
        # items of a group turn one against another
        own = _turn_in((unit.lap + number) % turns, no, outputs, turns)
        arrangement = _arrangement(entry.systems, own)
        found.append((entry.item_id, join_arrangement(outputs, place, arrangement)))
    return found


@cache
def _arrangement(systems: tuple[int, ...], turn: int) -> int:
    """The number of the order in which these outputs, as in the file, are shown in this turn."""
    size = len(systems)
    if size > _MOST_ORDERED or size < 2:
        return turn if size else 0
    by_system = sorted(range(size), key=lambda position: (systems[position], position))
    return find_arrangement([by_system[number] for number in _order_in(size, turn)])


def join_arrangement(outputs: int, place: int, own: int) -> int:
    """One number for an item's place in its group and the order of its outputs."""
    orders = count_orders(outputs)
    return min(place, _LARGEST_NUMBER // orders - 1) * orders + own


def place_in_group(outputs: int, arrangement: int) -> int:
    """Return an item's position in its group, from 0, in a slot of this arrangement."""
    return arrangement // count_orders(outputs)
