"""Tables that leave the site are written in one place, where formulas can be guarded."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WRITER = "evalsite/lib/csv_writer.py"
# beside the data on somebody's own machine, without this software
ALONE = "evalsite/data/files/scripts/analysis.py"
MAKERS = {"writer", "DictWriter"}


def find_writers(source: str) -> Iterator[str]:
    """What in this source writes a table by itself."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "csv":
            yield from (f"csv.{name.name}" for name in node.names if name.name in MAKERS)
        elif isinstance(node, ast.Attribute):
            is_csv = isinstance(node.value, ast.Name) and node.value.id == "csv"
            if is_csv and node.attr in MAKERS:
                yield f"csv.{node.attr}"
            elif node.attr == "to_csv":
                yield "to_csv"


def test_bad_96_only_one_module_writes_tables() -> None:
    files = [path for room in ("evalsite", "protocols") for path in ROOT.glob(f"{room}/**/*.py")]

    found = {
        str(path.relative_to(ROOT)): writers
        for path in files
        if (writers := set(find_writers(path.read_text(encoding="utf-8"))))
    }

    assert found == {WRITER: {"csv.writer"}, ALONE: {"to_csv"}}


@pytest.mark.parametrize(
    ("source", "writers"),
    [
        ("import csv\ncsv.writer(file)", ["csv.writer"]),
        ("import csv\nwrite = csv.DictWriter", ["csv.DictWriter"]),
        ("from csv import reader, writer", ["csv.writer"]),
        ("table.to_csv(path)", ["to_csv"]),
        ("import csv\ncsv.reader(file)", []),
        ("book.writer(file)", []),
    ],
)
def test_writers_are_found_in_code(source: str, writers: list[str]) -> None:
    assert list(find_writers(source)) == writers
