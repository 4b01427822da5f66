"""Files of ratings from upload to import: checked at once where they are small, else in a job."""

from types import SimpleNamespace
from typing import Any

from django.core.exceptions import ValidationError

from evalsite.annotation.models import Annotation, RatingsFile
from evalsite.annotation.taking import count_free
from evalsite.imports.core import IMPORTERS
from evalsite.imports.models import Upload
from evalsite.imports.ratings.checking import CheckedRatings, check_ratings
from evalsite.imports.ratings.importing import (
    Source,
    import_ratings,
    undo_ratings,
)
from evalsite.imports.uploads import forget_bytes, insist_on_bytes, is_large
from evalsite.jobs.models import Job
from evalsite.jobs.services import job_kind, report_progress, start_job
from evalsite.lib.clock import now
from evalsite.studies.models import Study

CHECK, IMPORT, UNDO = "check ratings", "import ratings", "undo ratings"
# longer files are stored and undone outside web requests
LARGE_ROWS = 5_000
MOST_FAULTS = 10_000

IMPORTERS["ratings"] = SimpleNamespace(  # type: ignore[assignment]
    check_kind=CHECK, import_kind=IMPORT, undo_kind=UNDO, record=RatingsFile
)

Report = dict[str, Any]


# --- checking -----------------------------------------------------------------------


def check_upload(upload: Upload) -> CheckedRatings:
    """What the file holds now, as its columns were mapped."""
    with upload.path.open("rb") as source:
        return check_ratings(
            source,
            study=upload.study,
            mapping=upload.mapping,
            keeps_incomplete=bool(upload.options.get("keeps_incomplete")),
        )


def describe_ratings(study: Study, checked: CheckedRatings) -> Report:
    """What was found, as plain data that a page shows."""
    per_item = checked.per_item
    free = count_free(study, per_item.keys())
    surplus = {item: n - free[item] for item, n in per_item.items() if n > free[item]}
    numbers = sorted(set(per_item.values()))
    return {
        "encoding": checked.encoding,
        "delimiter": checked.delimiter,
        "header": checked.header,
        "mapping": checked.mapping,
        "samples": {name: text[:200] for name, text in checked.samples.items()},
        "rows": checked.rows,
        "ratings": checked.ratings,
        "answers": len(checked.answers),
        "participants": len(checked.participants),
        "items": len(per_item),
        "per_item": [[n, sum(one == n for one in per_item.values())] for n in numbers],
        "k": study.k,
        "surplus": sum(surplus.values()),
        # with so many answers per item all of them would count
        "wanted_k": study.k + max(surplus.values(), default=0),
        "faults": [
            [fault.line, fault.record, fault.column, fault.message, fault.code]
            for fault in checked.faults[:MOST_FAULTS]
        ],
        "fault_count": len(checked.faults),
        "remarks": [str(remark) for remark in checked.remarks],
    }


def look_at(upload: Upload, *, by: Any) -> None:
    """A large file is being checked, from the beginning; a small one is whenever it is shown."""
    if is_large(upload):
        Upload.objects.filter(pk=upload.pk).update(checked_at=None)
        start_job(CHECK, study_id=upload.study_id, by=by, subject=str(upload.pk))


@job_kind(CHECK)
def run_check(job: Job) -> dict[str, Any]:
    """What the file holds stands beside it."""
    upload = _get_upload(job)
    report = describe_ratings(upload.study, check_upload(upload))
    Upload.objects.filter(pk=upload.pk).update(report=report, checked_at=now())
    return {"rows": report["rows"], "faults": report["fault_count"]}


# --- importing ----------------------------------------------------------------------


def take_in(upload: Upload, *, has_persons: bool, rows: int, by: Any) -> RatingsFile | Job:
    """The file is imported; or a job that does it is under way, where that takes long."""
    upload.options = {**upload.options, "has_persons": has_persons}
    upload.save(update_fields=["options"])
    if is_large(upload) or rows > LARGE_ROWS:
        return start_job(IMPORT, study_id=upload.study_id, by=by, subject=str(upload.pk))
    return _import_upload(upload, by=by)


def _import_upload(upload: Upload, *, by: Any, job: Job | None = None) -> RatingsFile:
    def tell(done: int, total: int) -> None:
        if job is not None:
            report_progress(job, done, total)

    file = import_ratings(
        study=upload.study,
        checked=check_upload(upload),
        source=Source(
            file_name=upload.file_name,
            sha256=upload.sha256,
            has_persons=upload.options["has_persons"],
            upload_key=upload.pk,
        ),
        by=by,
        progress=tell,
    )
    forget_bytes(upload)
    return file


@job_kind(IMPORT)
def run_import(job: Job) -> dict[str, Any]:
    """The file is imported, once, however often the job is started again."""
    upload = _get_upload(job)
    if upload.ratings_file is None:
        upload.ratings_file = _import_upload(upload, by=job.started_by, job=job)
    return {"file": str(upload.ratings_file.pk), "rows": upload.ratings_file.rows}


def _get_upload(job: Job) -> Upload:
    upload = Upload.objects.select_related("study", "ratings_file").filter(pk=job.subject).first()
    if upload is None:
        raise ValidationError("The file is gone: it was not imported in time. Upload it again.")
    if upload.ratings_file_id is None:
        insist_on_bytes(upload)
    return upload


# --- what stands --------------------------------------------------------------------


def count_answers(file: RatingsFile) -> dict[str, int]:
    """How many answers of this file count, and how many are surplus."""
    answers = Annotation.objects.filter(ratings_file=file)
    counted = answers.counted().count()
    return {"counted": counted, "surplus": answers.count() - counted}


def take_back(file: RatingsFile, *, by: Any) -> Job | None:
    """The file is undone; or a job that does it is under way, where that takes long."""
    if file.rows > LARGE_ROWS:
        return start_job(UNDO, study_id=file.study_id, by=by, subject=str(file.pk))
    undo_ratings(file=file, by=by)
    return None


@job_kind(UNDO)
def run_undo(job: Job) -> dict[str, Any]:
    """The file is undone, once."""
    file = RatingsFile.objects.select_related("study").filter(pk=job.subject).first()
    return {"answers": undo_ratings(file=file, by=job.started_by) if file else 0}
