"""What a file says of one question, read as its scale allows."""

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from evalsite.imports.ratings.columns import RatingRow, shorten
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.scales import COMMENT, NA
from evalsite.instruments.schema import Criterion

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
        value = self.clean(row.criterion, row.value)
        if row.typed and self.clean(row.criterion, row.typed) != value:
            raise ValidationError(
                f"The value {value} is not what was typed: “{shorten(row.typed)}”. Correct one."
            )
        return value, row.typed or row.value

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
