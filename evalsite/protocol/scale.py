"""What a kind of question (a scale) declares: each lives in a folder that `SCALES` lists.

The site knows scales by this class alone. A scale says what its answer is in four forms:

- an *entry*: the text of a form control ("4", "tie"), by the number of the question's output on
  the page, from 1; 0 means a question about all outputs;
- an *answer*: what its form field cleans an entry to;
- *values*: one for each output in the order uploaded, or for a question about all outputs the
  scale's own list; None where something was not answered, NA where it is not applicable;
- *rows*: what is stored (`Row`); the output id is None where no output is meant.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self

from django.db.models import Q

from evalsite.protocol.faults import Faults, check_list, check_whole

if TYPE_CHECKING:
    from django import forms

    from evalsite.protocol import Criterion

# as entry, as value and in data: the question is not applicable
NA = "na"


class Row(NamedTuple):
    """One row that is stored: a number, a text, or that the question is not applicable."""

    output_id: int | None
    value: float | None
    part: str = ""
    text: str = ""
    detail: dict[str, Any] | None = None
    turn: int = 0  # of a conversation, from 1; 0: all of it


class Stored(Protocol):
    """What a scale reads back: a rating, or anything else with the fields of a row."""

    @property
    def output_id(self) -> int | None: ...
    @property
    def value(self) -> float | None: ...
    @property
    def part(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def detail(self) -> dict[str, Any] | None: ...
    @property
    def turn(self) -> int: ...


# for each thing that a gold asks: whether it is met, and a sentence for the participant
Judged = list[tuple[bool, str]]


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The kind of answer to a criterion, with its parameters. Defaults suit a plain number.

    `not_applicable`: the words of a further answer, that the question doesn't apply; "": none.
    """

    not_applicable: str = ""
    kind: ClassVar[str]
    title: ClassVar[str] = ""  # what a researcher calls it: "Likert scale"; "": its kind
    family: ClassVar[str]  # of the analysis: a module of evalsite.analysis.families
    per: ClassVar[Literal["output", "item"]] = "output"
    starts_optional: ClassVar[bool] = False  # a new question of this kind needs no answer
    has_parts: ClassVar[bool] = False  # an answer is several rows
    is_typed: ClassVar[bool] = False  # what is entered varies too much for a page to be kept
    is_written: ClassVar[bool] = False  # a number is written into a box
    keeps_typed: ClassVar[bool] = False  # the text that was typed is kept beside the number
    has_standard: ClassVar[bool] = False  # values relate to a standard of their item
    compares: ClassVar[bool] = False  # an answer prefers one of two outputs, or neither
    # which values are better, unless a criterion says otherwise; "": nothing says it
    better: ClassVar[str] = "higher"
    has_direction: ClassVar[bool] = True  # a criterion may say which values are better
    asks_first: ClassVar[bool] = False  # its question comes before the definition, not after
    is_told_in_words: ClassVar[bool] = False  # its label says more than the number
    pair_only: ClassVar[bool] = False  # an item must have exactly two outputs
    # it may be asked of each turn of a conversation, too
    may_ask_turn: ClassVar[bool] = True
    # what conditions may ask of its answers, beside whether there is one
    tests: ClassVar[frozenset[str]] = frozenset()
    note_on_values: ClassVar[str] = ""  # for the codebook: what the numbers mean
    counted: ClassVar[str] = ""  # what its parameters least and most count: "characters"
    # in data: the keys of its parameters, and of those that can be left out
    needed: ClassVar[frozenset[str]] = frozenset()
    optional: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not cls.title and hasattr(cls, "kind"):
            cls.title = cls.kind.replace("_", " ").capitalize()

    @property
    def has_notes(self) -> bool:
        """Tell whether points have notes below them, which may be folded away after a while."""
        return False

    # --- values

    # every scale has these, as a parameter, a constant or a property
    if TYPE_CHECKING:

        @property
        def minimum(self) -> int: ...

        @property
        def maximum(self) -> int: ...

    def name_entry(self, entry: str) -> str:
        """Return what a page calls an answer that was entered so: its number, or its words."""
        return entry

    @property
    def points_note(self) -> str:
        """Return what a page says once of some of the points; "" where there is nothing to say."""
        return ""

    def label_of(self, value: int) -> str:
        """Return the words at this value; "" if there are none."""
        return ""

    def label_of_row(self, value: int, part: str) -> str:
        """Return the words at the value of a row; those of its part, where it has parts."""
        return self.label_of(value)

    def list_answers(self) -> tuple[tuple[int, str], ...]:
        """List values with their labels, low to high; none where any number in a range will do."""
        return ()

    def is_part(self, part: str) -> bool:
        """Tell whether an answer has a row of this part."""
        return False

    def list_options(self) -> tuple[tuple[str, str], ...]:
        """List key and label of the options that an analysis looks at one by one."""
        return ()

    def reserved_values(self) -> tuple[int, ...]:
        """List the values that the document reserves for difficult cases."""
        return ()

    def name_standard_inputs(self) -> tuple[str, ...] | None:
        """Name the inputs by which an item may have a standard of its own; None: any of them."""
        return ()

    def is_row(self, value: int, *, has_output: bool) -> bool:
        """Tell whether a row with this value, about an output or not, can be stored."""
        return has_output and self.minimum <= value <= self.maximum

    def select_rows(self) -> Q:
        """Return the condition on stored ratings, whichever output they are of."""
        plain = {name: PLAIN[name] for name in PLAIN if name != "text" or not self.keeps_typed}
        found = Q(value__gte=self.minimum, value__lte=self.maximum, **plain)
        return found | _IS_NA if self.not_applicable else found

    @property
    def columns(self) -> frozenset[str]:
        """Name the columns of files that answers need beside the number."""
        return frozenset({"not_applicable"} if self.not_applicable else ())

    def view_entry(self, entry: str) -> Any:
        """Return what the template shows of an entry, where it has several controls."""
        return entry

    def for_item(self, inputs: Mapping[str, Any]) -> Self:
        """Return the scale with what the inputs of an item bring to it."""
        return self

    def for_person(self, seed: str) -> Self:
        """Return the scale as the person of this seed sees it: always in the same way."""
        return self

    @property
    def is_of_person(self) -> bool:
        """Tell whether people see it in different ways."""
        return False

    # --- page

    @property
    def template(self) -> str:
        """Name the template of a question, in the scale's own folder."""
        return f"scales/{self.kind}.html"

    @property
    def na_entry(self) -> dict[str, Any]:
        """Return the entry that says “not applicable”, if there is one, with its answer."""
        return {NA: NA} if self.not_applicable else {}

    @property
    def na_key(self) -> str:
        """Return the key that answers “not applicable”: 0, unless that is a point."""
        return "x" if any(value == 0 for value, _label in self.list_answers()) else "0"

    def name_na(self) -> tuple[str, ...]:
        """Return the words of “not applicable”, where there are some."""
        return (self.not_applicable,) if self.not_applicable else ()

    def list_na(self) -> list[str]:
        """Return the line of “not applicable” in a list of answers in Markdown."""
        return [f"- {words} (not applicable)" for words in self.name_na()]

    def na_to_data(self) -> dict[str, str]:
        return {"not_applicable": self.not_applicable} if self.not_applicable else {}

    def first_control(self, name: str) -> str:
        """Return the id of a question's first control, where the link of an error leads."""
        return name

    def read_entry(self, data: Mapping[str, Any], name: str) -> str:
        """Return the entry that was posted; controls of its own are called `<name>.<part>`."""
        return str(data.get(name) or "")

    def make_field(
        self, criterion: "Criterion", output_name: str, *, is_one_of_several: bool = False
    ) -> "forms.Field":
        """Make the form field of one question; it cleans an entry to an answer.

        Where an item has several outputs, messages name the one in question.
        """
        raise NotImplementedError

    # --- stored and read back

    def make_rows(
        self, answer: Any, output_ids: Sequence[int | None], number: int
    ) -> tuple[Row, ...]:
        """Return what to store of an answer. `output_ids` are in the order of the page."""
        output_id = output_ids[number - 1]
        if answer == NA:
            return (Row(output_id, None, detail={NA: True}),)
        return (Row(output_id, int(answer)),)

    def read_values(
        self, rows: Iterable[Stored], output_ids: Sequence[int | None]
    ) -> list[Any | None]:
        """Return the values that these rows hold, for the outputs in this order."""
        given = {row.output_id: NA if row.value is None else row.value for row in rows}
        return [given.get(output_id) for output_id in output_ids]

    def list_testable(self) -> tuple[Any, ...] | None:
        """List the answers that conditions may name; None: any whole number."""
        answers = tuple(value for value, _label in self.list_answers())
        return (*answers, *([NA] if self.not_applicable else ())) if answers else None

    def name_tested(self, value: Any) -> str:
        """Return the words of an answer that a condition names."""
        if value == NA:
            return self.not_applicable
        return self.label_of(value) or str(value)

    def list_tested(self, answer: Any) -> tuple[Any, ...]:
        """List what conditions of other questions may ask for in an answer, as data names it."""
        return (answer,)

    def write_entries(self, values: Sequence[Any | None], order: Sequence[int]) -> dict[int, str]:
        """Return the entry of each question that has a value, by its number on the page.

        `order`: for each place of the page, the index of its output in `values`.
        """
        return {
            place: str(values[index])
            for place, index in enumerate(order, start=1)
            if values[index] is not None
        }

    # --- gold: the right answers of practice and gold items

    def parse_gold(self, text: str, outputs: Sequence[str]) -> Any:
        """Return what the text of a gold column says is right; ValidationError if nothing.

        `outputs` names the system of each output, in the order uploaded.
        """
        raise NotImplementedError

    def judge(
        self,
        right: Any,
        values: Sequence[Any],
        standard: int | None,
        names: Sequence[str],
        *,
        is_by_document: bool = False,
    ) -> Judged:
        """Compare values with a parsed gold. `names`: what the page called the outputs.

        `is_by_document`: the gold is the document's own verdict and not a suggestion.
        """
        raise NotImplementedError

    def count_asked(self, text: str, outputs: int, standard: int | None) -> int:
        """Count the entries that `judge` has for any answer to this gold."""
        names = [str(number) for number in range(1, outputs + 1)]
        right = self.parse_gold(text, names)
        return len(self.judge(right, [self.minimum] * outputs, standard, names))

    def right_values(self, right: Any, outputs: int, standard: int | None) -> list[Any | None]:
        """Return values that meet a parsed gold; None where it asks nothing."""
        raise NotImplementedError

    # --- files

    def file_words(self) -> dict[str, Any]:
        """Map words, in lower case, to the answers they mean in files of ratings."""
        return {}

    def describe_choices(self) -> str:
        """List what a cell of a file may hold: "1, 2 or 3"."""
        return f"a whole number from {self.minimum} to {self.maximum}"

    def describe_values(self) -> str:
        """Say what the values are, for the codebook."""
        return f"{self.minimum} to {self.maximum}"

    def write_cell(self, rows: Sequence[Stored]) -> str:
        """Write what was answered about one output as one cell of a wide file."""
        (row,) = rows
        return NA if row.value is None else str(row.value)

    def describe_wide(self) -> tuple[str, bool, str]:
        """Describe its column in wide files: a cell, whether it is a number, what is allowed."""
        return "the rating", True, f"{self.minimum} to {self.maximum}"

    def write_markdown(self) -> str:
        """Write the scale as it was shown, for readers of a bundle."""
        return f"A whole number from {self.minimum} to {self.maximum}."

    def describe_ratings(self, ratings: Sequence[int]) -> str:
        """Say the ratings of a worked example: "5 (excellent)"."""
        labels = [self.label_of(value) for value in ratings]
        words = zip(ratings, labels, strict=True)
        return ", ".join(f"{value} ({label})" if label else str(value) for value, label in words)

    # --- words of pages for staff

    def describe_answer(self, rows: Sequence[Stored]) -> str:
        """Say what was answered about one output, or one turn, as its rows are stored."""
        value = rows[0].value
        if value is None:
            return self.not_applicable or "not applicable"
        label = self.label_of(value)
        return label if self.is_told_in_words and label else self.describe_ratings([value])

    def describe_comparison(
        self, row: Stored, names: Mapping[int, str], shown: Mapping[int, str]
    ) -> str:
        """Say what was answered about two outputs, where the scale compares them.

        `names` are what outputs are called here, by id; `shown` what the page of the person called
        them, in its order.
        """
        raise NotImplementedError

    # --- words of reports

    def words(self) -> str:
        """Say what kind of answer is asked, in the methods paragraph: "a decision between ..."."""
        return f"a whole number from {self.minimum} to {self.maximum}"

    def name_choices(self) -> tuple[str, ...]:
        """List the answers as people saw them, low to high, for the datasheet."""
        return ()

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        """Return the entry of a simulated rater who values the outputs this much, around 0."""
        middle = (self.minimum + self.maximum) / 2
        spread = (self.maximum - self.minimum) / 3
        worth = felt[max(number - 1, 0)]
        value = round(min(max(middle + worth * spread, self.minimum), self.maximum))
        listed = [number for number, _label in self.list_answers()] or [value]
        nearest = min(listed, key=lambda number: abs(number - value))
        return self.doubt_as_bot(worth) or str(nearest)

    def doubt_as_bot(self, worth: float) -> str:
        """Return “not applicable” where a simulated rater says that: of what is worth least."""
        return NA if self.not_applicable and worth <= _DOUBTED else ""

    # --- plain data

    def to_data(self) -> dict[str, Any]:
        """Return the scale as plain data; parameters that have their default are left out."""
        raise NotImplementedError

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Read plain data that has no fault."""
        raise NotImplementedError

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Read the fields of the scale as bundles of format 2 hold them."""
        return cls(**fields)

    def rating_to_data(self, ratings: Sequence[int]) -> Any:
        """Write the ratings of a worked example: for each output one, or one of the item."""
        return list(ratings)

    def rating_from_data(self, data: Any) -> tuple[int, ...]:
        return tuple(data)

    def check_rating(self, data: Any, outputs: int, place: str, faults: Faults) -> None:
        """Add a fault for each rating of a worked example that is no value of the scale."""
        for number, value in enumerate(
            check_list(data, place, faults, least=outputs, most=outputs)
        ):
            at = f"{place}.{number}"
            if value == NA and self.not_applicable:
                continue
            if check_whole(value, at, faults) and not self.is_row(value, has_output=True):
                faults.add("unknown_answer", at, "isn't an answer on this scale")

    def check_listed(
        self, data: Any, known: Sequence[Any], outputs: int, place: str, faults: Faults
    ) -> None:
        """Add a fault for each rating of a worked example that isn't one of these answers."""
        for number, value in enumerate(
            check_list(data, place, faults, least=outputs, most=outputs)
        ):
            if not any(value == one and type(value) is type(one) for one in known):
                faults.add("unknown_answer", f"{place}.{number}", "isn't an answer on this scale")

    def gold_to_data(self, text: str) -> Any:
        """Write the gold of a practice item: text of a gold column as one part for each output."""
        return [part.strip() or None for part in text.split(",")]

    def gold_from_data(self, data: Any) -> str:
        return ", ".join("" if part is None else str(part) for part in data)

    def write_gold(self, values: Sequence[Any | None]) -> str:
        """Return the text of a gold column that these values meet, in the form of `judge`."""
        return self.gold_from_data(list(values))


_DOUBTED = -2.0
# of a stored rating: that it is a number and nothing else; that the question is not applicable
PLAIN: dict[str, Any] = {"part": "", "text": "", "detail__isnull": True}
_IS_NA = Q(value__isnull=True, part="", text="", detail__na=True)


def join_choices(words: Iterable[str]) -> str:
    """Join words as a sentence lists them: "1, 2 or 3"."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
