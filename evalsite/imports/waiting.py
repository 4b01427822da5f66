"""Files that wait for a decision, and the jobs that check or import them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evalsite.imports.core import Importer
from evalsite.imports.models import Upload
from evalsite.imports.steps import IMPORTERS, importer_of
from evalsite.imports.uploads import find_kept_until, has_faults
from evalsite.jobs.models import Job
from evalsite.studies.models import Study


@dataclass(frozen=True)
class Waiting:
    """A file that was uploaded and neither imported nor given up."""

    upload: Upload
    job: Job | None
    title: str
    # the very same file was imported earlier
    is_known: bool

    @property
    def kept_until(self) -> datetime:
        return find_kept_until(self.upload)

    @property
    def has_faults(self) -> bool:
        return has_faults(self.upload)

    @property
    def unit(self) -> str:
        """Return what the job counts: rows while it reads the file, then what it stores."""
        is_check = self.job is None or self.job.kind == importer_of(self.upload).check_kind
        return "items" if self.upload.purpose == Upload.Purpose.ITEMS and not is_check else "rows"

    @property
    def is_spent(self) -> bool:
        """It can't be imported: it has faults, or is in the study already."""
        return self.job is None and (self.is_known or self.has_faults)


@dataclass(frozen=True)
class Undoing:
    """A job that undoes an import, if it is running or has stopped."""

    job: Job
    record: Any
    title: str


def find_job(upload: Upload) -> Job | None:
    """Return the open job of this file, or the one that stopped and wasn't followed by a check."""
    jobs = Job.objects.filter(
        study_id=upload.study_id, kind__in=_kinds(importer_of(upload)), subject=str(upload.pk)
    )
    return _unless_over(jobs.order_by("created_at").last(), upload)


def name_job(job: Job, upload: Upload) -> str:
    """Describe what the job does."""
    is_check = job.kind == importer_of(upload).check_kind
    return f"{'Checking' if is_check else 'Importing'} {upload.file_name}"


def find_uploads(study: Study) -> list[Upload]:
    """Return the files that were neither imported nor discarded, newest first."""
    uploads = Upload.objects.filter(study=study, batch__isnull=True, ratings_file__isnull=True)
    return [upload for upload in uploads if upload.path.exists()]


def find_jobs(study: Study) -> list[Job]:
    """Return the jobs on files of the study, for the lists below, the oldest first."""
    kinds = [one for importer in IMPORTERS.values() for one in _all_kinds(importer)]
    return list(Job.objects.filter(study_id=study.pk, kind__in=kinds).order_by("created_at"))


def list_waiting(
    study: Study,
    purpose: str,
    uploads: list[Upload],
    jobs: list[Job],
    known: set[str] | None = None,
) -> list[Waiting]:
    """List the files with this purpose; `known`: hashes of those imported, if they were read."""
    uploads = [upload for upload in uploads if upload.purpose == purpose]
    if not uploads:
        return []
    importer = IMPORTERS[purpose]
    newest = {job.subject: job for job in jobs if job.kind in _kinds(importer)}
    if known is None:
        records = importer.record._default_manager.filter(study=study)
        known = set(records.values_list("sha256", flat=True))
    found = []
    for upload in uploads:
        job = _unless_over(newest.get(str(upload.pk)), upload)
        title = name_job(job, upload) if job else ""
        found.append(Waiting(upload, job, title, is_known=upload.sha256 in known))
    return found


def split_spent(waiting: list[Waiting]) -> dict[str, list[Waiting]]:
    """Split the files into those that need a decision, above the form, and the rest, below it."""
    return {
        "waiting": [one for one in waiting if not one.is_spent],
        "spent": [one for one in waiting if one.is_spent],
    }


def list_undoings(study: Study, importer: Importer, jobs: list[Job]) -> list[Undoing]:
    """List the jobs that undo an import, if they are running or have stopped."""
    jobs = [job for job in jobs if job.kind == importer.undo_kind]
    newest = {job.subject: job for job in jobs if job.state != Job.State.DONE}
    records = importer.record._default_manager.filter(study=study)
    found: dict[Any, Any] = records.in_bulk(list(newest)) if newest else {}
    return [
        Undoing(newest[str(one.pk)], one, f"Removing {one.file_name}") for one in found.values()
    ]


def is_under_way(study: Study, purpose: str, uploads: list[Upload], jobs: list[Job]) -> bool:
    """Whether a file of this purpose waits, or one is being imported or undone, or that stopped."""
    if any(upload.purpose == purpose for upload in uploads):
        return True
    return purpose in IMPORTERS and bool(list_undoings(study, IMPORTERS[purpose], jobs))


def _all_kinds(importer: Importer) -> list[str]:
    return [*_kinds(importer), importer.undo_kind]


def _kinds(importer: Importer) -> list[str]:
    return [*filter(None, (importer.check_kind, importer.import_kind, importer.create_kind))]


def _unless_over(job: Job | None, upload: Upload) -> Job | None:
    if job is None or job.state == Job.State.DONE:
        return None
    is_answered = bool(
        job.finished_at and upload.checked_at and upload.checked_at > job.finished_at
    )
    return None if is_answered else job
