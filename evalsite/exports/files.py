"""What the page of exports lists: files on offer, those being written, those kept, those taken."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from evalsite.audit.models import AuditEntry
from evalsite.exports.exporting import Choice, count_rows
from evalsite.exports.jobs import KIND, find_file, find_until, is_large, read_choice
from evalsite.exports.selection import Selection
from evalsite.exports.sheet_writing import MOST_ROWS
from evalsite.jobs.models import Job
from evalsite.studies.models import Study

_SHOWN = 10
_PURPOSES = {
    "ratings": "One row for each rating, with all that an analysis needs.",
    "ratings_wide": "One row for each output that somebody rated (where outputs are compared, one "
    "for each comparison), and one column for each criterion.",
    "annotations": "One row for each item that somebody answered, ignored or reported, with notes.",
    "items": "One row for each output with its text, inputs and gold. Can be imported again.",
    "highlights": "One row for each passage that was marked.",
    "participants": "One row for each person who came, with the sets they finished.",
    "metrics": "One row for each score of an automatic metric that was uploaded. Can be uploaded "
    "again.",
}
_EXCLUDED = {"out": "without excluded ones", "only": "excluded ones only"}


@dataclass(frozen=True)
class Download:
    """A file that somebody took."""

    entry: AuditEntry
    title: str


@dataclass(frozen=True)
class Offer:
    """A file that can be taken, how many rows it would have, and who took it last."""

    name: str
    purpose: str
    rows: int
    last: Download | None

    @property
    def is_large(self) -> bool:
        return is_large(self.rows)

    @property
    def fits_sheet(self) -> bool:
        return self.rows <= MOST_ROWS


@dataclass(frozen=True)
class Large:
    """A file that a job writes, or has written."""

    job: Job
    title: str

    @property
    def until(self) -> datetime:
        return find_until(self.job)

    @property
    def size(self) -> int:
        return int(self.job.result["size"])


def list_offers(study: Study, selection: Selection) -> list[Offer]:
    counts = count_rows(study, selection)
    return [
        Offer(name, _PURPOSES[name], rows, _find_last(study, name)) for name, rows in counts.items()
    ]


def _find_last(study: Study, name: str) -> Download | None:
    """When this file was taken last, in whatever form and choice of rows."""
    forms = [f"{name}.csv", f"{name}.xlsx"]
    entry = _find_downloads(study).filter(detail__file__in=forms).first()
    return Download(entry, describe(entry.detail)) if entry else None


def list_pending(study: Study) -> list[Large]:
    """Files being written, and those whose job stopped and was not started again since."""
    jobs = Job.objects.filter(study_id=study.pk, kind=KIND).order_by("-created_at")
    newest: dict[str, Job] = {}
    for job in jobs[: 2 * _SHOWN]:
        newest.setdefault(job.subject, job)
    return [
        Large(job, f"Writing {_say(read_choice(job))}")
        for job in newest.values()
        if job.is_open or job.has_stopped
    ]


def list_ready(study: Study) -> list[Large]:
    """Files that jobs wrote and that are kept, the newest first."""
    jobs = Job.objects.filter(study_id=study.pk, kind=KIND, state=Job.State.DONE)
    return [
        Large(job, _say(read_choice(job)))
        for job in jobs.order_by("-created_at")[:_SHOWN]
        if find_file(job)
    ]


def list_downloads(study: Study) -> list[Download]:
    """What was taken last, by whom, with checksums."""
    return [Download(entry, describe(entry.detail)) for entry in _find_downloads(study)[:_SHOWN]]


def _find_downloads(study: Study) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(study_id=study.pk, action="data exported")


def say_no_answers(study: Study) -> str:
    """Why the files of answers are empty, and what brings some; "" if there are answers."""
    if study.annotations.exists():
        return ""
    if not study.items.main().exists():
        return "No answers yet, and nothing to answer: upload a batch under Items."
    if study.has_ended:
        return "No answers: nobody answered before the study was closed."
    if study.is_launched:
        return "No answers yet. Share the link."
    return "No answers yet. Take the pilot, or launch the study and share its link."


def _say(choice: Choice) -> str:
    return describe(choice.describe())


def describe(detail: Mapping[str, Any]) -> str:
    """In words which file the log means, and which rows of it."""
    parts = [
        str(detail.get("file", "")),
        f"status {detail['status']}" if detail.get("status") else "",
        f"{detail['kind']} items" if detail.get("kind") else "",
        f"origin {detail['origin']}" if detail.get("origin") else "",
        _EXCLUDED.get(str(detail.get("excluded")), ""),
        f"from {detail['since']}" if detail.get("since") else "",
        f"until {detail['until']}" if detail.get("until") else "",
        "pilot answers included" if detail.get("with_pilot") else "",
        "for spreadsheets" if detail.get("for_spreadsheets") else "",
    ]
    return ", ".join(part for part in parts if part)
