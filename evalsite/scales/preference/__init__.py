"""Which of two outputs is better, or a tie."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext as _

from evalsite.fields import PointField
from evalsite.protocol import Criterion
from evalsite.protocol.faults import Faults, check_whole
from evalsite.protocol.scale import PLAIN, Judged, Row, Scale, Stored
from evalsite.scales.points import quote, verdict_in_words
from evalsite.scales.preference.graded import Graded
from evalsite.scales.preference.plain import BOTH, PLAIN_VALUES, is_plain

TIE = "tie"
_SIDES = ("first", TIE, "second")


@dataclass(frozen=True, kw_only=True)
class Preference(Scale):
    """Which of two outputs is better, or a tie. Stored as the output preferred, never as a side.

    Its value, in the order uploaded, is one number: that of the output preferred, from 1, or 0.
    """

    first: str
    tie: str
    second: str
    minimum: ClassVar[int] = 0
    maximum: ClassVar[int] = 1
    kind: ClassVar[str] = "preference"
    title: ClassVar[str] = "Preference"
    family: ClassVar[str] = "preference"
    per: ClassVar[Literal["output", "item"]] = "item"
    compares: ClassVar[bool] = True
    better: ClassVar[str] = ""
    has_direction: ClassVar[bool] = False
    asks_first: ClassVar[bool] = True
    pair_only: ClassVar[bool] = True
    needed: ClassVar[frozenset[str]] = frozenset({"points"})
    optional: ClassVar[frozenset[str]] = frozenset({*BOTH, "tags", "display"})
    note_on_values: ClassVar[str] = "Preference: 1 if one output is preferred, 0 for a tie"
    may_ask_turn: ClassVar[bool] = False
    tests: ClassVar[frozenset[str]] = frozenset({"is"})

    def label_of(self, value: int) -> str:
        return "preferred" if value else "tie"

    def is_row(self, value: int, *, has_output: bool) -> bool:
        return value == int(has_output)

    def select_rows(self) -> Q:
        return Q(value=1, output__isnull=False, **PLAIN) | Q(value=0, output__isnull=True, **PLAIN)

    # --- page

    def first_control(self, name: str) -> str:
        return f"{name}-first"

    def make_field(
        self, criterion: Criterion, output_name: str, *, is_one_of_several: bool = False
    ) -> PointField:
        return PointField(
            values={side: side for side in _SIDES},
            missing=_("Choose which response is better on %(criterion)s, or a tie")
            % {"criterion": criterion.label.lower()},
            label=criterion.label,
        )

    def name_entry(self, entry: str) -> str:
        return dict(zip(_SIDES, (self.first, self.tie, self.second), strict=True))[entry]

    # --- stored and read back

    def make_rows(
        self, answer: Any, output_ids: Sequence[int | None], number: int
    ) -> tuple[Row, ...]:
        preferred = {"first": output_ids[0], TIE: None, "second": output_ids[1]}[answer]
        return (Row(preferred, 0 if preferred is None else 1),)

    def read_values(
        self, rows: Iterable[Stored], output_ids: Sequence[int | None]
    ) -> list[Any | None]:
        given = {row.output_id for row in rows}
        if None in given:
            return [0]
        preferred = (number for number, pk in enumerate(output_ids, start=1) if pk in given)
        return [next(preferred, None)]

    def write_entries(self, values: Sequence[int | None], order: Sequence[int]) -> dict[int, str]:
        (preferred,) = values
        if preferred is None:
            return {}
        return {0: ("first", "second")[order.index(preferred - 1)] if preferred else TIE}

    # --- conditions name values as data does

    def list_tested(self, answer: Any) -> tuple[Any, ...]:
        return (PLAIN_VALUES[_SIDES.index(answer)],)

    def list_testable(self) -> tuple[Any, ...]:
        return tuple(PLAIN_VALUES)

    def name_tested(self, value: Any) -> str:
        return (self.first, self.tie, self.second)[PLAIN_VALUES.index(value)]

    # --- gold: the name of a system, the number of an output, or "tie"

    def parse_gold(self, text: str, outputs: Sequence[str]) -> int:
        """Return the number of the output that should be preferred, from 1; 0 for a tie."""
        wanted = text.strip()
        if wanted in outputs:
            return list(outputs).index(wanted) + 1
        if wanted.casefold() == TIE:
            return 0
        numbers = {str(number): number for number in range(1, len(outputs) + 1)}
        if wanted not in numbers:
            raise ValidationError(
                f"{quote(wanted)} is not a system of this item. Write the system's name as in the "
                f"file, or tie. The systems are: {', '.join(outputs)}."
            )
        return numbers[wanted]

    def judge(
        self,
        right: int,
        values: Sequence[int],
        standard: int | None,
        names: Sequence[str],
        *,
        is_by_document: bool = False,
    ) -> Judged:
        (value,) = values
        choices = [self.tie, *names]
        is_met = value == right
        sentence = verdict_in_words(
            choices[value], choices[right], is_met=is_met, is_by_document=is_by_document
        )
        return [(is_met, sentence)]

    def count_asked(self, text: str, outputs: int, standard: int | None) -> int:
        return 1  # whichever system it names

    def right_values(self, right: int, outputs: int, standard: int | None) -> list[int | None]:
        return [right]

    # --- words

    def describe_choices(self) -> str:
        return "a system of the item or tie"

    def describe_values(self) -> str:
        return f"1 = {self.label_of(1)}, 0 = {self.label_of(0)}"

    def describe_comparison(
        self, row: Stored, names: Mapping[int, str], shown: Mapping[int, str]
    ) -> str:
        return "tie" if row.output_id is None else f"{names[row.output_id]} preferred"

    def describe_wide(self) -> tuple[str, bool, str]:
        return "the system preferred", False, "a system's name, or tie"

    def write_markdown(self) -> str:
        return (
            f"- {self.first}\n- {self.tie}\n- {self.second}\n\n"
            "Stored as the preferred output, whichever side it was on."
        )

    def describe_ratings(self, ratings: Sequence[int]) -> str:
        (preferred,) = ratings
        return (self.tie, self.first, self.second)[preferred]

    def words(self) -> str:
        return "a preference between two outputs, ties allowed"

    def name_choices(self) -> tuple[str, ...]:
        return self.first, self.tie, self.second

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        difference = felt[0] - felt[1]
        return TIE if abs(difference) < 0.3 else ("first" if difference > 0 else "second")

    # --- plain data: three points, mirrored round 0

    def to_data(self) -> dict[str, Any]:
        labels = (self.first, self.tie, self.second)
        points = [
            {"value": value, "label": label}
            for value, label in zip(PLAIN_VALUES, labels, strict=True)
        ]
        return {"kind": self.kind, "points": points}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Any:
        """Read this scale, or the graded one that has other points, further answers or reasons."""
        if not is_plain(data):
            return Graded.from_data(data)
        first, tie, second = (point["label"] for point in data["points"])
        return cls(first=first, tie=tie, second=second)

    def rating_to_data(self, ratings: Sequence[int]) -> Any:
        (preferred,) = ratings
        return (0, -1, 1)[preferred]

    def rating_from_data(self, data: Any) -> tuple[int, ...]:
        return ({0: 0, -1: 1, 1: 2}[data],)

    def check_rating(self, data: Any, outputs: int, place: str, faults: Faults) -> None:
        if check_whole(data, place, faults) and data not in PLAIN_VALUES:
            faults.add("unknown_answer", place, "isn't an answer on this scale")

    def gold_to_data(self, text: str) -> Any:
        """Write a gold of a practice item, whose outputs have no systems: a number, or tie."""
        return {"1": "-1", "2": "1"}.get(text.strip(), "0")

    def write_gold(self, values: Sequence[Any | None]) -> str:
        (preferred,) = values
        return str(preferred) if preferred else TIE

    def gold_from_data(self, data: Any) -> str:
        return {"-1": "1", "1": "2", "0": TIE}[data]
