"""Which systems each group of items has outputs of."""

from array import array
from collections.abc import Iterator

from evalsite.imports.batches.items import CheckedItem, is_made_group
from evalsite.imports.batches.preflight.check import Check, Context
from evalsite.imports.tables.faults import PLACES, Remark, name_place
from evalsite.studies.models import Item

_MOST_SYSTEMS = 100  # with more of them the column is probably not one of systems


class Coverage(Check):
    """Groups that lack a system which others have."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._systems = sorted(context.systems)
        self._bits = {name: 1 << number for number, name in enumerate(self._systems)}
        # of each group, by its place: which systems it has, and where it begins
        self._places: dict[str, int] = {}
        self._held: list[int] = []
        self._lines, self._records = array("L"), array("L")

    def add(self, item: CheckedItem) -> None:
        place = self._places.setdefault(item.group, len(self._places))
        if place == len(self._held):
            self._held.append(0)
            self._lines.append(item.line)
            self._records.append(item.record)
        for output in item.outputs:
            self._held[place] |= self._bits[output.system]

    def list_warnings(self) -> Iterator[Remark]:
        if len(self._systems) > 1 and all(held.bit_count() == 1 for held in self._held):
            yield Remark(
                "systems_missing",
                f"No inputs have outputs of two systems: the {len(self._systems)} systems can "
                "be compared only across different inputs",
            )
            return
        names = list(self._places)
        for name in self._systems[:_MOST_SYSTEMS]:
            bit = self._bits[name]
            without = [place for place, held in enumerate(self._held) if not held & bit]
            if without:
                message = f"Groups without an output of system “{name}”"
                first = [self._name(names[place], place) for place in without[:PLACES]]
                yield Remark("systems_missing", message, len(without), first)

    def _name(self, group: str, place: int) -> str:
        """What the file calls the group; where it has no name, the place of its first item."""
        if is_made_group(group):
            return name_place(self._lines[place], self._records[place])
        return group


# dealt between the others, if the study asks for that
_CHECKS = {str(Item.Kind.GOLD), str(Item.Kind.ATTENTION)}


class ItemKinds(Check):
    """Checks and gold items, which come only if the study asks for them."""

    def add(self, item: CheckedItem) -> None:
        if item.kind not in _CHECKS:
            return
        every = self.context.study.check_every
        what = (
            f"come as checks, one after every {every} items of a set, and never count"
            if every
            else "nobody gets while the settings ask for no checks"
        )
        message = f"Items of kind {item.kind}, which {what}"
        self.remarks.add("checks", message, item.line, item.record, self.context.kind_column)
