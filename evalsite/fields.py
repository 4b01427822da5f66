"""Form fields that scales and pages share: native controls, nothing preselected."""

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

# ASCII only: int() and str.isdigit() also take full-width and Arabic-Indic digits.
WHOLE_NUMBER = re.compile(r"[1-9][0-9]{0,5}")
LONGEST_NOTE = 5000
_UNSTORABLE_TEXT = _("This text has a character that can’t be stored. Type it again")
_HALF = re.compile("[\ud800-\udfff]")


class PointField(forms.Field):
    """One of the listed values, exactly as the page offers them."""

    def __init__(self, *, values: dict[str, Any], missing: str, **kwargs: Any) -> None:
        self.values = values
        self.missing = missing
        kwargs.setdefault("widget", forms.RadioSelect(choices=[(value, value) for value in values]))
        super().__init__(required=False, **kwargs)

    def clean(self, value: Any) -> Any:
        if value in (None, ""):
            raise ValidationError(self.missing, code="required")
        if value not in self.values:
            raise ValidationError(
                _("%(missing)s: that was not one of the answers") % {"missing": self.missing},
                code="invalid",
            )
        return self.values[value]


def refuse_halves(text: str) -> None:
    """Raise ValidationError for half of a character (a lone surrogate), which can't be stored."""
    if _HALF.search(text):
        raise ValidationError(_UNSTORABLE_TEXT, code="half_of_a_character")


def drop_unstorable(text: str) -> str:
    """Return the text without what no database stores: NULs and halves of characters."""
    return _HALF.sub("", text.replace("\x00", ""))


class NoteField(forms.CharField):
    """Free text with the line breaks that were typed: LF.

    Browsers count a line break as one letter, and send two.
    """

    def __init__(self, **kwargs: Any) -> None:
        messages = {
            "max_length": _(
                "Shorten this text to at most %(limit_value)d characters. It has %(show_value)d now"
            ),
            "null_characters_not_allowed": _UNSTORABLE_TEXT,
        }
        super().__init__(
            required=False,
            max_length=LONGEST_NOTE,
            error_messages=messages,
            widget=forms.Textarea,
            validators=[refuse_halves],
            **kwargs,
        )

    def to_python(self, value: Any) -> str:
        return super().to_python(unify_breaks(str(value or ""))) or ""


def unify_breaks(text: str) -> str:
    """Return the text with the line breaks that were typed, which browsers send as CR LF."""
    return text.replace("\r\n", "\n")
