"""Items in the making, from the rows of a file: as they stand, one by one, or in pairs."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from django.core.exceptions import ValidationError

from evalsite.exchange.faults import Fault
from evalsite.exchange.mapping import PAIR, makes_pairs
from evalsite.exchange.names import MAX_KEY
from evalsite.exchange.pairs import Pair, find_problems, make_pairs, pick_gold
from evalsite.exchange.values import CheckedItem, CheckedOutput, name_group
from evalsite.protocol import ProtocolConfig
from evalsite.studies.gold import check_gold
from evalsite.studies.models import Item

# dealt between the others, if the study asks for that; without a right answer they tell nothing
CHECKS = (Item.Kind.GOLD, Item.Kind.ATTENTION)

Tell = Callable[[Fault], None]


@dataclass(slots=True)
class DraftOutput:
    """One output in the making. `shared` is of its own row: see `ItemMaker.is_single`."""

    system: str
    text: str
    line: int
    record: int
    shared: dict[str, str]
    extra: dict[str, str]
    pair: str = ""


@dataclass(slots=True)
class DraftItem:
    """One item in the making, from its first row on."""

    key: str
    line: int
    record: int
    shared: dict[str, str]
    outputs: list[DraftOutput] = field(default_factory=list)
    # an output of it could not be taken, which is told already: its number is not checked
    is_short: bool = False

    def forget(self) -> None:
        """Only the id is left: all rows and all items at once would take too much memory."""
        self.shared, self.outputs = {}, []


class ItemMaker:
    """Makes items of the rows that share an id; tells what only a whole item shows."""

    def __init__(
        self,
        config: ProtocolConfig,
        *,
        taken: Collection[str],
        drafts: Mapping[str, DraftItem],
        name_column: Callable[[str], str],
        tell: Tell,
    ) -> None:
        self.config = config
        # one output an item: rows under one id are items of their own, in a group of that name
        self.is_single = config.outputs[1] == 1
        # two outputs an item: more of them under one id are items of two each
        self.is_paired = makes_pairs(config)
        self._taken = taken
        self._drafts = drafts
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
            self._tell(Fault(message, line=item.line, record=item.record))
        elif self.is_paired:
            self._check_pairs(item)

    def _check_own_gold(self, item: DraftItem) -> None:
        """Outputs that are items of their own don't share a right answer, as in a wide row."""
        if len(item.outputs) < 2 or item.outputs[0].shared is not item.outputs[1].shared:
            return
        first = item.outputs[0]
        for name, text in first.shared.items():
            if name.startswith("gold_") and text.strip():
                message = (
                    f"Each of the {len(item.outputs)} outputs in this row is an item of its own, "
                    "which this right answer can't tell apart. Give each output a row."
                )
                self._fault(message, first, name)
                return

    def _check_pairs(self, item: DraftItem) -> None:
        for problem in find_problems(item.key, item.outputs):
            self._fault(problem.message, item.outputs[problem.place], PAIR)
        kind, found = item.shared.get("kind"), len(item.outputs)
        if found > 2 and kind and kind != Item.Kind.MAIN:
            message = (
                f"Item “{item.key}” is of kind {kind[:40]} and has {found} outputs. Give such an "
                "item 2: its right answer is that of one pair."
            )
            self._fault(message, item.outputs[0], "kind")

    # making

    def make(self, item: DraftItem) -> Iterator[CheckedItem]:
        if self.is_single:
            yield from self._make_single(item)
            return
        gold = self._read_gold(item.outputs)
        if self.is_paired:
            yield from self._make_pairs(item, gold)
            return
        yield self._make_one(item.key, item.outputs, gold, extra=_merge_extra(item.outputs))

    def _make_single(self, item: DraftItem) -> Iterator[CheckedItem]:
        for number, output in enumerate(item.outputs, start=1):
            gold = self._read_gold([output])
            extra: dict[str, object] = dict(output.extra)
            if len(item.outputs) == 1:
                yield self._make_one(item.key, [output], gold, extra=extra)
                continue
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
            extra = _merge_extra(two) | _name_pair(pair)
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
            self._fault(message, output)

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
        return CheckedItem(
            key=key,
            group=shared.get("group") or group or name_group(inputs),
            cluster=shared.get("cluster", ""),
            kind=str(shared.get("kind") or Item.Kind.MAIN),
            inputs=inputs,
            extra=extra,
            gold=gold,
            outputs=tuple(CheckedOutput(output.system, output.text) for output in outputs),
            line=first.line,
            record=first.record,
        )

    def _read_gold(self, outputs: list[DraftOutput]) -> dict[str, str]:
        first, kind = outputs[0], outputs[0].shared.get("kind")
        systems = [output.system for output in outputs]
        gold = {}
        for criterion in self.config.criteria:
            field_name = f"gold_{criterion.key}"
            text = first.shared.get(field_name, "")
            if not text.strip():
                continue
            gold[criterion.key] = text
            try:
                check_gold(criterion, text, systems)
            except ValidationError as error:
                message = " ".join(error.messages).removeprefix(f"{field_name}: ")
                self._fault(message, first, field_name)
        if kind in CHECKS and not gold:
            message = f"An item of kind {kind} needs a right answer in a gold column."
            self._fault(message, first, "kind")
        if why := first.shared.get("gold_why", ""):
            gold["why"] = why
        return gold

    def _fault(self, message: str, place: DraftOutput, field_name: str = "") -> None:
        column = self._column(field_name) if field_name else ""
        self._tell(Fault(message, column=column, line=place.line, record=place.record))


def _name_pair(pair: Pair) -> dict[str, object]:
    return {"pair": pair.name} if pair.name else {}


def _merge_extra(outputs: list[DraftOutput]) -> dict[str, object]:
    """Metadata of an item; where its rows differ, by system."""
    merged: dict[str, object] = {}
    for column in dict.fromkeys(name for output in outputs for name in output.extra):
        values = {output.system: output.extra.get(column, "") for output in outputs}
        first, *others = dict.fromkeys(values.values())
        merged[column] = values if others else first
    return merged
