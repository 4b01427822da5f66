"""Statements, each of them true or not."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from pydantic import Field, PrivateAttr

from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.faults import Fault
from evalsite.instruments.fields import EntryInput
from evalsite.instruments.parts import Key, Part, Words
from evalsite.instruments.scales.base import (
    COMMENT,
    NA,
    Judged,
    Per,
    QuestionWords,
    Scale,
    find_twice,
)
from evalsite.instruments.scales.points import verdict_in_words

_MOST = 100
# of a statement without an answer, in an entry
_OPEN = "-"


class Statement(Part):
    key: Key = Field(title="Name in files")
    text: Words = Field(title="Statement", json_schema_extra={"is_in_box": True})


class StatementView(NamedTuple):
    """A statement as a page shows it, with its answer."""

    key: str
    text: str
    value: str


class ChecklistField(forms.Field):
    """An answer to each statement, in their order: 1, 0 or "na"."""

    def __init__(self, *, scale: "Checklist", missing: str) -> None:
        self.scale, self.missing = scale, missing
        super().__init__(required=False, widget=EntryInput(scale.read_entry))

    def clean(self, value: Any) -> tuple[Any, ...]:
        sent = str(value or "").split()
        known: dict[str, Any] = {"1": 1, "0": 0} | self.scale.na_entry
        count = len(self.scale.keys)
        if not {*sent} <= {*known, _OPEN} or len(sent) > count:
            raise ValidationError(
                _("%(missing)s: that was not one of the answers") % {"missing": self.missing},
                code="invalid",
            )
        missing = count - len(sent) + sent.count(_OPEN)
        if count and missing == count:
            raise ValidationError(self.missing, code="required")
        if missing:
            raise ValidationError(
                ngettext(
                    "%(missing)s: %(count)s statement has no answer yet",
                    "%(missing)s: %(count)s statements have no answer yet",
                    missing,
                )
                % {"missing": self.missing, "count": missing},
                code="incomplete",
            )
        return tuple(known[answer] for answer in sent)


class Checklist(Scale):
    """Statements, the same for all items or one a line of an input; each is stored as 1 or 0.

    As entry the answers with spaces between them; as answer and value a tuple.
    """

    kind: Literal["checklist"] = Field(title="Checklist")
    family: ClassVar[str] = "shares"
    asked: ClassVar[tuple[Per, ...]] = ("output", "turn")
    tests: ClassVar[frozenset[str]] = frozenset({"includes"})
    counted: ClassVar[str] = "statements"
    has_parts: ClassVar[bool] = True
    note_on_values: ClassVar[str] = "Checklist: 1 for yes, 0 for no"
    minimum: ClassVar[int] = 0
    maximum: ClassVar[int] = 1
    yes: Words = Field(title="Word for yes", examples=["Yes"])
    no: Words = Field(title="Word for no", examples=["No"])
    statements: Annotated[list[Statement], Field(min_length=1, max_length=_MOST)] | None = Field(
        None,
        title="Statements, one per line",
        examples=[[{"key": "it_answers_the_question", "text": "It answers the question"}]],
        json_schema_extra={"is_in_sight": True, "noun": "statement"},
    )
    from_column: Words | None = Field(
        None,
        title="Statements come from",
        description="For statements of each item’s own, add an input of the kind “statements”.",
        json_schema_extra={"column": "statements", "words": {"": "the list above, for all items"}},
    )
    most: int = Field(_MOST, ge=1, le=_MOST, title="Most statements")
    not_applicable: Words | None = Field(
        None, title="Words for “not applicable”", description="Empty: it isn’t offered."
    )
    _shown: list[Statement] | None = PrivateAttr(None)  # of an item

    def find_faults(self, at: str) -> Iterator[Fault]:
        if (self.statements is None) == (self.from_column is None):
            yield Fault("one_of_two", at, "needs either statements or from_column")
        yield from find_twice(self.statements or [], f"{at}.statements")
        if any(statement.key == COMMENT for statement in self.statements or []):
            words = f"can't have a statement called {COMMENT!r}"
            yield Fault("bad_key", f"{at}.statements", words)

    def name_columns(self) -> Iterator[tuple[str, str, str]]:
        if self.from_column:
            yield "from_column", self.from_column, "statements"

    def list_testable(self) -> tuple[Any, ...]:
        return (0, 1, *self.na_entry)

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return self.are_testable(answer)

    def is_gold(self, gold: Any, outputs: int) -> bool:
        if gold is None:
            return True
        if not isinstance(gold, list) or not self.are_testable(
            [entry for entry in gold if entry is not None]
        ):
            return False
        return not self.statements or not gold or len(gold) == len(self.statements)

    @property
    def columns(self) -> frozenset[str]:
        return super().columns | {"part"}

    def for_item(self, inputs: Mapping[str, Any], conversations: Collection[str] = ()) -> Self:
        if not self.from_column:
            return self
        cell = inputs.get(self.from_column, "")
        lines = cell if isinstance(cell, list) else str(cell).splitlines()
        texts = [text for line in lines if (text := str(line).strip())][: self.most]
        # without validation: it is made for each page
        statements = [
            Statement.model_construct(key=str(number), text=text)
            for number, text in enumerate(texts, start=1)
        ]
        scale = self.model_copy()
        scale._shown = statements
        return scale

    @property
    def shown_statements(self) -> list[Statement]:
        """Return the statements of an item; those of all items, or none, as long as it has none."""
        return self.statements or [] if self._shown is None else self._shown

    @property
    def keys(self) -> list[str]:
        return [statement.key for statement in self.shown_statements]

    def label_of(self, value: Any) -> str:
        return self.na_words if value == NA else self.yes if value else self.no

    def is_part(self, part: str) -> bool:
        if self.from_column:
            return part.isascii() and part.isdigit() and 1 <= int(part[:4]) <= self.most
        return part in self.keys

    def select_rows(self) -> Q:
        of_any = ~Q(part="") & ~Q(part=COMMENT)
        of_statement = of_any if self.from_column else Q(part__in=self.keys)
        answered = Q(value__in=(0, 1), detail__isnull=True)
        if self.na_words:
            answered |= Q(value__isnull=True, detail__na=True)
        return of_statement & answered & Q(text="")

    # --- page

    def first_control(self, name: str) -> str:
        return f"{name}.{self.keys[0]}-1" if self.keys else name

    def read_entry(self, data: Mapping[str, Any], name: str) -> str:
        if data.get(name):
            return str(data[name])
        # a page without the item's inputs doesn't know how many statements there are
        keys = self.keys or _count_up(data, name)
        sent = [str(data.get(f"{name}.{key}") or _OPEN) for key in keys]
        return "" if set(sent) <= {_OPEN} else " ".join(sent)

    def view_entry(self, entry: str) -> list[StatementView]:
        answers = dict(enumerate(entry.split()))
        return [
            StatementView(statement.key, statement.text, answers.get(place, ""))
            for place, statement in enumerate(self.shown_statements)
        ]

    def name_entry(self, entry: str) -> str:
        answers = entry.split()
        counts = [(answers.count("1"), self.yes), (answers.count("0"), self.no),
                  (answers.count(NA), self.na_words)]  # fmt: skip
        return ", ".join(f"{count} × {words}" for count, words in counts if count)

    def make_field(
        self, criterion: QuestionWords, output_name: str, *, is_one_of_several: bool = False
    ) -> ChecklistField:
        name = f"{output_name[:1].lower()}{output_name[1:]}"
        missing = (
            _("Answer the statements of %(criterion)s for %(name)s")
            if is_one_of_several
            else _("Answer the statements of %(criterion)s")
        ) % {"criterion": criterion.label.lower(), "name": name}
        return ChecklistField(scale=self, missing=missing)

    # --- stored and read back

    def make_rows(
        self, answer: Any, about: AnswerRow, output_ids: Sequence[int]
    ) -> tuple[AnswerRow, ...]:
        return tuple(
            about._replace(part=key, detail={NA: True})
            if value == NA
            else about._replace(part=key, value=value)
            for key, value in zip(self.keys, answer, strict=True)
        )

    def read_rows(self, rows: Sequence[AnswerRow], output_ids: Sequence[int]) -> tuple[Any, ...]:
        answers = {row.part: NA if row.value is None else row.value for row in rows}
        return tuple(answers.get(key, _OPEN) for key in self.keys or answers)

    def write_entry(self, value: Any, order: Sequence[int]) -> str:
        return " ".join(map(str, value))

    def list_tested(self, answer: Any) -> tuple[Any, ...]:
        return tuple(answer)

    # --- gold: an answer to each statement ("1 0 na"), for each output; - asks nothing

    def parse_gold(self, text: str, outputs: Sequence[str]) -> list[tuple[Any, ...]]:
        parts = [part.split() for part in text.split(",")]
        if len(parts) != len(outputs):
            raise ValidationError(
                f"There are right answers for {len(parts)} of {len(outputs)} outputs. Give them "
                "for each output, separated by commas."
            )
        known: dict[str, Any] = {"1": 1, "0": 0, _OPEN: None} | self.na_entry
        for part in parts:
            is_short = self.keys and part and len(part) != len(self.keys)
            if is_short or any(answer not in known for answer in part):
                raise ValidationError(
                    f"“{' '.join(part)[:60]}” is no answer to each statement. Write 1 or 0 for "
                    "each, with spaces between them."
                )
        return [tuple(known[answer] for answer in part) for part in parts]

    def judge(
        self,
        right: Sequence[tuple[Any, ...]],
        values: Sequence[Any],
        standard: int | None,
        names: Sequence[str],
        *,
        is_by_document: bool = False,
    ) -> Judged:
        judged = []
        for gold, answers, name in zip(right, values, names, strict=True):
            for number, (suggested, answer) in enumerate(zip(gold, answers, strict=False), start=1):
                if suggested is None:
                    continue
                sentence = verdict_in_words(
                    f"“{self.label_of(answer)}”",
                    f"“{self.label_of(suggested)}”",
                    is_met=suggested == answer,
                    is_by_document=is_by_document,
                )
                head = _("Statement %(number)s") % {"number": number}
                if len(names) > 1:
                    head = f"{name}, {head[:1].lower()}{head[1:]}"
                judged.append((suggested == answer, f"{head}: {sentence}"))
        return judged

    def count_asked(self, text: str, outputs: int, standard: int | None) -> int:
        names = [str(number) for number in range(1, outputs + 1)]
        return sum(answer is not None for part in self.parse_gold(text, names) for answer in part)

    def right_values(
        self, right: Sequence[tuple[Any, ...]], outputs: int, standard: int | None
    ) -> list[Any | None]:
        return [tuple(1 if answer is None else answer for answer in part) or None for part in right]

    # --- words

    def describe_choices(self) -> str:
        return "1 or 0 for each statement, with spaces between them"

    def describe_values(self) -> str:
        listed = ", ".join(f"{part.key} ({part.text})" for part in self.shown_statements)
        of = f"of: {listed}" if listed else f"line of {self.from_column}"
        return f"1 = {self.yes}, 0 = {self.no}, a row for each {of}"

    def write_cell(self, rows: Sequence[AnswerRow]) -> str:
        return " ".join(NA if row.value is None else str(row.value) for row in rows)

    def describe_answer(self, rows: Sequence[AnswerRow]) -> str:
        texts = {statement.key: statement.text for statement in self.shown_statements}
        answers = [
            (row.part, self.label_of(NA if row.value is None else row.value)) for row in rows
        ]
        return "; ".join(f"{texts.get(part, part)}: {answer}" for part, answer in answers)

    def describe_wide(self) -> tuple[str, bool, str]:
        allowed = "1 or 0 for each statement in their order, with spaces between them"
        return "the answers to the statements", False, allowed

    def describe_ratings(self, ratings: Sequence[Any]) -> str:
        return "; ".join(", ".join(map(self.label_of, value)) for value in ratings)

    def write_markdown(self) -> str:
        lines = [f"- {statement.text}" for statement in self.shown_statements]
        if self.from_column:
            lines = [f"- the lines of “{self.from_column}”"]
        answers = ", ".join([self.yes, self.no, *self.name_na()])
        return "\n".join([*lines, "", f"Each of them: {answers}."])

    def words(self) -> str:
        count = f"{len(self.keys)} statements" if self.keys else "statements"
        return f"a checklist of {count}, each of them true or not"

    def name_choices(self) -> tuple[str, ...]:
        return self.no, self.yes, *self.name_na()

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        worth = felt[max(number - 1, 0)]
        worths = [worth + (place % 3) - 1 for place in range(len(self.keys))]
        return " ".join(self.doubt_as_bot(each) or str(int(each > -0.2)) for each in worths)

    # --- worked examples and gold in data

    def rating_from_data(self, data: Any) -> tuple[Any, ...]:
        return tuple(tuple(value) for value in data)

    def gold_to_data(self, text: str) -> Any:
        words: dict[str, Any] = {"1": 1, "0": 0, NA: NA, _OPEN: None}
        return [[words[word] for word in part.split()] or None for part in text.split(",")]

    def gold_from_data(self, data: Any) -> str:
        return ", ".join(
            " ".join(_OPEN if answer is None else str(answer) for answer in part or ())
            for part in data
        )


def _count_up(data: Mapping[str, Any], name: str) -> list[str]:
    """List the numbers of statements that were sent, up to the last one."""
    sent = [place for place in range(1, _MOST + 1) if data.get(f"{name}.{place}")]
    return [str(place) for place in range(1, max(sent, default=0) + 1)]
