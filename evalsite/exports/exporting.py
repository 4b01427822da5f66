"""Data out: files that hold exactly what was entered, of one moment, with a checksum in the log."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import file_digest, sha256
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Any

from django.conf import settings
from django.db.models import QuerySet

from evalsite.annotation.models import Annotation, Highlight, Rating
from evalsite.audit.models import AuditEntry
from evalsite.exports.cells import Form, Source
from evalsite.exports.columns import list_files
from evalsite.exports.cut import consistent_cut
from evalsite.exports.item_rows import read_items
from evalsite.exports.metric_rows import read_metrics
from evalsite.exports.people import read_participants
from evalsite.exports.selection import Selection
from evalsite.exports.sheet_writing import write_workbook
from evalsite.exports.tables import Tables
from evalsite.exports.writing import (
    Csv,
    Plain,
    Weaver,
    guard_cell,
    weave_rows,
    write_lines,
    write_rows,
)
from evalsite.imports.models import MetricScore
from evalsite.participants.models import Origin
from evalsite.studies.models import Item, Output, Study
from evalsite.studies.summaries import name_start

__all__ = [
    "BYTE_ORDER_MARK", "Choice", "Spool", "Written", "count_file", "count_rows", "guard_cell",
    "has_simulated", "name_file", "record_export", "spool_file", "stream_file", "write_file",
    "write_rows",
]  # fmt: skip

BYTE_ORDER_MARK = "\ufeff"
_BLOCK = 256 * 1024
_ROWS_OF_SHEET = 500  # written at a time

# hears how many rows stand in the file so far
Tell = Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class Choice(Selection):
    """Which file a researcher asked for, and how: as CSV, guarded for spreadsheets, or as XLSX."""

    file: str
    for_spreadsheets: bool = False
    is_workbook: bool = False

    @property
    def file_name(self) -> str:
        return f"{self.file}.xlsx" if self.is_workbook else f"{self.file}.csv"

    @property
    def content_type(self) -> str:
        if self.is_workbook:
            return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
        return "text/csv; charset=utf-8"

    def describe(self) -> dict[str, Any]:
        """What is chosen, for the log."""
        return {
            "file": self.file_name,
            "for_spreadsheets": self.for_spreadsheets or self.is_workbook,
            **super().describe(),
        }


@dataclass(frozen=True)
class Written:
    """What a file that was written holds."""

    rows: int
    sha256: str


@dataclass(frozen=True)
class Spool:
    """A whole file, waiting to be sent. It has no name on the disk, so nothing is left of it."""

    file: IO[bytes]
    rows: int
    sha256: str


def stream_file(study: Study, choice: Choice, *, by: Any) -> Iterator[bytes]:
    """The file as the study stood at this call; once it is sent, the log says who took what.

    It is written whole before its first byte is sent: a slow download would hold the database's
    cut open for as long as it takes.
    """
    return _send(study, choice, spool_file(study, choice), by=by)


def spool_file(study: Study, choice: Choice) -> Spool:
    """The whole file, all of it as it stood at one moment."""
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    # beside the database: /tmp is memory on many machines
    file = TemporaryFile(dir=settings.DATA_DIR)  # noqa: SIM115 (whoever sends it closes it)
    try:
        with consistent_cut():
            written = write_file(study, choice, file)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return Spool(file, written.rows, written.sha256)


def write_file(
    study: Study, choice: Choice, file: IO[bytes], *, tell: Tell | None = None
) -> Written:
    """The whole file stands in `file`; of one moment if the caller holds a consistent cut.

    A workbook is read again for its checksum, so that its file must be open for reading too.
    """
    tell = tell or (lambda rows: None)
    if choice.is_workbook:
        return _write_workbook(study, choice, file, tell)
    digest, rows = sha256(), 0
    for block, so_far in _write_blocks(study, choice):
        rows = so_far
        digest.update(block)
        file.write(block)
        tell(rows)
    return Written(rows, digest.hexdigest())


def _send(study: Study, choice: Choice, spool: Spool, *, by: Any) -> Iterator[bytes]:
    is_whole = False
    try:
        with spool.file as file:
            while block := file.read(_BLOCK):
                yield block
        is_whole = True
    finally:
        written = Written(spool.rows, spool.sha256)
        record_export(study, choice.describe(), written, is_whole=is_whole, by=by)


def record_export(
    study: Study, chosen: dict[str, Any], written: Written, *, is_whole: bool, by: Any
) -> None:
    """The log says who took what, or began to."""
    AuditEntry.objects.record(
        "data exported" if is_whole else "export broken off",
        by=by,
        study_id=study.pk,
        rows=written.rows,
        sha256=written.sha256,
        **chosen,
    )


def name_file(study: Study, choice: Choice) -> str:
    """A name for the download: study, file, choice, and “simulated” and “imported”."""
    parts = [name_start(study), choice.file, *choice.name_parts()]
    # an exact CSV and a guarded one differ: side by side they must not be taken for each other
    parts += ["for-spreadsheets"] if choice.for_spreadsheets and not choice.is_workbook else []
    marks = {"simulated": has_simulated(study), "imported": has_imported(study)}
    parts[1:1] = [mark for mark, is_there in marks.items() if is_there]
    return f"{'-'.join(parts)}.{'xlsx' if choice.is_workbook else 'csv'}"


def has_simulated(study: Study) -> bool:
    return Annotation.objects.filter(study=study, origin=Origin.SIMULATED).exists()


def has_imported(study: Study) -> bool:
    return Annotation.objects.filter(study=study, ratings_file__isnull=False).exists()


def count_rows(study: Study, selection: Selection | None = None) -> dict[str, int]:
    """How many rows each file would have now."""
    selection = selection or Selection()
    return {file: _COUNTERS[file](study, selection) for file in list_files(study.config)}


def count_file(study: Study, choice: Choice) -> int:
    """How many rows the file would have now."""
    return _COUNTERS[choice.file](study, choice)


def _find(model: type[Rating | Highlight], study: Study, selection: Selection) -> QuerySet[Any]:
    wanted = selection.find_annotations(study).order_by()
    return model.objects.filter(annotation__in=wanted.values("id")).order_by()


def _count_wide(study: Study, selection: Selection) -> int:
    """One row for each output that is rated, and one for all that compares outputs."""
    ratings = _find(Rating, study, selection)
    criteria = study.config.criteria
    compared = [criterion.key for criterion in criteria if not criterion.per_output]
    per_output = ratings.exclude(criterion__in=compared) if compared else ratings
    found = per_output.values("annotation", "output").distinct().count()
    if compared:
        found += ratings.filter(criterion__in=compared).values("annotation").distinct().count()
    return found


_COUNTERS: dict[str, Callable[[Study, Selection], int]] = {
    "ratings": lambda study, selection: _find(Rating, study, selection).count(),
    "ratings_wide": _count_wide,
    "annotations": lambda study, selection: selection.find_annotations(study).count(),
    "items": lambda study, selection: Output.objects.filter(
        item__in=Item.objects.filter(study=study)
    ).count(),
    "highlights": lambda study, selection: _find(Highlight, study, selection).count(),
    "participants": lambda study, selection: selection.find_participants(study).count(),
    "metrics": lambda study, selection: MetricScore.objects.filter(file__study=study).count(),
}


_READERS: dict[str, Callable[[Study, Choice, Form], Source]] = {
    "ratings": lambda study, choice, form: Tables(study, form, choice).read_ratings(),
    "ratings_wide": lambda study, choice, form: Tables(study, form, choice).read_wide(),
    "annotations": lambda study, choice, form: Tables(study, form, choice).read_annotations(),
    "items": lambda study, choice, form: read_items(study),
    "participants": lambda study, choice, form: read_participants(study, choice),
    "highlights": lambda study, choice, form: Tables(study, form, choice).read_highlights(),
    "metrics": lambda study, choice, form: read_metrics(study),
}


def _write_blocks(study: Study, choice: Choice) -> Iterator[tuple[bytes, int]]:
    """Blocks of the file, each with the number of rows up to its end."""
    columns = list_files(study.config)[choice.file]
    form = Csv(columns, is_guarded=choice.for_spreadsheets)
    source = _READERS[choice.file](study, choice, form)
    weaver = Weaver(columns, source, form)
    block = [BYTE_ORDER_MARK] if choice.for_spreadsheets else []
    block.append(write_rows([[column.name for column in columns]]))
    size = rows = 0
    for page in source.pages:
        text = write_lines(weaver.weave(page))
        block.append(text)
        size += len(text)
        rows += len(page.which)
        if size >= _BLOCK:
            yield "".join(block).encode(), rows
            block, size = [], 0
    yield "".join(block).encode(), rows


def _write_workbook(study: Study, choice: Choice, file: IO[bytes], tell: Tell) -> Written:
    columns = list_files(study.config)[choice.file]
    form = Plain(columns)
    rows = weave_rows(columns, _READERS[choice.file](study, choice, form), form)
    blocks = _tell_blocks(rows, tell)
    count = write_workbook(file, choice.file, columns, blocks)
    file.seek(0)
    return Written(count, file_digest(file, "sha256").hexdigest())  # type: ignore[arg-type]


def _tell_blocks(rows: Iterator[Sequence[str]], tell: Tell) -> Iterator[list[Sequence[str]]]:
    told = 0
    for first in rows:
        block = [first, *islice(rows, _ROWS_OF_SHEET - 1)]
        yield block
        told += len(block)
        tell(told)
