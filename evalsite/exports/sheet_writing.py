"""Rows as a workbook (XLSX) of one sheet: texts stay texts, and are never cut or run.

Written here and not by a library: a million rows in little memory, and the same bytes each time.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from django.core.exceptions import ValidationError

from evalsite.exports.shared_columns import NUMBER, WHOLE, Column

MOST_ROWS = 1_048_575  # below the header
MOST_SIGNS = 32_767  # in a cell, counted as spreadsheets do
_LEVEL = 1  # of compression: more would take most of the time for little
_TAKE_CSV = "Take the CSV, which holds everything."

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_DOCUMENT = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"

# what XML can't hold, or would change, as spreadsheets write it
_ESCAPED = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff\ud800-\udfff]|_(?=x[0-9A-Fa-f]{4}_)")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?")
# styles of the cells: 1 is text, whatever it starts with; 2 the header
_STYLES = (
    f'{_HEAD}<styleSheet xmlns="{_MAIN}">'
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="3"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" quotePrefix="1" '
    'applyNumberFormat="1"/>'
    '<xf numFmtId="49" fontId="1" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" '
    'applyFont="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
    "</styleSheet>"
)


def write_workbook(
    file: IO[bytes], name: str, columns: Sequence[Column], blocks: Iterable[list[Sequence[str]]]
) -> int:
    """The workbook stands in `file`, its header frozen; returns the number of rows below it."""
    with ZipFile(file, "w", ZIP_DEFLATED, compresslevel=_LEVEL) as package:
        for path, text in _list_parts(name):
            package.writestr(_dated(path), text, ZIP_DEFLATED, _LEVEL)
        sheet = _Sheet(columns)
        with package.open(_dated("xl/worksheets/sheet1.xml"), "w", force_zip64=True) as part:
            for text in sheet.write(blocks):
                part.write(text.encode())
    return sheet.rows


class _Sheet:
    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns
        self.rows = 0
        self._places = [
            (name_column(place), column.type in (WHOLE, NUMBER))
            for place, column in enumerate(columns)
        ]

    def write(self, blocks: Iterable[list[Sequence[str]]]) -> Iterator[str]:
        frozen = '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>'
        yield (
            f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetViews>'
            f'<sheetView workbookViewId="0">{frozen}</sheetView></sheetViews><sheetData>'
        )
        header = [
            f'<c r="{letters}1" t="inlineStr" s="2"><is><t>{escape(column.name)}</t></is></c>'
            for (letters, _), column in zip(self._places, self.columns, strict=True)
        ]
        yield f'<row r="1">{"".join(header)}</row>'
        for block in blocks:
            yield "".join([self._write_row(cells) for cells in block])
        yield "</sheetData></worksheet>"

    def _write_row(self, cells: Sequence[str]) -> str:
        self.rows += 1
        if self.rows > MOST_ROWS:
            raise ValidationError(f"A spreadsheet holds {MOST_ROWS:,} rows at most. {_TAKE_CSV}")
        row = self.rows + 1
        written = [
            f'<c r="{letters}{row}"><v>{text}</v></c>'
            if is_number and _NUMBER.fullmatch(text)
            else self._write_text(f"{letters}{row}", text)
            for (letters, is_number), text in zip(self._places, cells, strict=True)
            if text
        ]
        return f'<row r="{row}">{"".join(written)}</row>'

    def _write_text(self, place: str, text: str) -> str:
        # a sign beyond the first plane counts as two
        if len(text) > MOST_SIGNS // 2 and len(text.encode("utf-16-le")) // 2 > MOST_SIGNS:
            raise ValidationError(
                f"A text in cell {place} is too long: a cell of a spreadsheet holds "
                f"{MOST_SIGNS:,} signs. {_TAKE_CSV}"
            )
        kept = f'<c r="{place}" t="inlineStr" s="1"><is><t xml:space="preserve">'
        return f"{kept}{escape(text)}</t></is></c>"


def escape(text: str) -> str:
    """The text as XML; what XML can't hold, and a CR, which it would change, as _xHHHH_."""
    if _ESCAPED.search(text):
        text = _ESCAPED.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def name_column(place: int) -> str:
    """A, B, ... Z, AA, ... by place from 0."""
    ahead, last = divmod(place, 26)
    return (name_column(ahead - 1) if ahead else "") + chr(ord("A") + last)


def _list_parts(name: str) -> list[tuple[str, str]]:
    """What a workbook is made of beside its sheet."""
    related = f'<Relationships xmlns="{_PACKAGE}/relationships">'
    types = (
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_SHEET}.sheet.main+xml"/>'
        '<Override PartName="/xl/worksheets/sheet1.xml" '
        f'ContentType="{_SHEET}.worksheet+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{_SHEET}.styles+xml"/>'
    )
    return [
        ("[Content_Types].xml", f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types">{types}</Types>'),
        (
            "_rels/.rels",
            f'{_HEAD}{related}<Relationship Id="rId1" Type="{_DOCUMENT}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        ),
        (
            "xl/workbook.xml",
            f'{_HEAD}<workbook xmlns="{_MAIN}" xmlns:r="{_DOCUMENT}"><sheets>'
            f'<sheet name="{escape(name)}" sheetId="1" r:id="rId1"/></sheets></workbook>',
        ),
        (
            "xl/_rels/workbook.xml.rels",
            f'{_HEAD}{related}<Relationship Id="rId1" Type="{_DOCUMENT}/worksheet" '
            f'Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="{_DOCUMENT}/styles" '
            'Target="styles.xml"/></Relationships>',
        ),
        ("xl/styles.xml", _STYLES),
    ]


def _dated(path: str) -> ZipInfo:
    """An entry of the same bytes whenever and wherever it is written."""
    entry = ZipInfo(path, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    return entry
