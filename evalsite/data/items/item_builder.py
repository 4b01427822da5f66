"""Items made from the rows of a file: put together, checked against their study, paired."""

import re
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError

from evalsite.data.importing import Decision, Target, check_cells, check_system
from evalsite.data.items.choices import (
    MAX_KEY,
    SOURCE_ID,
    Clusters,
    EarlierInputs,
    EmptyOutputs,
    FaultyRows,
    Join,
    Joins,
    Names,
    RandomPart,
    Repeats,
    ShortIds,
    Texts,
    check_id,
    find_known,
    find_last_row_number,
    is_reserved,
)
from evalsite.data.items.columns import (
    PAIR,
    OutputColumns,
    Plan,
    find_tuple_size,
    makes_pairs,
)
from evalsite.data.items.items import (
    CheckedItem,
    CheckedOutput,
    DraftItem,
    DraftOutput,
    Drafts,
    Items,
    OutputHeads,
    is_made_group,
    merge_extra,
    name_written_group,
    write_texts,
)
from evalsite.data.items.tuples import TupleCounts, make_tuples
from evalsite.data.tables.paths import MISSING
from evalsite.data.tables.reader import SYSTEM_NAMES
from evalsite.data.tables.table import (
    PLACES,
    Fault,
    Remark,
    Remarks,
    Row,
    find_difference,
    name_place,
)
from evalsite.instruments.fields import WHOLE_NUMBER
from evalsite.instruments.schema import Column, Instrument
from evalsite.lib.dialogue import parse_dialogue
from evalsite.lib.rich_text import RICH_KINDS, is_shown_as_source
from evalsite.studies.gold import check_gold
from evalsite.studies.models import Item, Study

WHY = "why"
_MOST_TOLD = 10  # of the names in one cell that make no pair


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


def count_pairs(outputs: Sequence[DraftOutput]) -> int:
    """Return how many pairs these outputs make, if all is well with their names."""
    if _is_named(outputs):
        return len({name for output in outputs for name in split_names(output.pair)})
    return len(outputs) * (len(outputs) - 1) // 2


def split_names(cell: str) -> list[str]:
    """Return the names of pairs in a cell, separated by commas, each once."""
    names = (name.strip() for name in cell.split(","))
    return list(dict.fromkeys(name for name in names if name))


def make_pairs(outputs: Sequence[DraftOutput]) -> list[Pair]:
    """The pairs that the outputs name, in the order of the file, or all where none is named."""
    places = _find_places(outputs)
    if not places:
        return [Pair(*two) for two in combinations(range(len(outputs)), 2)]
    return [Pair(first, second, name) for name, (first, second) in places.items()]


class PairCounts:
    """For each number of outputs, how many items have it and how many pairs these make."""

    def __init__(self) -> None:
        self._counted: dict[tuple[int, bool], list[int]] = defaultdict(lambda: [0, 0])
        self.made = 0

    def add(self, outputs: Sequence[DraftOutput]) -> None:
        if len(outputs) > 2:
            count, counts = count_pairs(outputs), self._counted[len(outputs), _is_named(outputs)]
            counts[0] += 1
            counts[1] += count
            self.made += count

    def describe(self) -> list[str]:
        return [
            f"{items:,} item{'' if items == 1 else 's'} with {number} systems "
            f"{'becomes' if items == 1 else 'become'} {pairs:,} pairs"
            f"{', those that are named' if is_named else ''}, each a separate item"
            for (number, is_named), (items, pairs) in sorted(self._counted.items())
        ]


def find_problems(key: str, outputs: Sequence[DraftOutput]) -> list[Problem]:
    """Return what is wrong with the names of this item's pairs; nothing where none is named.

    Only the first few of an output are reported one by one: a cell may hold very many names.
    """
    problems: list[Problem] = []
    counts: Counter[int] = Counter()
    for problem in _find_all_problems(key, outputs):
        counts[problem.place] += 1
        if counts[problem.place] <= _MOST_TOLD:
            problems.append(problem)
    for place, count in counts.items():
        if count > _MOST_TOLD:
            more = count - _MOST_TOLD
            message = (
                f"{more:,} more name{'' if more == 1 else 's'} of pairs in this cell of item "
                f"“{key}” can’t be used either. A pair is named in the rows of two outputs, once."
            )
            problems.append(Problem(message, place))
    return problems


def _find_all_problems(key: str, outputs: Sequence[DraftOutput]) -> Iterator[Problem]:
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
    names: dict[tuple[int, ...], str] = {}
    for name, pair_places in places.items():
        if len(pair_places) != 2:
            yield Problem(
                _describe_size(key, name, [outputs[place] for place in pair_places]), pair_places[0]
            )
        elif (other := names.setdefault(tuple(pair_places), name)) != name:
            message = (
                f"Pairs “{other[:40]}” and “{name[:40]}” of item “{key}” are of the same two "
                "outputs. Remove one of the names."
            )
            yield Problem(message, pair_places[0])


def pick_gold(gold: dict[str, str], systems: Sequence[str], pair: Pair) -> dict[str, str]:
    """Return what the right answers of a whole item say of this pair of its systems.

    The system that is named is better than all others, so nothing is said of a pair without it.
    """
    named = {"tie", systems[pair.first], systems[pair.second]}
    # instead of a name an answer may have the number of its output
    numbers = {str(number): name for number, name in enumerate(systems, start=1)}
    answers = {}
    for criterion, answer in gold.items():
        text = answer.strip()
        system = text if text in systems else numbers.get(text, text.casefold())
        if criterion != WHY and system in named:
            answers[criterion] = system
    return answers | ({WHY: gold[WHY]} if answers and WHY in gold else {})


def _is_named(outputs: Iterable[DraftOutput]) -> bool:
    return any(output.pair.strip(", ") for output in outputs)


def _find_places(outputs: Iterable[DraftOutput]) -> dict[str, list[int]]:
    """Return the places of the outputs that name a pair, by its name."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, output in enumerate(outputs):
        for name in split_names(output.pair):
            places[name].append(place)
    return places


def _describe_size(key: str, name: str, outputs: Sequence[DraftOutput]) -> str:
    size = len(outputs)
    plural = "" if size == 1 else "s"
    where = ", ".join(f"“{output.system}” in line {output.line}" for output in outputs[:5])
    more = f" and {size - 5:,} more" if size > 5 else ""
    return (
        f"Pair “{name[:40]}” of item “{key}” has {size:,} output{plural} ({where}{more}); "
        "a pair has 2. Name it in the rows of two outputs."
    )


# --- making items -----------------------------------------------------------------------


_MAIN = str(Item.Kind.MAIN)

Tell = Callable[[Fault], None]


class ItemMaker:
    """Makes items of the rows that share an id, and reports faults of whole items."""

    def __init__(
        self,
        config: Instrument,
        *,
        seed: str,
        taken: Collection[str],
        drafts: Container[str],
        name_column: Callable[[str], str],
        fields: Container[str],
        tell: Tell,
    ) -> None:
        self.config = config
        self._seed = seed
        # one output an item: rows under one id are separate items, in a group of that name
        self.is_single = config.item.outputs.most == 1
        # two outputs an item: more of them under one id are items of two each
        self.is_paired = makes_pairs(config)
        # so many outputs an item: more of them under one id are several items; 0: never
        self.tuple_size = find_tuple_size(config)
        named = [(criterion, f"gold_{criterion.key}") for criterion in config.criteria]
        self._gold_fields = [(criterion, name) for criterion, name in named if name in fields]
        self._by_turn = [
            criterion.turns for criterion in config.criteria if criterion.turns is not None
        ]
        # they say what is wrong with the texts that they are asked about
        scales = [criterion.scale for criterion in config.criteria]
        self._of_texts = [each for each in scales if each.marked_columns or each.rewrites]
        self._taken = taken
        self._drafts = drafts
        # metadata that differs between rows of which one was taken
        self.dropped_columns: set[str] = set()
        # of the item made last: those of a group mostly follow one another
        self._inputs: dict[str, str] = {}
        # what a file says of an output makes no other item of the same input
        self._of_output = {column.name for column in self.config.columns if column.is_of_output}
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
        count = len(item.outputs) + (len(join.met) if join else 0)
        if count < least or (count > most and not (self.is_paired or self.tuple_size)):
            needed = f"{least}" if least == most else f"{least} to {most}"
            plural = "" if count == 1 else "s"
            more = ", or more to make pairs of" if self.is_paired else ""
            more = f", or more to show {most} at a time" if self.tuple_size else more
            message = (
                f"Item “{item.key}” has {count} output{plural}; the protocol wants {needed}{more}."
            )
            self._tell(Fault("output_count", message, line=item.line, record=item.record))
        elif self.is_paired:
            self._check_pairs(item)
        elif count > most:
            self._check_kind(item, most, "its right answer is that of one item")

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
        if len(item.outputs) > 2:
            self._check_kind(item, 2, "its right answer is that of one pair")

    def _check_kind(self, item: DraftItem, most: int, why: str) -> None:
        """An item with a right answer doesn't become several."""
        kind, count = item.shared.get("kind"), len(item.outputs)
        if kind and kind != Item.Kind.MAIN:
            message = (
                f"Item “{item.key}” is of kind {kind[:40]} and has {count} outputs. Give such an "
                f"item {most}: {why}."
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
        if self.tuple_size and len(item.outputs) > self.tuple_size:
            return self._make_tuples(item)
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
        if self.tuple_size and len(join.met) + len(item.outputs) > self.tuple_size:
            return self._make_more_tuples(item, join)
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

    def _make_tuples(self, item: DraftItem) -> Iterator[CheckedItem]:
        whole = self._make_one(item.key, item.outputs, {}, extra={})
        shown = make_tuples(len(item.outputs), self.tuple_size, self._seed, item.key)
        for places in shown:
            outputs = [item.outputs[place] for place in places]
            key = f"{item.key}/{'-'.join(str(place + 1) for place in places)}"
            self._check_made_key(key, item, outputs[0], f"{self.tuple_size} of them an item")
            yield replace(
                whole,
                key=key,
                extra=self._merge_extra(outputs) | {"item": item.key},
                outputs=tuple(whole.outputs[place] for place in places),
                line=outputs[0].line,
                record=outputs[0].record,
            )

    def _make_more_tuples(self, item: DraftItem, join: Join) -> Iterator[CheckedItem]:
        """Make tuples of the file's outputs and those they meet; each with a new one."""
        outputs = [*join.met, *item.outputs]
        places = {system: number for number, system in enumerate(join.systems, start=1)}
        new = {output.system for output in join.new}
        for shown in make_tuples(len(outputs), self.tuple_size, self._seed, item.key):
            chosen = [outputs[place] for place in shown]
            systems = frozenset(output.system for output in chosen)
            if new.isdisjoint(systems) or systems in join.screens:
                continue
            suffix = "-".join(str(number) for number in sorted(places[name] for name in systems))
            key = join.take_key(suffix, self._taken)
            self._check_made_key(key, item, chosen[0], f"{self.tuple_size} of them an item")
            of_file = [output for output in chosen if output not in join.met]
            extra = self._merge_extra(of_file) | {"item": join.source}
            yield self._make_one(key, chosen, {}, extra=extra)

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
        """Each question about turns has some in this conversation, as far as cells name them.

        Passages that cells mark are in their texts.
        """
        reported: set[str] = set()
        for turns in self._by_turn:
            for output in outputs:
                column, message = turns.find_fault(output.shared, output.text)
                if message and message not in reported:
                    self._fault("turns_invalid" if column else "no_turns", message, output, column)
                    reported.add(message)
        for scale in self._of_texts:
            for output in outputs:
                bound = scale.for_item(output.shared, self.config.conversations)
                column, message = bound.for_output(output.text).find_item_fault()
                if message:
                    code = "output_too_long" if scale.rewrites else "spans_invalid"
                    self._fault(code, message, output, column)

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
        if kind in (Item.Kind.GOLD, Item.Kind.ATTENTION) and not gold:
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


class Splitter:
    """Takes rows apart by the plan of their columns."""

    def __init__(
        self,
        plan: Plan,
        header: Sequence[str],
        *,
        names: Mapping[str, str] | None = None,
    ) -> None:
        # what systems are called instead, by their names in the file; and those that it has
        self._names = names or {}
        self.renamed: dict[str, str] = {}
        self._item = plan.item
        self._is_wide = plan.is_wide
        self._shared = tuple(plan.shared.items())
        self._extra = tuple(plan.extra.items())
        self._outputs = [(output, _name_columns(output, header)) for output in plan.outputs]

    def split(self, row: Row) -> DraftItem:
        cells = row.cells
        shared = {field: cells[number] for field, number in self._shared}
        extra = _NO_EXTRA
        if self._extra:
            extra = {name: cells[number] for name, number in self._extra if cells[number]}
        outputs = [
            DraftOutput(
                name,
                cells[columns.output],
                row.line,
                row.record,
                shared,
                extra,
                "" if columns.pair is None else cells[columns.pair],
                "" if columns.is_empty is None else cells[columns.is_empty],
                heads,
            )
            for columns, heads in self._outputs
            for name in [columns.named or cells[columns.system]]
        ]
        if self._is_wide:
            # a row may hold fewer outputs than there are columns for; but an empty cell of a
            # system's column is an output without a text
            outputs = [
                output
                for output in outputs
                if output.heads.is_named
                or output.system.strip()
                or output.text.strip()
                or output.flag.strip()
            ]
        for output in outputs if self._names else ():
            if name := self._names.get(output.system):
                self.renamed[output.system] = name
                output.system = name
        key = "" if self._item is None else cells[self._item]
        return DraftItem(key, row.line, row.record, shared, outputs, False, extra)


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

    def describe(self, row: Row, values: DraftItem) -> str:
        """Say what the site made here, in words that fit all such rows; "" for other rows."""
        kind, cells = values.shared.get("kind"), row.cells
        if kind == _PRACTICE:
            is_ours = is_reserved(values.key)
            if is_ours and self._batch is not None and not cells[self._batch]:
                return "Rows of practice items that came with the protocol, which were left out"
        elif kind == _REPEAT and self._repeat_of is not None and cells[self._repeat_of]:
            return "Rows of repeats, which a study makes for itself and which were left out"
        elif kind == _WITHDRAWN and self._batch is not None:
            return "Rows of items that were withdrawn in their study, which were left out"
        return ""


# --- putting rows together --------------------------------------------------------------


_KINDS = (Item.Kind.MAIN, Item.Kind.GOLD, Item.Kind.ATTENTION, Item.Kind.PRACTICE)
_MOST_OUTPUTS = 500  # with more of them the column of items is probably another one
# as our tables write it, and our datasets
_FLAG = {"": False, "no": False, "false": False, "yes": True, "true": True}


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
        self.part = RandomPart(options or {}, seed=target.study.seed)
        self.config = target.instrument
        self.is_launched = target.study.is_launched
        self.header = header
        self.plan = plan
        self.splitter = Splitter(plan, header, names=(options or {}).get(SYSTEM_NAMES, {}))
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
        self._inputs = {column.name for column in self.config.columns}
        self._input_heads = [(column, self._column(column.name)) for column in self.config.columns]
        self._maker = ItemMaker(
            self.config,
            seed=self.study.seed,
            taken=self._keys,
            drafts=self._items,
            name_column=self._column,
            fields=plan.shared,
            tell=self.faults.append,
        )
        self.is_single = self._maker.is_single
        self._joins = Joins(self._earlier, options or {}, shows_several=not self.is_single,
                            makes_tuples=self._maker.tuple_size > 0)  # fmt: skip

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
        values = self.splitter.split(row)
        if description := self._made.describe(row, values):
            self.left_out += 1
            self.remarks.add("made_rows_left_out", description, row.line, row.record)
        else:
            self._take(values)

    def _take(self, values: DraftItem) -> None:
        """Add the row's outputs to its item, which may begin with this row."""
        key = values.key
        if self.plan.item is None:
            key = self._name_item(values)
        elif key not in self._items or self._ids.is_short(key):
            key = self._ids.get(key)
            if key != values.key:
                values.extra = {**values.extra, SOURCE_ID: values.key}
        values.key = key
        self.texts.settle(values, key)
        outputs, item = values.outputs, self._items.get(key)
        if item is None:
            self._check_first(values)
            item, values.outputs = values, []
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
        for output in outputs:
            self._add_output(item, output, values)

    def _repeats_wide(self, item: DraftItem, values: DraftItem) -> bool:
        """Whether the row says the same of its item once more; then it counts as a repeat."""
        outputs = {(output.system, output.text) for output in item.outputs}
        is_same = values.shared == item.shared and outputs == {
            (output.system, output.text) for output in values.outputs
        }
        if is_same and item.outputs:
            self._repeat(item.key, values, item.outputs[0].extra)
        return is_same and bool(item.outputs)

    def _repeat(self, key: str, values: DraftItem, extra: Mapping[str, str]) -> None:
        names = dict.fromkeys([*extra, *values.extra])
        differing = [name for name in names if extra.get(name, "") != values.extra.get(name, "")]
        self.repeats.add(key, (values.line, values.record), differing)

    def _check_first(self, values: DraftItem) -> None:
        """Check what only the first row of an item has to be asked."""
        source = values.extra.get(SOURCE_ID, values.key)
        code, problem = self._find_key_problem(values.key, source, values.line)
        if problem:
            values.is_short = True
            self._fault(code, problem, values, self._item_column)
        self._check_inputs(values)
        self._check_groups(values)
        if not self.is_single:
            self._check_kind(values)

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

    def _compare(self, item: DraftItem, values: DraftItem) -> None:
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
        of_outputs = {column.name for column in self.config.columns if column.is_of_output}
        return name == "kind" or name.startswith("gold_") or name in of_outputs

    # parts of a row

    def _check_inputs(self, values: DraftItem) -> None:
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

    def _find_gap(self, column: Column, values: DraftItem) -> str:
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

    def _check_groups(self, values: DraftItem) -> None:
        for name, names in self._group_names.items():
            text = values.shared.get(name, "")
            if not text:
                continue
            if problem := check_id(text):
                self._fault("id_invalid", problem, values, self._column(name))
            elif problem := names.meet(text, values.line)[0]:
                self._fault("id_confusable", problem, values, self._column(name))

    def _check_kind(self, values: DraftItem) -> None:
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

    def _add_output(self, item: DraftItem, output: DraftOutput, values: DraftItem) -> None:
        """The output belongs to the item, unless something about it is wrong."""
        if self.is_single:
            self._check_kind(values)
        self._check_text(output, values)
        if not output.text and not output.flag and self.empty.leaves_out(values, item):
            return
        if problem := self._check_system(output.system, values.line):
            code = "system_invalid" if check_system(output.system) else "system_confusable"
            self._fault(code, problem, values, output.heads.system)
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
        for earlier in item.outputs:
            if earlier.system == output.system:
                if (
                    earlier.text == output.text
                    and earlier.pair == output.pair
                    and earlier.shared == shared
                ):
                    self._repeat(item.key, values, earlier.extra)
                    return
                message = (
                    f"Item “{item.key}” has two outputs of system “{output.system}”, "
                    f"here and in line {earlier.line}. Remove one."
                )
                self._fault("output_twice", message, values, output.heads.system)
                item.is_short = True
                return
        output.shared, output.extra = shared, values.extra
        item.outputs.append(output)

    def _check_text(self, output: DraftOutput, values: DraftItem) -> None:
        flag = _FLAG.get(output.flag)
        if flag is None:
            message = f"“{output.flag[:20]}” must be yes, no or nothing."
            self._fault("flag_invalid", message, values, output.heads.flag)
        elif flag and output.text:
            message = "The output is marked as empty, but holds a text. Correct one of the two."
            self._fault("flag_invalid", message, values, output.heads.text)
        elif not flag and not output.text.strip():
            source = values.extra.get(SOURCE_ID, "" if self.plan.item is None else values.key)
            failed = self.empty.add(output.system, (values.line, values.record), source)
            output.text = ""
            if not self.empty.answer:
                message = (
                    f"{failed} Leave out this input for every system, or show “(no output)” "
                    "(--empty-outputs leave-out or show)."
                    if failed
                    else "The output is empty. Fill it in. If the system gave nothing, have “(no "
                    "output)” shown instead (--empty-outputs show), or mark the row with yes in a "
                    "column output_is_empty."
                )
                self._fault("output_empty", message, values, output.heads.text)
        else:
            self.remarks.check_text(output.text, values.line, values.record, output.heads.text)

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
        self._count_tuples()
        context = Context(
            study=self.study,
            config=self.config,
            systems=[name for name, is_good in self._checked_systems.items() if is_good],
            kind_column=self._column("kind"),
            remarks=self.remarks,
        )
        checks = [check(context) for check in CHECKS if check.is_wanted(context)]
        items = Items(self._make)
        for draft, join in self._go_through():
            if self._is_whole(draft, join):
                known = len(items)
                for made in self._maker.make(draft, join):
                    if not self.faults:
                        items.count(made)
                        for check in checks:
                            check.add(made)
                if len(items) > known:
                    items.records += 1
                    items.of_systems.update([output.system for output in draft.outputs])
        if fault := self._joins.find_fault():
            self.faults.append(fault)
        self.faults += self.texts.find_faults()
        self.remarks.extend(self._ids.list_remarks())
        self.remarks.extend(self._joins.list_remarks())
        chosen = [part for part in (self.repeats, self.faulty) if part.is_chosen]
        self.left_out += self._joins.left_out + sum(part.rows for part in chosen)
        if self.faults:
            return Items()
        for check in checks:
            self.remarks.extend(check.list_warnings())
        if "cluster" not in self.plan.shared:
            self.clusters.find(items, self.plan.extra)
        return self.part.draw(items)

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
        known = len(self.faults)
        for fault, name in self._joins.check(draft, join):
            self.faults.append(replace(fault, column=self._name_column(name)))
        if join is None or not join.is_known:
            self._maker.check(draft, join)
        return len(self.faults) == known

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
            self.part,
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

    def _count_tuples(self) -> None:
        counts = TupleCounts(self._maker.tuple_size, self.study.seed)
        for item in self._items if self._maker.tuple_size else ():
            if not self._is_spoiled(item):
                counts.add(len(item.outputs))
        for sentence in counts.describe():
            self.remarks.tell("tuples_made", sentence)

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

    def _fault(self, code: str, message: str, place: DraftItem, column: str = "") -> None:
        fault = Fault(code, message, column=column, line=place.line, record=place.record)
        self._tell(fault, self._name_item(place))

    def _tell(self, fault: Fault, key: str | None) -> None:
        """The fault keeps the file out, unless rows with faults are left out."""
        if fault.code == "output_empty":
            # what becomes of these is a decision of its own
            self.faults.append(fault)
            return
        self.faulty.add(fault, key)
        if not self.faulty.is_chosen:
            self.faults.append(fault)

    def _name_item(self, values: DraftItem) -> str:
        return values.key or f"row-{self._last_row + values.record:04}"


def _list_id_columns(plan: Plan) -> list[int]:
    """Return the columns of ids and names, in which every character counts."""
    names = [plan.shared[name] for name in ("group", "cluster", "kind") if name in plan.shared]
    systems = [columns.system for columns in plan.outputs if not columns.named]
    return [*names, *systems, *([] if plan.item is None else [plan.item])]


# --- what is worth a look ---------------------------------------------------------------

# Checks that see the items of a file one by one. What they remember of each are a few numbers,
# never its texts.


@dataclass(frozen=True, kw_only=True)
class Context:
    """The study and the file that items are checked for."""

    study: Study
    config: Instrument
    systems: Sequence[str]
    kind_column: str
    remarks: Remarks

    @property
    def is_single(self) -> bool:
        """Whether an item has one output."""
        return self.config.item.outputs.most == 1


class Check:
    """Sees each item once; counts what is odd among the remarks, or warns at the end."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.remarks = context.remarks

    @classmethod
    def is_wanted(cls, context: Context) -> bool:
        return True

    def add(self, item: CheckedItem) -> None:
        raise NotImplementedError

    def list_warnings(self) -> Iterable[Remark]:
        """Return what only the whole file shows."""
        return ()


# --- order of rows --------------------------------------------------------------------


_FEWEST_IN_ORDER = 20  # of fewer items an order shows little
_RUNS_FACTOR = 3  # so many times fewer runs than by chance
_NEARLY_ALL = 0.95


class RowOrder(Check):
    """Whether the order of items of one output gives away which system comes next.

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
        total = self._counts.total()
        if len(self._counts) < 2 or total < _FEWEST_IN_ORDER:
            return
        by_chance = 1 + total - sum(count**2 for count in self._counts.values()) / total
        compared = total - len(self._counts)
        if self._runs * _RUNS_FACTOR <= by_chance:
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
            f"{order} people {verb} one system {how}, and may recognise them by it. Let items "
            "come in random order, or mix the rows"
        )


# --- duplicates -----------------------------------------------------------------------


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
    """Items that occur twice in a file by mistake, found by a hash of each."""

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


# --- turns of dialogues ---------------------------------------------------------------
NO_SPEAKER = (
    "Dialogues in which no line begins with a speaker, such as “A:”, so that people see all of "
    "it as one turn"
)
ONE_LINE = (
    "Dialogues with a speaker in the middle of a line, as where line breaks were lost, so that "
    "people see several turns as one"
)

# what may be a name behind the first word of a turn
_INSIDE = re.compile(r"(?<=\s)(?P<name>[^\W\d_]\w{0,14}(?:[ ]\d{1,2})?)[ ]?[:：](?=\s)")
_BEGIN = re.compile(r"^[^\W\d_]\w{0,14}(?:[ ]\d{1,2})?:\s", re.MULTILINE)
_USUAL = re.compile(
    r"[A-Z]\d?"
    r"|(?i:(?:person|speaker|user|participant)[ ]?\d{0,2}|system|agent|assistant|bot|human)"
)


class DialogueTurns(Check):
    """Looks at the dialogues among the inputs of items; those that follow one another are one."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._columns = [
            column.name for column in context.config.columns if column.kind == "dialogue"
        ]
        self._inputs: dict[str, str] = {}

    def add(self, item: CheckedItem) -> None:
        if not self._columns or item.inputs == self._inputs:
            return
        self._inputs = item.inputs
        for name in self._columns:
            if doubt := find_doubt(item.inputs.get(name, "")):
                code = "no_speaker" if doubt == NO_SPEAKER else "turns_on_one_line"
                self.remarks.add(code, doubt, item.line, item.record)


def find_doubt(dialogue: str) -> str:
    """Why people may see fewer turns than this dialogue has; nothing where they see all."""
    # of most dialogues enough, and much cheaper than to read all of their turns
    colons = dialogue.count(":") + dialogue.count("：")
    if colons and len(_BEGIN.findall(dialogue)) == colons:
        return ""
    turns = parse_dialogue(dialogue)
    if not any(turn.text.strip() for turn in turns):
        return ""
    if not any(turn.speaker for turn in turns):
        return NO_SPEAKER
    speakers = {turn.speaker.casefold() for turn in turns}
    return ONE_LINE if any(_holds_turn(turn.text, speakers) for turn in turns) else ""


def _holds_turn(text: str, speakers: set[str]) -> bool:
    names = (
        [match["name"] for match in _INSIDE.finditer(text)] if ":" in text or "：" in text else []
    )
    return any(name.casefold() in speakers or _USUAL.fullmatch(name) for name in names)


# --- coverage -------------------------------------------------------------------------


_MOST_SYSTEMS = 100  # with more of them the column is probably not one of systems


class Coverage(Check):
    """Groups that lack a system which others have."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._systems = sorted(context.systems)
        self._bits = {name: 1 << number for number, name in enumerate(self._systems)}
        # of each group, by its place: which systems it has, and where it begins
        self._places: dict[str, int] = {}
        self._bits_by_place: list[int] = []
        self._lines, self._records = array("L"), array("L")

    def add(self, item: CheckedItem) -> None:
        place = self._places.setdefault(item.group, len(self._places))
        if place == len(self._bits_by_place):
            self._bits_by_place.append(0)
            self._lines.append(item.line)
            self._records.append(item.record)
        for output in item.outputs:
            # an earlier output that is shown again may be of a system that the file hasn't got
            self._bits_by_place[place] |= self._bits.get(output.system, 0)

    def list_warnings(self) -> Iterator[Remark]:
        if len(self._systems) > 1 and all(bits.bit_count() == 1 for bits in self._bits_by_place):
            yield Remark(
                "systems_missing",
                f"No inputs have outputs of two systems: the {len(self._systems)} systems can "
                "be compared only across different inputs",
            )
            return
        names = list(self._places)
        for name in self._systems[:_MOST_SYSTEMS]:
            bit = self._bits[name]
            without = [place for place, bits in enumerate(self._bits_by_place) if not bits & bit]
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
_CHECK_KINDS = {str(Item.Kind.GOLD), str(Item.Kind.ATTENTION)}


class ItemKinds(Check):
    """Checks and gold items, which come only if the study asks for them."""

    def add(self, item: CheckedItem) -> None:
        if item.kind not in _CHECK_KINDS:
            return
        count = self.context.study.checks_per_person
        use = (
            f"come as checks, {count} per person, and never count"
            if count
            else "nobody gets, since the settings ask for no checks"
        )
        message = f"Items of kind {item.kind}, which {use}"
        self.remarks.add("checks", message, item.line, item.record, self.context.kind_column)


# --- how each system writes -------------------------------------------------------------


_MEASURED = 2_000  # outputs of each system: enough to know how it writes
_FEWEST = 10  # outputs of a system, with fewer of which nothing is said of it
_MOST_COMPARED = 20
_MOSTLY, _SELDOM = 0.8, 0.2
_FEWEST_CUT, _CUT_SHARE, _LEAST_LENGTH = 5, 0.05, 30
_CUT_WORDS = 6  # shorter texts end as they like
_LENGTH_FACTOR = 4  # markedly shorter or longer
_COPIED = 60  # shorter texts, such as “i don't know .”, occur often for good reason
_HABIT = 0.05  # a system that says the same so often does so of itself
# closing quotes, brackets, emoji and the like may follow the end of a sentence
_END = re.compile(r"""[.!?…。？！؟:;*~)\]}>"'”’»]\W*\Z""")
_SPACED = re.compile(r"\w [.,!?](?:\s|\Z)")
_WORD = re.compile(r"\S+")


@dataclass
class Style:
    """How one system writes: of its first outputs, how many have what."""

    measured: int = 0
    characters: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    starts: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    outputs: int = 0
    longest: int = 0
    # outputs of the longest length that end in the middle of a sentence, and all of that length
    cut: int = 0
    at_longest: int = 0
    places: list[str] = field(default_factory=list)
    cut_ends: set[str] = field(default_factory=set)
    # outputs that repeat the previous item's output word for word, though the inputs differ
    last_text: str = ""
    last_inputs: dict[str, str] = field(default_factory=dict)
    copied: int = 0
    copied_places: list[str] = field(default_factory=list)

    def share(self, name: str) -> float:
        return self.counts[name] / self.measured

    def measure(self, text: str, item: CheckedItem) -> None:
        """Many texts of exactly the same greatest length were cut off there."""
        self.outputs += 1
        size = len(text)
        if size < self.longest:
            return
        if size > self.longest:
            self.longest, self.cut, self.at_longest, self.places = size, 0, 0, []
            self.cut_ends = set()
        self.at_longest += 1
        if not _END.search(text[-8:]):
            self.cut += 1
            if len(self.cut_ends) < _FEWEST_CUT:
                self.cut_ends.add(text[-8:])
            if len(self.places) < PLACES:
                self.places.append(name_place(item.line, item.record))

    def compare(self, text: str, item: CheckedItem) -> None:
        """Long texts that follow one another, word for word, come of rows that were copied."""
        if len(text) >= _COPIED and text == self.last_text and item.inputs != self.last_inputs:
            self.copied += 1
            if len(self.copied_places) < PLACES:
                self.copied_places.append(name_place(item.line, item.record))
        self.last_text, self.last_inputs = text, item.inputs

    def count(self, text: str) -> None:
        self.measured += 1
        self.characters += len(text)
        words = _WORD.findall(text)
        if len(words) >= _CUT_WORDS:
            self.counts["long"] += 1
            self.counts["open"] += not _END.search(text[-8:])
        if text.casefold() == text and text.upper() != text:
            self.counts["lower"] += 1
        if _SPACED.search(text):
            self.counts["spaced"] += 1
        if len(words) >= _CUT_WORDS:
            self.starts[" ".join(words[:3])] += 1
            self.ends[" ".join(words[-3:])] += 1

    @property
    def is_cut(self) -> bool:
        if len(self.cut_ends) < _FEWEST_CUT:
            return False  # they end alike, as characters do
        enough = max(_FEWEST_CUT, _CUT_SHARE * self.outputs)
        return self.longest >= _LEAST_LENGTH and self.cut >= max(enough, 2 / 3 * self.at_longest)


class SystemStyle(Check):
    """How the systems of a file write, compared with one another."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._of: dict[str, Style] = {}

    def add(self, item: CheckedItem) -> None:
        if item.kind != "main":
            return
        for output in item.outputs:
            style = self._of.get(output.system)
            if style is None:
                if len(self._of) > _MOST_COMPARED:
                    continue  # the column is probably not one of systems
                style = self._of[output.system] = Style()
            if not output.text:
                continue
            style.measure(output.text, item)
            style.compare(output.text, item)
            if style.measured < _MEASURED:
                style.count(output.text)

    def list_warnings(self) -> Iterator[Remark]:
        if len(self._of) > _MOST_COMPARED:
            return
        for name, style in sorted(self._of.items()):
            yield from _describe(name, style)
            other_styles = [other for named, other in self._of.items() if named != name]
            if other_styles and all(other.measured >= _FEWEST for other in self._of.values()):
                yield from _compare(name, style, other_styles)


def _describe(name: str, style: Style) -> Iterator[Remark]:
    """Warn about this system's outputs, independently of other systems."""
    if style.is_cut:
        yield Remark(
            "outputs_cut",
            f"Outputs of system “{name}” that stop at exactly {style.longest:,} characters, in the "
            "middle of a sentence. They look cut off, and would be rated as such",
            style.cut,
            style.places,
        )
    if 0 < style.copied <= max(_HABIT * style.outputs, 1):
        yield Remark(
            "outputs_copied",
            f"Long outputs of system “{name}” that are word for word those of the item before, "
            "whose inputs are others. Perhaps a row was copied",
            style.copied,
            style.copied_places,
        )


def _compare(name: str, style: Style, other_styles: Sequence[Style]) -> Iterator[Remark]:
    """Describe what gives away the outputs of this system."""
    traits = _compare_shares(style, other_styles)
    traits += _compare_habits("starts", style, other_styles) + _compare_habits(
        "ends", style, other_styles
    )
    traits += _compare_lengths(style, other_styles)
    for words in traits:
        yield Remark(
            "system_style",
            f"Outputs of system “{name}” {words}, unlike those of every other system. People may "
            "recognise the system by it. If you don't study style, make all outputs alike",
        )
    if _ends_open(style, other_styles):
        yield Remark(
            "outputs_cut",
            f"Outputs of system “{name}” end without a full stop or the like far more often than "
            f"those of the others: {style.counts['open']:,} of {style.counts['long']:,} longer "
            "ones. Look whether they were cut off",
        )


def _compare_shares(style: Style, other_styles: Sequence[Style]) -> list[str]:
    traits = []
    for feature, has, lacks in (
        ("lower", "are mostly all in lower case", "mostly have capital characters"),
        (
            "spaced",
            "mostly have spaces before stops and commas",
            "mostly have no space before stops and commas",
        ),
    ):
        share, shares = style.share(feature), [other.share(feature) for other in other_styles]
        if share >= _MOSTLY and max(shares) <= _SELDOM:
            traits.append(has)
        elif share <= _SELDOM and min(shares) >= _MOSTLY and len(other_styles) > 1:
            traits.append(lacks)
    return traits


def _compare_habits(part: str, style: Style, other_styles: Sequence[Style]) -> list[str]:
    counts = getattr(style, part)
    if not counts:
        return []
    words, count = counts.most_common(1)[0]
    is_habit = count >= _MOSTLY * style.measured and all(
        getattr(other, part)[words] <= _SELDOM * other.measured for other in other_styles
    )
    verb = "start" if part == "starts" else "end"
    return [f"mostly {verb} with “{words[:60]}”"] if is_habit else []


def _compare_lengths(style: Style, other_styles: Sequence[Style]) -> list[str]:
    mean = style.characters / style.measured
    means = [other.characters / other.measured for other in other_styles]
    if mean >= _LENGTH_FACTOR * max(means):
        return [f"are long ({mean:,.0f} characters on average, against {max(means):,.0f} at most)"]
    if mean <= min(means) / _LENGTH_FACTOR:
        return [
            f"are short ({mean:,.0f} characters on average, against {min(means):,.0f} at least)"
        ]
    return []


def _ends_open(style: Style, other_styles: Sequence[Style]) -> bool:
    long = sum(other.counts["long"] for other in other_styles)
    if style.counts["long"] < _FEWEST or long < _FEWEST:
        return False
    if style.ends.most_common(1)[0][1] > style.counts["long"] / 2:
        return False  # they end alike, as characters do
    share = style.counts["open"] / style.counts["long"]
    usual = sum(other.counts["open"] for other in other_styles) / long
    return share >= _SELDOM and share >= 4 * max(usual, 0.025)


_MOST_NAMES = 100  # with more of them the column is probably not one of systems


class SystemNames(Check):
    """Finds the names of systems in texts, which would tell participants what they rate."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        names = context.systems
        # a name of one or two characters occurs in any text by chance
        searched = sorted((name for name in names if len(name) > 2), key=len, reverse=True)
        searched = searched if len(searched) <= _MOST_NAMES else []
        pattern = "|".join(re.escape(name) for name in searched)
        self._pattern = re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.I) if searched else None
        self._low = [name.lower() for name in searched]
        self._inputs: dict[str, str] = {}
        self._are_named = False

    def add(self, item: CheckedItem) -> None:
        if self._pattern is not None and self._names_system(item):
            message = "Items whose texts name a system, so people know what they rate"
            self.remarks.add("system_named", message, item.line, item.record)

    def _names_system(self, item: CheckedItem) -> bool:
        if item.inputs != self._inputs:
            # the items of a group have the same
            self._inputs = item.inputs
            # no name goes over the end of a line, so several texts are searched at once
            self._are_named = self._holds_name("\n".join(item.inputs.values()))
        if self._are_named:
            return True
        return self._holds_name("\n".join([output.text for output in item.outputs]))

    def _holds_name(self, text: str) -> bool:
        if text.isascii():
            # much cheaper than the pattern, and of most texts enough
            low = text.lower()
            for name in self._low:
                if name in low:
                    break
            else:
                return False
        return self._pattern is not None and self._pattern.search(text) is not None


# --- how they are shown ----------------------------------------------------------------


class ShownAsSource(Check):
    """Tables, conversations and Markdown that are too large to draw."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._columns = {
            column.name: column.kind
            for column in context.config.columns
            if column.kind in RICH_KINDS and column.shown
        }
        self._inputs: dict[str, str] = {}

    @classmethod
    def is_wanted(cls, context: Context) -> bool:
        kinds: set[str] = {column.kind for column in context.config.columns}
        return bool(RICH_KINDS & {context.config.item.outputs.kind, *kinds})

    def add(self, item: CheckedItem) -> None:
        kind = self.context.config.item.outputs.kind
        for output in item.outputs:
            if is_shown_as_source(output.text, kind):
                message = "Outputs shown as source: too large to draw"
                self.remarks.add("shown_as_source", message, item.line, item.record)
        if item.inputs == self._inputs:
            return
        self._inputs = item.inputs
        for name, input_kind in self._columns.items():
            if is_shown_as_source(item.inputs.get(name, ""), input_kind):
                message = "Inputs shown as source: too large to draw"
                self.remarks.add("inputs_as_source", message, item.line, item.record, name)


CHECKS: tuple[type[Check], ...] = (
    SameOutputs, SystemNames, ItemKinds, Coverage, TwinItems, SystemStyle, DialogueTurns, RowOrder,
    ShownAsSource,
)  # fmt: skip
