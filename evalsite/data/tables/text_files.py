"""Text files: their encoding, which is found and checked, their lines and rows of cells."""

import codecs
import csv
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import dropwhile, islice
from typing import Any, BinaryIO

from evalsite.data.tables.table import (
    EncodingPreview,
    Limits,
    OddPlace,
    Refused,
    Remarks,
    Row,
    Table,
    check_cells,
    describe_above,
    number_rows,
)
from evalsite.lib.limited import VALUES_IN_TEXT, TooMuch, read_cells

WINDOWS_1252 = "windows-1252"
# what a text may be in that isn't UTF-8, as it is called, and where; Python's name if it differs
ENCODINGS = {
    WINDOWS_1252: ("Windows-1252", "Western Europe"),
    "windows-1250": ("Windows-1250", "Central Europe"),
    "windows-1251": ("Windows-1251", "Cyrillic"),
    "windows-1253": ("Windows-1253", "Greek"),
    "windows-1254": ("Windows-1254", "Turkish"),
    "windows-1255": ("Windows-1255", "Hebrew"),
    "windows-1256": ("Windows-1256", "Arabic"),
    "windows-1257": ("Windows-1257", "Baltic"),
    "iso-8859-2": ("ISO 8859-2", "Central Europe"),
    "iso-8859-15": ("ISO 8859-15", "Western Europe"),
    "koi8-r": ("KOI8-R", "Russian"),
    "mac-roman": ("Mac Roman", "Western Europe"),
    "cp850": ("DOS 850", "Western Europe"),
    "shift-jis": ("Shift-JIS", "Japanese"),
    "euc-jp": ("EUC-JP", "Japanese"),
    "gb18030": ("GB 18030", "Chinese"),
    "big5": ("Big5", "Chinese, traditional"),
    "euc-kr": ("EUC-KR", "Korean"),
    "utf-16-le": ("UTF-16LE", "without a byte order mark"),
    "utf-16-be": ("UTF-16BE", "without a byte order mark"),
}
_CODECS = {WINDOWS_1252: "cp1252", "shift-jis": "cp932", "euc-kr": "cp949", "big5": "cp950"}
_MOST_READINGS, _MOST_WORDS, _LONGEST_WORD = 8, 3, 24
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff]")
_WORD = re.compile(r"[^\s,;:?|\"'“”()\[\]{}]+")
_ODD_SIGN = re.compile("[^\x00-\x7f–—]")
_CASES = re.compile(r"[^\W\d_]+")
_CHUNK = 64 * 1024
_ENCODINGS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8 with a byte order mark"),
    # before UTF-16, whose mark begins alike
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)
# which bytes of the first two characters are 0, where there is no mark: those are ASCII
_UNMARKED: dict[tuple[int, ...], str] = {
    (0, 1, 1, 1, 0, 1, 1, 1): "UTF-32LE",
    (1, 1, 1, 0, 1, 1, 1, 0): "UTF-32BE",
    (0, 1, 0, 1, 0, 1, 0, 1): "UTF-16LE",
    (1, 0, 1, 0, 1, 0, 1, 0): "UTF-16BE",
}
# other encodings, which are known by letters that no other language has
_KANA = re.compile("[\u3041-\u30fa]")
_BY_KANA = {"shift_jis": "Shift-JIS", "euc_jp": "EUC-JP"}
_LEAST_LETTERS, _LEAST_SHARE = 2, 0.3
_ODD = re.compile("[^\x00-\x7f]+")
_UNDEFINED = re.compile("[\udc80-\udcff]")  # as surrogateescape writes a byte without a character
_BEFORE, _AFTER, _PLACES = 40, 20, 10
_SHOW_ANYWAY = 3  # further places only for characters not shown yet
_MOST_COUNTED = 1_000


@dataclass(frozen=True)
class TextFile:
    """A file whose bytes are known to be text: it may be read from its start again and again."""

    source: BinaryIO
    codec: str
    encoding: str  # in words
    skip: int = 0  # bytes of the byte order mark
    remark: str = ""  # on how it was decoded

    def open(self) -> io.TextIOWrapper:
        """Return the text from its start; detach it when done, or the source is closed with it."""
        return _open(self.source, self.codec, "strict", self.skip)

    def holds(self, ascii_text: str) -> bool:
        """Return whether this is anywhere in the file."""
        sought = ascii_text.encode(self.codec)
        self.source.seek(self.skip)
        kept = b""
        while chunk := self.source.read(_CHUNK):
            if sought in kept + chunk:
                return True
            kept = chunk[-len(sought) :]
        return False

    def read_start(self, size: int = 4096) -> str:
        text = self.open()
        try:
            return text.read(size)
        finally:
            text.detach()


def _open(source: BinaryIO, codec: str, errors: str, skip: int = 0) -> io.TextIOWrapper:
    source.seek(skip)
    # newline="": lines end at LF, CR LF or CR, and keep their ends
    return io.TextIOWrapper(source, encoding=codec, errors=errors, newline="")


def open_text(
    source: BinaryIO, limits: Limits, options: Mapping[str, Any] | None = None
) -> TextFile:
    """Return the file as text of a known encoding; Refused shows where it isn't any.

    What isn't UTF-8 is read in another encoding only if `options` say that a person chose it.
    """
    limits.check_text(source.seek(0, io.SEEK_END))
    chosen = str((options or {}).get("encoding") or "")
    try:
        codec, encoding, skip = _find_encoding(source)
        _check_encoding(source, codec, skip)
    except Refused as error:
        preview = error.fault.preview
        if preview is not None and chosen == WINDOWS_1252:
            return _open_windows_1252(source, preview)
        if error.code != "not_utf8" or _has_mark(source):
            raise
        if chosen in ENCODINGS and chosen != WINDOWS_1252:
            return _open_chosen(source, chosen)
        error.fault = replace(error.fault, readings=tuple(_list_readings(source)))
        raise
    return TextFile(source, codec, encoding, skip)


def _has_mark(source: BinaryIO) -> bool:
    source.seek(0)
    head = source.read(8)
    return any(head.startswith(mark) for mark, *_ in _ENCODINGS)


def _open_chosen(source: BinaryIO, chosen: str) -> TextFile:
    """Return the file in an encoding that a person chose; Refused if it isn't in that one."""
    name, _ = ENCODINGS[chosen]
    codec = _CODECS.get(chosen, chosen)
    source.seek(0)
    decoder = codecs.getincrementaldecoder(codec)("strict")
    line, tail = 1, ""
    while True:
        chunk = source.read(_CHUNK)
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            good = error.object[: error.start].decode(codec, "ignore")
            line += _count_breaks(good, tail.endswith("\r"))
            before = _show_before(re.split("[\r\n]", tail + good)[-1])
            message = f"The file isn't {name} {before}. Choose others in which it is written."
            refused = Refused("encoding_differs", message, line=line)
            refused.fault = replace(refused.fault, readings=tuple(_list_readings(source)))
            raise refused from None
        if not chunk:
            break
        line += _count_breaks(text, tail.endswith("\r"))
        tail = (tail + text)[-_BEFORE:]
    return TextFile(source, codec, name, remark=f"The file was read as {name}, as chosen")


def _list_readings(source: BinaryIO) -> Iterator[tuple[str, str]]:
    """Yield encodings that the first odd lines may be in, with words as they would then be read.

    Those in which words look like words come first.
    """
    source.seek(0)
    unmarked = _find_unmarked(source.read(8))
    start = _read_odd(source)
    texts: dict[str, str] = {}
    for name in ENCODINGS:
        if ENCODINGS[name][0] != unmarked and (unmarked or name.startswith("utf-16")):
            continue
        decoder = codecs.getincrementaldecoder(_CODECS.get(name, name))("strict")
        with suppress(UnicodeDecodeError):
            text = decoder.decode(start)
            if not _CONTROLS.search(text):
                # of encodings that read the same, the first
                texts.setdefault(text, name)
    rated = sorted(texts, key=lambda text: -_rate_words(text))
    for text in rated[:_MOST_READINGS]:
        words = dict.fromkeys(_list_odd_words(text) or text.split())
        yield texts[text], ", ".join(f"“{word[:_LONGEST_WORD]}”" for word in [*words][:_MOST_WORDS])


def _read_odd(source: BinaryIO) -> bytes:
    """Return lines from the first on that isn't ASCII; from the start if there is none."""
    source.seek(0)
    at = 0
    while chunk := source.read(_CHUNK):
        if b"\0" in chunk:
            # two bytes a character
            break
        if not chunk.isascii():
            odd = next(number for number, byte in enumerate(chunk) if byte > 127)
            source.seek(at + chunk.rfind(b"\n", 0, odd) + 1)
            return source.read(_CHUNK)
        at += len(chunk)
    source.seek(0)
    return source.read(_CHUNK)


def _list_odd_words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if _ODD_SIGN.search(word)]


def _rate_words(text: str) -> float:
    """Return the share of words with odd characters that are of one script, in usual case."""
    words = _list_odd_words(text)[:200]
    good = 0
    for word in words:
        parts = _CASES.findall(word)
        letters = "".join(parts)
        scripts = {_find_script(letter) for letter in letters}
        is_usual = all(part in (part.lower(), part.upper(), part.capitalize()) for part in parts)
        has_signs = any(unicodedata.category(sign)[0] == "S" for sign in word if not sign.isascii())
        good += bool(letters) and len(scripts) == 1 and is_usual and not has_signs
    return round(good / len(words), 1) if words else 0


def _find_script(letter: str) -> str:
    script = unicodedata.name(letter, "").partition(" ")[0]
    return "CJK" if script in ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA") else script


def _find_encoding(source: BinaryIO) -> tuple[str, str, int]:
    source.seek(0)
    head = source.read(8)
    for mark, codec, name in _ENCODINGS:
        if head.startswith(mark):
            return codec, name, len(mark)
    if unmarked := _find_unmarked(head):
        message = f"The file is {unmarked} without a byte order mark. {_advise(unmarked)}."
        raise Refused("not_utf8", message, line=1)
    return "utf-8", "UTF-8", 0


def _find_unmarked(head: bytes) -> str:
    return _UNMARKED.get(tuple(int(byte == 0) for byte in head), "")


def _check_encoding(source: BinaryIO, codec: str, skip: int) -> None:
    """Decode the whole file; Refused shows what is before the first byte that is wrong."""
    source.seek(skip)
    decoder = codecs.getincrementaldecoder(codec)("strict")
    line, tail = 1, ""
    while True:
        chunk = source.read(_CHUNK)
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            good = error.object[: error.start].decode(codec, "ignore")
            line += _count_breaks(good, tail.endswith("\r"))
            _refuse_encoding(source, codec, skip, line, tail + good)
        if not chunk:
            return
        line += _count_breaks(text, tail.endswith("\r"))
        tail = (tail + text)[-_BEFORE:]


def _refuse_encoding(source: BinaryIO, codec: str, skip: int, line: int, before: str) -> None:
    shown = _show_before(re.split("[\r\n]", before)[-1])
    if codec != "utf-8":
        raise Refused(
            "utf16_damaged",
            f"The file isn't valid {codec[:6].upper()} {shown}. Save it as CSV UTF-8 and upload "
            "that file.",
            line=line,
        ) from None
    if not skip and (name := _guess_encoding(source)):
        raise Refused(
            "not_utf8",
            f"The file isn't UTF-8 {shown}. It seems to be {name}. {_advise(name)}.",
            line=line,
        ) from None
    preview = None if skip else _preview_windows_1252(source)
    advice = "Save it as CSV UTF-8 and upload that file"
    if preview is not None and preview.undefined is None:
        advice += ", or confirm that it is Windows-1252"
    raise Refused(
        "not_utf8", f"The file isn't UTF-8 {shown}. {advice}.", line=line, preview=preview
    ) from None


def _advise(encoding: str) -> str:
    return (
        "Save it as CSV UTF-8 and upload that file (in Excel: Save as, CSV UTF-8; in a shell: "
        f"iconv -f {encoding} -t UTF-8)"
    )


def _guess_encoding(source: BinaryIO) -> str:
    """Return the encoding in which the text is Japanese; "" if it is in none."""
    source.seek(0)
    start = source.read(_CHUNK)
    for codec, name in _BY_KANA.items():
        try:
            # the last character may be cut
            text = codecs.getincrementaldecoder(codec)("strict").decode(start)
        except UnicodeDecodeError:
            continue
        letters = len(_KANA.findall(text))
        if letters >= max(_LEAST_LETTERS, _LEAST_SHARE * sum(not sign.isascii() for sign in text)):
            return name
    return ""


def _show_before(text: str) -> str:
    return f"after “{text[-_BEFORE:]}”" if text else "at the start of this line"


def _count_breaks(text: str, after_return: bool) -> int:
    """Count line breaks in a stretch of text; CR LF is one, also across two stretches."""
    both = text.count("\r\n") + (after_return and text.startswith("\n"))
    return text.count("\n") + text.count("\r") - both


# --- Windows-1252 ---------------------------------------------------------------


def _preview_windows_1252(source: BinaryIO) -> EncodingPreview | None:
    """Show what the file would look like in Windows-1252; None if it is no text."""
    lines = _open(source, "cp1252", "surrogateescape")
    places: list[OddPlace] = []
    counts = Counter[str]()
    undefined = None
    number, shown = 1, 0  # as far as the last place shows this line
    try:
        while line := lines.readline(_CHUNK):
            if "\0" in line:
                return None
            if not line.isascii():
                for match in _ODD.finditer(line):
                    odd = set(match[0])
                    is_new = not counts.keys() >= odd
                    counts.update({sign: match[0].count(sign) for sign in odd})
                    if match.end() <= shown or len(places) == _PLACES:
                        continue
                    if is_new or len(places) < _SHOW_ANYWAY:
                        places.append(_make_place(line, number, match.span()))
                        shown = match.end() + _AFTER
                if undefined is None and (undefined_match := _UNDEFINED.search(line)):
                    undefined = _make_place(line, number, undefined_match.span())
            number, shown = number + line.endswith(("\n", "\r")), 0
    finally:
        lines.detach()
    known = {odd: n for odd, n in counts.most_common(_MOST_COUNTED) if not _UNDEFINED.match(odd)}
    return EncodingPreview(places, known, undefined)


def _make_place(line: str, number: int, span: tuple[int, int]) -> OddPlace:
    start, end = span
    end = min(end, start + _AFTER)
    parts = line[max(0, start - _BEFORE) : start], line[start:end], line[end : end + _AFTER]
    before, odd, after = (_UNDEFINED.sub("\ufffd", part) for part in parts)
    return OddPlace(number, before, odd, after.rstrip("\r\n"))


def _open_windows_1252(source: BinaryIO, preview: EncodingPreview) -> TextFile:
    if place := preview.undefined:
        raise Refused(
            "not_windows_1252",
            f"The file isn't Windows-1252 either: it has a byte without a character "
            f"{_show_before(place.before)}. Save it as CSV UTF-8 and upload that file.",
            line=place.line,
        )
    first = ", ".join(f"“{odd}” ({count:,})" for odd, count in list(preview.counts.items())[:10])
    count = sum(preview.counts.values())
    remark = (
        f"The file was read as Windows-1252, as confirmed. It has {count:,} characters that look "
        f"different in other encodings: {first}{' and others' if len(preview.counts) > 10 else ''}"
    )
    return TextFile(source, "cp1252", "Windows-1252", remark=remark)


# --- lines ----------------------------------------------------------------------


class Lines:
    """Physical lines with their ends, counted; those of the current record are kept."""

    def __init__(self, text: TextFile, limits: Limits) -> None:
        self._text = text.open()
        self._limits = limits
        self._most = limits.record
        self.number = 0
        self.first = 1
        self.record: list[str] = []
        self._size = self._blank = 0

    def __iter__(self) -> "Lines":
        return self

    def __next__(self) -> str:
        line = self._text.readline(self._most + 1)
        if not line:
            raise StopIteration
        self.number += 1
        self.record.append(line)
        self._size += len(line)
        if self._size > self._most:
            self._limits.refuse_record(self.first)
        return line

    def start_record(self) -> None:
        self.record.clear()
        self._size = 0
        self.first = self.number + 1

    def pass_blank(self) -> None:
        """Count an empty line, of which there may not be too many."""
        self._blank += 1
        self._limits.check_blank(self._blank, self.first)

    def close(self) -> None:
        """Detach from the source without closing it; its opener does that."""
        if not self._text.closed:
            self._text.detach()


# --- rows of cells, such as CSV -----------------------------------------------------------


PIPE = "pipe"
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": PIPE}
_DECLARED = re.compile(r"sep=([,;\t|])[\r\n]*", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')
# records among which the names of columns are looked for, and the fewest columns below titles
_ROWS_ABOVE, _LEAST_COLUMNS = 20, 3


def open_delimited(text: TextFile, limits: Limits, separator: str = "") -> Table:
    """Read the header; the rows follow as they are asked for.

    `separator`: what separates columns in words, if a person said so.
    """
    # process-wide in Python, so it is set to the same number each time
    csv.field_size_limit(limits.cell)
    delimiter, is_declared = _find_delimiter(text, limits)
    chosen = [sign for sign, name in SEPARATORS.items() if name == separator]
    titles = 0
    if not is_declared:
        delimiter, titles = _find_titles(text, chosen or [delimiter, *SEPARATORS], limits)
    delimiter = chosen[0] if chosen else delimiter
    quotes, remark = _find_quotes(text, delimiter, limits)
    remarks = Remarks()
    if remark:
        remarks.tell(*remark)
    records = _read_records(Lines(text, limits), delimiter, limits, quotes)
    above: list[str] = []
    for line, cells in records:
        if is_declared:
            is_declared = False
        elif titles:
            titles -= 1
            above += filter(None, map(str.strip, cells))
        elif any(cell.strip() for cell in cells):
            if above:
                remarks.tell("rows_above", describe_above(f"line {line:,}", above))
            limits.check_width(len(cells), line)
            rows = number_rows(records, limits)
            return Table(text.encoding, SEPARATORS[delimiter], cells, line, rows, remarks)
    raise Refused("empty_file", "The file has no rows: it is empty.")


def _find_titles(text: TextFile, delimiters: Sequence[str], limits: Limits) -> tuple[str, int]:
    """Return what separates columns, and how many records above their names are titles.

    A title fills the first cell alone, and all records below it have the same width. The first
    line may be a title, so another delimiter than it suggests may be right.
    """
    for delimiter in delimiters:
        records = _read_records(Lines(text, limits), delimiter, limits, _TWICE)
        try:
            with closing(records):
                first = [cells for _, cells in islice(records, _ROWS_ABOVE)]
        except Refused:
            continue
        table = [*dropwhile(lambda cells: not any(map(str.strip, cells[1:])), first)]
        widths = set(map(len, table))
        titles = len(first) - len(table)
        if not titles and delimiter == delimiters[0] and len(widths) == 1:
            break
        if titles and len(table) > 1 and len(widths) == 1:
            width, names = len(table[0]), {*filter(None, map(str.strip, table[0]))}
            if width >= _LEAST_COLUMNS and len(names) >= width - 1:
                return delimiter, titles
    return delimiters[0], 0


# how quotes are written inside of cells: twice, behind a backslash, or as any other character
_TWICE, _BACKSLASH, _BARE = "twice", "backslash", "bare"
_AS_QUOTES = (
    "csv_backslashes",
    'Quotes inside of cells have a backslash before them (\\"), as some programs write them. They '
    "were read as quotes",
)
_AS_CHARACTERS = (
    "csv_bare_quotes",
    "Cells begin with quotes that don't end them, so all quotes are read as characters",
)


def _find_quotes(
    text: TextFile, delimiter: str, limits: Limits
) -> tuple[str, tuple[str, str] | None]:
    """Return how quotes are written, and what to say of it; only odd files are read once more."""
    plain = _TWICE, None
    has_backslashes = text.holds('\\"')
    if not has_backslashes and not (delimiter == "\t" and text.holds('"')):
        return plain
    code, _ = _try_quotes(text, delimiter, limits, _TWICE)
    if code == "stray_quote":
        if has_backslashes and not _try_quotes(text, delimiter, limits, _BACKSLASH)[0]:
            return _BACKSLASH, _AS_QUOTES
        if delimiter == "\t" and len(_try_quotes(text, delimiter, limits, _BARE)[1]) == 1:
            return _BARE, _AS_CHARACTERS
    return plain


def _try_quotes(
    text: TextFile, delimiter: str, limits: Limits, quotes: str
) -> tuple[str, set[int]]:
    """Return what is wrong with a file that is read so, and the widths of its records."""
    widths: set[int] = set()
    try:
        for _, cells in _read_records(Lines(text, limits), delimiter, limits, quotes):
            widths.add(len(cells))
    except Refused as refused:
        return refused.code, widths
    return "", widths


def _find_delimiter(text: TextFile, limits: Limits) -> tuple[str, bool]:
    """Find what separates the header, and whether a line before it says so, such as sep=;."""
    stream = text.open()
    try:
        header = line = ""
        blank = 0
        # the name of a column may go on in the next line
        while not header.strip() or (header.count('"') % 2 and len(header) < limits.record):
            line = stream.readline(limits.record)
            if not line:
                break
            header = header + line if header.strip() else line
            blank += not header.strip()
            limits.check_blank(blank, blank)
    finally:
        stream.detach()
    if declared := _DECLARED.fullmatch(header):
        return declared[1], True
    bare = _QUOTED.sub("", header)
    return max(SEPARATORS, key=bare.count), False


def _read_records(
    lines: Lines, delimiter: str, limits: Limits, quotes: str
) -> Generator[tuple[int, list[str]], None, None]:
    """Yield line and cells of each record, the header too, but no empty lines."""
    source: Iterable[str] = lines
    if quotes == _BACKSLASH:
        source = (line.replace('\\"', '""') for line in lines)
    reader = read_cells(source, delimiter=delimiter, has_quotes=quotes != _BARE)
    try:
        while True:
            lines.start_record()
            try:
                cells = next(reader)
            except StopIteration:
                return
            except TooMuch:
                limits.check_width(VALUES_IN_TEXT + 1, lines.first)
                raise
            except csv.Error as error:
                raise _describe_error(str(error), lines, delimiter) from None
            if cells:
                yield lines.first, cells
            else:
                lines.pass_blank()
    finally:
        lines.close()


def _describe_error(error: str, lines: Lines, delimiter: str) -> Refused:
    """Say what Python's csv module found, at the line of the quote that went wrong."""
    opened = _find_open_quote(lines.record, lines.first, delimiter)
    code = "stray_quote"
    if "field limit" in error:
        code = "cell_too_long"
        message = f"A cell has more than {csv.field_size_limit():,} characters."
        if opened is not None:
            message += " Perhaps a quote that opens in this line is never closed."
    elif opened is None:
        message = f"The row can't be read as CSV ({error})."
    elif "unexpected end" in error:
        code = "unclosed_quote"
        message = "A quote that opens in this line is never closed. Close it, or double it."
    else:
        message = (
            f"A quote that opens in this line ends in line {lines.number}, and other text follows "
            'it. Close it before the delimiter; write a quote inside a cell twice ("").'
        )
    return Refused(code, message, line=opened or lines.first)


def _find_open_quote(record: list[str], first: int, delimiter: str) -> int | None:
    """Find the line of the quote that went wrong in this record; None if all are closed."""
    opened, is_quoted, at_start, after_quote = None, False, True, False
    for number, line in enumerate(record, start=first):
        for char in line:
            if is_quoted:
                is_quoted, after_quote = char != '"', char == '"'
            elif char == '"' and (at_start or after_quote):
                opened = number if at_start else opened
                is_quoted, at_start = True, False
            elif after_quote and char != delimiter and char not in "\r\n":
                return opened  # text after a closing quote: here the reader stopped
            else:
                at_start, after_quote = char == delimiter, False
    return opened if is_quoted else None


# --- Markdown ---------------------------------------------------------------------------


# titles, the names of columns, and the line of dashes below them
_MARKDOWN = re.compile(
    r"(?P<above>(?:(?:#[^\r\n]*|(?!#)[^\r\n,;\t|\"]*)\r?\n){0,20})"
    r"(?P<header>[^\r\n]*\|[^\r\n]*)\r?\n"
    r"(?=[^\r\n]*-)[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)*[ \t]*(?::?-+:?[ \t]*)?\r?(?:\n|$)"
)
_BAR = re.compile(r"(?<!\\)\|")


def open_markdown(text: TextFile, start: str, limits: Limits) -> Table | None:
    """Read a table as Markdown has it; None if the file is something else."""
    match = _MARKDOWN.match(start)
    if match is None:
        return None
    remarks = Remarks()
    line = match["above"].count("\n") + 1
    if above := [*filter(None, (part.strip(" #\r") for part in match["above"].split("\n")))]:
        remarks.tell("rows_above", describe_above(f"line {line:,}", above))
    header = _split_bars(match["header"])
    limits.check_width(len(header), line)
    return Table(text.encoding, PIPE, header, line, _read_markdown(text, line, limits), remarks)


def _read_markdown(text: TextFile, header_line: int, limits: Limits) -> Iterator[Row]:
    for row in number_rows(_read_bars(Lines(text, limits), header_line + 1, limits), limits):
        row.problems = tuple(check_cells(row.cells, limits))
        yield row


def _read_bars(
    lines: Lines, passed: int, limits: Limits
) -> Generator[tuple[int, list[str]], None, None]:
    """Yield line and cells of each line below these, the empty ones too."""
    try:
        lines.start_record()
        for line in lines:
            if line.count("|") > VALUES_IN_TEXT:
                limits.check_width(VALUES_IN_TEXT + 1, lines.number)
            if lines.number > passed:
                yield lines.number, _split_bars(line)
            lines.start_record()
    finally:
        lines.close()


def _split_bars(line: str) -> list[str]:
    """Return the cells of a line, which may have a bar at both ends."""
    first, *cells = _BAR.split(line.strip())
    cells = [*filter(None, [first]), *cells]
    if cells and not cells[-1]:
        cells.pop()
    return [cell.strip().replace("\\|", "|") for cell in cells]


# --- the lines around a fault, to see what is wrong --------------------------------------


_MOST_FAULTS, _MOST_CHARACTERS = 3, 300
_FARTHEST = 100_000  # lines
_PACKED = (b"PK", b"\x1f\x8b", b"PAR1")


def read_around(source: BinaryIO, lines: Iterable[int]) -> list[list[int | str | bool]]:
    """Return the first of these lines, each between its neighbours: number, text, is it faulty.

    Nothing of files that aren't text. Bytes that can't be read are shown as U+FFFD.
    """
    faulty = [line for line in dict.fromkeys(lines) if line <= _FARTHEST][:_MOST_FAULTS]
    shown = {number for line in faulty for number in (line - 1, line, line + 1)}
    source.seek(0)
    start = source.read(4)
    if not shown or start.startswith(_PACKED):
        return []
    is_utf_16 = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    source.seek(0)
    # newline="": lines end at LF, CR LF or CR
    text = io.TextIOWrapper(
        source, encoding="utf-16" if is_utf_16 else "utf-8-sig", errors="replace", newline=""
    )
    try:
        return [
            [number, line, number in faulty]
            for number, line in _read_lines(text, max(shown))
            if number in shown
        ]
    finally:
        text.detach()


def _read_lines(text: io.TextIOWrapper, last: int) -> Iterator[tuple[int, str]]:
    """Yield the first lines with their numbers; of long ones only the beginning is held."""
    for number in range(1, last + 1):
        piece = text.readline(_CHUNK)
        if not piece:
            return
        line = piece.rstrip("\r\n").replace("\0", "\ufffd")
        yield number, line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}…"
        while piece and not piece.endswith(("\n", "\r")):
            piece = text.readline(_CHUNK)
