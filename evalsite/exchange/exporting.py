"""Data out: files that hold exactly what was entered, streamed, with a checksum in the log."""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from operator import itemgetter
from typing import Any

from django.db.models import Q
from django.utils.text import slugify

from evalsite.annotation.models import Annotation, Rating
from evalsite.audit.models import AuditEntry
from evalsite.exchange.columns import FILES, TEXT
from evalsite.exchange.tables import Cells, Tables
from evalsite.participants.models import Origin
from evalsite.studies.models import Study

# RFC 4180. It also makes Python's writer quote a lone CR or LF in a cell, so that it survives.
LINE_END = "\r\n"
_BYTE_ORDER_MARK = "\ufeff"
_BLOCK = 256 * 1024
# what a spreadsheet may take for a formula, also in its full-width form
_FORMULA = re.compile("[=+\\-@\t\r\x00＝＋－＠]")
_PILOT = Q(status=Annotation.Status.PILOT) | Q(participant__is_pilot=True)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which file a researcher asked for, and how."""

    file: str
    for_spreadsheets: bool = False
    with_pilot: bool = False


def stream_file(study: Study, choice: Choice, *, by: Any) -> Iterator[bytes]:
    """The file in blocks; once it has ended, or broken off, the log says what was taken."""
    digest, rows, is_whole = sha256(), 0, False
    try:
        for block, written in _write_blocks(study, choice):
            rows = written
            digest.update(block)
            yield block
        is_whole = True
    finally:
        AuditEntry.objects.record(
            "data exported" if is_whole else "export broken off",
            by=by,
            study_id=study.pk,
            file=f"{choice.file}.csv",
            rows=rows,
            sha256=digest.hexdigest(),
            for_spreadsheets=choice.for_spreadsheets,
            with_pilot=choice.with_pilot,
        )


def name_file(study: Study, choice: Choice) -> str:
    """A name for the download: of the study, and "simulated" wherever any row is."""
    parts = [slugify(study.title)[:60] or "study", choice.file]
    if has_simulated(study):
        parts.insert(1, "simulated")
    return f"{'-'.join(parts)}.csv"


def has_simulated(study: Study) -> bool:
    return Annotation.objects.filter(study=study, origin=Origin.SIMULATED).exists()


def count_rows(study: Study, *, with_pilot: bool = False) -> dict[str, int]:
    """How many rows each file would have now."""
    annotations = Annotation.objects.filter(study=study)
    if not with_pilot:
        annotations = annotations.exclude(_PILOT)
    return {
        "ratings": Rating.objects.filter(annotation__in=annotations.values("id")).count(),
        "annotations": annotations.count(),
    }


def guard_cell(text: str) -> str:
    """The text, or with a leading ' where a spreadsheet could run it as a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def write_rows(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV, as in every file that leaves the site."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator=LINE_END).writerows(rows)
    return buffer.getvalue()


def _write_blocks(study: Study, choice: Choice) -> Iterator[tuple[bytes, int]]:
    """Blocks of the file, each with the number of rows up to its end."""
    columns = FILES[choice.file]
    pick = itemgetter(*(column.name for column in columns))
    guarded = [column.name for column in columns if column.type == TEXT]
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator=LINE_END)
    if choice.for_spreadsheets:
        buffer.write(_BYTE_ORDER_MARK)
    writer.writerow([column.name for column in columns])
    rows = 0
    for cells in _read(study, choice):
        if choice.for_spreadsheets:
            _guard(cells, guarded)
        writer.writerows([pick(row) for row in cells])
        rows += len(cells)
        if buffer.tell() >= _BLOCK:
            yield buffer.getvalue().encode(), rows
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode(), rows


def _read(study: Study, choice: Choice) -> Iterator[list[Cells]]:
    tables = Tables(study, with_pilot=choice.with_pilot)
    return tables.read_ratings() if choice.file == "ratings" else tables.read_annotations()


def _guard(rows: list[Cells], names: list[str]) -> None:
    for row in rows:
        for name in names:
            if row[name]:
                row[name] = guard_cell(row[name])
