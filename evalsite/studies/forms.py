"""What forms of studies share."""

from collections.abc import Iterable

from django import forms

_REQUIRED = forms.Field.default_error_messages["required"]
_IN_OUR_WORDS = {
    "min_value": "Enter %(limit_value)s or more.",
    "max_value": "Enter %(limit_value)s or less.",
    "max_length": "Enter %(limit_value)d characters or fewer; these are %(show_value)d.",
    "max_digits": "Enter a smaller amount.",
    "max_whole_digits": "Enter a smaller amount.",
    "max_decimal_places": "Enter an amount with two decimal places or fewer.",
}


def use_our_words(fields: Iterable[forms.Field]) -> None:
    """Give fields these error messages, and let none cut off what is typed or pasted."""
    for field in fields:
        field.error_messages = {**_IN_OUR_WORDS, **field.error_messages}
        if field.error_messages.get("required") == _REQUIRED:
            is_choice = isinstance(field, forms.ChoiceField)
            field.error_messages["required"] = "Choose one." if is_choice else "Fill this in."
        # a browser cuts at this length silently; the server refuses and says why
        field.widget.attrs.pop("maxlength", None)
