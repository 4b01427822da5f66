"""Pages that begin a study with files: a box for them, and what is in them."""

from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.core.jobs.live_page import keep_watching
from evalsite.core.jobs.models import Job
from evalsite.data.demo import KIND, start_demos
from evalsite.data.forms import PartForm, UploadForm, make_forms
from evalsite.data.models import Upload
from evalsite.data.ratings.new_study import find_ratings
from evalsite.data.upload_page import describe_upload
from evalsite.data.uploads import (
    begin_check,
    drop_upload,
    find_job,
    find_report,
    keep_upload,
    list_waiting_uploads,
    name_job,
    open_upload,
)
from evalsite.data.views import change_upload, correct_file, send_faults, take_files

_EXPIRED = "This upload has expired, or it isn’t yours. Drop the files once more."
_ADDRESSES = {
    "preview": "new-upload",
    "import": "new-upload-continue",
    "correct": "new-upload-correct",
    "cancel": "new-upload-cancel",
    "faults": "new-upload-faults",
}


def describe_start(user: Any) -> dict[str, Any]:
    """Return what the box for the files of a new study needs, with those that were dropped."""
    uploads = Upload.objects.filter(created_by=user.pk, study=None)
    return {
        "form": UploadForm(None, several=True),
        "purpose": Upload.Purpose.ITEMS,
        "to": reverse("admin:study-new"),
        "waiting": list_waiting_uploads(uploads),
        "demo": Job.objects.filter(kind=KIND, subject=str(user.pk)).first(),
    }


@require_POST
def add_demos(request: HttpRequest) -> HttpResponseBase:
    """Make the demo studies, for somebody who wants to look around."""
    start_demos(by=request.user)
    return redirect("admin:index")


@require_http_methods(["GET", "HEAD", "POST"])
def start_study(request: HttpRequest) -> HttpResponseBase:
    """Take the files that a study begins with, or show the other ways to begin it."""
    is_post = request.method == "POST"
    form = UploadForm(
        request.POST if is_post else None, request.FILES if is_post else None, several=True
    )
    if is_post and form.is_valid():
        upload = take_files(form, partial(keep_upload, study=None, by=request.user))
        if upload is not None:
            begin_check(upload, by=request.user)
            return redirect("admin:new-upload", upload.pk)
    context = {**describe_start(request.user), "form": form, "title": "New study"}
    status = form.get_status() if is_post else 200
    return TemplateResponse(request, "builder/new.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def show_new_upload(request: HttpRequest, upload_id: UUID) -> HttpResponseBase:
    """Show what the files of a new study contain; a post changes how they are read."""
    upload = open_upload(upload_id, by=request.user)
    if upload is not None and upload.study is not None:
        return redirect("admin:batch-list", upload.study.pk)
    if upload is not None and upload.purpose == Upload.Purpose.RATINGS:
        return redirect("admin:new-ratings-file", upload.pk)
    if upload is None or not upload.path.exists():
        return start_again(request)
    if request.method == "POST":
        change_upload(request, upload, PartForm)
        return redirect("admin:new-upload", upload.pk)
    job = find_job(upload)
    report = find_report(upload) if job is None or (job.has_stopped and upload.checked_at) else None
    context: dict[str, Any] = {
        "upload": upload,
        "job": job,
        "job_title": name_job(job, upload) if job else "",
        "report": report,
        "urls": {name: reverse(f"admin:{at}", args=[upload.pk]) for name, at in _ADDRESSES.items()},
        "title": "Your outputs",
    }
    if report is not None:
        forms = make_forms(upload, report, None, PartForm)
        context |= describe_upload(upload, report, forms, request.GET.get("item", ""))
        context["can_continue"] = report.is_importable
        context["applies_at_once"] = True
        if report.fault_count:
            context["form"] = UploadForm(None, several=True)
        if len(report.files) < 2:
            context["ratings"] = find_ratings(upload)
    return keep_watching(TemplateResponse(request, "builder/outputs.html", context), job)


@require_POST
def continue_upload(request: HttpRequest, upload_id: UUID) -> HttpResponseBase:
    """Go on to the instrument, unless something was changed or still has to be."""
    upload = open_outputs(request, upload_id)
    if upload is None:
        return start_again(request)
    is_changed = change_upload(request, upload, PartForm)
    report = find_report(upload)
    if is_changed or report is None or not report.is_importable:
        return redirect("admin:new-upload", upload.pk)
    return redirect("admin:new-instrument", upload.pk)


@require_POST
def correct_new_upload(request: HttpRequest, upload_id: UUID) -> HttpResponseBase:
    """Take a corrected file in place of one with faults; the other files of the upload stay."""
    upload = open_outputs(request, upload_id)
    if upload is None:
        return start_again(request)
    if change_upload(request, upload) and not request.FILES:
        # decided without another file
        return redirect("admin:new-upload", upload.pk)
    form = UploadForm(request.POST, request.FILES, several=True)
    keep = partial(keep_upload, study=None, by=request.user)
    corrected = correct_file(form, upload, keep) if form.is_valid() else None
    if corrected is None:
        messages.error(request, " ".join(form.list_errors()))
        return redirect("admin:new-upload", upload.pk)
    begin_check(corrected, by=request.user)
    return redirect("admin:new-upload", corrected.pk)


@require_POST
def cancel_new_upload(request: HttpRequest, upload_id: UUID) -> HttpResponseBase:
    upload = open_upload(upload_id, by=request.user)
    if upload is not None and upload.study is None:
        drop_upload(upload)
    return redirect("admin:study-new")


@require_safe
def show_new_faults(request: HttpRequest, upload_id: UUID) -> HttpResponseBase:
    """Send all faults, to work through them in a spreadsheet."""
    upload = open_outputs(request, upload_id)
    if upload is None:
        raise Http404("No such upload.")
    return send_faults(upload)


def open_outputs(request: HttpRequest, upload_id: UUID) -> Upload | None:
    """Return this person's upload of outputs while it waits.

    None once it is gone or a study was made, and of ratings, which have pages of their own.
    """
    upload = open_upload(upload_id, by=request.user)
    if upload is None or upload.study is not None or not upload.path.exists():
        return None
    return upload if upload.purpose == Upload.Purpose.ITEMS else None


def start_again(request: HttpRequest) -> HttpResponseBase:
    """Lead to the first step from one whose files are gone."""
    messages.warning(request, _EXPIRED)
    return redirect("admin:study-new")
