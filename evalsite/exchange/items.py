"""Rows put together to items, and checked against their protocol and their study."""

from django.conf import settings

from evalsite.exchange.faults import Fault, name_place
from evalsite.exchange.making import CHECKS, DraftItem, DraftOutput, ItemMaker
from evalsite.exchange.mapping import Plan
from evalsite.exchange.names import (
    Names,
    check_id,
    check_system,
    find_known,
    find_last_row_number,
)
from evalsite.exchange.pairs import count_pairs, describe_pairs
from evalsite.exchange.reading import Row
from evalsite.exchange.remarks import Remarks, SystemNames, find_equal_outputs, find_missing_systems
from evalsite.exchange.rows import OutputCells, RowValues, check_cells, split_row
from evalsite.exchange.values import CheckedItem, is_made_group
from evalsite.fields import WHOLE_NUMBER
from evalsite.protocol import InputColumn
from evalsite.studies.models import Item, Study

_KINDS = (Item.Kind.MAIN, Item.Kind.GOLD, Item.Kind.ATTENTION, Item.Kind.PRACTICE)
_MOST_OUTPUTS = 500  # with more of them the column of items is probably another one
_FLAG = {"": False, "no": False, "yes": True}


class ItemChecker:
    """Takes rows one by one; then gives the items, all faults, and what to look at."""

    def __init__(self, study: Study, header: list[str], plan: Plan) -> None:
        self.config = study.config
        self.is_launched = study.is_launched
        self.header = header
        self.plan = plan
        self._checks = (
            f"come as checks, one after every {study.check_every} items of a set, and never count"
            if study.check_every
            else "nobody gets while the settings ask for no checks"
        )
        self.faults: list[Fault] = []
        self.remarks = Remarks()
        self.rows = 0
        self._keys, systems = find_known(study)
        self._last_row = find_last_row_number(self._keys)
        self._items: dict[str, DraftItem] = {}
        self._spoiled: set[str] = set()
        self._key_names = Names(self._keys)
        self._system_names = Names(systems)
        self._checked_systems: dict[str, bool] = {}
        self._group_names = {"group": Names(), "cluster": Names()}
        self._maker = ItemMaker(
            self.config,
            taken=self._keys,
            drafts=self._items,
            name_column=self._column,
            tell=self.faults.append,
        )
        self.is_single = self._maker.is_single

    # rows

    def add(self, row: Row) -> None:
        """The row belongs to its item, or its faults are known."""
        self.rows += 1
        faults = check_cells(row, self.header)
        if faults:
            self.faults += faults
            if self.plan.item is not None and self.plan.item < len(row.cells):
                self._spoiled.add(row.cells[self.plan.item])
            return
        values = split_row(row, self.plan, self.header)
        key = values.item
        if key is None:
            key = f"row-{self._last_row + values.record:04}"
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = self._start(key, values)
        elif self.plan.is_wide:
            message = f"Item “{key}” stands in line {item.line} already. Remove one of the two."
            self._fault(message, values, self._item_column)
            return
        else:
            self._compare(item, values)
        for cells in values.outputs:
            self._add_output(item, cells, values)

    def _start(self, key: str, values: RowValues) -> DraftItem:
        item = DraftItem(key, values.line, values.record, values.shared)
        if problem := self._find_key_problem(key, values.line):
            item.is_short = True
            self._fault(problem, values, self._item_column)
        self._check_inputs(values)
        self._check_groups(values)
        if not self.is_single:
            self._check_kind(values)
        return item

    def _find_key_problem(self, key: str, line: int) -> str:
        if problem := check_id(key):
            return problem
        if key in self._keys:
            return (
                f"Item “{key}” is in the study already, from an earlier file. "
                "Remove it here, or give it another id."
            )
        problem, other = self._key_names.meet(key, line)
        if problem:
            self._spoiled.add(other)
        return problem

    def _compare(self, item: DraftItem, values: RowValues) -> None:
        """What belongs to the item as a whole is the same in all of its rows."""
        for name, text in values.shared.items():
            if text == item.shared[name] or (self.is_single and self._is_own(name)):
                continue
            message = (
                f"Item “{item.key}” has another value here than in line {item.line}. "
                "All rows of an item must agree."
            )
            self._fault(message, values, self._column(name))

    def _is_own(self, name: str) -> bool:
        """Whether a field may differ between rows under one id that are items of their own."""
        return name == "kind" or name.startswith("gold_")

    # parts of a row

    def _check_inputs(self, values: RowValues) -> None:
        filled = {name for name, text in values.shared.items() if text.strip()}
        for column in self.config.inputs:
            name = self._column(column.name)
            if column.name not in filled:
                if problem := self._find_gap(column, filled):
                    self._fault(problem, values, name)
                continue
            text = values.shared[column.name]
            if column.kind == "whole number" and not WHOLE_NUMBER.fullmatch(text):
                message = f"“{text[:20]}” must be a whole number from 1 to 999999, in plain digits."
                self._fault(message, values, name)
            self.remarks.check_text(text, values.line, values.record, name)

    def _find_gap(self, column: InputColumn, filled: set[str]) -> str:
        """What is wrong with leaving this column empty, as a sentence; "" if it may be."""
        if column.is_required:
            return "The cell is empty, but the protocol shows this text. Fill it in."
        partners = [
            other.name
            for other in self.config.inputs
            if column.together and other.together == column.together and other.name in filled
        ]
        if not partners:
            return ""
        return (
            f"The cell is empty, but {partners[0]} is filled. "
            "These columns go together: fill all of them, or none."
        )

    def _check_groups(self, values: RowValues) -> None:
        for name, names in self._group_names.items():
            text = values.shared.get(name, "")
            if not text:
                continue
            problem = check_id(text) or names.meet(text, values.line)[0]
            if problem:
                self._fault(problem, values, self._column(name))

    def _check_kind(self, values: RowValues) -> None:
        text = values.shared.get("kind", "")
        if text and text not in _KINDS:
            message = f"“{text[:40]}” is not a kind of item. Use {', '.join(_KINDS)}."
            self._fault(message, values, self._column("kind"))
        if text == Item.Kind.PRACTICE and self.is_launched:
            message = (
                "The study is launched, so its practice stays as it is. Leave this row out, or "
                "give it another kind."
            )
            self._fault(message, values, self._column("kind"))

    def _add_output(self, item: DraftItem, cells: OutputCells, values: RowValues) -> None:
        """The output belongs to the item, unless something about it is wrong."""
        if self.is_single:
            self._check_kind(values)
        self._check_text(cells, values)
        if problem := self._check_system(cells.system, values.line):
            self._fault(problem, values, cells.system_column)
            item.is_short = True
            return
        if len(item.outputs) == _MOST_OUTPUTS:
            if not item.is_short:
                message = (
                    f"Item “{item.key}” has more than {_MOST_OUTPUTS} outputs. Map the column "
                    "that tells items apart to “item”."
                )
                self._fault(message, values, self._item_column)
            item.is_short = True
            return
        twin = next((one for one in item.outputs if one.system == cells.system), None)
        if twin:
            message = (
                f"Item “{item.key}” has two outputs of system “{cells.system}”, "
                f"here and in line {twin.line}. Remove one."
            )
            self._fault(message, values, cells.system_column)
            item.is_short = True
            return
        # equal to the item's own unless rows are items of their own; one copy saves memory
        shared = values.shared if self.is_single else item.shared
        item.outputs.append(
            DraftOutput(
                system=cells.system,
                text=cells.text,
                line=values.line,
                record=values.record,
                shared=shared,
                extra=values.extra,
                pair=cells.pair,
            )
        )

    def _check_text(self, cells: OutputCells, values: RowValues) -> None:
        flag = _FLAG.get(cells.is_empty)
        if flag is None:
            message = f"“{cells.is_empty[:20]}” must be yes, no or nothing."
            self._fault(message, values, cells.flag_column)
        elif flag and cells.text:
            message = "The output is marked as empty, but holds a text. Correct one of the two."
            self._fault(message, values, cells.text_column)
        elif not flag and not cells.text.strip():
            message = (
                "The output is empty. If the system gave nothing, say so: add a column "
                "output_is_empty with yes in this row."
            )
            self._fault(message, values, cells.text_column)
        else:
            self.remarks.check_text(cells.text, values.line, values.record, cells.text_column)

    def _check_system(self, name: str, line: int) -> str:
        if self._checked_systems.get(name):
            return ""
        problem = check_system(name) or self._system_names.meet(name, line)[0]
        self._checked_systems[name] = not problem
        return problem

    # whole items

    def finish(self) -> list[CheckedItem]:
        """All rows are read: what only whole items show is checked, and the items are made."""
        for item in self._items.values():
            if not item.is_short and item.key not in self._spoiled:
                self._maker.check(item)
        if not self.faults and self._maker.is_paired:
            self._look_at_pairs()
        if self.faults:
            return []
        items: list[CheckedItem] = []
        for item in self._items.values():
            items += self._maker.make(item)
            item.forget()
        if not self.faults:
            self._look_at(items)
        return items if not self.faults else []

    def _look_at_pairs(self) -> None:
        """No more pairs are made than a file can list, two rows for each; how many is told."""
        several = [item.outputs for item in self._items.values() if len(item.outputs) > 2]
        made, most = sum(map(count_pairs, several)), settings.UPLOAD_MAX_ROWS // 2
        if made > most:
            message = (
                f"The outputs make {made:,} pairs; at most {most:,} are taken from one file. Split "
                "it, or say in a column “pair” which are wanted."
            )
            self.faults.append(Fault(message))
            return
        for sentence in describe_pairs(several):
            self.remarks.tell(sentence)

    def _look_at(self, items: list[CheckedItem]) -> None:
        systems = SystemNames(output.system for item in items for output in item.outputs)
        for item in items:
            texts = [output.text for output in item.outputs]
            self.remarks.check_identical(texts, item.line, item.record)
            if any(systems.stand_in(text) for text in (*texts, *item.inputs.values())):
                message = "Items whose texts name a system, which tells participants what they rate"
                self.remarks.add(message, item.line, item.record)
            if item.kind in CHECKS:
                message = f"Items of kind {item.kind}, which {self._checks}"
                self.remarks.add(message, item.line, item.record, self._column("kind"))
        if self.is_single:
            self.remarks.extend(
                find_equal_outputs((item.group, item.outputs[0].text) for item in items)
            )
        self.remarks.extend(
            find_missing_systems(
                (item.group, _name_group(item), [output.system for output in item.outputs])
                for item in items
            )
        )

    # telling

    def _column(self, name: str) -> str:
        """The file's own name of the column that a field stands in."""
        number = self.plan.shared.get(name)
        return name if number is None else self.header[number]

    @property
    def _item_column(self) -> str:
        return "" if self.plan.item is None else self.header[self.plan.item]

    def _fault(self, message: str, place: RowValues, column: str = "") -> None:
        self.faults.append(Fault(message, column=column, line=place.line, record=place.record))


def _name_group(item: CheckedItem) -> str:
    """What the file calls the item's group; where it has no name, the place of its first item."""
    return name_place(item.line, item.record) if is_made_group(item.group) else item.group
