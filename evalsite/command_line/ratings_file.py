"""Ratings in any form that people have, as the plain table from which results are computed."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import is_zipfile

from evalsite.command_line.output import Refused as Wrong
from evalsite.data.tables.bare_ratings import is_plain, open_bare, write_plain
from evalsite.data.tables.files import find_files
from evalsite.data.tables.mqm import SOURCE, find_columns, read_segments
from evalsite.data.tables.rating_forms import name_winners
from evalsite.data.tables.reader import CHOSEN, TAKES_ALIKE, open_appended
from evalsite.data.tables.table import Limits, Refused, Table, peek
from evalsite.lib.csv_writer import write_csv
from evalsite.lib.mqm_weights import CRITERION, is_non_translation, weigh_mqm


@contextmanager
def open_ratings(options: Namespace) -> Iterator[None]:
    """Let the options name a table that the analysis reads; Refused if the file is none."""
    path = options.ratings
    try:
        with TemporaryDirectory() as folder, ExitStack() as stack:
            table = _open(path, dict(options.map), stack)
            if table is not None and not peek(table):
                raise Refused("no_rows", "The file has no rows under its header.")
            target = Path(folder) / f"{path.stem}.csv"
            if table is not None and find_columns(table.header):
                options.map, options.marks = [], Path(folder) / "highlights.csv"
                _write_spans(table, target, options.marks)
            else:
                sides = name_winners(table) if table is not None else []
                if table is None or (
                    not sides and not is_zipfile(path) and is_plain(table, options.map)
                ):
                    yield
                    return
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


# --- error spans --------------------------------------------------------------------------------

_OF_RATINGS = ("participant", "item", "cluster", "system", "output_id", "criterion", "scale",
               "better", "value")  # fmt: skip
_OF_MARKS = ("participant", "output_id", "start", "end", "quote", "criterion", "input", "category",
             "severity", "note", "weight")  # fmt: skip


def _write_spans(table: Table, ratings: Path, marks: Path) -> None:
    """Write the penalty of each rater and output, and its errors, by the weights of MQM."""
    segments = read_segments(table).values()
    scored, marked = [], []
    # a study of one document has no clusters
    has_clusters = len({segment.doc for segment in segments}) > 1
    for segment in segments:
        cluster = segment.doc if has_clusters else ""
        output, total, is_gone = f"{segment.item}#{segment.system}", 0.0, False
        for passage in segment.passages:
            weight = weigh_mqm(passage.category, passage.severity)
            if is_non_translation(passage.category):
                # it counts once of an output
                weight, is_gone = 0.0 if is_gone else weight, True
            total += weight
            column = SOURCE if passage.place == SOURCE else ""
            marked.append([
                segment.rater, output, passage.start, passage.end, passage.quote, CRITERION, column,
                passage.category, passage.severity, passage.note, weight,
            ])  # fmt: skip
        scored.append([
            segment.rater, segment.item, cluster, segment.system, output, CRITERION, "spans",
            "lower", round(total, 3),
        ])  # fmt: skip
    for path, header, rows in ((ratings, _OF_RATINGS, scored), (marks, _OF_MARKS, marked)):
        with path.open("w", encoding="utf-8", newline="") as file:
            write_csv(file, [header, *rows])
