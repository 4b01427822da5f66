"""From bytes to rows, whatever was sent: a table, what a tool wrote, or several files in a zip."""

from collections.abc import Mapping
from functools import partial
from typing import Any, BinaryIO

from evalsite.data.tables.appended import (
    APPEND,
    JOIN,
    TAKES_ALIKE,
    add_places,
    names_places,
    open_appended,
)
from evalsite.data.tables.archives import Archive
from evalsite.data.tables.faults import Refused, show
from evalsite.data.tables.files import SourceFile, is_document
from evalsite.data.tables.outputs import (
    CHOSEN,
    FILE_NAME,
    NAMES,
    list_files,
    open_again,
    open_outputs,
)
from evalsite.data.tables.plain import (
    GZIP,
    TABLES,
    UNPACK,
    ZIP,
    is_spreadsheet,
    open_packed,
    open_plain,
    unpack_gzip,
)
from evalsite.data.tables.roles import LEAVE_OUT
from evalsite.data.tables.spreadsheets import SHEET, open_spreadsheet
from evalsite.data.tables.table import Limits, Table

# packed once more, which may hide outputs
# whether files of tools are read as the tables they are, as ratings are
AS_TABLE = "as_table"
_PACKED = (".zip", ".gz", ".tgz", ".tar", ".7z", ".rar", ".bz2", ".xz", ".zst")


def open_table(
    source: BinaryIO,
    *,
    limits: Limits | None = None,
    options: Mapping[str, Any] | None = None,
    file_name: str = "",
) -> Table:
    """Read the header; the rows follow as they are asked for. Refused says what is wrong.

    Of the options of an upload these are used: `encoding` ("windows-1252" once it is confirmed),
    `rows` (the list of a JSON document), `sheet`, `separator` (of columns, in words), and what
    several files are for.
    """
    limits = limits or Limits()
    options = {**(options or {}), FILE_NAME: file_name}
    source.seek(0)
    head = source.read(8)
    chosen = options.get(CHOSEN) or {}
    if head.startswith(ZIP):
        if appended := _open_appended(source, limits, options):
            return appended
        table = None if options.get(AS_TABLE) else open_outputs(source, limits, options)
        if isinstance(table, Table):
            return table
        archive = Archive(source, limits)
        if is_spreadsheet(archive):
            return open_spreadsheet(source, archive, limits, str(options.get(SHEET, "")))
        try:
            name = _find_table(archive, options)
        except Refused as error:
            error.files = list_files(source, options)
            raise
        return open_packed(lambda target: archive.copy(name, target), limits, options)
    if head.startswith(GZIP):
        names = {name.removesuffix(".gz"): use for name, use in (options.get(NAMES) or {}).items()}
        inside = {**options, NAMES: names, FILE_NAME: file_name.removesuffix(".gz")}
        table = open_packed(
            lambda target: unpack_gzip(source, target, limits), limits, inside, _open_single
        )
    else:
        table = _open_single(source, head, limits, options)
    if names_places(chosen):
        add_places(table, file_name)
    return table


def _open_appended(source: BinaryIO, limits: Limits, options: Mapping[str, Any]) -> Table | None:
    """Read the tables of a zip one after another, if that was chosen or goes without saying."""
    is_chosen = options.get(JOIN) == APPEND or names_places(options.get(CHOSEN) or {})
    file = SourceFile("", partial(open_again, source))
    if not (is_chosen or options.get(TAKES_ALIKE)) or is_document(file):
        return None
    names = options.get(NAMES) or {}
    return open_appended([file], limits, options, names, is_chosen=is_chosen)


def _open_single(
    source: BinaryIO, head: bytes, limits: Limits, options: Mapping[str, Any]
) -> Table:
    """Open what isn't packed: a tool's file, or else a table, which a tool's file may be, too."""
    opened = None if options.get(AS_TABLE) else open_outputs(source, limits, options)
    if isinstance(opened, Table):
        return opened
    try:
        table = open_plain(source, head, limits, options)
    except Refused as error:
        raise opened or error from None
    if opened:
        message = f"{str(opened).rstrip('.')}. It is read as an ordinary table"
        table.remarks.tell("looks_like_a_tool", message)
    return table


def _find_table(archive: Archive, options: Mapping[str, Any]) -> str:
    """Return the name of the only table in an archive that isn't left out."""
    roles = options.get(NAMES) or {}
    tables = [name for name in archive.names if _is_table(name) and roles.get(name) != LEAVE_OUT]
    packed = [name for name in archive.names if _is_packed(name)]
    if packed and roles.get(packed[0]) != LEAVE_OUT:
        message = (
            f"“{show(packed[0], 60)}” in this zip file is packed itself, and isn't opened. Unpack "
            "it, and pack what it holds with the rest, or leave it out."
        )
        raise Refused("archive_unreadable", message)
    if not tables:
        message = f"This zip file holds no table ({', '.join(TABLES)}). {UNPACK}"
        raise Refused("archive_unreadable", message)
    if len(tables) > 1:
        names = ", ".join(f"“{show(name, 60)}”" for name in tables[:5])
        raise Refused(
            "archive_several_tables",
            f"There are {len(tables):,} tables: {names}{' and more' if len(tables) > 5 else ''}. "
            "They can't be joined as they are. Leave out all but one, or upload that one alone.",
        )
    return tables[0]


def _is_table(name: str) -> bool:
    """Go by the name: what else is packed with a table is often text, too."""
    return not _is_hidden(name) and name.lower().endswith(TABLES)


def _is_packed(name: str) -> bool:
    return not _is_hidden(name) and name.lower().endswith(_PACKED)


def _is_hidden(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return any(part.startswith(".") or part == "__MACOSX" for part in parts)
