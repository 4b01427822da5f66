"""An answer in one's own words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext as _

from evalsite.fields import LONGEST_NOTE, NoteField
from evalsite.protocol import Criterion
from evalsite.protocol.faults import Faults
from evalsite.protocol.scale import Judged, Row, Scale, Stored

_LINES = 3
# by simulated people, of what is worth more or less
_SAID = ("It reads well.", "Fair.", "Some of it is wrong.")


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


@dataclass(frozen=True, kw_only=True)
class Text(Scale):
    """Words in a box of so many lines; they are stored as they were written."""

    lines: int = _LINES
    least: int = 1
    most: int = LONGEST_NOTE
    # there are no numbers
    minimum: ClassVar[None] = None  # type: ignore[assignment]
    maximum: ClassVar[None] = None  # type: ignore[assignment]
    kind: ClassVar[str] = "text"
    title: ClassVar[str] = "Free text"
    family: ClassVar[str] = "text"
    better: ClassVar[str] = ""
    has_direction: ClassVar[bool] = False
    counted: ClassVar[str] = "characters"
    is_typed: ClassVar[bool] = True
    starts_optional: ClassVar[bool] = True
    optional: ClassVar[frozenset[str]] = frozenset({"lines", "least", "most"})

    @property
    def columns(self) -> frozenset[str]:
        return frozenset({"text"})

    def is_row(self, value: int, *, has_output: bool) -> bool:
        return False

    def select_rows(self) -> Q:
        return Q(value__isnull=True, part="", detail__isnull=True) & ~Q(text="")

    # --- page

    def make_field(
        self, criterion: Criterion, output_name: str, *, is_one_of_several: bool = False
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
        self, answer: Any, output_ids: Sequence[int | None], number: int
    ) -> tuple[Row, ...]:
        return (Row(output_ids[number - 1], None, text=answer),)

    def read_values(
        self, rows: Iterable[Stored], output_ids: Sequence[int | None]
    ) -> list[Any | None]:
        given = {row.output_id: row.text for row in rows}
        return [given.get(output_id) for output_id in output_ids]

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

    def write_cell(self, rows: Sequence[Stored]) -> str:
        (row,) = rows
        return row.text

    def describe_answer(self, rows: Sequence[Stored]) -> str:
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
        said = _SAID[0] if worth > 0.5 else _SAID[2] if worth < -0.5 else _SAID[1]
        return said.ljust(self.least, "…")[: self.most]

    # --- plain data

    def to_data(self) -> dict[str, Any]:
        own = {"lines": self.lines, "least": self.least, "most": self.most}
        usual = {"lines": _LINES, "least": 1, "most": LONGEST_NOTE}
        return {"kind": self.kind} | {name: own[name] for name in own if own[name] != usual[name]}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        return cls(**{name: data[name] for name in cls.optional if name in data})

    def check_rating(self, data: Any, outputs: int, place: str, faults: Faults) -> None:
        if not isinstance(data, list) or not all(isinstance(one, str) for one in data):
            faults.add("type", place, "must be a list of texts")
