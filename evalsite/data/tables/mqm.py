"""Error spans in the TSV of WMT and MQM Viewer: a row for each error, which lies between <v> and
</v> in source or target; a row “No-error” where a rater found none."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evalsite.data.tables.table import Refused, Row, Table
from evalsite.lib.limited import read_json

COLUMNS = ("system", "doc", "docSegId", "globalSegId", "rater", "source", "target", "category",
           "severity", "metadata")  # fmt: skip
OPEN, CLOSE, NO_ERROR = "<v>", "</v>", "No-error"
SOURCE, TARGET = "source", "target"
SEVERITIES = ("Major", "Minor", "Neutral")
# as files before 2022 call them, and one that may be missing
_OTHER_NAMES = {
    "docid": "docsegid", "segid": "globalsegid", "comment": "metadata", "note": "metadata",
    "notes": "metadata",
}  # fmt: skip
_NEEDED = frozenset({"system", "doc", "rater", "source", "target", "category", "severity"})
_TAGS = re.compile("</?v>")


@dataclass(frozen=True)
class Passage:
    """An error: code points of a text from `start` up to `end`.

    One that a row doesn't place stands at the end of the target and has no characters.
    """

    place: str  # SOURCE or TARGET
    start: int
    end: int
    quote: str
    category: str
    severity: str  # in lower case
    note: str
    record: int


@dataclass
class Segment:
    """What one rater said of one output; without passages, there is no error."""

    rater: str
    system: str
    item: str
    doc: str
    source: str
    target: str
    line: int
    record: int
    passages: list[Passage] = field(default_factory=list)
    is_clean: bool = False  # a row says so


def find_columns(header: Sequence[str]) -> dict[str, int]:
    """Return the number of each column by its name in lower case; {} if this isn't such a file."""
    columns: dict[str, int] = {}
    for number, name in enumerate(header):
        folded = name.strip().casefold().replace("_", "")
        columns.setdefault(_OTHER_NAMES.get(folded, folded), number)
    is_whole = columns.keys() >= _NEEDED and not columns.keys().isdisjoint(
        ("docsegid", "globalsegid")
    )
    return columns if is_whole else {}


def read_segments(
    table: Table, severities: Collection[str] = SEVERITIES
) -> dict[tuple[str, str, str], Segment]:
    """Return what each rater said of each output, by rater, item and system, in the file's order.

    Rows without a rater only bring metadata. Refused, with the place: a passage isn't closed or is
    inside another, a row has two, a severity is unknown, a text isn't that of an earlier row, or
    there is an error beside a row without one.
    """
    return _Reader(find_columns(table.header), severities).read(table.rows)


class _Reader:
    def __init__(self, columns: Mapping[str, int], severities: Collection[str]) -> None:
        self._columns = columns
        self._severities = {name.casefold(): name for name in severities}
        self._segments: dict[tuple[str, str, str], Segment] = {}
        # by item, and by item and system: the text, and the record that brought it
        self._texts: dict[tuple[str, ...], tuple[str, int]] = {}

    def read(self, rows: Iterator[Row]) -> dict[tuple[str, str, str], Segment]:
        for row in rows:
            for problem in row.problems:
                raise Refused(problem.code, problem.message, line=row.line, record=row.record)
            self._add(row)
        return self._segments

    def _get(self, row: Row, name: str) -> str:
        number = self._columns.get(name, len(row.cells))
        return row.cells[number].strip() if number < len(row.cells) else ""

    def _add(self, row: Row) -> None:
        rater, category, severity = (
            self._get(row, name) for name in ("rater", "category", "severity")
        )
        if not rater:
            if category or severity:
                raise _blame(row, "cell_empty", "The rater is empty. Say who marked this error.")
            return
        system, doc = self._get(row, "system"), self._get(row, "doc")
        number = self._get(row, "docsegid") or self._get(row, "globalsegid")
        item = f"{doc}:{number}" if doc else number
        if not system or not item:
            raise _blame(row, "cell_empty", "Name the system, the document and the segment.")
        passages = [
            (place, *passage)
            for place in (SOURCE, TARGET)
            if (passage := self._read_text(row, place, (item, system)))
        ]
        segment = self._segments.setdefault(
            (rater, item, system),
            Segment(
                rater, system, item, doc, self._texts[SOURCE, item][0],
                self._texts[TARGET, item, system][0], row.line, row.record,
            ),
        )  # fmt: skip
        is_clean = NO_ERROR.casefold() in (category.casefold(), severity.casefold())
        if (is_clean and segment.passages) or segment.is_clean:
            raise _blame(
                row, "no_error_beside",
                f"{rater} has a row “{NO_ERROR}” and another row on this output. Keep one of them.",
            )  # fmt: skip
        if is_clean and passages:
            raise _blame(row, "no_error_beside", f"A row “{NO_ERROR}” has no {OPEN}. Remove it.")
        if is_clean:
            segment.is_clean = True
            return
        if len(passages) > 1:
            raise _blame(row, "passage_twice", _ONE_PASSAGE)
        if severity.casefold() not in self._severities:
            known = ", ".join([*self._severities.values(), NO_ERROR])
            text = f"“{severity[:40]}” isn’t a severity. Write one of {known}."
            raise _blame(row, "severity_unknown", text)
        length = len(segment.target)
        place, start, end = passages[0] if passages else (TARGET, length, length)
        text = segment.source if place == SOURCE else segment.target
        segment.passages.append(Passage(
            place, start, end, text[start:end], category, severity.casefold(),
            _read_note(self._get(row, "metadata")), row.record,
        ))  # fmt: skip

    def _read_text(self, row: Row, place: str, of: tuple[str, str]) -> tuple[int, int] | None:
        """Return which code points are marked, if any; keep the text without its marks."""
        marked = self._get(row, place)
        tags = list(_TAGS.finditer(marked))
        names = [tag[0] for tag in tags]
        if names != [OPEN, CLOSE] * (len(names) // 2):
            raise _blame(
                row, "passage_unbalanced",
                f"In the {place}, each {OPEN} needs its {CLOSE} behind it, and none inside it.",
            )  # fmt: skip
        if len(names) > 2:
            raise _blame(row, "passage_twice", _ONE_PASSAGE)
        start, end = (tags[0].start(), tags[1].start() - len(OPEN)) if tags else (0, 0)
        plain = _TAGS.sub("", marked)
        text = plain.strip()
        before = len(plain) - len(plain.lstrip())
        key = (place, *of) if place == TARGET else (place, of[0])
        first, record = self._texts.setdefault(key, (text, row.record))
        if first != text:
            whose = f"The {place} of {of[0]}" + (f" by {of[1]}" if place == TARGET else "")
            message = f"{whose} isn’t the text in record {record:,}. Write the same text in both."
            raise _blame(row, "texts_differ", message)
        if not tags:
            return None
        return tuple(min(max(at - before, 0), len(text)) for at in (start, end))  # type: ignore[return-value]


_ONE_PASSAGE = (
    f"This row marks two passages. An error has one, between {OPEN} and {CLOSE} in the source or "
    "the target; write a row for each error."
)


def _blame(row: Row, code: str, message: str) -> Refused:
    return Refused(code, message, line=row.line, record=row.record)


def _read_note(metadata: str) -> str:
    """Return the rater's note: from the JSON of newer files, or the text of older ones."""
    if not metadata.startswith("{"):
        return metadata
    try:
        return str(read_json(metadata).get("note") or "")
    except ValueError:
        return ""


# --- writing ------------------------------------------------------------------------------------


def mark_passage(text: str, start: int, end: int) -> str:
    """Return the text with a passage between its marks."""
    return f"{text[:start]}{OPEN}{text[start:end]}{CLOSE}{text[end:]}"


def write_line(cells: Sequence[str]) -> str:
    """Return a line of such a file, which has no quotes: what ends a cell or a line is a space."""
    return "\t".join(re.sub(r"[\t\r\n]", " ", cell) for cell in cells) + "\n"
