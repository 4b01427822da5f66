"""Ids and names that come from files: how they may look, and which could be confused."""

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator
from itertools import chain, count

from evalsite.data.tables.faults import Remark
from evalsite.imports.system_names import fold
from evalsite.imports.target import Target
from evalsite.studies.summary_lines import count_of

# So limited, an id is safe in every spreadsheet, address and file that it may end up in.
ID_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}")
ROW_KEY = re.compile(r"row-([0-9]{4,})")
MAX_KEY = 128
_RESERVED = re.compile(r"practice-[0-9]+", re.I)


def check_id(text: str) -> str:
    """Say what is wrong with this id; "" if it may be used."""
    if not text.strip():
        return "The id is empty. Give one in every row."
    if not ID_PATTERN.fullmatch(text):
        joined = "-".join(text.split())
        advice = f" For example, write “{joined}”." if ID_PATTERN.fullmatch(joined) else ""
        return (
            f"“{_shorten(text)}” can't be an id. Use up to {MAX_KEY} characters: letters A to Z, "
            f"digits and . _ : / -, no spaces, starting with a letter or digit.{advice}"
        )
    if is_reserved(text):
        return f"“{text}” is kept for practice items of the protocol. Choose another id."
    return ""


# where the id stands that the file gave, if it can't be one here
SOURCE_ID = "source_id"
_LETTERS = str.maketrans({
    "ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", "æ": "ae",
    "ø": "o", "å": "a", "ł": "l", "đ": "d",
})  # fmt: skip
_HARMLESS = re.compile(r"[\w#(\[](?:[\w .,:;#()\[\]&%+*=@!?|~/-]*[\w.)\]!?%])?")
_OTHERS = re.compile(r"[^A-Za-z0-9._:/-]+")


def shorten_id(text: str) -> str:
    """Return an id that every file may hold, as near as possible to this one; "" if none is."""
    plain = unicodedata.normalize("NFKC", text).translate(_LETTERS)
    marked = unicodedata.normalize("NFD", plain)
    plain = "".join(sign for sign in marked if not unicodedata.combining(sign))
    return re.sub("--+", "-", _OTHERS.sub("-", plain)).strip("-._:/")[:MAX_KEY]


class ShortIds:
    """Ids of a file that has others than a study may have: each gets a short one."""

    def __init__(self, keys: Container[str], known: Container[str]) -> None:
        self._keys, self._known = keys, known
        self._short: dict[str, str] = {}
        self._taken: set[str] = set()

    def get(self, text: str) -> str:
        """Return the id for what the file says; what could mislead stays, and is refused."""
        if text in self._known or (text not in self._taken and ID_PATTERN.fullmatch(text)):
            return text
        if not _may_shorten(text):
            return text
        if text not in self._short:
            base = shorten_id(text) or f"item-{len(self._short) + 1:04}"
            numbered = (f"{base}-{number}" for number in count(2))
            free = (key for key in chain([base], numbered) if self._is_free(key))
            self._short[text] = next(free)
            self._taken.add(self._short[text])
        return self._short[text]

    def is_short(self, key: str) -> bool:
        """Return whether this id was given to another one of the file."""
        return key in self._taken

    def _is_free(self, key: str) -> bool:
        return key not in self._keys and key not in self._known and key not in self._taken

    def list_remarks(self) -> Iterator[Remark]:
        if self._short:
            (source, short), *_ = self._short.items()
            number = len(self._short)
            yield Remark(
                "ids_changed",
                f"{count_of(number, 'id')} {'has' if number == 1 else 'have'} spaces or other "
                f"characters. Files say {short} for “{_shorten(source)}”; the original is kept",
            )


def _may_shorten(text: str) -> bool:
    """Return whether a text is an id that nothing could misread: no formula, quote or path."""
    return len(text) <= MAX_KEY and text.isprintable() and _HARMLESS.fullmatch(text) is not None


def is_reserved(text: str) -> bool:
    """Return whether this is the id of a practice item that comes with a protocol."""
    return _RESERVED.fullmatch(text) is not None


class Names:
    """Names in use, by what a reader might take them for."""

    def __init__(self, existing: Iterable[str] = ()) -> None:
        # most names are as they are when folded: of these nothing but their line is kept
        self._plain: dict[str, int] = {}
        self._others: dict[str, tuple[str, int]] = {}
        for name in existing:
            self._take(name, fold(name), 0)

    def meet(self, name: str, line: int) -> tuple[str, str]:
        """Record the name as used. If it could be confused: return why, and with which name."""
        folded = fold(name)
        if folded in self._plain:
            spelling, first = folded, self._plain[folded]
        elif folded in self._others:
            spelling, first = self._others[folded]
        else:
            self._take(name, folded, line)
            return "", name
        if spelling == name:
            return "", name
        where = f"of line {first}" if first else "that the study has already"
        problem = (
            f"“{_shorten(name)}” differs from “{_shorten(spelling)}” {where} only in case, "
            "spaces or Unicode form. Use one spelling, or two clearly different ones."
        )
        return problem, spelling

    def _take(self, name: str, folded: str, line: int) -> None:
        if name == folded:
            self._plain[name] = line
        else:
            self._others[folded] = (name, line)


def find_known(target: Target) -> tuple[set[str], list[str]]:
    """Keys of the study's items, and names of its systems."""
    if target.is_draft:
        return {f"practice-{n + 1}" for n in range(len(target.instrument.practice))}, []
    study = target.study
    keys = set(study.items.values_list("key", flat=True).iterator(chunk_size=10_000))
    return keys, list(study.systems.values_list("name", flat=True))


def find_last_row_number(keys: Iterable[str]) -> int:
    """The highest number of the keys that were made for rows without an id; 0 without any."""
    return max((int(found[1]) for key in keys if (found := ROW_KEY.fullmatch(key))), default=0)


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"
