"""From bytes to lines of text: the encoding is found and checked, and lines are counted."""

import codecs
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from evalsite.data.tables.faults import EncodingPreview, OddPlace, Refused
from evalsite.data.tables.table import Limits

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
_WORDS = re.compile(r"[^\s,;:?|\"'“”()\[\]{}]*[^\x00-\x7f“”–—][^\s,;:?|\"'“”()\[\]{}]*")
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
        words = dict.fromkeys(_WORDS.findall(text) or text.split())
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


def _rate_words(text: str) -> float:
    """Return the share of words with odd characters that are of one script, in usual case."""
    words = _WORDS.findall(text)[:200]
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
