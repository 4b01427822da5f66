"""Which of two outputs is better, or a tie."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext as _

from evalsite.fields import PointField
from evalsite.protocol import Criterion
from evalsite.protocol.faults import Faults, check_keys, check_list, check_text, check_whole
from evalsite.protocol.scale import Judged, Row, Scale
from evalsite.scales.points import quote, say_verdict

TIE = "tie"
_SIDES = ("first", TIE, "second")
# in data: the first output better below 0
_VALUES = (-1, 0, 1)


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
    asks_first: ClassVar[bool] = True
    pair_only: ClassVar[bool] = True
    note_on_values: ClassVar[str] = "Preference: 1 if one output is preferred, 0 for a tie"
    needed: ClassVar[frozenset[str]] = frozenset({"points"})
    later_per: ClassVar[frozenset[str]] = frozenset()
    unsupported: ClassVar[frozenset[str]] = frozenset({"both_good", "both_bad", "tags", "display"})

    def label_of(self, value: int) -> str:
        return "preferred" if value else "tie"

    def is_row(self, value: int, *, has_output: bool) -> bool:
        return value == int(has_output)

    def select_rows(self) -> Q:
        return Q(value=1, output__isnull=False) | Q(value=0, output__isnull=True)

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

    def make_rows(self, answer: Any, output_ids: Sequence[int], number: int) -> tuple[Row, ...]:
        preferred = {"first": output_ids[0], TIE: None, "second": output_ids[1]}[answer]
        return ((preferred, 0 if preferred is None else 1),)

    def read_values(
        self, given: Mapping[int | None, int], output_ids: Sequence[int]
    ) -> list[int | None]:
        if None in given:
            return [0]
        preferred = (number for number, pk in enumerate(output_ids, start=1) if pk in given)
        return [next(preferred, None)]

    def write_entries(self, values: Sequence[int | None], order: Sequence[int]) -> dict[int, str]:
        (preferred,) = values
        if preferred is None:
            return {}
        return {0: ("first", "second")[order.index(preferred - 1)] if preferred else TIE}

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
        sentence = say_verdict(
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
            {"value": value, "label": label} for value, label in zip(_VALUES, labels, strict=True)
        ]
        return {"kind": self.kind, "points": points}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        first, tie, second = (point["label"] for point in data["points"])
        return cls(first=first, tie=tie, second=second)

    @classmethod
    def check_data(cls, data: Mapping[str, Any], place: str, faults: Faults) -> None:
        super().check_data(data, place, faults)
        if "points" not in data:
            return
        at = f"{place}.points"
        points = check_list(data["points"], at, faults, least=2, most=7)
        checked = [_check_point(one, f"{at}.{number}", faults) for number, one in enumerate(points)]
        values = [value for value in checked if value is not None]
        if len(values) < len(points):
            return
        if values != sorted(set(values)) or [-value for value in reversed(values)] != values:
            faults.add("not_symmetric", at, "must have values that rise and mirror around 0")
        elif tuple(values) != _VALUES:
            faults.add("not_supported", at, "can only be -1, 0 and 1 in this version")

    def rating_to_data(self, ratings: Sequence[int]) -> Any:
        (preferred,) = ratings
        return (0, -1, 1)[preferred]

    def rating_from_data(self, data: Any) -> tuple[int, ...]:
        return ({0: 0, -1: 1, 1: 2}[data],)

    def check_rating(self, data: Any, outputs: int, place: str, faults: Faults) -> None:
        if check_whole(data, place, faults) and data not in _VALUES:
            faults.add("unknown_answer", place, "isn't an answer on this scale")

    def gold_to_data(self, text: str) -> Any:
        """Write a gold of a practice item, whose outputs have no systems: a number, or tie."""
        return {"1": "-1", "2": "1"}.get(text.strip(), "0")

    def write_gold(self, values: Sequence[int | None]) -> str:
        (preferred,) = values
        return str(preferred) if preferred else TIE

    def gold_from_data(self, data: Any) -> str:
        return {"-1": "1", "1": "2", "0": TIE}[data]


def _check_point(point: Any, place: str, faults: Faults) -> int | None:
    """Return the value of a point; None if it has none that can be used."""
    if not check_keys(point, place, faults, needed={"value", "label"}, optional={"notes"}):
        return None
    if "notes" in point:
        faults.add("not_supported", f"{place}.notes", "are not shown by this version yet")
    check_text(point.get("label", "-"), f"{place}.label", faults)
    is_value = check_whole(point.get("value", 0), f"{place}.value", faults, least=-3, most=3)
    return point.get("value") if is_value else None
