"""Passages that are marked, with category and severity."""

import json
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from pydantic import AfterValidator, Field, PrivateAttr

from evalsite.instruments.answer import LARGEST_NUMBER, AnswerRow, round_value
from evalsite.instruments.faults import Fault
from evalsite.instruments.fields import EntryInput, drop_unstorable, unify_breaks
from evalsite.instruments.parts import Key, Part, WeightValue, Words, refuse
from evalsite.instruments.scales.base import (
    OUTPUT,
    Judged,
    OptionKey,
    Per,
    QuestionWords,
    Scale,
    find_twice,
)
from evalsite.instruments.scales.points import quote as quote_words
from evalsite.lib.conversations import split_turns
from evalsite.lib.limited import read_json
from evalsite.lib.passages import (
    EvenText,
    Span,
    as_shown,
    find_passage,
    find_places,
    is_split,
    make_even,
)

# in an entry, and as the part of a row: nothing is wrong
NONE = "none"
# the part of a row that says that something is missing, where there are no categories
OMISSION = "omission"
MOST = 3_000
LONGEST_NOTE = 1_000
# between turns that are looked through at once: no passage has it
_BETWEEN = "\x00"
# rows to fill in without a script, and of those that don't fit their text
_BLANK_ROWS, _MOST_ROWS = 3, 50


class Severity(Part):
    key: OptionKey = Field(title="Name in files")
    label: Words = Field(title="Label")
    weight: WeightValue = Field(title="Weight")
    definition: str = Field("", title="Definition")


def check_category_key(key: str) -> str:
    if key == "none":
        raise refuse("bad_key", "is a word that answers use for something else")
    return key


class Category(Part):
    key: Annotated[OptionKey, AfterValidator(check_category_key)] = Field(title="Name in files")
    label: Words = Field(title="Label")
    group: str = Field("", title="Group")
    definition: str = Field("", title="Definition")
    severities: list[Key] = Field(
        [], title="Severities", description="Their names in files, one per line. Empty: all."
    )
    whole: bool = Field(False, title="Is about the whole text")
    mark_in: list[Key] = Field(
        [], title="Marked in", description="Names of columns, or “output”, one per line."
    )


class Weight(Part):
    category: Key = Field(title="Category")
    severity: Key | None = Field(None, title="Severity")
    weight: WeightValue = Field(title="Weight")


class Omission(Part):
    label: Words = Field(title="Label")
    category: Key | None = Field(None, title="Category")


# a text in which passages are marked: its column, and its turn in a conversation
Place = tuple[str, int]


class Mark(NamedTuple):
    """Code points of a stored text from `start` up to `end`.

    `column`: of an input, or "output"; `turn`: of a conversation, from 1. If the start is the end,
    something is missing there. `start` -1: the quote tells where it is, in any turn if that is 0.
    """

    column: str
    start: int
    end: int
    quote: str
    category: str = ""
    severity: str = ""
    note: str = ""
    turn: int = 0

    @property
    def place(self) -> Place:
        return self.column, self.turn


class Marked(NamedTuple):
    """An answer: the marks in the order of the texts, none if nothing is wrong; and the texts."""

    marks: tuple[Mark, ...]
    texts: Mapping[Place, str] = {}


class MarkView(NamedTuple):
    """A mark as a page lists it and draws it; `level` rises with the weight."""

    number: int
    mark: Mark
    quote: str
    is_missing: bool
    category: str
    severity: str
    level: int


class MarksView(NamedTuple):
    """What a page shows of an entry: marks that fit their text, and rows to write others into.

    `kept`: the marks as a script changes and posts them.
    """

    marks: list[MarkView]
    rows: list[dict[str, Any]]
    kept: str
    is_none: bool


class SpansField(forms.Field):
    """Marks that fit their texts and the question."""

    def __init__(self, *, scale: "Spans", missing: str) -> None:
        self.scale, self.missing = scale, missing
        super().__init__(required=False, widget=EntryInput(scale.read_entry))

    def clean(self, value: Any) -> Marked:
        entry = str(value or "")
        entries = parse_entry(entry)
        if entries is None:
            raise ValidationError(
                _("%(missing)s: that was not one of the answers") % {"missing": self.missing},
                code="invalid",
            )
        marked = [entry for entry in entries if entry != NONE]
        is_none = len(marked) < len(entries) and self.scale.none is not None
        if not marked and not is_none:
            raise ValidationError(self.missing, code="required")
        if marked and is_none:
            raise ValidationError(
                _("“%(none)s” can’t be ticked beside a mark. Untick it, or remove the marks")
                % {"none": self.scale.none},
                code="none_beside_marks",
            )
        if len(marked) > self.scale.highest:
            raise ValidationError(
                ngettext(
                    "You can mark %(most)s passage at most. Remove some",
                    "You can mark %(most)s passages at most. Remove some",
                    self.scale.highest,
                )
                % {"most": self.scale.highest},
                code="too_many",
            )
        return self.scale.read_marks(marked)


_NO_CATEGORY = "must name a category of this question"
_NO_SEVERITY = "must name a severity of this question"


class Spans(Scale):
    """Passages with category and severity; without both lists a plain highlight.

    As entry a JSON list of marks, or of "none"; as answer and value `Marked`. Places of an entry
    count in the texts as they are shown, those of a value in the texts as they are stored.
    """

    kind: Literal["spans"] = Field(title="Marked passages")
    family: ClassVar[str] = "penalties"
    asked: ClassVar[tuple[Per, ...]] = ("output",)
    tests: ClassVar[frozenset[str]] = frozenset({"has"})
    directed: ClassVar[bool] = False
    better: ClassVar[str] = "lower"  # fewer and lighter errors
    counted: ClassVar[str] = "passages"
    has_parts: ClassVar[bool] = True
    is_typed: ClassVar[bool] = True
    longest_entry: ClassVar[int] = 600_000
    note_on_values: ClassVar[str] = "Marked passages: the weights of the marks, added up"
    minimum: ClassVar[int] = 0
    maximum: ClassVar[None] = None  # type: ignore[assignment]
    severities: Annotated[list[Severity], Field(max_length=7)] = Field(
        [],
        title="Severities",
        examples=[
            [
                {"key": "minor", "label": "Minor", "weight": 1},
                {"key": "major", "label": "Major", "weight": 5},
            ]
        ],
        json_schema_extra={"noun": "severity"},
    )
    categories: Annotated[list[Category], Field(max_length=200)] = Field(
        [], title="Categories", json_schema_extra={"noun": "category"}
    )
    weights: Annotated[list[Weight], Field(max_length=200)] = Field(
        [],
        title="Weights of their own",
        description="Where the weight of a severity doesn’t suit a category.",
        json_schema_extra={"noun": "weight"},
    )
    most: int | None = Field(None, ge=1, le=MOST, title="Most passages")
    none: Words | None = Field(
        None,
        title="Words for “no errors”",
        description="Empty: it isn’t offered.",
        examples=["No errors"],
    )
    omission: Omission | None = Field(None, title="Something missing")
    prefill: Key | None = Field(
        None,
        title="Marked beforehand",
        json_schema_extra={"column": "spans", "words": {"": "nothing"}},
    )
    mark_in: list[Key] = Field(
        [], title="Marked in", description="Names of columns, or “output”, one per line."
    )
    note: Literal["none", "optional", "required"] = Field(
        "none",
        title="Note on a passage",
        json_schema_extra={
            "words": {"none": "none", "optional": "optional", "required": "required"}
        },
    )
    score: Literal["sum", "none"] = Field(
        "none",
        title="Score",
        examples=["sum"],
        json_schema_extra={"words": {"sum": "the weights, added up", "none": "none"}},
    )

    _texts: dict[Place, "_Text"] = PrivateAttr({})  # of an item and an output
    _conversations: Collection[str] = PrivateAttr(())  # columns
    _joined: dict[str, "_Text"] = PrivateAttr({})  # all turns of one
    _suggested: Any = PrivateAttr(None)

    def find_faults(self, at: str) -> Iterator[Fault]:
        categories = {category.key for category in self.categories}
        severities = {severity.key for severity in self.severities}
        yield from find_twice(self.categories, f"{at}.categories")
        yield from find_twice(self.severities, f"{at}.severities")
        for number, category in enumerate(self.categories):
            if set(category.severities) - severities:
                yield Fault("not_allowed", f"{at}.categories.{number}.severities", _NO_SEVERITY)
        for number, weight in enumerate(self.weights):
            if weight.category not in categories:
                yield Fault("not_allowed", f"{at}.weights.{number}.category", _NO_CATEGORY)
            if weight.severity and weight.severity not in severities:
                yield Fault("not_allowed", f"{at}.weights.{number}.severity", _NO_SEVERITY)
        if self.omission and self.omission.category and self.omission.category not in categories:
            yield Fault("not_allowed", f"{at}.omission.category", _NO_CATEGORY)
        if self.score == "sum" and not severities:
            yield Fault("no_weights", f"{at}.score", "needs severities with weights to add up")
        if max(self._weights, default=0) * self.highest > LARGEST_NUMBER:
            words = f"must be {LARGEST_NUMBER // self.highest} or less, or fewer passages marked"
            yield Fault("out_of_range", f"{at}.weights", words)

    def name_columns(self) -> Iterator[tuple[str, str, str]]:
        if self.prefill:
            yield "prefill", self.prefill, "spans"
        for name in self.marked_columns:
            if name != OUTPUT:
                yield "mark_in", name, ""

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return isinstance(answer, list) and all(self._is_mark(mark) for mark in answer)

    def list_quotes(self, answer: Any) -> list[str]:
        return [mark["quote"] for mark in answer]

    def _is_mark(self, mark: Any) -> bool:
        if not isinstance(mark, dict) or not isinstance(mark.get("quote"), str):
            return False
        severities = [severity.key for severity in self.severities]
        categories = [category.key for category in self.categories]
        return (
            not mark.keys() - {"quote", "severity", "category", "nth", "in", "turn"}
            and ("severity" not in mark or mark["severity"] in severities)
            and ("category" not in mark or mark["category"] in categories)
            and type(mark.get("turn", 0)) is int
        )

    # --- its parts

    @property
    def highest(self) -> int:
        return self.most or MOST

    @property
    def marked_columns(self) -> tuple[str, ...]:
        kinds: list[Category | None] = [*self.categories] or [None]
        columns = {name for category in kinds for name in self.list_columns(category)}
        return tuple(sorted(columns, key=lambda name: (name != OUTPUT, name)))

    @property
    def asks_notes(self) -> bool:
        return self.note != "none"

    @property
    def defines_severities(self) -> bool:
        return any(part.definition for part in self.severities)

    @property
    def levels(self) -> list[tuple[str, int]]:
        """List how heavy each severity is among all: 0 is the lightest."""
        weights = sorted({part.weight for part in self.severities})
        return [(part.key, weights.index(part.weight)) for part in self.severities]

    def find_category(self, key: str) -> Category | None:
        return next((category for category in self.categories if category.key == key), None)

    def list_columns(self, category: Category | None) -> list[str]:
        """List the texts in which a category may be marked."""
        return (category.mark_in if category else []) or self.mark_in or [OUTPUT]

    def list_severities(self, category: Category | None) -> list[Severity]:
        """List the severities that a category may have."""
        keys = category.severities if category else []
        return [part for part in self.severities if not keys or part.key in keys]

    def weigh(self, category: str, severity: str) -> float:
        """Return the weight of a mark: its own, that of its category, or that of its severity."""
        weights = {(part.category, part.severity): part.weight for part in self.weights}
        usual = {part.key: part.weight for part in self.severities}
        alone = weights.get((category, None), usual.get(severity, 0))
        return weights.get((category, severity), alone)

    def read_part(self, part: str) -> tuple[str, str]:
        """Return the category of a mark and the column that it is in, by the part of its row."""
        category, _sign, column = part.partition("@")
        is_known = self.categories or category != OMISSION
        return category if is_known else "", column or OUTPUT

    def weigh_row(self, row: AnswerRow) -> float:
        """Return the weight of the mark that a row holds."""
        category, _column = self.read_part(row.part)
        return self.weigh(category, str((row.detail or {}).get("severity", "")))

    def add_weights(self, marks: Sequence[Mark]) -> float:
        return round_value(sum(self.weigh(mark.category, mark.severity) for mark in marks))

    @property
    def has_decimals(self) -> bool:
        return any(isinstance(weight, float) for weight in self._weights)

    @property
    def _weights(self) -> list[float]:
        return [*(part.weight for part in self.severities), *(part.weight for part in self.weights)]

    @property
    def columns(self) -> frozenset[str]:
        return frozenset({"part"} if self.none else ())

    @property
    def gives_number(self) -> bool:
        return self.score == "sum"

    def describe_marks(self) -> dict[str, list[dict[str, Any]]]:
        names = {part.key: part.label for part in self.categories}
        names |= {part.key: part.label for part in self.severities}
        weights = [
            {
                "label": " ".join(names[key] for key in (part.severity, part.category) if key),
                "weight": part.weight,
            }
            for part in self.weights
        ]
        return {
            "options": [
                {"key": part.key, "label": part.label, "group": part.group}
                for part in self.categories
            ],
            "severities": [
                {"key": part.key, "label": part.label, "weight": part.weight}
                for part in self.severities
            ],
            "weights": weights,
        }

    def describe_mark(self, row: AnswerRow) -> dict[str, Any]:
        category, column = self.read_part(row.part)
        detail = row.detail or {}
        severity = detail.get("severity", "")
        return {
            "input": "" if column == OUTPUT else column,
            "category": category,
            "severity": severity,
            "note": detail.get("note", ""),
            "weight": self.weigh(category, severity) if self.score == "sum" else None,
        }

    # --- one item, one output

    def for_item(self, inputs: Mapping[str, Any], conversations: Collection[str] = ()) -> Self:
        scale = self.model_copy()
        scale._conversations = conversations
        scale._texts, scale._joined = {}, {}
        for name in self.marked_columns:
            if name in inputs:
                scale._texts |= scale._read_texts(name, str(inputs[name]))
        scale._suggested = inputs.get(self.prefill) if self.prefill else None
        return scale

    def for_output(self, text: str) -> Self:
        scale = self.model_copy()
        scale._texts, scale._joined = self._texts | self._read_texts(OUTPUT, text), {}
        return scale

    def _read_texts(self, column: str, text: str) -> dict[Place, "_Text"]:
        turns = split_turns(text) if column in self._conversations else {0: text}
        return {(column, turn): _Text(words) for turn, words in turns.items()}

    def _list_texts(self, column: str, turn: int = 0) -> list[tuple[int, "_Text"]]:
        """List the texts of a column by their turns, or of one of its turns."""
        return [
            (number, text)
            for (name, number), text in self._texts.items()
            if name == column and turn in (0, number)
        ]

    @property
    def start_entry(self) -> str:
        entries = parse_suggested(self._suggested)
        return write_json(entries) if entries else ""

    def find_item_fault(self) -> tuple[str, str]:
        column = self.prefill or ""
        entries = parse_suggested(self._suggested)
        if entries is None:
            return column, (
                "This isn’t a list of passages. Write JSON such as "
                '[{"quote": "the passage", "severity": "minor"}].'
            )
        kinds = {
            "category": [part.key for part in self.categories],
            "severity": [part.key for part in self.severities],
        }
        for entry in entries:
            try:
                self.locate(entry)
            except ValidationError as error:
                return column, " ".join(error.messages) + "."
            for name, keys in kinds.items():
                if entry.get(name) and entry[name] not in keys:
                    words = f"“{entry[name]}” is no {name} of this question. It has: "
                    return column, f"{words}{', '.join(keys) or 'none'}."
        if len(entries) > self.highest:
            return column, f"There are {len(entries)} passages. A person can mark {self.highest}."
        return "", ""

    # --- page

    def first_control(self, name: str) -> str:
        return f"{name}.quote-1"

    def read_entry(self, data: Mapping[str, Any], name: str) -> str:
        posted = str(data.get(name) or "")
        rows = [row for number in _count_rows(data, name) if (row := _read_row(data, name, number))]
        is_none = bool(data.get(f"{name}.{NONE}"))
        listed = parse_entry(posted) if posted.strip() else []
        if listed is None:
            return posted
        kept = [
            entry
            for number, entry in enumerate(listed, start=1)
            if not data.get(f"{name}.remove-{number}")
        ]
        entries = [*kept, *rows, *([NONE] if is_none and NONE not in kept else [])]
        return write_json(entries) if entries else ""

    def view_entry(self, entry: str) -> MarksView:
        # no page posts more: it has the marks that fit, and few rows
        entries = (parse_entry(entry) or [])[: MOST + _MOST_ROWS]
        marks: list[Mark] = []
        rows: list[Any] = []
        for posted in entries:
            if posted == NONE:
                continue
            try:
                marks.append(self.locate(posted))
            except ValidationError:
                rows.append(posted)
        del rows[_MOST_ROWS:]
        shown = [self._view_mark(number, mark) for number, mark in enumerate(sort_marks(marks), 1)]
        free = max(min(_BLANK_ROWS, self.highest - len(marks) - len(rows)), 1)
        free = min(free, _MOST_ROWS - len(rows))
        return MarksView(
            shown, [*rows, *({} for _number in range(free))],
            write_json(self._write_marks(marks)) if marks else "", NONE in entries,
        )  # fmt: skip

    def _view_mark(self, number: int, mark: Mark) -> MarkView:
        category = self.find_category(mark.category)
        severity = next((part for part in self.severities if part.key == mark.severity), None)
        is_missing = mark.start == mark.end
        words = mark.quote
        if is_missing and self.omission:
            words = self.omission.label
        return MarkView(
            number, mark, words, is_missing,
            category.label if category else "", severity.label if severity else "",
            dict(self.levels).get(mark.severity, 0),
        )  # fmt: skip

    def list_marks(self, entry: str) -> list[MarkView]:
        return self.view_entry(entry).marks

    def name_entry(self, entry: str) -> str:
        view = self.view_entry(entry)
        if view.is_none and not view.marks:
            return self.none or ""
        return "; ".join(self._name_mark(mark.mark) for mark in view.marks)

    def make_field(
        self, criterion: QuestionWords, output_name: str, *, is_one_of_several: bool = False
    ) -> SpansField:
        label = criterion.label.lower()
        words = {"criterion": label, "name": output_name, "none": self.none}
        if self.none and is_one_of_several:
            missing = _("%(name)s: mark passages for %(criterion)s, or tick “%(none)s”") % words
        elif self.none:
            missing = _("Mark passages for %(criterion)s, or tick “%(none)s”") % words
        elif is_one_of_several:
            missing = _("%(name)s: mark at least one passage for %(criterion)s") % words
        else:
            missing = _("Mark at least one passage for %(criterion)s") % words
        return SpansField(scale=self, missing=missing)

    # --- marks that are posted

    def read_marks(self, entries: Sequence[Any]) -> Marked:
        """Return the answer that these entries are; ValidationError if they don't fit."""
        marks = sort_marks([self.check_mark(self.locate(entry)) for entry in entries])
        whole = [mark for mark in marks if self._is_whole(mark.category)]
        # in a conversation, it stands alone in its turn
        if any(not mark.turn or mark.place == other.place
               for mark in whole for other in marks if other is not mark):  # fmt: skip
            category = self.find_category(whole[0].category)
            raise ValidationError(
                _(
                    "“%(category)s” covers the whole text and stands alone. Remove the other "
                    "marks, or choose another category"
                )
                % {"category": category.label if category else ""},
                code="whole_beside_marks",
            )
        for _place, alike in groupby(marks, key=_name_place):
            first, *more = alike
            if more:
                words = {"quote": self._quote(first), "category": self._name_category(first)}
                raise ValidationError(
                    _("%(quote)s is marked twice as “%(category)s”. Remove one of the two") % words
                    if words["category"]
                    else _("%(quote)s is marked twice. Remove one of the two") % words,
                    code="twice",
                )
        return Marked(tuple(marks), self.stored_texts)

    @property
    def stored_texts(self) -> dict[Place, str]:
        return {place: text.stored for place, text in self._texts.items()}

    def locate(self, entry: Mapping[str, Any]) -> Mark:
        """Return the mark that is meant, if it is in its text; ValidationError if it isn't."""
        is_missing = bool(entry.get("missing")) and self.omission is not None
        category = str(entry.get("category") or "")
        if is_missing and self.omission and self.omission.category:
            category = self.omission.category
        is_placed = "start" in entry or "end" in entry
        columns = [OUTPUT] if is_placed else self.list_columns(self.find_category(category))
        column = str(entry.get("in") or columns[0])
        if not is_placed and len(columns) == 1:
            column = columns[0]
        turn = entry.get("turn", 0)
        turn = turn if type(turn) is int else -1
        is_whole = self._is_whole(category)
        if is_whole:
            column, turn = OUTPUT, turn if column == OUTPUT else 0
        texts = self._list_texts(column, turn)
        if not texts or (is_placed and (column, turn) not in self._texts):
            raise ValidationError(
                _("A passage isn’t in a text of this page. Mark it again"),
                code="unknown_turn" if turn or texts else "unknown_text",
            )
        if (column, turn) not in self._texts or not (is_placed or is_whole):
            turn, span = self._find_quote(column, texts, entry, is_missing=is_missing)
        text = self._texts[column, turn]
        if is_whole:
            span = Span(0, len(text.shown))
        elif is_placed:
            span = text.check_span(entry, is_missing=is_missing)
        start, end = text.places[span.start], text.places[span.end]
        return Mark(
            column, start, end, text.stored[start:end], category,
            str(entry.get("severity") or ""), str(entry.get("note") or "").strip(), turn,
        )  # fmt: skip

    def _find_quote(
        self,
        column: str,
        texts: Sequence[tuple[int, "_Text"]],
        entry: Mapping[str, Any],
        *,
        is_missing: bool,
    ) -> tuple[int, Span]:
        """Return turn and place of the words that an entry quotes; of something missing, their end.

        Those of several turns are counted through all of them.
        """
        words = " ".join(str(entry.get("quote") or "").split())
        if not words and is_missing:
            turn, last = texts[-1]
            return turn, Span(len(last.shown), len(last.shown))
        if not words:
            raise ValidationError(_("Write the passage that you mean"), code="empty")
        if len(texts) > 1 and column not in self._joined:
            # looked through at once: there may be thousands of turns, and of entries
            self._joined[column] = _Text(_BETWEEN.join(text.shown for _turn, text in texts))
        spans = (self._joined[column] if len(texts) > 1 else texts[0][1]).list_spans(words)
        about = {"quote": quote_words(words), "count": len(spans)}
        if not spans:
            raise ValidationError(
                _("%(quote)s isn’t in the text. Copy the passage exactly as it is") % about,
                code="not_in_text",
            )
        nth = str(entry.get("nth") or "").strip() or ("1" if len(spans) == 1 else "")
        if not (nth.isascii() and nth.isdigit() and 1 <= int(nth[:6]) <= len(spans)):
            raise ValidationError(
                _("%(quote)s is in the text %(count)s times. Write which of them you mean") % about
                if len(spans) > 1
                else _("%(quote)s is in the text only once. Leave the number empty") % about,
                code="which",
            )
        (start, end), number = spans[int(nth) - 1], 0
        while start > (length := len(texts[number][1].shown)):
            start, end = start - length - len(_BETWEEN), end - length - len(_BETWEEN)
            number += 1
        return texts[number][0], Span(end if is_missing else start, end)

    def check_mark(self, mark: Mark) -> Mark:
        """Return the mark, with its severity if it can have only one; ValidationError if wrong."""
        category = self.find_category(mark.category)
        words: dict[str, Any] = {"quote": self._quote(mark)}
        if not self.categories:
            mark = mark._replace(category="")
        elif category is None:
            raise ValidationError(_("%(quote)s: choose a category") % words, code="no_category")
        words |= {"category": self._name_category(mark), "most": LONGEST_NOTE}
        severities = [part.key for part in self.list_severities(category)]
        if not mark.severity and len(severities) == 1:
            mark = mark._replace(severity=severities[0])
        if mark.severity not in severities and (severities or mark.severity):
            known = [part.label for part in self.severities if part.key == mark.severity]
            if not known:
                raise ValidationError(_("%(quote)s: choose a severity") % words, code="no_severity")
            raise ValidationError(
                _("%(quote)s: “%(category)s” can’t be “%(severity)s”. Choose another severity")
                % {**words, "severity": known[0]},
                code="wrong_severity",
            )
        if mark.column not in self.list_columns(category) and not self._is_whole(mark.category):
            raise ValidationError(
                _(
                    "%(quote)s: “%(category)s” isn’t marked in this text. Choose another "
                    "category, or mark the passage in the other text"
                )
                % words,
                code="wrong_text",
            )
        if len(mark.note) > LONGEST_NOTE:
            raise ValidationError(
                _("%(quote)s: shorten the note to at most %(most)s characters") % words,
                code="long_note",
            )
        if self.note == "required" and not mark.note:
            raise ValidationError(_("%(quote)s: write a note") % words, code="no_note")
        return mark if self.note != "none" else mark._replace(note="")

    def _is_whole(self, key: str) -> bool:
        category = self.find_category(key)
        return category is not None and category.whole

    def _name_category(self, mark: Mark) -> str:
        category = self.find_category(mark.category)
        return category.label if category else ""

    def _quote(self, mark: Mark) -> str:
        if mark.quote or not self.omission:
            return quote_words(" ".join(mark.quote.split()))
        return f"“{self.omission.label}”"

    # --- stored and read back

    def make_rows(
        self, answer: Any, about: AnswerRow, output_ids: Sequence[int]
    ) -> tuple[AnswerRow, ...]:
        rows = [self._make_row(mark, about) for mark in answer.marks]
        if not answer.marks:
            rows.append(about._replace(part=NONE, value=1))
        if self.score == "sum":
            rows.append(about._replace(value=self.add_weights(answer.marks)))
        return tuple(rows)

    def _make_row(self, mark: Mark, about: AnswerRow) -> AnswerRow:
        category = mark.category or (OMISSION if mark.start == mark.end else "")
        says = {"severity": mark.severity, "note": mark.note}
        return about._replace(
            turn=mark.turn,
            part=category if mark.column == OUTPUT else f"{category}@{mark.column}",
            text=mark.quote,
            detail={name: words for name, words in says.items() if words} or None,
            start=mark.start,
            end=mark.end,
        )

    def read_rows(self, rows: Sequence[AnswerRow], output_ids: Sequence[int]) -> Marked:
        return Marked(tuple(self._read_mark(row) for row in rows if row.start is not None),
                      self.stored_texts)  # fmt: skip

    def _read_mark(self, row: AnswerRow) -> Mark:
        (category, column), says = self.read_part(row.part), row.detail or {}
        return Mark(
            column, row.start or 0, row.end or 0, row.text, category,
            str(says.get("severity", "")), str(says.get("note", "")), row.turn,
        )  # fmt: skip

    def write_entry(self, value: Any, order: Sequence[int]) -> str:
        return write_json(self._write_marks(value.marks) or [NONE])

    def _write_marks(self, marks: Sequence[Mark]) -> list[Any]:
        """Return entries of these marks, which count in the texts as they are shown."""
        entries: list[Any] = []
        for mark in sort_marks(marks):
            entry: dict[str, Any] = {} if mark.column == OUTPUT else {"in": mark.column}
            if mark.turn:
                entry["turn"] = mark.turn
            text = self._texts.get(mark.place)
            if mark.start < 0 or text is None:
                entry["quote"] = mark.quote
            else:
                start, end = (bisect_left(text.places, at) for at in (mark.start, mark.end))
                entry |= {"start": start, "end": end, "quote": text.shown[start:end]}
            if mark.start == mark.end and not self._is_whole(mark.category):
                entry["missing"] = True
            says = {"category": mark.category, "severity": mark.severity, "note": mark.note}
            entries.append(entry | {name: words for name, words in says.items() if words})
        return entries

    def is_part(self, part: str) -> bool:
        category, column = self.read_part(part)
        is_known = not category or self.find_category(category) is not None
        return part == NONE or (is_known and column in self.marked_columns)

    def select_rows(self) -> Q:
        nothing = Q(part=NONE, value=1) if self.none else Q(pk__in=[])
        score = Q(part="", value__gte=0) if self.score == "sum" else Q(pk__in=[])
        return (nothing | score) & Q(text="", detail__isnull=True)

    def select_marks(self) -> Q:
        kinds: list[Category | None] = [*self.categories] or [None]
        allowed = Q(pk__in=[])
        for category in kinds:
            key = category.key if category else ""
            keys = [key] if key or not self.omission else [key, OMISSION]
            parts = [
                each if column == OUTPUT else f"{each}@{column}"
                for column in self.list_columns(category)
                for each in keys
            ]
            severities = [part.key for part in self.list_severities(category)]
            is_severe = Q(detail__severity__in=severities) if severities else Q()
            allowed |= Q(part__in=parts) & is_severe
        return allowed

    def are_consistent(self, rows: Sequence[AnswerRow]) -> bool:
        marks = [row for row in rows if row.start is not None]
        scores = [row.value for row in rows if row.start is None and row.part == ""]
        nothing = [row for row in rows if row.start is None and row.part == NONE]
        score = round_value(sum(map(self.weigh_row, marks)))
        return bool(marks) != bool(nothing) and scores == ([score] if self.score == "sum" else [])

    # --- conditions

    def name_kinds(self) -> dict[tuple[str, str], str]:
        kinds = {("category", part.key): part.label for part in self.categories}
        return kinds | {("severity", part.key): part.label for part in self.severities}

    def name_tested(self, value: Any) -> str:
        mark = Mark(OUTPUT, -1, -1, "", value.get("category", ""), value.get("severity", ""))
        return f"“{self._name_kind(mark)}”"

    def list_tested(self, answer: Any) -> tuple[Any, ...]:
        return tuple(answer.marks)

    # --- gold: a JSON list with the marks of each output, by quote; []: no mark; null: not asked

    def is_gold(self, gold: Any, outputs: int) -> bool:
        return gold is None or self.is_answer(gold, outputs)

    def parse_gold(self, text: str, outputs: Sequence[str]) -> list[Any]:
        try:
            parts = read_json(text)
        except ValueError:
            parts = None
        if isinstance(parts, list) and len(outputs) == 1 and all(map(self._is_mark, parts)):
            parts = [parts]
        if not isinstance(parts, list) or not all(self.is_gold(part, 1) for part in parts):
            raise ValidationError(
                f"{quote_words(text)} isn’t a list of passages. Write JSON such as "
                '[{"quote": "the passage"}], or [] if nothing is to be marked.'
            )
        if len(parts) != len(outputs):
            raise ValidationError(
                f"There are passages for {len(parts)} of {len(outputs)} outputs. Write a list for "
                "each output, in a list."
            )
        return parts

    def judge(
        self,
        right: Sequence[Any],
        values: Sequence[Any],
        standard: int | None,
        names: Sequence[str],
        *,
        is_by_document: bool = False,
    ) -> Judged:
        judged: Judged = []
        for part, value, name in zip(right, values, names, strict=True):
            lines = [] if part is None else [*self._judge_output(part, value)]
            judged += [
                (is_met, words if len(right) == 1 else f"{name}: {words}")
                for is_met, words in lines
            ]
        return judged

    def _judge_output(self, part: Sequence[Any], value: Marked) -> Judged:
        if not part:
            if not value.marks:
                return [(True, _("You marked nothing, as we suggest."))]
            quotes = ", ".join(self._quote(mark) for mark in value.marks)
            return [(False, _("We suggest marking nothing. You marked %(quotes)s.")
                     % {"quotes": quotes})]  # fmt: skip
        return [self._judge_quote(entry, value) for entry in part]

    def _judge_quote(self, entry: Mapping[str, Any], value: Marked) -> tuple[bool, str]:
        """Say whether a mark touches the passage that is right."""
        right = Mark(OUTPUT, -1, -1, entry["quote"], entry.get("category", ""),
                     entry.get("severity", ""))  # fmt: skip
        scale = self.model_copy()
        scale._texts, scale._joined = {key: _Text(text) for key, text in value.texts.items()}, {}
        touched: list[Mark] = []
        try:
            place = scale.locate(entry)
        except ValidationError:
            pass  # of another text
        else:
            span = Span(place.start, place.end)
            touched = [
                mark
                for mark in value.marks
                if mark.place == place.place and span.meets(Span(mark.start, mark.end))
            ]
        words = {"quote": quote_words(right.quote), "right": self._name_kind(right)}
        if touched:
            words["given"] = self._name_kind(touched[0], like=right)
            if words["given"] == words["right"]:
                return True, _("You marked %(quote)s, as we suggest.") % words
            return True, _("You marked %(quote)s as %(given)s. We suggest %(right)s.") % words
        if words["right"]:
            return False, _("We suggest marking %(quote)s as %(right)s.") % words
        return False, _("We suggest marking %(quote)s.") % words

    def _name_kind(self, mark: Mark, like: Mark | None = None) -> str:
        """Return category and severity in words, as far as another mark has them."""
        category = self._name_category(mark) if not like or like.category else ""
        severities = [part.label for part in self.severities if part.key == mark.severity]
        severity = severities if not like or like.severity else []
        return ", ".join([*([category] if category else []), *severity])

    def count_asked(self, text: str, outputs: int, standard: int | None) -> int:
        parts = self.parse_gold(text, [str(number) for number in range(outputs)])
        return sum(max(len(part), 1) for part in parts if part is not None)

    def right_values(
        self, right: Sequence[Any], outputs: int, standard: int | None
    ) -> list[Any | None]:
        return [None if part is None else self._read_data(part) for part in right]

    def _read_data(self, data: Sequence[Mapping[str, Any]]) -> Marked:
        """Return the marks that data quote, with what else a mark of them needs."""
        marks = []
        for entry in data:
            key = entry.get("category") or (self.categories[0].key if self.categories else "")
            category = self.find_category(key)
            severities = [part.key for part in self.list_severities(category)]
            severity = entry.get("severity") or next(iter(severities), "")
            note = "-" if self.note == "required" else ""
            column = entry.get("in") or self.list_columns(category)[0]
            turn = entry.get("turn", 0)
            marks.append(Mark(column, -1, -1, entry["quote"], key, severity, note, turn))
        return Marked(tuple(marks))

    def write_gold(self, values: Sequence[Any | None]) -> str:
        return write_json([None if value is None else _write_data(value) for value in values])

    def gold_to_data(self, text: str) -> Any:
        parts = read_json(text)
        return [parts] if not parts or isinstance(parts[0], dict) else parts

    def gold_from_data(self, data: Any) -> str:
        return write_json(list(data))

    def rating_from_data(self, data: Any) -> tuple[Any, ...]:
        return tuple(None if part is None else self._read_data(part) for part in data)

    # --- words

    def _name_mark(self, mark: Mark) -> str:
        kind, words = self._name_kind(mark), self._quote(mark)
        if mark.turn:
            words = _("%(quote)s in turn %(turn)s") % {"quote": words, "turn": mark.turn}
        words = f"{words}: {kind}" if kind else words
        return f"{words} ({mark.note})" if mark.note else words

    def label_of_row(self, value: float, part: str) -> str:
        return (self.none or "") if part == NONE else ""

    def describe_choices(self) -> str:
        return "marked passages, which no cell holds"

    def describe_values(self) -> str:
        words = "the weights of the marks, added up: "
        weights = ", ".join(f"{part.label} {part.weight}" for part in self.severities)
        score = [f"{words}{weights}"] if self.score == "sum" else []
        none = [f"part {NONE}: 1 = {self.none}"] if self.none else []
        return "; ".join([*score, *none]) or "no value: the passages are in highlights.csv"

    def write_cell(self, rows: Sequence[AnswerRow]) -> str:
        scores = [str(row.value) for row in rows if row.part == "" and row.start is None]
        return scores[0] if scores else NONE if any(row.part == NONE for row in rows) else ""

    def describe_wide(self) -> tuple[str, bool, str]:
        if self.score == "sum":
            return "the weights of the marks, added up", True, "0 and more"
        return "whether nothing was marked", False, NONE

    def describe_answer(self, rows: Sequence[AnswerRow]) -> str:
        marks = [self._name_mark(self._read_mark(row)) for row in rows if row.start is not None]
        scores = [row.value for row in rows if row.part == "" and row.start is None]
        if scores and any(row.part != "" for row in rows):
            return f"{'; '.join(marks) or self.none} (penalty {scores[0]})"
        return "; ".join(marks) or (f"penalty {scores[0]}" if scores else self.none or "nothing")

    def describe_ratings(self, ratings: Sequence[Any]) -> str:
        return " · ".join(
            "; ".join(map(self._name_mark, value.marks)) or self.none or "nothing"
            for value in ratings
        )

    def write_markdown(self) -> str:
        severities = [
            (f"{part.label}, weight {part.weight}", part.definition) for part in self.severities
        ]
        categories = [
            (f"{part.group}: {part.label}" if part.group else part.label, part.definition)
            for part in self.categories
        ]
        lines = [
            f"- {words}: {definition}" if definition else f"- {words}"
            for words, definition in (*severities, *categories)
        ]
        ticked = [f"- {self.none} (nothing is marked)"] if self.none else []
        return "\n".join(["Passages of the text are marked.", "", *lines, *ticked])

    def words(self) -> str:
        counts = [(len(self.categories), "categories"), (len(self.severities), "severities")]
        kinds = " and ".join(f"one of {count} {name}" for count, name in counts if count)
        return f"passages marked with {kinds}" if kinds else "marked passages"

    def name_choices(self) -> tuple[str, ...]:
        kinds = [part.label for part in self.categories]
        severities = [part.label for part in self.severities]
        return (*kinds, *severities, *([self.none] if self.none else []))

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        worth = felt[max(number - 1, 0)]
        words = [
            (turn, text, word)
            for turn, text in self._list_texts(OUTPUT)
            for word in _find_words(text.shown)
        ]
        count = min(max(round(1.5 - worth), 0 if self.none else 1), 4, self.highest, len(words))
        categories = [
            part for part in self.categories if OUTPUT in self.list_columns(part) and not part.whole
        ]
        if not count or (self.categories and not categories):
            return write_json([NONE]) if self.none else ""
        seed = round(abs(worth) * 1_000)
        places = sorted({(seed + step * 7) % len(words) for step in range(count)})
        marks = []
        for step, place in enumerate(places):
            category = categories[(seed + step) % len(categories)] if categories else None
            severities = self.list_severities(category)
            severity = severities[(seed + step) % len(severities)].key if severities else ""
            turn, text, word = words[place]
            start, end = (text.places[at] for at in word)
            marks.append(
                Mark(
                    OUTPUT, start, end, text.stored[start:end],
                    category.key if category else "", severity,
                    "-" if self.note == "required" else "", turn,
                )
            )  # fmt: skip
        return write_json(self._write_marks(marks))


class _Text:
    """A text in which passages are marked, as it is stored and as a page shows it."""

    def __init__(self, stored: str) -> None:
        self.stored = stored
        self.shown = as_shown(stored)
        self.places = find_places(stored)
        self._spans: dict[str, list[Span]] = {}

    @cached_property
    def even(self) -> EvenText:
        return make_even(self.shown)

    def check_span(self, entry: Mapping[str, Any], *, is_missing: bool) -> Span:
        """Return the place that an entry names; ValidationError if it isn't one, or not quoted."""
        start, end, words = entry.get("start"), entry.get("end"), str(entry.get("quote") or "")
        if type(start) is not int or type(end) is not int:
            raise ValidationError(
                _("A passage has no place in the text. Mark it again"), code="no_place"
            )
        if end < start:
            raise ValidationError(
                _("A passage ends before it begins. Mark it again"), code="reversed"
            )
        if start < 0 or end > len(self.shown):
            raise ValidationError(
                _("A passage reaches beyond the text. Mark it again"), code="outside"
            )
        if start == end and not is_missing:
            raise ValidationError(_("A passage is empty. Mark it again"), code="empty")
        quoted = {"quote": quote_words(words)}
        if self.shown[start:end] != words:
            raise ValidationError(
                _("%(quote)s isn’t at this place of the text. Mark it again") % quoted,
                code="misfit",
            )
        if is_split(self.shown, start) or is_split(self.shown, end):
            raise ValidationError(
                _("%(quote)s begins or ends inside a character. Mark it again") % quoted,
                code="split",
            )
        return Span(start, end)

    def list_spans(self, words: str) -> list[Span]:
        """List where these words are, one after another."""
        if words in self._spans:
            return self._spans[words]
        spans: list[Span] = []
        span, at = find_passage(words, self.even)
        while span and len(spans) < MOST:
            spans.append(span)
            span, at = find_passage(words, self.even, at + len(words))
        self._spans[words] = spans
        return spans


# --- entries --------------------------------------------------------------------------------


def parse_entry(entry: str) -> list[Any] | None:
    """Return the marks of an entry, and "none" where that is ticked; None if it's no such list."""
    if not entry.strip():
        return []
    try:
        entries = read_json(entry)
    except ValueError:
        return None
    if not isinstance(entries, list):
        return None
    if not all(entry == NONE or isinstance(entry, dict) for entry in entries):
        return None
    return [entry if entry == NONE else _clean(entry) for entry in entries]


def _clean(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mark as it was posted, without characters that no page or database holds."""
    return {
        name: unify_breaks(drop_unstorable(value)) if isinstance(value, str) else value
        for name, value in entry.items()
        if isinstance(value, str | int | bool)
    }


def parse_suggested(cell: Any) -> list[Any] | None:
    """Return the marks in a cell of a column; None if it's no list of marks."""
    entries = parse_entry(cell if isinstance(cell, str) else json.dumps(cell or []))
    return None if entries is None or NONE in entries else entries


def write_json(entries: Sequence[Any]) -> str:
    # as a script would write it, which compares the two
    return json.dumps(entries, ensure_ascii=False, separators=(",", ":"))


def sort_marks(marks: Sequence[Mark]) -> list[Mark]:
    """Return the marks of the output first, and each text's in their order."""
    return sorted(marks, key=_name_place)


def _name_place(mark: Mark) -> tuple[bool, str, int, int, int, str]:
    return mark.column != OUTPUT, mark.column, mark.turn, mark.start, mark.end, mark.category


def _count_rows(data: Mapping[str, Any], name: str) -> range:
    """Return the numbers of the rows that were posted without a script."""
    number = 1
    while f"{name}.quote-{number}" in data:
        number += 1
    return range(1, number)


def _read_row(data: Mapping[str, Any], name: str, number: int) -> dict[str, Any]:
    """Return a row as an entry; nothing if it was left empty."""
    parts = ("quote", "nth", "category", "severity", "note", "in", "missing")
    row = {part: str(data.get(f"{name}.{part}-{number}") or "").strip() for part in parts}
    filled = {part: words for part, words in row.items() if words}
    return filled if filled.keys() - {"in"} else {}


def _write_data(value: Marked) -> list[dict[str, Any]]:
    """Return the marks as examples have them: those that quote something."""
    return [
        {
            **({} if mark.column == OUTPUT else {"in": mark.column}),
            **({"turn": mark.turn} if mark.turn else {}),
            "quote": mark.quote,
            **_number_quote(mark, value.texts.get(mark.place, "")),
            **({"category": mark.category} if mark.category else {}),
            **({"severity": mark.severity} if mark.severity else {}),
        }
        for mark in value.marks
        if mark.quote
    ]


def _number_quote(mark: Mark, stored: str) -> dict[str, int]:
    """Say which of several equal passages is marked."""
    text = _Text(stored)
    spans = text.list_spans(" ".join(mark.quote.split()))
    starts = [text.places[span.start] for span in spans]
    return {"nth": starts.index(mark.start) + 1} if starts[1:] and mark.start in starts else {}


def _find_words(shown: str) -> list[Span]:
    spans, at = [], 0
    for word in shown.split():
        at = shown.index(word, at)
        spans.append(Span(at, at + len(word)))
        at += len(word)
    return spans
