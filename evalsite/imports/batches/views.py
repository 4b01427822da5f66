"""Staff pages of items: what a study has, uploading more, looking at a file before importing it."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from evalsite.annotation.pilot import pilot_answers
from evalsite.annotation.places_views import describe_places
from evalsite.exports.csv_writer import send_csv
from evalsite.imports.batches.fields import makes_pairs
from evalsite.imports.batches.files import (
    Report,
    begin_check,
    begin_import,
    begin_undo,
    describe_checked,
    list_faults,
    read_report,
    read_upload,
)
from evalsite.imports.batches.forms import MappingForm, UploadForm
from evalsite.imports.batches.importing import find_same_file, takes_items
from evalsite.imports.batches.listing import list_inputs, list_items, summarise_batches
from evalsite.imports.batches.previews import preview_items
from evalsite.imports.batches.samples import TEMPLATES
from evalsite.imports.batches.waiting import (
    are_ratings_under_way,
    find_job,
    find_uploads,
    list_undoings,
    list_waiting,
    name_job,
    part_spent,
)
from evalsite.imports.models import MetricScore, Upload
from evalsite.imports.uploads import drop_upload, is_large, keep_upload, prune_uploads
from evalsite.jobs.models import Job
from evalsite.jobs.watching import keep_watching
from evalsite.protocol import Protocol
from evalsite.studies.models import Batch, Membership, Study
from evalsite.studies.pages import has_role
from evalsite.studies.summaries import count_of

PAGE = 50


# --- items ------------------------------------------------------------------------


@require_safe
def list_batches(request: HttpRequest, study: Study) -> HttpResponseBase:
    return _show_items(request, study, UploadForm(None))


@require_POST
def upload_file(request: HttpRequest, study: Study) -> HttpResponseBase:
    """The file waits to be looked at; nothing of the study has changed."""
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        status = 413 if form.has_error("file", "too_large") else 422
        return _show_items(request, study, form, status)
    file = form.cleaned_data["file"]
    try:
        upload = keep_upload(
            study=study, file_name=file.name or "", chunks=file.chunks(), by=request.user
        )
    except ValidationError as error:
        form.add_error(None, error)
        return _show_items(request, study, form, status=422)
    begin_check(upload, by=request.user)
    return redirect("admin:upload-preview", study.pk, upload.pk)


@require_safe
def download_template(request: HttpRequest, study: Study) -> HttpResponseBase:
    template = TEMPLATES.get(request.GET.get("form", "long"))
    if template is None:
        raise Http404("There is no such template.")
    response = HttpResponse(template.write(study.config), content_type=template.content_type)
    name = f"{study.protocol}-template{template.ending}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _show_items(
    request: HttpRequest, study: Study, form: UploadForm, status: int = 200
) -> HttpResponseBase:
    may_edit = has_role(request, study, Membership.Role.EDITOR)
    uploads = find_uploads(study) if may_edit else []
    items = Paginator(list_items(study), PAGE)
    rows = items.get_page(request.GET.get("page"))
    context = {
        "batches": summarise_batches(study),
        # after a refused upload the address in the bar takes nothing but files
        "again": reverse("admin:batch-list", args=[study.pk]),
        "undoings": list_undoings(study),
        **part_spent(list_waiting(study, Upload.Purpose.ITEMS, uploads)),
        "ratings_under_way": may_edit and are_ratings_under_way(study, uploads),
        "rows": rows,
        "listed": [(item, list_inputs(item, study.config)) for item in rows],
        "item_count": count_of(items.count, "item"),
        "form": form,
        "can_restart": may_edit,
        "can_upload": takes_items(study) and may_edit,
        "can_steer": may_edit,
        **describe_places(study),
        "columns": [column.name for column in study.config.inputs if column.is_required],
        "makes_pairs": makes_pairs(study.config),
        "templates": TEMPLATES,
        "optional_columns": _name_optional_columns(study.config),
        "limits": [
            f"{settings.UPLOAD_MAX_BYTES // (1024 * 1024):,} MB",
            f"{settings.UPLOAD_MAX_ROWS:,} rows",
            f"{settings.UPLOAD_MAX_COLUMNS:,} columns",
            f"{settings.UPLOAD_MAX_CELL:,} letters in a cell",
            f"{settings.UPLOAD_MAX_TEXT // (1024 * 1024):,} MB once unpacked",
        ],
    }
    return TemplateResponse(request, "imports/items.html", context, status=status)


def _name_optional_columns(config: Protocol) -> list[str]:
    return [
        *("group", "cluster", "kind"),
        *(["pair"] if makes_pairs(config) else []),
        *(column.name for column in config.inputs if not column.is_required),
        *(f"gold_{criterion.key}" for criterion in config.criteria),
        "gold_why",
    ]


# --- one upload -------------------------------------------------------------------


@require_safe
def show_upload(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    """What would be imported, and every fault; looking changes nothing."""
    upload = _get_upload(study, upload_id)
    if upload.batch_id:
        return redirect("admin:batch-list", study.pk)
    if not upload.path.exists():
        messages.warning(request, "That file was not imported in time. Upload it again.")
        return redirect("admin:batch-list", study.pk)
    job = find_job(upload)
    report = _get_report(upload, job)
    context = {
        "upload": upload,
        "job": job,
        "job_title": name_job(job, upload) if job else "",
        "can_restart": job is not None and job.has_stopped,
        **(_describe(study, upload, report) if report and not (job and job.is_open) else {}),
    }
    response = TemplateResponse(request, "imports/upload.html", context)
    return keep_watching(response, job)


def _get_report(upload: Upload, job: Job | None) -> Report | None:
    """What the last check found; a small file that has none is looked at here and now."""
    report = read_report(upload)
    if report is None and job is None and not is_large(upload):
        report = describe_checked(read_upload(upload))
    return report


def _describe(study: Study, upload: Upload, report: Report) -> dict[str, Any]:
    same = find_same_file(study, upload.sha256)
    return {
        "report": report,
        "same": same,
        "can_import": report.is_importable and same is None and takes_items(study),
        # a place for the corrected file
        "form": UploadForm(None) if report.faults and takes_items(study) else None,
        "faults_left": report.faults - len(report.first_faults),
        "columns": [
            (field, report.samples.get(str(field.label), ""))
            for field in _make_mapping_form(None, study, report)
        ],
        "previews": preview_items(study, report.first_items),
    }


@require_POST
def check_again(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    """The file is looked at once more, as the study is now."""
    upload = _get_upload(study, upload_id)
    if _may_change(upload):
        begin_check(upload, by=request.user)
    return redirect("admin:upload-preview", study.pk, upload.pk)


@require_POST
def map_upload(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    """The columns hold what the researcher says."""
    upload = _get_upload(study, upload_id)
    report = _get_report(upload, None) if _may_change(upload) else None
    if report is not None:
        form = _make_mapping_form(request.POST, study, report)
        if form.is_valid():
            upload.mapping, upload.options = form.mapping, {}
            upload.save(update_fields=["mapping", "options"])
            begin_check(upload, by=request.user)
        else:
            messages.error(request, "Choose one of the listed fields for each column.")
    return redirect("admin:upload-preview", study.pk, upload.pk)


@require_safe
def download_faults(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    """All faults, to work through them in a spreadsheet."""
    upload = _get_upload(study, upload_id)
    if upload.faults_path.exists():
        return send_csv(upload.faults_path.read_bytes(), "faults.csv")
    if not upload.path.exists() or is_large(upload):
        raise Http404("The file is gone, or was not checked yet.")
    return send_csv(list_faults(read_upload(upload).faults), "faults.csv")


@require_POST
def cancel_upload(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    upload = _get_upload(study, upload_id)
    if upload.batch_id is None:
        drop_upload(upload)
        messages.success(request, "Nothing was imported.")
    prune_uploads()
    return redirect("admin:batch-list", study.pk)


@require_POST
def import_file(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    """The file is a batch, once, however often the button is pressed."""
    upload = _get_upload(study, upload_id)
    same = find_same_file(study, upload.sha256)
    if same is not None or not upload.path.exists():
        messages.info(request, "This file was already uploaded: 0 new items.")
        return redirect("admin:batch-list", study.pk)
    try:
        batch = begin_import(upload, by=request.user) if _may_change(upload) else None
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("admin:upload-preview", study.pk, upload.pk)
    prune_uploads()
    if batch is None:
        return redirect("admin:upload-preview", study.pk, upload.pk)
    later = (
        " Participants get them once an owner has opened the batch." if study.is_launched else ""
    )
    messages.success(request, f"Imported {count_of(batch.rows, 'row')}.{later}")
    return redirect("admin:batch-list", study.pk)


# --- undo -------------------------------------------------------------------------


@require_safe
def confirm_undo(request: HttpRequest, study: Study, batch_id: UUID) -> HttpResponseBase:
    batch = get_object_or_404(Batch, study=study, pk=batch_id)
    context = {
        "batch": batch,
        "items": batch.items.count(),
        "scores": MetricScore.objects.filter(output__item__batch=batch).count(),
        "pilots": pilot_answers(study).count(),
    }
    return TemplateResponse(request, "imports/undo.html", context)


@require_POST
def undo(request: HttpRequest, study: Study, batch_id: UUID) -> HttpResponseBase:
    batch = get_object_or_404(Batch, study=study, pk=batch_id)
    try:
        is_gone = begin_undo(batch, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        if is_gone:
            messages.success(request, f"The items of {batch.file_name} are gone.")
    prune_uploads()
    return redirect("admin:batch-list", study.pk)


# --- helpers ----------------------------------------------------------------------


def _get_upload(study: Study, upload_id: UUID) -> Upload:
    return get_object_or_404(Upload, study=study, pk=upload_id, purpose=Upload.Purpose.ITEMS)


def _may_change(upload: Upload) -> bool:
    """Whether it waits for a decision: not imported, not given up, and no job is at work on it."""
    job = find_job(upload)
    return upload.batch_id is None and upload.path.exists() and not (job and job.is_open)


def _make_mapping_form(data: Any, study: Study, report: Report) -> MappingForm:
    return MappingForm(data, header=report.header, mapping=report.mapping, config=study.config)
