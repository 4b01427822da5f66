"""Files that attack an import: each is made on demand, and most are too large to keep.

Text files and workbooks for the protocol `magnitude`, with what must become of each: the code of
a fault, or "" where the file is imported as it is.
"""

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from typing import NamedTuple

HEADER = "item,mr,system,output\n"
GOOD = [("m1", "name[A]", system, f"Text of {system}.") for system in ("alpha", "beta", "gamma")]


class HostileFile(NamedTuple):
    """A file, and the code of its first fault ("" where there is none)."""

    name: str
    code: str
    make: Callable[[], bytes]


def join_rows(rows: list[tuple[str, ...]], header: str = HEADER) -> str:
    return header + "".join(
        ",".join('"' + cell.replace('"', '""') + '"' for cell in row) + "\n" for row in rows
    )


def with_text(text: str) -> str:
    """Return a good file but for the text of its first output."""
    return join_rows([(*GOOD[0][:3], text), *GOOD[1:]])


def with_id(item: str) -> str:
    return join_rows([(item, *row[1:]) for row in GOOD])


def with_system(system: str) -> str:
    return join_rows([(*GOOD[0][:2], system, GOOD[0][3]), *GOOD[1:]])


def to_lines(rows: list[tuple[str, ...]]) -> list[str]:
    names = HEADER.strip().split(",")
    return [json.dumps(dict(zip(names, row, strict=True))) for row in rows]


def list_text_files() -> Iterator[HostileFile]:
    """Give CSV and JSON lines that attack the reader, its limits, and whatever compares names."""
    million = 1_000_000
    big = 24 * 1024 * 1024
    good = join_rows(GOOD)
    texts: dict[str, tuple[str, Callable[[], str]]] = {
        "a million columns": ("too_many_columns", lambda: "c," * million + "d\n1\n"),
        "a million empty columns": ("too_many_columns", lambda: "," * million + "\n"),
        "one cell of 24 MB": ("cell_too_long", lambda: with_text("x" * big)),
        "24 MB of quotes": ("cell_too_long", lambda: HEADER + '"' * big),
        "24 MB of commas": ("cell_too_long", lambda: HEADER + "," * big),
        "24 MB of line feeds": ("too_many_rows", lambda: HEADER + "\n" * big),
        "24 MB of carriage returns": ("too_many_rows", lambda: HEADER + "\r" * big),
        "a mark of byte order inside": ("", lambda: with_text("A\ufeffB")),
        "two marks of byte order": ("column_missing", lambda: "\ufeff\ufeff" + good),
        "next line and line separator": ("", lambda: with_text("A\x85B\u2028C")),
        "line separator": ("", lambda: with_text("A\u2028B")),
        "a C1 control character": ("", lambda: with_text("A\x9bB")),
        "an id in another Unicode form": ("id_invalid", lambda: with_id("cafe\u0301")),
        "sharp s in an id": ("", lambda: with_id("straße")),
        "systems alike but for sharp s": (
            "system_confusable",
            lambda: join_rows([
                ("m1", "name[A]", "Straße", "One."),
                ("m1", "name[A]", "STRASSE", "Two."),
                ("m1", "name[A]", "gamma", "Three."),
            ]),
        ),
        "systems in two Unicode forms": (
            "system_confusable",
            lambda: join_rows([
                ("m1", "name[A]", "café", "One."),
                ("m1", "name[A]", "cafe\u0301", "Two."),
                ("m1", "name[A]", "gamma", "Three."),
            ]),
        ),
        "a Cyrillic letter in an id": ("", lambda: with_id("\u0430lpha")),
        "a Cyrillic letter in a system": ("", lambda: with_system("\u0430lpha")),
        "zero width in an id": ("id_invalid", lambda: with_id("m\u200b1")),
        "zero width in a system": ("system_invalid", lambda: with_system("al\u200bpha")),
        "zero width in a text": ("", lambda: with_text("A\u200bB")),
        "right to left in a text": ("", lambda: with_text("A \u202ecba\u202c")),
        "right to left in an id": ("id_invalid", lambda: with_id("a\u202eb")),
        "an id of 100,000 characters": ("id_invalid", lambda: with_id("x" * 100_000)),
        "a system of 100,000 characters": ("system_invalid", lambda: with_system("x" * 100_000)),
        "a column name of 100,000 characters": (
            "column_name_long",
            lambda: join_rows([(*row, "1") for row in GOOD], HEADER[:-1] + f",{'x' * 100_000}\n"),
        ),
        "a column named __proto__": (
            "",
            lambda: join_rows([(*row, "1") for row in GOOD], HEADER.strip() + ",__proto__\n"),
        ),
        "a column named constructor": (
            "",
            lambda: join_rows([(*row, "1") for row in GOOD], HEADER.strip() + ",constructor\n"),
        ),
        "a text of stacked marks": ("", lambda: with_text("a" + "\u0300\u0316" * 5_000)),
        "a text that is a formula": ("", lambda: with_text("=cmd|' /C calc'!A0")),
        "a text in markup": ("", lambda: with_text("<svg/onload=alert(1)>]]>-->")),
    }  # fmt: skip
    for name, (code, make) in texts.items():
        yield HostileFile(f"{name}.csv", code, lambda make=make: make().encode())
    data: dict[str, tuple[str, Callable[[], bytes]]] = {
        "UTF-7.csv": ("", lambda: with_text("A+AGE-B").encode()),
        "UTF-16 of an odd length.csv": ("utf16_damaged", lambda: good.encode("utf-16") + b"\x00"),
        "UTF-16 with half a character.csv": (
            "utf16_damaged",
            lambda: with_text("A@B").encode("utf-16").replace(b"@\x00", b"\x00\xd8")),
        # read since it has a mark
        "UTF-32.csv": ("", lambda: good.encode("utf-32")),
        "surrogates in UTF-8.csv": (
            "not_utf8", lambda: with_text("A@B").encode().replace(b"@", b"\xed\xa0\x80")),
        "CESU-8.csv": (
            "not_utf8",
            lambda: with_text("A@B").encode().replace(b"@", b"\xed\xa0\xbd\xed\xb8\x80")),
        "an overlong character.csv": (
            "not_utf8", lambda: with_text("A@B").encode().replace(b"@", b"\xc0\xaf")),
    }  # fmt: skip
    for name, (code, make_bytes) in data.items():
        yield HostileFile(name, code, make_bytes)
    first, *rest = to_lines(GOOD)
    lines: dict[str, tuple[str, Callable[[], str]]] = {
        "not a number": ("json_number", lambda: first.replace('"m1"', "NaN")),
        "minus infinity": ("json_number", lambda: first.replace('"m1"', "-Infinity")),
        "lists 100,000 deep": (
            "json_depth", lambda: first.replace('"m1"', "[" * 100_000 + "]" * 100_000)),
        "objects 100,000 deep": (
            "json_depth", lambda: first.replace('"m1"', '{"a":' * 100_000 + "1" + "}" * 100_000)),
        "a number of a million digits": (
            "id_invalid", lambda: first.replace('"m1"', "9" * million)),
        "a number beyond all floats": ("output_count", lambda: first.replace('"m1"', "1e999")),
        "an object of 20,000 keys": (
            "too_many_columns",
            lambda: json.dumps({f"k{number}": 1 for number in range(20_000)})),
        "a key twice": ("json_duplicate_key", lambda: first.replace("{", '{"item": "m0", ')),
        "a key twice, escaped": (
            "json_duplicate_key", lambda: first.replace("{", '{"it\\u0065m": "m0", ')),
    }  # fmt: skip
    for name, (code, make) in lines.items():
        yield HostileFile(
            f"{name}.jsonl", code, lambda make=make: "\n".join([make(), *rest]).encode()
        )


# --- workbooks ------------------------------------------------------------------------------

_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPES = (
    f'{_XML}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/xl/workbook.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>'
)
_RELATIONS = (
    f'{_XML}<Relationships xmlns="{_PACKAGE}"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
)


def write_cell(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


def write_rows(first: str = "") -> str:
    """Return the rows of a good sheet; `first` in place of the first output's cell."""
    rows = [HEADER.strip().split(","), *map(list, GOOD)]
    cells = [[write_cell(cell) for cell in row] for row in rows]
    if first:
        cells[1][3] = first
    return "".join(f"<row>{''.join(row)}</row>" for row in cells)


def write_workbook(
    rows: str = "",
    *,
    doctype: str = "",
    target: str = "worksheets/sheet1.xml",
    mode: str = "",
    strings: str = "",
    parts: dict[str, bytes] | None = None,
) -> bytes:
    """Return a minimal workbook of one sheet, with whatever is wrong with it."""
    rows = rows or write_rows()
    sheet = f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'
    shared = (
        f'<Relationship Id="rId2" Type="{_OFFICE}/sharedStrings" Target="sharedStrings.xml"/>'
        if strings
        else ""
    )
    files = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _RELATIONS,
        "xl/workbook.xml": (
            f'{_XML}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
            '<sheet name="items" sheetId="1" r:id="rId1"/></sheets></workbook>'
        ),
        "xl/_rels/workbook.xml.rels": (
            f'{_XML}<Relationships xmlns="{_PACKAGE}"><Relationship Id="rId1" '
            f'Type="{_OFFICE}/worksheet" Target="{target}" {mode}/>{shared}</Relationships>'
        ),
        "xl/worksheets/sheet1.xml": f"{_XML}{doctype}{sheet}",
    }
    if strings:
        files["xl/sharedStrings.xml"] = f'{_XML}<sst xmlns="{_MAIN}">{strings}</sst>'
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        for name, data in (parts or {}).items():
            archive.writestr(name, data)
    return file.getvalue()


def bomb(size: int) -> bytes:
    """Return a workbook with a part that unpacks to this many bytes."""
    file = io.BytesIO(write_workbook())
    with (
        # the least work: zeros get smaller than any table all the same
        zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("xl/media/a.xml", "w") as part,
    ):
        for _ in range(size // (1 << 20)):
            part.write(bytes(1 << 20))
    return file.getvalue()


def list_workbooks() -> Iterator[HostileFile]:
    """Give workbooks that attack whatever unpacks and parses them."""
    laughs = "".join(f'<!ENTITY l{number} "{f"&l{number - 1};" * 10}">' for number in range(1, 10))
    doctype = f'<!DOCTYPE worksheet [<!ENTITY l0 "ha">{laughs}]>'
    entity = '<c t="inlineStr"><is><t>&l9;</t></is></c>'
    outside = '<!DOCTYPE worksheet [<!ENTITY l9 SYSTEM "file:///etc/passwd">]>'
    deep = "<a>" * 100_000 + "</a>" * 100_000
    shared = '<c t="s"><v>{}</v></c>'
    long = "x" * (1 << 20)
    made: dict[str, tuple[str, Callable[[], bytes]]] = {
        "a billion laughs": (
            "spreadsheet_damaged", lambda: write_workbook(write_rows(entity), doctype=doctype)),
        "an entity that reads a file": (
            "spreadsheet_damaged", lambda: write_workbook(write_rows(entity), doctype=outside)),
        "a sheet on another host": (
            "spreadsheet_damaged",
            lambda: write_workbook(target="http://x.example/a", mode='TargetMode="External"')),
        "a sheet above the archive": (
            "spreadsheet_damaged", lambda: write_workbook(target="../../../../etc/passwd")),
        "a sheet that isn't there": (
            "spreadsheet_damaged", lambda: write_workbook(target="worksheets/none.xml")),
        "a part of 190 MB": ("archive_too_large", lambda: bomb(190 << 20)),
        "a string of 1 MB in 10,000 cells": (
            "too_large",
            lambda: write_workbook(
                write_rows() + f"<row>{shared.format(0)}</row>" * 10_000,
                strings=f"<si><t>{long}</t></si>")),
        "a string before the first": (
            "",
            lambda: write_workbook(write_rows(shared.format(-1)), strings="<si><t>A</t></si>")),
        "a string after the last": (
            "spreadsheet_damaged",
            lambda: write_workbook(write_rows(shared.format(9)), strings="<si><t>A</t></si>")),
        "row 10^12": (
            "spreadsheet_damaged",
            lambda: write_workbook(
                write_rows() + f'<row r="{10**12}">{write_cell("m9")}</row>')),
        "a cell in column ZZZZ": (
            "spreadsheet_damaged",
            lambda: write_workbook(
                write_rows('<c r="ZZZZ2" t="inlineStr"><is><t>A</t></is></c>'))),
        "elements 100,000 deep": (
            "spreadsheet_damaged", lambda: write_workbook(write_rows() + deep)),
        "3,000 parts": (
            "",
            lambda: write_workbook(parts={f"xl/p{n}.xml": b"<a/>" for n in range(3_000)})),
        "a part twice": (
            "spreadsheet_damaged",
            lambda: write_workbook(parts={"xl/worksheets/sheet1.xml": b"<worksheet/>"})),
        "a formula that runs a program": (
            "", lambda: write_workbook(
                write_rows('<c t="str"><f>cmd|"/c calc"!A0</f><v>A text.</v></c>'))),
        "macros": ("", lambda: write_workbook(parts={"xl/vbaProject.bin": b"x" * 1000})),
        "an escaped surrogate": (
            "", lambda: write_workbook(write_rows(write_cell("A_xD800_B")))),
        "an error in a cell": (
            "cell_error", lambda: write_workbook(write_rows('<c t="e"><v>#REF!</v></c>'))),
        "cut off": ("spreadsheet_damaged", lambda: write_workbook()[:-40]),
        "no workbook in it": ("archive_unreadable", lambda: write_parts({"a.bin": b"x"})),
        "a workbook in a zip in a zip": (
            "archive_unreadable",
            lambda: write_parts({"a.zip": write_parts({"a.xlsx": write_workbook()})})),
        "markup for a part": (
            "spreadsheet_damaged", lambda: write_workbook("<row><c></row>")),
        "no sheet": (
            "spreadsheet_damaged",
            lambda: write_parts({
                "[Content_Types].xml": _TYPES.encode(), "_rels/.rels": _RELATIONS.encode(),
                "xl/workbook.xml": f'{_XML}<workbook xmlns="{_MAIN}"/>'.encode()})),
    }  # fmt: skip
    for name, (code, make) in made.items():
        yield HostileFile(f"{name}.xlsx", code, make)


def write_parts(parts: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return file.getvalue()
