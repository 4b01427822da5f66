"""Texts and items that occur twice."""

from collections.abc import Iterator

from evalsite.imports.batches.items import CheckedItem
from evalsite.imports.batches.preflight.check import Check, Context
from evalsite.imports.tables.faults import PLACES, Remark


class SameOutputs(Check):
    """Two systems gave the same text: in an item, or in a group of items of one output each."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._groups: dict[str, None] = {}
        self._met: set[int] = set()

    def add(self, item: CheckedItem) -> None:
        if self.context.is_single:
            mark = hash((item.group, item.outputs[0].text))
            if mark in self._met:
                self._groups[item.group] = None
            self._met.add(mark)
        elif len({output.text for output in item.outputs}) < len(item.outputs):
            message = "Items in which two systems gave the same text"
            self.remarks.add("same_outputs", message, item.line, item.record)

    def list_warnings(self) -> Iterator[Remark]:
        if self._groups:
            message = "Groups in which two systems gave the same text"
            yield Remark("same_outputs", message, len(self._groups), [*self._groups][:PLACES])


class TwinItems(Check):
    """Items that occur twice in a file by mistake, told by a number for each."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._items: set[int] = set()

    def add(self, item: CheckedItem) -> None:
        outputs = frozenset([(output.system, output.text) for output in item.outputs])
        mark = hash((*item.inputs.values(), outputs))
        if mark in self._items:
            message = (
                "Items with the same inputs and the same outputs as an earlier one, so that "
                "people would rate them twice"
            )
            self.remarks.add("twin_items", message, item.line, item.record)
        self._items.add(mark)
