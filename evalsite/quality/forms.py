"""The form that leaves people or answers out of results."""

from django import forms

from evalsite.quality.models import MOST_LETTERS


class ExclusionForm(forms.Form):
    """Why somebody is left out."""

    reason = forms.CharField(
        label="Reason",
        max_length=MOST_LETTERS,
        help_text="A few words without names. They stand in exports, reports and the datasheet.",
        error_messages={
            "required": "Enter a reason.",
            "max_length": "Give the reason in %(limit_value)d characters or fewer; "
            "these are %(show_value)d.",
            "null_characters_not_allowed": "Enter a reason in plain characters.",
        },
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
