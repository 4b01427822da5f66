"""A file for which no instrument is chosen yet: its inputs by their own names, and what they are.

Instruments are proposed by this, and their inputs found in the file.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

from evalsite.data.importing import fold, is_personal, make_open_instrument
from evalsite.data.items.columns import (
    INPUT,
    OF_SYSTEM,
    are_texts,
    fold_plainly,
    guess_mapping,
    is_input,
    is_per_output,
    is_reference,
    list_cells,
    name_fields,
)
from evalsite.data.items.items import CheckedItems
from evalsite.data.tables.paths import last_name
from evalsite.instruments.schema import InputColumn
from evalsite.lib.conversations import read_list, read_turns

Kind = Literal["text", "markdown", "table", "conversation"]
EXAMPLES = 5  # inputs that a page shows with all of their outputs
# what is about an input or its outputs, and isn't one of them
_NO_INPUT = re.compile(
    "(note|comment|remark|reason|rationale|explanation|error|metadata|meta|extra|tags?|status"
    "|system_prompt|instructions?_to_.*)s?|reasoning.*|.*_(note|comment|reason|error)s?"
)
_MARKDOWN = re.compile(
    r"^#{1,6} \S|^ {0,3}[-*+] \S|^ {0,3}[0-9]+[.)] \S|^```|^\|.*\|\s*$|\*\*\S[^*\n]*\*\*|`[^`\n]+`"
    r"|\[[^\]\n]+\]\(\S+\)",
    re.MULTILINE,
)
# of the filled cells of a column
_MOSTLY, _OFTEN = 0.6, 0.2
_ROW = re.compile(r"[|\t]")


def guess_open(
    header: Sequence[str], rows: Sequence[Sequence[str]], chosen: Mapping[str, str]
) -> dict[str, str]:
    """Return a field for each column; inputs are known by name, or as texts beside outputs."""
    names = {
        f"input_{number}": column
        for number, column in enumerate(header)
        if column.strip() not in chosen and is_input(column)
    }
    inputs = [
        InputColumn(name=name, label=column, kind="text", aliases=[column], required=False)
        for name, column in names.items()
    ]
    guess = guess_mapping(header, make_open_instrument(inputs), rows, chosen)
    guess = {column: INPUT if field in names else field for column, field in guess.items()}
    if INPUT not in {*guess.values(), *chosen.values()}:
        # without an input it may be any of the columns that look like systems
        guess = {c: "" if field == OF_SYSTEM and c not in chosen else field
                 for c, field in guess.items()}  # fmt: skip
    if not any(map(_holds_output, {*guess.values(), *chosen.values()})):
        return guess
    cells = list_cells(guess, rows)
    # what a tool has beside its inputs isn't read, but for references
    is_known = INPUT in chosen.values()
    return guess | {
        column: INPUT
        for column, field in guess.items()
        if not field
        and column not in chosen
        and (fold(column) == "reference" if is_known else _may_be_read(column, cells[column]))
    }


def _holds_output(field: str) -> bool:
    return field == OF_SYSTEM or (is_per_output(field) and field.startswith("output"))


def _may_be_read(column: str, cells: Sequence[str]) -> bool:
    """Return whether a column without a known name holds what people may be shown."""
    if is_personal(column) or _NO_INPUT.fullmatch(fold_plainly(column)):
        return False
    return is_reference(column) or are_texts(cells) or find_kind(cells) in ("table", "conversation")


# --- what inputs are ----------------------------------------------------------------------


def list_inputs(checked: CheckedItems, rows: Sequence[Sequence[str]]) -> dict[str, InputColumn]:
    """Return the inputs of the file by column, as an instrument would have them."""
    columns = [column for column in checked.mapping if column not in checked.paths]
    cells = list_cells(columns, [row[: len(columns)] for row in rows])
    taken = {*name_fields(make_open_instrument([]), checked.mapping)}
    inputs = {}
    for column, field in checked.mapping.items():
        if field == INPUT:
            sample = checked.path_samples.get(column, "")
            name = _make_name(column, taken)
            taken.add(name)
            inputs[column] = InputColumn(
                name=name, label=column[:200], kind=find_kind(cells.get(column, [sample])),
                required=False,
            )  # fmt: skip
    return inputs


def _make_name(column: str, taken: Iterable[str]) -> str:
    """Return a name that an instrument may have for the input in this column."""
    words = re.sub("[^a-z0-9]+", "_", last_name(column).casefold()).strip("_")
    name = (words if words[:1].isalpha() else f"input_{words}".rstrip("_"))[:36]
    return next(
        candidate
        for number in range(1, 1_000)
        if (candidate := name if number == 1 else f"{name}_{number}") not in taken
    )


def find_kind(cells: Iterable[str]) -> Kind:
    """Return what the texts of a column are, as its first rows tell."""
    filled = [cell for cell in cells if cell.strip()]
    if not filled:
        return "text"
    most = _MOSTLY * len(filled)
    if sum(cell[:1] == "[" and read_turns(cell) is not None for cell in filled) >= most:
        return "conversation"
    if sum(map(_is_table, filled)) >= most:
        return "table"
    return "markdown" if sum(map(has_markdown, filled)) > _OFTEN * len(filled) else "text"


def has_markdown(text: str) -> bool:
    return _MARKDOWN.search(text) is not None


def _is_table(text: str) -> bool:
    if text[:1] == "[":
        records = read_list(text)
        return records is not None and all(isinstance(record, dict) for record in records)
    # two rows at least, with as many cells in each
    widths = {len(_ROW.findall(line)) for line in text.strip().splitlines()}
    return "\n" in text.strip() and len(widths) == 1 and widths != {0}


def list_output_cells(mapping: Mapping[str, str], rows: Sequence[Sequence[str]]) -> Iterable[str]:
    columns = [column for column, field in mapping.items() if _holds_output(field)]
    cells = list_cells([*mapping][: max(map(len, rows), default=0)], rows)
    return chain.from_iterable(cells.get(column, ()) for column in columns)


# --- the file as a whole ------------------------------------------------------------------


def summarise_open(checked: CheckedItems) -> dict[str, Any]:
    """Return what instruments are proposed by, and the first inputs with all of their outputs."""
    examples: dict[str, dict[str, Any]] = {}
    words = marked = 0
    groups: dict[str, None] = {}
    input_words = 0
    for item in checked.items:
        if item.group not in groups:
            groups[item.group] = None
            input_words += sum(len(text.split()) for text in item.inputs.values())
            if len(examples) < EXAMPLES:
                key = item.extra.get("item", item.key)
                examples[item.group] = {
                    "key": key, "line": item.line, "is_part": False, "inputs": item.inputs,
                    "outputs": [],
                }  # fmt: skip
        if item.group in examples:
            examples[item.group]["outputs"] += [
                [output.system, output.text] for output in item.outputs
            ]
        for output in item.outputs:
            words += len(output.text.split())
            marked += has_markdown(output.text)
    return {
        "examples": [*examples.values()],
        "inputs": [
            {"column": column, "name": input_column.name, "kind": input_column.kind}
            for column, input_column in checked.inputs.items()
        ],
        "groups": len(groups),
        "system_names": checked.systems,
        # whether items have an id, which an instrument for several outputs needs
        "has_ids": not {"item", "group"}.isdisjoint(checked.mapping.values()),
        "output_kind": checked.output_kind,
        "markdown": marked / max(1, checked.outputs),
        "words": round(input_words / max(1, len(groups))),
        "output_words": round(words / max(1, checked.outputs)),
    }
