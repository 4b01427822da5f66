"""Exports too large for a web request: written by a job, and kept for some days."""

import gc
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.schedule import HOURLY, scheduled
from evalsite.core.jobs.services import job_kind, note_progress, start_job
from evalsite.data.files.services import Choice, count_file, name_file, write_file
from evalsite.lib.clock import now
from evalsite.lib.old_files import delete_older
from evalsite.lib.transactions import consistent_cut
from evalsite.studies.models import Study

# --- garbage collection, off while rows are written -----------------------------------
_SELDOM = 100_000  # more than the rows that are held at a time


@contextmanager
def collect_seldom() -> Iterator[None]:
    """Python searches for such objects as seldom as a writer of many rows can afford.

    For a process that does nothing else meanwhile: rows never refer to each other, and to look
    for it after every few hundred takes a twentieth of the time of a large file.
    """
    usual = gc.get_threshold()
    gc.set_threshold(_SELDOM, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


# --- the job --------------------------------------------------------------------------


KIND = "export"
KEPT_DAYS = 7
# how many rows of a CSV are written in the time that one of a workbook takes
_WORKBOOK_ROW = 10
_DAYS = ("since", "until")


def is_large(rows: int, *, is_workbook: bool = False) -> bool:
    """Tell whether a job writes a file of so many rows, not a request that a browser waits for."""
    # a row of a workbook takes longer
    return rows * (_WORKBOOK_ROW if is_workbook else 1) > settings.EXPORT_STREAM_ROWS


def start_export(study: Study, choice: Choice, *, by: Any) -> Job:
    """Start a job that writes the file, or return the open one that writes the same."""
    chosen = {
        name: cell.isoformat() if isinstance(cell, date) else cell
        for name, cell in asdict(choice).items()
    }
    subject = sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()
    return start_job(KIND, study_id=study.pk, by=by, subject=subject, choice=chosen)


def read_choice(job: Job) -> Choice:
    """Return which file the job writes."""
    chosen = job.params["choice"]
    days = {name: date.fromisoformat(chosen[name]) for name in _DAYS if chosen[name]}
    return Choice(**chosen | days)


def find_written(job: Job) -> Path | None:
    """Return the file that this job wrote, while it is on the disk."""
    path = _path_of(job.pk)
    return path if job.state == Job.State.DONE and path.exists() else None


def find_file(job: Job) -> Path | None:
    """Return the file that this job wrote, while it is kept."""
    path = find_written(job)
    return None if path is None or is_taken_back(job) else path


def is_taken_back(job: Job) -> bool:
    """Return whether a participant took answers back since this job began to read them.

    Of a file for the public, also whether one doesn't share them any more.
    """
    taken = Q(action="participant withdrew", detail__kept=False)
    if job.params.get("is_public"):
        taken |= Q(action="sharing changed", detail__shares=False)
    entries = AuditEntry.objects.filter(taken, study_id=job.study_id)
    return entries.filter(created_at__gte=job.started_at or job.created_at).exists()


def find_until(job: Job) -> Any:
    """Return when the file is deleted."""
    return job.finished_at and job.finished_at + timedelta(days=KEPT_DAYS)


def _path_of(job_id: UUID) -> Path:
    return settings.DATA_DIR / "exports" / str(job_id)


@job_kind(KIND)
def run_export(job: Job) -> dict[str, Any]:
    """Write the file to the server's disk, whole and of one moment."""
    study, choice = Study.objects.get(pk=str(job.study_id)), read_choice(job)
    path = _path_of(job.pk)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    try:
        total = count_file(study, choice)
        with part.open("w+b") as file, consistent_cut(), collect_seldom():
            began_at = timezone.now()
            written = write_file(
                study, choice, file, progress=lambda rows: note_progress(job, rows, total)
            )
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)
    return {
        "rows": written.rows,
        "sha256": written.sha256,
        "size": path.stat().st_size,
        "name": name_file(study, choice),
        "moment": began_at.isoformat(),
    }


def delete_taken_back(kind: str, find: Callable[[Job], Path | None]) -> int:
    """Delete the files of jobs of this kind that hold what was taken back; return how many."""
    kept = now() - timedelta(days=KEPT_DAYS)
    jobs = Job.objects.filter(kind=kind, state=Job.State.DONE, finished_at__gte=kept)
    written = ((job, find(job)) for job in jobs)
    paths = {path for job, path in written if path is not None and is_taken_back(job)}
    for path in paths:
        path.unlink(missing_ok=True)
    return len(paths)


@scheduled("Delete large files that were written", every=HOURLY, is_deleting=True)
def delete_old_exports() -> str:
    """Delete files that are older than they are kept or hold what was taken back, and parts."""
    folder = settings.DATA_DIR / "exports"
    deleted = delete_older(folder.glob("*"), timedelta(days=KEPT_DAYS))
    deleted += delete_taken_back(KIND, find_written)
    return f"{deleted} deleted" if deleted else ""
