"""Workbooks: texts stay texts, numbers are numbers, nothing is cut, and the bytes are the same."""

import io
from collections.abc import Callable
from typing import Any
from zipfile import ZipFile

import pytest
import python_calamine
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.data.files import views as export_views
from evalsite.data.files import workbook
from evalsite.data.files.columns import NUMBER, TEXT, WHOLE, Column, list_files
from evalsite.data.files.file_counts import store_counts
from evalsite.data.files.workbook import write_workbook
from evalsite.results import files_page
from evalsite.studies.models import Output, Study
from tests.data.files.test_export_files import HOSTILE, fill_with_hostile_texts
from tests.support.exports import annotate, export, main_items, read, study

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
    "<r>not its notation</r>",
]


def write(texts: list[str]) -> bytes:
    file = io.BytesIO()
    columns = [Column("text", TEXT, "", cell=lambda row: row)]
    groups = [(text, [text]) for text in texts]
    write_workbook(file, "a sheet", columns, groups, lambda rows: None)
    return file.getvalue()


def read_sheet(data: bytes) -> list[list[Any]]:
    book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
    return book.get_sheet_by_index(0).to_python(skip_empty_area=False)


def read_part(data: bytes, name: str) -> str:
    with ZipFile(io.BytesIO(data)) as package:
        return package.read(name).decode()


def test_every_text_is_kept_as_a_text_and_none_as_a_formula() -> None:
    data = write(NASTY)

    # U+FFFE can't be in XML at all
    wanted = [text.replace("\ufffe", "\ufffd") for text in NASTY]
    cells = [row[0] for row in read_sheet(data)[1:]]
    assert cells == wanted
    sheet = read_part(data, "xl/worksheets/sheet1.xml")
    assert "<f>" not in sheet
    assert "<v>" not in sheet
    assert 'quotePrefix="1"' in read_part(data, "xl/styles.xml")


def test_numbers_are_numbers_and_ids_are_texts(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    fill_with_hostile_texts(study, make_participant)

    header, *rows = read_sheet(export(study, "ratings", is_workbook=True))

    exact = read(export(study))
    assert header == list(exact[0])
    kinds = {column.name: column.type for column in list_files(study.config)["ratings"]}
    for row, wanted in zip(rows, exact, strict=True):
        for name, cell in zip(header, row, strict=True):
            if kinds[name] in (WHOLE, NUMBER) and wanted[name]:
                assert isinstance(cell, int | float)
                assert float(cell) == float(wanted[name])
            else:
                assert isinstance(cell, str)
                assert cell == wanted[name]


def test_header_stays_in_view(study: Study) -> None:
    data = export(study, "items", is_workbook=True)

    sheet = read_part(data, "xl/worksheets/sheet1.xml")
    assert '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>' in sheet
    assert '<sheet name="items"' in read_part(data, "xl/workbook.xml")


@pytest.mark.parametrize("file", ["ratings", "items", "participants"])
def test_same_data_gives_the_same_workbook(
    study: Study, make_participant: Callable[..., Any], file: str
) -> None:
    annotate(study, make_participant(study), main_items(study)[0])

    first, second = (export(study, file, is_workbook=True) for _ in range(2))

    assert first == second
    dates = {entry.date_time for entry in ZipFile(io.BytesIO(first)).infolist()}
    assert len(dates) == 1
    assert "1980-01-01" in read_part(first, "docProps/core.xml")


def test_longest_cell_is_kept_and_a_longer_one_is_refused() -> None:
    longest = "x" * 32_765 + "😀"

    assert read_sheet(write([longest]))[1] == [longest]
    with pytest.raises(ValidationError, match="cell A2 is too long"):
        write([f"{longest}x"])


def test_row_too_many_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook, "MOST_ROWS", 2)

    assert len(read_sheet(write(["1", "2"]))) == 3
    with pytest.raises(ValidationError, match="holds 2 rows at most"):
        write(["1", "2", "3"])


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
        'attachment; filename="restaurant-descriptions_ratings.xlsx"'
    )
    assert len(read_sheet(data)) == 4
    entry = AuditEntry.objects.get(action="data exported")
    assert (entry.detail["file"], entry.detail["rows"]) == ("ratings.xlsx", 3)


def test_workbook_that_cannot_hold_a_text_is_refused_with_advice(
    staff_client: Client, study: Study
) -> None:
    Output.objects.filter(item=main_items(study)[0]).update(text="x" * 40_000)

    response = take(staff_client, study, "items")

    page = staff_client.get(response["Location"]).content.decode()
    assert "a cell of a spreadsheet holds 32,767 characters. Download the CSV" in page
    assert not AuditEntry.objects.filter(action="data exported").exists()


def test_workbook_of_too_many_rows_is_neither_offered_nor_made(
    staff_client: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_views, "MOST_ROWS", 2)
    monkeypatch.setattr(files_page, "MOST_ROWS", 2)
    store_counts(study)

    page = staff_client.get(reverse("admin:files-all", args=[study.pk])).content.decode()
    response = take(staff_client, study, "items")

    assert "too long for XLSX" in page
    told = staff_client.get(response["Location"]).content.decode()
    assert "a spreadsheet holds 2. Download the CSV, or choose fewer rows." in told
