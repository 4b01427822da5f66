"""What a researcher should look at before importing: nothing here keeps a file out."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from evalsite.exchange.faults import name_place

LONG_TEXT = 2000
_PLACES = 3
_MOST_SYSTEMS = 100  # with more of them the column is probably not one of systems

# what a cheap scan finds first: most texts hold none of these
_UNUSUAL = re.compile("[\ufffd\u202a-\u202e\u2066-\u2069ÂÃâ‚]")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
# UTF-8 that was read as Windows-1252 or Mac Roman and saved again: é as Ã©, — as â€” or ‚Äî
_MOJIBAKE = re.compile(
    "[ÂÃ][\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u203a"
    "\u20ac\u2122]|â[\u0080-\u00bf€]|‚Ä"
)


@dataclass
class Remark:
    """One kind of thing to look at: how often it stands in the file, and where first.

    Without a count the message is a sentence that says all.
    """

    message: str
    count: int = 0
    places: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        if not self.count:
            return f"{self.message}."
        return f"{self.message}: {self.count}. First: {'; '.join(self.places)}"


class Remarks:
    """Collects remarks while a file is read; memory does not grow with their number."""

    def __init__(self) -> None:
        self._found: dict[str, Remark] = {}

    def add(self, message: str, line: int, record: int, column: str = "") -> None:
        remark = self._found.setdefault(message, Remark(message))
        remark.count += 1
        if len(remark.places) < _PLACES:
            remark.places.append(name_place(line, record, column))

    def tell(self, sentence: str) -> None:
        """What is true of the whole file is said, without a place."""
        self._found[sentence] = Remark(sentence)

    def check_text(self, text: str, line: int, record: int, column: str) -> None:
        """Whatever is odd about this text is remarked on."""
        if len(text) > LONG_TEXT:
            self.add(f"Texts over {LONG_TEXT:,} letters", line, record, column)
        if text.count("[") > text.count("]"):
            self.add("Texts with a “[” that is never closed", line, record, column)
        if _UNUSUAL.search(text):
            self._check_signs(text, line, record, column)

    def _check_signs(self, text: str, line: int, record: int, column: str) -> None:
        if "\ufffd" in text:
            message = "Texts with the replacement sign “\ufffd”: a letter was lost before"
            self.add(message, line, record, column)
        if _MOJIBAKE.search(text):
            message = "Texts that look wrongly re-encoded, like “â€”” for a dash"
            self.add(message, line, record, column)
        if _BIDI.search(text):
            message = "Texts with signs that override the direction of writing"
            self.add(message, line, record, column)

    def check_identical(self, texts: Sequence[str], line: int, record: int) -> None:
        if len(set(texts)) < len(texts):
            self.add("Items in which two systems gave the same text", line, record)

    def extend(self, remarks: Iterable[Remark]) -> None:
        self._found |= {remark.message: remark for remark in remarks}

    def listed(self) -> list[Remark]:
        return list(self._found.values())


class SystemNames:
    """Finds the names of systems in texts, which would tell participants what they rate."""

    def __init__(self, names: Iterable[str]) -> None:
        # a name of one or two letters stands in any text by chance
        told = sorted((name for name in names if len(name) > 2), key=len, reverse=True)
        told = told if len(told) <= _MOST_SYSTEMS else []
        pattern = "|".join(re.escape(name) for name in told)
        self._pattern = re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.I) if told else None

    def stand_in(self, text: str) -> bool:
        return self._pattern is not None and self._pattern.search(text) is not None


def find_equal_outputs(items: Iterable[tuple[str, str]]) -> list[Remark]:
    """Groups in which several systems gave the same text, each output being an item of its own."""
    met: dict[str, set[str]] = defaultdict(set)
    equal: dict[str, None] = {}
    for group, text in items:
        if text in met[group]:
            equal[group] = None
        met[group].add(text)
    if not equal:
        return []
    message = "Groups in which two systems gave the same text"
    return [Remark(message, len(equal), [*islice(equal, _PLACES)])]


def find_missing_systems(groups: Iterable[tuple[str, str, Iterable[str]]]) -> list[Remark]:
    """Each system that is missing from some groups, with the first groups it is missing from.

    A group is given by its id, what to call it, and the systems of one of its items.
    """
    names: dict[str, str] = {}
    by_group: dict[str, set[str]] = defaultdict(set)
    for group, name, systems in groups:
        names.setdefault(group, name)
        by_group[group].update(systems)
    every = set().union(*by_group.values())
    if len(every) > 1 and all(len(held) == 1 for held in by_group.values()):
        return [
            Remark(
                f"No inputs have outputs of two systems: the {len(every)} systems can be compared "
                "only across different inputs"
            )
        ]
    counts = Counter(system for systems in by_group.values() for system in systems)
    return [
        Remark(
            message=f"Groups without an output of system “{system}”",
            count=len(by_group) - counts[system],
            places=[
                *islice(
                    (names[key] for key, held in by_group.items() if system not in held), _PLACES
                )
            ],
        )
        for system in sorted(every)[:_MOST_SYSTEMS]
        if counts[system] < len(by_group)
    ]
