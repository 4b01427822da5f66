"""An uploaded file of items: checked, imported and undone, by a job where that takes long."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError

from evalsite.exports.csv_writer import guard_cell, write_rows
from evalsite.imports.batches.checking import Checked, check_file
from evalsite.imports.batches.importing import find_same_file, import_batch, undo_batch
from evalsite.imports.batches.previews import SHOWN
from evalsite.imports.batches.values import CheckedItem, CheckedOutput
from evalsite.imports.models import Upload
from evalsite.imports.tables.faults import Fault, UnreadableFile
from evalsite.imports.tables.reader import open_table
from evalsite.imports.uploads import forget_bytes, insist_on_bytes, is_large
from evalsite.jobs.models import Job
from evalsite.jobs.services import job_kind, report_progress, start_job
from evalsite.lib.clock import now
from evalsite.studies.models import Batch
from evalsite.studies.summaries import count_of

CHECK = "check upload"
IMPORT = "import batch"
UNDO = "undo batch"
FAULTS_SHOWN = 100
# undoing so many rows is a matter of a moment
MOST_UNDONE_AT_ONCE = 20_000
_SAMPLE = 200  # letters of a cell, to recognise its column by

Tell = Callable[[int, int], None]


@dataclass
class Report:
    """What a check found, as plain data: a page shows it without reading the file again."""

    encoding: str = ""
    delimiter: str = ""
    rows: int = 0
    left_out: int = 0
    items: int = 0
    outputs: int = 0
    systems: int = 0
    # the columns in their order, which a mapping loses in PostgreSQL's JSON
    header: list[str] = field(default_factory=list)
    mapping: dict[str, str] = field(default_factory=dict)
    samples: dict[str, str] = field(default_factory=dict)
    faults: int = 0
    # the first of them, each as place and message
    first_faults: list[list[str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    # the first items: key, inputs, systems and texts
    examples: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_importable(self) -> bool:
        return not self.faults and self.items > 0

    @property
    def rows_taken(self) -> int:
        return self.rows - self.left_out

    @property
    def is_regular(self) -> bool:
        """Every item has an output of every system."""
        return self.outputs == self.items * self.systems

    @property
    def told(self) -> dict[str, str]:
        """Numbers as a page says them: "60,000 rows"."""
        return {
            "rows": count_of(self.rows, "row"),
            "rows_taken": count_of(self.rows_taken, "row"),
            "items": count_of(self.items, "item"),
            "outputs": count_of(self.outputs, "output"),
            "systems": count_of(self.systems, "system"),
            "faults": count_of(self.faults, "fault"),
        }

    @property
    def first_items(self) -> list[CheckedItem]:
        return [
            CheckedItem(
                key=one["key"],
                group="",
                line=0,
                record=0,
                inputs=one["inputs"],
                outputs=tuple(CheckedOutput(*output) for output in one["outputs"]),
            )
            for one in self.examples
        ]


def describe_checked(checked: Checked) -> Report:
    return Report(
        encoding=checked.encoding,
        delimiter=checked.delimiter,
        rows=checked.rows,
        left_out=checked.left_out,
        items=len(checked.items),
        outputs=checked.outputs,
        systems=len(checked.systems),
        header=list(checked.mapping),
        mapping=checked.mapping,
        samples={name: text[:_SAMPLE] for name, text in checked.samples.items()},
        faults=len(checked.faults),
        first_faults=[[one.place, one.message] for one in checked.faults[:FAULTS_SHOWN]],
        remarks=[str(remark) for remark in checked.remarks],
        examples=[
            {
                "key": item.key,
                "inputs": item.inputs,
                "outputs": [[output.system, output.text] for output in item.outputs],
            }
            for item in checked.items[:SHOWN]
        ],
    )


def read_report(upload: Upload) -> Report | None:
    """What the last check found; None before the first, or after one of another version."""
    names = {one.name for one in fields(Report)}
    return Report(**upload.report) if upload.report.keys() == names else None


# --- checking -------------------------------------------------------------------------


def begin_check(upload: Upload, *, by: Any) -> None:
    """The file is checked, or a job that checks it waits."""
    if is_large(upload):
        upload.report = {}
        upload.save(update_fields=["report"])
        start_job(CHECK, study_id=upload.study_id, by=by, subject=str(upload.pk))
    else:
        check_upload(upload)


def check_upload(upload: Upload, *, tell: Tell | None = None) -> Checked:
    """The file was checked, and what was found is kept with it."""
    if not upload.mapping:
        _remember_mapping(upload)
    checked = read_upload(upload, tell=tell)
    # replaced, not written over: a backup may be reading the earlier list
    part = upload.faults_path.with_suffix(".part")
    part.write_bytes(list_faults(checked.faults).encode())
    part.replace(upload.faults_path)
    upload.report, upload.checked_at = asdict(describe_checked(checked)), now()
    # not save(): a file that was given up meanwhile stays away
    Upload.objects.filter(pk=upload.pk).update(report=upload.report, checked_at=upload.checked_at)
    if not Upload.objects.filter(pk=upload.pk).exists():
        forget_bytes(upload)
    return checked


def _remember_mapping(upload: Upload) -> None:
    """What somebody said of the columns of an earlier file is said of the same ones of this."""
    others = Upload.objects.filter(study=upload.study_id, purpose=upload.purpose)
    earlier = list(others.exclude(pk=upload.pk).exclude(mapping={}).order_by("-created_at"))
    if not earlier:
        return
    try:
        with upload.path.open("rb") as source:
            header = {name.strip() for name in open_table(source).header}
    except UnreadableFile:
        return  # the check says why
    if alike := next((one for one in earlier if one.mapping.keys() == header), None):
        upload.mapping, upload.options = alike.mapping, {"mapped_as": alike.file_name}
        kept = Upload.objects.filter(pk=upload.pk)
        kept.update(mapping=upload.mapping, options=upload.options)


def read_upload(upload: Upload, *, tell: Tell | None = None) -> Checked:
    """What the file holds; `tell` hears how many rows of about how many were read."""
    with upload.path.open("rb") as source:

        def count(rows: int) -> None:
            if tell is not None:
                read = max(1, source.tell())
                tell(rows, max(rows, round(rows * upload.size / read)))

        return check_file(source, study=upload.study, mapping=upload.mapping, tell=count)


def list_faults(faults: list[Fault]) -> str:
    """All faults as CSV, to work through them in a spreadsheet."""
    rows = [
        (fault.line, fault.record, guard_cell(fault.column), guard_cell(fault.message))
        for fault in faults
    ]
    return write_rows([("line", "record", "column", "fault"), *rows])


@job_kind(CHECK)
def _check_in_job(job: Job) -> dict[str, Any]:
    upload = _find_upload(job)
    if upload.batch_id is None:
        check_upload(upload, tell=_progress_of(job))
    return {}


# --- importing ------------------------------------------------------------------------


def begin_import(upload: Upload, *, by: Any) -> Batch | None:
    """The file is a batch, once; None while a job that imports it waits or runs."""
    if not is_large(upload):
        return import_upload(upload, by=by)
    start_job(IMPORT, study_id=upload.study_id, by=by, subject=str(upload.pk))
    return None


def import_upload(upload: Upload, *, by: Any, tell: Tell | None = None) -> Batch:
    """The file is a batch of its study, checked once more on the way; its bytes are gone."""
    batch = find_same_file(upload.study, upload.sha256)
    if batch is None:
        checked = check_upload(upload, tell=tell)
        if checked.faults:
            raise ValidationError(
                "The file has faults, so nothing was imported. Correct them first."
            )
        batch = import_batch(
            study=upload.study,
            checked=checked,
            file_name=upload.file_name,
            sha256=upload.sha256,
            by=by,
            upload_key=upload.pk,
        )
    forget_bytes(upload)
    return batch


@job_kind(IMPORT)
def _import_in_job(job: Job) -> dict[str, Any]:
    upload = _find_upload(job)
    # again after a kill: the batch that stands is found by the file's hash
    batch = upload.batch
    if batch is None:
        batch = import_upload(upload, by=job.started_by, tell=_progress_of(job))
    forget_bytes(upload)
    return {"batch": str(batch.pk), "rows": batch.rows}


# --- undoing --------------------------------------------------------------------------


def begin_undo(batch: Batch, *, by: Any) -> bool:
    """Whether the batch is gone already; otherwise a job that removes it waits or runs."""
    if batch.rows <= MOST_UNDONE_AT_ONCE:
        undo_batch(batch=batch, by=by)
        return True
    start_job(UNDO, study_id=batch.study_id, by=by, subject=str(batch.pk))
    return False


@job_kind(UNDO)
def _undo_in_job(job: Job) -> dict[str, Any]:
    batch = Batch.objects.filter(study__pk=str(job.study_id), pk=job.subject).first()
    if batch is not None:  # else it is gone already
        undo_batch(batch=batch, by=job.started_by)
    return {}


# --- jobs -----------------------------------------------------------------------------


def _find_upload(job: Job) -> Upload:
    upload = Upload.objects.filter(study__pk=str(job.study_id), pk=job.subject).first()
    if upload is None:
        raise ValidationError("This file was given up meanwhile. Upload it again.")
    if upload.batch_id is None:
        insist_on_bytes(upload)
    return upload


def _progress_of(job: Job) -> Tell:
    return partial(report_progress, job)
