"""Pages that lead from ratings that somebody has already to their results."""

from functools import partial
from shlex import join
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.datastructures import MultiValueDict
from django.utils.timezone import localdate
from django.views.decorators.http import require_http_methods, require_POST

from evalsite.builder.ratings_forms import PERSONS, TITLE, RatingsForm, ReadingForm
from evalsite.builder.titles import propose_title
from evalsite.builder.upload_views import start_again
from evalsite.core.jobs.live_page import keep_watching
from evalsite.data.forms import UploadForm
from evalsite.data.models import Upload
from evalsite.data.ratings.new_study import (
    TEXTS,
    begin_reading,
    create_study_of_ratings,
    find_reading_job,
    find_texts,
)
from evalsite.data.tables.reader import FileMapping
from evalsite.data.uploads import begin_check, drop_upload, keep_upload, open_upload
from evalsite.data.views import may_change, take_files

INVALID = 422


@require_http_methods(["GET", "HEAD", "POST"])
def start_ratings(request: HttpRequest) -> HttpResponseBase:
    """Take a file of ratings."""
    is_post = request.method == "POST"
    form = UploadForm(request.POST if is_post else None, request.FILES if is_post else None)
    if is_post and form.is_valid():
        keep = partial(keep_upload, study=None, by=request.user, purpose=Upload.Purpose.RATINGS)
        upload = take_files(form, keep)
        if upload is not None:
            begin_reading(upload, by=request.user)
            return redirect("admin:new-ratings-file", upload.pk)
    context = {
        "form": form,
        "purpose": Upload.Purpose.RATINGS,
        "to": reverse("admin:new-ratings"),
        "title": "Ratings you already have",
    }
    status = form.get_status() if is_post else 200
    return TemplateResponse(request, "builder/ratings_start.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def show_ratings(request: HttpRequest, upload_id: UUID) -> HttpResponseBase:
    """Show what a file of ratings holds; a post changes how it is read."""
    upload = open_upload(upload_id, by=request.user)
    if upload is not None and upload.study is not None:
        return redirect("admin:study-results", upload.study.pk)
    if upload is None or upload.purpose != Upload.Purpose.RATINGS or not upload.path.exists():
        return start_again(request)
    if request.method == "POST":
        if find_reading_job(upload) is None:
            _change(request, upload)
        return redirect("admin:new-ratings-file", upload.pk)
    return _show(request, upload)


@require_POST
def create_from_ratings(request: HttpRequest, upload_id: UUID) -> HttpResponseBase:
    """Make the closed study and show its results, unless something was changed or is missing."""
    upload = open_upload(upload_id, by=request.user)
    if upload is not None and upload.study is not None:
        return redirect("admin:study-results", upload.study.pk)
    if upload is None or upload.purpose != Upload.Purpose.RATINGS or not upload.path.exists():
        return start_again(request)
    if find_reading_job(upload) is not None or _change(request, upload):
        return redirect("admin:new-ratings-file", upload.pk)
    form = RatingsForm(request.POST)
    if not form.is_valid():
        return _show(request, upload, form)
    try:
        study = create_study_of_ratings(
            upload,
            by=request.user,
            title=form.cleaned_data["title"],
            has_persons=form.cleaned_data["persons"] == "yes",
        )
    except ValidationError as error:
        form.add_error(None, error)
        return _show(request, upload, form)
    if study is None:
        return redirect("admin:new-ratings-file", upload.pk)
    return redirect("admin:study-results", study.pk)


@require_POST
def use_as_outputs(request: HttpRequest, upload_id: UUID) -> HttpResponseBase:
    """Go on with a file that holds outputs and no ratings."""
    upload = open_upload(upload_id, by=request.user)
    if upload is None or upload.study is not None or not upload.path.exists():
        return start_again(request)
    if upload.purpose == Upload.Purpose.RATINGS and find_reading_job(upload) is None:
        again = upload.mapping.change(fields={}, decisions={})
        upload.purpose, upload.mapping, upload.report = Upload.Purpose.ITEMS, again, {}
        upload.save(update_fields=["purpose", "mapping", "report"])
        begin_check(upload, by=request.user)
    return redirect("admin:new-upload", upload.pk)


@require_POST
def use_as_ratings(request: HttpRequest, upload_id: UUID) -> HttpResponseBase:
    """Go on with a file that was taken for outputs and holds ratings."""
    upload = open_upload(upload_id, by=request.user)
    if upload is None or upload.study is not None or not upload.path.exists():
        return start_again(request)
    if upload.purpose == Upload.Purpose.ITEMS and may_change(upload):
        upload.purpose, upload.mapping, upload.report = Upload.Purpose.RATINGS, FileMapping(), {}
        upload.save(update_fields=["purpose", "mapping", "report"])
        begin_reading(upload, by=request.user)
    return redirect("admin:new-ratings-file", upload.pk)


def _change(request: HttpRequest, upload: Upload) -> bool:
    """Keep what was posted; read the file again, and return True, if that changes how."""
    form = ReadingForm(request.POST, upload=upload)
    before = upload.mapping
    if form.is_valid():
        upload.mapping = form.change_mapping()
    is_changed = upload.mapping != before or not upload.report
    posted = RatingsForm(request.POST)
    # kept also if something is missing
    posted.is_valid()
    answers = {name: text for name in (TITLE, PERSONS) if (text := posted.cleaned_data.get(name))}
    answers |= _keep_texts(request, upload)
    upload.mapping = upload.mapping.change(decisions={**upload.mapping.decisions, **answers})
    upload.save(update_fields=["mapping"])
    if is_changed:
        begin_reading(upload, by=request.user)
    return is_changed


def _keep_texts(request: HttpRequest, upload: Upload) -> dict[str, str]:
    """Keep a file of texts that was sent, in the place of an earlier one."""
    files = request.FILES.getlist(TEXTS)
    if not files:
        return {}
    form = UploadForm({"pasted": ""}, MultiValueDict({"file": files}))
    keep = partial(keep_upload, study=None, by=request.user)
    kept = take_files(form, keep) if form.is_valid() else None
    if kept is None:
        messages.error(request, " ".join(form.list_errors()))
        return {}
    if earlier := find_texts(upload):
        drop_upload(earlier)
    begin_check(kept, by=request.user)
    return {TEXTS: str(kept.pk)}


def _show(
    request: HttpRequest, upload: Upload, form: RatingsForm | None = None
) -> HttpResponseBase:
    job, report = find_reading_job(upload), upload.report
    answers = upload.mapping.decisions
    systems = report.get("systems", [])
    title = propose_title([upload.file_name], run="", systems=systems, today=localdate())
    initial = {TITLE: answers.get(TITLE) or title, PERSONS: answers.get(PERSONS)}
    reading = ReadingForm(upload=upload)
    context: dict[str, Any] = {
        "upload": upload,
        "job": job,
        "job_title": f"Reading {upload.file_name}",
        "report": report if job is None or job.has_stopped else None,
        "is_faulty": bool(report.get("fault_count")),
        "leads_to_outputs": "looks_like_items" in [code for code, _ in report.get("faults", [])],
        "reading": reading,
        "columns": reading.list_columns(),
        "form": form or RatingsForm(initial=initial),
        "texts": find_texts(upload),
        "command": _write_command(upload),
        "title": "Ratings you already have",
    }
    status = 200 if form is None else INVALID
    response = TemplateResponse(request, "builder/ratings.html", context, status=status)
    return keep_watching(response, job)


def _write_command(upload: Upload) -> str:
    """Return the command that computes the same results without a site."""
    pairs = [word for pair in upload.report.get("pairs", []) for word in ("--map", pair)]
    return join(["evalsite", "report", upload.file_name, *pairs])
