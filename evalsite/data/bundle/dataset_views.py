"""Pages of Files that say whose the data are, and that make a dataset."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from evalsite.data.bundle.data_package import LICENCES, read_authors
from evalsite.data.bundle.job import start_dataset
from evalsite.data.bundle.public_views import CreditsForm
from evalsite.data.files.dataset import (
    DatasetOptions,
    Deciding,
    check_options,
    count_shared,
    explain_empty,
    has_parquet,
    list_deciding,
    propose_options,
)
from evalsite.decisions.frozen_plans import is_hidden
from evalsite.instruments.schema import Criterion
from evalsite.studies.models import Membership, Study
from evalsite.studies.setting_changes import change_settings
from evalsite.studies.settings import SETTINGS
from evalsite.studies.staff_pages import has_role, study_page

_EDITOR = Membership.Role.EDITOR


class AboutForm(CreditsForm):
    homepage = forms.URLField(
        label=SETTINGS["homepage"].label,
        required=False,
        max_length=SETTINGS["homepage"].longest,
        assume_scheme="https",
        help_text=SETTINGS["homepage"].help,
    )


@study_page("files/about/", name="study-about", within="Files", role=_EDITOR)
@require_http_methods(["GET", "HEAD", "POST"])
def edit_about(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Ask whose the data are: bundles, datasets and the public page say it."""
    initial = {name: getattr(study, name) for name in ("authors", "licence", "homepage")}
    form = AboutForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        lines = [f"{author.name} {author.orcid}".strip() for author in form.cleaned_data["authors"]]
        values = form.cleaned_data | {"authors": "\n".join(lines)}
        change_settings(study=study, values=values, by=request.user)
        messages.success(request, "Saved. Files that are made from now on say it.")
        return redirect("admin:export-dataset", study.pk)
    status = 422 if form.errors else 200
    return TemplateResponse(request, "data/about.html", {"form": form}, status=status)


class DatasetForm(forms.Form):
    """What a dataset holds."""

    preferences = forms.ChoiceField(label="Preferences by", required=False)
    unpaired = forms.ChoiceField(
        label="Good and bad outputs by",
        required=False,
        help_text="Outputs between the two means are left out. Yes or no needs no means.",
    )
    good_from = forms.FloatField(label="Good from a mean of", required=False)
    bad_below = forms.FloatField(
        label="Bad below a mean of",
        required=False,
        help_text="If lower is better, good is up to the first mean, bad above the second.",
    )
    has_comments = forms.BooleanField(
        label="Include what people wrote",
        required=False,
        help_text="E-mail addresses and long numbers are replaced. Read all of it first: people "
        "may name themselves.",
    )
    is_parquet = forms.TypedChoiceField(label="Format", coerce=lambda chosen: chosen == "parquet")

    def __init__(self, *args: Any, study: Study, known: Deciding, **named: Any) -> None:
        super().__init__(*args, **named)
        self._study, self._known = study, known
        fields = cast(dict[str, forms.ChoiceField], self.fields)
        fields["preferences"].choices = [
            *_choose(known.preferences), ("", "none: no such table"),
        ]  # fmt: skip
        fields["unpaired"].choices = [*_choose(known.unpaired), ("", "none: no such table")]
        formats = [("jsonl", "JSON lines")]
        fields["is_parquet"].choices = [
            *([("parquet", "Parquet")] if has_parquet() else []), *formats,
        ]  # fmt: skip

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if not self.errors:
            check_options(self._study, DatasetOptions(**values), self._known)
        return values


def _choose(criteria: list[Criterion]) -> list[tuple[str, str]]:
    return [(criterion.key, criterion.label) for criterion in criteria]


@study_page("files/dataset/", name="export-dataset", within="Files", is_reading=True)
@require_http_methods(["GET", "HEAD", "POST"])
def edit_dataset(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Ask what decides preferences, and start making the dataset."""
    if is_hidden(study):
        return redirect(f"{reverse('admin:study-results', args=[study.pk])}#reveal")
    is_post = request.method == "POST"
    known = list_deciding(study)
    proposed = propose_options(study, known)
    initial = proposed.model_dump() | {"is_parquet": "parquet" if proposed.is_parquet else "jsonl"}
    data = request.POST if is_post else None
    form = DatasetForm(data, study=study, known=known, initial=initial)
    people, answers, not_sharing, _ = count_shared(study)
    if is_post and answers and form.is_valid():
        start_dataset(study, DatasetOptions(**form.cleaned_data), by=request.user)
        return redirect(f"{reverse('admin:study-export', args=[study.pk])}#sets")
    context = {
        "form": form,
        "people": people,
        "not_sharing": not_sharing,
        "nothing": "" if answers else explain_empty(study),
        "licence": LICENCES[study.licence][0] if study.licence else "",
        "authors": [author.name for author in read_authors(study.authors)],
        "may_edit": has_role(request, study, _EDITOR),
    }
    status = 422 if form.errors else 200
    return TemplateResponse(request, "data/dataset.html", context, status=status)
