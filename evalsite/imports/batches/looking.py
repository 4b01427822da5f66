"""What a researcher should look at before importing, of items and of the whole file.

Items are looked at one by one. What is remembered of each are a few numbers, never its texts.
"""

import re
from array import array
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence

from evalsite.imports.batches.manners import Manners
from evalsite.imports.batches.turns import Turns
from evalsite.imports.batches.values import CheckedItem, is_made_group
from evalsite.imports.tables.faults import PLACES, Remark, Remarks, name_place
from evalsite.studies.models import Item

# dealt between the others, if the study asks for that
_CHECKS = {str(Item.Kind.GOLD), str(Item.Kind.ATTENTION)}
_MOST_SYSTEMS = 100  # with more of them the column is probably not one of systems
_FEWEST_IN_ORDER = 20  # of fewer items an order shows little
_FACTOR = 3  # so many times fewer runs than by chance
_NEARLY_ALL = 0.95


class Looker:
    """Looks at the items of a file; what is odd about them is remarked on."""

    def __init__(
        self,
        remarks: Remarks,
        *,
        systems: Sequence[str],
        is_single: bool,
        checks: str,
        kind_column: str,
        is_met_in_order: bool,
        dialogues: Sequence[str] = (),
    ) -> None:
        self.remarks = remarks
        self._is_single = is_single
        self._checks = checks
        self._kind_column = kind_column
        self._names = SystemNames(systems)
        self._groups = Groups(systems)
        self._twins = Twins()
        self._manners = Manners()
        self._turns = Turns(dialogues)
        # of several outputs in an item each participant meets another order
        self._order = Order(len(systems), is_met_in_order) if is_single else None
        self._equal: dict[str, None] = {}
        self._met: set[int] = set()

    def look_at(self, item: CheckedItem) -> None:
        if self._is_single:
            self._look_for_equals(item)
        elif len({output.text for output in item.outputs}) < len(item.outputs):
            message = "Items in which two systems gave the same text"
            self.remarks.add("same_outputs", message, item.line, item.record)
        if self._names.stand_in(item):
            message = "Items whose texts name a system, which tells participants what they rate"
            self.remarks.add("system_named", message, item.line, item.record)
        if item.kind in _CHECKS:
            message = f"Items of kind {item.kind}, which {self._checks}"
            self.remarks.add("checks", message, item.line, item.record, self._kind_column)
        self._groups.add(item)
        self._twins.add(item, self.remarks)
        self._manners.add(item)
        self._turns.add(item, self.remarks)
        if self._order is not None:
            self._order.add(item)

    def _look_for_equals(self, item: CheckedItem) -> None:
        """Several systems gave the same text in a group, each output being an item of its own."""
        mark = hash((item.group, item.outputs[0].text))
        if mark in self._met:
            self._equal[item.group] = None
        self._met.add(mark)

    def tell(self, items: Sequence[CheckedItem]) -> None:
        """All items were seen: what only the whole file shows is remarked on."""
        if self._equal:
            message = "Groups in which two systems gave the same text"
            self.remarks.extend(
                [Remark("same_outputs", message, len(self._equal), [*self._equal][:PLACES])]
            )
        self.remarks.extend(self._groups.find_missing(items))
        self.remarks.extend(self._manners.tell())
        if self._order is not None:
            self.remarks.extend(self._order.tell())


class SystemNames:
    """Finds the names of systems in texts, which would tell participants what they rate."""

    def __init__(self, names: Iterable[str]) -> None:
        # a name of one or two letters stands in any text by chance
        told = sorted((name for name in names if len(name) > 2), key=len, reverse=True)
        told = told if len(told) <= _MOST_SYSTEMS else []
        pattern = "|".join(re.escape(name) for name in told)
        self._pattern = re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.I) if told else None
        self._low = [name.lower() for name in told]
        self._inputs: dict[str, str] = {}
        self._are_named = False

    def stand_in(self, item: CheckedItem) -> bool:
        if self._pattern is None:
            return False
        if item.inputs != self._inputs:
            # the items of a group have the same
            self._inputs = item.inputs
            # no name goes over the end of a line, so several texts are searched at once
            self._are_named = self._stand_in("\n".join(item.inputs.values()))
        if self._are_named:
            return True
        return self._stand_in("\n".join([output.text for output in item.outputs]))

    def _stand_in(self, text: str) -> bool:
        if text.isascii():
            # much cheaper than the pattern, and of most texts enough
            low = text.lower()
            for name in self._low:
                if name in low:
                    break
            else:
                return False
        return self._pattern is not None and self._pattern.search(text) is not None


class Groups:
    """Which systems each group has outputs of."""

    def __init__(self, systems: Sequence[str]) -> None:
        self._systems = sorted(systems)
        self._bits = {name: 1 << number for number, name in enumerate(self._systems)}
        self._places: dict[str, int] = {}
        self._held: list[int] = []
        self._first = array("L")
        self._count = 0

    def add(self, item: CheckedItem) -> None:
        place = self._places.setdefault(item.group, len(self._places))
        if place == len(self._held):
            self._held.append(0)
            self._first.append(self._count)
        for output in item.outputs:
            self._held[place] |= self._bits[output.system]
        self._count += 1

    def find_missing(self, items: Sequence[CheckedItem]) -> list[Remark]:
        """Each system that is missing from some groups, with the first groups it misses in."""
        if len(self._systems) > 1 and all(held.bit_count() == 1 for held in self._held):
            return [
                Remark(
                    "systems_missing",
                    f"No inputs have outputs of two systems: the {len(self._systems)} systems can "
                    "be compared only across different inputs",
                )
            ]
        found = []
        for name in self._systems[:_MOST_SYSTEMS]:
            bit = self._bits[name]
            without = [place for place, held in enumerate(self._held) if not held & bit]
            if without:
                message = f"Groups without an output of system “{name}”"
                first = [_name_group(items[self._first[place]]) for place in without[:PLACES]]
                found.append(Remark("systems_missing", message, len(without), first))
        return found


class Twins:
    """Finds items that stand twice in a file by mistake, from a number for each."""

    def __init__(self) -> None:
        self._items: set[int] = set()

    def add(self, item: CheckedItem, remarks: Remarks) -> None:
        outputs = frozenset([(output.system, output.text) for output in item.outputs])
        mark = hash((*item.inputs.values(), outputs))
        if mark in self._items:
            message = (
                "Items with the same inputs and the same outputs as an earlier one, so that "
                "people would rate them twice"
            )
            remarks.add("twin_items", message, item.line, item.record)
        self._items.add(mark)


class Order:
    """Whether the order of items of one output each tells which system comes next.

    Counted are stretches: what one system says in a conversation is one, whose turns belong
    together.
    """

    def __init__(self, systems: int, is_met_in_order: bool) -> None:
        self._is_met_in_order = is_met_in_order
        self._counts: Counter[str] = Counter()
        self._runs = 0
        # stretches of the same system as that one which is as far back as there are systems
        self._repeated = 0
        self._last: deque[str] = deque(maxlen=max(systems, 1))
        self._stretch = ("", "")

    def add(self, item: CheckedItem) -> None:
        if item.kind != "main":
            return
        system = item.outputs[0].system
        if item.cluster and self._stretch == (item.cluster, system):
            return
        self._stretch = (item.cluster, system)
        self._counts[system] += 1
        self._runs += not self._last or self._last[-1] != system
        self._repeated += len(self._last) == self._last.maxlen and self._last[0] == system
        self._last.append(system)

    def tell(self) -> Iterator[Remark]:
        found = self._counts.total()
        if len(self._counts) < 2 or found < _FEWEST_IN_ORDER:
            return
        by_chance = 1 + found - sum(count**2 for count in self._counts.values()) / found
        compared = found - len(self._counts)
        if self._runs * _FACTOR <= by_chance:
            yield Remark(
                "sorted_by_system",
                f"The file is sorted by system: its items form {self._runs:,} runs of one system, "
                f"where chance would make about {by_chance:,.0f}. "
                f"{self._advise('after the other')}",
            )
        elif self._is_met_in_order and self._repeated >= _NEARLY_ALL * compared:
            yield Remark(
                "systems_take_turns",
                f"The {len(self._counts)} systems take turns in the file, always in the same "
                f"order. {self._advise('after the other, in turn')}",
            )

    def _advise(self, how: str) -> str:
        order, verb = "With the item order “as uploaded”", "would meet"
        if self._is_met_in_order:
            order, verb = "The study’s item order is “as uploaded”:", "meet"
        return (
            f"{order} participants {verb} one system {how}, and may come to know them by it. Let "
            "items come in random order, or mix the rows"
        )


def _name_group(item: CheckedItem) -> str:
    """What the file calls the item's group; where it has no name, the place of its first item."""
    return name_place(item.line, item.record) if is_made_group(item.group) else item.group
