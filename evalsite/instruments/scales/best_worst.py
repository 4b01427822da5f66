"""Which output is best, and which is worst."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext as _
from pydantic import Field, PrivateAttr

from evalsite.instruments.answer import ORDER_SHOWN, SYSTEMS_SHOWN, AnswerRow
from evalsite.instruments.fields import EntryInput
from evalsite.instruments.parts import Words
from evalsite.instruments.scales.base import Judged, Per, QuestionWords, Scale
from evalsite.instruments.scales.points import quote, verdict_in_words

ENDS = ("best", "worst")
_VALUES = {"best": 1, "worst": -1}
# of an end that wasn't chosen, in an entry
_OPEN = "-"
# no space of its own, which a name may have as well: many of them would take hours
_GOLD = re.compile(r"(?:best:(.*?))?(?:worst:(.*))?", re.IGNORECASE | re.DOTALL)


class Ends(NamedTuple):
    """The numbers of the best and the worst output, from 1; None where a gold asks nothing."""

    best: int | None
    worst: int | None


class Listed(NamedTuple):
    """An output in the list of its question: its number on the page, and whether it is an end."""

    number: int
    label: str
    is_best: bool
    is_worst: bool


class BestWorstField(forms.Field):
    """Two outputs by their places on the page: the best and the worst."""

    def __init__(self, *, scale: "BestWorst", criterion: QuestionWords) -> None:
        self.scale, self.criterion = scale, criterion
        super().__init__(required=False, widget=EntryInput(scale.read_entry))

    def clean(self, value: Any) -> Ends:
        sent = str(value or "").split()
        known = {str(number): number for number in range(1, len(self.scale.names) + 1)}
        about = {
            "criterion": self.criterion.label,
            "best": self.scale.best,
            "worst": self.scale.worst,
        }
        missing = _("Choose “%(best)s” and “%(worst)s” for “%(criterion)s”") % about
        if not sent or {*sent} == {_OPEN}:
            raise ValidationError(missing, code="required")
        if len(sent) != len(ENDS) or not {*sent} <= {*known, _OPEN}:
            raise ValidationError(
                _("%(missing)s: that was not one of the answers") % {"missing": missing},
                code="invalid",
            )
        if _OPEN in sent:
            lacking = self.scale.best if sent[0] == _OPEN else self.scale.worst
            raise ValidationError(
                _("%(missing)s: “%(end)s” is still missing") % {"missing": missing, "end": lacking},
                code="incomplete",
            )
        best, worst = (known[number] for number in sent)
        if best == worst:
            raise ValidationError(
                _("%(name)s can’t be both “%(best)s” and “%(worst)s”. Choose two different ones")
                % (about | {"name": self.scale.names[best - 1]}),
                code="same",
            )
        return Ends(best, worst)


class BestWorst(Scale):
    """Stored as two rows: 1 of the best output and -1 of the worst.

    An entry holds the numbers of both on the page: "3 1". Its value has their numbers in the order
    uploaded.
    """

    kind: Literal["best_worst"] = Field(title="Best and worst")
    family: ClassVar[str] = "ranks"
    asked: ClassVar[tuple[Per, ...]] = ("item",)
    directed: ClassVar[bool] = False
    needs: ClassVar[Literal["", "pair", "several"]] = "several"
    fewest: ClassVar[int] = 3
    orders: ClassVar[bool] = True
    makes_tuples: ClassVar[bool] = True
    has_parts: ClassVar[bool] = True
    is_typed: ClassVar[bool] = True
    is_told_in_words: ClassVar[bool] = True
    note_on_values: ClassVar[str] = "Best and worst: 1 for the best output, -1 for the worst"
    minimum: ClassVar[int] = -1
    maximum: ClassVar[int] = 1
    best: Words = Field(title="Word for the best", examples=["Best"])
    worst: Words = Field(title="Word for the worst", examples=["Worst"])
    _names: tuple[str, ...] = PrivateAttr(())  # of the outputs of an item, as its page has them

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return self.is_gold(answer, outputs) and len(answer) == 2

    def is_gold(self, gold: Any, outputs: int) -> bool:
        """Tell whether this names outputs by number; one end is enough."""
        if not isinstance(gold, dict) or not gold or gold.keys() - {*ENDS}:
            return False
        places = list(gold.values())
        are_outputs = all(type(place) is int and 1 <= place <= outputs for place in places)
        return are_outputs and len(set(places)) == len(places)

    @property
    def columns(self) -> frozenset[str]:
        return frozenset({SYSTEMS_SHOWN, ORDER_SHOWN})

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def for_outputs(self, names: Sequence[str]) -> Self:
        scale = self.model_copy()
        scale._names = tuple(names)
        return scale

    def label_of(self, value: float) -> str:
        return self.best if value == 1 else self.worst if value == -1 else ""

    def select_rows(self) -> Q:
        return Q(value__in=_VALUES.values(), part="", detail__isnull=True, text="")

    # --- page

    def first_control(self, name: str) -> str:
        return f"{name}.best-1"

    def read_entry(self, data: Mapping[str, Any], name: str) -> str:
        if data.get(name):
            return str(data[name])
        sent = [str(data.get(f"{name}.{end}") or _OPEN) for end in ENDS]
        return "" if set(sent) == {_OPEN} else " ".join(sent)

    def view_entry(self, entry: str) -> list[Listed]:
        best, worst, *_rest = [*entry.split(), _OPEN, _OPEN]
        return [
            Listed(number, name, str(number) == best, str(number) == worst)
            for number, name in enumerate(self.names, start=1)
        ]

    def name_entry(self, entry: str) -> str:
        known = {str(number): name for number, name in enumerate(self.names, start=1)}
        ends = zip((self.best, self.worst), entry.split(), strict=False)
        return ", ".join(f"{word}: {known[number]}" for word, number in ends if number in known)

    def make_field(
        self, criterion: QuestionWords, output_name: str, *, is_one_of_several: bool = False
    ) -> BestWorstField:
        return BestWorstField(scale=self, criterion=criterion)

    # --- stored and read back

    def make_rows(
        self, answer: Any, about: AnswerRow, output_ids: Sequence[int]
    ) -> tuple[AnswerRow, ...]:
        if about.output is not None:  # a row of a file
            return (about._replace(value=answer),)
        return tuple(
            about._replace(output=output_ids[number - 1], value=value)
            for number, value in zip(answer, _VALUES.values(), strict=True)
        )

    def read_rows(self, rows: Sequence[AnswerRow], output_ids: Sequence[int]) -> Ends | None:
        known = {
            row.value: output_ids.index(row.output) + 1 for row in rows if row.output in output_ids
        }
        return Ends(known[1], known[-1]) if known.keys() >= {1, -1} else None

    def write_entry(self, value: Any, order: Sequence[int]) -> str:
        places = {index + 1: place for place, index in enumerate(order, start=1)}
        return " ".join(str(places[number]) if number else _OPEN for number in value)

    # --- gold: "best: alpha; worst: beta", one end or both, by system or number

    def parse_gold(self, text: str, outputs: Sequence[str]) -> Ends:
        named = _read_gold(text)
        if not any(named):
            raise ValidationError(
                f"{quote(text)} names no best or worst output. Write it like “best: "
                f"{outputs[0]}; worst: {outputs[-1]}”, or only one of the two."
            )
        numbers = {str(number): number for number in range(1, len(outputs) + 1)}
        numbers |= {output: number for number, output in enumerate(outputs, start=1)}
        for name in filter(None, named):
            if name not in numbers:
                raise ValidationError(
                    f"{quote(name)} is not a system of this item. The systems are: "
                    f"{', '.join(outputs)}."
                )
        ends = Ends(*(numbers[name] if name else None for name in named))
        if ends.best == ends.worst:
            raise ValidationError(f"{quote(text)} names one output twice. Name two different ones.")
        return ends

    def judge(
        self,
        right: Ends,
        values: Sequence[Any],
        standard: int | None,
        names: Sequence[str],
        *,
        is_by_document: bool = False,
    ) -> Judged:
        (value,) = values
        ends = zip((self.best, self.worst), right, value, strict=True)
        return [
            (
                asked == chosen,
                f"{word}: "
                + verdict_in_words(
                    names[chosen - 1],
                    names[asked - 1],
                    is_met=asked == chosen,
                    is_by_document=is_by_document,
                ),
            )
            for word, asked, chosen in ends
            if asked is not None
        ]

    def count_asked(self, text: str, outputs: int, standard: int | None) -> int:
        names = [str(number) for number in range(1, outputs + 1)]
        return sum(end is not None for end in self.parse_gold(text, names))

    def right_values(self, right: Ends, outputs: int, standard: int | None) -> list[Any | None]:
        free = (number for number in range(1, outputs + 1) if number not in right)
        return [Ends(*(end or next(free) for end in right))]

    # --- files

    def file_words(self) -> dict[str, Any]:
        words = {self.best.casefold(): 1, self.worst.casefold(): -1}
        return words | _VALUES | {str(value): value for value in _VALUES.values()}

    def describe_choices(self) -> str:
        return "1 for the best output or -1 for the worst"

    def describe_values(self) -> str:
        return f"1 = {self.best}, -1 = {self.worst}; an output that is neither has no row"

    def describe_wide(self) -> tuple[str, bool, str]:
        return "whether the output was best or worst", True, "1 (best), -1 (worst) or nothing"

    def write_markdown(self) -> str:
        return f"- {self.best}: one output\n- {self.worst}: another one"

    def describe_ratings(self, ratings: Sequence[Any]) -> str:
        (ends,) = ratings
        names = self.names or [str(number) for number in range(1, max(ends) + 1)]
        return f"{self.best}: {names[ends.best - 1]}, {self.worst}: {names[ends.worst - 1]}"

    # --- words

    def describe_answer(self, rows: Sequence[AnswerRow]) -> str:
        return self.label_of(rows[0].value or 0)

    def words(self) -> str:
        return "a choice of the best and the worst output of an item"

    def name_choices(self) -> tuple[str, ...]:
        return self.best, self.worst

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        worths = list(felt)[: len(self.names) or None]
        best = max(range(len(worths)), key=lambda index: worths[index])
        worst = min(range(len(worths)), key=lambda index: (worths[index], index == best))
        return f"{best + 1} {worst + 1}"

    # --- worked examples and gold in data: {"best": 1, "worst": 4}

    def rating_from_data(self, data: Any) -> tuple[Any, ...]:
        return tuple(Ends(**ends) for ends in data)

    def gold_to_data(self, text: str) -> Any:
        return {
            end: int(number) for end, number in zip(ENDS, _read_gold(text), strict=True) if number
        }

    def gold_from_data(self, data: Any) -> str:
        return "; ".join(f"{end}: {data[end]}" for end in ENDS if end in data)

    def write_gold(self, values: Sequence[Any | None]) -> str:
        (value,) = values
        return "" if value is None else self.gold_from_data(dict(zip(ENDS, value, strict=True)))


def _read_gold(text: str) -> tuple[str, str]:
    """Return the names in “best: alpha; worst: beta”; "" for an end that isn't named."""
    match = _GOLD.fullmatch(text.strip())
    best, worst = match.groups("") if match else ("", "")
    return best.strip().removesuffix(";").rstrip(), worst.strip()
