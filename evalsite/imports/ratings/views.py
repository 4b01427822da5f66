"""Staff pages of ratings collected elsewhere; uploads and undoing are ImportPages."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Count, Q
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from evalsite.annotation.models import Annotation, RatingsFile
from evalsite.imports.core import Report
from evalsite.imports.forms import UploadForm
from evalsite.imports.models import Upload
from evalsite.imports.ratings.columns import ask
from evalsite.imports.ratings.importer import RATINGS
from evalsite.imports.ratings.store import count_answers
from evalsite.imports.views import ImportPages
from evalsite.imports.waiting import (
    Waiting,
    find_jobs,
    find_uploads,
    list_undoings,
    list_waiting,
    split_spent,
)
from evalsite.jobs.live_page import keep_watching
from evalsite.jobs.models import Job
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import StudyView, has_role
from evalsite.studies.summary_lines import count_of

_SAY_WHO = "Say whether each participant of this file is one person."


class AnswersForm(forms.Form):
    """Whether answers that don't rate everything are kept."""

    keeps_incomplete = forms.BooleanField(
        label="Incomplete answers are fine",
        required=False,
        help_text="An answer is everything a participant said of an item. Without this tick, one "
        "that does not rate everything is a fault. With it, the row is imported unchanged.",
    )


class PersonsForm(forms.Form):
    """Whether each participant of the file is one person: nobody else can know, so nothing is
    chosen beforehand."""

    has_persons = forms.TypedChoiceField(
        label="Is each participant of this file one person?",
        help_text="If not, as with the columns of a published table or with judges 1 to 3 who were "
        "different people, figures about raters are left empty, and say why.",
        choices=[("yes", "Yes, a single person"), ("no", "No, or not known")],
        coerce=lambda text: text == "yes",
        widget=forms.RadioSelect,
        error_messages={"required": _SAY_WHO, "invalid_choice": _SAY_WHO},
    )


class RatingPages(ImportPages):
    """Files of ratings."""

    importer = RATINGS
    list_name, within = "ratings-list", "Items"
    prefix, path = "ratings", "ratings/uploads/"
    undo_prefix, undo_path = "ratings", "ratings/<uuid:file_id>/undo/"
    noun = "answers"
    summary_template = "imports/_ratings_summary.html"
    preview_template = "imports/_ratings_preview.html"
    undo_template = "imports/ratings_undo.html"
    mapping_options = AnswersForm
    import_options = PersonsForm

    def show_list(
        self, request: HttpRequest, study: Study, form: UploadForm, status: int = 200
    ) -> HttpResponseBase:
        return _show_files(request, study, form, status)

    def describe(self, study: Study, upload: Upload, report: Report) -> dict[str, Any]:
        return {"has_changed": report.summary["k"] != study.k}

    def describe_undo(self, study: Study, record: RatingsFile) -> dict[str, Any]:
        return {"file": record, **count_answers(record)}

    def name_button(self, report: Report) -> str:
        return f"Import {count_of(report.summary['answers'], 'answer')}"

    def describe_import(self, study: Study, record: RatingsFile) -> str:
        counts = count_answers(record)
        counted = count_of(counts["counted"], "counted answer")
        return f"Imported {count_of(record.rows, 'row')}: {counted}, {counts['surplus']:,} surplus."

    def describe_undone(self, record: RatingsFile) -> str:
        return f"The answers of {record.file_name} are gone."


@require_safe
def list_ratings(request: HttpRequest, study: Study) -> HttpResponseBase:
    return _show_files(request, study, UploadForm(None))


@dataclass(frozen=True, kw_only=True)
class RatingsPage:
    """What imports/ratings.html shows."""

    again: str  # after a refused upload the address in the bar takes nothing but files
    waiting: list[Waiting]
    spent: list[Waiting]
    files: list[tuple[RatingsFile, dict[str, Any], Job | None]]  # counts, and a job that undoes it
    form: UploadForm
    can_upload: bool
    has_items: bool
    has_unopened: bool
    has_values: bool
    has_comparisons: bool
    needs_system: bool
    criteria: list[str]


def _show_files(
    request: HttpRequest, study: Study, form: UploadForm, status: int = 200
) -> HttpResponseBase:
    """Show every file with its answers, those that wait, and the form that brings another."""
    annotations = Annotation.objects.filter(study=study, ratings_file__isnull=False).order_by()
    counts: dict[UUID, dict[str, Any]] = {
        row["ratings_file"]: {**row}
        for row in annotations.values("ratings_file").annotate(
            people=Count("participant", distinct=True),
            counted=Count("pk", filter=Q(status=Annotation.Status.COUNTED)),
            surplus=Count("pk", filter=Q(status=Annotation.Status.SURPLUS)),
        )
    }
    files = list(RatingsFile.objects.filter(study=study).select_related("uploaded_by"))
    found = find_jobs(study)
    jobs = {one.record.pk: one.job for one in list_undoings(study, RATINGS, found)}
    may_edit = has_role(request, study, Membership.Role.EDITOR)
    uploads = find_uploads(study) if may_edit else []
    asked = ask(study)
    page = RatingsPage(
        again=reverse("admin:ratings-list", args=[study.pk]),
        **split_spent(list_waiting(study, Upload.Purpose.RATINGS, uploads, found)),
        files=[(file, counts.get(file.pk, {}), jobs.get(file.pk)) for file in files],
        form=form,
        can_upload=may_edit,
        has_items=study.items.main().exists(),
        has_unopened=study.batches.filter(opened_at__isnull=True).exists(),
        has_values=asked.has_values,
        has_comparisons=asked.has_comparisons,
        needs_system=bool(asked.per_output),
        criteria=list(asked.labels),
    )
    response = TemplateResponse(request, "imports/ratings.html", vars(page), status=status)
    # an editor may be pasting ratings into the form
    return response if may_edit else keep_watching(response, *jobs.values())


ratings_views = [
    StudyView(path="ratings/", name="ratings-list", view=list_ratings, within="Items"),
    *RatingPages().list_views(),
]
