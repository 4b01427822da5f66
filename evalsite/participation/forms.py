"""The form of a rating page: one field for each question, exactly as the protocol declares them."""

import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from evalsite.instruments.answer import HIGHLIGHTS, AnswerRow
from evalsite.instruments.fields import (
    NoteField,
    SentField,
    SentForm,
    YesField,
    drop_unstorable,
    unify_breaks,
)
from evalsite.instruments.questions import Question, ShownOutput
from evalsite.instruments.scales import COMMENT
from evalsite.instruments.schema import CheckQuestion, Instrument
from evalsite.participation.highlights import Reading, marks_fields, read_marks
from evalsite.people.services import consent_hash
from evalsite.studies.models import Study

logger = logging.getLogger(__name__)

_DEVICE = re.compile(r"(narrow|medium|wide)-(portrait|landscape)")
_LARGEST_MS = 2**31 - 1
# of a choice that fits beside the others, in characters
_SHORT_CHOICE = 12
# of what marks an output, in a draft; a page posts a passage once, however long it is
_LONGEST_MARKS = 200_000
_OF_THE_PAGE = frozenset({"state", "go", "device", "client_ms", "active_ms", "first_ms"})
SENT_TWICE = _("This answer was sent twice with different values. Enter it again")
IGNORE_OR_SCORE = _(
    "Scores and “ignore” were sent together, so neither is saved. "
    "Save the scores, or ignore the example without scores"
)


class RatingForm(forms.Form):
    """Cleans to the answer of each question, by its name."""

    def __init__(
        self,
        data: Any = None,
        *,
        config: Instrument,
        questions: Sequence[Question],
        outputs: Sequence[ShownOutput] = (),
    ) -> None:
        super().__init__(data)
        self.config = config
        self.questions = questions
        # without the outputs nothing can be marked, as in a test
        self.outputs = outputs
        self.marks = marks_fields(config, len(outputs)) if config.has_highlight else []
        self.readings: list[Reading] = []
        for field in self.marks:
            self.fields[field.name] = forms.Field(required=False)
            self.fields[field.passages] = forms.Field(required=False)
        turns = Counter(question.criterion.key for question in questions if question.turn)
        for question in questions:
            criterion = question.criterion
            is_one = len(question.order) > 1 or turns[criterion.key] > 1
            self.fields[question.name] = question.make_field(is_one_of_several=is_one)
            if criterion.comment:
                self.fields[question.comment_name] = NoteField(max_length=criterion.comment.most)
        if config.has_note:
            self.fields["note"] = NoteField()
        if config.has_ignore:
            self.fields["ignore"] = forms.CharField(required=False, validators=[_refuse])

    def clean(self) -> dict[str, Any]:
        _refuse_sent_twice(self)
        if unasked := set(self.data) - set(self.fields) - _OF_THE_PAGE:
            logger.debug("ignored fields that this page does not have: %s", sorted(unasked))
        self._read_marks()
        _settle_questions(self)
        # scores that depend on each other can't be checked while one of them is not asked
        asked = {question.criterion.key for question in self.questions}
        if not self.errors and len(asked) == len(self.config.criteria):
            self.config.clean(self.cleaned_data)
        return self.cleaned_data

    def _read_marks(self) -> None:
        self.readings = [
            read_marks(self.data, field, self.outputs[field.number - 1].text)
            for field in self.marks
        ]
        for field, reading in zip(self.marks, self.readings, strict=True):
            if reading.error and not {field.name, field.passages} & self.errors.keys():
                self.add_error(field.name, reading.error)

    @property
    def first_errors(self) -> dict[str, str]:
        """The message of each question at fault, in page order, and of all of them together."""
        names = [*self.fields, NON_FIELD_ERRORS]
        return {name: str(self.errors[name][0]) for name in names if name in self.errors}

    @property
    def button(self) -> str | None:
        """What the button says that was pressed, if it says anything."""
        return self.data.get("go")

    @property
    def entered(self) -> dict[str, str]:
        """What was entered, as text, whether right or wrong."""
        return read_entered(self.config, self.questions, self.data)

    def list_rows(self, item_id: int) -> tuple[AnswerRow, ...]:
        """Return what to store."""
        rows: list[AnswerRow] = []
        for question in self.questions:
            answer = self.cleaned_data[question.name]
            about = AnswerRow(item_id, question.output, question.criterion.key, question.turn)
            if answer is not None:
                if question.scale.keeps_typed:
                    about = about._replace(text=str(self.data.get(question.name, "")))
                rows += question.make_rows(answer, about)
            if text := self.cleaned_data.get(question.comment_name, ""):
                rows.append(about._replace(part=COMMENT, text=text))
        for field, reading in zip(self.marks, self.readings, strict=True):
            output = self.outputs[field.number - 1]
            rows += [
                AnswerRow(
                    item_id,
                    output.pk,
                    HIGHLIGHTS,
                    text=output.text[start:end],
                    start=start,
                    end=end,
                )
                for start, end in reading.spans
            ]
        return tuple(rows)


def _refuse_sent_twice(form: forms.Form) -> None:
    if not isinstance(form.data, QueryDict):
        return
    for posted in form.data:
        # controls of a question are called as it is, with a point and the name of a part
        name = posted if posted in form.fields else posted.rpartition(".")[0]
        if name in form.fields and len(set(form.data.getlist(posted))) > 1:
            form.errors.pop(name, None)
            form.add_error(name, SENT_TWICE)


def _refuse(value: str) -> None:
    raise forms.ValidationError(IGNORE_OR_SCORE)


def read_entered(
    config: Instrument, questions: Sequence[Question], data: Mapping[str, Any]
) -> dict[str, str]:
    """Return the raw text of each question in posted data; other fields are ignored."""
    entered: dict[str, str] = {}
    for question in questions:
        name = question.name
        entry = question.scale.read_entry(data, name)[: question.scale.longest_entry]
        if entry or name in data:
            entered[name] = entry
        if question.criterion.comment and (comment := data.get(question.comment_name)):
            entered[question.comment_name] = unify_breaks(str(comment))[:_LONGEST_MARKS]
    if config.has_note and "note" in data:
        # longer than a note may be: a person who has to shorten it needs all of it
        entered["note"] = unify_breaks(str(data["note"]))[:_LONGEST_MARKS]
    for field in marks_fields(config, len(questions[0].order) if questions else 0):
        for name in (field.name, field.passages):
            # a part of a list could not be read back
            if name in data and len(str(data[name])) <= _LONGEST_MARKS:
                entered[name] = str(data[name])
    return {name: drop_unstorable(text) for name, text in entered.items()}


# --- what was asked ---------------------------------------------------------------------

# of each criterion, what was tested of its answer about each output or turn; None: no answer
_Answers = dict[str, dict[int, tuple[object, ...] | None]]


def _settle_questions(form: RatingForm) -> None:
    """Decide on the cleaned answers what was asked.

    What was not asked has no answer, whatever was sent. An answer that may be missing is None.
    """
    answers: _Answers = {}
    for question in form.questions:
        name, criterion, subject = question.name, question.criterion, question.subject
        answers.setdefault(criterion.key, {})[subject] = None
        condition = criterion.ask_if
        if condition is not None and not condition.is_met(answers, subject):
            for field in (name, question.comment_name):
                form.errors.pop(field, None)
            form.cleaned_data[name] = None
            form.cleaned_data.pop(question.comment_name, None)
            continue
        errors = form.errors[name].as_data() if name in form.errors else []
        is_missing = bool(errors) and all(error.code == "required" for error in errors)
        if not criterion.required and is_missing:
            form.errors.pop(name, None)
            form.cleaned_data[name] = None
        answer = form.cleaned_data.get(name)
        if answer is not None:
            answers[criterion.key][subject] = question.scale.list_tested(answer)
        _settle_comment(form, question, answers)


def _settle_comment(form: RatingForm, question: Question, answers: _Answers) -> None:
    """Refuse a comment that is missing though it has to be written."""
    comment, field = question.criterion.comment, question.comment_name
    if comment is None or not comment.is_required or field in form.errors:
        return
    if form.cleaned_data.get(field, "").strip() or form.cleaned_data.get(question.name) is None:
        return
    if comment.if_ is None or comment.if_.is_met(answers, question.subject):
        form.add_error(
            field,
            _("Write a comment on %(criterion)s") % {"criterion": question.criterion.label.lower()},
        )


# --- other forms ------------------------------------------------------------------------


class ShownForm(SentForm):
    """What a page says of itself: what was shown, signed, in which try, and the button pressed."""

    state = SentField()
    attempt = SentField()
    go = SentField()


class ConsentForm(forms.Form):
    """An agreement to the text that is shown now."""

    go = SentField()
    age = YesField()
    share = YesField()
    text = SentField()

    def __init__(self, data: Any = None, *, study: Study) -> None:
        super().__init__(data)
        self.study = study

    def clean(self) -> dict[str, Any]:
        if self.study.minimum_age and not self.cleaned_data["age"]:
            age = {"age": self.study.minimum_age}
            raise ValidationError(_("Confirm that you are %(age)s or older.") % age)
        # nobody agrees to a text that they were not shown
        if self.cleaned_data["text"] is None:
            raise ValidationError(_("Please read this text before you agree to it."))
        if self.cleaned_data["text"] != consent_hash(self.study):
            raise ValidationError(
                _("This text has just changed. Please read it again before you decide.")
            )
        return self.cleaned_data

    @property
    def fault(self) -> str:
        """Why this isn't an agreement to the text that is shown now; "" if it is."""
        return str(next(iter(self.non_field_errors()), ""))


class SharingForm(SentForm):
    """Whether my answers may be shared."""

    share = YesField()


class LeaveForm(forms.Form):
    """What becomes of the answers of a person who withdraws."""

    def __init__(self, data: Any = None, *, may_delete: bool) -> None:
        super().__init__(data)
        choices = ("keep", "delete") if may_delete else ("keep",)
        self.fields["keep"] = forms.ChoiceField(choices=[(choice, choice) for choice in choices])


class ReportForm(forms.Form):
    """A problem with an item. The item goes to someone else, and this person is paid."""

    REASONS = (
        ("missing", _("text missing or broken")),
        ("offensive", _("offensive or distressing")),
        ("cannot-judge", _("can’t be judged as it is")),
        ("other", _("something else")),
    )
    reason = forms.ChoiceField(
        choices=REASONS, error_messages={"required": _("Choose what is wrong")}
    )
    note = NoteField()


class IgnoreForm(forms.Form):
    """Why an item is ignored. No scores travel with it."""

    def __init__(
        self,
        data: Any = None,
        *,
        config: Instrument,
        questions: Sequence[Question],
    ) -> None:
        super().__init__(data)
        self.questions = questions
        why = _("Choose why you are ignoring this example")
        self.fields["ignore"] = forms.ChoiceField(
            choices=[(reason.key, reason.label) for reason in config.ignore_reasons],
            error_messages={"required": why, "invalid_choice": why},
        )

    def clean(self) -> dict[str, Any]:
        _refuse_sent_twice(self)
        if any(asked.scale.read_entry(self.data, asked.name) for asked in self.questions):
            self.errors.pop("ignore", None)
            self.add_error("ignore", IGNORE_OR_SCORE)
        return self.cleaned_data


def read_circumstances(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return device class and browser times as the page sent them; malformed ones are left out."""
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


@dataclass(frozen=True)
class QuestionResult:
    """A question on the instructions, what was answered in a try, and whether that is right."""

    question: CheckQuestion
    answer: str
    is_met: bool


class ComprehensionForm(forms.Form):
    """The protocol's questions on its instructions, as radio buttons in the order declared.

    `results` are those of an earlier try: what was right stays chosen, what was wrong is cleared.
    """

    def __init__(
        self, data: Any = None, *, config: Instrument, results: Sequence[QuestionResult] = ()
    ) -> None:
        super().__init__(data)
        self.config = config
        self.results = dict(enumerate(results, start=1))
        for number, question in enumerate(config.comprehension, start=1):
            result = self.results.get(number)
            is_right = result is not None and result.is_met
            chosen = question.choices.index(result.answer) + 1 if result and is_right else ""
            self.fields[f"question-{number}"] = forms.ChoiceField(
                choices=[(str(n), text) for n, text in enumerate(question.choices, start=1)],
                initial=str(chosen),
                error_messages={
                    "required": _("Choose an answer to question %(number)s") % {"number": number},
                    "invalid_choice": _("Choose one of the answers to question %(number)s")
                    % {"number": number},
                },
            )

    @property
    def answers(self) -> dict[int, str]:
        """The words that were chosen, by the number of the question."""
        return {
            number: question.choices[int(self.cleaned_data[f"question-{number}"]) - 1]
            for number, question in enumerate(self.config.comprehension, start=1)
        }

    @property
    def questions(self) -> list[dict[str, Any]]:
        """Each question as the page shows it, with what was chosen and what is wrong."""
        rows = enumerate(zip(self.fields, self.config.comprehension, strict=True), start=1)
        return [
            {
                "name": name,
                "number": number,
                "text": question.question,
                "choices": [(str(n), text) for n, text in enumerate(question.choices, start=1)],
                "is_in_a_row": all(len(text) <= _SHORT_CHOICE for text in question.choices),
                "value": self[name].value() or "",
                "error": next(iter(self.errors.get(name, [])), ""),
                "why": question.why,
                **self._describe_result(number),
            }
            for number, (name, question) in rows
        ]

    def _describe_result(self, number: int) -> dict[str, Any]:
        result = self.results.get(number)
        is_wrong = result is not None and not result.is_met
        return {
            "was_right": result is not None and result.is_met,
            "given_wrong": result.answer.removesuffix(".") if result and is_wrong else "",
        }
