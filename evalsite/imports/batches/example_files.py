"""Example files to fill in: the columns that a protocol's batches have, with one item."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass

from evalsite.exports.csv_writer import write_rows
from evalsite.protocol import Example, Protocol


@dataclass(frozen=True)
class Template:
    """A file to fill in: what a page calls it, and how it is sent."""

    label: str
    ending: str
    content_type: str
    write: Callable[[Protocol], bytes]


def _write_long(config: Protocol) -> list[list[str]]:
    """One row for each output of the example."""
    example, inputs = _find_example(config)
    return [
        ["item", *inputs, "system", "output"],
        *(
            ["example-1", *inputs.values(), f"system-{number}", text]
            for number, text in enumerate(example.outputs, start=1)
        ),
    ]


def _write_wide(config: Protocol) -> list[list[str]]:
    """One row for the example, with columns for two outputs at least: some may stay empty."""
    example, inputs = _find_example(config)
    count = max(2, len(example.outputs))
    outputs = [*example.outputs, *[""] * (count - len(example.outputs))]
    names = [f"{field}{number}" for number in range(1, count + 1) for field in ("output", "system")]
    cells = [
        cell
        for number, text in enumerate(outputs, start=1)
        for cell in (text, f"system-{number}" if text else "")
    ]
    return [["item", *inputs, *names], ["example-1", *inputs.values(), *cells]]


def _find_example(config: Protocol) -> tuple[Example, dict[str, str]]:
    example = (*config.examples, *config.practice)[0]
    inputs = {
        column.name: str(example.inputs.get(column.name, ""))
        for column in config.inputs
        if column.is_required
    }
    return example, inputs


def _write_csv(rows: list[list[str]]) -> bytes:
    return write_rows(rows).encode()


def _write_json_lines(rows: list[list[str]]) -> bytes:
    header, *others = rows
    objects = (dict(zip(header, row, strict=True)) for row in others)
    return "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in objects).encode()


def _write_sheet(rows: list[list[str]]) -> bytes:
    """A sheet whose cells are texts, so that 007 stays 007 when it is typed there."""
    from xlsxwriter import Workbook  # noqa: PLC0415 (heavy, and seldom asked for)

    buffer = io.BytesIO()
    with Workbook(buffer, {"in_memory": True}) as book:
        sheet = book.add_worksheet("Items")
        text = book.add_format({"num_format": 49, "valign": "top", "text_wrap": True})
        bold = book.add_format({"num_format": 49, "valign": "top", "bold": True})
        for column, name in enumerate(rows[0]):
            is_short = name == "item" or name.startswith("system")
            sheet.set_column(column, column, 16 if is_short else 60, text)
        for number, row in enumerate(rows):
            for column, cell in enumerate(row):
                sheet.write_string(number, column, cell, bold if number == 0 else text)
        sheet.freeze_panes(1, 0)
    return buffer.getvalue()


_CSV = "text/csv; charset=utf-8"
# by the word that an address names them with; the first is given where none is named
TEMPLATES: dict[str, Template] = {
    "long": Template(
        "CSV, a row for each output", ".csv", _CSV, lambda config: _write_csv(_write_long(config))
    ),
    "wide": Template(
        "CSV, a row for each item",
        "-wide.csv",
        _CSV,
        lambda config: _write_csv(_write_wide(config)),
    ),
    "excel": Template(
        "Excel, a row for each output",
        ".xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        lambda config: _write_sheet(_write_long(config)),
    ),
    "json": Template(
        "JSON lines",
        ".jsonl",
        "application/jsonl; charset=utf-8",
        lambda config: _write_json_lines(_write_long(config)),
    ),
}
