"""Yes or no, in the protocol's own words."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from pydantic import Field

from evalsite.instruments.fields import PointField
from evalsite.instruments.parts import Words
from evalsite.instruments.scales.base import NA, QuestionWords, join_choices
from evalsite.instruments.scales.points import Parts, ScaleOfParts, parse_parts, quote

# letters that do something else on a page
_TAKEN_KEYS = frozenset("cehijkuvx")


class Decision(ScaleOfParts):
    """Yes (stored as 1) or no (stored as 0), under the protocol's own words."""

    kind: Literal["decision"] = Field(title="Yes or no")
    family: ClassVar[str] = "decision"
    tests: ClassVar[frozenset[str]] = frozenset({"is"})
    is_told_in_words: ClassVar[bool] = True
    decides: ClassVar[bool] = True
    note_on_values: ClassVar[str] = "Decision: 1 for yes, 0 for no"
    minimum: ClassVar[int] = 0
    maximum: ClassVar[int] = 1
    yes: Words = Field(title="Word for yes", examples=["Yes"])
    no: Words = Field(title="Word for no", examples=["No"])
    not_applicable: Words | None = Field(
        None, title="Words for “not applicable”", description="Empty: it isn’t offered."
    )

    def label_of(self, value: Any) -> str:
        return self.na_words if value == NA else self.yes if value else self.no

    def list_answers(self) -> tuple[tuple[int, str], ...]:
        return (0, self.no), (1, self.yes)

    # --- page

    @property
    def keys(self) -> tuple[str, str]:
        """Return the keys for yes and no: their first letters, unless pages use one of these."""
        yes, no = self.yes[:1].lower(), self.no[:1].lower()
        is_free = yes != no and not {yes, no} & _TAKEN_KEYS and f"{yes}{no}".isalpha()
        return (yes, no) if is_free else ("y", "n")

    def first_control(self, name: str) -> str:
        return f"{name}-1"

    def make_field(
        self, criterion: QuestionWords, output_name: str, *, is_one_of_several: bool = False
    ) -> PointField:
        name = f"{output_name[:1].lower()}{output_name[1:]}"
        return PointField(
            values={"1": 1, "0": 0} | self.na_entry,
            missing=_("Choose %(yes)s or %(no)s for %(name)s")
            % {
                "yes": self.yes.lower(),
                "no": self.no.lower(),
                "name": name
                if is_one_of_several
                else _("this %(name)s") % {"name": output_name.lower()},
            },
            label=criterion.label,
        )

    def name_entry(self, entry: str) -> str:
        return {"1": self.yes, "0": self.no, NA: self.na_words}[entry]

    # --- gold: the word for yes or no ("accept") for each output, or 1 or 0

    def parse_gold(self, text: str, outputs: Sequence[str]) -> Parts:
        return parse_parts(text, len(outputs), self._parse_word, may_be_na=bool(self.na_words))

    def _parse_word(self, part: str) -> range:
        words = self._gold_words
        if part.casefold() not in words:
            raise ValidationError(
                f"{quote(part)} is not an answer. Write {self.yes.lower()} or {self.no.lower()}."
            )
        value = words[part.casefold()]
        return range(value, value + 1)

    @property
    def _gold_words(self) -> dict[str, int]:
        return {"1": 1, "0": 0} | self.file_words()

    def name_right(self, value: Any) -> str:
        return self.label_of(value)

    # --- words

    def file_words(self) -> dict[str, int]:
        return {self.yes.casefold(): 1, self.no.casefold(): 0}

    def describe_choices(self) -> str:
        return join_choices([self.yes, self.no, "1", "0"])

    def describe_values(self) -> str:
        return f"1 = {self.yes}, 0 = {self.no}"

    def write_markdown(self) -> str:
        return "\n".join([f"- {self.yes} (1)", f"- {self.no} (0)", *self.list_na()])

    def words(self) -> str:
        return "a decision between two answers"

    def name_choices(self) -> tuple[str, ...]:
        return self.no, self.yes, *self.name_na()

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        worth = felt[max(number - 1, 0)]
        return self.doubt_as_bot(worth) or ("1" if worth > -0.2 else "0")

    # --- gold in data

    def gold_to_data(self, text: str) -> Any:
        words: dict[str, Any] = self._gold_words | self.na_entry
        return [words.get(part.strip().casefold()) for part in text.split(",")]

    def gold_from_data(self, data: Any) -> str:
        words = {1: self.yes.lower(), 0: self.no.lower(), None: "", NA: NA}
        # a comma would end the answer
        return ", ".join(str(part) if "," in words[part] else words[part] for part in data)
