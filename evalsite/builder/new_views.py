"""Pages that begin a study with an instrument: all of them, one with a title, their sources."""

from typing import Any
from urllib.parse import quote

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_safe

from evalsite.builder.choice_views import find_aim
from evalsite.builder.fitting import fit_entry
from evalsite.builder.gallery import (
    Entry,
    choose,
    find_entry,
    list_bundles,
    list_by_task,
    list_own,
    read_gallery,
)
from evalsite.builder.instrument_search import read_search
from evalsite.studies.forms import use_our_words
from evalsite.studies.services import create_study

INVALID = 422
_LONGEST_SEARCH = 100


class NewStudyForm(forms.Form):
    """What a study needs to begin: a title and an instrument."""

    title = forms.CharField(
        max_length=120,
        help_text="People who rate see it too, so don’t name your systems in it. "
        "You can change it later.",
        error_messages={"required": "Enter a title."},
    )
    instrument = forms.CharField(
        widget=forms.HiddenInput, error_messages={"required": "Choose an instrument."}
    )

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        use_our_words(self.fields.values())

    def clean_instrument(self) -> str:
        value: str = self.cleaned_data["instrument"]
        if find_entry(value, self.user) is None:
            raise forms.ValidationError("Choose one of these instruments.")
        return value


@require_safe
def list_all(request: HttpRequest) -> HttpResponseBase:
    """List all instruments by what people evaluate, and those that are searched for."""
    return _show_all(request)


def _show_all(request: HttpRequest, problem: str = "") -> HttpResponseBase:
    query = request.GET.get("q", "").strip()[:_LONGEST_SEARCH]
    sections = _list_sections(request.user)
    aim = find_aim(request)
    for section in sections:
        section["rows"] = [_describe_row(entry, aim) for entry in section["entries"]]
    entries = [entry for section in sections for entry in section["entries"]]
    asked = read_search(query)
    context = {
        "query": query,
        "rows": [
            row
            for section in sections
            for row in section["rows"]
            if query and asked.matches(row["entry"])
        ],
        "aim": aim,
        "meanings": sorted({synonyms.meaning for _word, synonyms in asked.known}),
        "sections": sections,
        "count": len(entries),
        "problem": problem,
        "title": "Instruments",
    }
    status = INVALID if problem else 200
    return TemplateResponse(request, "builder/new_all.html", context, status=status)


def _describe_row(entry: Entry, aim: dict[str, Any]) -> dict[str, Any]:
    """Return an instrument with what it lacks for the items at hand, and where it is chosen."""
    lacks = fit_entry(entry, aim["first"]).lacks if aim["first"] is not None else []
    address = f"{aim['url']}?instrument={quote(entry.value, safe='')}"
    return {"entry": entry, "lacks": lacks, "url": address}


def _list_sections(user: Any) -> list[dict[str, Any]]:
    sections = {
        **list_by_task(),
        "Your own": list_own(user),
        "From bundles that you uploaded": list_bundles(user),
    }
    return [{"title": title, "entries": entries} for title, entries in sections.items() if entries]


@require_http_methods(["GET", "HEAD", "POST"])
def new_from_instrument(request: HttpRequest) -> HttpResponseBase:
    """Create a draft study of the chosen instrument, owned by the person who makes it."""
    is_post = request.method == "POST"
    entry = find_entry(request.GET.get("instrument", ""), request.user)
    initial = {"instrument": entry.value, "title": entry.config.title} if entry else {}
    form = NewStudyForm(request.POST if is_post else None, user=request.user, initial=initial)
    if is_post and form.is_valid():
        study = create_study(
            title=form.cleaned_data["title"],
            by=request.user,
            **choose(form.cleaned_data["instrument"], request.user),
        )
        messages.success(request, "Study created. Add its items next.")
        return redirect("admin:batch-list", study.pk)
    entry = entry or find_entry(str(form["instrument"].value() or ""), request.user)
    if entry is None:
        problem = form.errors.get("instrument", ["Choose one of these instruments."])[0]
        return _show_all(request, str(problem))
    form.fields["title"].widget.attrs["autofocus"] = True
    context = {"form": form, "entry": entry, "title": "New study"}
    status = INVALID if is_post else 200
    return TemplateResponse(request, "builder/new_from.html", context, status=status)


@require_safe
def show_sources(request: HttpRequest) -> HttpResponseBase:
    """Say of each instrument of the gallery what is whose, and under which licence."""
    sources = [
        {"key": key, "title": content["title"], **content["source"]}
        for key, content in read_gallery().items()
    ]
    context = {"sources": sorted(sources, key=lambda source: source["title"]), "title": "Sources"}
    return TemplateResponse(request, "builder/sources.html", context)
