"""What a researcher says of a file of ratings: its columns, and what its participants are."""

from collections.abc import Sequence
from typing import Any

from django import forms

from evalsite.imports.ratings.mapping import MEANINGS, name_fields
from evalsite.protocol import Protocol

_LEAVE_OUT = "nothing that is imported"


class RatingsMappingForm(forms.Form):
    """What each column holds, one choice a column, and whether incomplete answers are kept."""

    keeps_incomplete = forms.BooleanField(
        label="Incomplete answers are fine",
        required=False,
        help_text="An answer is all that a participant said of an item. Without this tick, one "
        "that does not rate everything is a fault; with it, it goes in as it is.",
    )

    def __init__(
        self,
        data: Any,
        *,
        header: Sequence[str],
        mapping: dict[str, str],
        config: Protocol,
        keeps_incomplete: bool = False,
    ) -> None:
        super().__init__(data, auto_id="id_%s", initial={"keeps_incomplete": keeps_incomplete})
        self.header = header
        choices = [("", _LEAVE_OUT)]
        choices += [(name, f"{name}: {MEANINGS[name]}") for name in name_fields(config, mapping)]
        for number, column in enumerate(header):
            self.fields[f"column-{number}"] = forms.ChoiceField(
                label=column, choices=choices, required=False, initial=mapping.get(column, "")
            )

    @property
    def columns(self) -> list[Any]:
        """The fields of the columns, in the order of the file."""
        return [self[f"column-{number}"] for number in range(len(self.header))]

    @property
    def mapping(self) -> dict[str, str]:
        return {
            column: self.cleaned_data[f"column-{number}"]
            for number, column in enumerate(self.header)
        }


class PersonsForm(forms.Form):
    """Whether each participant of the file is one person: nobody else can know, so nothing is
    chosen beforehand."""

    has_persons = forms.TypedChoiceField(
        label="Is each participant of this file one person?",
        choices=[("yes", "Yes, one and the same person"), ("no", "No, or nobody knows")],
        coerce=lambda text: text == "yes",
        widget=forms.RadioSelect,
        error_messages={
            "required": "Say whether each participant of this file is one person.",
            "invalid_choice": "Say whether each participant of this file is one person.",
        },
    )
