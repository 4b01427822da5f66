"""Any number of several options, each ticked or not."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.fields import EntryInput
from evalsite.protocol import Criterion
from evalsite.protocol.faults import Faults
from evalsite.protocol.scale import Row, Stored, join_choices
from evalsite.scales.options import (
    ScaleOfOptions,
    join_words,
    read_options,
    read_words,
    split_words,
    write_options,
)
from evalsite.scales.points import Parts, parse_parts, quote

# in a gold: no option is right
NOTHING = "-"


class ChoicesField(forms.Field):
    """The options that were ticked, by their keys, in the order in which they are listed."""

    def __init__(self, *, scale: "Choices", missing: str, may_be_missing: bool) -> None:
        self.scale, self.missing, self.may_be_missing = scale, missing, may_be_missing
        super().__init__(required=False, widget=EntryInput(scale.read_entry))

    def clean(self, value: Any) -> tuple[str, ...]:
        (keys, words), scale = split_words(value or ""), self.scale
        sent = keys.split()
        if not set(sent) <= set(scale.keys):
            raise ValidationError(
                _("%(missing)s: that was not one of the answers") % {"missing": self.missing},
                code="invalid",
            )
        ticked = tuple(key for key in scale.keys if key in sent)
        if not ticked and (scale.least or self.may_be_missing):
            raise ValidationError(self.missing, code="required")
        alone = [one.label for one in scale.options if one.is_exclusive and one.key in ticked]
        if alone and len(ticked) > 1:
            raise ValidationError(
                _("“%(label)s” can’t be ticked beside another answer") % {"label": alone[0]},
                code="exclusive",
            )
        if len(ticked) < scale.least and not alone:
            raise ValidationError(
                ngettext(
                    "%(missing)s: tick at least %(count)s",
                    "%(missing)s: tick at least %(count)s",
                    scale.least,
                )
                % {"missing": self.missing, "count": scale.least},
                code="too_few",
            )
        if len(ticked) > scale.highest:
            raise ValidationError(
                ngettext(
                    "%(missing)s: tick %(count)s at most",
                    "%(missing)s: tick %(count)s at most",
                    scale.highest,
                )
                % {"missing": self.missing, "count": scale.highest},
                code="too_many",
            )
        return tuple(join_words(key, words if scale.has_words(key) else "") for key in ticked)


@dataclass(frozen=True, kw_only=True)
class Choices(ScaleOfOptions):
    """Options of which `least` to `most` are ticked; each is stored as 1 or 0.

    As entry the keys of those ticked, with spaces between them, and words of one's own after a
    line break; as answer and value a tuple. `is_shuffled`: each person sees the options in an order
    of their own, `shown`.
    """

    least: int = 0
    most: int | None = None
    minimum: ClassVar[int] = 0
    maximum: ClassVar[int] = 1
    kind: ClassVar[str] = "choices"
    title: ClassVar[str] = "Choose several"
    family: ClassVar[str] = "categories"
    counted: ClassVar[str] = "options ticked"
    has_parts: ClassVar[bool] = True
    is_told_in_words: ClassVar[bool] = True
    tests: ClassVar[frozenset[str]] = frozenset({"includes"})
    note_on_values: ClassVar[str] = "Choices: 1 if the option was ticked, 0 if not"
    needed: ClassVar[frozenset[str]] = frozenset({"options"})
    optional: ClassVar[frozenset[str]] = frozenset({"least", "most", "shuffle"})

    @property
    def highest(self) -> int:
        return len(self.options) if self.most is None else self.most

    @property
    def columns(self) -> frozenset[str]:
        has_words = any(one.has_words for one in self.options)
        return frozenset({"part", "text"} if has_words else {"part"})

    def has_words(self, key: str) -> bool:
        return any(one.has_words and one.key == key for one in self.options)

    def label_of_row(self, value: int, part: str) -> str:
        return self.name_tested(part)

    def is_part(self, part: str) -> bool:
        return part in self.keys

    def select_rows(self) -> Q:
        with_words = [one.key for one in self.options if one.has_words]
        words = Q(text="") | Q(part__in=with_words, value=1)
        return Q(part__in=self.keys, value__in=(0, 1), detail__isnull=True) & words

    # --- page

    def first_control(self, name: str) -> str:
        return f"{name}.{self.shown_options[0].key}"

    def read_entry(self, data: Mapping[str, Any], name: str) -> str:
        ticked = [key for key in self.keys if data.get(f"{name}.{key}")]
        if whole := str(data.get(name) or ""):
            return whole
        has_words = any(map(self.has_words, ticked))
        words = read_words(data, name, self.options) if has_words else ""
        return join_words(" ".join(ticked), words)

    def name_entry(self, entry: str) -> str:
        keys, words = split_words(entry)
        said = [join_words(key, words if self.has_words(key) else "") for key in keys.split()]
        return ", ".join(map(self.name_tested, said)) or _("nothing ticked")

    def make_field(
        self, criterion: Criterion, output_name: str, *, is_one_of_several: bool = False
    ) -> ChoicesField:
        name = f"{output_name[:1].lower()}{output_name[1:]}"
        missing = (
            _("Choose answers to %(criterion)s for %(name)s")
            if is_one_of_several
            else _("Choose answers to %(criterion)s")
        ) % {"criterion": criterion.label.lower(), "name": name}
        return ChoicesField(scale=self, missing=missing, may_be_missing=not criterion.is_required)

    # --- stored and read back

    def make_rows(
        self, answer: Any, output_ids: Sequence[int | None], number: int
    ) -> tuple[Row, ...]:
        output_id = output_ids[number - 1]
        said = dict(map(split_words, answer))
        return tuple(Row(output_id, int(key in said), key, said.get(key, "")) for key in self.keys)

    def read_values(
        self, rows: Iterable[Stored], output_ids: Sequence[int | None]
    ) -> list[Any | None]:
        given: dict[int | None, dict[str, str]] = {}
        for row in rows:
            ticked = given.setdefault(row.output_id, {})
            if row.value:
                ticked[row.part] = join_words(row.part, row.text)
        return [
            tuple(given[one][key] for key in self.keys if key in given[one])
            if one in given
            else None
            for one in output_ids
        ]

    def write_entries(self, values: Sequence[Any | None], order: Sequence[int]) -> dict[int, str]:
        return {
            place: self._write_entry(value)
            for place, index in enumerate(order, start=1)
            if (value := values[index]) is not None
        }

    @staticmethod
    def _write_entry(value: Sequence[str]) -> str:
        said = dict(map(split_words, value))
        return join_words(" ".join(said), "".join(said.values()))

    # --- conditions name keys

    def list_tested(self, answer: Any) -> tuple[Any, ...]:
        return tuple(dict(map(split_words, answer)))

    def list_testable(self) -> tuple[Any, ...]:
        return self.keys

    def name_tested(self, value: Any) -> str:
        key, words = split_words(value)
        label = next((one.label for one in self.options if one.key == key), key)
        return f"{label}: {words}" if words else label

    # --- gold: the keys of the options for each output ("late rude"), or - for none

    def parse_gold(self, text: str, outputs: Sequence[str]) -> Parts:
        return parse_parts(text, len(outputs), self._parse_keys)

    def _parse_keys(self, part: str) -> tuple[tuple[str, ...], ...]:
        wanted = [] if part == NOTHING else part.split()
        for key in wanted:
            if key not in self.keys:
                keys = join_choices(self.keys)
                raise ValidationError(
                    f"{quote(key)} is not an answer. Write {keys}, with spaces between them, or "
                    f"{NOTHING} for none."
                )
        return (tuple(key for key in self.keys if key in wanted),)

    def read_given(self, value: Any) -> Any:
        return tuple(dict(map(split_words, value)))

    def name_right(self, value: Any) -> str:
        return f"“{self.name_entry(' '.join(value))}”"

    # --- words

    def describe_choices(self) -> str:
        return f"any of {join_choices(self.keys)}, with spaces between them"

    def describe_values(self) -> str:
        told = ", ".join(f"{one.key} ({one.label})" for one in self.options)
        return f"1 = ticked, 0 = not ticked, a row for each of: {told}"

    def write_cell(self, rows: Sequence[Stored]) -> str:
        return " ".join(row.part for row in rows if row.value) or NOTHING

    def describe_answer(self, rows: Sequence[Stored]) -> str:
        ticked = [row for row in rows if row.value]
        labels = {option.key: option.label for option in self.options}
        words = [(labels.get(row.part, row.part), row.text) for row in ticked]
        return ", ".join(f"{label}: {text}" if text else label for label, text in words) or "none"

    def describe_wide(self) -> tuple[str, bool, str]:
        allowed = f"{', '.join(self.keys)}, with spaces between them; {NOTHING} if none was ticked"
        return "the options that were ticked, by their keys", False, allowed

    def describe_ratings(self, ratings: Sequence[Any]) -> str:
        return "; ".join(self.name_entry(" ".join(value)) for value in ratings)

    def write_markdown(self) -> str:
        return "\n".join([*write_options(self.options), "", "Any number of them."])

    def words(self) -> str:
        return f"a choice of any of {len(self.options)} options"

    def name_choices(self) -> tuple[str, ...]:
        return tuple(option.label for option in self.options)

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        worth = felt[max(number - 1, 0)]
        free = [option.key for option in self.options if not option.is_exclusive]
        count = min(max(round(2 - worth), self.least), self.highest, len(free))
        return " ".join(free[: max(count, 0)]) or (self.keys[0] if self.least else "")

    # --- plain data

    def to_data(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "kind": self.kind, "options": [option.to_data() for option in self.options],
        }  # fmt: skip
        data |= {"shuffle": True} if self.is_shuffled else {}
        data |= {"least": self.least} if self.least else {}
        return data | ({} if self.most is None else {"most": self.most})

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        return cls(
            options=read_options(data["options"]),
            least=data.get("least", 0),
            most=data.get("most"),
            is_shuffled=data.get("shuffle", False),
        )

    def rating_to_data(self, ratings: Sequence[Any]) -> Any:
        return [list(value) for value in ratings]

    def rating_from_data(self, data: Any) -> tuple[Any, ...]:
        return tuple(tuple(value) for value in data)

    def check_rating(self, data: Any, outputs: int, place: str, faults: Faults) -> None:
        known = self.keys
        if not isinstance(data, list) or len(data) != outputs:
            faults.add("type", place, "must be a list of the keys ticked for each output")
            return
        for number, keys in enumerate(data):
            if not isinstance(keys, list) or not all(key in known for key in keys):
                faults.add("unknown_answer", f"{place}.{number}", "isn't an answer on this scale")

    def gold_to_data(self, text: str) -> Any:
        return [
            None if not part.strip() else [] if part.strip() == NOTHING else part.split()
            for part in text.split(",")
        ]

    def write_gold(self, values: Sequence[Any | None]) -> str:
        return self.gold_from_data(
            [None if one is None else [*dict(map(split_words, one))] for one in values]
        )

    def gold_from_data(self, data: Any) -> str:
        return ", ".join(
            "" if part is None else " ".join(part) or NOTHING
            for part in (_as_list(part) for part in data)
        )


def _as_list(part: Any) -> list[str] | None:
    if part is not None and not isinstance(part, list):
        raise TypeError("The gold of each output is a list of keys.")
    return part
