"""Staff pages of ratings collected elsewhere: what there is, and taking it back."""

from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Count, Q
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from evalsite.core.jobs.live_page import keep_watching
from evalsite.data.forms import ChangesForm, UploadForm
from evalsite.data.importing import Report
from evalsite.data.models import Upload
from evalsite.data.ratings.columns import ask
from evalsite.data.ratings.importer import RATINGS
from evalsite.data.ratings.store import count_answers
from evalsite.data.uploads import (
    find_jobs,
    find_uploads,
    list_undoings,
    list_waiting,
    split_spent,
)
from evalsite.data.views import KINDS, UploadKind, undo_import
from evalsite.handout.models import Annotation, RatingsFile
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import has_role, study_page
from evalsite.studies.summary_lines import count_of

_SAY_WHO = "Say whether each participant of this file is one person."


class AnswersForm(ChangesForm):
    """How the table and its numbers are read, and whether incomplete answers are kept."""

    turn = forms.ChoiceField(
        label="The table has",
        choices=[
            ("", "a column for each question, or the question in a column"),
            ("people", "a column for each person"),
            ("items", "a column for each item"),
        ],
        required=False,
    )

    keeps_incomplete = forms.TypedChoiceField(
        label="Answers that lack a rating",
        choices=[("", "are faults"), ("True", "are imported as they are")],
        coerce=lambda text: text == "True",
        required=False,
    )
    decimal_comma = forms.TypedChoiceField(
        label="Decimal mark",
        choices=[("", "point"), ("True", "comma")],
        coerce=lambda text: text == "True",
        required=False,
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


def _describe_new(study: Study) -> dict[str, Any]:
    asked = ask(study)
    return {
        "has_items": study.items.main().exists(),
        "has_unopened": study.batches.filter(opened_at__isnull=True).exists(),
        "has_values": asked.has_values,
        "has_comparisons": asked.has_comparisons,
        "needs_system": bool(asked.per_output),
        "criteria": list(asked.labels),
    }


def _describe(study: Study, report: Report) -> dict[str, Any]:
    return {
        "has_changed": report.summary["k"] != study.k,
        "button": f"Import {count_of(report.summary['answers'], 'answer')}",
    }


def _describe_import(study: Study, record: RatingsFile) -> str:
    counts = count_answers(record)
    counted = count_of(counts["counted"], "counted answer")
    return f"Imported {count_of(record.rows, 'row')}: {counted}, {counts['surplus']:,} surplus."


KINDS[Upload.Purpose.RATINGS] = UploadKind(
    list_name="ratings-list",
    title="Ratings collected elsewhere",
    noun="answers",
    takes_several=True,
    describe_new=_describe_new,
    describe=_describe,
    describe_import=_describe_import,
    details="data/_answers.html",
    options=AnswersForm,
    confirmation=PersonsForm,
)


@study_page(
    "ratings/<uuid:file_id>/undo/confirm/",
    name="ratings-undo-confirm",
    role=Membership.Role.EDITOR,
    within="Items",
)
@require_safe
def confirm_undo(request: HttpRequest, study: Study, file_id: UUID) -> HttpResponseBase:
    file = get_object_or_404(RatingsFile, study=study, pk=file_id)
    context = {"file": file, **count_answers(file)}
    return TemplateResponse(request, "data/ratings_undo.html", context)


@study_page("ratings/<uuid:file_id>/undo/", name="ratings-undo", role=Membership.Role.EDITOR)
@require_POST
def undo(request: HttpRequest, study: Study, file_id: UUID) -> HttpResponseBase:
    return undo_import(request, RATINGS, study, file_id, "The answers of {} are gone.")


@study_page("ratings/", name="ratings-list", within="Items")
@require_safe
def list_ratings(request: HttpRequest, study: Study) -> HttpResponseBase:
    return _show_files(request, study)


def _show_files(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show every file with its answers, those that wait, and the way to add another."""
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
    under_way = find_jobs(study)
    jobs = {undoing.record.pk: undoing.job for undoing in list_undoings(study, RATINGS, under_way)}
    may_edit = has_role(request, study, Membership.Role.EDITOR)
    uploads = find_uploads(study) if may_edit else []
    context = {
        **split_spent(list_waiting(study, Upload.Purpose.RATINGS, uploads, under_way)),
        "files": [(file, counts.get(file.pk, {}), jobs.get(file.pk)) for file in files],
        "form": UploadForm(None),
        "purpose": Upload.Purpose.RATINGS,
        "to": reverse("admin:upload-new", args=[study.pk]),
        "can_upload": may_edit,
        **_describe_new(study),
    }
    response = TemplateResponse(request, "data/ratings.html", context)
    # an editor may be pasting ratings into the form
    return response if may_edit else keep_watching(response, *jobs.values())
