"""The title that a new study is offered, by what its files are called."""

import os
import re
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import takewhile
from pathlib import PurePosixPath

LONGEST = 120
_GENERIC = frozenset({
    "batch", "data", "dataset", "eval", "evals", "export", "generations", "input", "inputs",
    "items", "output", "outputs", "pasted", "pasted rows", "predictions", "report", "responses",
    "result", "results", "run", "runs", "samples", "sheet1", "table", "test", "untitled",
})  # fmt: skip
_LEAST = 3  # letters of a name that says something


def propose_title(paths: Sequence[str], *, run: str, systems: Iterable[str], today: date) -> str:
    """Return the folder of the files, their common beginning, or the tool's name of its run.

    None of them names a system; otherwise the title is the date.
    """
    names = [*systems]
    folders = [PurePosixPath(path).parent for path in paths]
    folder = os.path.commonpath([*map(str, folders)]) if folders else ""
    stems = [PurePosixPath(path).name.partition(".")[0] for path in paths]
    for words in (PurePosixPath(folder).name, _cut(stems), run):
        title = " ".join(re.sub(r"[_\-]+", " ", words).split())[:LONGEST].rstrip()
        if len(re.findall(r"[^\W\d_]", title)) < _LEAST or title.casefold() in _GENERIC:
            continue
        if not find_system(title, names):
            return title[:1].upper() + title[1:]
    return f"Study of {today.day} {today:%B}"


def _cut(stems: Sequence[str]) -> str:
    """Return what names of files begin with, in whole words."""
    letters = takewhile(lambda letter: len({*letter}) == 1, zip(*stems, strict=False))
    common = "".join(letter[0] for letter in letters)
    return common if len(stems) < 2 else re.sub(r"[_\- ]+[^_\- ]*$", "", common)


def find_system(title: str, systems: Iterable[str]) -> str:
    """Return the first system that a title names as a word of its own; "" if it names none."""
    words = f" {_normalise(title)} "
    named = ((name, _normalise(name)) for name in systems)
    # a letter or two says nothing: "A" is in many titles
    return next((n for n, known in named if len(known) >= _LEAST and f" {known} " in words), "")


def _normalise(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))
