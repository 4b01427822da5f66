"""What to look at before importing: checks that see the items of a file one by one.

What is remembered of each item are a few numbers, never its texts.
"""

import re
from array import array
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from evalsite.data.tables.faults import PLACES, Remark, Remarks, name_place
from evalsite.imports.batches.items import CheckedItem, is_made_group
from evalsite.instruments.schema import Instrument
from evalsite.lib.dialogue import parse_dialogue
from evalsite.lib.rich_text import RICH_KINDS, is_shown_as_source
from evalsite.studies.models import Item, Study


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
        found = self._counts.total()
        if len(self._counts) < 2 or found < _FEWEST_IN_ORDER:
            return
        by_chance = 1 + found - sum(count**2 for count in self._counts.values()) / found
        compared = found - len(self._counts)
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
_CHECK_KINDS = {str(Item.Kind.GOLD), str(Item.Kind.ATTENTION)}


class ItemKinds(Check):
    """Checks and gold items, which come only if the study asks for them."""

    def add(self, item: CheckedItem) -> None:
        if item.kind not in _CHECK_KINDS:
            return
        count = self.context.study.checks_per_person
        what = (
            f"come as checks, {count} per person, and never count"
            if count
            else "nobody gets, since the settings ask for no checks"
        )
        message = f"Items of kind {item.kind}, which {what}"
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
            others = [one for other, one in self._of.items() if other != name]
            if others and all(one.measured >= _FEWEST for one in self._of.values()):
                yield from _compare(name, style, others)


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


def _compare(name: str, style: Style, others: Sequence[Style]) -> Iterator[Remark]:
    """Describe what gives away the outputs of this system."""
    told = _compare_shares(style, others)
    told += _compare_habits("starts", style, others) + _compare_habits("ends", style, others)
    told += _compare_lengths(style, others)
    for words in told:
        yield Remark(
            "system_style",
            f"Outputs of system “{name}” {words}, unlike those of every other system. People may "
            "recognise the system by it. If you don't study style, make all outputs alike",
        )
    if _ends_open(style, others):
        yield Remark(
            "outputs_cut",
            f"Outputs of system “{name}” end without a full stop or the like far more often than "
            f"those of the others: {style.counts['open']:,} of {style.counts['long']:,} longer "
            "ones. Look whether they were cut off",
        )


def _compare_shares(style: Style, others: Sequence[Style]) -> list[str]:
    told = []
    for feature, has, lacks in (
        ("lower", "are mostly all in lower case", "mostly have capital characters"),
        (
            "spaced",
            "mostly have spaces before stops and commas",
            "mostly have no space before stops and commas",
        ),
    ):
        share, shares = style.share(feature), [other.share(feature) for other in others]
        if share >= _MOSTLY and max(shares) <= _SELDOM:
            told.append(has)
        elif share <= _SELDOM and min(shares) >= _MOSTLY and len(others) > 1:
            told.append(lacks)
    return told


def _compare_habits(which: str, style: Style, others: Sequence[Style]) -> list[str]:
    counts = getattr(style, which)
    if not counts:
        return []
    words, count = counts.most_common(1)[0]
    is_habit = count >= _MOSTLY * style.measured and all(
        getattr(other, which)[words] <= _SELDOM * other.measured for other in others
    )
    verb = "start" if which == "starts" else "end"
    return [f"mostly {verb} with “{words[:60]}”"] if is_habit else []


def _compare_lengths(style: Style, others: Sequence[Style]) -> list[str]:
    mean = style.characters / style.measured
    means = [other.characters / other.measured for other in others]
    if mean >= _LENGTH_FACTOR * max(means):
        return [f"are long ({mean:,.0f} characters on average, against {max(means):,.0f} at most)"]
    if mean <= min(means) / _LENGTH_FACTOR:
        return [
            f"are short ({mean:,.0f} characters on average, against {min(means):,.0f} at least)"
        ]
    return []


def _ends_open(style: Style, others: Sequence[Style]) -> bool:
    long = sum(other.counts["long"] for other in others)
    if style.counts["long"] < _FEWEST or long < _FEWEST:
        return False
    if style.ends.most_common(1)[0][1] > style.counts["long"] / 2:
        return False  # they end alike, as characters do
    share = style.counts["open"] / style.counts["long"]
    usual = sum(other.counts["open"] for other in others) / long
    return share >= _SELDOM and share >= 4 * max(usual, 0.025)


_MOST_NAMES = 100  # with more of them the column is probably not one of systems


class SystemNames(Check):
    """Finds the names of systems in texts, which would tell participants what they rate."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        names = context.systems
        # a name of one or two characters occurs in any text by chance
        told = sorted((name for name in names if len(name) > 2), key=len, reverse=True)
        told = told if len(told) <= _MOST_NAMES else []
        pattern = "|".join(re.escape(name) for name in told)
        self._pattern = re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.I) if told else None
        self._low = [name.lower() for name in told]
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


# --- all of them ------------------------------------------------------------------------


CHECKS: tuple[type[Check], ...] = (
    SameOutputs, SystemNames, ItemKinds, Coverage, TwinItems, SystemStyle, DialogueTurns, RowOrder,
    ShownAsSource,
)  # fmt: skip


class Preflight:
    """All checks of a file; their warnings are among the remarks of the context."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._checks = [check(context) for check in CHECKS if check.is_wanted(context)]
        self._adds = [check.add for check in self._checks]

    def add(self, item: CheckedItem) -> None:
        for add in self._adds:
            add(item)

    def finish(self) -> None:
        for check in self._checks:
            self._context.remarks.extend(check.list_warnings())
