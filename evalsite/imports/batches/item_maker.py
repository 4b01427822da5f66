"""Items made from the rows of a file: as they are, one for each output, or in pairs."""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.core.exceptions import ValidationError

from evalsite.data.tables.faults import Fault
from evalsite.data.tables.table import Row
from evalsite.imports.batches.columns import PAIR, makes_pairs
from evalsite.imports.batches.items import (
    CheckedItem,
    CheckedOutput,
    DraftItem,
    DraftOutput,
    merge_extra,
    name_written_group,
    write_texts,
)
from evalsite.imports.batches.joins import Join
from evalsite.imports.batches.mapping import OutputColumns, Plan
from evalsite.imports.batches.names import MAX_KEY, is_reserved
from evalsite.imports.batches.pairs import Pair, find_problems, make_pairs, pick_gold
from evalsite.instruments.schema import Instrument
from evalsite.studies.gold import check_gold
from evalsite.studies.models import Item

# dealt between the others, if the study asks for that; without a right answer they tell nothing
CHECKS = (Item.Kind.GOLD, Item.Kind.ATTENTION)

_MAIN = str(Item.Kind.MAIN)

Tell = Callable[[Fault], None]


class ItemMaker:
    """Makes items of the rows that share an id, and reports faults of whole items."""

    def __init__(
        self,
        config: Instrument,
        *,
        taken: Collection[str],
        drafts: Container[str],
        name_column: Callable[[str], str],
        fields: Container[str],
        tell: Tell,
    ) -> None:
        self.config = config
        # one output an item: rows under one id are separate items, in a group of that name
        self.is_single = config.item.outputs.most == 1
        # two outputs an item: more of them under one id are items of two each
        self.is_paired = makes_pairs(config)
        named = [(one, f"gold_{one.key}") for one in config.criteria]
        self._gold_fields = [(one, name) for one, name in named if name in fields]
        self._by_turn = [one.turns for one in config.criteria if one.turns is not None]
        self._taken = taken
        self._drafts = drafts
        # metadata that differs between rows of which one was taken
        self.dropped_columns: set[str] = set()
        # of the item made last: those of a group mostly follow one another
        self._inputs: dict[str, str] = {}
        # what a file says of an output makes no other item of the same input
        self._of_output = {one.name for one in self.config.columns if one.is_of_output}
        self._inputs_text = "{}"
        self._group = ""
        self._column = name_column
        self._tell = tell

    # checking

    def check(self, item: DraftItem, join: Join | None = None) -> None:
        """Its number of outputs suits the protocol, and the pairs that it names can be made."""
        if self.is_single:
            self._check_own_gold(item)
            return
        if join is not None and join.is_open:
            return
        least, most = self.config.item.outputs.least, self.config.item.outputs.most
        found = len(item.outputs) + (len(join.met) if join else 0)
        if found < least or (found > most and not self.is_paired):
            wanted = f"{least}" if least == most else f"{least} to {most}"
            plural = "" if found == 1 else "s"
            more = ", or more to make pairs of" if self.is_paired else ""
            message = (
                f"Item “{item.key}” has {found} output{plural}; the protocol wants {wanted}{more}."
            )
            self._tell(Fault("output_count", message, line=item.line, record=item.record))
        elif self.is_paired:
            self._check_pairs(item)

    def _check_own_gold(self, item: DraftItem) -> None:
        """Outputs that are separate items don't share a right answer, as in a wide row."""
        if len(item.outputs) < 2 or item.outputs[0].record != item.outputs[1].record:
            return
        first = item.outputs[0]
        for name, text in first.shared.items():
            if name.startswith("gold_") and text.strip():
                message = (
                    f"Each of the {len(item.outputs)} outputs in this row is a separate item, "
                    "so one right answer can't apply to all of them. Give each output a row."
                )
                self._fault("gold_invalid", message, first, name)
                return

    def _check_pairs(self, item: DraftItem) -> None:
        for problem in find_problems(item.key, item.outputs):
            self._fault("pair_invalid", problem.message, item.outputs[problem.place], PAIR)
        kind, found = item.shared.get("kind"), len(item.outputs)
        if found > 2 and kind and kind != Item.Kind.MAIN:
            message = (
                f"Item “{item.key}” is of kind {kind[:40]} and has {found} outputs. Give such an "
                "item 2: its right answer is that of one pair."
            )
            self._fault("output_count", message, item.outputs[0], "kind")

    # making

    def make(self, item: DraftItem, join: Join | None = None) -> Iterable[CheckedItem]:
        if join is not None:
            made = self.make(item) if join.is_twin else self._make_joined(item, join)
            group, cluster = join.input.group, join.input.cluster
            return (replace(each, group=group, cluster=each.cluster or cluster) for each in made)
        if self.is_single and len(item.outputs) != 1:
            return self._make_singles(item)
        self._check_turns(item.outputs)
        gold = self._read_gold(item.outputs)
        if self.is_paired:
            return self._make_pairs(item, gold)
        return [self._make_one(item.key, item.outputs, gold, extra=self._merge_extra(item.outputs))]

    def _make_singles(self, item: DraftItem) -> Iterator[CheckedItem]:
        for number, output in enumerate(item.outputs, start=1):
            self._check_turns([output])
            gold = self._read_gold([output])
            extra: dict[str, object] = self._merge_extra([output])
            key = f"{item.key}/{number}"
            self._check_made_key(key, item, output, "each shown for itself")
            extra["item"] = item.key
            yield self._make_one(key, [output], gold, extra=extra, group=item.key)

    def _make_joined(self, item: DraftItem, join: Join) -> Iterable[CheckedItem]:
        """Make items of an input that the study has; none if it has the outputs as well."""
        if self.is_single:
            return self._make_more_singles(item, join)
        if join.is_open or join.is_known:
            return ()
        self._check_turns(item.outputs)
        if self.is_paired:
            return self._make_more_pairs(item, join)
        key = join.take_key(str(len(join.screens) + 1), self._taken)
        self._check_made_key(key, item, item.outputs[0], "each shown with earlier ones")
        extra = self._merge_extra(item.outputs) | {"item": join.source}
        gold = self._read_gold(item.outputs)
        return [self._make_one(key, [*join.met, *item.outputs], gold, extra=extra)]

    def _make_more_singles(self, item: DraftItem, join: Join) -> Iterator[CheckedItem]:
        for output in join.new:
            self._check_turns([output])
            gold = self._read_gold([output])
            extra: dict[str, object] = self._merge_extra([output])
            key = item.key
            if join.is_by_id or len(item.outputs) > 1:
                key = join.take_key(str(len(join.input.items) + 1), self._taken)
                self._check_made_key(key, item, output, "each shown for itself")
                extra["item"] = join.source
            yield self._make_one(key, [output], gold, extra=extra)

    def _make_more_pairs(self, item: DraftItem, join: Join) -> Iterator[CheckedItem]:
        """Make the file's pairs that the study doesn't have, and those with earlier outputs."""
        pairs = [
            (item.outputs[pair.first], item.outputs[pair.second], _name_pair(pair))
            for pair in make_pairs(item.outputs)
        ]
        pairs += [(earlier, output, {}) for earlier in join.met for output in join.new]
        places = {system: number for number, system in enumerate(join.systems, start=1)}
        gold = self._read_gold([*join.met, *item.outputs]) if len(pairs) == 1 else {}
        for first, second, extra in pairs:
            if frozenset((first.system, second.system)) in join.screens:
                continue
            suffix = f"{places[first.system]}-{places[second.system]}"
            key = join.take_key(suffix, self._taken)
            self._check_made_key(key, item, second, "each pair of them an item")
            of_file = [output for output in (first, second) if output not in join.met]
            extra |= self._merge_extra(of_file) | {"item": join.source}
            yield self._make_one(key, [first, second], gold, extra=extra)

    def _make_pairs(self, item: DraftItem, gold: dict[str, str]) -> Iterator[CheckedItem]:
        # what the pairs of an item have in common is there once: a file may make 100,000 of them
        whole = self._make_one(item.key, item.outputs, gold, extra={})
        systems = [output.system for output in item.outputs]
        for pair in make_pairs(item.outputs):
            two = [item.outputs[pair.first], item.outputs[pair.second]]
            extra = self._merge_extra(two) | _name_pair(pair)
            if len(item.outputs) == 2:
                yield replace(whole, extra=extra)
                continue
            key = f"{item.key}{pair.suffix}"
            self._check_made_key(key, item, two[0], "each pair of them an item")
            yield replace(
                whole,
                key=key,
                gold=pick_gold(gold, systems, pair),
                extra=extra | {"item": item.key},
                outputs=(whole.outputs[pair.first], whole.outputs[pair.second]),
                line=two[0].line,
                record=two[0].record,
            )

    def _check_made_key(self, key: str, item: DraftItem, output: DraftOutput, how: str) -> None:
        if len(key) > MAX_KEY or key in self._taken or key in self._drafts:
            message = (
                f"Item “{item.key}” has several outputs, {how}, but the id "
                f"“{key}” for one of them is too long or taken. Choose another id."
            )
            self._fault("made_id_taken", message, output)

    def _make_one(
        self,
        key: str,
        outputs: list[DraftOutput],
        gold: dict[str, str],
        *,
        extra: dict[str, object],
        group: str = "",
    ) -> CheckedItem:
        first = outputs[0]
        shared = first.shared
        inputs = {
            column.name: shared[column.name]
            for column in self.config.columns
            if shared.get(column.name, "").strip()
        }
        if inputs != self._inputs:
            self._inputs, self._inputs_text = inputs, write_texts(inputs.items())
            self._group = ""
        return CheckedItem(
            key=key,
            group=shared.get("group") or group or self._name_group(),
            cluster=shared.get("cluster", ""),
            kind=shared.get("kind") or _MAIN,
            inputs=inputs,
            inputs_text=self._inputs_text,
            extra=extra,
            gold=gold,
            outputs=tuple(CheckedOutput(output.system, output.text) for output in outputs),
            line=first.line,
            record=first.record,
        )

    def _merge_extra(self, outputs: list[DraftOutput]) -> dict[str, object]:
        extra = merge_extra(outputs)
        if self.dropped_columns:
            return {name: text for name, text in extra.items() if name not in self.dropped_columns}
        return extra

    def _name_group(self) -> str:
        if not self._group:
            shared = {k: v for k, v in self._inputs.items() if k not in self._of_output}
            is_all = len(shared) == len(self._inputs)
            text = self._inputs_text if is_all else write_texts(shared.items())
            self._group = name_written_group(shared, text)
        return self._group

    def _check_turns(self, outputs: list[DraftOutput]) -> None:
        """Each question about turns has some in this conversation, as far as cells name them."""
        told: set[str] = set()
        for turns in self._by_turn:
            for output in outputs:
                column, message = turns.find_fault(output.shared, output.text)
                if message and message not in told:
                    self._fault("turns_invalid" if column else "no_turns", message, output, column)
                    told.add(message)

    def _read_gold(self, outputs: list[DraftOutput]) -> dict[str, str]:
        first, kind = outputs[0], outputs[0].shared.get("kind")
        gold = {}
        for criterion, field_name in self._gold_fields:
            text = first.shared.get(field_name, "")
            if not text.strip():
                continue
            gold[criterion.key] = text
            turns: Sequence[int] = ()
            if criterion.turns is not None and len(outputs) == 1:
                turns = criterion.turns.list_turns(first.shared, first.text)
            try:
                systems = [output.system for output in outputs]
                check_gold(criterion, text, systems, turns, first.shared)
            except ValidationError as error:
                message = " ".join(error.messages).removeprefix(f"{field_name}: ")
                self._fault("gold_invalid", message, first, field_name)
        if kind and kind in CHECKS and not gold:
            message = f"An item of kind {kind} needs a right answer in a gold column."
            self._fault("gold_missing", message, first, "kind")
        if why := first.shared.get("gold_why", ""):
            gold["why"] = why
        return gold

    def _fault(self, code: str, message: str, place: DraftOutput, field_name: str = "") -> None:
        column = self._column(field_name) if field_name else ""
        self._tell(Fault(code, message, column=column, line=place.line, record=place.record))


def _name_pair(pair: Pair) -> dict[str, object]:
    return {"pair": pair.name} if pair.name else {}


_PRACTICE, _REPEAT = str(Item.Kind.PRACTICE), str(Item.Kind.REPEAT)
_WITHDRAWN = str(Item.Kind.WITHDRAWN)
_NO_EXTRA: dict[str, str] = {}  # one for all rows, never written to


@dataclass(frozen=True, slots=True)
class OutputHeads:
    """What the columns of one output are called in the file."""

    system: str
    text: str
    flag: str
    # the header names the system, not a cell
    is_named: bool


@dataclass(slots=True)
class OutputCells:
    """The cells of one output, and what their columns are called."""

    system: str
    text: str
    is_empty: str
    pair: str
    heads: OutputHeads

    @property
    def is_absent(self) -> bool:
        """Nothing is given: a wide row may hold fewer outputs than there are columns for."""
        given = "" if self.heads.is_named else self.system
        return not (given.strip() or self.text.strip() or self.is_empty.strip())


@dataclass(slots=True)
class RowValues:
    """One row by field. `shared` is what belongs to the item as a whole."""

    line: int
    record: int
    item: str | None
    shared: dict[str, str]
    outputs: list[OutputCells]
    extra: dict[str, str]


class Splitter:
    """Takes rows apart by the plan of their columns."""

    def __init__(
        self,
        plan: Plan,
        header: Sequence[str],
        *,
        names: Mapping[str, str] | None = None,
    ) -> None:
        # what systems are called instead, by their names in the file
        self._names = names or {}
        self._item = plan.item
        self._is_wide = plan.is_wide
        self._shared = tuple(plan.shared.items())
        self._extra = tuple(plan.extra.items())
        self._outputs = [(one, _name_columns(one, header)) for one in plan.outputs]

    def split(self, row: Row) -> RowValues:
        cells = row.cells
        outputs = [
            OutputCells(
                self._names.get(name, name) if self._names else name,
                cells[columns.output],
                "" if columns.is_empty is None else cells[columns.is_empty],
                "" if columns.pair is None else cells[columns.pair],
                heads,
            )
            for columns, heads in self._outputs
            for name in [columns.named or cells[columns.system]]
        ]
        return RowValues(
            row.line,
            row.record,
            None if self._item is None else cells[self._item],
            {field: cells[number] for field, number in self._shared},
            _find_present(outputs) if self._is_wide else outputs,
            (
                {name: cells[number] for name, number in self._extra if cells[number]}
                if self._extra
                else _NO_EXTRA
            ),
        )


def _find_present(outputs: list[OutputCells]) -> list[OutputCells]:
    # an empty cell of a system's column is an output without a text
    return [cells for cells in outputs if cells.heads.is_named or not cells.is_absent]


def _name_columns(columns: OutputColumns, header: Sequence[str]) -> OutputHeads:
    return OutputHeads(
        system=header[columns.system],
        text=header[columns.output],
        flag="" if columns.is_empty is None else header[columns.is_empty],
        is_named=bool(columns.named),
    )


class MadeRows:
    """Finds the rows of an exported items.csv whose items the site made: no file brought them."""

    def __init__(self, header: Sequence[str]) -> None:
        self._batch = header.index("batch") if "batch" in header else None
        self._repeat_of = header.index("repeat_of") if "repeat_of" in header else None

    def describe(self, row: Row, values: RowValues) -> str:
        """Say what the site made here, in words that fit all such rows; "" for other rows."""
        kind, cells = values.shared.get("kind"), row.cells
        if kind == _PRACTICE:
            is_ours = is_reserved(values.item or "")
            if is_ours and self._batch is not None and not cells[self._batch]:
                return "Rows of practice items that came with the protocol, which were left out"
        elif kind == _REPEAT and self._repeat_of is not None and cells[self._repeat_of]:
            return "Rows of repeats, which a study makes for itself and which were left out"
        elif kind == _WITHDRAWN and self._batch is not None:
            return "Rows of items that were withdrawn in their study, which were left out"
        return ""
