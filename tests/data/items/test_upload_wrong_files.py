"""Files that are no batch: the sentence tells what they are, and what to do with them."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from tests.data.items.test_upload_pages import send
from tests.support.sheets import write_workbook
from tests.support.uploads import GOOD, Check, check, study, told

__all__ = ["check", "study"]  # fixtures
ROWS = [line.split(",") for line in GOOD.splitlines()]


def make_merged() -> bytes:
    """A good batch, but the ids of its rows are merged into one cell."""
    rows = [*ROWS[:2], *([None, *row[1:]] for row in ROWS[2:])]
    return write_workbook(rows, change=lambda _, sheet: sheet.merge_range("A2:A4", "m1"))


@pytest.mark.parametrize("above", [[["All about the items."]], [["A title"], [], ["Of", "2026"]]])
def test_titles_above_the_names_of_columns_are_named(check: Check, above: list[list[str]]) -> None:
    plain, checked = check(write_workbook(ROWS)), check(write_workbook([*above, *ROWS]))

    assert checked.faults == []
    assert [item.key for item in checked.items] == [item.key for item in plain.items]
    (remark,) = [remark for remark in checked.remarks if remark.code == "rows_above"]
    assert above[0][0] in remark.message


def test_sheet_without_a_table_at_its_top_is_named_with_what_to_do(check: Check) -> None:
    data = write_workbook(
        [["All about the items."]],
        "Readme",
        change=lambda book, _: book.add_worksheet("Data").write_row(0, 0, ROWS[0]),
    )

    checked = check(data)

    assert told(checked)[0] == (
        "row 1: The sheet “Readme” was read, and its first row names only one column, “All about "
        "the items.”. Put the sheet with the items first or hide those before it, and delete what "
        "is above the names of its columns."
    )


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "This is a picture."),
        (b"\xff\xd8\xff\xe0\0", "This is a picture."),
        (b"GIF89a\0", "This is a picture."),
        (b"<html><body>not found</body></html>", "This is an HTML page, perhaps"),
        (b"\n<!DOCTYPE html>\n<title>a,b</title>", "This is an HTML page, perhaps"),
        ("\ufeff<!doctype HTML>".encode(), "This is an HTML page, perhaps"),
    ],
)
def test_picture_or_web_page_is_called_what_it_is(check: Check, start: bytes, words: str) -> None:
    (fault,) = told(check(start))

    assert fault.startswith(words)
    assert "upload" in fault.lower()


def test_text_that_begins_with_a_sign_of_markup_is_read_as_a_table(check: Check) -> None:
    assert "web page" not in " ".join(told(check("<htmlish>,b\n1,2\n")))


def test_command_tells_remarks_beside_faults_since_they_may_be_the_cause(
    study: Any, tmp_path: Path
) -> None:
    path, out = tmp_path / "merged.xlsx", StringIO()
    path.write_bytes(make_merged())

    with pytest.raises(CommandError, match="The id is empty"):
        call_command("import_batch", str(study.pk), str(path), stdout=out)

    assert "Worth a look: Merged cells: 1, the first A2:A4." in out.getvalue()


def test_page_does_not_call_remarks_harmless_where_there_are_faults(
    staff_client: Client, study: Any
) -> None:
    good = GOOD.replace("One.", "TODO")

    without_faults = send(staff_client, study, good).content.decode()
    with_faults = send(staff_client, study, good.replace("Three.", "")).content.decode()

    assert "You can still use the file." in without_faults
    assert "but they may tell the cause of a fault." in with_faults


@pytest.mark.parametrize("first", ["m1,name[A],alpha,One.", "m1,a b c d e f,alpha,Fine"])
def test_file_without_names_of_columns_is_told_as_such(check: Check, first: str) -> None:
    checked = check(f"{first}\nm2,name[B],alpha,Two.\n")

    assert told(checked) == [
        "line 1: The first line seems to hold a row, not the names of columns. Put a line of "
        "names above it, such as item, mr, system, output."
    ]


def test_column_of_another_name_of_few_letters_is_not_asked_for(check: Check) -> None:
    found = told(check(GOOD.replace("system", "temp", 1)))

    assert len(found) == 1
    assert "Column “system” is missing" in found[0]
    assert "Did you mean" not in found[0]


def test_columns_of_persons_are_named_beside_a_wrong_header(check: Check) -> None:
    checked = check(GOOD.replace("system", "email", 1))

    assert "Column “system” is missing" in told(checked)[0]
    assert any("“email” looks personal" in str(one) for one in checked.remarks)
