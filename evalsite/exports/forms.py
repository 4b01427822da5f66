"""What a researcher chooses before taking a file out."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from evalsite.annotation.models import Annotation
from evalsite.exports.selection import ONLY, OUT, Selection
from evalsite.participants.models import Origin
from evalsite.studies.models import Item

_ALL = ("", "all")


def _choose(label: str, values: list[str]) -> forms.ChoiceField:
    choices = [_ALL, *((value, value) for value in values)]
    return forms.ChoiceField(label=label, choices=choices, required=False)


def _day(label: str) -> forms.DateField:
    return forms.DateField(
        label=label, required=False, widget=forms.DateInput(attrs={"type": "date"})
    )


class SelectionForm(forms.Form):
    """Which annotations are wanted. What is left open leaves nothing out, but for pilots."""

    status = _choose("Status", Annotation.Status.values)
    kind = _choose("Kind of item", Item.Kind.values)
    origin = _choose("Origin", Origin.values)
    excluded = forms.ChoiceField(
        label="Excluded",
        choices=[("", "in, marked"), (OUT, "left out"), (ONLY, "only these")],
        required=False,
    )
    since = _day("Saved from (UTC)")
    until = _day("Saved up to (UTC)")
    with_pilot = forms.BooleanField(label="include pilot answers", required=False)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        since, until = values.get("since"), values.get("until")
        if since and until and since > until:
            raise ValidationError("The first day is after the last. Swap them, or clear one.")
        if values.get("status") == Annotation.Status.PILOT and not self.errors:
            values["with_pilot"] = True
        return values

    @property
    def selection(self) -> Selection:
        """What is chosen; all, but for pilots, where the form says nothing that can be read."""
        return Selection(**self.cleaned_data) if self.is_valid() else Selection()
