"""Planning slots: each item's position in the queue, and the arrangement of each showing.

No database here: a plan is a function of the seed and of what was uploaded, so it can be proved,
and made again to compare it with the slots that exist.

Words of this module: a *unit* is what is dealt as one: an item, or a whole group where groups
stay together. Its *kind* is which systems it shows. A *sublayer* is a part of a layer in which no
group has two units. A *turn* is one of the balanced arrangements of a unit: its outputs (of a
whole group: its items) in the study's seeded order of systems, rotated, and from three on also
mirrored. What is guaranteed, and played through in tests/handout/test_layers.py:

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

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import merge
from itertools import chain, groupby, islice, pairwise
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

Labelled = TypeVar("Labelled")


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


class _Units:
    """All units of a plan in columns, by number: there may be hundreds of thousands of them.

    They are in a seeded order, which is not that of the file; the entries of a unit follow one
    another in the order of their systems.
    """

    def __init__(
        self, entries: Iterable[Entry], is_together: bool, is_given: bool, draw: Random
    ) -> None:
        self.is_given = is_given
        known: dict[tuple[int, ...], int] = {}
        clusters: dict[str, int] = {"": 0}
        self.item_ids, self._systems, self._clusters = array("q"), array("l"), array("l")
        keys, numbers, names = array("q"), array("q"), _Names()
        for entry in entries:
            self.item_ids.append(entry.item_id)
            self._systems.append(known.setdefault(entry.systems, len(known)))
            self._clusters.append(clusters.setdefault(entry.cluster, len(clusters)))
            keys.append(entry.key)
            numbers.append(entry.group[0])
            names.add(entry.group[1])
        self._shown = list(known)
        groups = _rank_groups(numbers, names)
        del numbers, names
        order = array("l", sorted(range(len(keys)), key=self.item_ids.__getitem__))
        order = array("l", sorted(order, key=keys.__getitem__))
        del keys
        # of each unit its first entry, and after the last one where that ends
        self._first = array("l", range(len(order) + 1))
        if is_together:
            order, self._first = _gather(order, groups)
            for first, end in pairwise(self._first):
                order[first:end] = array(
                    "l", sorted(order[first:end], key=lambda at: _sorted(self._show(at)))
                )
        for name in ("item_ids", "_systems", "_clusters"):
            column = getattr(self, name)
            setattr(self, name, array(column.typecode, map(column.__getitem__, order)))
        self.groups = array("l", (groups[order[first]] for first in self._first[:-1]))
        self.kinds = self._find_kinds(draw)
        self.turns, self.laps = array("l", self.ranks), array("l", self.ranks)
        self.times = array("d", self.ranks)

    def __len__(self) -> int:
        return len(self.groups)

    def _show(self, entry: int) -> tuple[int, ...]:
        return self._shown[self._systems[entry]]

    def _find_kinds(self, draw: Random) -> "list[_Kind]":
        """Return the kinds in the order of their ranks, and keep the rank of each unit."""
        ranks: dict[tuple[tuple[int, ...], ...], int] = {}
        self.ranks = array("l")
        for unit in range(len(self)):
            shows = tuple(_sorted(systems) for _, systems in self.list_items(unit))
            self.ranks.append(ranks.setdefault(shows, len(ranks)))
        known = sorted(ranks)
        draw.shuffle(known)
        apart = _keep_apart(known, lambda shown: [label for labels in shown for label in labels])
        new = {ranks[shown]: rank for rank, shown in enumerate(apart)}
        self.ranks = array("l", map(new.__getitem__, self.ranks))
        return [_Kind(rank, shown) for rank, shown in enumerate(apart)]

    def kind_of(self, unit: int) -> "_Kind":
        return self.kinds[self.ranks[unit]]

    def cluster_of(self, unit: int) -> int:
        """Return the cluster of a unit; 0 if it is in none."""
        return self._clusters[self._first[unit]]

    def list_items(self, unit: int) -> list[tuple[int, tuple[int, ...]]]:
        """Return each item of a unit with its systems in the order of the file."""
        entries = range(self._first[unit], self._first[unit + 1])
        return [(self.item_ids[entry], self._show(entry)) for entry in entries]


class _Names:
    """Texts by number in one buffer: a text of its own takes 50 bytes more."""

    def __init__(self) -> None:
        self._buffer, self._ends = bytearray(), array("q", [0])

    def add(self, name: str) -> None:
        self._buffer += name.encode()
        self._ends.append(len(self._buffer))

    def __getitem__(self, number: int) -> bytes:
        """Return a text in UTF-8, which is in the order of its characters."""
        return bytes(self._buffer[self._ends[number] : self._ends[number + 1]])


def _rank_groups(numbers: "array[int]", names: _Names) -> "array[int]":
    """Return the rank of each entry's group among all groups, by number and name."""
    ranks, rank = array("l", numbers), -1
    ordered = array("l", sorted(range(len(numbers)), key=numbers.__getitem__))
    for _, equal in groupby(ordered, key=numbers.__getitem__):
        last = None
        for name, entry in sorted((names[entry], entry) for entry in equal):
            rank, last = rank + (name != last), name
            ranks[entry] = rank
    return ranks


def _gather(order: "array[int]", groups: "array[int]") -> "tuple[array[int], array[int]]":
    """Return the entries with those of a group together, and where each group begins and ends."""
    came: dict[int, int] = {}
    for entry in order:
        came.setdefault(groups[entry], len(came))
    together = array("l", sorted(order, key=lambda entry: came[groups[entry]]))
    first = array("l")
    for _, members in groupby(range(len(together)), key=lambda at: groups[together[at]]):
        first.append(next(members))
    return together, first + array("l", [len(together)])


# the numbers of units, by the rank of their kind
Sublayer = dict[int, "array[int]"]


def plan_layers(
    entries: Iterable[Entry],
    *,
    seed: str,
    layers: int,
    is_together: bool = False,
    is_given: bool = False,
) -> Iterator[Iterator[Place]]:
    """Yield the places of each layer in the order of dealing; take all of one before the next.

    `is_given`: outputs, and items that stay together, are in the order of the file.
    """
    units = _Units(entries, is_together, is_given, make_random(seed, "kinds"))
    sublayers = _spread(units)
    _give_turns(units, sublayers)
    balance = _Balance()
    for no in range(layers):
        _draw_times(units, sublayers, make_random(seed, "layer", no))
        yield _deal(units, sublayers, no, balance)


def _deal(
    units: _Units, sublayers: Sequence[Sublayer], no: int, balance: "_Balance"
) -> Iterator[Place]:
    for cells in sublayers:
        yield from _line_up(units, cells, no, balance)


# --- units, sublayers, turns ----------------------------------------------------------


@cache
def _sorted(systems: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(systems))


def _spread(units: _Units) -> list[Sublayer]:
    """Return the units of each sublayer by kind; a group has no two units in one sublayer."""
    ordered = array("l", sorted(range(len(units)), key=units.groups.__getitem__))
    runs = groupby(ordered, key=units.groups.__getitem__)
    count = max((sum(1 for _ in run) for _, run in runs), default=0)
    sublayers: list[Sublayer] = [defaultdict(lambda: array("l")) for _ in range(count)]
    for rank, group in groupby(ordered, key=units.groups.__getitem__):
        members = sorted(group, key=units.ranks.__getitem__)
        shift = _find_shift([units.ranks[unit] for unit in members], sublayers, rank)
        for number, unit in enumerate(members):
            sublayers[(number + shift) % count][units.ranks[unit]].append(unit)
    return sublayers


def _find_shift(kinds: Sequence[int], sublayers: Sequence[Sublayer], rank: int) -> int:
    """Return by how many sublayers to shift this group, so that kinds are even in each."""
    count = len(sublayers)
    if count == 1 or count > _MOST_WEIGHED:
        return rank % count

    def weigh(shift: int) -> tuple[int, int]:
        filled = (
            len(sublayers[(number + shift) % count].get(kind, ()))
            for number, kind in enumerate(kinds)
        )
        return sum(filled), (shift - rank) % count

    return min(range(count), key=weigh)


def _keep_apart(
    units: Iterable[Labelled], labels_of: Callable[[Labelled], Iterable[object]]
) -> list[Labelled]:
    """Reorder units: of the few at the front, the one whose labels came least is next."""
    ordered, came, rest = [], Counter[object](), iter(units)
    near = list(islice(rest, _NEXT))
    while near:
        rarest = min(near, key=lambda unit: sum(came[label] for label in labels_of(unit)))
        near.remove(rarest)
        near += islice(rest, 1)
        came.update(labels_of(rarest))
        ordered.append(rarest)
    return ordered


def _give_turns(units: _Units, sublayers: Sequence[Sublayer]) -> None:
    """Give every turn to equally many units of a kind, in each sublayer and in all of them.

    A kind of few units has those of its turns that show what other kinds show least.
    """
    balance = _Balance()
    rounds: dict[int, list[int]] = defaultdict(list)
    counts: Counter[int] = Counter()
    for cells in sublayers:
        for rank, members in cells.items():
            kind, order = units.kinds[rank], rounds[rank]
            for number, unit in enumerate(members, start=counts[rank]):
                units.laps[unit], place = divmod(number, kind.turns)
                if place == len(order):
                    left = [turn for turn in range(kind.turns) if turn not in order]
                    order.append(min(left, key=lambda turn: balance.weigh(kind, turn)))
                units.turns[unit] = order[place]
                balance.add(kind, order[place])
            counts[rank] += len(members)


def _count_turns(size: int, *, is_group: bool = False) -> int:
    """Count the rotations, and the mirrored ones; of two outputs these are the same."""
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


def _draw_times(units: _Units, sublayers: Sequence[Sublayer], draw: Random) -> None:
    """Draw a random time for each unit, by which those of its kind and turn follow one another.

    In a cluster the times are in the order of the file: a person who is dealt one set after
    another meets the turns of a conversation in their order, but for close ones, for what was
    given back, and for what stands before the place at which they began.
    """
    for cells in sublayers:
        clusters: dict[int, list[int]] = defaultdict(list)
        for members in cells.values():
            for unit in members:
                units.times[unit] = draw.random()
                if cluster := units.cluster_of(unit):
                    clusters[cluster].append(unit)
        for turns in clusters.values():
            times = sorted(units.times[unit] for unit in turns)
            turns.sort(key=lambda unit: min(item_id for item_id, _ in units.list_items(unit)))
            for unit, time in zip(turns, times, strict=True):
                units.times[unit] = time


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

    def __init__(self, units: _Units, members: Sequence[int], no: int) -> None:
        self.kind = units.kind_of(members[0])
        self.stacks = [array("l") for _ in range(self.kind.turns)]
        turns = self.kind.turns_in(no)
        for unit in members:
            self.stacks[turns[units.turns[unit]]].append(unit)
        for turn, stack in enumerate(self.stacks):
            last_first = sorted(stack, key=units.times.__getitem__, reverse=True)
            self.stacks[turn] = array("l", last_first)
        self.round: list[int] = []
        self.taken = 0

    def take(self, balance: _Balance) -> tuple[int, int]:
        """Return the next unit, and the turn in which it is shown."""
        place = self.taken % len(self.stacks)
        if place == len(self.round):
            self.round.append(self._choose(balance))
        turn = self.round[place]
        self.taken += 1
        balance.add(self.kind, turn)
        return self.stacks[turn].pop(), turn

    def _choose(self, balance: _Balance) -> int:
        """Return the turn, of those not in the round yet, that shows what was shown least.

        Turns that have a unit more than others go first, so that no round breaks off.
        """
        left = [turn for turn in range(len(self.stacks)) if turn not in self.round]
        most = max(len(self.stacks[turn]) for turn in left)
        fullest = [turn for turn in left if len(self.stacks[turn]) == most]
        return min(fullest, key=lambda turn: balance.weigh(self.kind, turn))


def _line_up(units: _Units, cells: Sublayer, no: int, balance: _Balance) -> Iterator[Place]:
    """Yield the places of a sublayer: kinds alternate in proportion, and in each kind the turns."""
    count = sum(map(len, cells.values()))
    if len(cells) > _MOST_KINDS and count < _FEWEST_UNITS * len(cells):
        yield from _mix(units, cells, no, balance)
        return
    # of equal times, that of the kind that comes next
    after = {rank: balance.find_turn(rank) for rank in cells}
    spread = merge(*(_space(len(members), after[rank]) for rank, members in cells.items()))
    by_kind = {rank: _Cell(units, members, no) for rank, members in cells.items()}
    for _, (_, rank) in spread:
        unit, turn = by_kind[rank].take(balance)
        yield _arrange_unit(units, unit, turn, no)


def _space(count: int, after: tuple[bool, int]) -> Iterator[tuple[float, tuple[bool, int]]]:
    """Yield the times of so many units of a kind, evenly from 0 to 2."""
    for number in range(count):
        yield (2 * number + 1) / count, after


def _mix(units: _Units, cells: Sublayer, no: int, balance: _Balance) -> Iterator[Place]:
    """Yield the places of a sublayer of many kinds, in a random order that keeps systems apart."""
    turns = {rank: units.kinds[rank].turns_in(no) for rank in cells}
    ordered = sorted(chain.from_iterable(cells.values()), key=units.times.__getitem__)
    shown = [(unit, turns[units.ranks[unit]][units.turns[unit]]) for unit in ordered]

    def labels_of(shown: tuple[int, int]) -> Iterator[object]:
        for mark in units.kind_of(shown[0]).marks[shown[1]]:
            yield from (mark, mark[0])

    for unit, turn in _keep_apart(shown, labels_of):
        balance.add(units.kind_of(unit), turn)
        yield _arrange_unit(units, unit, turn, no)


# --- arrangements ---------------------------------------------------------------------


def _arrange_unit(units: _Units, unit: int, turn: int, no: int) -> Place:
    """Return the items of a unit with the arrangement of each in this layer."""
    items = units.list_items(unit)
    if units.is_given:
        return [
            (item_id, join_arrangement(len(systems), place, 0))
            for place, (item_id, systems) in enumerate(sorted(items))
        ]
    if len(items) == 1:
        ((item_id, systems),) = items
        return [(item_id, _arrangement(systems, turn))]
    place_items: Place = []
    for place, number in enumerate(_order_in(len(items), turn)):
        item_id, systems = items[number]
        outputs = max(1, len(systems))
        turns = _count_turns(outputs)
        # items of a group turn one against another
        item_turn = _turn_in((units.laps[unit] + number) % turns, no, outputs, turns)
        arrangement = _arrangement(systems, item_turn)
        place_items.append((item_id, join_arrangement(outputs, place, arrangement)))
    return place_items


@cache
def _arrangement(systems: tuple[int, ...], turn: int) -> int:
    """Return the number of the order in which this turn shows these outputs of the file."""
    size = len(systems)
    if size > _MOST_ORDERED or size < 2:
        return turn if size else 0
    by_system = sorted(range(size), key=lambda position: (systems[position], position))
    return find_arrangement([by_system[number] for number in _order_in(size, turn)])


def join_arrangement(outputs: int, place: int, order: int) -> int:
    """Return one number for an item's place in its group and the order of its outputs."""
    orders = count_orders(outputs)
    return min(place, _LARGEST_NUMBER // orders - 1) * orders + order


def place_in_group(outputs: int, arrangement: int) -> int:
    """Return an item's position in its group, from 0, in a slot of this arrangement."""
    return arrangement // count_orders(outputs)
