"""The choice of an instrument: which one, the title of its study, and what its pages add."""

from typing import Any

from django import forms
from django.http import QueryDict

from evalsite.builder.fitting import FirstItem, Fit, fit_entry, list_added
from evalsite.builder.gallery import find_entry
from evalsite.builder.titles import LONGEST, find_system
from evalsite.studies.forms import use_our_words


class ChoiceForm(forms.Form):
    """An instrument that fits the first item."""

    instrument = forms.CharField(
        widget=forms.HiddenInput, error_messages={"required": "Choose an instrument."}
    )

    def __init__(self, *args: Any, user: Any, first: FirstItem, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user, self.first = user, first
        self.fit: Fit | None = None
        use_our_words(self.fields.values())

    def clean_instrument(self) -> str:
        value: str = self.cleaned_data["instrument"]
        entry = find_entry(value, self.user)
        if entry is None:
            raise forms.ValidationError("Choose one of these instruments.")
        self.fit = fit_entry(entry, self.first)
        if self.fit.lacks:
            sentences = " ".join(self.fit.lacks)
            raise forms.ValidationError(f"“{entry.config.title}” doesn’t fit. {sentences}")
        return value


class NewChoiceForm(ChoiceForm):
    """An instrument, and the title of the study that is made of it."""

    title = forms.CharField(
        max_length=LONGEST,
        help_text="People who rate see it too. You can change it later.",
        error_messages={"required": "Enter a title."},
    )
    # a title whose warning was read
    kept = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        title = self.cleaned_data.get("title", "")
        system = find_system(title, self.first.outputs)
        if system and title != self.cleaned_data.get("kept"):
            self.add_error(
                "title",
                f"It names the system “{system}”, and people who rate read it. Change it, or "
                "press the button again to keep it.",
            )
        return self.cleaned_data


class ChangeForm(ChoiceForm):
    """Another instrument than the one that the page showed."""

    was = forms.CharField(widget=forms.HiddenInput)


class PageForm(forms.Form):
    """What an instrument's pages show besides."""

    comments = forms.BooleanField(required=False)

    def __init__(self, data: QueryDict | None, *, fit: Fit, first: FirstItem) -> None:
        name = fit.entry.value.replace(":", "-")
        super().__init__(
            data, prefix=name, initial={"comments": True, "added": list_added(fit, first)}
        )
        names = [(unused, unused) for unused in fit.list_unused(first)]
        self.fields["added"] = forms.MultipleChoiceField(
            choices=names, required=False, widget=forms.CheckboxSelectMultiple
        )
