"""Answers put together from the ratings of each participant and item, with what doesn't fit."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from django import forms
from django.core.exceptions import ValidationError

from evalsite.data.importing import Checked, fold_system
from evalsite.data.ratings.columns import RatingRow, RowReader, shorten
from evalsite.data.ratings.items import (
    CHUNK,
    FoundItem,
    ItemFinder,
    find_answered,
    find_output,
    find_preferred,
    read_first,
    read_order,
)
from evalsite.data.ratings.marks import MarkReader
from evalsite.data.tables.table import Fault, Remarks, Row
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.questions import NumberedText, list_questions, match_rows, number_texts
from evalsite.instruments.scales import BOTH, COMMENT, NA
from evalsite.instruments.schema import Criterion, Instrument
from evalsite.studies.models import Item, Study
from evalsite.studies.summary_lines import count_of

_CODES = {
    "system": "system_unknown",
    "preferred": "preference_invalid",
    "value": "value_invalid",
    "order_shown": "order_invalid",
    "shown_first": "order_invalid",
}
# how much better the preferred output is, where that was asked
_STRENGTHS = frozenset({"1", "2", "3"})
_TWO_PLACES = (
    "contradicts an earlier row of this participant and item: an output was shown in one place, "
    "and a place shows one output."
)

# its criterion, and the number of its output from 0 (None: of all)
Key = tuple[str, int | None]
# the same, and the part of the answer: a statement, an option or a comment; of a mark its place
PartKey = tuple[str, int | None, str, tuple[int, int | None, int | None]]


class CheckedRating(NamedTuple):
    """One row as a checked file has it, and where."""

    row: AnswerRow
    line: int
    record: int


@dataclass(slots=True)
class CheckedAnswer:
    """Everything one participant said of one item, and where the file says it first."""

    participant: str
    item: FoundItem
    line: int
    record: int
    ratings: dict[PartKey, CheckedRating] = field(default_factory=dict)
    places: dict[int, int] = field(default_factory=dict)
    order: tuple[int, ...] = ()
    time: str = ""
    note: str = ""
    order_shown: tuple[int, ...] = ()
    is_faulty: bool = False

    def copy(self) -> "CheckedAnswer":
        return replace(self, ratings=copy(self.ratings), places=copy(self.places))


@dataclass
class CheckedRatings(Checked):
    """What a file of ratings contains for a study: its answers, if it may be imported."""

    answers: list[CheckedAnswer] = field(default_factory=list)

    @property
    def is_importable(self) -> bool:
        return not self.faults and bool(self.answers)

    @property
    def participants(self) -> list[str]:
        return list(dict.fromkeys(answer.participant for answer in self.answers))

    @property
    def per_item(self) -> Counter[int]:
        return Counter(answer.item.pk for answer in self.answers)

    @property
    def ratings(self) -> int:
        return sum(len(answer.ratings) for answer in self.answers)

    @property
    def batches(self) -> set[Any]:
        return {answer.item.batch for answer in self.answers}


class AnswerBuilder:
    """Puts the rows of each participant and item together, and says what doesn't fit.

    With `leaves_out` a faulty row is passed over; its faults are in `row_faults` alone.
    """

    def __init__(
        self,
        study: Study,
        reader: RowReader,
        *,
        keeps_incomplete: bool,
        leaves_out: bool = False,
        has_commas: bool = False,
    ) -> None:
        self.study = study
        self.config: Instrument = study.config
        self.reader = reader
        self.keeps_incomplete = keeps_incomplete
        self.leaves_out = leaves_out
        self.faults: list[Fault] = []
        self.remarks = Remarks()
        # the faults that leaving out rows removes
        self.row_faults: list[Fault] = []
        self._answers: dict[tuple[str, int], CheckedAnswer] = {}
        self.values = ValueReader(has_commas=has_commas)
        self._finder = ItemFinder(study)
        self._marks = MarkReader(study)
        self._waiting: list[list[RatingRow]] = []
        # whose answers to what lack a row because of a fault
        self._cut: set[tuple[str, str]] = set()
        # what is always asked, by the number of outputs
        self._asked: dict[int, set[Key]] = {}
        # whose answers are rows that only make sense together
        self._orders = {
            criterion.key: criterion for criterion in self.config.criteria if criterion.scale.orders
        }

    def add(self, row: Row) -> None:
        """The ratings of a row are part of their answers, once a few thousand have come."""
        ratings, faults = self.reader.read(row)
        if faults:
            self._refuse(faults)
            self._cut.add(self.reader.name_answer(row))
        elif ratings:
            self._waiting.append(ratings)
            if len(self._waiting) >= CHUNK:
                self.flush()

    def flush(self) -> None:
        """No row waits for its item to be found."""
        waiting, self._waiting = self._waiting, []
        self._finder.load(rating.item for ratings in waiting for rating in ratings)
        if self._marks.is_needed:
            items = (self._finder.find(rating) for ratings in waiting for rating in ratings)
            self._marks.load({item.pk for item in items if item is not None})
        for ratings in waiting:
            kept = self._copy_answers(ratings) if self.leaves_out else {}
            # the ratings of a wide row share its item
            faults = list(dict.fromkeys(fault for rating in ratings for fault in self._add(rating)))
            if not faults:
                continue
            self._refuse(faults)
            if self.leaves_out:
                for key, answer in kept.items():
                    if answer is None:
                        self._answers.pop(key, None)
                    else:
                        self._answers[key] = answer

    def finish(self) -> list[CheckedAnswer]:
        """Return the answers in the order of the file, complete unless they need not be."""
        self.flush()
        answered = find_answered(self.study, {name for name, _ in self._answers})
        for key in [key for key in self._answers if key in answered]:
            faults = self._find_answered_already(self._answers[key], answered[key])
            self._refuse(faults)
            if self.leaves_out:
                del self._answers[key]
        for key, answer in self._answers.items():
            if key not in answered:
                self._finish_one(answer)
        self._remark_on_names()
        return list(self._answers.values())

    def _refuse(self, faults: Sequence[Fault]) -> None:
        """A row has these faults: it is left out, or keeps the file out."""
        self.row_faults += faults
        if not self.leaves_out:
            self.faults += faults

    def _copy_answers(
        self, ratings: Sequence[RatingRow]
    ) -> dict[tuple[str, int], CheckedAnswer | None]:
        """Return the answers that a row adds to, as they are before."""
        items = {item.pk for rating in ratings if (item := self._finder.find(rating))}
        keys = [(ratings[0].participant, pk) for pk in items]
        return {key: answer.copy() if (answer := self._answers.get(key)) else None for key in keys}

    # one rating

    def _add(self, row: RatingRow) -> Iterator[Fault]:
        item = self._finder.find(row)
        code, message = self._check_item(item, row)
        if item is None or code:
            yield self._blame(code, row, message, "item")
            yield from self._check_value(row)
            return
        key = row.participant, item.pk
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = CheckedAnswer(row.participant, item, row.line, row.record)
        try:
            number, ratings = self._read(row, item)
        except ValidationError as error:
            at = error.code if error.code in _CODES else "value"
            yield self._blame(_CODES[at], row, " ".join(error.messages), at)
            if at == "system":
                yield from self._check_value(row)
            # what it lacks because of this isn't reported again
            answer.is_faulty = True
            return
        for rating in ratings:
            yield from self._add_rating(answer, row, number, rating)
        yield from self._add_order(answer, row, number)
        yield from self._add_words(answer, row)

    def _check_item(self, item: FoundItem | None, row: RatingRow) -> tuple[str, str]:
        """Return what is wrong with the item that a row names, as a code and a message."""
        if item is None:
            return "item_unknown", self._finder.explain(row)
        if item.kind != Item.Kind.MAIN:
            return "item_kind", (
                f"“{item.key}” is an item of kind {item.kind}. Only answers to main items can be "
                "imported. Remove these rows."
            )
        if self.study.is_launched and not item.is_open:
            return "item_closed", (
                f"The batch of “{item.key}” is not open to participants yet. Open it on the "
                "Items page; then its ratings can be imported."
            )
        return "", ""

    def _read(self, row: RatingRow, item: FoundItem) -> tuple[int | None, list[CheckedRating]]:
        """Return the ratings, and the number of the output that they are of; None: of all."""
        criterion, place = row.criterion, (row.line, row.record)
        if criterion.scale.compares and row.part_key != COMMENT:
            chosen = find_preferred(item, row.preferred, row.outcome)
            preferred = None if chosen is None else item.outputs[chosen][0]
            strength = row.value.strip() if criterion.scale.maximum > 1 else ""
            value = 0 if chosen is None else int(strength) if strength in _STRENGTHS else 1
            neither = row.preferred.strip().casefold() or row.outcome
            is_both = neither in BOTH and getattr(criterion.scale, neither)
            detail = {"both": neither.removeprefix("both_")} if is_both else None
            about = AnswerRow(item.pk, preferred, criterion.key, value=value, detail=detail)
            return None, [CheckedRating(about, *place)]
        is_of_output = criterion.is_of_outputs and (criterion.per_output or row.part_key != COMMENT)
        number = find_output(item, row.system) if is_of_output else None
        output = None if number is None else item.outputs[number][0]
        about = AnswerRow(item.pk, output, criterion.key)
        if criterion.scale.rewrites and row.part_key != COMMENT:
            read = self._marks.read_corrected(row, item, about)
            return number, [CheckedRating(rating, *place) for rating in read]
        if criterion.scale.marked_columns and row.part_key != COMMENT:
            marks = self._marks.read(row, item, about)
            return number, [CheckedRating(read, *place) for read in marks]
        return number, [CheckedRating(read, *place) for read in self.values.read(row, about)]

    def _check_value(self, row: RatingRow) -> Iterator[Fault]:
        """Report a faulty value even where its criterion is unknown."""
        scale = row.criterion.scale
        if scale.compares or scale.marked_columns or scale.rewrites:
            return
        try:
            self.values.read(row, AnswerRow(0, None, row.criterion.key))
        except ValidationError as error:
            yield self._blame("value_invalid", row, " ".join(error.messages), "value")

    def _add_rating(
        self, answer: CheckedAnswer, row: RatingRow, number: int | None, rating: CheckedRating
    ) -> Iterator[Fault]:
        passage = (rating.row.turn, rating.row.start, rating.row.end)
        key = row.criterion.key, number, rating.row.part, passage
        if first := answer.ratings.get(key):
            subject = row.criterion.key
            if number is not None:
                subject += f" of {answer.item.outputs[number][1]}"
            message = (
                f"“{shorten(row.participant)}” rated {subject} in item {answer.item.key} in record "
                f"{first.record} already. Remove one of the two."
            )
            yield self._blame("rating_twice", row, message, "")
            return
        answer.ratings[key] = rating

    def _add_order(
        self, answer: CheckedAnswer, row: RatingRow, number: int | None
    ) -> Iterator[Fault]:
        """Return where the outputs were shown, as far as this row says it."""
        item, place = answer.item, row.place
        if place is not None and number is not None:
            if place > len(item.outputs):
                outputs = count_of(len(item.outputs), "output")
                message = f"The place is {place}, but the item has {outputs}."
                yield self._blame("place_invalid", row, message, "place")
            elif any((at == number) != (known == place) for at, known in answer.places.items()):
                yield self._blame("place_invalid", row, f"Place {place} {_TWO_PLACES}", "place")
            answer.places[number] = place
        for at, text, read in (
            ("order_shown", row.order_shown, read_order),
            ("shown_first", row.shown_first, read_first),
        ):
            if not text:
                continue
            try:
                order = read(text, item)
            except ValidationError as error:
                yield self._blame("order_invalid", row, " ".join(error.messages), at)
                continue
            if order and answer.order not in ((), order):
                message = "An earlier row of this answer gives another order."
                yield self._blame("order_invalid", row, message, at)
            answer.order = order or answer.order

    def _add_words(self, answer: CheckedAnswer, row: RatingRow) -> Iterator[Fault]:
        answer.time = answer.time or row.time
        if row.time and row.time != answer.time:
            self.remarks.add(
                "times_differ",
                "More than one time for an answer: the first is kept",
                row.line,
                row.record,
                self.reader.name_column("submitted_at"),
            )
        answer.note = answer.note or row.note
        if row.note and row.note != answer.note:
            message = (
                "An earlier row of this participant and item has another note. Write one note."
            )
            yield self._blame("note_differs", row, message, "note")

    # one answer

    def _find_answered_already(self, answer: CheckedAnswer, file_name: str) -> list[Fault]:
        message = (
            f"“{shorten(answer.participant)}” has answered this item already, in {file_name}. A "
            "participant answers an item once: undo that file, or remove these rows."
        )
        places = dict.fromkeys((rating.line, rating.record) for rating in answer.ratings.values())
        if not self.leaves_out or not places:
            places = {(answer.line, answer.record): None}
        column = self.reader.name_column("participant")
        return [Fault("answered_already", message, column, line, record) for line, record in places]

    def _finish_one(self, answer: CheckedAnswer) -> None:
        missing = self._list_asked(len(answer.item.outputs)) - {
            (key, None if key in self._orders else number)
            for key, number, _part, _ends in answer.ratings
        }
        self._check_orders(answer)
        try:
            answer.order_shown = _order_by_place(answer)
            if not missing and self.config.hooks.clean:
                self.config.clean(self._name_values(answer))
        except ValidationError as error:
            code = error.code if error.code == "order_invalid" else "value_invalid"
            self._blame_answer(code, answer, " ".join(error.messages))
        is_cut = answer.is_faulty or (answer.participant, answer.item.key) in self._cut
        is_cut = is_cut and not self.leaves_out
        place = answer.line, answer.record
        if answer.places and not answer.order_shown and not is_cut:
            message = "Not every output has a place: the order is left empty"
            self.remarks.add("order_incomplete", message, *place)
        if missing and self.keeps_incomplete:
            self.remarks.add("answer_incomplete", "Not everything was rated", *place)
        elif missing and not is_cut:
            message = _describe_missing(answer, missing, self.config)
            self._blame_answer("answer_incomplete", answer, message)

    def _check_orders(self, answer: CheckedAnswer) -> None:
        """Report rows that a page would not have taken together, such as an order with a gap."""
        if not self._orders or answer.is_faulty:
            return
        outputs = [
            NumberedText(pk, number, "") for number, (pk, _) in enumerate(answer.item.outputs)
        ]
        questions = list_questions(self.config, {}, outputs, criteria=self._orders.values())
        rows = [rating.row for rating in answer.ratings.values()]
        for question, answered in match_rows(questions, rows):
            if answered and (problem := question.find_problem(answered)):
                message = (
                    f"The rows of “{shorten(answer.participant)}” for item {answer.item.key} are "
                    f"no answer on {question.criterion.key}. {problem}."
                )
                self._blame_answer("value_invalid", answer, message)

    def _list_asked(self, outputs: int) -> set[Key]:
        """Return what is always asked about so many outputs; no file asks about turns."""
        if outputs not in self._asked:
            self._asked[outputs] = {
                (question.criterion.key, question.place - 1 if question.place else None)
                for question in list_questions(self.config, {}, number_texts([""] * outputs))
                if question.criterion.is_always_answered
            }
        return self._asked[outputs]

    def _name_values(self, answer: CheckedAnswer) -> dict[str, Any]:
        """Return the answers by the names of their questions, as a form would clean them."""
        outputs = [
            NumberedText(pk, number, "") for number, (pk, _) in enumerate(answer.item.outputs)
        ]
        questions = list_questions(self.config, {}, outputs)
        rows = [rating.row for rating in answer.ratings.values()]
        return {
            question.name: self.values.clean(question.criterion, question.write_entry(value))
            for question, answered in match_rows(questions, rows)
            if (value := question.read_rows(answered)) is not None
        }

    def _remark_on_names(self) -> None:
        spellings: dict[str, str] = {}
        for (name, _), answer in self._answers.items():
            first = spellings.setdefault(fold_system(name), name)
            if first != name:
                self.remarks.add(
                    "id_confusable",
                    "Participants whose names differ only in case, spaces or Unicode form count as "
                    f"two, as “{shorten(first)}” and “{shorten(name)}”",
                    answer.line,
                    answer.record,
                )
                spellings[fold_system(name)] = name

    def _blame(self, code: str, row: RatingRow, message: str, at: str) -> Fault:
        column = self.reader.name_column(at, row.part) if at else ""
        return Fault(code, message, column, row.line, row.record)

    def _blame_answer(self, code: str, answer: CheckedAnswer, message: str) -> None:
        self.faults.append(Fault(code, message, line=answer.line, record=answer.record))


def _order_by_place(answer: CheckedAnswer) -> tuple[int, ...]:
    """Return the order in which the outputs were shown; nothing where the file doesn't say it."""
    if len(answer.places) < len(answer.item.outputs):
        return answer.order
    by_place = tuple(sorted(answer.places, key=lambda number: answer.places[number]))
    if answer.order and answer.order != by_place:
        raise ValidationError(
            "The places are not those of the order that the file gives as well.",
            code="order_invalid",
        )
    return by_place


def _describe_missing(answer: CheckedAnswer, missing: set[Key], config: Instrument) -> str:
    names = [
        criterion.key if number is None else f"{criterion.key} of {answer.item.outputs[number][1]}"
        for criterion in config.criteria
        for number in (None, *range(len(answer.item.outputs)))
        if (criterion.key, number) in missing
    ]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return (
        f"“{shorten(answer.participant)}” did not rate all of item {answer.item.key}. Missing: "
        f"{'; '.join(names[:3])}{more}. Add it, or say that incomplete answers are fine."
    )


# --- values of cells ---------------------------------------------------------------------


_WITH_POINT = re.compile(r"[+-]?[0-9]+\.[0-9]+")
_WITH_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")


class ValueReader:
    """Reads values as the scales allow them; ValidationError says what is wrong with a cell.

    With `has_commas` numbers may have a decimal comma.
    """

    def __init__(self, *, has_commas: bool = False) -> None:
        self.has_commas = has_commas
        # cells that are numbers with a comma, and those that are labels of their scale
        self.commas = self.labels = 0
        self._fields: dict[str, forms.Field] = {}
        self._words: dict[str, dict[str, int]] = {}
        self._labels: dict[str, dict[str, Any]] = {}

    def read(self, row: RatingRow, about: AnswerRow) -> tuple[AnswerRow, ...]:
        """Return the rows. `about`: the question, as a row without an answer."""
        scale = row.criterion.scale
        answer: Any
        if row.part_key == COMMENT:
            return (about._replace(part=COMMENT, text=self._read_comment(row)),)
        if row.is_not_applicable and not scale.has_na:
            raise ValidationError(f"{row.criterion.key} has no “not applicable”.")
        if row.part_key:
            return (about._replace(part=row.part_key, **self._read_part(row)),)
        if scale.keeps_typed:
            answer, typed = self._read_typed(row)
            return scale.make_rows(answer, about._replace(text=typed), ())
        if row.is_not_applicable:
            answer = NA
        elif row.text and not row.value:
            answer = self.clean(row.criterion, row.text)
        else:
            answer = self._read_value(row)
            self._check_label(row, answer)
        return scale.make_rows(answer, about, ())

    def _read_comment(self, row: RatingRow) -> str:
        if row.criterion.comment is None or not row.text.strip():
            raise ValidationError(f"{row.criterion.key} has no comments, or this one is empty.")
        return row.text

    def _read_part(self, row: RatingRow) -> dict[str, Any]:
        """Read the answer to one of several statements or options."""
        if not row.criterion.scale.is_part(row.part_key):
            raise ValidationError(
                f"“{shorten(row.part_key)}” is no statement or option of {row.criterion.key}."
            )
        if row.is_not_applicable:
            return {"detail": {NA: True}}
        if row.value.strip() not in ("0", "1"):
            raise ValidationError(f"“{shorten(row.value)}” is neither 1 nor 0.")
        return {"value": int(row.value)}

    def _read_typed(self, row: RatingRow) -> tuple[int, str]:
        # as pandas writes a whole number in a column of floats
        text = row.value.removesuffix(".0")
        value = self.clean(row.criterion, text)
        if row.typed and self.clean(row.criterion, row.typed) != value:
            raise ValidationError(
                f"The value {value} is not what was typed: “{shorten(row.typed)}”. Correct one."
            )
        return value, row.typed or text

    def _read_value(self, row: RatingRow) -> Any:
        criterion, text = row.criterion, row.value.strip()
        if criterion.key not in self._words:
            self._words[criterion.key] = criterion.scale.file_words()
        known = self._words[criterion.key].get(text.casefold())
        if known is not None:
            return known
        text = self._read_number(text)
        try:
            value = self.clean(criterion, text)
        except ValidationError:
            if (point := self._find_label(criterion, text)) is not None:
                return point
            cell = f"“{shorten(text)}” is" if text else "An empty cell is"
            choices = criterion.scale.describe_choices()
            raise ValidationError(f"{cell} no answer on {criterion.key}. Use {choices}.") from None
        return value

    def _read_number(self, text: str) -> str:
        """Return a number as scales take it: 4 for 4.0, 1.5 for 1.50, a point for a comma."""
        if _WITH_COMMA.fullmatch(text):
            self.commas += 1
            text = text.replace(",", ".") if self.has_commas else text
        return text.rstrip("0").rstrip(".") if _WITH_POINT.fullmatch(text) else text

    def _find_label(self, criterion: Criterion, text: str) -> Any:
        """Return the point of which a text is the label, in any case."""
        point = self._list_labels(criterion).get(text.casefold())
        if point is not None:
            self.labels += 1
        return point

    def _list_labels(self, criterion: Criterion) -> dict[str, Any]:
        if criterion.key not in self._labels:
            answers = criterion.scale.list_answers()
            self._labels[criterion.key] = {str(label).casefold(): point for point, label in answers}
        return self._labels[criterion.key]

    def clean(self, criterion: Criterion, entry: str) -> Any:
        """Return the answer that the page's own form would make of an entry."""
        if criterion.key not in self._fields:
            self._fields[criterion.key] = criterion.scale.make_field(criterion, "this output")
        return self._fields[criterion.key].clean(entry)

    def _check_label(self, row: RatingRow, value: Any) -> None:
        """The label of another point shows that the scale was reversed, or a column is wrong."""
        label = row.label.strip().casefold()
        if not label or not isinstance(value, int | float):
            return
        meant = self._list_labels(row.criterion).get(label, value)
        if meant != value:
            raise ValidationError(
                f"The value is {value}, but “{shorten(row.label)}” is the label of {meant}. "
                "See whether the scale is the same."
            )
