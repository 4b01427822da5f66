"""Answers put together from the rows of each participant and item, with what does not fit."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.core.exceptions import ValidationError

from evalsite.annotation.display import question_names
from evalsite.imports.batches.names import fold
from evalsite.imports.ratings.finding import ItemFinder, find_answered
from evalsite.imports.ratings.rows import RatingRow, RowReader, shorten
from evalsite.imports.ratings.values import (
    CheckedAnswer,
    CheckedRating,
    FoundItem,
    ValueReader,
    find_output,
    order_by_place,
    read_order,
    read_preferred,
)
from evalsite.imports.tables.faults import Fault, Remarks
from evalsite.protocol import Criterion, Protocol
from evalsite.studies.models import Item, Study
from evalsite.studies.summaries import count_of

# its name in a form, its criterion, and the number of its output (0: of all)
Question = tuple[str, Criterion, int]

_CODES = {
    "system": "system_unknown",
    "preferred": "preference_invalid",
    "value": "value_invalid",
}


class AnswerBuilder:
    """Puts the rows of each participant and item together, and says what does not fit."""

    def __init__(self, study: Study, reader: RowReader, *, keeps_incomplete: bool) -> None:
        self.study = study
        self.config: Protocol = study.config
        self.reader = reader
        self.keeps_incomplete = keeps_incomplete
        self.faults: list[Fault] = []
        self.remarks = Remarks()
        self._answers: dict[tuple[str, int], CheckedAnswer] = {}
        self._values = ValueReader()

    def add_all(self, rows: list[RatingRow]) -> None:
        finder = ItemFinder(self.study, rows)
        for row in rows:
            item = finder.find(row)
            if problem := _check_item(self.study, item, row, finder):
                code = "item_unknown" if item is None else "item_closed"
                self._blame(code, row, problem, "item")
                self._check_value(row)
            elif item is not None:
                self._add(row, item)

    def finish(self) -> list[CheckedAnswer]:
        """The answers in the order of the file, complete unless they need not be."""
        answered = find_answered(self.study, {name for name, _ in self._answers})
        for (name, item_id), answer in self._answers.items():
            if file_name := answered.get((name, item_id)):
                self._blame_answer(
                    "answered_already",
                    answer,
                    f"“{shorten(name)}” has answered this item already, in {file_name}. A "
                    "participant answers an item once: undo that file, or take these rows out.",
                    "participant",
                )
                continue
            self._finish_one(answer)
        self._remark_on_names()
        return list(self._answers.values())

    # one row

    def _add(self, row: RatingRow, item: FoundItem) -> None:
        key = row.participant, item.pk
        answer = self._answers.get(key)
        if answer is None:
            answer = CheckedAnswer(row.participant, item, row.line, row.record)
            self._answers[key] = answer
        try:
            number, rating = self._read(row, item)
        except ValidationError as error:
            field = error.code if error.code in _CODES else "value"
            self._blame(_CODES[field], row, " ".join(error.messages), field)
            if field == "system":
                self._check_value(row)
            # what it lacks because of this needs no fault of its own
            answer.is_faulty = True
            return
        self._add_rating(answer, row, number, rating)
        self._add_order(answer, row, number)
        self._add_words(answer, row)

    def _read(self, row: RatingRow, item: FoundItem) -> tuple[int | None, CheckedRating]:
        """The rating, and the number of the output that it is of; None: of all of them."""
        criterion = row.criterion
        if criterion.scale.compares:
            chosen = read_preferred(row, item)
            preferred = None if chosen is None else item.outputs[chosen][0]
            value = 0 if chosen is None else 1
            return None, CheckedRating(criterion.key, preferred, value, "", row.record)
        number = find_output(row, item) if criterion.per_output else None
        output = None if number is None else item.outputs[number][0]
        value, typed = self._values.read(row)
        return number, CheckedRating(criterion.key, output, value, typed, row.record)

    def _check_value(self, row: RatingRow) -> None:
        """A faulty value is told of, also where nobody knows what it is a value of."""
        if row.criterion.scale.compares:
            return
        try:
            self._values.read(row)
        except ValidationError as error:
            self._blame("value_invalid", row, " ".join(error.messages), "value")

    def _add_rating(
        self, answer: CheckedAnswer, row: RatingRow, number: int | None, rating: CheckedRating
    ) -> None:
        key = row.criterion.key, number
        if first := answer.ratings.get(key):
            what = row.criterion.key
            if number is not None:
                what += f" of {answer.item.outputs[number][1]}"
            self._blame(
                "rating_twice",
                row,
                f"“{shorten(row.participant)}” rated {what} in item {answer.item.key} in record "
                f"{first.record} already. Take one of the two out.",
                "",
            )
            return
        answer.ratings[key] = rating

    def _add_order(self, answer: CheckedAnswer, row: RatingRow, number: int | None) -> None:
        """Where the outputs stood, as far as this row tells it."""
        item = answer.item
        if row.place is not None and number is not None:
            if row.place > len(item.outputs):
                self._blame(
                    "place_invalid",
                    row,
                    f"The place is {row.place}, but the item has "
                    f"{count_of(len(item.outputs), 'output')}.",
                    "place",
                )
            elif _is_taken(answer, number, row.place):
                self._blame(
                    "place_invalid",
                    row,
                    f"Place {row.place} does not go with an earlier row of this participant and "
                    "item: an output stands in one place, and a place holds one output.",
                    "place",
                )
            answer.places[number] = row.place
        for name, text in (("order_shown", row.order_shown), ("shown_first", row.shown_first)):
            if text:
                self._take_order(answer, row, name, text)

    def _take_order(self, answer: CheckedAnswer, row: RatingRow, field: str, text: str) -> None:
        item = answer.item
        try:
            if field == "order_shown":
                order = read_order(text, item)
            else:
                first = item.find(text)
                if first is None:
                    raise ValidationError(
                        f"“{shorten(text)}” is not a system of this item. It has {item.systems}."
                    )
                # of two the other comes second; of more nobody knows
                order = (first, 1 - first) if len(item.outputs) == 2 else ()
        except ValidationError as error:
            self._blame("order_invalid", row, " ".join(error.messages), field)
            return
        if order and answer.order not in ((), order):
            self._blame(
                "order_invalid", row, "An earlier row of this answer gives another order.", field
            )
        answer.order = order or answer.order

    def _add_words(self, answer: CheckedAnswer, row: RatingRow) -> None:
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
            self._blame(
                "note_differs",
                row,
                "An earlier row of this participant and item has another note. Write one note.",
                "note",
            )

    # one answer

    def _finish_one(self, answer: CheckedAnswer) -> None:
        questions = question_names(self.config, len(answer.item.outputs))
        asked = {
            (criterion.key, number - 1 if number else None) for _, criterion, number in questions
        }
        missing = asked - answer.ratings.keys()
        try:
            answer.order_shown = order_by_place(answer)
            if not missing:
                self.config.clean(self._name_values(answer, questions))
        except ValidationError as error:
            self._blame_answer("value_invalid", answer, " ".join(error.messages), "")
        is_cut = answer.is_faulty or self._is_cut(answer)
        if answer.places and not answer.order_shown and not is_cut:
            self.remarks.add(
                "order_incomplete",
                "Not every output has a place: the order is left empty",
                answer.line,
                answer.record,
            )
        if missing and self.keeps_incomplete:
            self.remarks.add(
                "answer_incomplete", "Not everything was rated", answer.line, answer.record
            )
        elif missing and not is_cut:
            message = _say_missing(answer, missing, self.config)
            self._blame_answer("answer_incomplete", answer, message, "")

    def _name_values(self, answer: CheckedAnswer, questions: Iterable[Question]) -> dict[str, Any]:
        """Return the answers by the names of their questions, as a form would clean them."""
        found: dict[str, Any] = {}
        ids = [pk for pk, _ in answer.item.outputs]
        for name, criterion, number in questions:
            rating = answer.ratings[criterion.key, number - 1 if number else None]
            values = criterion.scale.read_values({rating.output_id: rating.value}, ids)
            entry = criterion.scale.write_entries(values, range(len(ids)))[number]
            found[name] = self._values.clean(criterion, entry)
        return found

    def _is_cut(self, answer: CheckedAnswer) -> bool:
        """Whether a row of it was faulty by itself, and so is told of already."""
        return (answer.participant, answer.item.key) in self.reader.faulty

    def _remark_on_names(self) -> None:
        spellings: dict[str, str] = {}
        for (name, _), answer in self._answers.items():
            first = spellings.setdefault(fold(name), name)
            if first != name:
                self.remarks.add(
                    "id_confusable",
                    "Participants whose names differ only in case, spaces or Unicode form are "
                    f"two, as “{shorten(first)}” and “{shorten(name)}”",
                    answer.line,
                    answer.record,
                )
                spellings[fold(name)] = name

    def _blame(self, code: str, row: RatingRow, message: str, field: str) -> None:
        column = self.reader.name_column(field) if field else ""
        self.faults.append(row.fault(code, message, column))

    def _blame_answer(self, code: str, answer: CheckedAnswer, message: str, field: str) -> None:
        column = self.reader.name_column(field) if field else ""
        self.faults.append(
            Fault(code, message, column=column, line=answer.line, record=answer.record)
        )


def _check_item(study: Study, item: FoundItem | None, row: RatingRow, finder: ItemFinder) -> str:
    """What is wrong with the item that a row names; "" if it may be rated."""
    if item is None:
        return finder.explain(row)
    if item.kind != Item.Kind.MAIN:
        return (
            f"“{item.key}” is an item of kind {item.kind}. Only answers to main items can be "
            "imported. Take these rows out."
        )
    if study.is_launched and not item.is_open:
        return (
            f"The batch of “{item.key}” is not open to participants yet. Open it on the "
            "Items page; then its ratings can be imported."
        )
    return ""


def _is_taken(answer: CheckedAnswer, number: int, place: int) -> bool:
    """Whether the output stood elsewhere, or another one stood there."""
    return any((one == number) != (there == place) for one, there in answer.places.items())


def _say_missing(
    answer: CheckedAnswer, missing: set[tuple[str, int | None]], config: Protocol
) -> str:
    names = list(_name_missing(answer, missing, config))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return (
        f"“{shorten(answer.participant)}” did not rate all of item {answer.item.key}. Missing: "
        f"{'; '.join(names[:3])}{more}. Add it, or say that incomplete answers are fine."
    )


def _name_missing(
    answer: CheckedAnswer, missing: set[tuple[str, int | None]], config: Protocol
) -> Iterator[str]:
    for criterion in config.criteria:
        for number in (None, *range(len(answer.item.outputs))):
            if (criterion.key, number) in missing:
                of = "" if number is None else f" of {answer.item.outputs[number][1]}"
                yield f"{criterion.key}{of}"
