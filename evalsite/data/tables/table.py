"""What every reader of files returns: rows of text within limits, and what is wrong with a file."""

import re
import sys
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, NoReturn, Self

from evalsite.lib.limited import BLANK_LINES, VALUES_IN_FILE
from evalsite.lib.words import list_of
from evalsite.limits import UPLOAD_MAX_CELL, UPLOAD_MAX_COLUMNS, UPLOAD_MAX_ROWS, UPLOAD_MAX_TEXT

LONG_TEXT = 2000
PLACES = 3
_BEFORE, _SHOWN = 15, 40  # characters around the first difference of two texts

# a cheap scan for what most texts hold none of
_UNUSUAL = re.compile("[\ufffd\u202a-\u202e\u2066-\u2069ÂÃâ‚]")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
# UTF-8 that was read as Windows-1252 or Mac Roman and saved again: é as Ã©, — as â€” or ‚Äî
_MOJIBAKE = re.compile(
    "[ÂÃ][\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u203a"
    "\u20ac\u2122]|â[\u0080-\u00bf€]|‚Ä"
)
# what templates and tokenizers leave behind; not the [slots] of delexicalised texts
_LEFTOVER = re.compile(
    r"\{\{?\s*[A-Za-z_][\w .-]{0,40}\}\}?|%\(\w+\)s"
    r"|<\|?(?:/?s|unk|pad|eos|bos|sep|cls|mask|endoftext|im_start|im_end|eot_id)\|?>|<</?SYS>>"
    r"|\[(?:/?INST|UNK|PAD|SEP|CLS|MASK|EOS|BOS)\]|\b(?-i:TODO)\b|lorem ipsum",
    re.I,
)
_SHORT = 12
_LINE = re.compile(r"^line (\d+)(?: \(record \d+\))?")
_NOTHING = {"nan", "none", "null", "n/a", "undefined", "#n/a", "#value!", "#ref!"}


@dataclass(frozen=True, slots=True)
class OddPlace:
    """Characters that are no ASCII, with the text around them."""

    line: int
    before: str
    odd: str
    after: str


@dataclass(frozen=True, slots=True)
class EncodingPreview:
    """What a file that isn't UTF-8 looks like as Windows-1252, for the researcher to judge."""

    places: list[OddPlace]
    counts: dict[str, int]  # by character, the most frequent first
    undefined: OddPlace | None  # the first byte that isn't Windows-1252 either


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that keeps a file out: its code, what it is, where it is, and what to do.

    `line` is the physical line of the file, `record` the row of data, both counted from 1. They
    differ once a cell holds a line break. The line of a sheet is its row, as `unit` says.
    """

    code: str
    message: str
    column: str = ""
    line: int | None = None
    record: int | None = None
    preview: EncodingPreview | None = field(default=None, compare=False, repr=False)
    unit: str = field(default="line", compare=False, repr=False)
    # encodings that the file may be in, with words as they would then be read
    readings: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)

    @property
    def place(self) -> str:
        place = name_place(self.line, self.record, self.column)
        return name_sheet_row(place) if self.unit == "row" else place

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


@dataclass(frozen=True, slots=True)
class FaultGroup:
    """Faults of a file that say the same of one column, and where they are."""

    code: str
    message: str
    place: str
    count: int

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


def group_faults(faults: Iterable[Fault]) -> list[FaultGroup]:
    """Put equal faults together, each group at the place of its first fault."""
    groups: dict[tuple[str, str, str], list[Fault]] = {}
    for fault in faults:
        groups.setdefault((fault.code, fault.message, fault.column), []).append(fault)
    return [
        FaultGroup(code, message, _name_places(group), len(group))
        for (code, message, _), group in groups.items()
    ]


def _name_places(faults: list[Fault]) -> str:
    """Name the places of equal faults: "rows 3, 5 and 212 more, output"."""
    first = faults[0]
    lines = [fault.line for fault in faults if fault.line is not None]
    if len(faults) == 1 or not lines:
        return first.place
    shown = [str(line) for line in lines[: PLACES - 1]]
    more = len(lines) - len(shown)
    last = f"{more:,} more" if more > 1 else str(lines[-1])
    listed = f"{', '.join(shown)} and {last}" if more else " and ".join(shown)
    return f"{first.unit}s {listed}" + (f", {first.column}" if first.column else "")


@dataclass(frozen=True)
class Question:
    """A decision that only a person can make, with its answers: key, words, perhaps a meaning."""

    key: str
    text: str
    choices: tuple[tuple[str, ...], ...]
    # ids of all inputs that it is about
    examples: tuple[str, ...] = ()
    # or lines of two files: number, both texts, whether it is about this line and the second text
    around: tuple[tuple[int, str, str, bool, bool], ...] = ()
    columns: tuple[str, ...] = ()
    # the answer that a page begins with, where the others would leave something out
    proposed: str = ""


class Refused(Exception):
    """Files can't be read on from here: a fault to correct, or questions to answer first.

    `file` is the file's name; "" if it concerns all of them, or there is only one.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        file: str = "",
        line: int | None = None,
        record: int | None = None,
        preview: EncodingPreview | None = None,
        questions: Sequence[Question] = (),
        files: Sequence[Any] = (),
    ) -> None:
        super().__init__(f"{file}: {message}" if file else message)
        self.code, self.message, self.file = code, message, file
        self.questions = tuple(questions)
        # what is known of each file nevertheless, whose roles may be the reason
        self.files = list(files)
        # and the columns of these files, with their first values
        self.columns: dict[str, str] = {}
        self.fault = Fault(code, str(self), line=line, record=record, preview=preview)


def name_place(line: int | None, record: int | None, column: str = "") -> str:
    """Name a place as every message does: "line 19 (record 17), output"."""
    parts = []
    if line is not None:
        parts.append(f"line {line}" + (f" (record {record})" if record is not None else ""))
    if column:
        parts.append(column)
    return ", ".join(parts)


def name_sheet_row(place: str) -> str:
    """Name the same place in a sheet, whose rows have numbers: "row 19, output"."""
    return _LINE.sub(r"row \1", place)


@dataclass
class Remark:
    """A warning: one kind of thing to look at, how often it occurs, and where first.

    Without a count the message says all.
    """

    code: str
    message: str
    count: int = 0
    places: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        if not self.count:
            return f"{self.message}."
        return f"{self.message} ({self.count:,} found). First: {'; '.join(self.places)}"


def describe_above(place: str, texts: Sequence[str]) -> str:
    """Say that titles above the names of columns, which are at this place, aren't read."""
    named = name_plainly(texts)
    return f"Above the names of columns, in {place}, there is other text, which isn't read: {named}"


class Remarks:
    """Collects warnings while a file is read; memory doesn't grow with their number."""

    def __init__(self) -> None:
        self._remarks: dict[str, Remark] = {}

    def add(self, code: str, message: str, line: int, record: int, column: str = "") -> None:
        """Count one more place of this kind."""
        remark = self._remarks.setdefault(message, Remark(code, message))
        remark.count += 1
        if len(remark.places) < PLACES:
            remark.places.append(name_place(line, record, column))

    def tell(self, code: str, sentence: str) -> None:
        """Add a sentence about the whole file, without a place."""
        self._remarks[sentence] = Remark(code, sentence)

    def check_text(self, text: str, line: int, record: int, column: str) -> None:
        """Add whatever is odd about a text that people will read."""
        place = line, record, column
        if len(text) > LONG_TEXT:
            self.add("long_text", f"Texts over {LONG_TEXT:,} characters", *place)
        if "[" in text and text.count("[") > text.count("]"):
            self.add("open_bracket", "Texts with a “[” that is never closed", *place)
        if _may_hold_leftovers(text) and _LEFTOVER.search(text):
            message = (
                "Texts with leftovers of a template or a tokenizer, like “{name}” or “<unk>”, "
                "which people would rate as part of them"
            )
            self.add("leftover", message, *place)
        if len(text) < _SHORT and text.strip().casefold() in _NOTHING:
            message = "Texts that are nothing but “NaN”, “None”, “null” or the like: a lost value"
            self.add("lost_value", message, *place)
        if not text.isascii() and _UNUSUAL.search(text):
            self._check_characters(text, place)

    def _check_characters(self, text: str, place: tuple[int, int, str]) -> None:
        if "\ufffd" in text:
            message = "Texts with the replacement character “\ufffd”: a letter was lost earlier"
            self.add("replacement_character", message, *place)
        if _MOJIBAKE.search(text):
            message = "Texts that look wrongly re-encoded, like “â€”” for a dash"
            self.add("mojibake", message, *place)
        if _BIDI.search(text):
            message = "Texts with characters that override the text direction"
            self.add("bidi_override", message, *place)

    def extend(self, remarks: Iterable[Remark]) -> None:
        self._remarks |= {remark.message: remark for remark in remarks}

    def listed(self) -> list[Remark]:
        return list(self._remarks.values())


def _may_hold_leftovers(text: str) -> bool:
    """Pass over most texts quicker than the pattern does; a loop takes twice as long."""
    return (
        "{" in text
        or "<" in text
        or "[" in text
        or "%(" in text
        or "TODO" in text
        or "orem ipsum" in text
    )


# all of C0 but tab and line breaks; PostgreSQL can't even store NUL
_CONTROL = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f]")
# JSON can write one by an escape; no database stores it
_SURROGATE = re.compile("[\ud800-\udfff]")


def hold_control(texts: Iterable[str]) -> bool:
    """Tell quickly whether one of these texts holds a control character; most hold none."""
    return _CONTROL.search("".join(texts)) is not None


def find_control(text: str) -> str:
    """Describe the first control character of the text; "" if there is none."""
    match = _CONTROL.search(text)
    if match is None:
        return ""
    return f"a control character (U+{ord(match[0]):04X}, character {match.start() + 1:,})"


def find_surrogate(text: str) -> str:
    """Describe the first lone surrogate of the text; "" if there is none."""
    if text.isascii():
        return ""
    match = _SURROGATE.search(text)
    if match is None:
        return ""
    return f"an invalid character (U+{ord(match[0]):04X}, character {match.start() + 1:,})"


def show(text: str, most: int = 40) -> str:
    """Shorten a text so that a message can quote it, without lone surrogates."""
    short = text if len(text) <= most else f"{text[:most]}…"
    return _SURROGATE.sub("\ufffd", short)


def quote(name: object, most: int = 60) -> str:
    """Quote a name or id for a sentence, cut if it is long."""
    text = " ".join(str(name).split())
    return f"“{text}”" if len(text) <= most else f"“{text[: most - 1]}…”"


def find_difference(first: str, second: str) -> tuple[str, str]:
    """Return the parts of two texts around their first difference."""
    pairs = enumerate(zip(first, second, strict=False))
    at = next((n for n, (a, b) in pairs if a != b), min(len(first), len(second)))
    return _cut_around(first, at), _cut_around(second, at)


def _cut_around(text: str, at: int) -> str:
    start = max(0, at - _BEFORE)
    part = " ".join(text[start : start + _SHOWN].split())
    more = "…" if len(text) > start + _SHOWN else ""
    return f"{'…' if start else ''}{part}{more}"


def name_plainly(names: Sequence[object], most: int = 3) -> str:
    """Name the first few without quotes, as a sentence lists them."""
    shown = [show(" ".join(str(name).split()), 60) for name in names[:most]]
    more = [f"{len(names) - most:,} more"] if len(names) > most else []
    return list_of([*shown, *more])


def name_some(names: Sequence[object], most: int = 3) -> str:
    """Name the first few, and say that there are more."""
    named = ", ".join(quote(name) for name in names[:most])
    return f"{named} and {len(names) - most:,} more" if len(names) > most else named


# --- rows and their table ----------------------------------------------------------------


_MEGABYTE = 1024 * 1024
# how columns that contain one field are put together
JOIN, FIRST = "join", "first"
# what pandas, polars and pyarrow call the index of a data frame
_INDEX_NAME = re.compile(r"unnamed: \d+|__index_level_\d+__|level_\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Problem:
    """What keeps a row out, as its reader found it; `column` counts from 0."""

    code: str
    message: str
    column: int | None = None


# not frozen: that takes twice as long to make, and a file may hold a million of them
@dataclass(slots=True)
class Row:
    """The cells of one record, and where it starts: a line of a text, a row of a sheet."""

    line: int
    record: int
    cells: list[str]
    problems: tuple[Problem, ...] = ()


@dataclass
class FileUse:
    """A file with what it is, the systems whose outputs it holds, and how much was found."""

    name: str
    kind: str = ""  # "" if it isn't recognised
    role: str = ""  # "" if nobody knows
    systems: list[str] = field(default_factory=list)
    # those whose outputs another file has as well, and has first
    shared: list[str] = field(default_factory=list)
    size: str = ""
    is_settings: bool = False  # whether it has no rows
    run: str = ""  # what its tool calls the run


@dataclass
class Table:
    """An open file: what it looks like, and its rows still to be read, once.

    Every column has a unique name. Columns are numbered from 0 in `unnamed` (no name in the
    file, or that of a data frame's index: leave them out unless they are mapped), `repeated`
    (with the name that several columns share) and `systems` (each holds the outputs of the system
    it is named after). A reader's remarks are complete once the last row was read.
    """

    encoding: str
    delimiter: str
    header: list[str]
    header_line: int
    rows: Iterator[Row]
    remarks: Remarks = field(default_factory=Remarks)
    sheet: str = ""  # of a workbook, the one that is read
    unit: str = "line"  # what the line of a row is: of the file, or a row of a sheet or list
    systems: Collection[int] = ()
    # what was decided about the files that it was joined from, by option, in a sentence
    decided: Mapping[str, str] = field(default_factory=dict)
    # and what was asked
    answered: Mapping[str, Question] = field(default_factory=dict)
    # these files, and how they are joined
    files: Sequence[FileUse] = ()
    joined: str = ""
    # columns of these files, some of which have another name here, with their first values
    sources: Mapping[str, str] = field(default_factory=dict)
    # columns that may be what the systems got
    candidates: Sequence[str] = ()
    # columns that a tool is known to have as inputs
    inputs: Sequence[str] = ()
    # what was chosen for its columns when files were joined
    fields: Mapping[str, str] = field(default_factory=dict)
    # why outputs without a text have none, by item and system, if the file says it
    failures: Mapping[tuple[str, str], str] = field(default_factory=dict)
    # whether its texts are whole: none is an object to look into
    is_joined: bool = False
    unnamed: set[int] = field(init=False)
    repeated: dict[int, str] = field(init=False)

    def __post_init__(self) -> None:
        self.header, self.unnamed, self.repeated = _name_columns(self.header)
        if self.header and self.header[0].casefold() == "index":
            self._mark_index()
        self.rows = _leave_out_headers(self.rows, self.remarks)

    def merge(self, groups: Mapping[tuple[int, ...], str]) -> None:
        """Put columns together in the first of them: `join` all of their texts, or the `first`."""
        self.rows = _merge_rows(self.rows, groups)

    def check_mapped(self, columns: Collection[str]) -> list[Fault]:
        """Return a fault for each name that several columns share, if one of them is used."""
        names = {name for number, name in self.repeated.items() if self.header[number] in columns}
        return [
            Fault(
                "column_duplicate",
                f"{list(self.repeated.values()).count(name)} columns have this name (case and "
                "outer spaces don't count). Rename or remove all but one.",
                column=name,
                line=self.header_line,
            )
            for name in dict.fromkeys(self.repeated.values())
            if name in names
        ]

    def _mark_index(self) -> None:
        """A first column "index" that begins with 0 numbers the rows of a data frame."""
        try:
            first = next(self.rows, None)
        except Refused as error:
            self.rows = _raise_later(error)
            return
        if first is not None:
            self.rows = chain([first], self.rows)
            if first.cells[:1] == ["0"]:
                self.unnamed.add(0)


_IMPORT_ID = re.compile(r"\s*\{\s*\"ImportId\"")


def _leave_out_headers(rows: Iterator[Row], remarks: Remarks) -> Iterator[Row]:
    """Leave out two more rows of names, of which the second holds nothing but import ids."""
    first = list(islice(rows, 2))
    if len(first) == 2 and first[1].cells and all(map(_IMPORT_ID.match, first[1].cells)):
        remarks.tell(
            "header_rows",
            "The rows 2 and 3 are header rows too, with the questions and ids that Qualtrics "
            "writes. They were left out",
        )
        first = []
    yield from first
    yield from rows


def _merge_rows(rows: Iterator[Row], groups: Mapping[tuple[int, ...], str]) -> Iterator[Row]:
    most = max(number for group in groups for number in group)
    for row in rows:
        if len(row.cells) > most:
            for group, how in groups.items():
                texts = [row.cells[number] for number in group if row.cells[number].strip()]
                row.cells[group[0]] = "\n\n".join(texts if how == JOIN else texts[:1])
        yield row


_PEEKED = 50


def peek(table: Table) -> list[Row]:
    """Return the first rows, which are read again as if nothing had happened."""
    first: list[Row] = []
    try:
        for row in table.rows:
            first.append(row)
            if len(first) == _PEEKED:
                break
    except Refused as error:
        table.rows = chain(first, _raise_later(error))
    else:
        table.rows = chain(first, table.rows)
    return first


def _raise_later(error: Refused) -> Iterator[Row]:
    yield from ()
    raise error


def _name_columns(header: Sequence[str]) -> tuple[list[str], set[int], dict[int, str]]:
    """Return a name for each column, numbers of those without one, and names used twice."""
    stripped = [name.strip() for name in header]
    keys = [_fold(name) for name in stripped]
    counts = Counter(keys)
    taken, met = set(counts), Counter[str]()
    names: list[str] = []
    unnamed, repeated = set(), {}
    for number, (name, folded) in enumerate(zip(stripped, keys, strict=True)):
        if not name:
            unnamed.add(number)
            name = _make_free(f"column {number + 1}", taken)
        elif counts[folded] > 1:
            repeated[number] = stripped[keys.index(folded)]
            met[folded] += 1
            if met[folded] > 1:
                name = _make_free(f"{name} ({met[folded]})", taken)
        elif number == 0 and _INDEX_NAME.fullmatch(name):
            unnamed.add(number)
        names.append(name)
    return names, unnamed, repeated


def _fold(name: str) -> str:
    """Return a name for comparison: “é” is the same letter as “e” and an accent after it."""
    return unicodedata.normalize("NFC", name.casefold())


def _make_free(name: str, taken: set[str]) -> str:
    while _fold(name) in taken:
        name += "'"
    taken.add(_fold(name))
    return name


@cache
def load_names() -> dict[str, list[str]]:
    """Return by field what columns are called in tables that scripts write."""
    text = Path(__file__).with_name("columns.toml").read_text(encoding="utf-8")
    return {
        field: [name.strip().casefold() for name in names]
        for field, names in tomllib.loads(text).items()
    }


def number_rows(rows: Iterable[tuple[int, list[str]]], limits: "Limits") -> Iterator[Row]:
    """Yield the rows that hold something, from their lines and cells."""
    number = blank = values = 0
    for line, cells in rows:
        if any(map(str.strip, cells)):
            number += 1
            values += len(cells)
            limits.check_rows(number, line)
            limits.check_values(values, line)
            yield Row(line, number, cells)
        else:
            blank += 1
            limits.check_blank(blank, line)


def check_cells(cells: list[str], limits: "Limits") -> Iterator[Problem]:
    """Yield what is wrong with cells, and empty them: no page could show what is in them."""
    for column, cell in enumerate(cells):
        if len(cell) > limits.cell:
            message = f"The cell has more than {limits.cell:,} characters."
            yield Problem("cell_too_long", message, column)
            cells[column] = ""
        elif surrogate := find_surrogate(cell):
            yield Problem("surrogate", f"The text holds {surrogate}. Correct or remove it.", column)
            cells[column] = ""


@dataclass(frozen=True)
class Limits:
    """How much of everything a file may hold; texts and columns are counted, not stored sizes."""

    rows: int = UPLOAD_MAX_ROWS
    text: int = UPLOAD_MAX_TEXT  # bytes, unpacked
    cell: int = UPLOAD_MAX_CELL  # characters
    columns: int = UPLOAD_MAX_COLUMNS
    values: int = VALUES_IN_FILE  # rows x columns, or what JSON holds

    def lift(self) -> Self:
        """Allow any number of rows: nobody waits for a page."""
        return replace(self, rows=sys.maxsize, text=sys.maxsize, values=sys.maxsize)

    @property
    def record(self) -> int:
        """Return the most characters of a record: room for several of the longest cells."""
        return 8 * self.cell

    def check_rows(self, record: int, line: int) -> None:
        if record > self.rows:
            raise Refused(
                "too_many_rows",
                f"The file has more than {self.rows:,} rows. Split it and upload the parts one "
                "after the other, or have it imported whole on the server, by its command with "
                "--no-limit, such as manage.py import_batch --no-limit.",
                line=line,
                record=record,
            )

    def check_values(self, count: int, line: int) -> None:
        if count > self.values:
            raise Refused(
                "too_many_values",
                f"The file has more than {self.values:,} values, which are its rows times its "
                "columns. Remove columns you don't need, or split the file and upload the parts "
                "one after the other.",
                line=line,
            )

    def check_blank(self, count: int, line: int) -> None:
        most = min(self.rows, BLANK_LINES)
        if count > most:
            raise Refused(
                "too_many_rows",
                f"The file has more than {most:,} empty lines. Remove them.",
                line=line,
            )

    def check_width(self, count: int, line: int) -> None:
        if count > self.columns:
            raise Refused(
                "too_many_columns",
                f"The file has more than {self.columns:,} columns, which is the most that can be "
                "read. Remove those you don't need.",
                line=line,
            )

    def check_text(self, size: int) -> None:
        if size > self.text:
            raise Refused(
                "too_large",
                f"The file holds {size / _MEGABYTE:,.0f} MB of text, but at most "
                f"{self.text / _MEGABYTE:,.0f} MB can be read. Split it and upload the parts one "
                "after the other.",
            )

    def refuse_record(self, line: int) -> NoReturn:
        raise Refused(
            "cell_too_long",
            f"The row that starts here has more than {self.record:,} characters. "
            "Shorten it, or look for a quote that is never closed.",
            line=line,
        )
