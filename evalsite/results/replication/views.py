"""The staff page of a study that repeats another: which one, and what the two say together."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from evalsite.core.jobs.live_page import keep_watching
from evalsite.core.jobs.models import Job
from evalsite.decisions.frozen_plans import is_hidden
from evalsite.results.document.blocks import Document, Sentence, Table
from evalsite.results.document.html import render_html, write_html_table
from evalsite.results.document.text import write_table_csv
from evalsite.results.replication.comparison import (
    KIND,
    choose_original,
    find_unanswered,
    list_originals,
    list_repetitions,
    newest_attempt,
    newest_comparison,
    original_of,
    start_comparison,
    take_mark,
)
from evalsite.results.replication.tables import (
    choose_criterion,
    explain_apart,
    list_comparable,
    make_comparison,
    show_criterion,
    tabulate_sides,
    write_note,
)
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import has_role, study_page
from evalsite.studies.summary_lines import name_of_file


class OriginalField(forms.ModelChoiceField):
    """Return studies by title, with what distinguishes equal titles."""

    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.title} ({obj.state}, made on {obj.created_at:%-d %B %Y}, {obj.pk.hex[:8]})"


class OriginalForm(forms.Form):
    """The study that this one repeats."""

    original = OriginalField(
        queryset=Study.objects.none(),
        required=False,
        empty_label="No study",
        label="This study repeats",
        error_messages={"invalid_choice": "Choose a study from the list."},
    )

    def __init__(self, *args: Any, study: Study, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["original"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = list_originals(study, user)


@study_page("results/repeat/", name="study-repeat", within="results-design", is_revealing=True)
@require_safe
def show_repeat(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show the study that this one repeats, and the newest comparison of the two."""
    original = original_of(study)
    is_visible = (
        original is not None
        and Study.objects.visible_to(request.user).filter(pk=original.pk).exists()
    )
    if original is not None and is_visible and is_hidden(original):
        return redirect(f"{reverse('admin:study-results', args=[original.pk])}#reveal")
    context: dict[str, Any] = {
        "form": _make_form(request, study, original if is_visible else None),
        "original": original if is_visible else None,
        "is_hidden": original is not None and not is_visible,
        # no longer chosen, or deleted: the plan does not tell which
        "is_gone": original is None and Job.objects.filter(study_id=study.pk, kind=KIND).exists(),
        "repetitions": list_repetitions(study, request.user),
    }
    if original is not None and is_visible:
        context |= _describe(request, study, original)
    response = TemplateResponse(request, "results/repeat.html", context)
    return keep_watching(response, context.get("job"))


def _make_form(request: HttpRequest, study: Study, original: Study | None) -> OriginalForm | None:
    if not has_role(request, study, Membership.Role.EDITOR):
        return None
    return OriginalForm(study=study, user=request.user, initial={"original": original})


def _describe(request: HttpRequest, study: Study, original: Study) -> dict[str, Any]:
    job, done = newest_attempt(study, original), newest_comparison(study, original)
    context: dict[str, Any] = {
        "job": job,
        "is_computing": job is not None and job.is_open and not job.is_stale,
        "done": done,
        "waiting_for": find_unanswered(study, original),
    }
    if done is None:
        return context
    comparison = done.result
    return context | {
        "is_current": done.subject == take_mark(study, original),
        "sides": write_html_table(tabulate_sides(comparison)),
        "warnings": [write_note(warning) for warning in comparison["warnings"]],
        "parts": [(entry["key"], entry["label"]) for entry in list_comparable(comparison)],
        "apart": explain_apart(comparison),
        **_show_part(comparison, request.GET.get("part", "")),
    }


def _show_part(comparison: dict[str, Any], key: str) -> dict[str, Any]:
    """Return what is shown of one criterion."""
    criterion = choose_criterion(comparison, key)
    if criterion is None:
        return {}
    document = Document("", list(show_criterion(criterion)))
    notes = document.keep("further").blocks
    return {
        "part": criterion,
        "body": render_html(document.keep("main")),
        "notes": [block.text for block in notes if isinstance(block, Sentence)],
        "tables": [block for block in document.blocks if isinstance(block, Table)],
    }


@study_page(
    "results/repeat/choose/",
    name="study-repeat-choose",
    role=Membership.Role.EDITOR,
    within="results-design",
)
@require_POST
def choose_repeat(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Save which study this one repeats, and start comparing the two."""
    form = OriginalForm(request.POST, study=study, user=request.user)
    try:
        if not form.is_valid():
            raise ValidationError(list(form.errors["original"]))
        original = form.cleaned_data["original"]
        choose_original(study=study, original=original, by=request.user)
        # the page says which of them has no answers yet
        if original is not None and not find_unanswered(study, original):
            job = start_comparison(study=study, original=original, by=request.user)
            if job.state == Job.State.DONE:
                messages.info(
                    request, "Nothing has changed in either study since they were compared."
                )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("admin:study-repeat", study.pk)


def _get_comparison(request: HttpRequest, study: Study, job_id: UUID) -> Job:
    """Return the comparison, if this person may see the other study now; Http404 otherwise."""
    job = get_object_or_404(Job, pk=job_id, study_id=study.pk, kind=KIND, state=Job.State.DONE)
    visible = Study.objects.visible_to(request.user).filter(pk=job.params["original"])
    original = visible.first()
    if original is None or is_hidden(original):
        raise Http404("No such comparison.")
    return job


@study_page(
    "results/repeat/<uuid:job_id>/<slug:name>.csv", name="study-repeat-table", is_revealing=True
)
@require_safe
def send_repeat_table(
    request: HttpRequest, study: Study, job_id: UUID, name: str
) -> HttpResponseBase:
    """Send the figures of a table with every digit, as CSV."""
    document = make_comparison(_get_comparison(request, study, job_id).result)
    table = document.find_table(name)
    if table is None:
        raise Http404("No such table.")
    response = HttpResponse(write_table_csv(table), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = (
        f'attachment; filename="{name_of_file(study, f"repeat_{name}.csv")}"'
    )
    return response


@study_page(
    "results/repeat/<uuid:job_id>/comparison.json", name="study-repeat-report", is_revealing=True
)
@require_safe
def send_repeat(request: HttpRequest, study: Study, job_id: UUID) -> HttpResponseBase:
    """Send all figures of the comparison, with every digit."""
    comparison = _get_comparison(request, study, job_id).result
    response = JsonResponse(comparison, json_dumps_params={"indent": 1, "ensure_ascii": False})
    response["Content-Disposition"] = f'attachment; filename="{name_of_file(study, "repeat.json")}"'
    return response
