"""Excel files for tests: as XlsxWriter writes them, and part by part as nobody should."""

import io
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from xlsxwriter import Workbook
from xlsxwriter.worksheet import Worksheet

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def write_workbook(
    rows: Iterable[Sequence[Any]],
    title: str = "Data",
    *,
    options: Mapping[str, Any] | None = None,
    change: Callable[[Workbook, Worksheet], None] | None = None,
) -> bytes:
    """As XlsxWriter writes it, texts in the workbook's own list; `change` adds what it likes."""
    buffer = io.BytesIO()
    dates = {"default_date_format": "yyyy-mm-dd", "strings_to_formulas": False}
    with Workbook(buffer, {**dates, **(options or {})}) as book:
        sheet = book.add_worksheet(title)
        for number, row in enumerate(rows):
            sheet.write_row(number, 0, row)
        if change is not None:
            change(book, sheet)
    return buffer.getvalue()


def write_table(content: str) -> bytes:
    """A table of commas without quotes, as a sheet of texts."""
    return make_package(make_rows(content))


def make_rows(content: str) -> str:
    return _write_rows([line.split(",") for line in content.splitlines()])


def write_texts(rows: Sequence[Sequence[str]]) -> bytes:
    """Texts exactly, escaped as Excel escapes them; each in its own cell of the sheet."""
    return make_package(_write_rows(rows))


def _write_rows(rows: Sequence[Sequence[str]]) -> str:
    return "".join(
        f'<row r="{number}">{"".join(map(_write_cell, row))}</row>'
        for number, row in enumerate(rows, start=1)
    )


def _write_cell(cell: str) -> str:
    return f'<c t="inlineStr"><is>{_tag(cell)}</is></c>'


def _tag(cell: str) -> str:
    return f'<t xml:space="preserve">{escape(_escape_signs(cell))}</t>'


def share(texts: Sequence[str]) -> str:
    """The part that holds the texts of a workbook."""
    items = "".join(f"<si>{_tag(text)}</si>" for text in texts)
    return f'{HEAD}<sst xmlns="{MAIN}">{items}</sst>'


def _escape_signs(text: str) -> str:
    """_x000D_ for signs that XML changes or can't hold, and for what looks like that already."""
    text = re.sub(r"_(?=x[0-9A-Fa-f]{4}_)", "_x005F_", text)
    return re.sub("[\x00-\x08\x0b-\x1f\ufffe\uffff]", lambda found: f"_x{ord(found[0]):04X}_", text)


def make_package(
    data: str = "",
    *,
    after: str = "",
    sheets: Mapping[str, str] | None = None,
    parts: Mapping[str, str | bytes | None] | None = None,
    prefix: str = "",
) -> bytes:
    """A workbook of one sheet with this data; `parts` adds, changes or (None) removes parts.

    `sheets` names further ones, each with its state.
    """
    names = {"Data": "visible", **(sheets or {})}
    listed = "".join(
        f"<{prefix}sheet name={quoteattr(name)} sheetId={quoteattr(str(number))} "
        f'state="{state}" r:id="r{number}"/>'
        for number, (name, state) in enumerate(names.items(), start=1)
    )
    related = "".join(
        f'<Relationship Id="r{number}" Type="{OFFICE}/worksheet" '
        f'Target="worksheets/sheet{number}.xml"/>'
        for number in range(1, len(names) + 1)
    )
    spaces = f'xmlns{":" if prefix else ""}{prefix.rstrip(":")}="{MAIN}" xmlns:r="{OFFICE}"'
    given: dict[str, str | bytes | None] = {
        "[Content_Types].xml": f"{HEAD}<Types/>",
        "_rels/.rels": (
            f'{HEAD}<Relationships xmlns="{PACKAGE}"><Relationship Id="a" '
            f'Type="{OFFICE}/officeDocument" Target="/xl/workbook.xml"/></Relationships>'
        ),
        "xl/workbook.xml": (
            f"{HEAD}<{prefix}workbook {spaces}><{prefix}sheets>{listed}</{prefix}sheets>"
            f"</{prefix}workbook>"
        ),
        "xl/_rels/workbook.xml.rels": (
            f'{HEAD}<Relationships xmlns="{PACKAGE}">{related}'
            f'<Relationship Id="s" Type="{OFFICE}/styles" Target="styles.xml"/>'
            f'<Relationship Id="t" Type="{OFFICE}/sharedStrings" Target="sharedStrings.xml"/>'
            "</Relationships>"
        ),
        "xl/styles.xml": f'{HEAD}<styleSheet xmlns="{MAIN}"><cellXfs/></styleSheet>',
        "xl/sharedStrings.xml": share([]),
        "xl/worksheets/sheet1.xml": (
            f"{HEAD}<{prefix}worksheet {spaces}><{prefix}sheetData>{data}</{prefix}sheetData>"
            f"{after}</{prefix}worksheet>"
        ),
        **(parts or {}),
    }
    return make_zip({name: part for name, part in given.items() if part is not None})


def make_styles(*formats: int | str) -> str:
    """A style for each: the number of a format that is built in, or the code of another."""
    codes = {code: 164 + number for number, code in enumerate(formats) if isinstance(code, str)}
    numbers = "".join(
        f'<numFmt numFmtId="{number}" formatCode={quoteattr(code)}/>'
        for code, number in codes.items()
    )
    cells = "".join(
        f'<xf numFmtId="{codes[one] if isinstance(one, str) else one}"/>' for one in formats
    )
    return (
        f'{HEAD}<styleSheet xmlns="{MAIN}"><numFmts>{numbers}</numFmts>'
        f'<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>{cells}</cellXfs></styleSheet>'
    )


def make_zip(parts: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return buffer.getvalue()


# --- .ods -----------------------------------------------------------------------

_SPACES = (
    " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text", "style")
    )
    + ' xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"'
)
_KIND = "application/vnd.oasis.opendocument.spreadsheet"


def write_ods(rows: Iterable[Sequence[str]]) -> bytes:
    """Texts, each with a paragraph for each of its lines."""
    return make_ods("".join(make_ods_row(*map(make_ods_cell, row)) for row in rows))


def make_ods_row(*cells: str, attributes: str = "") -> str:
    return f"<table:table-row {attributes}>{''.join(cells)}</table:table-row>"


def make_ods_cell(text: str) -> str:
    lines = "".join(f"<text:p>{escape(line)}</text:p>" for line in text.split("\n"))
    kind = ' office:value-type="string"' if text else ""
    return f"<table:table-cell{kind}>{lines if text else ''}</table:table-cell>"


def make_ods(
    rows: str, *, others: str = "", styles: str = "", parts: Mapping[str, str | bytes] | None = None
) -> bytes:
    """A spreadsheet of one sheet, and `others`; `parts` adds or changes parts."""
    content = (
        f"{HEAD}<office:document-content {_SPACES}><office:automatic-styles>{styles}"
        '</office:automatic-styles><office:body><office:spreadsheet><table:table table:name="Data" '
        f'table:style-name="ta1">{rows}</table:table>{others}</office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    manifest = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
    return make_zip(
        {
            "mimetype": _KIND,
            "META-INF/manifest.xml": (
                f'{HEAD}<manifest:manifest xmlns:manifest="{manifest}"><manifest:file-entry '
                f'manifest:full-path="/" manifest:media-type="{_KIND}"/></manifest:manifest>'
            ),
            "content.xml": content,
            **(parts or {}),
        }
    )
