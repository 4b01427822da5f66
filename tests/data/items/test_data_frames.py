"""Data frames as pandas writes them: JSON in each orient, and Parquet."""

import io
import json
from pathlib import Path

import pandas
import pytest

from evalsite.data.tables import parquet
from evalsite.data.tables.batch import convert
from evalsite.data.tables.files import find_files
from evalsite.data.tables.reader import open_table
from evalsite.data.tables.table import Limits, Refused
from evalsite.lib.csv_writer import write_csv
from tests.data.tables.test_formats import FOLDER

FRAME = pandas.DataFrame(
    {
        "prompt": ["Why?", "How?", "When?", "Who?"],
        "alpha": ["So.", "So, too.", "Then.", "€ß"],
        "score": [1, None, 2.5, 3],
    }
)
LINES = ["prompt,alpha,score", "Why?,So.,1.0", 'How?,"So, too.",', "When?,Then.,2.5", "Who?,€ß,3.0"]
NAMED = [f"{index},{line}" for index, line in zip(["index", *"kmnp"], LINES, strict=True)]


def read_lines(path: Path) -> list[str]:
    """Return the table as CSV, without an index."""
    with path.open("rb") as source:
        table = open_table(source, limits=Limits(1000, 10**6, 10**6, 100, 10**6))
        index = table.unnamed if len(table.unnamed) < len(table.header) else ()
        rows = [table.header, *(row.cells for row in table.rows)]
    target = io.StringIO()
    write_csv(
        target,
        [[cell for number, cell in enumerate(row) if number not in index] for row in rows],
        line_end="\n",
    )
    return target.getvalue().splitlines()


@pytest.mark.parametrize("orient", ["columns", "index", "records", "split", "table"])
def test_every_orient_holds_the_same_rows(tmp_path: Path, orient: str) -> None:
    path = tmp_path / "frame.json"

    FRAME.to_json(path, orient=orient)
    whole = read_lines(path)
    FRAME[1:].to_json(path, orient=orient)
    filtered = read_lines(path)

    assert whole == LINES
    assert filtered == [LINES[0], *LINES[2:]]


@pytest.mark.parametrize("orient", ["columns", "index", "split", "table"])
def test_an_index_of_names_is_a_column(tmp_path: Path, orient: str) -> None:
    path = tmp_path / "frame.json"
    FRAME.set_axis([*"kmnp"]).to_json(path, orient=orient)

    assert read_lines(path) == NAMED


def test_values_without_names_of_columns_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "frame.json"
    FRAME.to_json(path, orient="values")

    assert read_lines(path) == ["column 1,column 2,column 3", *LINES[1:]]


@pytest.mark.slow
def test_parquet_holds_the_same_rows_and_no_index(tmp_path: Path) -> None:
    path = tmp_path / "frame.parquet"
    FRAME.set_axis([*"kmnp"]).to_parquet(path)

    assert read_lines(path) == LINES


@pytest.mark.slow
def test_parquet_files_of_several_systems_are_joined(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"id": [1, 2], "prompt": ["Q1", "Q2"], "output": ["A1", "A2"]})
    frame.to_parquet(tmp_path / "alpha.parquet")
    frame.assign(output=["B1", "B2"]).to_parquet(tmp_path / "beta.parquet")

    batch = convert(find_files(tmp_path))

    assert list(batch.rows) == [
        ["1", "Q1", "alpha", "A1"],
        ["1", "Q1", "beta", "B1"],
        ["2", "Q2", "alpha", "A2"],
        ["2", "Q2", "beta", "B2"],
    ]


def read_parquet(content: bytes, most_bytes: int = 10_000_000) -> bytes:
    with io.BytesIO(content) as source:
        return parquet.open_as_lines(source, most_bytes)().read()


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda content: content[:-9], "file_damaged"),
        (lambda content: content[:40] + b"\xff" * 40 + content[80:], "file_damaged"),
        (lambda content: b"PAR1", "file_damaged"),
    ],
)
def test_damaged_parquet_is_refused(change, code) -> None:
    content = (FOLDER / "pandas" / "frame.parquet").read_bytes()

    with pytest.raises(Refused) as fault:
        read_parquet(change(content))

    assert fault.value.code == code


def test_pictures_in_parquet_are_named_as_not_supported() -> None:
    target = io.BytesIO()
    pandas.DataFrame({"image": [{"bytes": b"\x89PNG", "path": "a"}]}).to_parquet(target)

    with pytest.raises(Refused, match="“image” holds bytes") as fault:
        read_parquet(target.getvalue())

    assert fault.value.code == "media"


@pytest.mark.torture
@pytest.mark.slow
def test_a_bomb_of_parquet_is_refused_before_it_unfolds() -> None:
    target = io.BytesIO()
    pandas.DataFrame({"output": ["x" * 100_000] * 10_000}).to_parquet(target)

    with pytest.raises(Refused) as fault:
        read_parquet(target.getvalue())

    assert len(target.getvalue()) < 100_000  # and a gigabyte inside
    assert fault.value.code == "too_large"


def test_parquet_without_pyarrow_is_refused_with_what_to_do(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ImportError", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    with pytest.raises(Refused, match="to_json") as fault:
        read_parquet(b"PAR1")

    assert fault.value.code == "file_kind"


@pytest.mark.parametrize(("chosen", "cells"), [("data.items", ["1", "2"]), ("data.more", ["3"])])
def test_an_object_of_two_lists_is_no_frame(chosen, cells):
    document = {"data": {"items": [{"a": 1}, {"a": 2}], "more": [{"b": 3}]}}
    source = io.BytesIO(json.dumps(document).encode())

    table = open_table(source, options={"rows": chosen})

    assert [cell for row in table.rows for cell in row.cells] == cells
    with pytest.raises(Refused) as refused:
        open_table(source)
    assert refused.value.code == "decision_needed"


def test_a_frame_of_conversations_is_still_a_frame():
    turns = [{"role": "user", "content": "Hi"}]
    frame = pandas.DataFrame({"messages": [turns, turns]})

    table = open_table(io.BytesIO(frame.to_json().encode()))

    assert table.header == ["messages"]
    assert len([*table.rows]) == 2
