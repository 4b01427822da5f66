"""What participants are asked at entry and at the end."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _

from evalsite.fields import NoteField, refuse_halves
from evalsite.protocol import Eligibility, Protocol

LONGEST_ANSWER = 100


class EntryForm(forms.Form):
    """The protocol's entry questions: open ones as text boxes, others as radio buttons."""

    def __init__(self, data: Any = None, *, config: Protocol, eligibility: Eligibility) -> None:
        super().__init__(data)
        self.config = config
        for question in eligibility.questions:
            missing = {
                "required": _("Answer this question: %(question)s") % {"question": question.label}
            }
            if question.choices:
                self.fields[question.key] = forms.ChoiceField(
                    label=question.label,
                    choices=question.choices,
                    error_messages={**missing, "invalid_choice": _("Choose one of the answers")},
                )
            else:
                self.fields[question.key] = forms.CharField(
                    label=question.label,
                    max_length=LONGEST_ANSWER,
                    error_messages=missing,
                    validators=[refuse_halves],
                )

    def clean(self) -> dict[str, Any]:
        if not self.errors:
            self.config.check_entry(self.cleaned_data)
        return self.cleaned_data


class FeedbackForm(forms.Form):
    """How it was: all optional, kept apart from the answers."""

    clear = forms.ChoiceField(choices=[(str(n), n) for n in range(1, 6)], required=False)
    fair = forms.ChoiceField(choices=[(str(n), n) for n in range(1, 6)], required=False)
    comment = NoteField()
