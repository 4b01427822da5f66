"""Annotations as bundles of formats 2 and 3 hold them, turned into those of today's format.

There, marked passages were apart from ratings, and what was typed was apart from other texts.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evalsite.instruments.answer import HIGHLIGHTS

Cells = list[Any]
_EMPTY: Cells = ["", "", None, 0]


def convert_annotation(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line of the records of annotations as today's format has it."""
    # the fifth cell is the record in an imported file
    ratings = [
        [*_convert_rating([*cells[:4], *cells[5:]]), None, None, cells[4]]
        for cells in row["ratings"]
    ]
    kept = {name: row[name] for name in row if name != "highlights"}
    return {
        **kept,
        "ratings": [*ratings, *_convert_marks(row["highlights"])],
        "revisions": [
            {**revision, "state": _convert_state(revision["state"])}
            for revision in row["revisions"]
        ],
    }


def _convert_state(state: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: state[name] for name in state if name not in ("ratings", "highlights")}
    ratings = map(_convert_rating, state["ratings"])
    return {**kept, "rows": [*ratings, *_convert_marks(state["highlights"])]}


def _convert_rating(cells: Cells) -> Cells:
    """Return output, criterion, turn, part, value, text and detail."""
    # what only some kinds of questions have could be left out, from the end
    criterion, output, value, typed, part, text, detail, turn = [
        *cells, *_EMPTY[len(cells) - 4 :]
    ]  # fmt: skip
    return [output, criterion, turn, part, value, text or typed, detail]


def _convert_marks(marks: Iterable[Cells]) -> Iterator[Cells]:
    for output, start, end, quote in marks:
        yield [output, HIGHLIGHTS, 0, "", None, quote, None, start, end]
