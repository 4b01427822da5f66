"""The form of a rating page: one field for each question, exactly as the protocol declares them."""

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.http import QueryDict

from evalsite.annotation.display import output_label, question_names
from evalsite.annotation.values import Value
from evalsite.fields import make_field
from evalsite.protocol import Preference, ProtocolConfig

logger = logging.getLogger(__name__)

_DEVICE = re.compile(r"(narrow|medium|wide)-(portrait|landscape)")
_LARGEST_MS = 2**31 - 1
_OF_THE_PAGE = frozenset({"state", "go", "device", "client_ms", "active_ms", "first_ms"})
SENT_TWICE = "This answer was sent twice with different values: enter it again"


class RatingForm(forms.Form):
    """Cleans to whole numbers by question name; preferences to first, tie or second."""

    def __init__(self, data: Any = None, *, config: ProtocolConfig, outputs: int) -> None:
        super().__init__(data)
        self.config = config
        self.outputs = outputs
        for name, criterion, number in question_names(config, outputs):
            label = output_label(config, number, outputs)
            self.fields[name] = make_field(criterion, label)
        if config.has_note:
            self.fields["note"] = forms.CharField(max_length=5000, required=False)

    def clean(self) -> dict[str, Any]:
        for name in self.fields:
            if isinstance(self.data, QueryDict) and len(set(self.data.getlist(name))) > 1:
                self.errors.pop(name, None)
                self.add_error(name, SENT_TWICE)
        if unasked := set(self.data) - set(self.fields) - _OF_THE_PAGE:
            logger.debug("ignored fields that this page does not have: %s", sorted(unasked))
        if not self.errors:
            self.config.clean(self.cleaned_data)
        return self.cleaned_data

    @property
    def first_errors(self) -> dict[str, str]:
        """The message of each question at fault, in page order."""
        return {name: str(self.errors[name][0]) for name in self.fields if name in self.errors}

    @property
    def entered(self) -> dict[str, str]:
        """What was entered, as text, whether right or wrong."""
        return read_entered(self.config, self.outputs, self.data)

    def values(self, output_ids: Sequence[int]) -> tuple[Value, ...]:
        """The ratings, given the outputs in the order in which they were shown."""
        found = []
        for name, criterion, number in question_names(self.config, self.outputs):
            answer = self.cleaned_data[name]
            if isinstance(criterion.scale, Preference):
                chosen = {"first": output_ids[0], "tie": None, "second": output_ids[1]}[answer]
                value = 0 if chosen is None else 1
                found.append(Value(criterion=criterion.key, output_id=chosen, value=value))
            else:
                typed = str(self.data.get(name, "")) if criterion.keeps_typed else ""
                found.append(
                    Value(
                        criterion=criterion.key,
                        output_id=output_ids[number - 1],
                        value=answer,
                        typed=typed,
                    )
                )
        return tuple(found)


def read_entered(config: ProtocolConfig, outputs: int, data: Mapping[str, Any]) -> dict[str, str]:
    """The raw text of each question in posted data; other fields are ignored."""
    names = [name for name, _, _ in question_names(config, outputs)]
    if config.has_note:
        names.append("note")
    return {name: str(data[name])[:5000].replace("\x00", "") for name in names if name in data}


class ReportForm(forms.Form):
    """A problem with an item. The item is then somebody else's, and this person is paid."""

    REASONS = (
        ("missing", "text missing"),
        ("offensive", "offensive or distressing"),
        ("cannot-judge", "can't judge"),
        ("other", "other"),
    )
    reason = forms.ChoiceField(
        choices=REASONS, error_messages={"required": "Choose what is wrong with this item"}
    )
    note = forms.CharField(max_length=5000, required=False)


def read_circumstances(data: Mapping[str, Any]) -> dict[str, Any]:
    """Device class and browser times as the page sent them; whatever is malformed is left out."""
    device = str(data.get("device", ""))
    return {
        "device": device if _DEVICE.fullmatch(device) else "",
        "client_ms": _read_ms(data.get("client_ms")),
        "active_ms": _read_ms(data.get("active_ms")),
    }


def _read_ms(value: Any) -> int | None:
    text = str(value or "")
    if not (text.isascii() and text.isdigit() and len(text) < 11):
        return None
    return int(text) if int(text) <= _LARGEST_MS else None
