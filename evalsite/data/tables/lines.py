"""Plain text files with one text in each line: inputs, a reference, and a file for each system."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NoReturn

from evalsite.data.tables.files import SourceFile, name_apart
from evalsite.data.tables.missing_lines import find_missing
from evalsite.data.tables.table import Question, Refused
from evalsite.data.tables.texts import check_text
from evalsite.data.tables.tools import read_lines
from evalsite.lib.words import count_of, list_of

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


@dataclass(frozen=True)
class Lines:
    """How the lines of text files are joined: which are missing in a file, and which left out."""

    number: int
    systems: list[str]
    # by file: numbers of empty lines that are put in, and of lines that are too many
    put_in: dict[str, list[int]] = field(default_factory=dict)
    too_many: dict[str, list[int]] = field(default_factory=dict)
    # numbers of items
    left_out: set[int] = field(default_factory=set)
    # what was decided, by the key of the question
    made: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def join_lines(roles: Mapping[str, SourceFile], answers: Mapping[str, str]) -> Lines:
    """Return how the files are joined.

    If they have other numbers of lines, Refused asks what becomes of the missing ones.
    """
    systems = [role for role in roles if not role.startswith("=")]
    if INPUTS not in roles:
        raise Refused(
            "inputs_missing",
            "No file holds the inputs. Call it source.txt, or say which it is: inputs=FILE.",
        )
    if not systems:
        raise Refused("no_system", "No file holds the outputs of a system.")
    sizes = {file.name: count_lines(file) for file in roles.values()}
    number = _find_number(sizes, roles[INPUTS])
    lines = Lines(number, systems)
    open_questions = []
    for role, file in roles.items():
        size = sizes[file.name]
        if size.lines > number >= size.filled:
            empty = size.lines - number
            are = "was" if empty == 1 else "were"
            lines.remarks.append(
                f"{count_of(empty, 'empty line')} at the end of {file.name} {are} left out"
            )
            lines.too_many[file.name] = [*range(number + 1, size.lines + 1)]
        elif size.lines != number:
            gap = _Gap(role, file, size.lines, number, roles, sizes)
            if not _apply(lines, gap, answers.get(gap.key, "")):
                open_questions.append(gap.ask())
    if open_questions:
        _refuse(sizes, number, open_questions)
    if not number:
        raise Refused("no_rows", "The files are empty.")
    return lines


@dataclass(frozen=True)
class Size:
    """How many lines a file has, how many up to the last that isn't empty, and how many are."""

    lines: int
    filled: int
    empty: int

    def __str__(self) -> str:
        return (
            f"{count_of(self.lines, 'line')}, {f'{self.empty:,}' if self.empty else 'none'} empty"
        )


def count_lines(file: SourceFile) -> Size:
    number = filled = empty = 0
    for number, line in read_lines(file):
        if line.strip():
            filled = number
        else:
            empty += 1
    return Size(number, filled, empty)


def _find_number(sizes: Mapping[str, Size], inputs: SourceFile) -> int:
    """Return how many lines the files should have: as most of them, or else as the inputs have."""
    longest = max(size.filled for size in sizes.values())
    numbers = Counter(size.lines for size in sizes.values())
    if len(numbers) > 1 and min(numbers) >= longest:
        # nothing but empty lines at the end
        return longest
    (number, files), *_ = numbers.most_common()
    return number if files > len(sizes) / 2 else sizes[inputs.name].lines


EMPTY, DROP = "empty", "leave-out"
KEY = "lines:"
_ANSWER = re.compile(r"(empty|leave-out):([1-9]\d{0,9}(?:,[1-9]\d{0,9})*)")
_MOST_SHOWN, _LONGEST_SHOWN = 3, 200


@dataclass(frozen=True)
class _Gap:
    """A file with more or fewer lines than it should have."""

    role: str
    file: SourceFile
    size: int
    number: int
    roles: Mapping[str, SourceFile]
    sizes: Mapping[str, Size]

    @property
    def key(self) -> str:
        return f"{KEY}{self.file.name}"

    @property
    def is_short(self) -> bool:
        return self.size < self.number

    @property
    def difference(self) -> int:
        return abs(self.number - self.size)

    def read_places(self, answer: str) -> tuple[str, list[int]]:
        """Return what an answer does with which lines; nothing if it doesn't fit the file."""
        match = _ANSWER.fullmatch(answer)
        places = [int(number) for number in match[2].split(",")] if match else []
        fits = len({*places}) == len(places) == self.difference
        fits = fits and places == sorted(places) and places[-1] <= max(self.size, self.number)
        if not match or not fits or (match[1] == EMPTY and not self.takes_empty):
            return "", []
        return match[1], places

    @property
    def takes_empty(self) -> bool:
        return self.is_short and self.role != INPUTS

    def ask(self) -> Question:
        """Ask what becomes of the missing lines, if their places can be told."""
        whole = [
            file
            for file in self.roles.values()
            if file is not self.file and self.sizes[file.name].lines == self.number
        ]
        places = self._find_places(whole)
        beside = self.roles[INPUTS] if self.roles[INPUTS] in whole else whole[0]
        number = "A line is" if self.difference == 1 else f"{self.difference:,} lines are"
        text = f"{number} {'missing' if self.is_short else 'too many'} in {self.file.name}."
        if not places:
            text += " No place fits much better than the others. Correct the file, or leave it out"
            text += f" (--lines {self.file.name}:leave-out:N, if you know the number of the line)."
            return Question(self.key, text, ())
        word = "line" if self.difference == 1 else "lines"
        listed = list_of([f"{place:,}" for place in places])
        other = "the other file" if len(self.roles) == 2 else "the other files"
        if self.is_short:
            text += f" Probably {word} {listed}. From there on, its lines fit the next lines of "
            text += f"{other} better than their own."
        else:
            text += f" Probably {word} {listed}: without {'it' if word == 'line' else 'them'}, its "
            text += f"lines fit those of {other} better."
        return Question(
            self.key, text, tuple(self._list_choices(places)),
            around=_read_around(beside, self.file, places, is_short=self.is_short),
            columns=(beside.name, self.file.name),
        )  # fmt: skip

    def _find_places(self, whole: Sequence[SourceFile]) -> list[int]:
        def read_whole() -> Iterator[str]:
            return map("\n".join, zip(*map(read_texts, whole), strict=False))

        def read_file() -> Iterator[str]:
            return read_texts(self.file)

        if self.is_short:
            return find_missing(read_whole, read_file, self.number, self.difference)
        return find_missing(read_file, read_whole, self.size, self.difference)

    def _list_choices(self, places: Sequence[int]) -> Iterator[tuple[str, str, str]]:
        listed = list_of([f"{place:,}" for place in places])
        several = "s" if len(places) > 1 else ""
        at = ",".join(map(str, places))
        if not self.is_short:
            yield (
                f"{DROP}:{at}", f"Leave out line{several} {listed} of {self.file.name}",
                f"{count_of(self.number, 'item')}. The study and its files say so.",
            )  # fmt: skip
            return
        if self.takes_empty:
            have = "have" if several else "has"
            lacking = "no reference"
            if self.role != REFERENCE:
                lacking = f"no output by {self.role}: it is shown as “(no output)”"
            article = "" if several else "an "
            yield (
                f"{EMPTY}:{at}", f"Put {article}empty line{several} at {listed}",
                f"Then item{several} {listed} {have} {lacking}.",
            )  # fmt: skip
        yield (
            f"{DROP}:{at}", f"Leave out item{several} {listed}",
            f"{count_of(self.number - len(places), 'item')}. The study and its files say so.",
        )  # fmt: skip


def _apply(lines: Lines, gap: _Gap, answer: str) -> bool:
    """Do what was decided about a file; return whether anything was that fits it."""
    action, places = gap.read_places(answer)
    if not action:
        return False
    listed = list_of([f"{place:,}" for place in places])
    several = "s" if len(places) > 1 else ""
    if not gap.is_short:
        lines.too_many[gap.file.name] = places
        done = f"Line{several} {listed} of it {'were' if several else 'was'} left out."
    else:
        lines.put_in[gap.file.name] = places
        done = f"{'Empty lines were' if several else 'An empty line was'} put in at {listed}."
        if action == DROP:
            lines.left_out.update(places)
            done = f"Item{several} {listed} {'were' if several else 'was'} left out."
    counts = f"{gap.file.name} has {count_of(gap.size, 'line')} instead of {gap.number:,}"
    lines.made[gap.key] = f"{counts}. {done}"
    return True


def _refuse(sizes: Mapping[str, Size], number: int, questions: Sequence[Question]) -> NoReturn:
    names = {question.key.removeprefix(KEY) for question in questions}
    differing = [
        f"{name} has {count_of(size.lines, 'line')}"
        for name, size in sizes.items()
        if name in names
    ]
    agreeing = [name for name in sizes if name not in names]
    whole = f"{agreeing[0]} has" if len(agreeing) == 1 else "the other files have"
    raise Refused(
        "lines_differ",
        f"{list_of(differing[:3])}, {whole} {number:,}. Line numbers join them, so all need "
        f"{count_of(number, 'line')}.",
        questions=questions,
    )


def _read_around(
    beside: SourceFile, file: SourceFile, places: Sequence[int], *, is_short: bool
) -> tuple[tuple[int, str, str, bool, bool], ...]:
    """Return the lines at these places: number, both texts, whether here and whether shifted."""
    shown = {
        number: place
        for place in places[:_MOST_SHOWN]
        for number in range(max(1, place - 1), place + 2)
    }
    texts = [
        {n: text[:_LONGEST_SHOWN] for n, text in enumerate(read_texts(each), 1) if n in shown}
        for each in (beside, file)
    ]
    return tuple(
        (
            number, texts[0].get(number, ""), texts[1].get(number, ""), number in places,
            number >= place if is_short else number == place,
        )
        for number, place in sorted(shown.items())
    )  # fmt: skip


def write_header(roles: Mapping[str, SourceFile], lines: Lines) -> list[str]:
    name = "source" if _list_words(roles[INPUTS]) & _SOURCES else "prompt"
    header = ["item", name, "system", "output", *(["reference"] if REFERENCE in roles else [])]
    # an output that a person knows to be missing isn't asked about once more
    return [*header, "output_is_empty"] if lines.put_in else header


def read_items(roles: Mapping[str, SourceFile], lines: Lines) -> Iterator[list[str]]:
    """Yield a row for each output, reading all files side by side."""
    names = [INPUTS, *lines.systems, *([REFERENCE] if REFERENCE in roles else [])]
    files = [_read_joined(roles[name], lines) for name in names]
    for number, (source, *texts) in enumerate(zip(*files, strict=False), start=1):
        if number in lines.left_out:
            continue
        after = texts[len(lines.systems) :]
        for system, text in zip(lines.systems, texts, strict=False):
            row = [str(number), source, system, text, *after]
            if lines.put_in:
                row.append("yes" if number in lines.put_in.get(roles[system].name, ()) else "")
            yield row


def _read_joined(file: SourceFile, lines: Lines) -> Iterator[str]:
    """Yield the texts of a file as if it had the right number of lines."""
    put_in, too_many = lines.put_in.get(file.name, ()), {*lines.too_many.get(file.name, ())}
    texts = (text for number, text in enumerate(read_texts(file), 1) if number not in too_many)
    for number in range(1, lines.number + 1):
        yield "" if number in put_in else next(texts)


def read_texts(file: SourceFile) -> Iterator[str]:
    for number, line in read_lines(file):
        try:
            yield check_text(line.decode())
        except UnicodeDecodeError:
            message = f"Line {number:,} isn't UTF-8. Save the file as UTF-8."
            raise Refused("encoding", message, file=file.name) from None
