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
from django.views.decorators.http import require_POST, require_safe

from evalsite.annotation.pilot import pilot_answers
from evalsite.annotation.places_views import describe_places
from evalsite.exchange.checking import Checked, check_file
from evalsite.exchange.exporting import guard_cell, write_rows
from evalsite.exchange.forms import MappingForm, UploadForm
from evalsite.exchange.importing import (
    find_same_file,
    import_batch,
    takes_items,
    undo_batch,
)
from evalsite.exchange.listing import list_items, summarise_batches
from evalsite.exchange.mapping import makes_pairs
from evalsite.exchange.models import Upload
from evalsite.exchange.previews import preview_items
from evalsite.exchange.samples import write_template
from evalsite.exchange.uploads import drop_upload, forget_bytes, keep_upload, prune_uploads
from evalsite.studies.models import Batch, Membership, Study
from evalsite.studies.pages import has_role

PAGE = 50
FAULTS_SHOWN = 100


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
    upload = keep_upload(
        study=study, file_name=file.name or "", chunks=file.chunks(), by=request.user
    )
    return redirect("admin:upload-preview", study.pk, upload.pk)


@require_safe
def download_template(request: HttpRequest, study: Study) -> HttpResponseBase:
    return send_csv(write_template(study.config), f"{study.protocol}-template.csv")


def _show_items(
    request: HttpRequest, study: Study, form: UploadForm, status: int = 200
) -> HttpResponseBase:
    context = {
        "batches": summarise_batches(study),
        "rows": Paginator(list_items(study), PAGE).get_page(request.GET.get("page")),
        "form": form,
        "can_upload": takes_items(study) and has_role(request, study, Membership.Role.EDITOR),
        "is_owner": has_role(request, study, Membership.Role.OWNER),
        **describe_places(study),
        "columns": [column.name for column in study.config.inputs if column.is_required],
        "makes_pairs": makes_pairs(study.config),
        "optional_columns": [
            "group",
            "cluster",
            "kind",
            *(["pair"] if makes_pairs(study.config) else []),
            *(column.name for column in study.config.inputs if not column.is_required),
            *(f"gold_{criterion.key}" for criterion in study.config.criteria),
            "gold_why",
        ],
        "limits": [
            f"{settings.UPLOAD_MAX_BYTES // (1024 * 1024):,} MB",
            f"{settings.UPLOAD_MAX_ROWS:,} rows",
            f"{settings.UPLOAD_MAX_COLUMNS:,} columns",
            f"{settings.UPLOAD_MAX_CELL:,} letters in a cell",
        ],
    }
    return TemplateResponse(request, "exchange/items.html", context, status=status)


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
    context = _describe(study, upload, _check(study, upload))
    return TemplateResponse(request, "exchange/upload.html", context)


def _describe(study: Study, upload: Upload, checked: Checked) -> dict[str, Any]:
    same = find_same_file(study, upload.sha256)
    return {
        "upload": upload,
        "same": same,
        "checked": checked,
        "can_import": checked.is_importable and same is None and takes_items(study),
        "faults": checked.faults[:FAULTS_SHOWN],
        "faults_left": len(checked.faults) - FAULTS_SHOWN,
        "columns": [
            (field, checked.samples.get(str(field.label), ""))
            for field in _make_mapping_form(None, study, checked)
        ],
        "previews": preview_items(study, checked.items),
    }


@require_POST
def map_upload(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    """The columns hold what the researcher says."""
    upload = _get_upload(study, upload_id)
    if upload.batch_id is None and upload.path.exists():
        form = _make_mapping_form(request.POST, study, _check(study, upload))
        if form.is_valid():
            upload.mapping = form.mapping
            upload.save(update_fields=["mapping"])
        else:
            messages.error(request, "Choose one of the listed fields for each column.")
    return redirect("admin:upload-preview", study.pk, upload.pk)


@require_safe
def download_faults(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    """All faults, to work through them in a spreadsheet."""
    upload = _get_upload(study, upload_id)
    if not upload.path.exists():
        raise Http404("The file is gone.")
    faults = _check(study, upload).faults
    rows = [
        (fault.line, fault.record, guard_cell(fault.column), guard_cell(fault.message))
        for fault in faults
    ]
    return send_csv(write_rows([("line", "record", "column", "fault"), *rows]), "faults.csv")


@require_POST
def cancel_upload(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    upload = _get_upload(study, upload_id)
    if upload.batch_id is None:
        drop_upload(upload)
        messages.success(request, "Nothing was imported.")
    prune_uploads()
    return redirect("admin:batch-list", study.pk)


@require_POST
def import_upload(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    """The file is a batch, once, however often the button is pressed."""
    upload = _get_upload(study, upload_id)
    same = find_same_file(study, upload.sha256)
    if same is not None or not upload.path.exists():
        messages.info(request, "This file was already uploaded: 0 new items.")
        return redirect("admin:batch-list", study.pk)
    try:
        batch = import_batch(
            study=study,
            checked=_check(study, upload),
            file_name=upload.file_name,
            sha256=upload.sha256,
            by=request.user,
            upload_key=upload.pk,
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("admin:upload-preview", study.pk, upload.pk)
    forget_bytes(upload)
    prune_uploads()
    later = (
        " Participants get them once an owner has opened the batch." if study.is_launched else ""
    )
    messages.success(request, f"Imported {batch.rows:,} rows.{later}")
    return redirect("admin:batch-list", study.pk)


# --- undo -------------------------------------------------------------------------


@require_safe
def confirm_undo(request: HttpRequest, study: Study, batch_id: UUID) -> HttpResponseBase:
    batch = get_object_or_404(Batch, study=study, pk=batch_id)
    items = batch.items.count()
    context = {"batch": batch, "items": items, "pilots": pilot_answers(study).count()}
    return TemplateResponse(request, "exchange/undo.html", context)


@require_POST
def undo(request: HttpRequest, study: Study, batch_id: UUID) -> HttpResponseBase:
    batch = get_object_or_404(Batch, study=study, pk=batch_id)
    try:
        undo_batch(batch=batch, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, f"The items of {batch.file_name} are gone.")
    prune_uploads()
    return redirect("admin:batch-list", study.pk)


# --- helpers ----------------------------------------------------------------------


def send_csv(text: str, name: str) -> HttpResponse:
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _get_upload(study: Study, upload_id: UUID) -> Upload:
    return get_object_or_404(Upload, study=study, pk=upload_id)


def _check(study: Study, upload: Upload) -> Checked:
    with upload.path.open("rb") as source:
        return check_file(source, study=study, mapping=upload.mapping)


def _make_mapping_form(data: Any, study: Study, checked: Checked) -> MappingForm:
    return MappingForm(
        data, header=list(checked.mapping), mapping=checked.mapping, config=study.config
    )
