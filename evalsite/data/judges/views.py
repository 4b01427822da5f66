"""Staff pages of judges' labels: what a file brings, what is known of a judge, taking back."""

from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.core.audit.models import AuditEntry
from evalsite.data.importing import Report
from evalsite.data.judges.importer import JUDGES
from evalsite.data.metrics.importer import METRICS
from evalsite.data.metrics.views import LIST
from evalsite.data.models import Judge, JudgeFile, Upload
from evalsite.data.views import INVALID, KINDS, UploadKind, undo_import
from evalsite.data.whole_files import WholeFileImporter
from evalsite.lib.clock import now
from evalsite.studies.models import Membership, Output, Study
from evalsite.studies.staff_pages import study_page
from evalsite.studies.summary_lines import count_of
from evalsite.studies.versions import hash_text

_HEX = "0123456789abcdef"


def _describe_new(study: Study) -> dict[str, Any]:
    return {"has_items": Output.objects.stored().filter(item__study=study).exists()}


def _describe(study: Study, report: Report) -> dict[str, Any]:
    return {"button": f"Import {count_of(report.summary['labels'], 'label')}"}


def _describe_import(study: Study, record: JudgeFile) -> str:
    labels = count_of(record.labels.count(), "label")
    return f"Imported {labels}. Say what made them, so that you can certify the judge later."


KINDS[Upload.Purpose.JUDGES] = UploadKind(
    list_name=LIST,
    within="Judges & metrics",
    title="Judges",
    noun="labels",
    describe_new=_describe_new,
    describe=_describe,
    describe_import=_describe_import,
    details="data/_labels.html",
)


@study_page(
    "results/judges/files/<uuid:file_id>/undo/confirm/",
    name="results-file-undo-confirm",
    role=Membership.Role.EDITOR,
    within="Judges & metrics",
)
@require_safe
def confirm_undo(request: HttpRequest, study: Study, file_id: UUID) -> HttpResponseBase:
    importer = _find_importer(study, file_id)
    file = get_object_or_404(importer.record, study=study, pk=file_id)
    context = {
        "file": file,
        "noun": importer.noun,
        "number": importer.list_rows(file).count(),
    }
    return TemplateResponse(request, "data/results_file_undo.html", context)


@study_page(
    "results/judges/files/<uuid:file_id>/undo/",
    name="results-file-undo",
    role=Membership.Role.EDITOR,
)
@require_POST
def undo(request: HttpRequest, study: Study, file_id: UUID) -> HttpResponseBase:
    return undo_import(request, _find_importer(study, file_id), study, file_id, "{} is gone.")


def _find_importer(study: Study, file_id: UUID) -> WholeFileImporter:
    """Return what imported this file: labels, or else scores."""
    is_of_labels = JudgeFile.objects.filter(study=study, pk=file_id).exists()
    return JUDGES if is_of_labels else METRICS


class AboutJudgeForm(forms.ModelForm[Judge]):
    """What made a judge's labels. All may stay empty; without it there is no certificate."""

    class Meta:
        model = Judge
        fields = ("version", "prompt", "prompt_sha256", "settings", "judged_on")
        labels = {
            "version": "Version of the model",
            "prompt": "Prompt",
            "prompt_sha256": "Or the SHA-256 of the prompt",
            "settings": "Settings",
            "judged_on": "Date of the labels",
        }
        help_texts = {
            "version": "As its provider names it, such as gpt-4.1-2025-04-14.",
            "prompt": "As it was sent, with the places of the texts.",
            "prompt_sha256": "If you can’t give the prompt itself.",
            "settings": "Such as temperature 0.",
            "judged_on": "A certificate holds for 180 days from this date.",
        }
        widgets = {
            "prompt": forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
            "judged_on": forms.DateInput(attrs={"type": "date"}),
        }

    def clean_prompt_sha256(self) -> str:
        text: str = self.cleaned_data["prompt_sha256"].strip().casefold()
        if text and (len(text) != 64 or set(text) - set(_HEX)):
            raise ValidationError("A SHA-256 has 64 digits from 0 to f. Copy it again.")
        return text

    def clean_judged_on(self) -> Any:
        day = self.cleaned_data["judged_on"]
        if day is not None and day > now().date():
            raise ValidationError("This day is still to come. Give the day the labels were made.")
        return day

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        if prompt := values.get("prompt"):
            digest = hash_text(prompt)
            if values.get("prompt_sha256") not in ("", None, digest):
                self.add_error(
                    "prompt_sha256", "This isn’t the SHA-256 of the prompt above. Leave one empty."
                )
            values["prompt_sha256"] = digest
        return values


@study_page(
    "results/judges/<int:judge_id>/",
    name="judge-about",
    role=Membership.Role.EDITOR,
    within="Judges & metrics",
)
@require_http_methods(["GET", "HEAD", "POST"])
def describe_judge(request: HttpRequest, study: Study, judge_id: int) -> HttpResponseBase:
    """Keep what made a judge's labels."""
    judge = get_object_or_404(Judge, study=study, pk=judge_id)
    is_post = request.method == "POST"
    form = AboutJudgeForm(request.POST if is_post else None, instance=judge)
    if is_post and form.is_valid():
        form.save()
        AuditEntry.objects.record(
            "judge described",
            by=request.user,
            study_id=study.pk,
            judge=str(judge),
            changed=form.changed_data,
        )
        return redirect(f"admin:{LIST}", study.pk)
    # a form that failed has changed the object in memory
    name = str(Judge.objects.get(pk=judge.pk))
    context = {"form": form, "name": name}
    status = INVALID if is_post else 200
    return TemplateResponse(request, "data/judge_about.html", context, status=status)
