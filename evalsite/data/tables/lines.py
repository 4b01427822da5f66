"""Plain text files with one text in each line: inputs, a reference, and a file for each system."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import PurePosixPath

from evalsite.data.tables.faults import Refused
from evalsite.data.tables.files import SourceFile, name_apart
from evalsite.data.tables.texts import check_text
from evalsite.data.tables.tools import read_lines
from evalsite.lib.words import count_of

INPUTS, REFERENCE, LEAVE_OUT = "=inputs", "=reference", "=-"
_INPUTS = re.compile(r"sources?|src|inputs?|prompts?|questions?", re.IGNORECASE)
_REFERENCES = re.compile(r"references?|refs?|gold|targets?", re.IGNORECASE)
# also inside of a name: newstest.src.de, newstest.ref.en; texts to translate are no prompts
_SOURCES, _REFS = {"source", "sources", "src"}, {"reference", "references", "ref", "refs"}

# .txt, or a language: .en, .deu, .zh-cn
_TEXTS = re.compile(r"\.([a-z]{2,3}([-_][a-z]{2,4})?|hyps?|refs?)")
# before the ending: source.de.txt
_LANGUAGE = re.compile(r"\.[a-z]{2,3}([-_][a-z]{2,4})?$", re.IGNORECASE)
# JSON, names of columns, or bytes
_BEGINS_OTHERWISE = re.compile(rb'\s*[\[{]|[^\r\n]*[\t\0]|"?\w+("?[,;]"?\w+)+"?\s*[\r\n]|PK|\x1f')
_START = 4_096
# whatever their columns are called, their rows may come in any order
_TABLES = {
    ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".ods", ".xls", ".xml",
    ".htm", ".html", ".zip", ".gz", ".pkl", ".md",
}  # fmt: skip


def is_text(file: SourceFile) -> bool:
    """Return whether the file may have a text in each line: by its name it is no table."""
    return PurePosixPath(file.name).suffix.lower() not in _TABLES


def is_called_text(file: SourceFile) -> bool:
    """Return whether a file is called like one with a text in each line, as corpora are.

    Without an ending it is one unless it begins like something else.
    """
    suffix = PurePosixPath(file.name).suffix.lower()
    if suffix:
        return is_text(file) and _TEXTS.fullmatch(suffix) is not None
    return _BEGINS_OTHERWISE.match(file.read_start(_START)) is None


def guess_roles(files: Iterable[SourceFile]) -> dict[str, str]:
    """Return what each file holds by its name: INPUTS, REFERENCE, or outputs of a system.

    Systems are called like their files, without a language that the names of all of them end with.
    """
    roles = {file.name: _guess_part(file) for file in files}
    outputs = [name for name, role in roles.items() if not role]
    labels = name_apart(outputs)
    shorter = {name: _LANGUAGE.sub("", label) for name, label in labels.items()}
    languages = {label.removeprefix(shorter[name]) for name, label in labels.items()}
    is_shared = len(languages) == 1 and len({*shorter.values()}) == len(outputs)
    return roles | (shorter if is_shared else labels)


def _guess_part(file: SourceFile) -> str:
    stem = _LANGUAGE.sub("", file.stem)
    words = _list_words(file)
    if _INPUTS.fullmatch(stem) or words & _SOURCES:
        return INPUTS
    return REFERENCE if _REFERENCES.fullmatch(stem) or words & _REFS else ""


def _list_words(file: SourceFile) -> set[str]:
    return {*PurePosixPath(file.name).name.lower().split(".")}


def check_lines(roles: Mapping[str, SourceFile]) -> tuple[int, list[str]]:
    """Return how many lines each file has, and the systems; Refused if they differ."""
    systems = [role for role in roles if not role.startswith("=")]
    if INPUTS not in roles:
        raise Refused(
            "inputs_missing",
            "No file holds the inputs. Call it source.txt, or say which it is: inputs=FILE.",
        )
    if not systems:
        raise Refused("no_system", "No file holds the outputs of a system.")
    numbers = {file.name: count_lines(file) for file in roles.values()}
    first = numbers[roles[INPUTS].name]
    if differing := [name for name, number in numbers.items() if number != first]:
        counts = "; ".join(
            f"{name} has {count_of(numbers[name], 'line')}" for name in differing[:3]
        )
        raise Refused(
            "lines_differ",
            f"{roles[INPUTS].name} has {count_of(first, 'line')}, but {counts}. Line numbers join "
            "them, so all need the same number of lines.",
        )
    if not first:
        raise Refused("no_rows", "The files are empty.")
    return first, systems


def count_lines(file: SourceFile) -> int:
    return sum(1 for _ in read_lines(file))


def write_header(roles: Mapping[str, SourceFile]) -> list[str]:
    name = "source" if _list_words(roles[INPUTS]) & _SOURCES else "prompt"
    return ["item", name, "system", "output", *(["reference"] if REFERENCE in roles else [])]


def read_items(roles: Mapping[str, SourceFile], systems: Sequence[str]) -> Iterator[list[str]]:
    """Yield a row for each output, reading all files side by side."""
    names = [INPUTS, *systems, *([REFERENCE] if REFERENCE in roles else [])]
    files = [read_texts(roles[name]) for name in names]
    for number, (source, *texts) in enumerate(zip_longest(*files, fillvalue=""), start=1):
        after = texts[len(systems) :]
        for system, text in zip(systems, texts, strict=False):
            yield [str(number), source, system, text, *after]


def read_texts(file: SourceFile) -> Iterator[str]:
    for number, line in read_lines(file):
        try:
            yield check_text(line.decode())
        except UnicodeDecodeError:
            message = f"Line {number:,} isn't UTF-8. Save the file as UTF-8."
            raise Refused("encoding", message, file=file.name) from None
