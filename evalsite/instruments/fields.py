"""Form fields that scales and pages share: native controls, nothing preselected."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

# ASCII only: int() and str.isdigit() also take full-width and Arabic-Indic digits.
WHOLE_NUMBER = re.compile(r"[1-9][0-9]{0,5}")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,8}")
# 0 has no sign, however it is written
_NUMBER = re.compile(r"(?!-0(?:\.0*)?$)-?(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,3})?")
LONGEST_TEXT = 5000
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


class EntryInput(forms.TextInput):
    """An input whose value is read by the question's scale, from one control or several."""

    def __init__(self, read: Callable[[Mapping[str, Any], str], str]) -> None:
        super().__init__()
        self.read = read

    def value_from_datadict(self, data: Any, files: Any, name: str) -> str:
        return self.read(data, name)


class BoundedField(forms.Field):
    """A number from `lowest` to `highest`, in plain digits.

    It may have decimals if the lowest or the step has some.
    """

    def __init__(
        self, *, lowest: float, highest: float, missing: str, step: float = 1, **kwargs: Any
    ) -> None:
        self.lowest, self.highest, self.step, self.missing = lowest, highest, step, missing
        self.has_decimals = not all(float(end).is_integer() for end in (lowest, step))
        super().__init__(required=False, **kwargs)

    def clean(self, value: Any) -> float:
        typed = str(value or "").strip(" \t\r\n\u00a0")
        if not typed:
            raise ValidationError(self.missing, code="required")
        about = {"missing": self.missing, "lowest": self.lowest, "highest": self.highest}
        if self.has_decimals and not _NUMBER.fullmatch(typed):
            raise ValidationError(
                _(
                    "%(missing)s: a number from %(lowest)s to %(highest)s, with at most three "
                    "digits after a point"
                )
                % about,
                code="number",
            )
        if not self.has_decimals and not _WHOLE.fullmatch(typed):
            raise ValidationError(
                _("%(missing)s: a whole number from %(lowest)s to %(highest)s, in digits only")
                % about,
                code="whole",
            )
        number = float(typed)
        number = int(number) if number.is_integer() else number
        if not self.lowest <= number <= self.highest:
            raise ValidationError(
                _("%(missing)s: it must be from %(lowest)s to %(highest)s") % about, code="range"
            )
        # in thousandths: sums of decimals aren't exact
        beyond, step = round(1000 * (number - self.lowest)), round(1000 * self.step)
        if beyond % step:
            raise ValidationError(
                _("%(missing)s in steps of %(step)s, from %(lowest)s")
                % {**about, "step": self.step},
                code="step",
            )
        return number


def refuse_halves(text: str) -> None:
    """Raise ValidationError for half of a character (a lone surrogate), which can't be stored."""
    if _HALF.search(text):
        raise ValidationError(_UNSTORABLE_TEXT, code="half_of_a_character")


def drop_unstorable(text: str) -> str:
    """Return the text without characters that no database stores: NULs and lone surrogates."""
    return _HALF.sub("", text.replace("\x00", ""))


class SentField(forms.Field):
    """A hidden field or a button, as it was sent; None if it wasn't."""

    def __init__(self) -> None:
        super().__init__(required=False)


class YesField(SentField):
    """A box that sends “yes” if it is ticked."""

    def clean(self, value: Any) -> bool:
        return bool(value == "yes")


class TrimmedField(forms.CharField):
    """A text without what can't be stored, cut where it would be too long."""

    def to_python(self, value: Any) -> str:
        return drop_unstorable(str(super().to_python(value))).strip()[: self.max_length]


class SentForm(forms.Form):
    """What a page sends beside its answers: nothing in it is refused."""

    def read(self, name: str) -> Any:
        """Return what was sent in this field; None if nothing was."""
        return self.cleaned_data[name] if self.is_valid() else None


class NoteField(forms.CharField):
    """Free text with LF line breaks, because browsers count a line break as one character but send
    two."""

    def __init__(self, *, max_length: int = LONGEST_TEXT, **kwargs: Any) -> None:
        messages = {
            "max_length": _(
                "Shorten this text to at most %(limit_value)d characters. It has %(show_value)d now"
            ),
            "null_characters_not_allowed": _UNSTORABLE_TEXT,
        }
        super().__init__(
            required=False,
            max_length=max_length,
            error_messages=messages,
            widget=forms.Textarea,
            validators=[refuse_halves],
            **kwargs,
        )

    def to_python(self, value: Any) -> str:
        return super().to_python(unify_breaks(str(value or ""))) or ""


def unify_breaks(text: str) -> str:
    """Return the text with LF line breaks; browsers send CR LF."""
    return text.replace("\r\n", "\n")
