"""Random tables and random bytes in every format: exact, or refused with a place; never broken."""

import codecs
import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from evalsite.data.tables.reader import open_table
from evalsite.data.tables.table import Refused
from tests.support.checking import check_file
from tests.support.sheets import make_package, share, write_texts
from tests.support.uploads import study

__all__ = ["study"]  # a fixture

Rows = list[list[str]]


def write_csv(
    delimiter: str = ",", quoting: int = csv.QUOTE_ALL, end: str = "\r\n"
) -> Callable[[Rows], bytes]:
    def write(rows: Rows) -> bytes:
        buffer = io.StringIO(newline="")
        style: Any = {"delimiter": delimiter, "quoting": quoting, "lineterminator": end}
        csv.writer(buffer, **style).writerows(rows)
        return buffer.getvalue().encode()

    return write


def write_utf16(rows: Rows) -> bytes:
    return codecs.BOM_UTF16_BE + write_csv()(rows).decode().encode("utf-16-be")


def write_json_lines(is_ascii: bool) -> Callable[[Rows], bytes]:
    def write(rows: Rows) -> bytes:
        header, *others = rows
        lines = (
            json.dumps(dict(zip(header, row, strict=True)), ensure_ascii=is_ascii) for row in others
        )
        return "".join(f"{line}\n" for line in lines).encode()

    return write


def write_json_list(rows: Rows) -> bytes:
    header, *others = rows
    return json.dumps([dict(zip(header, row, strict=True)) for row in others], indent=1).encode()


def write_shared(rows: Rows) -> bytes:
    texts = sorted({cell for row in rows for cell in row})
    numbers = {text: number for number, text in enumerate(texts)}
    rows_of_cells = (
        "".join(f'<c t="s"><v>{numbers[cell]}</v></c>' for cell in row) for row in rows
    )
    data = "".join(f"<row>{cells}</row>" for cells in rows_of_cells)
    return make_package(data, parts={"xl/sharedStrings.xml": share(texts)})


MINIMAL = write_csv(quoting=csv.QUOTE_MINIMAL)
WRITERS: dict[str, Callable[[Rows], bytes]] = {
    "comma": write_csv(),
    "comma, quotes where needed": MINIMAL,
    "semicolon": write_csv(";", end="\n"),
    "tab": write_csv("\t", end="\r\n"),
    "UTF-16": write_utf16,
    "JSON lines": write_json_lines(is_ascii=False),
    "JSON lines, escaped": write_json_lines(is_ascii=True),
    "sheet": write_texts,
    "sheet, shared texts": write_shared,
    "JSON list": write_json_list,
}
SHEETS = (write_texts, write_shared)

every_format = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
_fuzz = hypothesis_settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
_MANY = 400


def draw_many(test: Any, **drawn: Any) -> Any:
    """Return the test with far more examples of what is drawn, for `make torture`."""
    return hypothesis_settings(_fuzz, max_examples=_MANY)(
        given(**drawn)(test.hypothesis.inner_test)
    )


_texts = st.one_of(
    st.text(max_size=20),
    st.text(alphabet=",;\t\"'\r\n =_x0D5Fé😀\u2028\ufeff", max_size=12),
    st.sampled_from(["", "007", "1.0", "NA", "null", "=1+1", "_x000D_", "\ud7ff", "\ufffe"]),
)


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    width = draw(st.integers(1, 4))
    names = [f"c{number}{draw(_texts)}" for number in range(width)]
    rows = st.lists(_texts, min_size=width, max_size=width)
    return [names, *draw(st.lists(rows, min_size=1, max_size=5))]


@pytest.mark.one_case
@every_format
@_fuzz
@given(rows=tables())
def test_cells_come_out_exactly_as_they_went_in(write: Callable[[Rows], bytes], rows: Rows) -> None:
    # no character, and no program escapes it
    assume(
        write not in SHEETS
        or not set("\ufffe\uffff") & {char for row in rows for cell in row for char in cell}
    )
    # a name that holds another delimiter without quotes can be read in two ways
    assume(write is not MINIMAL or not set("".join(rows[0])) & {";", "\t", "|"})
    said = [row for row in rows[1:] if any(cell.strip() for cell in row)]

    table = open_table(io.BytesIO(write(rows)))
    found = list(table.rows)

    assert table.header == [name.strip() for name in rows[0]]
    assert [row.cells for row in found] == said
    assert [row.record for row in found] == list(range(1, len(said) + 1))
    assert not any(row.problems for row in found)


@pytest.mark.torture
@every_format
def test_cells_of_many_tables_come_out_exactly(write: Callable[[Rows], bytes]) -> None:
    draw_many(test_cells_come_out_exactly_as_they_went_in, rows=tables())(write=write)


_ids = st.sampled_from(["m1", "m2", "M1", "", "=1", "m 1"])
_systems = st.sampled_from(["alpha", "beta", "gamma", "Alpha", "tie", " ", "be\nta"])
_others = st.one_of(st.just("name[A]"), st.just("One."), _texts)


_rows = st.lists(st.tuples(_ids, st.just("name[A]"), _systems, _others).map(list), max_size=7)


@pytest.mark.one_case
@every_format
@_fuzz
@given(rows=_rows, has_good=st.booleans())
def test_random_batches_are_exact_or_refused_with_places(
    study: Any, write: Callable[[Rows], bytes], rows: Rows, has_good: bool
) -> None:
    good = [["m3", "name[B]", name, f'By {name}\r\n, "{name}".'] for name in ("a", "b", "c")]
    rows = [["item", "mr", "system", "output"], *(good if has_good else []), *rows]

    checked = check_file(io.BytesIO(write(rows)), study=study)

    assert bool(checked.items) != bool(checked.faults)
    taken = [
        (item.extra.get("source_id", item.key), item.inputs["mr"], output.system, output.text)
        for item in checked.items
        for output in item.outputs
    ]
    assert sorted(taken) == sorted(map(tuple, rows[1:] if checked.items else []))
    assert all(
        fault.line or "no rows" in fault.message or fault.code == "decision_needed"
        for fault in checked.faults
    )


@pytest.mark.torture
@every_format
def test_many_random_batches_are_exact_or_refused(
    study: Any, write: Callable[[Rows], bytes]
) -> None:
    test = test_random_batches_are_exact_or_refused_with_places

    draw_many(test, rows=_rows, has_good=st.booleans())(study=study, write=write)


STARTS = (b"", b"item,mr\n", b'{"', b'{"a":"', b"PK\x03\x04", codecs.BOM_UTF16_LE, b"\xef\xbb\xbf")


@pytest.mark.parametrize("start", STARTS, ids=map(str, STARTS))
@_fuzz
@given(data=st.binary(max_size=200))
def test_random_bytes_are_read_or_refused(start: bytes, data: bytes) -> None:
    try:
        table = open_table(io.BytesIO(start + data))
        found = list(table.rows)
    except Refused:
        return
    assert table.header
    assert all(row.line for row in found)


@pytest.mark.parametrize("start", STARTS, ids=map(str, STARTS))
@_fuzz
@given(data=st.binary(max_size=200))
def test_random_bytes_never_become_items(study: Any, start: bytes, data: bytes) -> None:
    checked = check_file(io.BytesIO(start + data), study=study)

    assert checked.faults
    assert not checked.items
