"""Statements, each of which is true, false, or perhaps not applicable."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.fields import EntryInput
from evalsite.protocol import Criterion
from evalsite.protocol.faults import (
    Faults,
)
from evalsite.protocol.parts import COMMENT
from evalsite.protocol.scale import NA, Judged, Row, Scale, Stored
from evalsite.scales.points import verdict_in_words

_MOST = 100
# of a statement without an answer, in an entry
_OPEN = "-"


class Statement(NamedTuple):
    """A statement: its key in data, and its words."""

    key: str
    text: str


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
        statements = self.scale.statements
        if any(one not in {*known, _OPEN} for one in sent) or len(sent) > len(statements):
            raise ValidationError(
                _("%(missing)s: that was not one of the answers") % {"missing": self.missing},
                code="invalid",
            )
        open_ones = len(statements) - sum(one != _OPEN for one in sent)
        if open_ones == len(statements) and statements:
            raise ValidationError(self.missing, code="required")
        if open_ones:
            raise ValidationError(
                ngettext(
                    "%(missing)s: %(count)s statement has no answer yet",
                    "%(missing)s: %(count)s statements have no answer yet",
                    open_ones,
                )
                % {"missing": self.missing, "count": open_ones},
                code="incomplete",
            )
        return tuple(known[one] for one in sent)


@dataclass(frozen=True, kw_only=True)
class Checklist(Scale):
    """Statements, the same for all items or one a line of an input; each is stored as 1 or 0.

    As entry the answers with spaces between them; as answer and value a tuple.
    """

    yes: str
    no: str
    statements: tuple[Statement, ...] = ()
    from_column: str = ""
    most: int = _MOST
    minimum: ClassVar[int] = 0
    maximum: ClassVar[int] = 1
    kind: ClassVar[str] = "checklist"
    family: ClassVar[str] = "shares"
    counted: ClassVar[str] = "statements"
    has_parts: ClassVar[bool] = True
    tests: ClassVar[frozenset[str]] = frozenset({"includes"})
    note_on_values: ClassVar[str] = "Checklist: 1 for yes, 0 for no"
    needed: ClassVar[frozenset[str]] = frozenset({"yes", "no"})
    optional: ClassVar[frozenset[str]] = frozenset(
        {"not_applicable", "statements", "from_column", "most"}
    )

    @property
    def columns(self) -> frozenset[str]:
        return super().columns | {"part"}

    def for_item(self, inputs: Mapping[str, Any]) -> Self:
        if not self.from_column:
            return self
        given = inputs.get(self.from_column, "")
        lines = given if isinstance(given, list) else str(given).splitlines()
        said = [text for line in lines if (text := str(line).strip())][: self.most]
        statements = tuple(Statement(str(n), text) for n, text in enumerate(said, start=1))
        return replace(self, statements=statements)

    def label_of(self, value: Any) -> str:
        return self.not_applicable if value == NA else self.yes if value else self.no

    def is_part(self, part: str) -> bool:
        if self.from_column:
            return part.isascii() and part.isdigit() and 1 <= int(part[:4]) <= self.most
        return part in [one.key for one in self.statements]

    def select_rows(self) -> Q:
        keys = [one.key for one in self.statements]
        of_statement = ~Q(part="") & ~Q(part=COMMENT) if self.from_column else Q(part__in=keys)
        answered = Q(value__in=(0, 1), detail__isnull=True)
        if self.not_applicable:
            answered |= Q(value__isnull=True, detail__na=True)
        return of_statement & answered & Q(text="")

    # --- page

    def first_control(self, name: str) -> str:
        return f"{name}.{self.statements[0].key}-1" if self.statements else name

    def read_entry(self, data: Mapping[str, Any], name: str) -> str:
        if data.get(name):
            return str(data[name])
        # a page without the item's inputs doesn't know how many statements there are
        keys = [one.key for one in self.statements] or _count_up(data, name)
        sent = [str(data.get(f"{name}.{key}") or _OPEN) for key in keys]
        return "" if all(one == _OPEN for one in sent) else " ".join(sent)

    def view_entry(self, entry: str) -> list[StatementView]:
        answers = dict(enumerate(entry.split()))
        return [
            StatementView(*one, answers.get(place, "")) for place, one in enumerate(self.statements)
        ]

    def name_entry(self, entry: str) -> str:
        said = entry.split()
        counts = [(said.count("1"), self.yes), (said.count("0"), self.no),
                  (said.count(NA), self.not_applicable)]  # fmt: skip
        return ", ".join(f"{count} × {words}" for count, words in counts if count)

    def make_field(
        self, criterion: Criterion, output_name: str, *, is_one_of_several: bool = False
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
        self, answer: Any, output_ids: Sequence[int | None], number: int
    ) -> tuple[Row, ...]:
        output_id = output_ids[number - 1]
        return tuple(
            Row(output_id, None, one.key, detail={NA: True})
            if value == NA
            else Row(output_id, value, one.key)
            for one, value in zip(self.statements, answer, strict=True)
        )

    def read_values(
        self, rows: Iterable[Stored], output_ids: Sequence[int | None]
    ) -> list[Any | None]:
        given: dict[int | None, dict[str, Any]] = {}
        for row in rows:
            given.setdefault(row.output_id, {})[row.part] = NA if row.value is None else row.value
        return [self._in_order(given[one]) if one in given else None for one in output_ids]

    def _in_order(self, given: Mapping[str, Any]) -> tuple[Any, ...]:
        if not self.statements:
            return tuple(given.values())
        return tuple(given.get(one.key, _OPEN) for one in self.statements)

    def write_entries(self, values: Sequence[Any | None], order: Sequence[int]) -> dict[int, str]:
        return {
            place: " ".join(map(str, value))
            for place, index in enumerate(order, start=1)
            if (value := values[index]) is not None
        }

    def list_tested(self, answer: Any) -> tuple[Any, ...]:
        return tuple(answer)

    def list_testable(self) -> tuple[Any, ...]:
        return (0, 1, *self.na_entry)

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
            wrong = [one for one in part if one not in known]
            if wrong or (self.statements and part and len(part) != len(self.statements)):
                raise ValidationError(
                    f"“{' '.join(part)[:60]}” is no answer to each statement. Write 1 or 0 for "
                    "each, with spaces between them."
                )
        return [tuple(known[one] for one in part) for part in parts]

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
        for wanted, given, name in zip(right, values, names, strict=True):
            for place, (one, answer) in enumerate(zip(wanted, given, strict=False)):
                if one is None:
                    continue
                sentence = verdict_in_words(
                    f"“{self.label_of(answer)}”",
                    f"“{self.label_of(one)}”",
                    is_met=one == answer,
                    is_by_document=is_by_document,
                )
                said = _("Statement %(number)s") % {"number": place + 1}
                head = said if len(names) == 1 else f"{name}, {said[:1].lower()}{said[1:]}"
                judged.append((one == answer, f"{head}: {sentence}"))
        return judged

    def count_asked(self, text: str, outputs: int, standard: int | None) -> int:
        names = [str(number) for number in range(1, outputs + 1)]
        return sum(one is not None for part in self.parse_gold(text, names) for one in part)

    def right_values(
        self, right: Sequence[tuple[Any, ...]], outputs: int, standard: int | None
    ) -> list[Any | None]:
        return [tuple(1 if one is None else one for one in part) or None for part in right]

    # --- words

    def describe_choices(self) -> str:
        return "1 or 0 for each statement, with spaces between them"

    def describe_values(self) -> str:
        told = ", ".join(f"{one.key} ({one.text})" for one in self.statements)
        of = f"of: {told}" if told else f"line of {self.from_column}"
        return f"1 = {self.yes}, 0 = {self.no}, a row for each {of}"

    def write_cell(self, rows: Sequence[Stored]) -> str:
        return " ".join(NA if row.value is None else str(row.value) for row in rows)

    def describe_answer(self, rows: Sequence[Stored]) -> str:
        texts = {statement.key: statement.text for statement in self.statements}
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
        lines = [f"- {one.text}" for one in self.statements]
        if self.from_column:
            lines = [f"- the lines of “{self.from_column}”"]
        answers = ", ".join([self.yes, self.no, *self.name_na()])
        return "\n".join([*lines, "", f"Each of them: {answers}."])

    def words(self) -> str:
        count = f"{len(self.statements)} statements" if self.statements else "statements"
        return f"a checklist of {count}, each of them true or not"

    def name_choices(self) -> tuple[str, ...]:
        return self.no, self.yes, *self.name_na()

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        worth = felt[max(number - 1, 0)]
        found = []
        for place in range(len(self.statements)):
            own = worth + (place % 3) - 1
            found.append(self.doubt_as_bot(own) or str(int(own > -0.2)))
        return " ".join(found)

    # --- plain data

    def to_data(self) -> dict[str, Any]:
        data: dict[str, Any] = {"kind": self.kind, "yes": self.yes, "no": self.no}
        if self.from_column:
            data["from_column"] = self.from_column
        else:
            data["statements"] = [one._asdict() for one in self.statements]
        data |= {"most": self.most} if self.most != _MOST else {}
        return data | self.na_to_data()

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        statements = (Statement(one["key"], one["text"]) for one in data.get("statements", ()))
        names = ("from_column", "most", "not_applicable")
        return cls(
            yes=data["yes"],
            no=data["no"],
            statements=tuple(statements),
            **{name: data[name] for name in names if name in data},
        )

    def rating_to_data(self, ratings: Sequence[Any]) -> Any:
        return [list(value) for value in ratings]

    def rating_from_data(self, data: Any) -> tuple[Any, ...]:
        return tuple(tuple(value) for value in data)

    def check_rating(self, data: Any, outputs: int, place: str, faults: Faults) -> None:
        if not isinstance(data, list) or len(data) != outputs:
            faults.add("type", place, "must be a list of answers for each output")
            return
        for number, answers in enumerate(data):
            if not isinstance(answers, list) or not all(
                any(one == known and type(one) is type(known) for known in self.list_testable())
                for one in answers
            ):
                faults.add("unknown_answer", f"{place}.{number}", "isn't an answer on this scale")

    def gold_to_data(self, text: str) -> Any:
        words: dict[str, Any] = {"1": 1, "0": 0, NA: NA, _OPEN: None}
        return [[words[one] for one in part.split()] or None for part in text.split(",")]

    def gold_from_data(self, data: Any) -> str:
        return ", ".join(
            "" if part is None else " ".join(_OPEN if one is None else str(one) for one in part)
            for part in data
        )


def _count_up(data: Mapping[str, Any], name: str) -> list[str]:
    """List the numbers of statements that were sent, up to the last one."""
    sent = [place for place in range(1, _MOST + 1) if data.get(f"{name}.{place}")]
    return [str(place) for place in range(1, max(sent, default=0) + 1)]
