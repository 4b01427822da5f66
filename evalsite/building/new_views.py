"""The page that begins a study: an instrument from the gallery, and a title."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_safe

from evalsite.building.gallery import (
    choose,
    find_entry,
    list_bundles,
    list_gallery,
    list_own,
    list_protocols,
    read_gallery,
)
from evalsite.studies.forms import use_our_words
from evalsite.studies.services import create_study

INVALID = 422
_LONGEST_SEARCH = 100
_NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


class NewStudyForm(forms.Form):
    """What a study needs to begin: a title and an instrument."""

    title = forms.CharField(
        max_length=120,
        help_text="Participants see it too, so don’t name your systems in it. "
        "You can change it later.",
        error_messages={"required": "Enter a title."},
    )
    instrument = forms.CharField(error_messages={"required": "Choose an instrument."})

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        use_our_words(self.fields.values())

    def clean_instrument(self) -> str:
        value: str = self.cleaned_data["instrument"]
        if find_entry(value, self.user) is None:
            raise forms.ValidationError("Choose one of these instruments.")
        return value


@require_http_methods(["GET", "HEAD", "POST"])
def new_study(request: HttpRequest) -> HttpResponseBase:
    """Create a draft study of the chosen instrument, owned by the person who makes it."""
    is_post = request.method == "POST"
    chosen = request.GET.get("instrument", "")
    entry = find_entry(chosen, request.user)
    form = NewStudyForm(
        request.POST if is_post else None,
        user=request.user,
        initial={"instrument": chosen, "title": entry.config.title if entry else ""},
    )
    if entry:
        # all that is left is a title
        form.fields["title"].widget.attrs["autofocus"] = True
    if is_post and form.is_valid():
        fields = form.cleaned_data
        user: Any = request.user
        study = create_study(
            title=fields["title"],
            by=user,
            **choose(fields["instrument"], user),
        )
        messages.success(request, "Study created. Upload its items next.")
        return redirect("admin:batch-list", study.pk)
    search = request.GET.get("q", "").strip()[:_LONGEST_SEARCH]
    sections = _list_sections(request.user, search)
    context = {
        "form": form,
        "search": search,
        "sections": sections,
        "has_found": any(section["entries"] for section in sections),
        "chosen": form["instrument"].value() or "",
        "named": entry.config.title if entry else "",
        "title": "New study",
    }
    return TemplateResponse(
        request, "building/new.html", context, status=INVALID if is_post else 200
    )


def _list_sections(user: Any, search: str) -> list[dict[str, Any]]:
    protocols = list_protocols()
    count = len(protocols)
    number = _NUMBERS[count] if count < len(_NUMBERS) else str(count)
    noun = "protocol" if count == 1 else "protocols"
    sections = (
        ("protocols", f"{number} {noun}, with questions and scales exactly as published",
         protocols),
        ("gallery", "Gallery", list_gallery()),
        ("own", "Your own instruments", list_own(user)),
        ("bundles", "From bundles that you uploaded", list_bundles(user)),
    )  # fmt: skip
    words = search.casefold().split()
    return [
        {"key": key, "title": title, "entries": [entry for entry in entries if entry.has(words)]}
        for key, title, entries in sections
    ]


@require_safe
def show_sources(request: HttpRequest) -> HttpResponseBase:
    """Say of each instrument of the gallery what is whose, and under which licence."""
    sources = [
        {"key": key, "title": content["title"], **content["source"]}
        for key, content in read_gallery().items()
    ]
    context = {"sources": sorted(sources, key=lambda source: source["title"]), "title": "Sources"}
    return TemplateResponse(request, "building/sources.html", context)
