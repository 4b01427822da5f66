"""Staff pages of an uploaded file, of whatever kind: sent, looked at, changed, imported."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.files import File
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.core.csv_download import send_csv
from evalsite.core.jobs.live_page import keep_watching
from evalsite.data.forms import PurposeForm, UploadForm, make_forms, save_changes
from evalsite.data.importing import Importer, Report, list_faults
from evalsite.data.models import Upload
from evalsite.data.upload_page import describe_upload
from evalsite.data.uploads import (
    IMPORTERS,
    begin_check,
    begin_import,
    begin_undo,
    drop_upload,
    find_job,
    find_report,
    importer_of,
    is_imported,
    is_large,
    keep_upload,
    name_files,
    name_job,
    pack_files,
    prune_uploads,
    read_upload,
    replace_file,
)
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import study_page

_EDITOR = Membership.Role.EDITOR
INVALID = 422


@dataclass(frozen=True, kw_only=True)
class UploadKind:
    """What the pages of an upload have to know of its kind of file."""

    # the page that lists what was imported, and what it is called
    list_name: str
    title: str
    # what comes in, in words: "0 new items"
    noun: str
    # what the page that takes a file says, and what that of an upload shows beyond its report
    describe_new: Callable[[Study], dict[str, Any]]
    describe: Callable[[Study, Report], dict[str, Any]]
    # what was imported, in a sentence
    describe_import: Callable[[Study, Any], str]
    # the part of the page that shows what the study would get
    details: str
    # what else can be chosen for the rows, and what has to be said before the import
    options: type[forms.Form] | None = None
    confirmation: type[forms.Form] | None = None
    takes_several: bool = False
    # the page of the study that its uploads belong to
    within: str = "Items"
    is_open: Callable[[Study], bool] = lambda study: True


# by the purpose of an upload; filled by the modules of each kind
KINDS: dict[str, UploadKind] = {}


# --- sending --------------------------------------------------------------------------


@study_page("uploads/", name="upload-new", role=_EDITOR, within="Items")
@require_http_methods(["GET", "HEAD", "POST"])
def start_upload(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Keep the files for a look at them; nothing in the study changes."""
    is_post = request.method == "POST"
    purpose = PurposeForm(request.POST if is_post else request.GET).get_purpose()
    kind = KINDS[purpose]
    form = UploadForm(
        request.POST if is_post else None,
        request.FILES if is_post else None,
        several=kind.takes_several,
    )
    if is_post and form.is_valid():
        keep = partial(keep_upload, study=study, by=request.user, purpose=purpose)
        upload = take_files(form, keep)
        if upload is not None:
            begin_check(upload, by=request.user)
            return _to_upload(study, upload)
    context = {
        "form": form,
        "purpose": purpose,
        "kind": kind,
        "within": kind.within,
        "to": reverse("admin:upload-new", args=[study.pk]),
        "is_open": kind.is_open(study),
        "back": reverse(f"admin:{kind.list_name}", args=[study.pk]),
        **kind.describe_new(study),
    }
    return TemplateResponse(
        request, "data/new.html", context, status=form.get_status() if is_post else 200
    )


def take_files(form: UploadForm, keep: Callable[..., Upload]) -> Upload | None:
    """Keep the files of a valid form as one upload; None, with the error in the form, if not."""
    files = form.cleaned_data["files"]
    try:
        with ExitStack() as stack:
            name, content = files[0]
            if len(files) > 1 or "/" in name:
                packed = pack_files([(path, file.open) for path, file in files])
                content = File(stack.enter_context(packed))
            return keep(file_name=name_files(path for path, _ in files), chunks=content.chunks())
    except ValidationError as error:
        form.add_error(None, error)
        return None


# --- one upload -----------------------------------------------------------------------


@study_page("uploads/<uuid:upload_id>/", name="upload-preview", role=_EDITOR, within="Items")
@require_http_methods(["GET", "HEAD", "POST"])
def show_upload(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    """Show what a file contains; a post changes how it is read. The study stays as it is."""
    upload = _get_upload(study, upload_id)
    if is_imported(upload):
        return _to_list(study, upload)
    if not upload.path.exists():
        messages.warning(request, "That file was not imported in time. Upload it again.")
        return _to_list(study, upload)
    if request.method == "POST":
        change_upload(request, upload, KINDS[upload.purpose].options)
        return _to_upload(study, upload)
    return _show(request, study, upload)


def change_upload(
    request: HttpRequest, upload: Upload, options: type[forms.Form] | None = None
) -> bool:
    """Save what was posted of the file, and check it again. Return whether that changed it."""
    if not may_change(upload):
        return False
    report = find_report(upload)
    if report is None:
        begin_check(upload, by=request.user)
        return True
    posted = make_forms(upload, report, request.POST, options)
    if not all(form.is_valid() for form in posted.values()):
        errors = dict.fromkeys(error for form in posted.values() for error in form.list_errors())
        messages.error(request, " ".join(errors))
        return True
    if not save_changes(upload, report, posted):
        return False
    begin_check(upload, by=request.user)
    return True


def _show(
    request: HttpRequest, study: Study, upload: Upload, confirmation: forms.Form | None = None
) -> HttpResponseBase:
    kind, job = KINDS[upload.purpose], find_job(upload)
    report = None
    if job is None or (job.has_stopped and upload.checked_at):
        report = find_report(upload)
    earlier = importer_of(upload).find_same(study, upload.sha256)
    context: dict[str, Any] = {
        "kind": kind,
        "within": kind.within,
        "upload": upload,
        "job": job,
        "job_title": name_job(job, upload) if job else "",
        "can_restart": job is not None and job.has_stopped,
        "again": _address("preview", study, upload),
        "earlier": earlier,
        "report": report,
        "urls": {name: _address(name, study, upload) for name in _ADDRESSES},
        "back": reverse(f"admin:{kind.list_name}", args=[study.pk]),
        "details": kind.details,
    }
    if report is not None:
        number = request.GET.get("item", "")
        context |= describe_upload(
            upload, report, make_forms(upload, report, None, kind.options), number
        )
        context |= kind.describe(study, report)
        context["can_import"] = report.is_importable and earlier is None and kind.is_open(study)
        # a large file is looked at by a job, once all of its columns are known
        context["applies_at_once"] = earlier is None and not is_large(upload)
        if kind.confirmation is not None:
            context["confirmation"] = confirmation or kind.confirmation()
        if report.fault_count and not earlier:
            context["form"] = UploadForm(None, several=kind.takes_several)
    status = INVALID if confirmation is not None else 200
    response = TemplateResponse(request, "data/upload.html", context, status=status)
    return keep_watching(response, job)


@study_page("uploads/<uuid:upload_id>/correct/", name="upload-correct", role=_EDITOR)
@require_POST
def correct_upload(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    """Take a corrected file in place of one with faults; the other files of the upload stay."""
    upload = _get_upload(study, upload_id)
    kind = KINDS[upload.purpose]
    if change_upload(request, upload, kind.options) and not request.FILES:
        # decided without another file
        return _to_upload(study, upload)
    form = UploadForm(request.POST, request.FILES, several=kind.takes_several)
    keep = partial(keep_upload, study=study, by=request.user, purpose=upload.purpose)
    corrected = correct_file(form, upload, keep) if form.is_valid() else None
    if corrected is None:
        messages.error(request, " ".join(str(error) for error in form.list_errors()))
        return _to_upload(study, upload)
    begin_check(corrected, by=request.user)
    return _to_upload(study, corrected)


def correct_file(form: UploadForm, upload: Upload, keep: Callable[..., Upload]) -> Upload | None:
    """Keep the corrected file, with what was said of the faulty one, which is given up."""
    files = form.cleaned_data["files"]
    names = [file["name"] for file in upload.report.get("files", [])]
    if len(files) != 1 or len(names) < 2 or not upload.path.exists():
        corrected = take_files(form, keep)
    else:
        name, content = files[0]
        replaced = form.cleaned_data["replaces"] or name
        if replaced not in names:
            form.add_error(
                None, f"No file is called {name}. Choose which of the files it replaces."
            )
            return None
        try:
            with replace_file(upload.path, replaced, content.open) as packed:
                corrected = keep(file_name=upload.file_name, chunks=File(packed).chunks())
        except ValidationError as error:
            form.add_error(None, error)
            return None
    if corrected is not None:
        corrected.mapping = upload.mapping
        corrected.save(update_fields=["mapping"])
        drop_upload(upload)
    return corrected


@study_page("uploads/<uuid:upload_id>/faults.csv", name="upload-faults", role=_EDITOR)
@require_safe
def show_faults(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    """Send all faults, to work through them in a spreadsheet."""
    return send_faults(_get_upload(study, upload_id))


def send_faults(upload: Upload) -> HttpResponseBase:
    if upload.faults_path.exists():
        return send_csv(upload.faults_path.read_bytes(), "faults.csv")
    if not upload.path.exists() or is_large(upload):
        raise Http404("The file is gone, or was not checked yet.")
    return send_csv(list_faults(read_upload(upload).faults), "faults.csv")


@study_page("uploads/<uuid:upload_id>/cancel/", name="upload-cancel", role=_EDITOR)
@require_POST
def cancel_upload(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    upload = _get_upload(study, upload_id)
    if not is_imported(upload):
        drop_upload(upload)
        messages.success(request, "Nothing was imported.")
    prune_uploads()
    return _to_list(study, upload)


@study_page("uploads/<uuid:upload_id>/import/", name="upload-import", role=_EDITOR, within="Items")
@require_POST
def import_upload(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    """Import the file once, however often the button is pressed."""
    upload = _get_upload(study, upload_id)
    kind = KINDS[upload.purpose]
    earlier = importer_of(upload).find_same(study, upload.sha256)
    if earlier is not None or not upload.path.exists():
        messages.info(request, f"This file was already uploaded: 0 new {kind.noun}.")
        return _to_list(study, upload)
    if change_upload(request, upload, kind.options):
        # what was changed is looked at before it is imported
        return _to_upload(study, upload)
    if kind.confirmation is not None:
        form = kind.confirmation(request.POST)
        if not form.is_valid():
            return _show(request, study, upload, form)
        decisions = {**upload.mapping.decisions, **form.cleaned_data}
        upload.mapping = upload.mapping.change(decisions=decisions)
        upload.save(update_fields=["mapping"])
    try:
        record = begin_import(upload, by=request.user) if may_change(upload) else None
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return _to_upload(study, upload)
    prune_uploads()
    if record is None:
        return _to_upload(study, upload)
    messages.success(request, kind.describe_import(study, record))
    return _to_list(study, upload)


def may_change(upload: Upload) -> bool:
    """Return whether it waits for a decision: not imported, not discarded, no open job."""
    job = find_job(upload)
    return not is_imported(upload) and upload.path.exists() and not (job and job.is_open)


# --- undoing --------------------------------------------------------------------------


def undo_import(
    request: HttpRequest, importer: Importer, study: Study, record_id: UUID, done: str
) -> HttpResponseBase:
    """Take back what a file became, if it is still there; `done` says so of its name."""
    list_page = redirect(f"admin:{KINDS[importer.purpose].list_name}", study.pk)
    record = importer.record._default_manager.filter(study=study, pk=record_id).first()
    if record is None:
        messages.info(request, "That file is gone already.")
        return list_page
    try:
        is_gone = begin_undo(importer, record, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        if is_gone:
            messages.success(request, done.format(record))
    prune_uploads()
    return list_page


# --- addresses ------------------------------------------------------------------------

_ADDRESSES = ("preview", "import", "cancel", "faults", "correct")


def _get_upload(study: Study, upload_id: UUID) -> Upload:
    return get_object_or_404(Upload, study=study, pk=upload_id, purpose__in=IMPORTERS)


def _address(name: str, study: Study, upload: Upload) -> str:
    return reverse(f"admin:upload-{name}", args=[study.pk, upload.pk])


def _to_upload(study: Study, upload: Upload) -> HttpResponseBase:
    return redirect(_address("preview", study, upload))


def _to_list(study: Study, upload: Upload) -> HttpResponseBase:
    return redirect(f"admin:{KINDS[upload.purpose].list_name}", study.pk)
