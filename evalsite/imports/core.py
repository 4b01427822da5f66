"""One way into a study for every file: checked, looked at, stored whole or not at all, undone.

What a kind of file contains is declared by an `Importer`: its fields, how rows are read, and how
they are stored. A row has three shapes on its way: a row of the table, a checked value, a model.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from hashlib import file_digest
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import models

from evalsite.exports.writing import guard_cell, write_rows
from evalsite.imports.columns import LEAVE_OUT, Field, check_fields, check_header, known_columns
from evalsite.imports.models import Upload
from evalsite.imports.tables.faults import Fault, Remark, UnreadableFile
from evalsite.imports.tables.reader import open_table
from evalsite.imports.tables.table import Limits, Row, Table
from evalsite.imports.uploads import forget_bytes, insist_on_bytes, is_large
from evalsite.jobs.models import Job
from evalsite.jobs.services import job_kind, report_progress, start_job
from evalsite.lib.clock import now
from evalsite.studies.models import Study

FAULTS_SHOWN = 100
_SAMPLE = 200  # characters of a cell, to recognise its column by
_TELL_EVERY = 2_000  # rows
_PEEKED = 50  # rows that tell what columns contain
HAS_FAULTS = "The file has faults, so nothing was imported. Correct them first."
HAS_CHANGED = "The study has changed since this file was checked. Look at the file again."

Tell = Callable[[int, int], None]


# --- what a check finds -----------------------------------------------------------------


@dataclass
class Decision:
    """Something that only the researcher can say of a file, with the answers there are.

    An answer is kept in `Upload.options` under `key`; `rows` lists whatever it is about.
    """

    key: str
    title: str
    text: str = ""
    # value, words on its button, what it means
    choices: list[list[Any]] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    is_made: bool = False


@dataclass
class Checked:
    """What a file contains for a study; each importer adds its own checked values."""

    encoding: str = ""
    delimiter: str = ""
    header: list[str] = field(default_factory=list)
    mapping: dict[str, str] = field(default_factory=dict)
    # for each column its first cell, to recognise it by, and a note on what it contains
    samples: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    rows: int = 0
    faults: list[Fault] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    # what the researcher confirmed, as it is kept with what the file becomes
    import_notes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_importable(self) -> bool:
        return not self.faults


class Reader(Protocol):
    """Takes the rows of a table one by one, then says what they contain."""

    def add(self, row: Row) -> None: ...
    def finish(self) -> None:
        """All rows are read; what was found is in the `Checked` that the reader was made with."""

    def close(self) -> None:
        """The file was read to its end, or broke off: faults found so far are told."""


@dataclass
class Report:
    """What a check found, as plain data: a page shows it without reading the file again."""

    encoding: str = ""
    delimiter: str = ""
    rows: int = 0
    # the columns in their order, which a mapping loses in PostgreSQL's JSON
    header: list[str] = field(default_factory=list)
    mapping: dict[str, str] = field(default_factory=dict)
    samples: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    fault_count: int = 0
    # the first of them: place, message and code
    faults: list[list[str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    import_notes: list[dict[str, Any]] = field(default_factory=list)
    is_importable: bool = False
    # whatever else the importer's part of the page shows
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def faults_left(self) -> int:
        return self.fault_count - len(self.faults)


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where checked values come from: a file, and what a researcher said of it."""

    study: Study
    file_name: str
    sha256: str
    options: Mapping[str, Any] = field(default_factory=dict)
    upload_key: UUID | None = None


# --- a kind of file ---------------------------------------------------------------------


class Importer(ABC):
    """One kind of file: its fields, how its rows are read, stored and undone."""

    purpose: Upload.Purpose
    # kinds of jobs, as they stand in the database
    check_kind: str
    import_kind: str
    undo_kind: str
    # what a file becomes (it has a study and a sha256), and the upload's link to it, if any
    record: type[models.Model]
    link: str = ""
    checked: type[Checked] = Checked
    # larger files are undone, or stored, by a job
    rows_undone_at_once: int = 20_000
    rows_stored_at_once: int | None = None

    @abstractmethod
    def list_fields(self, study: Study, mapping: Mapping[str, str]) -> list[Field]:
        """Everything that a column may be mapped to, in the order in which a page offers it."""

    @abstractmethod
    def guess(
        self, header: Sequence[str], study: Study, rows: Sequence[Sequence[str]]
    ) -> dict[str, str]:
        """A field for each column, "" for none, from their names and the cells of first rows."""

    def map_systems(self, columns: Collection[str]) -> dict[str, str]:
        """What columns contain that the file itself says are named after systems."""
        return {}

    def describe_columns(self, checked: Any, rows: Sequence[Row]) -> dict[str, str]:
        """For each column a note on what it contains, as its first rows tell."""
        return {}

    def check_mapping(self, mapping: Mapping[str, str], study: Study, table: Table) -> list[Fault]:
        """Each field has one column; what else is needed is added by the importer."""
        return check_fields(mapping, self.list_fields(study, mapping), table.header_line)

    @abstractmethod
    def make_reader(self, checked: Any, study: Study, options: Mapping[str, Any]) -> Reader:
        """A reader of rows under `checked.mapping`, which is known to be right."""

    def check_columns(self, checked: Any) -> list[Remark]:
        """Remarks on the columns of a file whose rows can't be read, as its mapping is wrong."""
        return []

    @abstractmethod
    def summarise(self, checked: Any, study: Study) -> dict[str, Any]:
        """What else a page shows of a file, as plain data."""

    def is_current(self, report: Report, study: Study) -> bool:
        """Whether what was found still holds; a small file is checked again if it doesn't."""
        return True

    @abstractmethod
    def store(self, checked: Any, source: Source, *, by: Any, tell: Tell | None = None) -> Any:
        """All checked values are the study's, or none; the record of them is returned."""

    @abstractmethod
    def undo(self, record: Any, *, by: Any) -> None:
        """What the file brought is gone, but for the log."""

    def count_rows(self, record: Any) -> int:
        """How much there is to undo."""
        return int(getattr(record, "rows", 0))

    def find_same(self, study: Study, sha256: str) -> Any | None:
        """What this very file became earlier, if it did."""
        return self.record._default_manager.filter(study=study, sha256=sha256).first()


# by purpose; filled when the apps are ready
IMPORTERS: dict[str, Importer] = {}


def register(importer: Importer) -> Importer:
    """Uploads of its purpose are handled by this importer, and its jobs have a worker."""
    IMPORTERS[importer.purpose] = importer
    job_kind(importer.check_kind)(_run_check)
    job_kind(importer.import_kind)(_run_import)
    job_kind(importer.undo_kind)(partial(_run_undo, importer))
    return importer


def importer_of(upload: Upload) -> Importer:
    return IMPORTERS[upload.purpose]


# --- checking ---------------------------------------------------------------------------


def check_source(
    importer: Importer,
    source: BinaryIO,
    *,
    study: Study,
    mapping: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    tell: Callable[[int], None] | None = None,
) -> Any:
    """What the file contains for this study, under this mapping or a guessed one.

    `tell` hears now and then how many rows were read.
    """
    checked, table = importer.checked(), None
    options = options or {}
    try:
        table = open_table(source, limits=limits, options=options)
        checked.encoding, checked.delimiter = table.encoding, table.delimiter
        checked.header = list(table.header)
        checked.faults += check_header(table.header, table.header_line)
        if not checked.faults:
            _map_columns(importer, checked, table, study, mapping or {})
        _read_rows(importer, checked, table, study, options, tell)
    except UnreadableFile as error:
        checked.faults.append(error.fault)
        checked.decisions += _ask_encoding(error.fault)
    if options.get("encoding") and checked.encoding.startswith("Windows"):
        checked.decisions.append(_ENCODING_CHOSEN)
        checked.import_notes.append(_ENCODING_NOTE)
    if table is not None:
        checked.remarks = [*table.remarks.listed(), *checked.remarks]
    checked.faults.sort(key=lambda fault: (fault.line or 0, fault.record or 0))
    return checked


def _map_columns(
    importer: Importer, checked: Checked, table: Table, study: Study, mapping: Mapping[str, str]
) -> None:
    first = _peek(table)
    guess = importer.guess(checked.header, study, [row.cells for row in first])
    guess |= {checked.header[number]: LEAVE_OUT for number in table.unnamed}
    guess |= importer.map_systems(
        {column for number, column in enumerate(checked.header) if number in table.systems}
    )
    checked.mapping = guess | known_columns(mapping, guess)
    used = {name for name, field in checked.mapping.items() if field not in ("", LEAVE_OUT)}
    checked.faults += table.check_mapped(used)
    checked.faults += importer.check_mapping(checked.mapping, study, table)
    checked.notes = importer.describe_columns(checked, first)


def _peek(table: Table) -> list[Row]:
    """The first rows, which are read again as if nothing had happened."""
    first: list[Row] = []
    try:
        for row in table.rows:
            first.append(row)
            if len(first) == _PEEKED:
                break
    except UnreadableFile as error:
        table.rows = chain(first, _raise(error))
    else:
        table.rows = chain(first, table.rows)
    return first


def _raise(error: UnreadableFile) -> Iterator[Row]:
    yield from ()
    raise error


_ENCODING_CHOSEN = Decision("encoding", "The file is read as Windows-1252", is_made=True)
_ENCODING_NOTE = {
    "code": "windows_1252",
    "text": "The file was read as Windows-1252.",
    "rows": [],
}


def _ask_encoding(fault: Fault) -> list[Decision]:
    """A file that isn't UTF-8 may be Windows-1252, which only its reader can tell."""
    preview = fault.preview
    if preview is None or preview.undefined is not None:
        return []
    return [
        Decision(
            "encoding",
            "The file isn't UTF-8",
            "It may be Windows-1252, as Excel writes in much of Europe. If these lines look "
            "right so, read it that way.",
            choices=[["windows-1252", "Read as Windows-1252", ""]],
            rows=[
                f"line {place.line}: {place.before}{place.odd}{place.after}"
                for place in preview.places
            ],
        )
    ]


def _read_rows(
    importer: Importer,
    checked: Checked,
    table: Table,
    study: Study,
    options: Mapping[str, Any],
    tell: Callable[[int], None] | None,
) -> None:
    reader: Reader | None = None
    if checked.faults:
        # the header is wrong: the rows are only counted, and looked at to the end of the file
        checked.remarks = importer.check_columns(checked)
    else:
        reader = importer.make_reader(checked, study, options)
    try:
        for row in table.rows:
            _count(checked, row, tell)
            if reader is not None:
                reader.add(row)
    finally:
        # also of a file that breaks off: the faults up to there are told with the break
        if reader is not None:
            reader.close()
    if reader is None:
        return
    if not checked.rows:
        raise UnreadableFile("no_rows", "The file has no rows under its header.")
    reader.finish()


def _count(checked: Checked, row: Row, tell: Callable[[int], None] | None) -> None:
    if not checked.rows:
        cells = zip(checked.header, row.cells, strict=False)
        checked.samples = {
            name: cell for name, cell in cells if checked.mapping.get(name) != LEAVE_OUT
        }
    checked.rows += 1
    if tell is not None and checked.rows % _TELL_EVERY == 0:
        tell(checked.rows)


def describe(importer: Importer, checked: Checked, study: Study) -> Report:
    return Report(
        encoding=checked.encoding,
        delimiter=checked.delimiter,
        rows=checked.rows,
        header=[column for column in checked.header if column in checked.mapping],
        mapping=checked.mapping,
        samples={name: text[:_SAMPLE] for name, text in checked.samples.items()},
        notes=checked.notes,
        fault_count=len(checked.faults),
        faults=[
            [fault.place, fault.message, fault.code] for fault in checked.faults[:FAULTS_SHOWN]
        ],
        remarks=[str(remark) for remark in checked.remarks],
        decisions=[asdict(decision) for decision in checked.decisions],
        import_notes=checked.import_notes,
        is_importable=checked.is_importable,
        summary=importer.summarise(checked, study),
    )


def read_report(upload: Upload) -> Report | None:
    """What the last check found; None before the first, or after one of another version."""
    names = {one.name for one in fields(Report)}
    return Report(**upload.report) if upload.report.keys() == names else None


def find_report(upload: Upload) -> Report | None:
    """What the file contains: as it was checked, or looked at here and now if it is small."""
    report, importer = read_report(upload), importer_of(upload)
    if report is not None and importer.is_current(report, upload.study):
        return report
    if is_large(upload):
        return report
    return describe(importer, read_upload(upload), upload.study)


def begin_check(upload: Upload, *, by: Any) -> None:
    """The file is checked, or a job that checks it waits."""
    if is_large(upload):
        upload.report, upload.checked_at = {}, None
        upload.save(update_fields=["report", "checked_at"])
        kind = importer_of(upload).check_kind
        start_job(kind, study_id=upload.study_id, by=by, subject=str(upload.pk))
    else:
        check_upload(upload)


def check_upload(upload: Upload, *, tell: Tell | None = None) -> Any:
    """The file was checked, and what was found is kept with it."""
    if not upload.mapping:
        _remember_mapping(upload)
    checked = read_upload(upload, tell=tell)
    # replaced, not written over: a backup may be reading the earlier list
    part = upload.faults_path.with_suffix(".part")
    part.write_bytes(list_faults(checked.faults).encode())
    part.replace(upload.faults_path)
    upload.report = asdict(describe(importer_of(upload), checked, upload.study))
    upload.checked_at = now()
    # not save(): a file that was given up meanwhile stays away
    kept = Upload.objects.filter(pk=upload.pk)
    if not kept.update(report=upload.report, checked_at=upload.checked_at):
        forget_bytes(upload)
    return checked


def _remember_mapping(upload: Upload) -> None:
    """What somebody said of the columns of an earlier file is said of the same ones of this."""
    others = Upload.objects.filter(study=upload.study_id, purpose=upload.purpose)
    earlier = list(others.exclude(pk=upload.pk).exclude(mapping={}).order_by("-created_at"))
    if not earlier:
        return
    header = set(read_header(upload.path))
    if alike := next((one for one in earlier if one.mapping.keys() == header), None):
        upload.mapping = alike.mapping
        upload.options = {**upload.options, "mapped_as": alike.file_name}
        kept = Upload.objects.filter(pk=upload.pk)
        kept.update(mapping=upload.mapping, options=upload.options)


def read_upload(upload: Upload, *, tell: Tell | None = None) -> Any:
    """What the file contains; `tell` hears how many rows of about how many were read."""
    with upload.path.open("rb") as source:

        def count(rows: int) -> None:
            if tell is not None:
                read = max(1, source.tell())
                tell(rows, max(rows, round(rows * upload.size / read)))

        return check_source(
            importer_of(upload),
            source,
            study=upload.study,
            mapping=upload.mapping,
            options=upload.options,
            tell=count,
        )


def read_header(path: Path, limits: Limits | None = None) -> list[str]:
    """The names of a file's columns; none of a file that can't be read."""
    try:
        with path.open("rb") as source:
            return [name.strip() for name in open_table(source, limits=limits).header]
    except UnreadableFile:
        return []


def list_faults(faults: Sequence[Fault]) -> str:
    """All faults as CSV, to work through them in a spreadsheet."""
    rows = [
        (fault.line, fault.record, guard_cell(fault.column), guard_cell(fault.message))
        for fault in faults
    ]
    return write_rows([("line", "record", "column", "fault"), *rows])


def _run_check(job: Job) -> dict[str, Any]:
    upload = _find_upload(job)
    if not is_imported(upload):
        check_upload(upload, tell=partial(report_progress, job))
    return {}


# --- importing --------------------------------------------------------------------------


def is_imported(upload: Upload) -> bool:
    return bool(upload.batch_id or upload.ratings_file_id or upload.options.get("is_imported"))


def begin_import(upload: Upload, *, by: Any) -> Any | None:
    """The file is part of the study, once; None while a job that imports it waits or runs."""
    importer = importer_of(upload)
    report, most = read_report(upload), importer.rows_stored_at_once
    is_long = most is not None and report is not None and report.rows > most
    if not is_long and not is_large(upload):
        return import_upload(upload, by=by)
    start_job(importer.import_kind, study_id=upload.study_id, by=by, subject=str(upload.pk))
    return None


def import_upload(upload: Upload, *, by: Any, tell: Tell | None = None) -> Any:
    """The file is part of its study, checked once more on the way; its bytes are gone."""
    importer, confirmed = importer_of(upload), read_report(upload)
    record = importer.find_same(upload.study, upload.sha256)
    if record is None:
        checked = check_upload(upload, tell=tell)
        if not checked.is_importable:
            # the first of two clicks may have been quicker: its own scores are the faults
            record = importer.find_same(upload.study, upload.sha256)
            if record is None:
                raise ValidationError(HAS_FAULTS)
            _finish(upload)
            return record
        if confirmed is not None and confirmed.import_notes != checked.import_notes:
            # other rows would be left out than those that were listed
            raise ValidationError(HAS_CHANGED)
        source = Source(
            study=upload.study,
            file_name=upload.file_name,
            sha256=upload.sha256,
            options=upload.options,
            upload_key=upload.pk,
        )
        record = importer.store(checked, source, by=by, tell=tell)
    _finish(upload)
    return record


def _finish(upload: Upload) -> None:
    """The bytes are gone; the row stays, with what was said of its columns."""
    if not importer_of(upload).link:
        upload.options = {**upload.options, "is_imported": True}
        Upload.objects.filter(pk=upload.pk).update(options=upload.options)
    forget_bytes(upload)


def import_path(
    importer: Importer,
    *,
    study: Study,
    path: Path,
    by: Any,
    mapping: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """The file at this path is part of the study; ValidationError tells its faults."""
    sha256 = hash_file(path)
    if same := importer.find_same(study, sha256):
        return same
    with path.open("rb") as opened:
        checked = check_source(importer, opened, study=study, mapping=mapping, options=options)
    if checked.faults:
        raise ValidationError([str(fault) for fault in checked.faults])
    source = Source(study=study, file_name=path.name, sha256=sha256, options=options or {})
    return importer.store(checked, source, by=by)


def hash_file(path: Path) -> str:
    with path.open("rb") as source:
        return file_digest(source, "sha256").hexdigest()


def _run_import(job: Job) -> dict[str, Any]:
    upload = _find_upload(job)
    link = importer_of(upload).link
    # again after a kill: what stands already is found by the file's hash
    record = getattr(upload, link) if link else None
    if record is None:
        record = import_upload(upload, by=job.started_by, tell=partial(report_progress, job))
    else:
        _finish(upload)
    return {"record": str(record.pk)}


def _find_upload(job: Job) -> Upload:
    uploads = Upload.objects.select_related("study", "batch", "ratings_file")
    upload = uploads.filter(study__pk=str(job.study_id), pk=job.subject).first()
    if upload is None:
        raise ValidationError("This file was given up meanwhile. Upload it again.")
    if not is_imported(upload):
        insist_on_bytes(upload)
    return upload


# --- undoing ----------------------------------------------------------------------------


def begin_undo(importer: Importer, record: Any, *, by: Any) -> bool:
    """Whether it is gone already; otherwise a job that removes it waits or runs."""
    if importer.count_rows(record) <= importer.rows_undone_at_once:
        importer.undo(record, by=by)
        return True
    start_job(importer.undo_kind, study_id=record.study_id, by=by, subject=str(record.pk))
    return False


def _run_undo(importer: Importer, job: Job) -> dict[str, Any]:
    records = importer.record._default_manager.filter(study__pk=str(job.study_id))
    record = records.filter(pk=job.subject).first()
    if record is not None:  # else it is gone already
        importer.undo(record, by=job.started_by)
    return {}
