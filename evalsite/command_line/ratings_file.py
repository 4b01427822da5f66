"""Ratings in any form that people have, as the plain table from which results are computed."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from evalsite.command_line.output import Refused as Wrong
from evalsite.data.tables.bare_ratings import is_plain, open_bare, write_plain
from evalsite.data.tables.files import find_files
from evalsite.data.tables.rating_forms import name_winners
from evalsite.data.tables.reader import CHOSEN, TAKES_ALIKE, open_appended
from evalsite.data.tables.table import Limits, Refused, Table, peek


@contextmanager
def open_ratings(options: Namespace) -> Iterator[None]:
    """Let the options name a table that the analysis reads; Refused if the file is none."""
    path = options.ratings
    try:
        with TemporaryDirectory() as folder, ExitStack() as stack:
            table = _open(path, dict(options.map), stack)
            if table is not None and not peek(table):
                raise Refused("no_rows", "The file has no rows under its header.")
            sides = name_winners(table) if table is not None else []
            if table is None or (not sides and is_plain(table, options.map)):
                yield
                return
            target = Path(folder) / f"{path.stem}.csv"
            options.map = write_plain(table, target, dict(options.map), sides)
            options.ratings = target
            try:
                yield
            except ValueError as error:
                raise ValueError(str(error).replace(str(target), str(path))) from None
            finally:
                options.ratings = path
    except Refused as refused:
        place = f"{path}, {refused.fault.place}" if refused.fault.place else str(path)
        raise Wrong(f"{place}: {refused.message}") from None


def _open(path: Path, chosen: dict[str, str], stack: ExitStack) -> Table | None:
    """Open a file, or all of a folder; None if its own reader says better what is wrong."""
    limits = Limits().lift()
    if path.is_dir():
        return open_appended(find_files(path), limits, {CHOSEN: chosen}, {}, is_chosen=True)
    source = stack.enter_context(path.open("rb"))
    options = {TAKES_ALIKE: True, CHOSEN: chosen}
    try:
        table = open_bare(source, file_name=path.name, limits=limits, options=options)
    except Refused as refused:
        if refused.code in ("empty_file", "archive_unreadable", "not_windows_1252"):
            return None
        raise
    if table.encoding == "Windows-1252":
        sys.stderr.write(f"{path} isn't UTF-8: it was read as Windows-1252.\n")
    return table
