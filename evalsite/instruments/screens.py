"""A study's choice between one item per page and a sheet, where its instrument offers both."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

OPTION = "screen"
_LABELS = {"one": "One item per page", "sheet": "A sheet: all items of a set on one page"}


def add_choice(form: type[forms.Form] | None, screens: Sequence[str]) -> type[forms.Form] | None:
    """Return the form of a study's options with the choice of a layout, if there is one."""
    if len(screens) == 1:
        return form
    field = forms.ChoiceField(
        label="Layout",
        choices=[(screen, _LABELS[screen]) for screen in screens],
        initial=screens[0],
        help_text="Practice and tests always have one item per page.",
    )
    return type("OptionsForm", (form or forms.Form,), {OPTION: field})


def is_sheet(screens: Sequence[str], options: Mapping[str, Any]) -> bool:
    """Tell whether these options choose the sheet; without a choice it is the first layout."""
    chosen = options.get(OPTION)
    return (chosen if chosen in screens else screens[0]) == "sheet"
