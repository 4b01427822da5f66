"""Staff pages of export: what can be downloaded, the files, and the codebook."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Max, QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from evalsite.audit.models import AuditEntry
from evalsite.exports.codebook import PANDAS, list_chapters, write_codebook
from evalsite.exports.columns import list_downloads_of
from evalsite.exports.file_counts import find_counts
from evalsite.exports.identities import (
    IDS_FILE,
    find_identities,
    find_last_view,
    write_identities,
)
from evalsite.exports.jobs import (
    KEPT_DAYS,
    KIND,
    find_file,
    find_until,
    is_large,
    read_choice,
    start_export,
)
from evalsite.exports.misread_ids import describe_misread, list_misread
from evalsite.exports.person_answers import ANSWERS_FILE, find_answers, write_answers
from evalsite.exports.pseudonymised import FILES as PSEUDONYMISED
from evalsite.exports.pseudonymised import write_pseudonymised
from evalsite.exports.scripts import read_scripts
from evalsite.exports.selection import SelectionForm
from evalsite.exports.services import (
    Choice,
    Written,
    count_file,
    count_rows,
    describe_imports,
    find_origins,
    name_file,
    record_export,
    stream_file,
)
from evalsite.exports.workbook import MOST_ROWS
from evalsite.jobs.live_page import keep_watching
from evalsite.jobs.models import Job
from evalsite.lib.counts import count_together
from evalsite.lib.csv_download import send_csv
from evalsite.lib.csv_writer import BYTE_ORDER_MARK
from evalsite.participants.models import Origin
from evalsite.quality.frozen_plans import is_hidden
from evalsite.studies.instruments import write_file
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import has_role, may_see_identities
from evalsite.studies.summary_lines import name_of_file

_SHOWN = 10
# the newest jobs, some of which ended without a file
_READ = 50
# files without ratings
FREE = ("items", "participants")
_PURPOSES = {
    "ratings_simple": "For a quick look: one row for each output and participant (for preferences, "
    "each comparison), with a column for each criterion, reasons and comments. Only counted "
    "answers to main items; excluded ones are marked.",
    "comments": "One row for each text that a participant wrote, beside the answer.",
    "ratings": "One row for each rating, with everything that an analysis needs.",
    "annotations": "One row for each item that was answered, ignored or reported, with notes.",
    "items": "One row for each output with its text, inputs and gold. Can be imported again.",
    "highlights": "One row for each passage that was marked.",
    "participants": "One row for each participant, with the sets they finished.",
    "metrics": "One row for each score of an automatic metric that was uploaded. Can be uploaded "
    "again.",
    "judge_labels": "One row for each label of a judge, a model that rates. Can be uploaded again.",
}
_EXCLUDED = {"out": "without excluded ones", "only": "excluded ones only"}


# --- downloads ------------------------------------------------------------------------------


@require_safe
def show_export(request: HttpRequest, study: Study) -> HttpResponseBase:
    if is_hidden(study):
        return _show_hidden(request, study)
    form = SelectionForm(request.GET)
    jobs = list(Job.objects.filter(study_id=study.pk, kind=KIND).order_by("-created_at")[:_READ])
    pending = list_pending(jobs)
    counts = find_counts(study)
    chosen = describe(form.selection.describe())
    # a choice of rows is counted when it is made; all rows were counted before
    rows = count_rows(study, form.selection) if chosen else counts and counts.rows
    has_answers, origins = find_origins(study, form.selection)
    no_answers = "" if has_answers else explain_no_answers(study)
    context = {
        "form": form,
        "chosen": chosen,
        "counted_at": counts and not chosen and counts.counted_at,
        "offers": list_offers(study, rows or {}),
        "no_answers": no_answers,
        "is_simulated": Origin.SIMULATED in origins,
        "imports": describe_imports(study) if Origin.IMPORTED in origins else [],
        "pending": pending,
        "ready": list_ready(jobs),
        "kept_days": KEPT_DAYS,
        "downloads": list_last_downloads(study),
        "pandas": PANDAS,
        "misread": describe_misread(counts.misread) if counts else "",
        "identities": _describe_identities(request, study),
    }
    response = TemplateResponse(request, "exports/export.html", context)
    return keep_watching(response, *(one.job for one in pending))


def _show_hidden(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show the files by what they would reveal."""
    counts = find_counts(study)
    offers = {offer.name: offer for offer in list_offers(study, counts.rows if counts else {})}
    rows = counts.pseudonymised if counts else {}
    pseudonymised = [
        Offer(name, purpose, rows.get(name), offers[name].last)
        for name, purpose in PSEUDONYMISED.items()
    ]
    context = {
        "counted_at": counts and counts.counted_at,
        "free": [offers[name] for name in FREE],
        "pseudonymised": pseudonymised,
        "revealing": [one for name, one in offers.items() if name not in FREE],
        "identities": _describe_identities(request, study),
        "is_owner": has_role(request, study, Membership.Role.OWNER),
        "downloads": list_last_downloads(study),
    }
    return TemplateResponse(request, "exports/hidden.html", context)


def _send_hidden(request: HttpRequest, study: Study, file: str, **how: Any) -> HttpResponseBase:
    """Send what may leave the site while systems are hidden, and else lead to the form."""
    if file not in PSEUDONYMISED or how.get("is_workbook"):
        return redirect(f"{reverse('admin:study-results', args=[study.pk])}#reveal")
    text = "".join(write_pseudonymised(study, file))
    name = f"{file}_hidden.csv"
    written = Written(text.count("\n") - 1, sha256(text.encode()).hexdigest())
    record_export(study, {"file": name}, written, is_whole=True, by=request.user)
    return send_csv(text, name_of_file(study, name))


def _describe_identities(request: HttpRequest, study: Study) -> dict[str, Any] | None:
    """Return what the page offers to those who may see identities; None for everyone else."""
    if not may_see_identities(request, study):
        return None
    counts = count_together(identities=find_identities(study), answers=find_answers(study))
    return {
        "count": counts["identities"],
        "last": find_last_view(study),
        "has_answers": counts["answers"] > 0,
    }


@require_POST
def download_identities(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Send participants_ids.csv to those who may see identities; the log keeps who took it."""
    return _send_personal(request, study, IDS_FILE, write_identities)


@require_POST
def download_answers(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Send participants_answers.csv to those who may see identities; the log keeps who took it."""
    return _send_personal(request, study, ANSWERS_FILE, write_answers)


def _send_personal(
    request: HttpRequest, study: Study, name: str, write: Callable[..., str]
) -> HttpResponseBase:
    if not may_see_identities(request, study):
        raise PermissionDenied
    for_spreadsheets = request.POST.get("for") == "spreadsheets"
    text = write(study, by=request.user, for_spreadsheets=for_spreadsheets)
    mark = BYTE_ORDER_MARK if for_spreadsheets else ""
    response = send_csv(f"{mark}{text}", name_of_file(study, name))
    response.headers["Cache-Control"] = "no-store"
    return response


@require_POST
def download_file(request: HttpRequest, study: Study, file: str) -> HttpResponseBase:
    """Send the file as CSV. By POST, since the log keeps what was taken, by whom."""
    for_spreadsheets = request.POST.get("for") == "spreadsheets"
    return _send(request, study, file, for_spreadsheets=for_spreadsheets)


@require_POST
def download_workbook(request: HttpRequest, study: Study, file: str) -> HttpResponseBase:
    return _send(request, study, file, is_workbook=True)


def _send(request: HttpRequest, study: Study, file: str, **how: Any) -> HttpResponseBase:
    """Send the file as a stream; a large one is written by a job, which the page then shows."""
    if file not in list_downloads_of(study):
        raise Http404("No such file.")
    if file not in FREE and is_hidden(study):
        return _send_hidden(request, study, file, **how)
    form = SelectionForm(request.POST)
    page = reverse("admin:study-export", args=[study.pk])
    chosen = form.selection.query
    try:
        if not form.is_valid():
            raise ValidationError("That choice of rows can't be read. Choose again.")
        choice = Choice(file=file, **how, **form.cleaned_data)
        rows = count_file(study, choice)
        if choice.is_workbook and rows > MOST_ROWS:
            raise ValidationError(
                f"{file} has {rows:,} rows, and a spreadsheet holds {MOST_ROWS:,}. Download "
                "the CSV, or choose fewer rows."
            )
        if is_large(rows, is_workbook=choice.is_workbook):
            start_export(study, choice, by=request.user)
            return redirect(f"{page}?{chosen}#large")
        blocks = stream_file(study, choice, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect(f"{page}?{chosen}")
    response = StreamingHttpResponse(blocks, content_type=choice.content_type)
    response["Content-Disposition"] = f'attachment; filename="{name_file(study, choice)}"'
    return response


@require_POST
def download_ready(request: HttpRequest, study: Study, job_id: UUID) -> HttpResponseBase:
    """Send a file that a job wrote. By POST, since the log keeps what was taken, by whom."""
    job = get_object_or_404(Job, study_id=study.pk, pk=job_id, kind=KIND)
    path = find_file(job)
    if path is None:
        raise Http404("This file is not kept any more.")
    choice, result = read_choice(job), job.result
    if choice.file not in FREE and is_hidden(study):
        return _send_hidden(request, study, "")
    written = Written(result["rows"], result["sha256"])
    record_export(study, choice.describe(), written, is_whole=True, by=request.user)
    return FileResponse(
        path.open("rb"),
        as_attachment=True,
        filename=result["name"],
        content_type=choice.content_type,
    )


@require_safe
def show_codebook(request: HttpRequest, study: Study) -> HttpResponseBase:
    files = list_downloads_of(study)
    chapters = list_chapters(study.config, files, misread=describe_misread(list_misread(study)))
    context: dict[str, Any] = {"chapters": chapters, "pandas": PANDAS}
    return TemplateResponse(request, "exports/codebook.html", context)


@require_safe
def download_codebook(request: HttpRequest, study: Study) -> HttpResponseBase:
    return send_csv(
        write_codebook(
            study.config,
            asks_to_share=study.asks_to_share,
            misread=describe_misread(list_misread(study)),
        ),
        name_of_file(study, "codebook.csv"),
    )


@require_safe
def download_script(request: HttpRequest, study: Study, kind: str) -> HttpResponseBase:
    """Send one of the scripts that read ratings.csv."""
    name = f"analysis.{kind}"
    scripts = read_scripts()
    if name not in scripts:
        raise Http404("No such script.")
    return _send_text(scripts[name], "text/plain", name)


@require_safe
def download_instrument(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Send the instrument built on the web that the study was made from."""
    version = study.instrument
    if version is None:
        # what a protocol asks is on every site
        return redirect("admin:study-export", study.pk)
    name = f"{version.instrument.key}-{version.number}.json"
    return _send_text(write_file(version.content), "application/json", name)


def _send_text(text: str, content_type: str, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type=f"{content_type}; charset=utf-8", headers=headers)


# --- what the page lists ----------------------------------------------------------------------


@dataclass(frozen=True)
class Download:
    """Record a download."""

    entry: AuditEntry
    title: str


@dataclass(frozen=True)
class Offer:
    """A file on offer, how many rows it would have, and who downloaded it last."""

    name: str
    purpose: str
    # None: they haven't been counted yet
    rows: int | None
    last: Download | None

    @property
    def is_large(self) -> bool:
        return is_large(self.rows or 0)

    @property
    def fits_sheet(self) -> bool:
        return (self.rows or 0) <= MOST_ROWS


@dataclass(frozen=True)
class LargeFile:
    """A file that a job writes, or has written."""

    job: Job
    title: str

    @property
    def until(self) -> datetime:
        return find_until(self.job)

    @property
    def size(self) -> int:
        return int(self.job.result["size"])


def list_offers(study: Study, rows: Mapping[str, int]) -> list[Offer]:
    last = _find_last(study)
    return [
        Offer(name, _PURPOSES[name], rows.get(name), last.get(name))
        for name in list_downloads_of(study)
    ]


def _find_last(study: Study) -> dict[str, Download]:
    """Return the last download of each file, in any form and with any choice of rows."""
    newest = _find_downloads(study).order_by().values("detail__file").annotate(last=Max("pk"))
    entries = AuditEntry.objects.filter(pk__in=newest.values("last")).order_by("pk")
    return {
        str(entry.detail.get("file", "")).rpartition(".")[0]: Download(
            entry, describe(entry.detail)
        )
        for entry in entries
    }


def list_pending(jobs: Sequence[Job]) -> list[LargeFile]:
    """List files being written, and those whose job stopped and wasn't started again since."""
    newest: dict[str, Job] = {}
    for job in jobs[: 2 * _SHOWN]:
        newest.setdefault(job.subject, job)
    return [
        LargeFile(job, f"Writing {describe(read_choice(job).describe())}")
        for job in newest.values()
        if job.is_open or job.has_stopped
    ]


def list_ready(jobs: Sequence[Job]) -> list[LargeFile]:
    """List files that jobs wrote and that are kept, the newest first."""
    return [
        LargeFile(job, describe(read_choice(job).describe()))
        for job in [job for job in jobs if job.state == Job.State.DONE][:_SHOWN]
        if find_file(job)
    ]


def list_last_downloads(study: Study) -> list[Download]:
    """List the last downloads, by whom, with checksums."""
    return [Download(entry, describe(entry.detail)) for entry in _find_downloads(study)[:_SHOWN]]


def _find_downloads(study: Study) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(study_id=study.pk, action="data exported")


def explain_no_answers(study: Study) -> str:
    """Explain why there are no answers, and what brings some."""
    if not study.items.main().exists():
        return "No answers yet, and nothing to answer: upload a batch under Items."
    if study.has_ended:
        return "No answers: nobody answered before the study was closed."
    if study.is_launched:
        return "No answers yet. Share the link."
    return "No answers yet. Take the pilot, or launch the study and share its link."


def describe(detail: Mapping[str, Any]) -> str:
    """Describe which file the log means, and which rows of it."""
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
