"""The form for making a study."""

from collections.abc import Iterable
from typing import Any

from django import forms

from evalsite.protocol import Protocol, installed_protocols

_IN_OUR_WORDS = {
    "min_value": "Enter %(limit_value)s or more.",
    "max_value": "Enter %(limit_value)s or less.",
    "max_length": "Enter %(limit_value)d characters or fewer; these are %(show_value)d.",
    "max_digits": "Enter a smaller amount.",
    "max_whole_digits": "Enter a smaller amount.",
    "max_decimal_places": "Enter an amount with two decimal places or fewer.",
}


class NewStudyForm(forms.Form):
    """What a study needs to begin: a title and a protocol."""

    title = forms.CharField(
        max_length=120,
        help_text="Participants read it too. It can be changed later.",
        error_messages={"required": "Enter a title."},
    )
    protocol = forms.ChoiceField(
        widget=forms.RadioSelect,
        error_messages={"required": "Choose a protocol."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.protocols = installed_protocols()
        field = self.fields["protocol"]
        field.choices = [(name, config.title) for name, config in self.protocols.items()]  # type: ignore[attr-defined]
        if len(self.protocols) == 1:
            field.initial = next(iter(self.protocols))
        use_our_words(self.fields.values())

    def cards(self) -> list[dict[str, Any]]:
        """Return each protocol as a card to choose."""
        chosen = self["protocol"].value()
        return [
            {
                "name": name,
                "title": config.title,
                "summary": config.summary,
                "columns": _needed_columns(config),
                "is_chosen": name == chosen,
            }
            for name, config in self.protocols.items()
        ]


def _needed_columns(config: Protocol) -> str:
    """Return the columns a batch must have, as they are called in its file."""
    names = ["system", "output"]
    # where an item has one output, each row is an item, named or not
    if config.outputs[1] > 1:
        names.insert(0, "item")
    return ", ".join(names + [column.name for column in config.inputs if column.is_required])


def use_our_words(fields: Iterable[forms.Field]) -> None:
    """Fields with these error messages, which never cut off what is typed or pasted."""
    for field in fields:
        field.error_messages = {**_IN_OUR_WORDS, **field.error_messages}
        # a browser cuts at this length silently; the server refuses and says why
        field.widget.attrs.pop("maxlength", None)
