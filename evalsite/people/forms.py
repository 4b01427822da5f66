"""What participants are asked at entry and at the end."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from evalsite.instruments.fields import NoteField, refuse_halves
from evalsite.instruments.schema import (
    LARGEST_NUMBER,
    LONGEST_ANSWER,
    Eligibility,
    EntryChoice,
    EntryQuestion,
    Instrument,
    join_options,
    split_options,
)

# more answers than these are a list to open
_MOST_BUTTONS = 12
# what is stored for "Prefer not to say", in every language
DECLINED = "prefer not to say"


class PersonForm(forms.Form):
    """Questions about the person who answers them."""

    def __init__(
        self, data: Any = None, *, questions: Iterable[EntryQuestion], initial: Any = None
    ) -> None:
        super().__init__(data, initial=initial)
        self.questions = tuple(questions)
        for question in self.questions:
            self.fields[question.key] = _make_field(question)

    @property
    def answers(self) -> dict[str, str]:
        """Return each answer as the text that is stored."""
        answers = {}
        for question in self.questions:
            value: Any = self.cleaned_data.get(question.key)
            is_several = question.asks_for == "several"
            answers[question.key] = join_options(value) if is_several else str(value)
        return answers

    def rows(self) -> list[dict[str, Any]]:
        """Return each question as the page shows it, with what was entered and what is wrong."""
        return [
            {
                "key": question.key,
                "label": question.label,
                "help": question.help,
                "kind": question.asks_for,
                "choices": _list_choices(question),
                "is_long": question.asks_for == "choice" and len(question.choices) > _MOST_BUTTONS,
                "value": self[question.key].value() or "",
                "error": next(iter(self.errors.get(question.key, [])), ""),
                "problem": self._name_problem(question),
            }
            for question in self.questions
        ]

    def _name_problem(self, question: EntryQuestion) -> str:
        """Return what is wrong with an answer, away from its question ("": nothing)."""
        if question.key not in self.errors:
            return ""
        error = self.errors.as_data()[question.key][0]
        if error.code != "required":
            return f"{question.label} {self.errors[question.key][0]}"
        words = {"question": question.label}
        if question.choices:
            return _("Choose an answer to “%(question)s”") % words
        return _("Enter an answer to “%(question)s”") % words


def _list_choices(question: EntryQuestion) -> list[tuple[str, str]]:
    return [(choice.value, choice.label) for choice in question.choices]


def _make_field(question: EntryQuestion) -> forms.Field:
    # the question itself is beside it; the summary of the page names it
    messages = {"required": _("Choose an answer") if question.choices else _("Enter an answer")}
    fields: dict[str, Any] = {"label": question.label, "error_messages": messages}
    if question.asks_for in ("choice", "several"):
        messages["invalid_choice"] = _("Choose one of the answers")
        several = question.asks_for == "several"
        kind = forms.MultipleChoiceField if several else forms.ChoiceField
        return kind(choices=_list_choices(question), **fields)
    if question.asks_for == "number":
        whole = _("Enter a whole number")
        messages |= dict.fromkeys(("invalid", "min_value", "max_value"), whole)
        return forms.IntegerField(min_value=-LARGEST_NUMBER, max_value=LARGEST_NUMBER, **fields)
    messages["max_length"] = _(
        "Shorten this answer to at most %(limit_value)d characters. It has %(show_value)d now"
    )
    return forms.CharField(max_length=LONGEST_ANSWER, validators=[refuse_halves], **fields)


class EntryForm(PersonForm):
    """The entry questions of a study."""

    def __init__(self, data: Any = None, *, config: Instrument, eligibility: Eligibility) -> None:
        super().__init__(data, questions=eligibility.questions)
        self.config = config

    def clean(self) -> dict[str, Any]:
        if not self.errors:
            self.config.check_entry(self.answers)
        return self.cleaned_data


class BackgroundForm(PersonForm):
    """The questions after the work: each may be left empty, or declined where there are answers."""

    def __init__(
        self, data: Any = None, *, questions: Iterable[EntryQuestion], answers: Mapping[str, str]
    ) -> None:
        declining = EntryChoice(value=DECLINED, label=_("Prefer not to say"))
        asked = [
            question.model_copy(update={"choices": [*question.choices, declining]})
            if question.choices
            else question
            for question in questions
        ]
        initial = {
            question.key: split_options(answers.get(question.key, ""))
            if question.asks_for == "several"
            else answers.get(question.key, "")
            for question in asked
        }
        super().__init__(data, questions=asked, initial=initial)
        for field in self.fields.values():
            field.required = False

    @property
    def answers(self) -> dict[str, str]:
        return {key: "" if value == "None" else value for key, value in super().answers.items()}


class FeedbackForm(forms.Form):
    """How it was: all optional, kept apart from the answers."""

    clear = forms.ChoiceField(choices=[(str(n), n) for n in range(1, 6)], required=False)
    fair = forms.ChoiceField(choices=[(str(n), n) for n in range(1, 6)], required=False)
    comment = NoteField()
