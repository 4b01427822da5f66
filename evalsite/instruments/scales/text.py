"""An answer in one's own words."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext as _
from pydantic import Field

from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.faults import Fault
from evalsite.instruments.fields import LONGEST_TEXT, NoteField
from evalsite.instruments.scales.base import Judged, QuestionWords, Scale

# by simulated people, of what is worth more or less
_WORDS = ("It reads well.", "Fair.", "Some of it is wrong.")


class TextField(NoteField):
    """Words of at least and at most so many characters."""

    def __init__(self, *, least: int, most: int, missing: str, **kwargs: Any) -> None:
        self.least, self.missing = least, missing
        super().__init__(max_length=most, **kwargs)

    def clean(self, value: Any) -> str:
        text = str(super().clean(value)).strip()
        if not text:
            raise ValidationError(self.missing, code="required")
        if len(text) < self.least:
            raise ValidationError(
                _("%(missing)s: at least %(least)s characters. There are %(given)s now")
                % {"missing": self.missing, "least": self.least, "given": len(text)},
                code="too_short",
            )
        return text


class Text(Scale):
    """Words in a box of so many lines; they are stored as they were written."""

    kind: Literal["text"] = Field(title="Text")
    family: ClassVar[str] = "text"
    directed: ClassVar[bool] = False
    better: ClassVar[str] = ""
    counted: ClassVar[str] = "characters"
    is_typed: ClassVar[bool] = True
    starts_optional: ClassVar[bool] = True
    # there are no numbers
    minimum: ClassVar[None] = None  # type: ignore[assignment]
    maximum: ClassVar[None] = None  # type: ignore[assignment]
    lines: int = Field(3, ge=1, le=30, title="Height of the box, in lines")
    least: int = Field(1, ge=0, le=LONGEST_TEXT, title="Fewest characters")
    most: int = Field(LONGEST_TEXT, ge=1, le=LONGEST_TEXT, title="Most characters")

    def find_faults(self, at: str) -> Iterator[Fault]:
        if self.most < self.least:
            words = f"must be from {max(self.least, 1)} to {LONGEST_TEXT}"
            yield Fault("out_of_range", f"{at}.most", words)

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return isinstance(answer, str)

    def is_gold(self, gold: Any, outputs: int) -> bool:
        return False  # words have no right answer

    @property
    def columns(self) -> frozenset[str]:
        return frozenset({"text"})

    def select_rows(self) -> Q:
        return Q(value__isnull=True, part="", detail__isnull=True) & ~Q(text="")

    # --- page

    def make_field(
        self, criterion: QuestionWords, output_name: str, *, is_one_of_several: bool = False
    ) -> TextField:
        name = f"{output_name[:1].lower()}{output_name[1:]}"
        missing = (
            _("Write an answer to %(criterion)s for %(name)s")
            if is_one_of_several
            else _("Write an answer to %(criterion)s")
        ) % {"criterion": criterion.label.lower(), "name": name}
        return TextField(least=self.least, most=self.most, missing=missing, label=criterion.label)

    # --- stored and read back

    def make_rows(
        self, answer: Any, about: AnswerRow, output_ids: Sequence[int]
    ) -> tuple[AnswerRow, ...]:
        return (about._replace(text=answer),)

    def read_rows(self, rows: Sequence[AnswerRow], output_ids: Sequence[int]) -> str:
        return rows[0].text

    # --- gold: words have no right answer

    def parse_gold(self, text: str, outputs: Sequence[str]) -> Any:
        raise ValidationError(
            "Words have no right answer that a file could tell. Leave this column empty."
        )

    def judge(
        self,
        right: Any,
        values: Sequence[Any],
        standard: int | None,
        names: Sequence[str],
        *,
        is_by_document: bool = False,
    ) -> Judged:
        return []

    def count_asked(self, text: str, outputs: int, standard: int | None) -> int:
        return 0

    def right_values(self, right: Any, outputs: int, standard: int | None) -> list[Any | None]:
        return [None] * outputs

    def write_gold(self, values: Sequence[Any | None]) -> str:
        return ""

    # --- words

    def describe_choices(self) -> str:
        return f"words, at most {self.most} characters"

    def describe_values(self) -> str:
        return "no value: the words are in the column text"

    def write_cell(self, rows: Sequence[AnswerRow]) -> str:
        (row,) = rows
        return row.text

    def describe_answer(self, rows: Sequence[AnswerRow]) -> str:
        return rows[0].text

    def describe_wide(self) -> tuple[str, bool, str]:
        return "the words", False, f"at most {self.most} characters"

    def describe_ratings(self, ratings: Sequence[Any]) -> str:
        return " · ".join(ratings)

    def write_markdown(self) -> str:
        return f"Words, at most {self.most} characters."

    def words(self) -> str:
        return "an answer in their own words"

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        worth = felt[max(number - 1, 0)]
        words = _WORDS[0] if worth > 0.5 else _WORDS[2] if worth < -0.5 else _WORDS[1]
        return words.ljust(self.least, "…")[: self.most]
