"""Checks of items as a whole: coverage by systems, duplicates, turns, order of rows."""

import re
from array import array
from collections import Counter, deque
from collections.abc import Iterator

from evalsite.data.tables.faults import PLACES, Remark, name_place
from evalsite.imports.batches.items import CheckedItem, is_made_group
from evalsite.imports.batches.preflight.check import Check, Context
from evalsite.lib.dialogue import parse_dialogue
from evalsite.studies.models import Item, Study

# --- order of rows --------------------------------------------------------------------


_FEWEST_IN_ORDER = 20  # of fewer items an order shows little
_FACTOR = 3  # so many times fewer runs than by chance
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
        self._columns = [one.name for one in context.config.columns if one.kind == "dialogue"]
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
    if _is_plain(dialogue):
        return ""
    turns = parse_dialogue(dialogue)
    if not any(turn.text.strip() for turn in turns):
        return ""
    if not any(turn.speaker for turn in turns):
        return NO_SPEAKER
    speakers = {turn.speaker.casefold() for turn in turns}
    return ONE_LINE if any(_holds_turn(turn.text, speakers) for turn in turns) else ""


def _is_plain(dialogue: str) -> bool:
    # of most dialogues enough, and much cheaper than to read all of their turns
    colons = dialogue.count(":") + dialogue.count("：")
    return colons > 0 and len(_BEGIN.findall(dialogue)) == colons


def _holds_turn(text: str, speakers: set[str]) -> bool:
    names = [one["name"] for one in _INSIDE.finditer(text)] if ":" in text or "：" in text else []
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
        self._held: list[int] = []
        self._lines, self._records = array("L"), array("L")

    def add(self, item: CheckedItem) -> None:
        place = self._places.setdefault(item.group, len(self._places))
        if place == len(self._held):
            self._held.append(0)
            self._lines.append(item.line)
            self._records.append(item.record)
        for output in item.outputs:
            # an earlier output that is shown again may be of a system that the file hasn't got
            self._held[place] |= self._bits.get(output.system, 0)

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
        count = self.context.study.checks_per_person
        what = (
            f"come as checks, {count} per person, and never count"
            if count
            else "nobody gets, since the settings ask for no checks"
        )
        message = f"Items of kind {item.kind}, which {what}"
        self.remarks.add("checks", message, item.line, item.record, self.context.kind_column)
