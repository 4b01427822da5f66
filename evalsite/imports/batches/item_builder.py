"""Rows put together to items, and checked against their protocol and their study."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings

from evalsite.data.tables.faults import Fault, Remarks, find_difference
from evalsite.data.tables.mapping import SYSTEM_NAMES
from evalsite.data.tables.paths import MISSING
from evalsite.data.tables.table import Row
from evalsite.fields import WHOLE_NUMBER
from evalsite.imports.batches.choices import (
    Clusters,
    EmptyOutputs,
    FaultyRows,
    Repeats,
)
from evalsite.imports.batches.earlier import EarlierInputs
from evalsite.imports.batches.item_maker import (
    ItemMaker,
    MadeRows,
    OutputCells,
    RowValues,
    Splitter,
)
from evalsite.imports.batches.items import CheckedItem, DraftItem, DraftOutput, Drafts, Items
from evalsite.imports.batches.joins import Join, Joins
from evalsite.imports.batches.mapping import Plan
from evalsite.imports.batches.names import (
    SOURCE_ID,
    Names,
    ShortIds,
    check_id,
    find_known,
    find_last_row_number,
)
from evalsite.imports.batches.pairs import PairCounts
from evalsite.imports.batches.preflight import Context, Preflight
from evalsite.imports.batches.texts import Texts
from evalsite.imports.columns import check_cells
from evalsite.imports.core import Decision
from evalsite.imports.system_names import check_system
from evalsite.imports.target import Target
from evalsite.instruments.schema import Column
from evalsite.studies.models import Item

_KINDS = (Item.Kind.MAIN, Item.Kind.GOLD, Item.Kind.ATTENTION, Item.Kind.PRACTICE)
_MOST_OUTPUTS = 500  # with more of them the column of items is probably another one
_FLAG = {"": False, "no": False, "yes": True}


class ItemBuilder:
    """Takes rows one by one; then gives the items, all faults, and what to look at."""

    def __init__(
        self,
        target: Target,
        header: list[str],
        plan: Plan,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.study = target.study
        self.repeats = Repeats(options or {})
        self.faulty = FaultyRows(options or {})
        self.clusters = Clusters(options or {})
        self.config = target.instrument
        self.is_launched = target.study.is_launched
        self.header = header
        self.plan = plan
        self._splitter = Splitter(
            plan,
            header,
            names=(options or {}).get(SYSTEM_NAMES, {}),
        )
        self._made = MadeRows(header)
        self.faults: list[Fault] = []
        self.remarks = Remarks()
        self.rows = 0
        self.left_out = 0
        self._keys, systems = find_known(target)
        self._last_row = find_last_row_number(self._keys)
        self._earlier = EarlierInputs(target.study, self.config, systems)
        self.empty = EmptyOutputs(options or {}, self._earlier.digest)
        self._ids = ShortIds(self._keys, self._earlier.by_id)
        self.texts = Texts(self.config, options or {}, ids=_list_id_columns(plan))
        self._items = Drafts()
        self._spoiled: set[str] = set()
        self._key_names = Names(self._keys | self._earlier.by_id.keys())
        self._system_names = Names(systems)
        self._checked_systems: dict[str, bool] = {}
        self._group_names = {name: Names() for name in ("group", "cluster") if name in plan.shared}
        self._inputs = {one.name for one in self.config.columns}
        self._input_heads = [(one, self._column(one.name)) for one in self.config.columns]
        self._maker = ItemMaker(
            self.config,
            taken=self._keys,
            drafts=self._items,
            name_column=self._column,
            fields=plan.shared,
            tell=self.faults.append,
        )
        self.is_single = self._maker.is_single
        self._joins = Joins(self._earlier, options or {}, shows_several=not self.is_single)

    # rows

    def add(self, row: Row) -> None:
        """The row belongs to its item, or its faults are known."""
        self.rows += 1
        self.texts.clean(row)
        faults = check_cells(row, self.header)
        if faults:
            key = None
            if self.plan.item is not None and self.plan.item < len(row.cells):
                key = row.cells[self.plan.item]
                self._spoiled.add(key)
            for fault in faults:
                self._tell(fault, key)
            return
        values = self._splitter.split(row)
        if what := self._made.describe(row, values):
            self.left_out += 1
            self.remarks.add("made_rows_left_out", what, row.line, row.record)
        else:
            self._take(values)

    def _take(self, values: RowValues) -> None:
        """Add the row's outputs to its item, which may begin with this row."""
        key = values.item
        if key is None:
            key = self._name_item(values)
        elif key not in self._items or self._ids.is_short(key):
            key = self._ids.get(key)
        if key != values.item and values.item is not None:
            values.extra = {**values.extra, SOURCE_ID: values.item}
            values.item = key
        self.texts.settle(values, key)
        item = self._items.get(key)
        if item is None:
            item = self._start(key, values)
            self._items.begin(item)
        elif self.plan.is_wide:
            if self._repeats_wide(item, values):
                return
            message = f"Item “{key}” is in line {item.line} already. Remove one of the two."
            self._fault("item_repeated", message, values, self._item_column)
            return
        else:
            self._compare(item, values)
            if values.shared == item.shared:
                values.shared = item.shared  # one copy saves memory
        for cells in values.outputs:
            self._add_output(item, cells, values)

    def _repeats_wide(self, item: DraftItem, values: RowValues) -> bool:
        """Whether the row says the same of its item once more; then it counts as a repeat."""
        given = {(output.system, output.text) for output in item.outputs}
        same = values.shared == item.shared and given == {
            (cells.system, cells.text) for cells in values.outputs
        }
        if same and item.outputs:
            self._repeat(item.key, values, item.outputs[0].extra)
        return same and bool(item.outputs)

    def _repeat(self, key: str, values: RowValues, extra: Mapping[str, str]) -> None:
        names = dict.fromkeys([*extra, *values.extra])
        differing = [one for one in names if extra.get(one, "") != values.extra.get(one, "")]
        self.repeats.add(key, (values.line, values.record), differing)

    def _start(self, key: str, values: RowValues) -> DraftItem:
        item = DraftItem(key, values.line, values.record, values.shared)
        source = values.extra.get(SOURCE_ID, key)
        code, problem = self._find_key_problem(key, source, values.line)
        if problem:
            item.is_short = True
            self._fault(code, problem, values, self._item_column)
        self._check_inputs(values)
        self._check_groups(values)
        if not self.is_single:
            self._check_kind(values)
        return item

    def _find_key_problem(self, key: str, source: str, line: int) -> tuple[str, str]:
        """Return the code of what is wrong with this id, and the sentence; "" if it may be used."""
        if key is MISSING:
            return "json_number", "The id is NaN, which is no id. Give one in every row."
        if key in self._earlier.by_id:
            return "", ""  # it may join the input of this id
        if problem := check_id(key):
            return "id_invalid", problem
        if key in self._keys:
            return "id_taken", (
                f"Item “{key}” is in the study already, from an earlier file. "
                "Remove it here, or give it another id."
            )
        problem, other = self._key_names.meet(source, line)
        if problem:
            self._spoiled |= {key, self._ids.get(other)}
            self.faulty.keys.add(self._ids.get(other))
        return "id_confusable", problem

    def _compare(self, item: DraftItem, values: RowValues) -> None:
        """Check that what belongs to the whole item is the same in all of its rows."""
        for name, text in values.shared.items():
            if text == item.shared[name] or (self.is_single and self._is_own(name)):
                continue
            message = (
                f"Item “{item.key}” has another value here than in line {item.line}. "
                "All rows of an item must agree."
            )
            if name in self._inputs:
                part, earlier = find_difference(text, item.shared[name])
                message = (
                    f"“{item.key}” has another input in line {values.line} (“{part}”) than in "
                    f"line {item.line} (“{earlier}”). Outputs that are compared need one input."
                )
            self._fault("item_differs", message, values, self._column(name))

    def _is_own(self, name: str) -> bool:
        """Return whether a field may differ between rows under one id that are separate items."""
        own = {one.name for one in self.config.columns if one.is_of_output}
        return name == "kind" or name.startswith("gold_") or name in own

    # parts of a row

    def _check_inputs(self, values: RowValues) -> None:
        for column, name in self._input_heads:
            text = values.shared.get(column.name, "")
            if not text.strip():
                if problem := self._find_gap(column, values):
                    code = "cell_empty" if column.required else "columns_together"
                    self._fault(code, problem, values, name)
                continue
            if column.kind == "whole number" and not WHOLE_NUMBER.fullmatch(text):
                message = f"“{text[:20]}” must be a whole number from 1 to 999999, in plain digits."
                self._fault("not_whole_number", message, values, name)
            self.remarks.check_text(text, values.line, values.record, name)

    def _find_gap(self, column: Column, values: RowValues) -> str:
        """Return what is wrong with leaving this column empty, as a sentence; "" if it may be."""
        if column.required:
            return "The cell is empty, but the protocol shows this text. Fill it in."
        partners = [
            other.name
            for other in self.config.columns
            if column.together
            and other.together == column.together
            and values.shared.get(other.name, "").strip()
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
            if problem := check_id(text):
                self._fault("id_invalid", problem, values, self._column(name))
            elif problem := names.meet(text, values.line)[0]:
                self._fault("id_confusable", problem, values, self._column(name))

    def _check_kind(self, values: RowValues) -> None:
        text = values.shared.get("kind", "")
        if not text:
            return
        if text not in _KINDS:
            message = f"“{text[:40]}” is not a kind of item. Use {', '.join(_KINDS)}."
            self._fault("kind_unknown", message, values, self._column("kind"))
        if text == Item.Kind.PRACTICE and self.is_launched:
            message = (
                "The study is launched, so its practice can't change. Leave this row out, or "
                "give it another kind."
            )
            self._fault("practice_after_launch", message, values, self._column("kind"))

    def _add_output(self, item: DraftItem, cells: OutputCells, values: RowValues) -> None:
        """The output belongs to the item, unless something about it is wrong."""
        if self.is_single:
            self._check_kind(values)
        self._check_text(cells, values)
        if not cells.text and not cells.is_empty and self.empty.leaves_out(values, item):
            return
        if problem := self._check_system(cells.system, values.line):
            code = "system_invalid" if check_system(cells.system) else "system_confusable"
            self._fault(code, problem, values, cells.heads.system)
            item.is_short = True
            return
        if len(item.outputs) == _MOST_OUTPUTS:
            if not item.is_short:
                message = (
                    f"Item “{item.key}” has more than {_MOST_OUTPUTS} outputs. Map the column "
                    "that identifies items to “item”."
                )
                self._fault("too_many_outputs", message, values, self._item_column)
            item.is_short = True
            return
        # equal to the item's own, unless rows are separate items
        shared = values.shared if self.is_single else item.shared
        for one in item.outputs:
            if one.system == cells.system:
                if one.text == cells.text and one.pair == cells.pair and one.shared == shared:
                    self._repeat(item.key, values, one.extra)
                    return
                message = (
                    f"Item “{item.key}” has two outputs of system “{cells.system}”, "
                    f"here and in line {one.line}. Remove one."
                )
                self._fault("output_twice", message, values, cells.heads.system)
                item.is_short = True
                return
        item.outputs.append(
            DraftOutput(
                cells.system,
                cells.text,
                values.line,
                values.record,
                shared,
                values.extra,
                cells.pair,
            )
        )

    def _check_text(self, cells: OutputCells, values: RowValues) -> None:
        flag = _FLAG.get(cells.is_empty)
        if flag is None:
            message = f"“{cells.is_empty[:20]}” must be yes, no or nothing."
            self._fault("flag_invalid", message, values, cells.heads.flag)
        elif flag and cells.text:
            message = "The output is marked as empty, but holds a text. Correct one of the two."
            self._fault("flag_invalid", message, values, cells.heads.text)
        elif not flag and not cells.text.strip():
            source = values.extra.get(SOURCE_ID, values.item)
            failed = self.empty.add(cells.system, (values.line, values.record), source)
            cells.text = ""
            if not self.empty.answer:
                message = (
                    f"{failed} Leave out this input for every system, or show “(no output)” "
                    "(--empty-outputs leave-out or show)."
                    if failed
                    else "The output is empty. Fill it in. If the system gave nothing, have “(no "
                    "output)” shown instead (--empty-outputs show), or mark the row with yes in a "
                    "column output_is_empty."
                )
                self._fault("output_empty", message, values, cells.heads.text)
        else:
            self.remarks.check_text(cells.text, values.line, values.record, cells.heads.text)

    def _check_system(self, name: str, line: int) -> str:
        if self._checked_systems.get(name):
            return ""
        problem = check_system(name) or self._system_names.meet(name, line)[0]
        self._checked_systems[name] = not problem
        return problem

    # whole items

    def finish(self) -> Items:
        """Check what only whole items show, once all rows are read, and make the items."""
        self._settle_repeats()
        if self._maker.is_paired and not self._count_pairs():
            return Items()
        preflight = Preflight(
            Context(
                study=self.study,
                config=self.config,
                systems=[name for name, is_good in self._checked_systems.items() if is_good],
                kind_column=self._column("kind"),
                remarks=self.remarks,
            )
        )
        items = Items(self._make)
        for draft, join in self._go_through():
            if self._is_whole(draft, join):
                known = len(items)
                for made in self._maker.make(draft, join):
                    if not self.faults:
                        items.count(made)
                        preflight.add(made)
                if len(items) > known:
                    items.records += 1
                    items.of_systems.update([output.system for output in draft.outputs])
        if fault := self._joins.find_fault():
            self.faults.append(fault)
        self.faults += self.texts.find_faults()
        self.remarks.extend(self._ids.list_remarks())
        self.remarks.extend(self._joins.list_remarks())
        self._count_left_out()
        if self.faults:
            return Items()
        preflight.finish()
        if "cluster" not in self.plan.shared:
            self.clusters.find(items, self.plan.extra)
        return items

    def _settle_repeats(self) -> None:
        if fault := self.repeats.find_fault():
            self.faults.append(fault)
        if self.repeats.is_chosen:
            self._maker.dropped_columns = set(self.repeats.columns)

    def _go_through(self) -> Iterator[tuple[DraftItem, Join | None]]:
        systems = [name for name, is_good in self._checked_systems.items() if is_good]
        has_ids = self.plan.item is not None
        return self._joins.go_through(self._items, systems, has_ids=has_ids)

    def _is_whole(self, draft: DraftItem, join: Join | None) -> bool:
        """Return whether this item has no fault; report those it has."""
        if draft.key in self.faulty.keys:
            self.faulty.add_item(draft)
        if self._is_spoiled(draft):
            return False
        found = len(self.faults)
        for fault, name in self._joins.check(draft, join):
            self.faults.append(replace(fault, column=self._name_column(name)))
        if join is None or not join.is_known:
            self._maker.check(draft, join)
        return len(self.faults) == found

    @property
    def has_joined(self) -> bool:
        return self._joins.left_out > 0

    def count_items(self) -> int:
        return len(self._items)

    def count_systems(self) -> int:
        return sum(self._checked_systems.values())

    def list_decisions(self) -> list[Decision]:
        choices = (
            self.repeats, self.empty, self.faulty, self.clusters, self._joins, self.texts,
        )  # fmt: skip
        return [decision for choice in choices for decision in choice.list_decisions()]

    def list_notes(self) -> list[dict[str, Any]]:
        choices = (
            self.repeats, self.empty, self.faulty, self.clusters, self._joins, self.texts,
        )  # fmt: skip
        return [note for choice in choices for note in choice.list_notes()]

    def _make(self) -> Iterator[CheckedItem]:
        """The items once more, from their drafts: to keep them all would take too much room."""
        for draft, join in self._go_through():
            if not self._is_spoiled(draft):
                for item in self._maker.make(draft, join):
                    if not item.cluster:
                        item.cluster = self.clusters.name_cluster(item)
                    yield item

    def _is_spoiled(self, item: DraftItem) -> bool:
        """Return whether some of it was refused, which has been reported already."""
        return (
            item.is_short
            or item.key in self._spoiled
            or item.key in self.faulty.keys
            or self.empty.is_left_out(item)
            or not item.outputs
        )

    def _count_left_out(self) -> None:
        if self.repeats.is_chosen:
            self.left_out += self.repeats.rows
        if self.faulty.is_chosen:
            self.left_out += self.faulty.rows
        self.left_out += self._joins.left_out

    def _count_pairs(self) -> bool:
        """Return whether no more pairs would be made than a file can list, two rows for each."""
        counts, most = PairCounts(), settings.UPLOAD_MAX_ROWS // 2
        for item in self._items:
            if not self._is_spoiled(item):
                counts.add(item.outputs)
        if counts.made > most:
            message = (
                f"The outputs make {counts.made:,} pairs; at most {most:,} are taken from one "
                "file. Split it, or say in a column “pair” which are wanted."
            )
            self.faults.append(Fault("too_many_outputs", message))
            return False
        for sentence in counts.describe():
            self.remarks.tell("pairs_made", sentence)
        return True

    # telling

    def _column(self, name: str) -> str:
        """Return the file's name for the column that holds this field."""
        number = self.plan.shared.get(name)
        return name if number is None else self.header[number]

    @property
    def _item_column(self) -> str:
        return "" if self.plan.item is None else self.header[self.plan.item]

    def _name_column(self, name: str) -> str:
        """Return the file's name for a column of an item, also of its id and its only output."""
        if name == "item":
            return self._item_column
        if name == "output":
            return "" if self.plan.is_wide else self.header[self.plan.outputs[0].output]
        return self._column(name)

    def _fault(self, code: str, message: str, place: RowValues, column: str = "") -> None:
        fault = Fault(code, message, column=column, line=place.line, record=place.record)
        self._tell(fault, self._name_item(place))

    def _tell(self, fault: Fault, key: str | None) -> None:
        """The fault keeps the file out, unless rows with faults are left out."""
        self.faulty.add(fault, key)
        if not self.faulty.is_chosen:
            self.faults.append(fault)

    def _name_item(self, values: RowValues) -> str:
        return values.item or f"row-{self._last_row + values.record:04}"


def _list_id_columns(plan: Plan) -> list[int]:
    """Return the columns of ids and names, in which every character counts."""
    names = [plan.shared[name] for name in ("group", "cluster", "kind") if name in plan.shared]
    systems = [columns.system for columns in plan.outputs if not columns.named]
    return [*names, *systems, *([] if plan.item is None else [plan.item])]
