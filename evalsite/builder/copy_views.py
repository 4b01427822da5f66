"""The page that copies a study."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from evalsite.studies.copying import copy_study
from evalsite.studies.forms import use_our_words
from evalsite.studies.models import Study

INVALID = 422


class CopyForm(forms.Form):
    """Which study, under which title, and whether its items come too."""

    study = forms.ModelChoiceField(
        queryset=Study.objects.none(),
        empty_label="Choose a study",
        error_messages={"required": "Choose a study.", "invalid_choice": "Choose one of these."},
    )
    title = forms.CharField(
        max_length=120,
        label="Title of the copy",
        help_text="People who rate see it too.",
        error_messages={"required": "Enter a title."},
    )
    with_items = forms.BooleanField(
        required=False, label="Copy its items too", help_text="Answers are never copied."
    )
    # of a repeat with more people: so many answers to each item
    answers = forms.IntegerField(
        required=False, min_value=1, max_value=1000, widget=forms.HiddenInput
    )


@require_http_methods(["GET", "HEAD", "POST"])
def show_copy(request: HttpRequest) -> HttpResponseBase:
    """Copy a study of this person as a draft."""
    is_post = request.method == "POST"
    answers = request.GET.get("answers", "")
    form = CopyForm(
        request.POST if is_post else None,
        initial={
            "study": request.GET.get("study"),
            "answers": answers,
            # a repeat has the same items
            "with_items": bool(answers),
        },
    )
    field: forms.ModelChoiceField = form.fields["study"]  # type: ignore[assignment]
    field.queryset = Study.objects.visible_to(request.user).defer(*Study.SELDOM_READ[1:])
    use_our_words(form.fields.values())
    if is_post and form.is_valid():
        values = form.cleaned_data
        study = copy_study(
            study=values["study"], title=values["title"], with_items=values["with_items"],
            k=values["answers"], by=request.user,
        )  # fmt: skip
        messages.success(request, "This is the copy. Check its settings before you launch it.")
        return redirect("admin:study-setup", study.pk)
    context = {"form": form, "title": "Copy a study"}
    status = INVALID if is_post else 200
    return TemplateResponse(request, "builder/copy.html", context, status=status)
