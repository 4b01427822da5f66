"""Whether the order of rows tells which system comes next."""

from collections import Counter, deque
from collections.abc import Iterator

from evalsite.imports.batches.items import CheckedItem
from evalsite.imports.batches.preflight.check import Check, Context
from evalsite.imports.tables.faults import Remark
from evalsite.studies.models import Study

_FEWEST_IN_ORDER = 20  # of fewer items an order shows little
_FACTOR = 3  # so many times fewer runs than by chance
_NEARLY_ALL = 0.95


class RowOrder(Check):
    """Whether the order of items of one output each tells which system comes next.

    Counted are stretches: what one system says in a conversation is one, whose turns belong
    together.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        study, systems = context.study, len(context.systems)
        # a group that stays together is shuffled, whatever the order of the rest
        self._is_met_in_order = (
            study.item_order == Study.ItemOrder.UPLOADED and study.groups != Study.Groups.TOGETHER
        )
        self._counts: Counter[str] = Counter()
        self._runs = 0
        # stretches of the same system as that one which is as far back as there are systems
        self._repeated = 0
        self._last: deque[str] = deque(maxlen=max(systems, 1))
        self._stretch = ("", "")

    @classmethod
    def is_wanted(cls, context: Context) -> bool:
        # of several outputs in an item each participant meets another order
        return context.is_single

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

    def list_warnings(self) -> Iterator[Remark]:
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
