"""The options of a magnitude study: its standard."""

from django import forms

from evalsite.instruments.scales.magnitude import MagnitudeField


class StandardForm(forms.Form):
    """The reference that every score relates to. The document's own is the default."""

    standard_mr = forms.CharField(
        label="Meaning representation of the standard",
        initial="name[Aromi], area[city centre], familyFriendly[no]",
        max_length=1000,
    )
    standard_utterance = forms.CharField(
        label="Utterance of the standard",
        initial="Aromi is located in the city centre. It is not family-friendly.",
        max_length=2000,
    )
    standard_score = MagnitudeField(
        name="the standard",
        label="Score of the standard",
        initial=100,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )
