"""The kinds of questions: how each is answered, what its parameters are, and what is an answer."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from django.apps import apps
from pydantic import AfterValidator, AliasChoices, Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import (
    Key,
    Names,
    Numeric,
    Part,
    WeightValue,
    Words,
    is_number,
    refuse,
)

NA = "na"
# the part of a stored rating that is a comment on a question
COMMENT = "comment"
LONGEST_TEXT = 5000
Per = Literal["output", "item", "turn"]
_RANGE = re.compile(r"\s*(-?\d{1,9}(?:\.\d{1,3})?)(?:\s*\.\.\s*(-?\d{1,9}(?:\.\d{1,3})?))?\s*")
_STEPS = re.compile(r"(-?[0-3])(?:\.\.(-?[0-3]))?")


class Scale(Part):
    """How a question is answered.

    `asked`: what it may be asked of, its default first. `tests`: what conditions may ask of its
    answers, beside whether there is one. `directed`: a criterion may say which values are better.
    `gold_of_all`: gold is about all outputs together, also where each is answered by itself.
    """

    kind: str
    asked: ClassVar[tuple[Per, ...]] = ("output", "item", "turn")
    tests: ClassVar[frozenset[str]] = frozenset()
    directed: ClassVar[bool] = True
    needs: ClassVar[Literal["", "pair", "several"]] = ""
    gold_of_all: ClassVar[bool] = False

    def find_faults(self, at: str) -> Iterator[Fault]:
        """Find what is wrong between its parameters; each by itself has no fault."""
        yield from ()

    def name_columns(self) -> Iterator[tuple[str, str, str]]:
        """Name the columns that it needs: parameter, column and kind of column."""
        yield from ()

    def list_answers(self) -> list[Any] | None:
        """List the answers that conditions and examples may name; None: any number in bounds."""
        return None

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return is_among(answer, self.list_answers() or [])

    def is_gold(self, gold: Any, outputs: int) -> bool:
        """Tell whether this says what is right; None asks nothing."""
        return gold is None or self.is_answer(gold, outputs)

    @property
    def has_na(self) -> bool:
        """Tell whether it may be answered that the question doesn't apply."""
        return bool(getattr(self, "not_applicable", None))

    def list_quotes(self, answer: Any) -> list[str]:
        """List the passages that an answer quotes."""
        return []

    @property
    def has_decimals(self) -> bool:
        """Tell whether answers may have decimals."""
        return False


def is_among(answer: Any, known: list[Any]) -> bool:
    """Tell whether an answer is one of these, and of the same type: true isn't 1."""
    return any(answer == value and type(answer) is type(value) for value in known)


def find_twice(parts: list[Any], at: str, name: str = "key") -> Iterator[Fault]:
    values = [getattr(part, name) for part in parts]
    for number, value in enumerate(values):
        if value in values[:number]:
            yield Fault("duplicate", at, f"has {value!r} twice")


def find_bad_counts(least: int, most: int | None, count: int, at: str) -> Iterator[Fault]:
    """Find bounds that go beyond what can be counted, or that no answer meets."""
    if least > count:
        yield Fault("out_of_range", f"{at}.least", f"must be from 0 to {count}")
    elif most is not None and not max(least, 1) <= most <= count:
        yield Fault("out_of_range", f"{at}.most", f"must be from {max(least, 1)} to {count}")


def check_option_key(key: str) -> str:
    if key in (COMMENT, NA):
        raise refuse("bad_key", "is a word that answers use for something else")
    return key


OptionKey = Annotated[Key, AfterValidator(check_option_key)]


# --- numbers ----------------------------------------------------------------------


class NumberScale(Scale):
    """A kind whose answer is a number. Gold is a number or a range of numbers: 4 or 4..5."""

    tests: ClassVar[frozenset[str]] = frozenset({"is", "at_least", "at_most"})

    def is_gold(self, gold: Any, outputs: int) -> bool:
        if gold is None or gold == "":
            return True
        if isinstance(gold, str) and gold.strip().casefold() == NA:
            return self.has_na
        ends = _RANGE.fullmatch(str(gold)) if isinstance(gold, str) or is_number(gold) else None
        if ends is None:
            return False
        numbers = [float(end) if "." in end else int(end) for end in ends.groups() if end]
        return numbers == sorted(numbers) and all(self.is_answer(end, 1) for end in numbers)


class Point(Part):
    value: Numeric
    label: str
    notes: Names = []
    reserved: bool = False


class Likert(NumberScale):
    kind: Literal["likert"]
    points: Annotated[list[Point], Field(min_length=2, max_length=21)]
    shown: Literal["rising", "falling"] = "rising"
    display: Literal["row", "stacked"] = "row"
    reserved_note: str = ""
    not_applicable: Words | None = None
    out_of: bool = Field(False, validation_alias=AliasChoices("out_of", "x_out_of"))

    def find_faults(self, at: str) -> Iterator[Fault]:
        values = [point.value for point in self.points]
        if values != sorted(set(values)):
            yield Fault("order", f"{at}.points", "must have values that rise")
        for end in (0, len(self.points) - 1):
            if not self.points[end].label.strip():
                yield Fault("empty_text", f"{at}.points.{end}.label", "must not be empty")

    def list_answers(self) -> list[Any]:
        return [point.value for point in self.points] + ([NA] if self.not_applicable else [])

    @property
    def has_decimals(self) -> bool:
        return any(isinstance(point.value, float) for point in self.points)


class Bounded(NumberScale):
    """Numbers between two ends."""

    minimum: Numeric
    maximum: Numeric

    def find_faults(self, at: str) -> Iterator[Fault]:
        if self.minimum >= self.maximum:
            yield Fault("order", at, "must have a minimum below its maximum")

    def is_answer(self, answer: Any, outputs: int) -> bool:
        if answer == NA:
            return self.has_na
        return (
            is_number(answer)
            and (self.has_decimals or isinstance(answer, int))
            and self.minimum <= answer <= self.maximum
        )

    @property
    def has_decimals(self) -> bool:
        return isinstance(self.minimum, float) or isinstance(self.maximum, float)


class Number(Bounded):
    kind: Literal["number"]
    unit: Words | None = None
    not_applicable: Words | None = None


class Mark(Part):
    value: Numeric
    label: Words
    notes: Names = []


class Slider(Bounded):
    kind: Literal["slider"]
    step: Numeric = 1
    not_applicable: Words | None = None
    low: Words | None = None
    high: Words | None = None
    marks: Annotated[list[Mark], Field(max_length=21)] = []

    def find_faults(self, at: str) -> Iterator[Fault]:
        yield from super().find_faults(at)
        length = self.maximum - self.minimum
        if length > 0 and not 0 < self.step <= length:
            words = f"must be above 0, and at most {length}"
            yield Fault("out_of_range", f"{at}.step", words)
        for number, mark in enumerate(self.marks):
            if not self.minimum <= mark.value <= self.maximum:
                words = f"must be from {self.minimum} to {self.maximum}"
                yield Fault("out_of_range", f"{at}.marks.{number}.value", words)
        yield from find_twice(self.marks, f"{at}.marks", "value")

    @property
    def has_decimals(self) -> bool:
        values = [self.step, *(mark.value for mark in self.marks)]
        return super().has_decimals or any(isinstance(value, float) for value in values)


class Standard(Part):
    inputs: Names = []


class Magnitude(Scale):
    kind: Literal["magnitude"]
    asked: ClassVar[tuple[Per, ...]] = ("output",)
    gold_of_all: ClassVar[bool] = True
    minimum: int = Field(1, ge=1, le=999_999)
    maximum: int = Field(999_999, ge=1, le=999_999)
    standard: Standard | None = None

    def find_faults(self, at: str) -> Iterator[Fault]:
        if self.minimum >= self.maximum:
            yield Fault("order", at, "must have a minimum below its maximum")

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return type(answer) is int and self.minimum <= answer <= self.maximum

    def is_gold(self, gold: Any, outputs: int) -> bool:
        """Tell whether this is an order that scores can have, such as 2<1=3; 0: the standard."""
        if not isinstance(gold, str):
            return False
        names = {str(number): number for number in range(1, outputs + 1)} | {"standard": 0}
        pairs: list[tuple[int, int, bool]] = []
        for chain in filter(str.strip, gold.split(",")):
            steps = [step.strip().casefold() for step in re.split(r"([<>=])", chain)]
            if len(steps) == 1 or any(step not in names for step in steps[::2]):
                return False
            places = [names[step] for step in steps[::2]]
            for left, sign, right in zip(places, steps[1::2], places[1:], strict=False):
                low, high = (right, left) if sign == ">" else (left, right)
                pairs.append((low, high, sign == "="))
        return bool(pairs) and _can_be_met(pairs)


def _can_be_met(pairs: list[tuple[int, int, bool]]) -> bool:
    """Tell whether levels can meet all of these: low, high, whether both are equal."""
    level = {place: 0 for low, high, _ in pairs for place in (low, high)}
    if any(low == high for low, high, _ in pairs):
        return False
    while max(level.values()) <= len(level):
        before = dict(level)
        for low, high, is_equal in pairs:
            level[high] = max(level[high], level[low] + (not is_equal))
            if is_equal:
                level[low] = max(level[low], level[high])
        if level == before:
            return True
    return False


# --- answers to choose ------------------------------------------------------------


class Decision(Scale):
    kind: Literal["decision"]
    tests: ClassVar[frozenset[str]] = frozenset({"is"})
    yes: Words
    no: Words
    not_applicable: Words | None = None

    def list_answers(self) -> list[Any]:
        return [1, 0, *([NA] if self.not_applicable else [])]


class Statement(Part):
    key: Key
    text: Words


class Checklist(Scale):
    kind: Literal["checklist"]
    asked: ClassVar[tuple[Per, ...]] = ("output", "turn")
    tests: ClassVar[frozenset[str]] = frozenset({"includes"})
    yes: Words
    no: Words
    statements: Annotated[list[Statement], Field(min_length=1, max_length=100)] | None = None
    from_column: Words | None = None
    most: int = Field(100, ge=1, le=100)
    not_applicable: Words | None = None

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

    def list_answers(self) -> list[Any]:
        return [1, 0, *([NA] if self.not_applicable else [])]

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return isinstance(answer, list) and all(
            is_among(entry, self.list_answers()) for entry in answer
        )

    def is_gold(self, gold: Any, outputs: int) -> bool:
        if gold is None:
            return True
        if not isinstance(gold, list) or not self.is_answer(
            [entry for entry in gold if entry is not None], 1
        ):
            return False
        return not self.statements or not gold or len(gold) == len(self.statements)


class Option(Part):
    key: OptionKey
    label: Words
    notes: Names = []
    exclusive: bool = False
    other: bool = False


def find_option_faults(options: list[Any], at: str) -> Iterator[Fault]:
    yield from find_twice(options, at)
    if sum(option.other for option in options) > 1:
        yield Fault("duplicate", at, "can have one option with words of one’s own")


class Choice(Scale):
    kind: Literal["choice"]
    directed: ClassVar[bool] = False
    tests: ClassVar[frozenset[str]] = frozenset({"is"})
    options: Annotated[list[Option], Field(min_length=2, max_length=200)]
    shuffle: bool = False
    not_applicable: Words | None = None

    def find_faults(self, at: str) -> Iterator[Fault]:
        yield from find_option_faults(self.options, f"{at}.options")

    def list_answers(self) -> list[Any]:
        return [option.key for option in self.options] + ([NA] if self.not_applicable else [])


class Choices(Scale):
    kind: Literal["choices"]
    directed: ClassVar[bool] = False
    tests: ClassVar[frozenset[str]] = frozenset({"includes"})
    options: Annotated[list[Option], Field(min_length=1, max_length=200)]
    shuffle: bool = False
    least: int = Field(0, ge=0)
    most: int | None = Field(None, ge=1)

    def find_faults(self, at: str) -> Iterator[Fault]:
        yield from find_option_faults(self.options, f"{at}.options")
        yield from find_bad_counts(self.least, self.most, len(self.options), at)

    def list_answers(self) -> list[Any]:
        return [option.key for option in self.options]

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return isinstance(answer, list) and all(
            is_among(entry, self.list_answers()) for entry in answer
        )


# --- outputs compared -------------------------------------------------------------


class Step(Part):
    value: int = Field(ge=-3, le=3)
    label: Words
    notes: Names = []


class Tag(Option):
    side: Literal["good", "bad", "either"] = "either"


class Tags(Part):
    label: Words
    about: Literal["preferred", "each output", "comparison"]
    options: Annotated[list[Tag], Field(min_length=2, max_length=200)]
    least: int = Field(0, ge=0)
    most: int | None = Field(None, ge=1)


class Preference(Scale):
    kind: Literal["preference"]
    asked: ClassVar[tuple[Per, ...]] = ("item",)
    tests: ClassVar[frozenset[str]] = frozenset({"is"})
    directed: ClassVar[bool] = False
    needs: ClassVar[Literal["", "pair", "several"]] = "pair"
    points: Annotated[list[Step], Field(min_length=2, max_length=7)]
    both_good: Words | None = None
    both_bad: Words | None = None
    tags: Tags | None = None
    display: Literal["row", "stacked"] = "row"

    def find_faults(self, at: str) -> Iterator[Fault]:
        values = [point.value for point in self.points]
        if values != sorted(set(values)) or [-value for value in reversed(values)] != values:
            words = "must have values that rise and mirror around 0"
            yield Fault("not_symmetric", f"{at}.points", words)
        if self.tags:
            yield from find_option_faults(self.tags.options, f"{at}.tags.options")
            count = len(self.tags.options)
            yield from find_bad_counts(self.tags.least, self.tags.most, count, f"{at}.tags")

    def list_answers(self) -> list[Any]:
        both = [name for name in ("both_good", "both_bad") if getattr(self, name)]
        return [step.value for step in self.points] + both

    def is_gold(self, gold: Any, outputs: int) -> bool:
        if gold in ("both_good", "both_bad"):
            return self.is_answer(gold, outputs)
        ends = _STEPS.fullmatch(gold) if isinstance(gold, str) else None
        if ends is None:
            return False
        low, high = sorted(int(end) for end in (ends[1], ends[2] or ends[1]))
        is_on_one_side = low == high or low > 0 or high < 0
        return is_on_one_side and all(self.is_answer(end, outputs) for end in (low, high))


class Ranking(Scale):
    kind: Literal["ranking"]
    asked: ClassVar[tuple[Per, ...]] = ("item",)
    directed: ClassVar[bool] = False
    needs: ClassVar[Literal["", "pair", "several"]] = "several"
    ties: bool = False
    top: int | None = Field(None, ge=1, le=10)  # only so many places are filled
    best: Words | None = None
    worst: Words | None = None

    def is_answer(self, answer: Any, outputs: int) -> bool:
        if not isinstance(answer, list) or len(answer) != outputs:
            return False
        ranks = [rank for rank in answer if rank is not None]
        are_places = all(type(rank) is int and 1 <= rank <= outputs for rank in ranks)
        return are_places and (self.ties or len(set(ranks)) == len(ranks))


class BestWorst(Scale):
    kind: Literal["best_worst"]
    asked: ClassVar[tuple[Per, ...]] = ("item",)
    directed: ClassVar[bool] = False
    needs: ClassVar[Literal["", "pair", "several"]] = "several"
    best: Words
    worst: Words

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return self.is_gold(answer, outputs) and len(answer) == 2

    def is_gold(self, gold: Any, outputs: int) -> bool:
        """Tell whether this names outputs by number; one end is enough."""
        if not isinstance(gold, dict) or not gold or gold.keys() - {"best", "worst"}:
            return False
        places = list(gold.values())
        are_outputs = all(type(place) is int and 1 <= place <= outputs for place in places)
        return are_outputs and len(set(places)) == len(places)


# --- passages and words -----------------------------------------------------------


class Severity(Part):
    key: OptionKey
    label: Words
    weight: WeightValue
    definition: str = ""


def check_category_key(key: str) -> str:
    if key == "none":
        raise refuse("bad_key", "is a word that answers use for something else")
    return key


class Category(Part):
    key: Annotated[OptionKey, AfterValidator(check_category_key)]
    label: Words
    group: str = ""
    definition: str = ""
    severities: list[Key] = []
    whole: bool = False
    mark_in: list[Key] = []


class Weight(Part):
    category: Key
    severity: Key | None = None
    weight: WeightValue


class Omission(Part):
    label: Words
    category: Key | None = None


class Spans(Scale):
    """Passages with category and severity; without both lists a plain highlight."""

    kind: Literal["spans"]
    asked: ClassVar[tuple[Per, ...]] = ("output",)
    tests: ClassVar[frozenset[str]] = frozenset({"has"})
    directed: ClassVar[bool] = False  # fewer and lighter errors are better
    severities: Annotated[list[Severity], Field(max_length=7)] = []
    categories: Annotated[list[Category], Field(max_length=200)] = []
    weights: Annotated[list[Weight], Field(max_length=200)] = []
    most: int | None = Field(None, ge=1, le=200)
    none: Words | None = None
    omission: Omission | None = None
    prefill: Key | None = None
    mark_in: list[Key] = []
    note: Literal["none", "optional", "required"] = "none"
    score: Literal["sum", "none"] = "none"

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

    def name_columns(self) -> Iterator[tuple[str, str, str]]:
        if self.prefill:
            yield "prefill", self.prefill, "spans"
        marked = {
            *self.mark_in,
            *(name for category in self.categories for name in category.mark_in),
        }
        for name in sorted(marked - {"output"}):
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
            not mark.keys() - {"quote", "severity", "category", "nth", "in"}
            and ("severity" not in mark or mark["severity"] in severities)
            and ("category" not in mark or mark["category"] in categories)
        )


_NO_CATEGORY = "must name a category of this question"
_NO_SEVERITY = "must name a severity of this question"


class Text(Scale):
    kind: Literal["text"]
    directed: ClassVar[bool] = False
    lines: int = Field(3, ge=1, le=30)
    least: int = Field(1, ge=0, le=LONGEST_TEXT)
    most: int = Field(LONGEST_TEXT, ge=1, le=LONGEST_TEXT)

    def find_faults(self, at: str) -> Iterator[Fault]:
        if self.most < self.least:
            words = f"must be from {max(self.least, 1)} to {LONGEST_TEXT}"
            yield Fault("out_of_range", f"{at}.most", words)

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return isinstance(answer, str)

    def is_gold(self, gold: Any, outputs: int) -> bool:
        return False  # words have no right answer


class PostEdit(Scale):
    kind: Literal["post_edit"]
    asked: ClassVar[tuple[Per, ...]] = ("output",)
    tests: ClassVar[frozenset[str]] = frozenset({"changed"})
    directed: ClassVar[bool] = False
    may_be_unchanged: bool = True
    most: int = Field(50_000, ge=1, le=200_000)

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return isinstance(answer, str)


KINDS: dict[str, type[Scale]] = {
    "likert": Likert,
    "slider": Slider,
    "number": Number,
    "magnitude": Magnitude,
    "decision": Decision,
    "checklist": Checklist,
    "choice": Choice,
    "choices": Choices,
    "preference": Preference,
    "ranking": Ranking,
    "best_worst": BestWorst,
    "spans": Spans,
    "text": Text,
    "post_edit": PostEdit,
}


# in the JSON Schema
AnyScale = Annotated[
    Likert
    | Slider
    | Number
    | Magnitude
    | Decision
    | Checklist
    | Choice
    | Choices
    | Preference
    | Ranking
    | BestWorst
    | Spans
    | Text
    | PostEdit,
    Field(discriminator="kind"),
]


def list_kinds() -> dict[str, type[Scale]]:
    """Return the kinds of questions: those of the format, and those that apps on this site add."""
    configs: list[Any] = list(apps.get_app_configs())
    added = [config for config in configs if getattr(config, "shape", None)]
    return KINDS | {config.scale.kind: config.shape for config in added}


def read_scale(data: Any) -> Scale:
    """Read a scale by its kind."""
    if not isinstance(data, dict):
        raise refuse("type", "must be an object")
    kinds = list_kinds()
    kind = kinds.get(str(data.get("kind")))
    if kind is None:
        raise refuse("unknown_scale", f"must be one of: {', '.join(sorted(kinds))}")
    return kind.model_validate(data)


def is_scale(data: Any) -> bool:
    """Tell whether this is a scale without any fault."""
    try:
        scale = read_scale(data)
    except ValueError:
        return False
    return not list(scale.find_faults(""))
