"""Zipped files that somebody made to break a reader: rows 30 and 31 of the list of bad input."""

import io
import struct
import tracemalloc
import zipfile
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.support.checking import check_file
from tests.support.sheets import HEAD, MAIN, make_package, make_rows, make_zip, share, write_table
from tests.support.uploads import GOOD, Check, check, study, told

__all__ = ["check", "study"]  # fixtures

MEGABYTE = 1024 * 1024
OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ROW = '<row><c t="str"><v>item</v></c></row>'


def with_part(name: str, part: str | bytes | None) -> bytes:
    return make_package(ROW, parts={name: part})


# --- other formats, told by their content --------------------------------------------------


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("data", "code"),
    [
        (OLD + b"\0" * 600 + "Workbook".encode("utf-16-le"), "spreadsheet_kind"),
        (OLD + b"\0" * 70_000 + "EncryptedPackage".encode("utf-16-le"), "spreadsheet_locked"),
        (make_zip({"xl/workbook.bin": b"x"}), "spreadsheet_kind"),
        (make_zip({"word/document.xml": b"x"}), "file_kind"),
        (make_zip({"Index/Document.iwa": b"x"}), "spreadsheet_kind"),
        (
            make_zip({"mimetype": b"application/vnd.oasis.opendocument.spreadsheet"}),
            "spreadsheet_damaged",
        ),
        (make_zip({"mimetype": b"application/vnd.oasis.opendocument.text"}), "file_kind"),
        (make_zip({}), "archive_unreadable"),
        (b"BZh91AY&SY", "archive_unreadable"),
        (b"%PDF-1.7\n", "file_kind"),
        (b"PAR1\x15\x04", "file_damaged"),
        (b"version: 3\nresults:\n  - output: x\n", "file_kind"),
        (make_zip({"[Content_Types].xml": b"", "xl/workbook.xml": b"x"}), "spreadsheet_damaged"),
    ],
)
def test_bad_30_31_other_formats_are_refused_by_their_content(
    check: Check, data: bytes, code: str
) -> None:
    assert [fault.code for fault in check(data).faults] == [code]


# --- bombs ---------------------------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("name", ["xl/worksheets/sheet1.xml", "xl/media/image1.png"])
def test_bad_30_bomb_is_refused_by_its_directory_before_anything_is_unpacked(
    check: Check, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    data = with_part(name, b"\0" * (100 * MEGABYTE))
    monkeypatch.delattr(zipfile.ZipFile, "open")

    assert len(data) < MEGABYTE / 4
    assert [fault.code for fault in check(data).faults] == ["archive_too_large"]


def test_bad_30_file_that_unpacks_to_more_than_the_limit_is_refused(
    check: Check, settings: Any
) -> None:
    data = write_table(GOOD)
    settings.UPLOAD_MAX_TEXT = sum(
        part.file_size for part in zipfile.ZipFile(io.BytesIO(data)).infolist()
    )
    assert told(check(data)) == []
    settings.UPLOAD_MAX_TEXT -= 1

    assert [fault.code for fault in check(data).faults] == ["too_large"]


def test_bad_30_directory_that_lies_about_sizes_gains_nothing(check: Check) -> None:
    padding = b"<!--" + b"x" * MEGABYTE + b"-->"
    data = bytearray(with_part("xl/sharedStrings.xml", share(["x"]).encode() + padding))
    entry = data.rindex(b"PK\x01\x02", 0, data.rindex(b"xl/sharedStrings.xml"))
    data[entry + 24 : entry + 28] = struct.pack("<I", 10)

    assert "it is damaged" in told(check(bytes(data)))[0]


def test_bad_30_directory_that_is_too_large_is_not_read(check: Check) -> None:
    few, many = (
        make_package(make_rows(GOOD), parts={f"xl/{number:060}": b"" for number in range(parts)})
        for parts in (100, 12_000)
    )

    assert told(check(few)) == []
    assert "it is damaged" in told(check(many))[0]


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(f"{HEAD}<worksheet>" + "<a>" * 200_000, id="deep"),
        pytest.param(f"{HEAD}<worksheet><!--{'x' * 9_000_000}--></worksheet>", id="one comment"),
        pytest.param(f'{HEAD}<worksheet a="{"x" * 9_000_000}"/>', id="one attribute"),
        pytest.param(f"{HEAD}<worksheet {'x' * 9_000_000}", id="one name"),
    ],
)
def test_bad_30_part_that_would_fill_the_memory_is_refused(check: Check, part: str) -> None:
    data = with_part("xl/worksheets/sheet1.xml", part)

    tracemalloc.start()
    checked = check(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert "it is damaged" in told(checked)[0]
    assert peak < 20 * MEGABYTE


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("name", ["xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"])
def test_bad_30_text_of_a_cell_without_end_is_not_kept(check: Check, name: str) -> None:
    text = "".join(f"{number:08}" for number in range(MEGABYTE + MEGABYTE // 4))
    part = {
        "xl/sharedStrings.xml": share([text]),
        "xl/worksheets/sheet1.xml": f'{HEAD}<worksheet xmlns="{MAIN}"><sheetData><row>'
        f'<c t="str"><v>{text}</v></c></row></sheetData></worksheet>',
    }[name]
    data = with_part(name, part)

    tracemalloc.start()
    checked = check(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert len(checked.faults) == 1
    assert peak < 20 * MEGABYTE


# --- what XML can refer to -----------------------------------------------------------------

DOCTYPES = {
    "file": '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
    "address": '<!DOCTYPE x [<!ENTITY e SYSTEM "http://127.0.0.1:9/">]>',
    "parameter": '<!DOCTYPE x [<!ENTITY % e SYSTEM "http://127.0.0.1:9/"> %e;]>',
    "laughs": '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY e "&a;&a;&a;&a;">]>',
    "external subset": '<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">',
    "nothing": "<!DOCTYPE x>",
}


@pytest.mark.parametrize("doctype", DOCTYPES.values(), ids=DOCTYPES.keys())
@pytest.mark.parametrize(
    "name",
    ["xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "xl/workbook.xml", "xl/styles.xml"],
)
def test_bad_30_entities_are_refused_in_every_part(check: Check, name: str, doctype: str) -> None:
    part = f'<?xml version="1.0"?>{doctype}<x xmlns="{MAIN}"/>'

    assert "it is damaged" in told(check(with_part(name, part)))[0]


# --- damage --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cell",
    [
        '<c t="s"><v>0</v></c>',
        '<c t="s"><v>-1</v></c>',
        '<c t="s"><v>x</v></c>',
        '<c t="b"><v>2</v></c>',
        '<c t="x"><v>2</v></c>',
        '<c t="e"><v>#x</v></c>',
        "<c><v>1e999</v></c>",
        "<c><v>NaN</v></c>",
        '<c r="1A"><v>1</v></c>',
        '<c r="A1"><v>1</v></c>',
        "<c><c/></c>",
        '</row><row r="1"><c><v>1</v></c>',
        '</row><row r="x">',
    ],
)
def test_bad_31_sheet_that_no_program_writes_is_refused(check: Check, cell: str) -> None:
    data = make_package(f'{ROW}<row r="2">{cell}</row>')

    assert any("it is damaged" in fault for fault in told(check(data)))


@pytest.mark.parametrize(
    "name",
    ["xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "xl/workbook.xml", "xl/styles.xml",
     "xl/_rels/workbook.xml.rels"],
)  # fmt: skip
@pytest.mark.parametrize("part", [b"", b"x", b"<a>", '<?xml version="1.0"?><a/>'.encode("utf-16")])
def test_bad_31_part_that_is_broken_is_refused(check: Check, name: str, part: bytes) -> None:
    assert "it is damaged" in told(check(with_part(name, part)))[0]


@pytest.mark.parametrize(
    "name", ["xl/worksheets/sheet1.xml", "xl/workbook.xml", "xl/_rels/workbook.xml.rels"]
)
def test_bad_31_workbook_without_a_part_that_it_needs_is_refused(check: Check, name: str) -> None:
    assert "it is damaged" in told(check(with_part(name, None)))[0]


@pytest.mark.parametrize("cell", ['<c t="s"><v>0</v></c>', '<c t="s"><v>99</v></c>'])
def test_bad_31_text_that_no_list_holds_is_refused(check: Check, cell: str) -> None:
    data = make_package(f'{ROW}<row r="2">{cell}</row>', parts={"xl/sharedStrings.xml": None})

    assert "it is damaged" in told(check(data))[0]


_fuzz = hypothesis_settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.slow
@_fuzz
@given(
    cuts=st.lists(st.tuples(st.integers(0, 4000), st.binary(min_size=1, max_size=4)), max_size=4),
    end=st.integers(10, 4000),
)
# its names are broken, so it is no workbook any more, and one of its parts is damaged
@example(cuts=[(49, b"\n"), (1561, b"\x02")], end=10)
def test_bad_31_broken_file_is_refused_and_never_breaks_the_reader(
    study: Any, cuts: list[tuple[int, bytes]], end: int
) -> None:
    whole = write_table(GOOD)
    data = bytearray(whole[:end] if end < len(whole) and not cuts else whole)
    for place, piece in cuts:
        place %= len(data)
        data[place : place + len(piece)] = piece

    checked = check_file(io.BytesIO(bytes(data)), study=study)

    assert bool(checked.faults) != bool(checked.items)


@pytest.mark.slow
@_fuzz
@given(
    name=st.sampled_from(
        ["xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "xl/workbook.xml", "xl/styles.xml",
         "xl/_rels/workbook.xml.rels", "_rels/.rels"]
    ),
    pieces=st.lists(
        st.sampled_from(
            ["<row>", "</row>", '<row r="3">', "<c>", "</c>", '<c t="s" s="9">', '<c r="ZZ9">',
             "<v>", "</v>", "1", "1e5", "<f>", '<f t="shared"/>', "</f>", "<is>", "</is>",
             "<t>", "</t>",
             "<si>", "</si>", "<sheetData>", "</sheetData>", '<sheet name="x" r:id="r1"/>',
             '<xf numFmtId="14"/>', "<cellXfs>", "</cellXfs>", '<Relationship Id="a"/>',
             '<Relationship Id="r1" Target="../../x" Type="a/worksheet"/>', "&amp;", "_xD800_",
             "<mergeCell/>", '<numFmt numFmtId="1" formatCode="["/>', "<sheet/>", "<rPh>", "</rPh>"]
        ),
        max_size=12,
    ),
)  # fmt: skip
def test_bad_31_random_parts_never_break_the_reader(
    study: Any, name: str, pieces: list[str]
) -> None:
    part = f'<x xmlns="{MAIN}" xmlns:r="r">{balance(pieces)}</x>'

    checked = check_file(io.BytesIO(with_part(name, part)), study=study)

    assert checked.faults
    assert not checked.items


def balance(pieces: list[str]) -> str:
    """The pieces as well-formed XML: what closes nothing is left out, what is open is closed."""
    opened: list[str] = []
    kept = []
    for piece in pieces:
        if piece.startswith("</"):
            if not opened or opened[-1] != piece[2:-1]:
                continue
            opened.pop()
        elif piece.startswith("<") and not piece.endswith("/>"):
            opened.append(piece[1:-1].split()[0])
        kept.append(piece)
    return "".join([*kept, *(f"</{name}>" for name in reversed(opened))])
