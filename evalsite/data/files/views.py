"""Downloads of a study's files, and its codebook."""

from collections.abc import Callable
from hashlib import sha256
from tempfile import TemporaryFile
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from evalsite.core.csv_download import send_csv
from evalsite.core.jobs.models import Job
from evalsite.data.files.codebook import PANDAS, WORDS, list_chapters, write_codebook
from evalsite.data.files.columns import list_downloads_of
from evalsite.data.files.identities import IDS_FILE, write_identities
from evalsite.data.files.jobs import KIND, find_file, is_large, read_choice, start_export
from evalsite.data.files.misread_ids import describe_misread, list_misread
from evalsite.data.files.person_answers import ANSWERS_FILE, write_answers
from evalsite.data.files.pseudonymised import FILES as PSEUDONYMISED
from evalsite.data.files.pseudonymised import write_pseudonymised
from evalsite.data.files.scripts import read_scores_script, read_scripts
from evalsite.data.files.selection import PurposeForm, SelectionForm
from evalsite.data.files.services import (
    Choice,
    Written,
    count_file,
    name_file,
    record_export,
    stream_file,
)
from evalsite.data.files.ways_back import WAYS
from evalsite.data.files.ways_back.scores import write_scores
from evalsite.data.files.workbook import MOST_ROWS
from evalsite.decisions.frozen_plans import is_hidden
from evalsite.lib.csv_writer import BYTE_ORDER_MARK
from evalsite.studies.instruments import write_file
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import may_see_identities, study_page
from evalsite.studies.summary_lines import name_of_file

_EDITOR = Membership.Role.EDITOR
# files without ratings
FREE = ("items", "participants")


# before the other files, whose addresses look alike


@study_page("files/codebook/", name="export-codebook", within="Files")
@require_safe
def show_codebook(request: HttpRequest, study: Study) -> HttpResponseBase:
    files = list_downloads_of(study)
    chapters = list_chapters(study.config, files, misread=describe_misread(list_misread(study)))
    context: dict[str, Any] = {"chapters": chapters, "pandas": PANDAS, "words": WORDS}
    return TemplateResponse(request, "data/codebook.html", context)


@study_page("files/codebook.csv", name="export-codebook-csv")
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


@study_page("files/analysis.<slug:kind>", name="export-script")
@require_safe
def download_script(request: HttpRequest, study: Study, kind: str) -> HttpResponseBase:
    """Send one of the scripts that read ratings.csv."""
    name = f"analysis.{kind}"
    scripts = read_scripts()
    if name not in scripts:
        raise Http404("No such script.")
    return _send_text(scripts[name], "text/plain", name_of_file(study, name))


@study_page("files/instrument.json", name="export-instrument")
@require_safe
def download_instrument(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Send the instrument built on the web that the study was made from."""
    version = study.instrument
    if version is None:
        # what a protocol asks is on every site
        return redirect("admin:study-export", study.pk)
    name = name_of_file(study, "instrument.json")
    return _send_text(write_file(version.content), "application/json", name)


def _send_text(text: str, content_type: str, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type=f"{content_type}; charset=utf-8", headers=headers)


@study_page("files/scores_back.py", name="export-scores-script")
@require_safe
def download_scores_script(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Send the script that puts scores into a tool's own record of a run."""
    return _send_text(read_scores_script(), "text/plain", "scores_back.py")


# --- files ---


@study_page("files/participants_ids.csv", name="export-identities", role=_EDITOR, is_reading=True)
@require_POST
def download_identities(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Send participants_ids.csv to those who may see identities; the log keeps who took it."""
    return _send_personal(request, study, IDS_FILE, write_identities)


@study_page("files/participants_answers.csv", name="export-answers", role=_EDITOR, is_reading=True)
@require_POST
def download_answers(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Send participants_answers.csv to those who may see identities; the log keeps who took it."""
    return _send_personal(request, study, ANSWERS_FILE, write_answers)


def _send_personal(
    request: HttpRequest, study: Study, name: str, write: Callable[..., str]
) -> HttpResponseBase:
    if not may_see_identities(request, study):
        raise PermissionDenied
    for_spreadsheets = PurposeForm(request.POST).is_for_spreadsheets
    text = write(study, by=request.user, for_spreadsheets=for_spreadsheets)
    mark = BYTE_ORDER_MARK if for_spreadsheets else ""
    response = send_csv(f"{mark}{text}", name_of_file(study, name))
    response.headers["Cache-Control"] = "no-store"
    return response


@study_page("files/<slug:file>.csv", name="export-file", is_reading=True)
@require_POST
def download_file(request: HttpRequest, study: Study, file: str) -> HttpResponseBase:
    """Send the file as CSV. By POST, since the log keeps what was taken, by whom."""
    return _send(request, study, file)


@study_page("files/<slug:file>.xlsx", name="export-workbook", is_reading=True)
@require_POST
def download_workbook(request: HttpRequest, study: Study, file: str) -> HttpResponseBase:
    return _send(request, study, file, is_workbook=True)


def _send(
    request: HttpRequest, study: Study, file: str, *, is_workbook: bool = False
) -> HttpResponseBase:
    """Send the file as a stream; a large one is written by a job, which the page then shows."""
    if file not in list_downloads_of(study):
        raise Http404("No such file.")
    if file not in FREE and is_hidden(study):
        return _send_hidden(request, study, file, is_workbook=is_workbook)
    form = SelectionForm(request.POST)
    page = reverse("admin:files-all", args=[study.pk])
    chosen = form.selection.query
    try:
        if not form.is_valid():
            raise ValidationError("That choice of rows can't be read. Choose again.")
        choice = Choice(
            file=file, is_workbook=is_workbook, for_spreadsheets=form.is_for_spreadsheets,
            **form.chosen,
        )  # fmt: skip
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


def _send_hidden(
    request: HttpRequest, study: Study, file: str, *, is_workbook: bool = False
) -> HttpResponseBase:
    """Send what may leave the site while systems are hidden, and else lead to the form."""
    if file not in PSEUDONYMISED or is_workbook:
        return redirect(f"{reverse('admin:study-results', args=[study.pk])}#reveal")
    text = "".join(write_pseudonymised(study, file))
    name = f"{file}_hidden.csv"
    written = Written(text.count("\n") - 1, sha256(text.encode()).hexdigest())
    record_export(study, {"file": name}, written, is_whole=True, by=request.user)
    return send_csv(text, name_of_file(study, name))


class PassForm(forms.Form):
    """Which scores pass, for tools that say so of each."""

    pass_from = forms.FloatField(
        label="Pass from", min_value=0, max_value=1, required=False, initial=0.5
    )


@study_page("files/scores/<slug:file>/", name="export-scores", is_reading=True)
@require_POST
def download_scores(request: HttpRequest, study: Study, file: str) -> HttpResponseBase:
    """Send the file of scores for a tool. By POST, since the log keeps what was taken, by whom."""
    way, form = WAYS.get(file), PassForm(request.POST)
    if way is None:
        raise Http404("No such file.")
    if is_hidden(study):
        return _send_hidden(request, study, "")
    page = f"{reverse('admin:files-all', args=[study.pk])}#sets"
    if not form.is_valid():
        messages.error(request, "Scores are from 0 to 1, so is the least that passes.")
        return redirect(page)
    pass_from = form.cleaned_data["pass_from"]
    target = TemporaryFile(dir=settings.DATA_DIR)  # noqa: SIM115 (closed once it is sent)
    try:
        least = PassForm.base_fields["pass_from"].initial if pass_from is None else pass_from
        written = write_scores(study, way, target, pass_from=least)
    except ValidationError as error:
        target.close()
        messages.error(request, " ".join(error.messages))
        return redirect(page)
    target.seek(0)
    name = name_of_file(study, f"{way.file}.{way.ending}")
    record_export(study, {"file": name}, written, is_whole=True, by=request.user)
    return FileResponse(target, as_attachment=True, filename=name)


@study_page("files/large/<uuid:job_id>/", name="export-ready", is_reading=True)
@require_POST
def download_ready(request: HttpRequest, study: Study, job_id: UUID) -> HttpResponseBase:
    """Send a file that a job wrote. By POST, since the log keeps what was taken, by whom."""
    job = get_object_or_404(Job, study_id=study.pk, pk=job_id, kind=KIND)
    path = find_file(job)
    if path is None:
        raise Http404("This file isn't kept any more, or holds what was taken back.")
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
