"""The form of a rating page: one field for each question, exactly as the protocol declares them."""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from evalsite.annotation.pages.highlights import Reading, marks_fields, read_marks
from evalsite.annotation.pages.view_models import question_label, question_names
from evalsite.fields import LONGEST_TEXT, NoteField, drop_unstorable, unify_breaks
from evalsite.instruments.answer import HIGHLIGHTS, AnswerRow
from evalsite.instruments.scales import COMMENT
from evalsite.instruments.schema import CheckQuestion, Criterion, Instrument

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
        outputs: int,
        criteria: Sequence[Criterion] | None = None,
        texts: Sequence[str] = (),
    ) -> None:
        super().__init__(data)
        self.config = config
        self.outputs = outputs
        # without the texts nothing can be marked, as in a test
        self.texts = texts
        self.marks = marks_fields(config, outputs) if texts and config.has_highlight else []
        self.readings: list[Reading] = []
        for field in self.marks:
            self.fields[field.name] = forms.Field(required=False)
            self.fields[field.passages] = forms.Field(required=False)
        self.criteria = config.criteria if criteria is None else criteria
        for name, criterion, number in question_names(config, outputs, criteria):
            label = question_label(config, criterion, number, outputs)
            is_one = outputs > 1 or len(criterion.asked_turns) > 1
            self.fields[name] = criterion.make_field(label, is_one_of_several=is_one)
            if criterion.comment:
                self.fields[f"{name}.{COMMENT}"] = NoteField(max_length=criterion.comment.most)
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
        if not self.errors and len(self.criteria) == len(self.config.criteria):
            self.config.clean(self.cleaned_data)
        return self.cleaned_data

    def _read_marks(self) -> None:
        self.readings = [
            read_marks(self.data, field, self.texts[field.number - 1]) for field in self.marks
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
    def entered(self) -> dict[str, str]:
        """What was entered, as text, whether right or wrong."""
        return read_entered(self.config, self.outputs, self.data, self.criteria)

    def list_rows(self, item_id: int, output_ids: Sequence[int]) -> tuple[AnswerRow, ...]:
        """Return what to store, with the outputs in the order in which they were shown."""
        rows: list[AnswerRow] = []
        for name, criterion, number in question_names(self.config, self.outputs, self.criteria):
            answer, scale = self.cleaned_data[name], criterion.scale
            turn = number if criterion.per_turn else 0
            output_id = output_ids[0 if turn else number - 1] if number else None
            about = AnswerRow(item_id, output_id, criterion.key, turn)
            if answer is not None and scale.keeps_typed:
                about = about._replace(text=str(self.data.get(name, "")))
            if answer is not None:
                rows += scale.make_rows(answer, about, output_ids)
            if text := self.cleaned_data.get(f"{name}.{COMMENT}", ""):
                rows.append(about._replace(part=COMMENT, text=text))
        for field, reading in zip(self.marks, self.readings, strict=True):
            output_id, text = output_ids[field.number - 1], self.texts[field.number - 1]
            rows += [
                AnswerRow(
                    item_id, output_id, HIGHLIGHTS, text=text[start:end], start=start, end=end
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
    config: Instrument,
    outputs: int,
    data: Mapping[str, Any],
    criteria: Sequence[Criterion] | None = None,
) -> dict[str, str]:
    """Return the raw text of each question in posted data; other fields are ignored."""
    entered: dict[str, str] = {}
    for name, criterion, _number in question_names(config, outputs, criteria):
        entry = criterion.scale.read_entry(data, name)[:LONGEST_TEXT]
        if entry or name in data:
            entered[name] = entry
        if criterion.comment and (comment := data.get(f"{name}.{COMMENT}")):
            entered[f"{name}.{COMMENT}"] = unify_breaks(str(comment))[:_LONGEST_MARKS]
    if config.has_note and "note" in data:
        # longer than a note may be: a person who has to shorten it needs all of it
        entered["note"] = unify_breaks(str(data["note"]))[:_LONGEST_MARKS]
    for field in marks_fields(config, outputs):
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
    for name, criterion, number in question_names(form.config, form.outputs, form.criteria):
        comment = f"{name}.{COMMENT}"
        # the only output is that of all questions
        at = 0 if number == 1 == form.outputs and not criterion.per_turn else number
        answers.setdefault(criterion.key, {})[at] = None
        condition = criterion.ask_if
        if condition is not None and not condition.is_met(answers, at):
            for field in (name, comment):
                form.errors.pop(field, None)
            form.cleaned_data[name] = None
            form.cleaned_data.pop(comment, None)
            continue
        errors = form.errors[name].as_data() if name in form.errors else []
        is_missing = bool(errors) and all(error.code == "required" for error in errors)
        if not criterion.required and is_missing:
            form.errors.pop(name, None)
            form.cleaned_data[name] = None
        answer = form.cleaned_data.get(name)
        if answer is not None:
            answers[criterion.key][at] = criterion.scale.list_tested(answer)
        _settle_comment(form, criterion, at, name, answers)


def _settle_comment(
    form: RatingForm, criterion: Criterion, number: int, name: str, answers: _Answers
) -> None:
    """Refuse a comment that is missing though it has to be written."""
    comment, field = criterion.comment, f"{name}.{COMMENT}"
    if comment is None or not comment.is_required or field in form.errors:
        return
    if form.cleaned_data.get(field, "").strip() or form.cleaned_data.get(name) is None:
        return
    if comment.if_ is None or comment.if_.is_met(answers, number):
        form.add_error(
            field,
            _("Write a comment on %(criterion)s") % {"criterion": criterion.label.lower()},
        )


# --- other forms ------------------------------------------------------------------------


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
        outputs: int,
        criteria: Sequence[Criterion] | None = None,
    ) -> None:
        super().__init__(data)
        self.scores = [
            (name, criterion.scale)
            for name, criterion, _ in question_names(config, outputs, criteria)
        ]
        why = _("Choose why you are ignoring this example")
        self.fields["ignore"] = forms.ChoiceField(
            choices=[(reason.key, reason.label) for reason in config.ignore_reasons],
            error_messages={"required": why, "invalid_choice": why},
        )

    def clean(self) -> dict[str, Any]:
        _refuse_sent_twice(self)
        if any(scale.read_entry(self.data, name) for name, scale in self.scores):
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
