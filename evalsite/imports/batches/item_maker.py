"""Items made from the rows of a file: as they are, one for each output, or in pairs."""

from collections.abc import Callable, Collection, Container, Iterable, Iterator
from dataclasses import replace

from django.core.exceptions import ValidationError

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
from evalsite.imports.batches.names import MAX_KEY
from evalsite.imports.batches.pairs import Pair, find_problems, make_pairs, pick_gold
from evalsite.imports.tables.faults import Fault
from evalsite.protocol import Protocol
from evalsite.studies.gold import check_gold
from evalsite.studies.models import Item

# dealt between the others, if the study asks for that; without a right answer they tell nothing
CHECKS = (Item.Kind.GOLD, Item.Kind.ATTENTION)

_MAIN = str(Item.Kind.MAIN)

Tell = Callable[[Fault], None]


class ItemMaker:
    """Makes items of the rows that share an id; tells what only a whole item shows."""

    def __init__(
        self,
        config: Protocol,
        *,
        taken: Collection[str],
        drafts: Container[str],
        name_column: Callable[[str], str],
        fields: Container[str],
        tell: Tell,
    ) -> None:
        self.config = config
        # one output an item: rows under one id are items of their own, in a group of that name
        self.is_single = config.outputs[1] == 1
        # two outputs an item: more of them under one id are items of two each
        self.is_paired = makes_pairs(config)
        named = [(one, f"gold_{one.key}") for one in config.criteria]
        self._gold_fields = [(one, name) for one, name in named if name in fields]
        self._taken = taken
        self._drafts = drafts
        # metadata that differs between rows of which one was taken
        self.dropped_columns: set[str] = set()
        # of the item made last: those of a group mostly follow one another
        self._inputs: dict[str, str] = {}
        self._inputs_text = "{}"
        self._group = ""
        self._column = name_column
        self._tell = tell

    # checking

    def check(self, item: DraftItem) -> None:
        """Its number of outputs suits the protocol, and the pairs that it names can be made."""
        if self.is_single:
            self._check_own_gold(item)
            return
        least, most = self.config.outputs
        found = len(item.outputs)
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
        """Outputs that are items of their own don't share a right answer, as in a wide row."""
        if len(item.outputs) < 2 or item.outputs[0].record != item.outputs[1].record:
            return
        first = item.outputs[0]
        for name, text in first.shared.items():
            if name.startswith("gold_") and text.strip():
                message = (
                    f"Each of the {len(item.outputs)} outputs in this row is an item of its own, "
                    "which this right answer can't tell apart. Give each output a row."
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

    def make(self, item: DraftItem) -> Iterable[CheckedItem]:
        if self.is_single and len(item.outputs) != 1:
            return self._make_singles(item)
        gold = self._read_gold(item.outputs)
        if self.is_paired:
            return self._make_pairs(item, gold)
        return [self._make_one(item.key, item.outputs, gold, extra=self._merge_extra(item.outputs))]

    def _make_singles(self, item: DraftItem) -> Iterator[CheckedItem]:
        for number, output in enumerate(item.outputs, start=1):
            gold = self._read_gold([output])
            extra: dict[str, object] = self._merge_extra([output])
            key = f"{item.key}/{number}"
            self._check_made_key(key, item, output, "each shown for itself")
            extra["item"] = item.key
            yield self._make_one(key, [output], gold, extra=extra, group=item.key)

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
            for column in self.config.inputs
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
        self._group = self._group or name_written_group(self._inputs, self._inputs_text)
        return self._group

    def _read_gold(self, outputs: list[DraftOutput]) -> dict[str, str]:
        first, kind = outputs[0], outputs[0].shared.get("kind")
        gold = {}
        for criterion, field_name in self._gold_fields:
            text = first.shared.get(field_name, "")
            if not text.strip():
                continue
            gold[criterion.key] = text
            try:
                check_gold(criterion, text, [output.system for output in outputs])
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
