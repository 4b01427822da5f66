"""The page that makes anonymous bundles: which words are replaced, and by what."""

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from evalsite.data.bundle.format import Contents
from evalsite.data.bundle.job import start_packing
from evalsite.data.bundle.neutral_words import LONGEST, OTHER, SHORTEST, Replacer, find_words
from evalsite.decisions.frozen_plans import is_hidden
from evalsite.studies.models import Study
from evalsite.studies.staff_pages import may_see_identities, study_page

_MOST = 500
_SIGN = " = "


class WordsForm(forms.Form):
    """Words to replace, one a line, each with its neutral word."""

    words = forms.CharField(
        label="Replace",
        required=False,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false", "dir": "auto"}),
        help_text=f"One per line: the name, “{_SIGN.strip()}” between spaces, and the neutral "
        f"words. Without them, it becomes “{OTHER}”. To keep a name, remove its line.",
    )

    def clean_words(self) -> dict[str, str]:
        words: dict[str, str] = {}
        lines = self.cleaned_data["words"].splitlines()
        for number, line in enumerate(lines, start=1):
            term, sign, word = line.rpartition(_SIGN) if _SIGN in line else (line, "", "")
            term, word = term.strip(), word.strip() or OTHER
            if not term and not sign:
                continue
            if not SHORTEST <= len(term) <= LONGEST or len(word) > LONGEST:
                raise ValidationError(
                    f"Line {number}: a name has {SHORTEST} to {LONGEST} characters, and so do the "
                    "neutral words at most.",
                    code="length",
                )
            words[term] = word
        if not words:
            raise ValidationError(
                "Nothing would be replaced. Add the names that reviewers shouldn't see, or make an "
                "ordinary bundle.",
                code="no_words",
            )
        if len(words) > _MOST:
            raise ValidationError(f"At most {_MOST} names can be replaced.", code="too_many")
        replacer = Replacer(words)
        for term, word in words.items():
            if counts := replacer.count(word):
                raise ValidationError(
                    f"“{word}”, which replaces “{term}”, contains “{next(iter(counts))}”, which is "
                    "replaced too. Choose other words.",
                    code="not_neutral",
                )
        return words


@study_page("files/bundle/anonymous/", name="export-anonymous", within="Files", is_reading=True)
@require_http_methods(["GET", "HEAD", "POST"])
def edit_words(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Ask which words are replaced, and start making the bundle."""
    if is_hidden(study):
        return redirect(f"{reverse('admin:study-results', args=[study.pk])}#reveal")
    if request.method == "POST":
        form = WordsForm(request.POST)
    else:
        lines = "\n".join(f"{term}{_SIGN}{word}" for term, word in find_words(study).items())
        form = WordsForm(initial={"words": lines})
    if form.is_valid():
        is_public = study.asks_to_share
        contents = Contents(
            has_entry_answers=not is_public and may_see_identities(request, study),
            is_public=is_public,
            is_anonymous=True,
        )
        start_packing(study, contents, by=request.user, words=form.cleaned_data["words"])
        return redirect("admin:export-bundle", study.pk)
    status = 422 if form.errors else 200
    return TemplateResponse(request, "data/anonymous.html", {"form": form}, status=status)
