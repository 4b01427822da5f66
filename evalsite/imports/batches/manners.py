"""How each system writes: what breaks off, and what tells it from all others at a glance."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from evalsite.imports.batches.values import CheckedItem
from evalsite.imports.tables.faults import PLACES, Remark, name_place

_LOOKED_AT = 2_000  # outputs of each system: enough to know how it writes
_FEWEST = 10  # outputs of a system, with fewer of which nothing is said of it
_MOST_SYSTEMS = 20
_MOSTLY, _SELDOM = 0.8, 0.2
_FEWEST_CUT, _CUT_SHARE, _LEAST_LENGTH = 5, 0.05, 30
_CUT_WORDS = 6  # shorter texts end as they like
_FACTOR = 4  # markedly shorter or longer
_COPIED = 60  # shorter texts, such as “i don't know .”, stand in many places by right
_HABIT = 0.05  # a system that says the same so often does so of itself
# closing quotes, brackets, emoji and the like may follow the end of a sentence
_END = re.compile(r"""[.!?…。？！؟:;*~)\]}>"'”’»]\W*\Z""")
_SPACED = re.compile(r"\w [.,!?](?:\s|\Z)")
_WORD = re.compile(r"\S+")


@dataclass
class Manner:
    """How one system writes: of its first outputs, how many have what."""

    looked_at: int = 0
    letters: int = 0
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
    # outputs that stand word for word in the item before too, of other inputs
    last_text: str = ""
    last_inputs: dict[str, str] = field(default_factory=dict)
    copied: int = 0
    copied_places: list[str] = field(default_factory=list)

    def share(self, name: str) -> float:
        return self.counts[name] / self.looked_at

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

    def look_at(self, text: str) -> None:
        self.looked_at += 1
        self.letters += len(text)
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
            return False  # they end alike, as letters do
        enough = max(_FEWEST_CUT, _CUT_SHARE * self.outputs)
        return self.longest >= _LEAST_LENGTH and self.cut >= max(enough, 2 / 3 * self.at_longest)


class Manners:
    """How the systems of a file write, compared with one another."""

    def __init__(self) -> None:
        self._of: dict[str, Manner] = {}

    def add(self, item: CheckedItem) -> None:
        if item.kind != "main":
            return
        for output in item.outputs:
            manner = self._of.get(output.system)
            if manner is None:
                if len(self._of) > _MOST_SYSTEMS:
                    continue  # the column is probably not one of systems
                manner = self._of[output.system] = Manner()
            if not output.text:
                continue
            manner.measure(output.text, item)
            manner.compare(output.text, item)
            if manner.looked_at < _LOOKED_AT:
                manner.look_at(output.text)

    def tell(self) -> Iterator[Remark]:
        if len(self._of) > _MOST_SYSTEMS:
            return
        for name, manner in sorted(self._of.items()):
            yield from _tell_of(name, manner)
            others = [one for other, one in self._of.items() if other != name]
            if others and all(one.looked_at >= _FEWEST for one in self._of.values()):
                yield from _compare(name, manner, others)


def _tell_of(name: str, manner: Manner) -> Iterator[Remark]:
    """What is odd about the outputs of this system, whatever others write."""
    if manner.is_cut:
        yield Remark(
            "outputs_cut",
            f"Outputs of system “{name}” that stop at exactly {manner.longest:,} letters, in the "
            "middle of a sentence. They look cut off, and would be rated as such",
            manner.cut,
            manner.places,
        )
    if 0 < manner.copied <= max(_HABIT * manner.outputs, 1):
        yield Remark(
            "outputs_copied",
            f"Long outputs of system “{name}” that are word for word those of the item before, "
            "whose inputs are others. Perhaps a row was copied",
            manner.copied,
            manner.copied_places,
        )


def _compare(name: str, manner: Manner, others: Sequence[Manner]) -> Iterator[Remark]:
    """What tells the outputs of this system from those of all others."""
    told = _compare_shares(manner, others)
    told += _compare_habits("starts", manner, others) + _compare_habits("ends", manner, others)
    told += _compare_lengths(manner, others)
    for words in told:
        yield Remark(
            "system_style",
            f"Outputs of system “{name}” {words}, unlike those of every other system. Participants "
            "may come to know the system by it; if that is no part of what you study, write all "
            "outputs alike",
        )
    if _ends_open(manner, others):
        yield Remark(
            "outputs_cut",
            f"Outputs of system “{name}” end without a full stop or the like far more often than "
            f"those of the others: {manner.counts['open']:,} of {manner.counts['long']:,} longer "
            "ones. Look whether they were cut off",
        )


def _compare_shares(manner: Manner, others: Sequence[Manner]) -> list[str]:
    told = []
    for feature, has, lacks in (
        ("lower", "are mostly all in lower case", "mostly have capital letters"),
        (
            "spaced",
            "mostly have spaces before stops and commas",
            "mostly have no space before stops and commas",
        ),
    ):
        share, shares = manner.share(feature), [other.share(feature) for other in others]
        if share >= _MOSTLY and max(shares) <= _SELDOM:
            told.append(has)
        elif share <= _SELDOM and min(shares) >= _MOSTLY and len(others) > 1:
            told.append(lacks)
    return told


def _compare_habits(which: str, manner: Manner, others: Sequence[Manner]) -> list[str]:
    counts = getattr(manner, which)
    if not counts:
        return []
    words, count = counts.most_common(1)[0]
    is_habit = count >= _MOSTLY * manner.looked_at and all(
        getattr(other, which)[words] <= _SELDOM * other.looked_at for other in others
    )
    verb = "start" if which == "starts" else "end"
    return [f"mostly {verb} with “{words[:60]}”"] if is_habit else []


def _compare_lengths(manner: Manner, others: Sequence[Manner]) -> list[str]:
    mean = manner.letters / manner.looked_at
    means = [other.letters / other.looked_at for other in others]
    if mean >= _FACTOR * max(means):
        return [f"are long ({mean:,.0f} letters on average, against {max(means):,.0f} at most)"]
    if mean <= min(means) / _FACTOR:
        return [f"are short ({mean:,.0f} letters on average, against {min(means):,.0f} at least)"]
    return []


def _ends_open(manner: Manner, others: Sequence[Manner]) -> bool:
    long = sum(other.counts["long"] for other in others)
    if manner.counts["long"] < _FEWEST or long < _FEWEST:
        return False
    if manner.ends.most_common(1)[0][1] > manner.counts["long"] / 2:
        return False  # they end alike, as letters do
    share = manner.counts["open"] / manner.counts["long"]
    usual = sum(other.counts["open"] for other in others) / long
    return share >= _SELDOM and share >= 4 * max(usual, 0.025)
