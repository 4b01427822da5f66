"""One of several options, which have no order."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext as _
from pydantic import Field

from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.fields import EntryInput, PointField
from evalsite.instruments.parts import Words
from evalsite.instruments.scales.base import NA, QuestionWords, join_choices
from evalsite.instruments.scales.options import Option, ScaleOfOptions, join_words, split_words
from evalsite.instruments.scales.points import Parts, parse_parts, quote


class ChoiceField(PointField):
    """The key of an option, with the words written at it where it has a box for them."""

    def __init__(self, *, scale: "Choice", **kwargs: Any) -> None:
        super().__init__(widget=EntryInput(scale.read_entry), **kwargs)

    def clean(self, value: Any) -> str:
        key, words = split_words(value or "")
        return join_words(super().clean(key), words)


class Choice(ScaleOfOptions):
    """One of the options. Its value is the place of the option, from 1; its key is kept beside it.

    As entry, answer and in data it is the key.
    """

    kind: Literal["choice"] = Field(title="Choose one")
    family: ClassVar[str] = "categories"
    tests: ClassVar[frozenset[str]] = frozenset({"is"})
    is_told_in_words: ClassVar[bool] = True
    note_on_values: ClassVar[str] = "Choice: the place of the option in the instrument, from 1"
    minimum: ClassVar[int] = 1
    options: Annotated[list[Option], Field(min_length=2, max_length=200)] = Field(
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
    not_applicable: Words | None = Field(
        None, title="Words for “not applicable”", description="Empty: it isn’t offered."
    )

    @property
    def maximum(self) -> int:
        return len(self.options)

    @property
    def columns(self) -> frozenset[str]:
        words = {"text"} if any(option.other for option in self.options) else set()
        return super().columns | {"option"} | words

    def list_answers(self) -> tuple[tuple[int, str], ...]:
        return tuple((place, option.label) for place, option in enumerate(self.options, start=1))

    def select_rows(self) -> Q:
        fitting = Q(value__isnull=True, detail__na=True) if self.na_words else Q(pk=None)
        fitting &= Q(text="")
        for place, option in enumerate(self.options, start=1):
            words = Q() if option.other else Q(text="")
            fitting |= Q(value=place, detail__option=option.key) & words
        return fitting & Q(part="")

    # --- page

    def read_entry(self, data: Mapping[str, Any], name: str) -> str:
        key, words = split_words(super().read_entry(data, name))
        return join_words(key, words or self.read_words(data, name)) if self.has_words(key) else key

    def first_control(self, name: str) -> str:
        return f"{name}-{self.shown_options[0].key}"

    def name_entry(self, entry: str) -> str:
        return self.name_tested(entry)

    def make_field(
        self, criterion: QuestionWords, output_name: str, *, is_one_of_several: bool = False
    ) -> "ChoiceField":
        name = f"{output_name[:1].lower()}{output_name[1:]}"
        return ChoiceField(
            scale=self,
            values={key: key for key in self.keys} | self.na_entry,
            missing=(
                _("Choose an answer to %(criterion)s for %(name)s")
                if is_one_of_several
                else _("Choose an answer to %(criterion)s")
            )
            % {"criterion": criterion.label.lower(), "name": name},
            label=criterion.label,
        )

    # --- stored and read back

    def make_rows(
        self, answer: Any, about: AnswerRow, output_ids: Sequence[int]
    ) -> tuple[AnswerRow, ...]:
        if answer == NA:
            return (about._replace(detail={NA: True}),)
        key, words = split_words(answer)
        place = self.keys.index(key) + 1
        return (about._replace(value=place, text=words, detail={"option": key}),)

    def read_rows(self, rows: Sequence[AnswerRow], output_ids: Sequence[int]) -> str:
        row = rows[0]
        if row.value is None:
            return NA
        return join_words((row.detail or {}).get("option", ""), row.text)

    # --- conditions name keys

    def list_testable(self) -> tuple[Any, ...]:
        return (*self.keys, *self.na_entry)

    def list_tested(self, answer: Any) -> tuple[Any, ...]:
        return (split_words(answer)[0],)

    # --- gold: the key of the option for each output

    def parse_gold(self, text: str, outputs: Sequence[str]) -> Parts:
        return parse_parts(text, len(outputs), self._parse_key, may_be_na=bool(self.na_words))

    def _parse_key(self, part: str) -> tuple[str, ...]:
        if part not in self.keys:
            keys = join_choices(self.keys)
            raise ValidationError(f"{quote(part)} is not an answer. Write {keys}.")
        return (part,)

    def read_answer(self, value: Any) -> Any:
        return split_words(value)[0]

    def name_right(self, value: Any) -> str:
        return f"“{self.name_tested(value)}”"

    # --- words

    def file_words(self) -> dict[str, Any]:
        places = {str(place): key for place, key in enumerate(self.keys, start=1)}
        return {key: key for key in self.keys} | places

    def describe_choices(self) -> str:
        return join_choices(self.keys)

    def describe_values(self) -> str:
        return ", ".join(
            f"{place} = {option.key} ({option.label})"
            for place, option in enumerate(self.options, start=1)
        )

    def write_cell(self, rows: Sequence[AnswerRow]) -> str:
        (row,) = rows
        return NA if row.value is None else str((row.detail or {}).get("option", row.value))

    def describe_answer(self, rows: Sequence[AnswerRow]) -> str:
        words = super().describe_answer(rows)
        return f"{words}: {rows[0].text}" if rows[0].text else words

    def describe_wide(self) -> tuple[str, bool, str]:
        return "the option, by its key", False, ", ".join((*self.keys, *self.na_entry))

    def describe_ratings(self, ratings: Sequence[Any]) -> str:
        return ", ".join(self.name_tested(value) for value in ratings)

    def write_markdown(self) -> str:
        return "\n".join([*self.write_options(), *self.list_na()])

    def words(self) -> str:
        return f"a choice of one of {len(self.options)} options"

    def name_choices(self) -> tuple[str, ...]:
        return (*(option.label for option in self.options), *self.name_na())

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        worth = felt[max(number - 1, 0)]
        place = round((worth + 2) / 4 * (len(self.options) - 1))
        return self.doubt_as_bot(worth) or self.keys[min(max(place, 0), len(self.options) - 1)]
