"""Workbooks: texts stay texts, numbers are numbers, nothing is cut, and the bytes are the same."""

import io
from collections.abc import Callable
from datetime import datetime
from typing import Any
from zipfile import ZipFile

import openpyxl
import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse
from openpyxl.utils.escape import unescape

from evalsite.audit.models import AuditEntry
from evalsite.exports import files as export_files
from evalsite.exports import sheet_writing
from evalsite.exports import views as export_views
from evalsite.exports.columns import list_files
from evalsite.exports.column import NUMBER, TEXT, WHOLE, Column
from evalsite.exports.sheet_writing import name_column, write_workbook
from evalsite.studies.models import Output, Study
from tests.exports import annotate, export, main_items, read, study
from tests.test_export_files import HOSTILE, fill_with_hostile_texts

__all__ = ["study"]  # fixture

NASTY = [
    *HOSTILE,
    "\x00\x07\x0b",
    "_x0041_",
    "a_x000D_b",
    "a\r\nb\rc",
    "<&>\"'",
    "]]>",
    "\ufffe",
    "  ",
]


def write(columns: list[Column], rows: list[list[str]]) -> bytes:
    file = io.BytesIO()
    write_workbook(file, "a sheet", columns, [rows])
    return file.getvalue()


def text_column(name: str = "text") -> Column:
    return Column(name=name, meaning="", type=TEXT)


def read_sheet(data: bytes) -> Any:
    return openpyxl.load_workbook(io.BytesIO(data)).active


def test_every_text_is_kept_as_a_text_and_none_as_a_formula() -> None:
    sheet = read_sheet(write([text_column()], [[text] for text in NASTY]))

    cells = [row[0] for row in sheet.iter_rows(min_row=2, max_row=len(NASTY) + 1)]
    assert {cell.data_type for cell in cells if cell.value is not None} <= {"s", "inlineStr"}
    assert [unescape(cell.value or "") for cell in cells] == NASTY
    assert all(cell.quotePrefix for cell in cells if cell.value)


def test_numbers_are_numbers_and_ids_are_texts(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    fill_with_hostile_texts(study, make_participant)

    sheet = read_sheet(export(study, "ratings", is_workbook=True))

    header, *rows = sheet.iter_rows(values_only=True)
    exact = read(export(study))
    assert list(header) == list(exact[0])
    kinds = {column.name: column.type for column in list_files(study.config)["ratings"]}
    for row, wanted in zip(rows, exact, strict=True):
        for name, cell in zip(header, row, strict=True):
            is_number = kinds[name] in (WHOLE, NUMBER)
            assert (float(cell) == float(wanted[name])) if is_number and wanted[name] else (
                unescape(cell or "") == wanted[name]
            )  # fmt: skip
            assert cell is None or isinstance(cell, (int, float) if is_number else str)


def test_header_stays_in_view(study: Study) -> None:
    sheet = read_sheet(export(study, "items", is_workbook=True))

    assert sheet.freeze_panes == "A2"
    assert sheet.title == "items"
    assert sheet["A1"].font.bold


@pytest.mark.parametrize("file", ["ratings", "items", "participants"])
def test_same_data_gives_the_same_workbook(
    study: Study, make_participant: Callable[..., Any], file: str
) -> None:
    annotate(study, make_participant(study), main_items(study)[0])

    first, second = (export(study, file, is_workbook=True) for _ in range(2))

    assert first == second
    dates = {entry.date_time for entry in ZipFile(io.BytesIO(first)).infolist()}
    assert {datetime(*date) for date in dates} == {datetime(1980, 1, 1)}  # noqa: DTZ001


def test_longest_cell_is_kept_and_a_longer_one_is_refused() -> None:
    longest = "x" * 32_765 + "😀"

    sheet = read_sheet(write([text_column()], [[longest]]))

    assert sheet["A2"].value == longest
    with pytest.raises(ValidationError, match=r"A text in cell A2 is too long.*Take the CSV"):
        write([text_column()], [[f"{longest}x"]])


def test_row_too_many_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet_writing, "MOST_ROWS", 2)

    assert read_sheet(write([text_column()], [["1"], ["2"]])).max_row == 3
    with pytest.raises(ValidationError, match=r"holds 2 rows at most. Take the CSV"):
        write([text_column()], [["1"], ["2"], ["3"]])


def test_columns_are_named_as_in_spreadsheets() -> None:
    assert [name_column(place) for place in (0, 25, 26, 51, 52, 701, 702)] == [
        "A", "Z", "AA", "AZ", "BA", "ZZ", "AAA",
    ]  # fmt: skip


# --- taking one -------------------------------------------------------------------------


def take(client: Client, study: Study, file: str) -> Any:
    return client.post(reverse("admin:export-workbook", args=[study.pk, file]))


def test_workbook_is_sent_under_its_name_and_logged(
    staff_client: Client, study: Study, make_participant: Callable[..., Any]
) -> None:
    annotate(study, make_participant(study), main_items(study)[0])

    response = take(staff_client, study, "ratings")
    data = response.getvalue()

    assert response["Content-Type"].endswith("spreadsheetml.sheet")
    assert response["Content-Disposition"] == (
        'attachment; filename="restaurant-descriptions-ratings.xlsx"'
    )
    assert read_sheet(data).max_row == 4
    entry = AuditEntry.objects.get(action="data exported")
    assert (entry.detail["file"], entry.detail["rows"]) == ("ratings.xlsx", 3)


def test_workbook_that_cannot_hold_a_text_is_refused_with_advice(
    staff_client: Client, study: Study
) -> None:
    Output.objects.filter(item=main_items(study)[0]).update(text="x" * 40_000)

    response = take(staff_client, study, "items")

    page = staff_client.get(response["Location"]).content.decode()
    assert "a cell of a spreadsheet holds 32,767 signs. Take the CSV" in page
    assert not AuditEntry.objects.filter(action="data exported").exists()


def test_workbook_of_too_many_rows_is_neither_offered_nor_made(
    staff_client: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (export_views, export_files):
        monkeypatch.setattr(module, "MOST_ROWS", 2)

    page = staff_client.get(reverse("admin:study-export", args=[study.pk])).content.decode()
    response = take(staff_client, study, "items")

    assert "too long for XLSX" in page
    told = staff_client.get(response["Location"]).content.decode()
    assert "a spreadsheet holds 2. Take the CSV, or choose fewer rows." in told
