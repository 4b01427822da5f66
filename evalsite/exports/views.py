"""Staff pages of export: what can be taken out, the files, and the codebook."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import FileResponse, Http404, HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from evalsite.exports.codebook import PANDAS, list_chapters, write_codebook
from evalsite.exports.columns import list_files
from evalsite.exports.services import (
    BYTE_ORDER_MARK,
    Choice,
    Written,
    count_file,
    has_simulated,
    name_file,
    record_export,
    stream_file,
)
from evalsite.exports.files import (
    describe,
    list_downloads,
    list_offers,
    list_pending,
    list_ready,
    say_no_answers,
)
from evalsite.exports.forms import SelectionForm
from evalsite.exports.identities import (
    IDS_FILE,
    count_identities,
    find_last_view,
    write_identities,
)
from evalsite.exports.services import describe_imports
from evalsite.exports.jobs import (
    KEPT_DAYS,
    KIND,
    find_file,
    is_large,
    read_choice,
    start_export,
)
from evalsite.exports.csv_writer import send_csv
from evalsite.exports.sheet_writing import MOST_ROWS
from evalsite.jobs.models import Job
from evalsite.jobs.watching import keep_watching
from evalsite.studies.models import Study
from evalsite.studies.pages import may_see_identities
from evalsite.studies.summaries import name_start


@require_safe
def show_export(request: HttpRequest, study: Study) -> HttpResponseBase:
    form = SelectionForm(request.GET)
    pending = list_pending(study)
    context = {
        "form": form,
        "chosen": describe(form.selection.describe()),
        "offers": list_offers(study, form.selection),
        "no_answers": say_no_answers(study),
        "is_simulated": has_simulated(study),
        "imports": describe_imports(study),
        "pending": pending,
        "ready": list_ready(study),
        "kept_days": KEPT_DAYS,
        "downloads": list_downloads(study),
        "pandas": PANDAS,
        "identities": _describe_identities(request, study),
    }
    response = TemplateResponse(request, "exports/export.html", context)
    return keep_watching(response, *(one.job for one in pending))


def _describe_identities(request: HttpRequest, study: Study) -> dict[str, Any] | None:
    """What the page offers to those who may see identities; None for everyone else."""
    if not may_see_identities(request, study):
        return None
    return {"count": count_identities(study), "last": find_last_view(study)}


@require_POST
def download_identities(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Send participants_ids.csv to those who may see identities; the log keeps who took it."""
    if not may_see_identities(request, study):
        raise PermissionDenied
    for_spreadsheets = request.POST.get("for") == "spreadsheets"
    text = write_identities(study, by=request.user, for_spreadsheets=for_spreadsheets)
    mark = BYTE_ORDER_MARK if for_spreadsheets else ""
    response = send_csv(f"{mark}{text}", f"{name_start(study)}-{IDS_FILE}")
    response.headers["Cache-Control"] = "no-store"
    return response


@require_POST
def download_file(request: HttpRequest, study: Study, file: str) -> HttpResponseBase:
    """The file as CSV. By POST, since the log keeps what was taken, by whom."""
    for_spreadsheets = request.POST.get("for") == "spreadsheets"
    return _send(request, study, file, for_spreadsheets=for_spreadsheets)


@require_POST
def download_workbook(request: HttpRequest, study: Study, file: str) -> HttpResponseBase:
    return _send(request, study, file, is_workbook=True)


def _send(request: HttpRequest, study: Study, file: str, **how: Any) -> HttpResponseBase:
    """The file as a stream; a large one is written by a job, which the page then shows."""
    if file not in list_files(study.config):
        raise Http404("No such file.")
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
                f"{file} has {rows:,} rows, and a spreadsheet holds {MOST_ROWS:,}. Take the CSV, "
                "or choose fewer rows."
            )
        if is_large(rows):
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
    """A file that a job wrote. By POST, since the log keeps what was taken, by whom."""
    job = get_object_or_404(Job, study_id=study.pk, pk=job_id, kind=KIND)
    path = find_file(job)
    if path is None:
        raise Http404("This file is not kept any more.")
    choice, result = read_choice(job), job.result
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
    context: dict[str, Any] = {"chapters": list_chapters(study.config), "pandas": PANDAS}
    return TemplateResponse(request, "exports/codebook.html", context)


@require_safe
def download_codebook(request: HttpRequest, study: Study) -> HttpResponseBase:
    return send_csv(write_codebook(study.config), f"{name_start(study)}-codebook.csv")
