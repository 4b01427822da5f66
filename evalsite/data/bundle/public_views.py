"""The page that makes a study's public page: what goes in, under whose names."""

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from evalsite.data.bundle.data_package import Author, read_author
from evalsite.data.bundle.format import Contents
from evalsite.data.bundle.job import start_packing
from evalsite.data.bundle.public import PageOptions
from evalsite.data.files.selection import count_not_sharing
from evalsite.decisions.frozen_plans import is_hidden
from evalsite.studies.models import Study
from evalsite.studies.settings import SETTINGS, Licence
from evalsite.studies.staff_pages import study_page

_MOST_AUTHORS = 100
_LONGEST_TITLE = 200


class CreditsForm(forms.Form):
    """Whose the data are, and what others may do with them."""

    authors = forms.CharField(
        label=SETTINGS["authors"].label,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "dir": "auto"}),
        help_text=SETTINGS["authors"].help,
    )
    licence = forms.ChoiceField(
        label=SETTINGS["licence"].label,
        choices=[*Licence.choices, ("", "None yet")],
        required=False,
    )

    def clean_authors(self) -> list[Author]:
        lines = [line for line in self.cleaned_data["authors"].splitlines() if line.strip()]
        if len(lines) > _MOST_AUTHORS:
            raise ValidationError(f"At most {_MOST_AUTHORS} authors fit.", code="too_many")
        try:
            return [read_author(line) for line in lines]
        except ValueError as error:
            raise ValidationError(str(error), code="author") from None


class PublicPageForm(CreditsForm):
    field_order = ("title", "authors", "licence")

    title = forms.CharField(label="Title", max_length=_LONGEST_TITLE)
    has_outputs = forms.BooleanField(
        label="Publish the outputs",
        required=False,
        help_text="Adds pages to read the items, items.csv with all columns of your files, and the "
        "bundle. The licences of the outputs must allow it.",
    )
    has_comments = forms.BooleanField(
        label="Publish comments",
        required=False,
        help_text="What people wrote in their own words. Read all of it first: people may name "
        "themselves.",
    )
    is_indexed = forms.BooleanField(
        label="Search engines may list the page", required=False, initial=True
    )


@study_page("files/public/", name="export-public", within="Files", is_reading=True)
@require_http_methods(["GET", "HEAD", "POST"])
def edit_public_page(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Ask what the public page holds, and start making it."""
    if is_hidden(study):
        return redirect(f"{reverse('admin:study-results', args=[study.pk])}#reveal")
    is_post = request.method == "POST"
    initial = {
        "title": study.title,
        "authors": study.authors,
        "licence": study.licence or Licence.CC_BY,
        "is_indexed": True,
    }
    form = PublicPageForm(request.POST if is_post else None, initial=initial)
    if is_post and study.has_ended and form.is_valid():
        options = PageOptions(**form.cleaned_data)
        contents = Contents(
            has_free_text=options.has_comments,
            has_entry_answers=False,
            is_public=True,
        )
        start_packing(study, contents, by=request.user, page=options)
        return redirect(f"{reverse('admin:study-export', args=[study.pk])}#public")
    context = {
        "form": form,
        "not_sharing": count_not_sharing(study) if study.asks_to_share else 0,
    }
    status = 422 if form.errors else 200
    return TemplateResponse(request, "data/public.html", context, status=status)
