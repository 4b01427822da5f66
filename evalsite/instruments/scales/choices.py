"""Any number of several options, each ticked or not."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from pydantic import Field

from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.faults import Fault
from evalsite.instruments.fields import EntryInput
from evalsite.instruments.scales.base import (
    QuestionWords,
    find_bad_counts,
    join_choices,
)
from evalsite.instruments.scales.options import Option, ScaleOfOptions, join_words, split_words
from evalsite.instruments.scales.points import Parts, parse_parts, quote

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
        alone = [
            option.label for option in scale.options if option.exclusive and option.key in ticked
        ]
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


class Choices(ScaleOfOptions):
    """Options of which `least` to `most` are ticked; each is stored as 1 or 0.

    As entry the keys of those ticked, with spaces between them, and words of one's own after a
    line break; as answer and value a tuple.
    """

    kind: Literal["choices"] = Field(title="Choose several")
    family: ClassVar[str] = "categories"
    tests: ClassVar[frozenset[str]] = frozenset({"includes"})
    counted: ClassVar[str] = "options ticked"
    has_parts: ClassVar[bool] = True
    is_told_in_words: ClassVar[bool] = True
    note_on_values: ClassVar[str] = "Choices: 1 if the option was ticked, 0 if not"
    minimum: ClassVar[int] = 0
    maximum: ClassVar[int] = 1
    options: Annotated[list[Option], Field(min_length=1, max_length=200)] = Field(
        title="Options, one per line",
        examples=[
            [
                {"key": "first_option", "label": "First option"},
                {"key": "second_option", "label": "Second option"},
            ]
        ],
        json_schema_extra={"is_in_sight": True, "noun": "option"},
    )
    shuffle: bool = Field(False, title="Show the options in random order")
    least: int = Field(0, ge=0, title="Choose at least")
    most: int | None = Field(None, ge=1, title="Choose at most")

    def find_faults(self, at: str) -> Iterator[Fault]:
        yield from super().find_faults(at)
        yield from find_bad_counts(self.least, self.most, len(self.options), at)

    def list_testable(self) -> tuple[Any, ...]:
        return self.keys

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return self.are_testable(answer)

    @property
    def highest(self) -> int:
        return len(self.options) if self.most is None else self.most

    @property
    def columns(self) -> frozenset[str]:
        has_words = any(option.other for option in self.options)
        return frozenset({"part", "text"} if has_words else {"part"})

    def label_of_row(self, value: float, part: str) -> str:
        return self.name_tested(part)

    def is_part(self, part: str) -> bool:
        return part in self.keys

    def select_rows(self) -> Q:
        with_words = [option.key for option in self.options if option.other]
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
        words = self.read_words(data, name) if has_words else ""
        return join_words(" ".join(ticked), words)

    def name_entry(self, entry: str) -> str:
        keys, words = split_words(entry)
        answer = [join_words(key, words if self.has_words(key) else "") for key in keys.split()]
        return ", ".join(map(self.name_tested, answer)) or _("nothing ticked")

    def make_field(
        self, criterion: QuestionWords, output_name: str, *, is_one_of_several: bool = False
    ) -> ChoicesField:
        name = f"{output_name[:1].lower()}{output_name[1:]}"
        missing = (
            _("Choose answers to %(criterion)s for %(name)s")
            if is_one_of_several
            else _("Choose answers to %(criterion)s")
        ) % {"criterion": criterion.label.lower(), "name": name}
        return ChoicesField(scale=self, missing=missing, may_be_missing=not criterion.required)

    # --- stored and read back

    def make_rows(
        self, answer: Any, about: AnswerRow, output_ids: Sequence[int]
    ) -> tuple[AnswerRow, ...]:
        words = dict(map(split_words, answer))
        return tuple(
            about._replace(part=key, value=int(key in words), text=words.get(key, ""))
            for key in self.keys
        )

    def read_rows(self, rows: Sequence[AnswerRow], output_ids: Sequence[int]) -> tuple[str, ...]:
        ticked = {row.part: join_words(row.part, row.text) for row in rows if row.value}
        return tuple(ticked[key] for key in self.keys if key in ticked)

    def write_entry(self, value: Any, order: Sequence[int]) -> str:
        words = dict(map(split_words, value))
        return join_words(" ".join(words), "".join(words.values()))

    # --- conditions name keys

    def list_tested(self, answer: Any) -> tuple[Any, ...]:
        return self.read_answer(answer)

    # --- gold: the keys of the options for each output ("late rude"), or - for none

    def parse_gold(self, text: str, outputs: Sequence[str]) -> Parts:
        return parse_parts(text, len(outputs), self._parse_keys)

    def _parse_keys(self, part: str) -> tuple[tuple[str, ...], ...]:
        right = [] if part == NOTHING else part.split()
        for key in right:
            if key not in self.keys:
                keys = join_choices(self.keys)
                raise ValidationError(
                    f"{quote(key)} is not an answer. Write {keys}, with spaces between them, or "
                    f"{NOTHING} for none."
                )
        return (tuple(key for key in self.keys if key in right),)

    def read_answer(self, value: Any) -> Any:
        return tuple(dict(map(split_words, value)))

    def name_right(self, value: Any) -> str:
        return f"“{self.name_entry(' '.join(value))}”"

    # --- words

    def describe_choices(self) -> str:
        return f"any of {join_choices(self.keys)}, with spaces between them"

    def describe_values(self) -> str:
        listed = ", ".join(f"{option.key} ({option.label})" for option in self.options)
        return f"1 = ticked, 0 = not ticked, a row for each of: {listed}"

    def write_cell(self, rows: Sequence[AnswerRow]) -> str:
        return " ".join(row.part for row in rows if row.value) or NOTHING

    def describe_answer(self, rows: Sequence[AnswerRow]) -> str:
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
        return "\n".join([*self.write_options(), "", "Any number of them."])

    def words(self) -> str:
        return f"a choice of any of {len(self.options)} options"

    def name_choices(self) -> tuple[str, ...]:
        return tuple(option.label for option in self.options)

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        worth = felt[max(number - 1, 0)]
        free = [option.key for option in self.options if not option.exclusive]
        count = min(max(round(2 - worth), self.least), self.highest, len(free))
        return " ".join(free[: max(count, 0)]) or (self.keys[0] if self.least else "")

    # --- worked examples and gold in data

    def rating_from_data(self, data: Any) -> tuple[Any, ...]:
        return tuple(tuple(value) for value in data)

    def gold_to_data(self, text: str) -> Any:
        return [
            None if not part.strip() else [] if part.strip() == NOTHING else part.split()
            for part in text.split(",")
        ]

    def write_gold(self, values: Sequence[Any | None]) -> str:
        return self.gold_from_data(
            [None if value is None else [*self.read_answer(value)] for value in values]
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
