"""Data out: files that hold exactly what was entered, of one moment, with a checksum in the log."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from tempfile import TemporaryFile
from typing import IO, Any

from django.conf import settings
from django.db.models import Q
from django.utils.text import slugify

from evalsite.annotation.models import Annotation, Highlight, Rating
from evalsite.audit.models import AuditEntry
from evalsite.exchange.columns import FILES, TEXT, Column
from evalsite.exchange.cut import consistent_cut
from evalsite.exchange.people import count_participants, read_participants
from evalsite.exchange.tables import OF_HIGHLIGHT, OF_RATING, Cells, Tables
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
    digest, rows = sha256(), 0
    try:
        with consistent_cut():
            for block, written in _write_blocks(study, choice):
                rows = written
                digest.update(block)
                file.write(block)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return Spool(file, rows, digest.hexdigest())


def _send(study: Study, choice: Choice, spool: Spool, *, by: Any) -> Iterator[bytes]:
    is_whole = False
    try:
        with spool.file as file:
            while block := file.read(_BLOCK):
                yield block
        is_whole = True
    finally:
        AuditEntry.objects.record(
            "data exported" if is_whole else "export broken off",
            by=by,
            study_id=study.pk,
            file=f"{choice.file}.csv",
            rows=spool.rows,
            sha256=spool.sha256,
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
    counts = {
        "ratings": Rating.objects.filter(annotation__in=annotations.values("id")).count(),
        "annotations": annotations.count(),
        "participants": count_participants(study, with_pilot=with_pilot),
    }
    if study.config.has_highlight:
        marked = Highlight.objects.filter(annotation__in=annotations.values("id"))
        counts["highlights"] = marked.count()
    return counts


def guard_cell(text: str) -> str:
    """The text, or with a leading ' where a spreadsheet could run it as a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def write_rows(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV, as in every file that leaves the site."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator=LINE_END).writerows(rows)
    return buffer.getvalue()


# --- rows as text -------------------------------------------------------------------


class RowWriter:
    """Writes the rows of one file. Cells that several rows share are put into text once."""

    def __init__(self, columns: Sequence[Column], own: Set[str], *, is_guarded: bool) -> None:
        self._guarded = {one.name for one in columns if is_guarded and one.type == TEXT}
        # stretches of columns, in turn shared and of each row's own
        self._stretches = [
            (is_own, [column.name for column in some])
            for is_own, some in groupby(columns, key=lambda column: column.name in own)
        ]

    def write(self, shared: Cells, rows: Iterable[Cells]) -> str:
        """The rows, each with its own cells between those that all of them share."""
        stretches = [
            (None if is_own else self._join(names, shared), names)
            for is_own, names in self._stretches
        ]
        return "".join(
            ",".join(
                [self._join(names, row) if text is None else text for text, names in stretches]
            )
            + LINE_END
            for row in rows
        )

    def _join(self, names: list[str], cells: Cells) -> str:
        texts = ["" if (cell := cells[name]) is None else str(cell) for name in names]
        if self._guarded:
            texts = [
                guard_cell(text) if name in self._guarded else text
                for name, text in zip(names, texts, strict=True)
            ]
        joined = ",".join(texts)
        # one look at all of them, since hardly any needs quotes: each look costs more than a cell
        if joined.count(",") == len(texts) - 1 and not _has_quotes_or_breaks(joined):
            return joined
        return ",".join([_quote(text) for text in texts])


def _has_quotes_or_breaks(text: str) -> bool:
    return '"' in text or "\n" in text or "\r" in text


def _quote(text: str) -> str:
    if "," in text or _has_quotes_or_breaks(text):
        text = text.replace('"', '""')
        return f'"{text}"'
    return text


_READERS: dict[str, Callable[[Study, bool], Iterator[tuple[Cells, list[Cells]]]]] = {
    "ratings": lambda study, pilot: Tables(study, with_pilot=pilot).read_ratings(),
    "annotations": lambda study, pilot: Tables(study, with_pilot=pilot).read_annotations(),
    "participants": lambda study, pilot: read_participants(study, with_pilot=pilot),
    "highlights": lambda study, pilot: Tables(study, with_pilot=pilot).read_highlights(),
}
# the columns in which rows of one annotation differ
_OWN: dict[str, Set[str]] = {"ratings": OF_RATING, "highlights": OF_HIGHLIGHT}


def _write_blocks(study: Study, choice: Choice) -> Iterator[tuple[bytes, int]]:
    """Blocks of the file, each with the number of rows up to its end."""
    columns = FILES[choice.file]
    found = _READERS[choice.file](study, choice.with_pilot)
    differing = _OWN.get(choice.file, frozenset())
    writer = RowWriter(columns, differing, is_guarded=choice.for_spreadsheets)
    block = [_BYTE_ORDER_MARK] if choice.for_spreadsheets else []
    block.append(write_rows([[column.name for column in columns]]))
    size = rows = 0
    for shared, own in found:
        text = writer.write(shared, own)
        block.append(text)
        size += len(text)
        rows += len(own)
        if size >= _BLOCK:
            yield "".join(block).encode(), rows
            block, size = [], 0
    yield "".join(block).encode(), rows
