"""Form fields and widgets of the scales: native controls, nothing preselected."""

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from evalsite.protocol import Criterion, Decision, Likert, Magnitude, Preference

# ASCII only: int() and str.isdigit() also take full-width and Arabic-Indic digits.
WHOLE_NUMBER = re.compile(r"[1-9][0-9]{0,5}")
_ZERO_OR_LESS = re.compile(r"0+|[-−][0-9]+(?:[.,][0-9]+)?")
_DECORATED = re.compile(r"\+?0*[1-9][0-9]*|[1-9][0-9]{0,2}(?:[ \u00a0\u202f][0-9]{3})+")
_TOO_LARGE = re.compile(r"[1-9][0-9]{6,}")
LONGEST_TYPED = 200
LONGEST_NOTE = 5000
_UNSTORABLE_TEXT = "This text holds a sign that can’t be stored: type it again"
_HALF = re.compile("[\ud800-\udfff]")
_SPACE = " \t\r\n\u00a0"


def parse_magnitude(text: str, name: str) -> int:
    """The whole number from 1 to 999999 that was typed; ValidationError names what is wrong."""
    typed = text.strip(_SPACE)
    if not typed:
        raise ValidationError(f"Enter a score for {name}", code="required")
    if WHOLE_NUMBER.fullmatch(typed):
        return int(typed)
    if _ZERO_OR_LESS.fullmatch(typed):
        raise ValidationError(f"Score for {name} must be 1 or more", code="too_small")
    if _TOO_LARGE.fullmatch(typed):
        raise ValidationError(f"Score for {name} must be 999999 or less", code="too_large")
    if _DECORATED.fullmatch(typed):
        raise ValidationError(
            f"Score for {name} must be typed in digits alone, like 70 "
            "(no sign, space or zero in front)",
            code="decorated",
        )
    if not typed.isascii() and any(sign.isdecimal() for sign in typed):
        raise ValidationError(
            f"Score for {name} must be typed in plain digits, 0 to 9, like 70", code="digits"
        )
    raise ValidationError(
        f"Score for {name} must be a whole number, like 70 (no decimals, commas or letters)",
        code="whole",
    )


class MagnitudeField(forms.CharField):
    """A text box: number boxes change by wheel and arrows, and maxlength cuts 1000000 unseen."""

    def __init__(self, *, name: str, **kwargs: Any) -> None:
        self.output_name = name
        kwargs.setdefault(
            "widget",
            forms.TextInput(
                attrs={"class": "number", "inputmode": "numeric", "autocomplete": "off"}
            ),
        )
        super().__init__(required=False, strip=False, **kwargs)

    def clean(self, value: Any) -> int:
        typed = "" if value is None else str(value)
        number = parse_magnitude(typed, self.output_name)
        if len(typed) > LONGEST_TYPED:  # what was typed is kept as it is, and must fit
            raise ValidationError(f"Score for {self.output_name} has too many spaces around it")
        return number


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
            raise ValidationError(f"{self.missing}: that was none of the answers", code="invalid")
        return self.values[value]


def refuse_halves(text: str) -> None:
    """Raise ValidationError for half of a character (a lone surrogate), which can't be stored."""
    if _HALF.search(text):
        raise ValidationError(_UNSTORABLE_TEXT, code="half_of_a_character")


def drop_unstorable(text: str) -> str:
    """Return the text without what no database stores: NULs and halves of characters."""
    return _HALF.sub("", text.replace("\x00", ""))


class NoteField(forms.CharField):
    """A text in somebody's own words, its line breaks as they were typed: LF.

    Browsers count a line break as one letter, and send two.
    """

    def __init__(self, **kwargs: Any) -> None:
        messages = {
            "max_length": "Shorten this text to at most %(limit_value)d letters; "
            "it has %(show_value)d",
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
    """The text with the line breaks that were typed, which browsers send as CR LF."""
    return text.replace("\r\n", "\n")


def make_field(
    criterion: Criterion, output_name: str, *, is_one_of_several: bool = False
) -> forms.Field:
    """The form field that asks for one rating of this criterion.

    It cleans to a whole number; for a preference to "first", "tie" or "second". Where an item has
    several outputs, what is missing is said of the one in question.
    """
    scale = criterion.scale
    name = f"{output_name[:1].lower()}{output_name[1:]}"
    match scale:
        case Magnitude():
            return MagnitudeField(name=output_name.lower(), label=criterion.label)
        case Likert():
            return PointField(
                values={str(point.value): point.value for point in scale.points},
                missing=f"Choose a score for {criterion.label.lower()}"
                + (f" of {name}" if is_one_of_several else ""),
                label=criterion.label,
            )
        case Decision():
            return PointField(
                values={"1": 1, "0": 0},
                missing=(
                    f"Choose {scale.yes.lower()} or {scale.no.lower()} for "
                    + (name if is_one_of_several else f"this {output_name.lower()}")
                ),
                label=criterion.label,
            )
        case Preference():
            return PointField(
                values={side: side for side in ("first", "tie", "second")},
                missing=f"Choose which response is better on {criterion.label.lower()}, or tie",
                label=criterion.label,
            )
