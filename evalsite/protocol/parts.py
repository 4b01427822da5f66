"""The parts of an instrument: what is asked, about what, and of whom."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from django.utils.translation import gettext as _

from evalsite.instruments.schema import Aid as Aid
from evalsite.instruments.schema import CheckQuestion as CheckQuestion
from evalsite.instruments.schema import Column as Column
from evalsite.instruments.schema import Comment as Comment
from evalsite.instruments.schema import Condition as Condition
from evalsite.instruments.schema import Design as Design
from evalsite.instruments.schema import Ignore as Ignore
from evalsite.instruments.schema import IgnoreReason as IgnoreReason
from evalsite.instruments.schema import InputColumn as InputColumn
from evalsite.instruments.schema import Layout as Layout
from evalsite.instruments.schema import OutputColumn as OutputColumn
from evalsite.instruments.schema import Source as Source
from evalsite.instruments.schema import Turns as Turns
from evalsite.protocol.scale import Row, Scale, Stored

if TYPE_CHECKING:
    from django.forms import Field

# the part of a stored rating that is a comment on a question
COMMENT = "comment"


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """One quality that is judged. `definition` is Markdown and always in full view.

    `range_note` says in one line what may be entered. `per`: each output, each of some turns of a
    conversation, or the item as a whole; "": as the scale does. `ask_if` says when it is asked;
    without it always. `asked_turns` are those of an item (`for_item`). `better`: whether higher or
    lower values are better, or none; "": as the scale says.
    """

    key: str
    label: str
    scale: Scale
    definition: str = ""
    summary: str = ""
    question: str = ""
    range_note: str = ""
    per: Literal["", "output", "item", "turn"] = ""
    turns: Turns | None = None
    asked_turns: tuple[int, ...] = ()
    required: bool = True
    comment: Comment | None = None
    ask_if: Condition | None = None
    better: Literal["", "higher", "lower", "none"] = ""

    @property
    def is_required(self) -> bool:
        return self.required

    @property
    def direction(self) -> str:
        """Say which values are better; "" where nothing says it."""
        return self.better or self.scale.better

    @property
    def asked_per(self) -> Literal["output", "item", "turn"]:
        return self.per or self.scale.per

    @property
    def per_output(self) -> bool:
        """Tell whether its ratings are of outputs, or of their turns."""
        return self.asked_per != "item"

    @property
    def per_turn(self) -> bool:
        return self.per == "turn"

    @property
    def family(self) -> str:
        """Name the family of its analysis: numbers of turns are averaged, whatever their scale."""
        return "turns" if self.per_turn and self.scale.family != "text" else self.scale.family

    @property
    def is_always_answered(self) -> bool:
        """Tell whether every answer to an item holds one to this criterion."""
        return self.required and self.ask_if is None

    @property
    def columns(self) -> frozenset[str]:
        """Name the columns of files that its answers need beside the number."""
        found = self.scale.columns | ({"part", "text"} if self.comment else frozenset())
        return found | {"turn"} if self.per_turn else found

    def for_item(self, inputs: Mapping[str, Any], outputs: Sequence[str] = ()) -> "Criterion":
        """Return the criterion with what the inputs and the outputs of an item bring to it."""
        scale = self.scale.for_item(inputs)
        if self.turns is not None:
            text = outputs[0] if len(outputs) == 1 else ""
            return replace(self, scale=scale, asked_turns=self.turns.list_turns(inputs, text))
        return self if scale is self.scale else replace(self, scale=scale)

    def for_person(self, seed: str) -> "Criterion":
        """Return the criterion as the person of this seed sees it."""
        if not self.scale.is_of_person:
            return self
        return replace(self, scale=self.scale.for_person(f"{seed}/{self.key}"))

    def make_field(self, output_name: str, *, is_one_of_several: bool = False) -> "Field":
        """Make the form field that asks for one rating of an output of this name."""
        return self.scale.make_field(self, output_name, is_one_of_several=is_one_of_several)

    # --- what a scale of outputs stores of an item as a whole is of no output; what it stores of
    # turns is of the only output, and its question has the number of the turn

    @property
    def _is_lifted(self) -> bool:
        return self.per == "item" and self.scale.per == "output"

    def make_rows(self, answer: Any, output_ids: Sequence[int], number: int) -> tuple[Row, ...]:
        """Return what to store of an answer. `output_ids` are in the order of the page."""
        if self._is_lifted:
            return self.scale.make_rows(answer, [None], 1)
        if self.per_turn:
            place = self.asked_turns.index(number) + 1
            rows = self.scale.make_rows(answer, self.asked_turns, place)
            return tuple(row._replace(output_id=output_ids[0], turn=number) for row in rows)
        return self.scale.make_rows(answer, output_ids, number)

    def read_values(self, rows: Iterable[Stored], output_ids: Sequence[int]) -> list[Any | None]:
        """Return the values that these rows hold, comments aside, for outputs in this order.

        Of a criterion that is asked per turn: for its turns.
        """
        own = [row for row in rows if row.part != COMMENT]
        if self.per_turn:
            by_turn = [Row(row.turn, row.value, row.part, row.text, row.detail) for row in own]
            return self.scale.read_values(by_turn, self.asked_turns)
        return self.scale.read_values(own, [None] if self._is_lifted else output_ids)

    def write_entries(self, values: Sequence[Any | None], order: Sequence[int]) -> dict[int, str]:
        """Return the entry of each question that has a value, by its number on the page."""
        if self._is_lifted:
            found = self.scale.write_entries(values, [0])
            return {0: found[1]} if found else {}
        if self.per_turn:
            found = self.scale.write_entries(values, range(len(values)))
            known = {place: turn for place, turn in enumerate(self.asked_turns, start=1)}
            return {known[place]: entry for place, entry in found.items() if place in known}
        return self.scale.write_entries(values, order)

    def list_judged(self, outputs: Sequence[str]) -> Sequence[str]:
        """Return which of these outputs its gold speaks of: all, the item as a whole, or turns."""
        if self.per_turn:
            return [_("Turn %(number)s") % {"number": number} for number in self.asked_turns]
        return outputs[:1] if self._is_lifted else outputs

    # --- worked examples and gold in data: one answer of an item, or a list

    def rating_to_data(self, ratings: Sequence[Any]) -> Any:
        if self.per_turn:
            return [[None if one is None else self.scale.rating_to_data([one])[0]
                     for one in ratings]]  # fmt: skip
        data = self.scale.rating_to_data(ratings)
        return data[0] if self._is_lifted else data

    def rating_from_data(self, data: Any) -> tuple[Any, ...]:
        if self.per_turn:
            return tuple(
                None if one is None else self.scale.rating_from_data([one])[0] for one in data[0]
            )
        return self.scale.rating_from_data([data] if self._is_lifted else data)

    def gold_to_data(self, text: str) -> Any:
        data = self.scale.gold_to_data(text)
        return data[0] if self._is_lifted else [data] if self.per_turn else data

    def gold_from_data(self, data: Any) -> str:
        found = [data] if self._is_lifted else data[0] if self.per_turn else data
        return self.scale.gold_from_data(found)


@dataclass(frozen=True, kw_only=True)
class Example:
    """A worked or practice item: inputs by column, output texts, given scores, and the why.

    `ratings` maps criterion to the values of its scale, in the order of the outputs. `gold` maps
    criterion to the right answers in the notation of gold columns. `marked` lists passages to
    mark, by input. `label` is what the document prints beside an example, and `criterion` the key
    of the one it explains. In worked examples `why` is Markdown.
    """

    inputs: Mapping[str, Any]
    outputs: tuple[str, ...]
    why: str = ""
    ratings: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    gold: Mapping[str, str] = field(default_factory=dict)
    marked: Mapping[str, Sequence[str]] = field(default_factory=dict)
    label: str = ""
    criterion: str = ""
