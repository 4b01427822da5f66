"""A workbook: which sheets it has, and what its cells refer to. Macros are never looked at."""

import posixpath
from dataclasses import dataclass
from xml.sax.xmlreader import AttributesImpl

from evalsite.imports.tables.characters import show
from evalsite.imports.tables.faults import UnreadableFile
from evalsite.imports.tables.packages import Package, PartHandler, refuse_damaged
from evalsite.imports.tables.shared_strings import SharedStrings, StringsHandler
from evalsite.imports.tables.sheet_values import NUMBER, find_meaning
from evalsite.imports.tables.table import Limits

_MOST_SHEETS = 1_000
_MOST_FORMATS = 100_000


@dataclass(frozen=True)
class Sheet:
    name: str
    part: str
    is_hidden: bool


@dataclass(frozen=True)
class Workbook:
    """The sheet that is read, and what its cells refer to."""

    package: Package
    sheet: Sheet
    others: tuple[str, ...]  # names of the other sheets that are not hidden
    is_1904: bool
    meanings: list[str]  # of the formats of cells, by number
    strings: SharedStrings
    has_macros: bool


def open_workbook(package: Package, limits: Limits) -> Workbook:
    """The first sheet that isn't hidden can be read; UnreadableFile if there is none."""
    main = _find_main_part(package)
    book = _BookHandler()
    package.parse(main, book)
    related = _read_relations(package, main)
    sheets = [
        Sheet(show(name, 60), related.parts[key], is_hidden)
        for name, key, is_hidden in book.sheets
        if related.kinds.get(key) == "worksheet"
    ]
    visible = [sheet for sheet in sheets if not sheet.is_hidden]
    if not visible:
        raise UnreadableFile(
            "empty_file", "The Excel file has no sheet with a table that is not hidden."
        )
    return Workbook(
        package=package,
        sheet=visible[0],
        others=tuple(sheet.name for sheet in visible[1:]),
        is_1904=book.is_1904,
        meanings=_read_meanings(package, related.find("styles")),
        strings=_read_strings(package, related.find("sharedStrings"), limits),
        has_macros=any(name.endswith("vbaproject.bin") for name in package.names),
    )


def _find_main_part(package: Package) -> str:
    if package.has("_rels/.rels"):
        found = _read_relations(package, "").find("officeDocument")
        if found:
            return found
    return "xl/workbook.xml"


def _read_meanings(package: Package, part: str) -> list[str]:
    handler = _StylesHandler()
    if part:
        package.parse(part, handler)
    return [find_meaning(number, handler.codes.get(number)) for number in handler.formats]


def _read_strings(package: Package, part: str, limits: Limits) -> SharedStrings:
    handler = StringsHandler(limits)
    if part:
        package.parse(part, handler)
    handler.strings.close()
    return handler.strings


# --- which part is what ---------------------------------------------------------


class _Relations(PartHandler):
    """Parts that a part refers to, by the key it uses and by what they are."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.parts: dict[str, str] = {}
        self.kinds: dict[str, str] = {}
        self._folder = folder

    def begin(self, tag: str, attrs: AttributesImpl) -> None:
        if tag != "Relationship" or attrs.get("TargetMode") == "External":
            return
        if len(self.parts) >= _MOST_SHEETS:
            refuse_damaged()
        target = attrs["Target"]
        path = posixpath.normpath(posixpath.join("/", self._folder, target)).lstrip("/")
        self.parts[attrs["Id"]] = path
        self.kinds[attrs["Id"]] = attrs["Type"].rpartition("/")[2]

    def find(self, kind: str) -> str:
        """The part of this kind; "" if there is none."""
        return next((self.parts[key] for key, one in self.kinds.items() if one == kind), "")


def _read_relations(package: Package, part: str) -> _Relations:
    folder, name = posixpath.split(part)
    handler = _Relations(folder)
    package.parse(posixpath.join(folder, "_rels", f"{name}.rels"), handler)
    return handler


class _BookHandler(PartHandler):
    """Names of sheets, and what day dates count from."""

    def __init__(self) -> None:
        super().__init__()
        self.sheets: list[tuple[str, str, bool]] = []
        self.is_1904 = False

    def begin(self, tag: str, attrs: AttributesImpl) -> None:
        if tag == "workbookPr":
            self.is_1904 = attrs.get("date1904") in ("1", "true")
        elif tag == "sheet":
            if len(self.sheets) >= _MOST_SHEETS:
                refuse_damaged()
            key = next((attrs[name] for name in attrs.getNames() if name.endswith(":id")), "")
            is_hidden = attrs.get("state", "visible") != "visible"
            self.sheets.append((attrs["name"], key, is_hidden))


class _StylesHandler(PartHandler):
    """The formats of cells: numbers that stand for them, and codes of those not built in."""

    def __init__(self) -> None:
        super().__init__()
        self.formats: list[int] = []
        self.codes: dict[int, str] = {}
        self._is_of_cells = False

    def begin(self, tag: str, attrs: AttributesImpl) -> None:
        if tag == "cellXfs":
            self._is_of_cells = True
        elif tag == "xf" and self._is_of_cells:
            self.formats.append(int(attrs.get("numFmtId", "0")))
        elif tag == "numFmt":
            self.codes[int(attrs["numFmtId"])] = attrs["formatCode"]
        if len(self.formats) > _MOST_FORMATS or len(self.codes) > _MOST_FORMATS:
            refuse_damaged()

    def end(self, tag: str) -> None:
        if tag == "cellXfs":
            self._is_of_cells = False


def find_cell_meaning(meanings: list[str], style: str | None) -> str:
    """What a number of this style means."""
    number = int(style or 0)
    return meanings[number] if 0 <= number < len(meanings) else NUMBER
