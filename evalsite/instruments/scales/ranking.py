"""An order of the outputs, best first."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, ClassVar, Literal, NamedTuple, Self

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from pydantic import Field, PrivateAttr

from evalsite.instruments.answer import ORDER_SHOWN, SYSTEMS_SHOWN, AnswerRow
from evalsite.instruments.fields import EntryInput
from evalsite.instruments.parts import Words
from evalsite.instruments.scales.base import Judged, Per, QuestionWords, Scale
from evalsite.instruments.scales.points import quote, verdict_in_words

# outputs of an item
_MOST = 10
# of an output without a place, in an entry
_OPEN = "-"
# of each output its place, from 1; None: it has none
Places = tuple[int | None, ...]


class Placed(NamedTuple):
    """An output in the list of its question: its number on the page, and the place it was given."""

    number: int
    label: str
    place: int | None

    @property
    def key(self) -> str:
        return str(self.number)


class RankingField(forms.Field):
    """A place for each output in the order of the page, or for the best ones.

    Places are numbered without gaps. After outputs that share one, the next may be numbered either
    way: 1, 2, 2, 3 or 1, 2, 2, 4. Both clean to the first.
    """

    def __init__(self, *, scale: "Ranking", criterion: QuestionWords) -> None:
        self.scale, self.criterion = scale, criterion
        super().__init__(required=False, widget=EntryInput(scale.read_entry))

    def clean(self, value: Any) -> Places:
        sent, names = str(value or "").split(), self.scale.names
        asked = self.scale.count_places(len(names))
        known = {str(place): place for place in range(1, asked + 1)}
        missing = (
            _("Give each output a place for “%(criterion)s”")
            if asked == len(names)
            else ngettext(
                "Give %(count)s output a place for “%(criterion)s”",
                "Give %(count)s outputs a place for “%(criterion)s”",
                asked,
            )
        ) % {"criterion": self.criterion.label, "count": asked}
        if not {*sent} <= {*known, _OPEN} or len(sent) > len(names):
            raise ValidationError(
                _("%(missing)s: that was not one of the answers") % {"missing": missing},
                code="invalid",
            )
        places = [known.get(place) for place in sent]
        placed = sorted(place for place in places if place is not None)
        if not placed:
            raise ValidationError(missing, code="required")
        self._check_order(places, placed)
        if (lacking := asked - len(placed)) > 0:
            raise ValidationError(
                ngettext(
                    "%(missing)s: %(count)s is still missing",
                    "%(missing)s: %(count)s are still missing",
                    lacking,
                )
                % {"missing": missing, "count": lacking},
                code="incomplete",
            )
        numbers = {place: number for number, place in enumerate(sorted({*placed}), start=1)}
        left_out = (None,) * (len(names) - len(places))
        return tuple(place and numbers[place] for place in places) + left_out

    def _check_order(self, places: Sequence[int | None], placed: Sequence[int]) -> None:
        """Refuse a place that is shared though it mustn't be, and one that nothing has."""
        before = 0
        for count, place in enumerate(placed):
            if place == before:
                if not self.scale.ties:
                    at = [name for name, its in zip(self.scale.names, places, strict=False)
                          if its == place]  # fmt: skip
                    words = _(
                        "%(first)s and %(second)s have the same place for “%(criterion)s”. "
                        "Give each a place of its own"
                    ) % {"first": at[0], "second": at[1], "criterion": self.criterion.label}
                    raise ValidationError(words, code="shared")
            elif place not in (before + 1, count + 1):
                words = _(
                    "No output has place %(place)s for “%(criterion)s”. "
                    "Number the places without gaps"
                ) % {"place": before + 1, "criterion": self.criterion.label}
                raise ValidationError(words, code="gap")
            before = place


class Ranking(Scale):
    """Stored as the place of each output, from 1; an output that has none is not stored.

    An entry holds the places with spaces between them, in the order of the page: "2 1 - 2". Its
    value is a tuple in the order uploaded.
    """

    kind: Literal["ranking"] = Field(title="Ranking")
    family: ClassVar[str] = "ranks"
    asked: ClassVar[tuple[Per, ...]] = ("item",)
    directed: ClassVar[bool] = False
    needs: ClassVar[Literal["", "pair", "several"]] = "several"
    fewest: ClassVar[int] = 2
    orders: ClassVar[bool] = True
    has_parts: ClassVar[bool] = True
    is_typed: ClassVar[bool] = True
    note_on_values: ClassVar[str] = "Ranking: the place of the output, 1 for the best"
    minimum: ClassVar[int] = 1
    ties: bool = Field(False, title="Outputs may share a place")
    top: int | None = Field(
        None, ge=1, le=10, title="Places to fill", description="Empty: every output gets one."
    )
    best: Words | None = Field(None, title="Words for the first place")
    worst: Words | None = Field(None, title="Words for the last place")
    _names: tuple[str, ...] = PrivateAttr(())  # of the outputs of an item, as its page has them

    def is_answer(self, answer: Any, outputs: int) -> bool:
        if not isinstance(answer, list) or len(answer) != outputs:
            return False
        ranks = [rank for rank in answer if rank is not None]
        are_places = all(type(rank) is int and 1 <= rank <= outputs for rank in ranks)
        return are_places and (self.ties or len(set(ranks)) == len(ranks))

    @property
    def maximum(self) -> int:
        return self.top or _MOST

    @property
    def columns(self) -> frozenset[str]:
        return frozenset({SYSTEMS_SHOWN, ORDER_SHOWN})

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def count_places(self, outputs: int) -> int:
        """Return how many of so many outputs get a place, at least."""
        return min(self.top or outputs, outputs)

    @property
    def places(self) -> range:
        """Return the places that an item has."""
        return range(1, self.count_places(len(self.names)) + 1)

    def for_outputs(self, names: Sequence[str]) -> Self:
        scale = self.model_copy()
        scale._names = tuple(names)
        return scale

    # --- page

    def first_control(self, name: str) -> str:
        return f"{name}.1"

    def read_entry(self, data: Mapping[str, Any], name: str) -> str:
        if data.get(name):
            return str(data[name])
        numbers = range(1, (len(self.names) or _MOST) + 1)
        sent = [str(data.get(f"{name}.{number}") or _OPEN) for number in numbers]
        return "" if set(sent) <= {_OPEN} else " ".join(sent)

    def view_entry(self, entry: str) -> list[Placed]:
        """Return the outputs in the order that they were given, those without a place last."""
        known = {str(place): place for place in self.places}
        places = [known.get(sent) for sent in entry.split()]
        places += [None] * (len(self.names) - len(places))
        outputs = [
            Placed(number, name, place)
            for number, (name, place) in enumerate(zip(self.names, places, strict=False), start=1)
        ]
        return sorted(outputs, key=lambda output: (output.place or _MOST + 1, output.number))

    def name_entry(self, entry: str) -> str:
        known = {str(place): place for place in range(1, _MOST + 1)}
        return _say_order([known.get(sent) for sent in entry.split()], self.names)

    def make_field(
        self, criterion: QuestionWords, output_name: str, *, is_one_of_several: bool = False
    ) -> RankingField:
        return RankingField(scale=self, criterion=criterion)

    # --- stored and read back

    def make_rows(
        self, answer: Any, about: AnswerRow, output_ids: Sequence[int]
    ) -> tuple[AnswerRow, ...]:
        if about.output is not None:  # a row of a file
            return (about._replace(value=answer),)
        return tuple(
            about._replace(output=output_id, value=place)
            for output_id, place in zip(output_ids, answer, strict=True)
            if place is not None
        )

    def read_rows(self, rows: Sequence[AnswerRow], output_ids: Sequence[int]) -> Places:
        places = {row.output: row.value for row in rows}
        return tuple(None if not places.get(pk) else int(places[pk] or 0) for pk in output_ids)

    def write_entry(self, value: Any, order: Sequence[int]) -> str:
        return " ".join(str(value[index] or _OPEN) for index in order)

    def weigh_place(self, value: float | None) -> float:
        return -inf if value is None else -value

    # --- gold: a place for each output, separated by commas; an empty one asks nothing

    def parse_gold(self, text: str, outputs: Sequence[str]) -> Places:
        parts = [part.strip() for part in text.split(",")]
        if len(parts) != len(outputs):
            raise ValidationError(
                f"{quote(text)} has places for {len(parts)} of {len(outputs)} outputs. Give one "
                "for each in the order of the file, separated by commas."
            )
        known = {str(place): place for place in range(1, len(outputs) + 1)} | {"": None}
        if wrong := [part for part in parts if part not in known]:
            raise ValidationError(
                f"{quote(wrong[0])} is no place. Use whole numbers from 1 to {len(outputs)}."
            )
        places = tuple(known[part] for part in parts)
        placed = [place for place in places if place is not None]
        if len(placed) < 2 or (not self.ties and len({*placed}) < len(placed)):
            raise ValidationError(
                f"{quote(text)} puts nothing in order. Give two outputs or more a place"
                f"{'' if self.ties else ', each its own'}."
            )
        return places

    def judge(
        self,
        right: Places,
        values: Sequence[Any],
        standard: int | None,
        names: Sequence[str],
        *,
        is_by_document: bool = False,
    ) -> Judged:
        (value,) = values
        # what the gold says nothing of may be anywhere
        chosen = [place and (its or _MOST + 1) for place, its in zip(right, value, strict=True)]
        is_met = _list_levels(chosen) == _list_levels(right)
        sentence = verdict_in_words(
            _say_order(chosen, names),
            _say_order(right, names),
            is_met=is_met,
            is_by_document=is_by_document,
        )
        return [(is_met, sentence)]

    def count_asked(self, text: str, outputs: int, standard: int | None) -> int:
        return 1

    def right_values(self, right: Places, outputs: int, standard: int | None) -> list[Any | None]:
        """Return an order that meets the gold; what it says nothing of comes last."""
        levels = _list_levels(right)
        rest = [[index] for index, place in enumerate(right) if place is None]
        places = {
            index: number for number, level in enumerate(levels + rest, start=1) for index in level
        }
        asked, before = self.count_places(outputs), 0
        kept: set[int] = set()
        for level in levels + rest:
            kept |= {*level} if before < asked else set()
            before += len(level)
        return [tuple(places[index] if index in kept else None for index in range(outputs))]

    # --- files

    def file_words(self) -> dict[str, Any]:
        return {str(place): place for place in range(1, self.maximum + 1)}

    def describe_choices(self) -> str:
        return f"a place from 1 (best) to {self.maximum}"

    def describe_values(self) -> str:
        shared = "outputs may share one" if self.ties else "each output has its own"
        best = f" for the {self.top} best" if self.top else ""
        return f"the place of the output{best}, 1 = best; {shared}"

    def describe_wide(self) -> tuple[str, bool, str]:
        return "the place of the output", True, f"1 (best) to {self.maximum}"

    def write_markdown(self) -> str:
        ends = [f"first place: {self.best}" if self.best else "",
                f"last place: {self.worst}" if self.worst else ""]  # fmt: skip
        words = f"{self.words()[:1].upper()}{self.words()[1:]}."
        return "\n".join([words, *(f"- {end}" for end in ends if end)])

    def describe_ratings(self, ratings: Sequence[Any]) -> str:
        (places,) = ratings
        names = self.names or [str(number) for number in range(1, len(places) + 1)]
        return _say_order(places, names)

    # --- words

    def describe_answer(self, rows: Sequence[AnswerRow]) -> str:
        return f"place {rows[0].value}"

    def words(self) -> str:
        of = f"the {self.top} best outputs" if self.top else "the outputs"
        return f"an order of {of} of an item, {'ties allowed' if self.ties else 'no ties'}"

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        worths = list(felt)[: len(self.names) or _MOST]
        asked = self.count_places(len(worths))
        best = sorted(range(len(worths)), key=lambda index: -worths[index])
        places: dict[int, int] = {}
        for before, index in zip([None, *best], best, strict=False):
            is_tied = self.ties and before is not None and abs(worths[before] - worths[index]) < 0.1
            last = max(places.values(), default=0)
            if is_tied and before in places:
                places[index] = last
            elif len(places) < asked:
                places[index] = last + 1
        return " ".join(str(places.get(index, _OPEN)) for index in range(len(worths)))

    # --- worked examples and gold in data: a list of places, null for none

    def rating_from_data(self, data: Any) -> tuple[Any, ...]:
        return tuple(tuple(places) for places in data)

    def gold_to_data(self, text: str) -> Any:
        return [int(part) if part.strip() else None for part in text.split(",")]

    def gold_from_data(self, data: Any) -> str:
        return ", ".join("" if place is None else str(place) for place in data)

    def write_gold(self, values: Sequence[Any | None]) -> str:
        (value,) = values
        return "" if value is None else self.gold_from_data(value)


def _list_levels(places: Sequence[int | None]) -> list[list[int]]:
    """Return the indexes of the outputs at each place, best first."""
    known = sorted({place for place in places if place is not None})
    return [[index for index, its in enumerate(places) if its == place] for place in known]


def _say_order(places: Sequence[int | None], names: Sequence[str]) -> str:
    """Say an order: "Text B, then Text A and Text C"."""
    levels = [
        _(" and ").join(names[index] for index in level)
        for level in _list_levels(places)
        if level[-1] < len(names)
    ]
    return _(", then ").join(levels)
