"""Staff pages of metric scores: what was uploaded, uploading more, taking a file back."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from evalsite.exports.sending import send_csv
from evalsite.imports.core import FAULTS_SHOWN
from evalsite.imports.forms import UploadForm
from evalsite.imports.metrics.checking import CheckedScores
from evalsite.imports.metrics.files import (
    IMPORT,
    Taken,
    find_outputs,
    list_files,
    sum_up,
    take_in,
    write_template,
)
from evalsite.imports.metrics.storing import take_back_scores
from evalsite.imports.models import MetricFile, Upload
from evalsite.imports.uploads import keep_upload
from evalsite.jobs.models import Job
from evalsite.jobs.watching import keep_watching
from evalsite.studies.models import Membership, Study
from evalsite.studies.pages import StudyView, has_role
from evalsite.studies.summaries import count_of, name_start

_INVALID = 422


@require_safe
def list_metrics(request: HttpRequest, study: Study) -> HttpResponseBase:
    return _show_files(request, study, UploadForm(None))


def _show_files(
    request: HttpRequest,
    study: Study,
    form: UploadForm,
    *,
    checked: CheckedScores | None = None,
    status: int = 200,
) -> HttpResponseBase:
    """Every file with what it covers, and the form that brings another."""
    files, job = list_files(study), _find_job(study)
    faults = checked.faults if checked else []
    may_edit = has_role(request, study, Membership.Role.EDITOR)
    context: dict[str, Any] = {
        # after a refused upload the address in the bar takes nothing but files
        "again": reverse("admin:metrics-list", args=[study.pk]),
        "files": files,
        "metrics": sum_up(files),
        "form": form,
        "job": job,
        "faults": faults[:FAULTS_SHOWN],
        "faults_left": len(faults) - FAULTS_SHOWN,
        "can_upload": may_edit,
        "has_items": find_outputs(study).exists(),
    }
    response = TemplateResponse(request, "imports/metrics.html", context, status=status)
    # an editor may be pasting scores into the form
    return response if may_edit else keep_watching(response, job)


def _find_job(study: Study) -> Job | None:
    """The newest import of scores, where it is at work, or has stopped and none came since."""
    job = Job.objects.filter(study_id=study.pk, kind=IMPORT).order_by("-created_at").first()
    if job is None or job.state == Job.State.DONE:
        return None
    later = MetricFile.objects.filter(study=study, uploaded_at__gt=job.created_at)
    return None if job.has_stopped and later.exists() else job


@require_POST
def upload_metrics(request: HttpRequest, study: Study) -> HttpResponseBase:
    """The scores are the study's, all of them or none."""
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        status = 413 if form.has_error("file", "too_large") else _INVALID
        return _show_files(request, study, form, status=status)
    file = form.cleaned_data["file"]
    try:
        upload = keep_upload(
            study=study,
            file_name=file.name or "",
            chunks=file.chunks(),
            by=request.user,
            purpose=Upload.Purpose.METRICS,
        )
    except ValidationError as error:
        form.add_error(None, error)
        return _show_files(request, study, form, status=_INVALID)
    try:
        taken = take_in(upload, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("admin:metrics-list", study.pk)
    if taken.checked is not None and taken.checked.faults:
        form = UploadForm(None)
        return _show_files(request, study, form, checked=taken.checked, status=_INVALID)
    _tell(request, taken)
    return redirect("admin:metrics-list", study.pk)


def _tell(request: HttpRequest, taken: Taken) -> None:
    """What became of the file, and what is worth a look."""
    if taken.is_known and taken.file is not None:
        messages.info(
            request,
            f"This file is here already, as {taken.file.file_name}: 0 new scores. If scores of it "
            "went with a batch, take it back first, then upload it again.",
        )
    elif taken.checked is not None:
        scores, outputs = len(taken.checked.scores), taken.checked.outputs
        messages.success(
            request,
            f"{count_of(scores, 'score')} of {count_of(outputs, 'output')} stored. They stand in "
            "the results once these are computed again.",
        )
        for remark in taken.checked.remarks:
            messages.info(request, str(remark))


@require_safe
def download_metrics_template(request: HttpRequest, study: Study) -> HttpResponse:
    """A file to fill in: a row for each output of the study."""
    return send_csv(write_template(study), f"{name_start(study)}-metrics.csv")


@require_safe
def download_missing_metrics(request: HttpRequest, study: Study) -> HttpResponse:
    """A file to fill in: a row for each score that is missing."""
    text = write_template(study, only_missing=True)
    return send_csv(text, f"{name_start(study)}-metrics-missing.csv")


@require_POST
def take_metrics_back(request: HttpRequest, study: Study, file_id: UUID) -> HttpResponseBase:
    file = MetricFile.objects.filter(study=study, pk=file_id).first()
    if file is None:
        messages.info(request, "That file is gone already.")
        return redirect("admin:metrics-list", study.pk)
    try:
        gone = take_back_scores(file=file, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, f"{file.file_name} is gone: {count_of(gone, 'score')}.")
    return redirect("admin:metrics-list", study.pk)


@require_safe
def confirm_taking_back(request: HttpRequest, study: Study, file_id: UUID) -> HttpResponseBase:
    file = get_object_or_404(MetricFile, study=study, pk=file_id)
    context = {"file": file, "scores": file.scores.count()}
    return TemplateResponse(request, "imports/metrics_undo.html", context)


_EDITOR = Membership.Role.EDITOR
_FILE = "metrics/<uuid:file_id>/undo/"

metrics_views = [
    StudyView(path="metrics/", name="metrics-list", view=list_metrics, within="Results"),
    StudyView(path="metrics/upload/", name="metrics-new", view=upload_metrics, role=_EDITOR,
              within="Results"),
    StudyView(path="metrics/template.csv", name="metrics-template",
              view=download_metrics_template),
    StudyView(path="metrics/missing.csv", name="metrics-missing", view=download_missing_metrics),
    StudyView(path=f"{_FILE}confirm/", name="metrics-undo-confirm", view=confirm_taking_back,
              role=_EDITOR, within="Results"),
    StudyView(path=_FILE, name="metrics-undo", view=take_metrics_back, role=_EDITOR),
]  # fmt: skip
