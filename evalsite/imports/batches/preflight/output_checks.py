"""How each system writes: truncated outputs, and habits that give a system away."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from evalsite.data.tables.faults import PLACES, Remark, name_place
from evalsite.imports.batches.items import CheckedItem
from evalsite.imports.batches.preflight.check import Check, Context
from evalsite.lib.rich_text import RICH_KINDS, is_shown_as_source

_MEASURED = 2_000  # outputs of each system: enough to know how it writes
_FEWEST = 10  # outputs of a system, with fewer of which nothing is said of it
_MOST_SYSTEMS = 20
_MOSTLY, _SELDOM = 0.8, 0.2
_FEWEST_CUT, _CUT_SHARE, _LEAST_LENGTH = 5, 0.05, 30
_CUT_WORDS = 6  # shorter texts end as they like
_FACTOR = 4  # markedly shorter or longer
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
                if len(self._of) > _MOST_SYSTEMS:
                    continue  # the column is probably not one of systems
                style = self._of[output.system] = Style()
            if not output.text:
                continue
            style.measure(output.text, item)
            style.compare(output.text, item)
            if style.measured < _MEASURED:
                style.count(output.text)

    def list_warnings(self) -> Iterator[Remark]:
        if len(self._of) > _MOST_SYSTEMS:
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
            f"Outputs of system “{name}” {words}, unlike those of every other system. Participants "
            "may come to know the system by it; if that is no part of what you study, write all "
            "outputs alike",
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
    if mean >= _FACTOR * max(means):
        return [f"are long ({mean:,.0f} characters on average, against {max(means):,.0f} at most)"]
    if mean <= min(means) / _FACTOR:
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
