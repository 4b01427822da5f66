"""The texts that a new instrument, a new question and a new row of a list start with."""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from evalsite.builder.boxes import list_rows
from evalsite.builder.controls import Control, Plain, list_controls
from evalsite.builder.keys import make_column, make_key, make_key_at
from evalsite.builder.questions import (
    get_first_words,
    get_scale_data,
    list_offered,
    start_scale,
)
from evalsite.instruments.scales import KINDS, Scale
from evalsite.instruments.schema import FORMAT

# summary and instructions, by the outputs on a page
_STARTS = {
    "one": ("Each text is rated on its own.",
            "Read the text, then answer the questions about it."),
    "pair": ("Two texts are compared.",
             "Read both texts, then answer the questions about them."),
    "several": ("Several texts are rated side by side.",
                "Read all texts, then answer the questions about them."),
}  # fmt: skip


def start_draft(title: str, output_name: str = "") -> Plain:
    """Return a new instrument with one question, which is right as it stands but for its words.

    `output_name`: what a page calls an output, if it isn't to be the usual word.
    """
    scale = KINDS[next(iter(list_offered()))]
    return {
        "format": FORMAT,
        "key": make_key(title),
        "version": 1,
        "language": "en",
        "title": title,
        "summary": _STARTS["one"][0],
        "source": {
            "cite": "Written for this study.", "licence": "none", "exact": "Nothing.",
            "ours": "Everything.",
        },
        "instructions": _STARTS["one"][1],
        "item": ({"output_name": output_name} if output_name else {}) | {
            "inputs": [start_input("text")],
            "outputs": {"kind": "text", "least": 1, "most": 1},
        },
        "layout": {"outputs": "one", "questions": "beside"},
        "criteria": [start_question("Quality", (), start_scale(scale))],
    }  # fmt: skip


def start_input(kind: str) -> Plain:
    return {"name": "source", "label": "Source", "kind": kind}


def start_question(label: str, taken: Iterable[Any], scale: Plain) -> Plain:
    part: type[Scale] = KINDS[scale["kind"]]
    question = {
        "key": make_column(label, taken), "label": label, "per": part.asked[0],
        "question": get_first_words(part, is_first=label == "Quality"), "scale": scale,
    }  # fmt: skip
    return question | ({"required": False} if part.starts_optional else {})


def add_question(criteria: list[Plain]) -> None:
    """Add a question of the first kind, on the scale that the last such question has."""
    kind = next(iter(list_offered()))
    scales = [get_scale_data(question) for question in reversed(criteria)]
    # most instruments ask several questions on one scale
    alike = next((deepcopy(scale) for scale in scales if scale.get("kind") == kind), None)
    taken = [question.get("key") for question in criteria]
    scale = alike or start_scale(KINDS[kind])
    criteria.append(start_question(f"Question {len(criteria) + 1}", taken, scale))


def start_row(control: Control, at: str, rows: list[Plain]) -> Plain:
    """Return a new row of a list, with a name of its own where it needs one."""
    label = f"{control.noun.capitalize()} {len(rows) + 1}"
    row: Plain = {}
    for cell in list_controls(control.part):
        if cell.name == "label" and cell.kind == "text":
            row["label"] = label
        elif cell.is_required:
            row[cell.name] = _start_cell(cell, at, label, [known.get(cell.name) for known in rows])
    if control.name in ("examples", "practice"):
        row |= {"inputs": {}, "outputs": []}
        row.pop("label")
    return row


def _start_cell(cell: Control, at: str, label: str, values: list[Any]) -> Any:
    """Return what a needed field of a new row has. `values`: those of the other rows."""
    if cell.name in ("key", "name"):
        return make_key_at(at, label, values)
    if cell.kind == "number":
        return max([value for value in values if isinstance(value, int)], default=0) + 1
    if cell.kind == "select":
        return str(cell.choices[0])
    return [] if cell.kind in ("lines", "rows") else ""


def follow_outputs(draft: Plain, before: Any, now: str) -> None:
    """Let the texts that an instrument starts with speak of one text, of two or of several."""
    pairs = zip(_STARTS.get(str(before), ("", "")), _STARTS.get(now, ("", "")), strict=True)
    for name, (was, start) in zip(("summary", "instructions"), pairs, strict=True):
        if start and draft.get(name) == was:
            draft[name] = start


def change_row(rows: list[Plain], action: str, number: int) -> int:
    """Move, copy or remove a row; return the number of the row that the page goes on at."""
    if action == "remove":
        del rows[number]
        return min(number, len(rows) - 1)
    if action == "copy":
        again = deepcopy(rows[number])
        if "key" in again:
            again["key"] = make_key(again["key"], {row.get("key") for row in list_rows(rows)})
        rows.insert(number + 1, again)
        return number + 1
    to = number - 1 if action == "up" else number + 1
    if 0 <= to < len(rows):
        rows[number], rows[to] = rows[to], rows[number]
        return to
    return number
