"""Staff pages of ratings collected elsewhere: what was imported, uploading more, undoing it."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Count, Q
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from evalsite.annotation.models import Annotation, RatingsFile
from evalsite.exports.sending import send_csv
from evalsite.imports.core import FAULTS_SHOWN, list_faults
from evalsite.imports.forms import UploadForm
from evalsite.imports.models import Upload
from evalsite.imports.ratings.files import (
    CHECK,
    IMPORT,
    UNDO,
    Report,
    check_upload,
    count_answers,
    describe_ratings,
    look_at,
    take_back,
    take_in,
)
from evalsite.imports.ratings.forms import PersonsForm, RatingsMappingForm
from evalsite.imports.ratings.importing import find_same_ratings
from evalsite.imports.ratings.mapping import has_comparisons, has_values, needs_system
from evalsite.imports.tables.faults import Fault
from evalsite.imports.uploads import drop_upload, is_large, keep_upload, prune_uploads
from evalsite.imports.waiting import find_uploads, list_waiting, newest_job, part_spent
from evalsite.jobs.models import Job
from evalsite.jobs.watching import keep_watching
from evalsite.studies.models import Membership, Study
from evalsite.studies.pages import StudyView, has_role
from evalsite.studies.summaries import count_of

_INVALID = 422


# --- what stands ------------------------------------------------------------------


@require_safe
def list_ratings(request: HttpRequest, study: Study) -> HttpResponseBase:
    return _show_files(request, study, UploadForm(None))


def _show_files(
    request: HttpRequest, study: Study, form: UploadForm, status: int = 200
) -> HttpResponseBase:
    """Every file with its answers, those that wait, and the form that brings another."""
    annotations = Annotation.objects.filter(study=study, ratings_file__isnull=False).order_by()
    counts = {
        row["ratings_file"]: row
        for row in annotations.values("ratings_file").annotate(
            people=Count("participant", distinct=True),
            counted=Count("pk", filter=Q(status=Annotation.Status.COUNTED)),
            surplus=Count("pk", filter=Q(status=Annotation.Status.SURPLUS)),
        )
    }
    files = list(RatingsFile.objects.filter(study=study).select_related("uploaded_by"))
    jobs = _newest_undoings(study)
    may_edit = has_role(request, study, Membership.Role.EDITOR)
    uploads = find_uploads(study) if may_edit else []
    context = {
        # after a refused upload the address in the bar takes nothing but files
        "again": reverse("admin:ratings-list", args=[study.pk]),
        **part_spent(list_waiting(study, Upload.Purpose.RATINGS, uploads)),
        "files": [(file, counts.get(file.pk, {}), jobs.get(str(file.pk))) for file in files],
        "form": form,
        "can_upload": may_edit,
        "has_items": study.items.main().exists(),
        "has_unopened": study.batches.filter(opened_at__isnull=True).exists(),
        "has_values": has_values(study.config),
        "has_comparisons": has_comparisons(study.config),
        "needs_system": needs_system(study.config),
        "criteria": [one.key for one in study.config.criteria],
    }
    response = TemplateResponse(request, "imports/ratings.html", context, status=status)
    # an editor may be pasting ratings into the form
    return response if may_edit else keep_watching(response, *jobs.values())


def _newest_undoings(study: Study) -> dict[str, Job]:
    """For each file the job that undoes it, where it is at work or has stopped."""
    jobs = Job.objects.filter(study_id=study.pk, kind=UNDO).order_by("created_at")
    return {job.subject: job for job in jobs if job.state != Job.State.DONE}


@require_POST
def upload_ratings(request: HttpRequest, study: Study) -> HttpResponseBase:
    """The file waits to be looked at; nothing of the study has changed."""
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        status = 413 if form.has_error("file", "too_large") else _INVALID
        return _show_files(request, study, form, status)
    file = form.cleaned_data["file"]
    try:
        upload = keep_upload(
            study=study,
            file_name=file.name or "",
            chunks=file.chunks(),
            by=request.user,
            purpose=Upload.Purpose.RATINGS,
        )
    except ValidationError as error:
        form.add_error(None, error)
        return _show_files(request, study, form, status=_INVALID)
    look_at(upload, by=request.user)
    return redirect("admin:ratings-preview", study.pk, upload.pk)


# --- one upload -------------------------------------------------------------------


@require_safe
def show_ratings(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    """What would be imported, and every fault; looking changes nothing."""
    upload = _get_upload(study, upload_id)
    if upload.ratings_file_id:
        return redirect("admin:ratings-list", study.pk)
    if not upload.path.exists():
        messages.warning(request, "That file was not imported in time. Upload it again.")
        return redirect("admin:ratings-list", study.pk)
    return _show_upload(request, study, upload, PersonsForm(None))


def _show_upload(
    request: HttpRequest, study: Study, upload: Upload, persons: PersonsForm, status: int = 200
) -> HttpResponseBase:
    job = _find_job(study, upload)
    report = None if job is not None and job.is_open else _find_report(study, upload)
    same = find_same_ratings(study, upload.sha256)
    context: dict[str, Any] = {
        "upload": upload,
        "same": same,
        "job": job,
        "again": reverse("admin:ratings-preview", args=[study.pk, upload.pk]),
        "report": report,
    }
    if report is not None:
        form = _make_mapping_form(None, study, upload, report)
        context |= {
            "persons": persons,
            "mapping": form,
            "columns": [
                (one, report["samples"].get(str(one.label), ""), "") for one in form.columns
            ],
            "can_import": same is None and not report["fault_count"] and report["answers"],
            "faults": _read_faults(report)[:FAULTS_SHOWN],
            "faults_left": report["fault_count"] - FAULTS_SHOWN,
            "has_changed": report["k"] != study.k,
            # a place for the corrected file
            "form": UploadForm(None) if report["fault_count"] else None,
        }
    response = TemplateResponse(request, "imports/ratings_upload.html", context, status=status)
    return keep_watching(response, job)


def _find_job(study: Study, upload: Upload) -> Job | None:
    """What is being done with the file, or has stopped before it was done."""
    jobs = [newest_job(study, kind, upload.pk) for kind in (IMPORT, CHECK)]
    return next((job for job in jobs if job is not None and job.state != Job.State.DONE), None)


def _find_report(study: Study, upload: Upload) -> Report | None:
    """What the file holds: of a large one as it was when it was checked, if it was."""
    if is_large(upload):
        return upload.report if upload.checked_at else None
    return describe_ratings(study, check_upload(upload))


def _read_faults(report: Report) -> list[Fault]:
    return [
        Fault("".join(code), message, column=column, line=line, record=record)
        for line, record, column, message, *code in report["faults"]
    ]


def _make_mapping_form(
    data: Any, study: Study, upload: Upload, report: Report
) -> RatingsMappingForm:
    return RatingsMappingForm(
        data,
        header=[name for name in report["header"] if name in report["mapping"]],
        mapping=report["mapping"],
        config=study.config,
        keeps_incomplete=bool(upload.options.get("keeps_incomplete")),
    )


@require_POST
def map_ratings(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    """The columns hold what the researcher says, and the file is looked at again."""
    upload = _get_waiting(study, upload_id)
    report = _find_report(study, upload)
    if report is not None:
        form = _make_mapping_form(request.POST, study, upload, report)
        if form.is_valid():
            upload.mapping = form.mapping
            upload.options = {"keeps_incomplete": form.cleaned_data["keeps_incomplete"]}
            upload.save(update_fields=["mapping", "options"])
            look_at(upload, by=request.user)
        else:
            messages.error(request, "Choose one of the listed fields for each column.")
    return redirect("admin:ratings-preview", study.pk, upload.pk)


@require_safe
def download_rating_faults(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    """All faults, to work through them in a spreadsheet."""
    report = _find_report(study, _get_waiting(study, upload_id))
    if report is None:
        raise Http404("The file was not looked at yet.")
    return send_csv(list_faults(_read_faults(report)), "faults.csv")


@require_POST
def cancel_ratings(request: HttpRequest, study: Study, upload_id: UUID) -> HttpResponseBase:
    upload = _get_upload(study, upload_id)
    job = newest_job(study, IMPORT, upload.pk)
    if job is not None and job.is_open and not job.is_stale:
        messages.error(request, "The file is being imported just now. Undo it when that is done.")
        return redirect("admin:ratings-preview", study.pk, upload.pk)
    if upload.ratings_file_id is None:
        drop_upload(upload)
        messages.success(request, "Nothing was imported.")
    prune_uploads()
    return redirect("admin:ratings-list", study.pk)


@require_POST
def import_uploaded_ratings(
    request: HttpRequest, study: Study, upload_id: UUID
) -> HttpResponseBase:
    """The file is imported, once, however often the button is pressed."""
    upload = _get_upload(study, upload_id)
    if find_same_ratings(study, upload.sha256) is not None or not upload.path.exists():
        messages.info(request, "This file was already imported: 0 new answers.")
        return redirect("admin:ratings-list", study.pk)
    persons, report = PersonsForm(request.POST), _find_report(study, upload)
    if report is None:
        return redirect("admin:ratings-preview", study.pk, upload.pk)
    if not persons.is_valid():
        return _show_upload(request, study, upload, persons, _INVALID)
    has_persons = persons.cleaned_data["has_persons"]
    try:
        done = take_in(upload, has_persons=has_persons, rows=report["rows"], by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("admin:ratings-preview", study.pk, upload.pk)
    prune_uploads()
    if isinstance(done, Job):
        return redirect("admin:ratings-preview", study.pk, upload.pk)
    messages.success(request, _say_imported(done))
    return redirect("admin:ratings-list", study.pk)


def _say_imported(file: RatingsFile) -> str:
    counts = count_answers(file)
    said = f"Imported {count_of(file.rows, 'row')}: {count_of(counts['counted'], 'counted answer')}"
    return f"{said}, {counts['surplus']:,} surplus."


# --- undo -------------------------------------------------------------------------


@require_safe
def confirm_ratings_undo(request: HttpRequest, study: Study, file_id: UUID) -> HttpResponseBase:
    file = get_object_or_404(RatingsFile, study=study, pk=file_id)
    context = {"file": file, **count_answers(file)}
    return TemplateResponse(request, "imports/ratings_undo.html", context)


@require_POST
def undo_imported_ratings(request: HttpRequest, study: Study, file_id: UUID) -> HttpResponseBase:
    file = RatingsFile.objects.filter(study=study, pk=file_id).first()
    if file is None:
        messages.info(request, "That file is gone already.")
        return redirect("admin:ratings-list", study.pk)
    try:
        job = take_back(file, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        if job is None:
            messages.success(request, f"The answers of {file.file_name} are gone.")
    prune_uploads()
    return redirect("admin:ratings-list", study.pk)


# --- helpers ----------------------------------------------------------------------


def _get_upload(study: Study, upload_id: UUID) -> Upload:
    return get_object_or_404(Upload, study=study, pk=upload_id, purpose=Upload.Purpose.RATINGS)


def _get_waiting(study: Study, upload_id: UUID) -> Upload:
    upload = _get_upload(study, upload_id)
    if upload.ratings_file_id or not upload.path.exists():
        raise Http404("The file is gone.")
    return upload


_EDITOR = Membership.Role.EDITOR
_UPLOAD = "ratings/uploads/<uuid:upload_id>/"
_FILE = "ratings/<uuid:file_id>/undo/"

ratings_views = [
    StudyView(path="ratings/", name="ratings-list", view=list_ratings, within="Items"),
    StudyView(path="ratings/uploads/", name="ratings-new", view=upload_ratings, role=_EDITOR,
              within="Items"),
    StudyView(path=_UPLOAD, name="ratings-preview", view=show_ratings, role=_EDITOR,
              within="Items"),
    StudyView(path=f"{_UPLOAD}mapping/", name="ratings-map", view=map_ratings, role=_EDITOR),
    StudyView(path=f"{_UPLOAD}faults.csv", name="ratings-faults", view=download_rating_faults,
              role=_EDITOR),
    StudyView(path=f"{_UPLOAD}cancel/", name="ratings-cancel", view=cancel_ratings, role=_EDITOR),
    StudyView(path=f"{_UPLOAD}import/", name="ratings-import", view=import_uploaded_ratings,
              role=_EDITOR, within="Items"),
    StudyView(path=f"{_FILE}confirm/", name="ratings-undo-confirm", view=confirm_ratings_undo,
              role=_EDITOR, within="Items"),
    StudyView(path=_FILE, name="ratings-undo", view=undo_imported_ratings, role=_EDITOR),
]  # fmt: skip
