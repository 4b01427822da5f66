"""Files of items and of ratings that wait for a decision, and the jobs that are at work on them."""

from dataclasses import dataclass
from datetime import datetime

from evalsite.annotation.models import RatingsFile
from evalsite.imports.batches.files import CHECK, IMPORT, UNDO
from evalsite.imports.models import Upload
from evalsite.imports.uploads import find_kept_until, has_faults
from evalsite.jobs.models import Job
from evalsite.studies.models import Batch, Study

# the kinds of ratings by name: their modules are built on this one
_CHECK_RATINGS, _IMPORT_RATINGS, _UNDO_RATINGS = "check ratings", "import ratings", "undo ratings"
_TITLES = {
    CHECK: "Checking {name}",
    IMPORT: "Importing {name}",
    _CHECK_RATINGS: "Checking {name}",
    _IMPORT_RATINGS: "Importing {name}",
}


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
    def is_spent(self) -> bool:
        """Nothing can come of it as it is: it has faults, or is in the study already."""
        return self.job is None and (self.is_known or self.has_faults)


@dataclass(frozen=True)
class Undoing:
    job: Job
    title: str


def find_job(upload: Upload) -> Job | None:
    """The job at work on this file, or the one that stopped and was not followed by a check."""
    jobs = Job.objects.filter(
        study_id=upload.study_id, kind__in=[CHECK, IMPORT], subject=str(upload.pk)
    )
    return _unless_over(jobs.order_by("created_at").last(), upload)


def name_job(job: Job, upload: Upload) -> str:
    """What the job does, in words."""
    return _TITLES[job.kind].format(name=upload.file_name)


def find_uploads(study: Study) -> list[Upload]:
    """The files of items and of ratings that were neither imported nor given up, newest first."""
    uploads = Upload.objects.filter(study=study, batch__isnull=True, ratings_file__isnull=True)
    # nobody decides on scores: they are stored at once, or by a job
    uploads = uploads.exclude(purpose=Upload.Purpose.METRICS)
    return [upload for upload in uploads if upload.path.exists()]


def list_waiting(study: Study, purpose: str, uploads: list[Upload]) -> list[Waiting]:
    """Those of the files that have this purpose, in a number of queries that does not grow."""
    uploads = [upload for upload in uploads if upload.purpose == purpose]
    if not uploads:
        return []
    jobs = Job.objects.filter(study_id=study.pk, kind__in=_TITLES).order_by("created_at")
    newest = {job.subject: job for job in jobs}
    imported = RatingsFile if purpose == Upload.Purpose.RATINGS else Batch
    known = set(imported.objects.filter(study=study).values_list("sha256", flat=True))
    found = []
    for upload in uploads:
        job = _unless_over(newest.get(str(upload.pk)), upload)
        title = name_job(job, upload) if job else ""
        found.append(Waiting(upload, job, title, is_known=upload.sha256 in known))
    return found


def part_spent(waiting: list[Waiting]) -> dict[str, list[Waiting]]:
    """What a page lists above its form, for it wants a decision, and what below."""
    return {
        "waiting": [one for one in waiting if not one.is_spent],
        "spent": [one for one in waiting if one.is_spent],
    }


def list_undoings(study: Study) -> list[Undoing]:
    """The jobs that remove batches, where they are at work or have stopped."""
    jobs = Job.objects.filter(study_id=study.pk, kind=UNDO).order_by("created_at")
    newest = {job.subject: job for job in jobs if job.state != Job.State.DONE}
    batches = Batch.objects.filter(study=study).in_bulk(list(newest)) if newest else {}
    return [
        Undoing(newest[str(batch.pk)], f"Removing {batch.file_name}") for batch in batches.values()
    ]


def are_ratings_under_way(study: Study, uploads: list[Upload]) -> bool:
    """Whether a file of ratings waits, or one is being imported or undone, or that stopped."""
    if any(upload.purpose == Upload.Purpose.RATINGS for upload in uploads):
        return True
    jobs = Job.objects.filter(study_id=study.pk, kind=_UNDO_RATINGS).exclude(state=Job.State.DONE)
    files = list(jobs.values_list("subject", flat=True))
    return RatingsFile.objects.filter(study=study, pk__in=files).exists()


def _unless_over(job: Job | None, upload: Upload) -> Job | None:
    if job is None or job.state == Job.State.DONE:
        return None
    is_answered = bool(
        job.finished_at and upload.checked_at and upload.checked_at > job.finished_at
    )
    return None if is_answered else job
