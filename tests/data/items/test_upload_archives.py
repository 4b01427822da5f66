"""A table in a zip or gzip file: row 30 of the list of bad input."""

import gzip
import io
import zipfile
from typing import Any

import pytest

from evalsite.data.tables.reader import open_table
from evalsite.data.tables.table import Fault, Refused, Table
from tests.support.sheets import make_zip, write_ods, write_workbook

CSV = "id,text\n1,One\n"
ROWS = [["id", "text"], ["1", "One"]]
TABLES: dict[str, bytes] = {
    "a.csv": CSV.encode(),
    "a.tsv": CSV.replace(",", "\t").encode(),
    "a.json": b'[{"id": "1", "text": "One"}]',
    "a.jsonl": b'{"id": "1", "text": "One"}',
    "a.xlsx": write_workbook(ROWS),
    "a.ods": write_ods(ROWS),
}


def read(data: bytes) -> Table:
    return open_table(io.BytesIO(data))


def cells_of(data: bytes) -> list[list[str]]:
    table = read(data)
    return [table.header, *(row.cells for row in table.rows)]


def refuse(data: bytes) -> Fault:
    with pytest.raises(Refused) as refused:
        list(read(data).rows)
    return refused.value.fault


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("folder", ["", "study 1/", "study 1/data/"])
def test_only_table_of_a_zip_is_read(name: str, folder: str) -> None:
    others = {"__MACOSX/._a.csv": b"x", ".DS_Store": b"x", f"{folder}.a.csv": b"x"}
    data = make_zip({f"{folder}{name}": TABLES[name], "README.txt": "hi", **others})

    assert cells_of(data) == ROWS


@pytest.mark.parametrize("name", TABLES)
def test_table_in_gzip_is_read(name: str) -> None:
    assert cells_of(gzip.compress(TABLES[name])) == ROWS


def test_several_tables_are_refused_by_name() -> None:
    fault = refuse(make_zip(TABLES))

    assert fault.code == "archive_several_tables"
    assert "(Have in common: " in fault.message


@pytest.mark.parametrize(
    "data",
    [
        make_zip({"readme.txt": "hi"}),
        make_zip({"a.zip": make_zip(TABLES)}),
        make_zip({"a.csv": make_zip({"a.csv": CSV})}),
        make_zip({"a.csv": gzip.compress(CSV.encode())}),
        gzip.compress(gzip.compress(CSV.encode())),
        gzip.compress(make_zip({"a.csv": CSV})),
        gzip.compress(CSV.encode())[:-5],
        b"\x1f\x8bnothing of that kind",
    ],
    ids=["no table", "zip", "zip as csv", "gzip as csv", "gzip twice", "zip in gzip", "cut",
         "no gzip"],
)  # fmt: skip
def test_archive_without_a_table_of_its_own_is_refused(data: bytes) -> None:
    assert refuse(data).code == "archive_unreadable"


@pytest.mark.torture
@pytest.mark.slow
def test_bad_30_limits_are_of_what_is_unpacked(settings: Any) -> None:
    settings.UPLOAD_MAX_TEXT = 20_000_000
    text = "".join(f"{number * 7919}\n" for number in range(3_000_000)).encode()

    assert refuse(make_zip({"a.csv": text})).code == "too_large"
    assert refuse(gzip.compress(text)).code == "too_large"


@pytest.mark.slow
def test_bad_30_bombs_are_refused_before_they_are_unpacked() -> None:
    bomb = b"a" * 100_000_000

    assert refuse(make_zip({"a.csv": bomb})).code == "archive_too_large"
    assert refuse(gzip.compress(bomb)).code == "archive_too_large"
    # a zip in a zip is opened as a folder of files
    assert refuse(make_zip({"a.xlsx": make_zip({"xl/a.xml": bomb})})).code == "too_large"


def test_zip_with_a_password_is_refused() -> None:
    data = bytearray(make_zip({"a.csv": CSV}))
    data[data.index(b"PK\x01\x02") + 8] |= 1

    assert refuse(bytes(data)).code == "spreadsheet_locked"


def test_bad_31_two_parts_of_one_name_are_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.csv", CSV)
        archive.writestr("A.csv", CSV)

    assert refuse(buffer.getvalue()).code == "spreadsheet_damaged"


def test_encoding_of_a_packed_table_is_previewed() -> None:
    fault = refuse(make_zip({"a.csv": "id\né\n".encode("cp1252")}))

    assert fault.code == "not_utf8"
    assert fault.preview is not None
    assert fault.preview.counts == {"é": 1}
