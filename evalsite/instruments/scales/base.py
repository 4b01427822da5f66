"""What all kinds of questions have in common: each is a model of its own, in a module here.

The site knows them by the class `Scale` alone. A scale says what its answer is in four forms:

- an *entry*: the text of a form control ("4", "tie");
- an *answer*: what its form field cleans an entry to;
- a *value*: what its rows say, by the outputs as uploaded; None where the question was not
  answered, NA where it is not applicable;
- *rows*: what is stored (`AnswerRow`); the output is None where no output is meant.

In data, an answer is a number, a text or a list of these, as each kind has it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol, Self, get_args

from django import forms
from django.db.models import BigIntegerField, F, Q, Value
from django.db.models.functions import Cast, Mod, Round
from django.db.models.lookups import Exact
from pydantic import AfterValidator

from evalsite.instruments.answer import UNITS, AnswerRow, count_units
from evalsite.instruments.faults import Fault
from evalsite.instruments.fields import LONGEST_TEXT
from evalsite.instruments.parts import Key, Part, refuse

# as entry, as value and in data: the question is not applicable
NA = "na"
# the part of a stored rating that is a comment on a question
COMMENT = "comment"
# the text that is judged, where inputs go by their names
OUTPUT = "output"
Per = Literal["output", "item", "turn"]


class QuestionWords(Protocol):
    """What the messages of a form field say of a question."""

    @property
    def label(self) -> str: ...
    @property
    def question(self) -> str | None: ...
    @property
    def required(self) -> bool: ...


# for each thing that a gold asks: whether it is met, and a sentence for the participant
Judged = list[tuple[bool, str]]


class Scale(Part):
    """How a question is answered, with its parameters. Defaults suit a plain number."""

    kind: str
    family: ClassVar[str] = ""  # of the analysis: a module of evalsite.analysis.families
    has_page: ClassVar[bool] = True  # this version can ask it
    # what it may be asked of, its default first
    asked: ClassVar[tuple[Per, ...]] = ("output", "item", "turn")
    needs: ClassVar[Literal["", "pair", "several"]] = ""  # of the outputs of an item
    fewest: ClassVar[int] = 1  # outputs that an item needs
    # what conditions may ask of its answers, beside whether there is one
    tests: ClassVar[frozenset[str]] = frozenset()
    directed: ClassVar[bool] = True  # a criterion may say which values are better
    # which values are better, unless a criterion says otherwise; "": nothing says it
    better: ClassVar[str] = "higher"
    # gold is about all outputs together, also where each is answered by itself
    gold_of_all: ClassVar[bool] = False
    starts_optional: ClassVar[bool] = False  # a new question of this kind needs no answer
    has_parts: ClassVar[bool] = False  # an answer is several rows
    is_typed: ClassVar[bool] = False  # what is entered varies too much for a page to be kept
    is_written: ClassVar[bool] = False  # a number is written into a box
    keeps_typed: ClassVar[bool] = False  # the text that was typed is kept beside the number
    # an answer is a version of the output, from which its number follows
    rewrites: ClassVar[bool] = False
    has_standard: ClassVar[bool] = False  # values relate to a standard of their item
    decides: ClassVar[bool] = False  # an answer is yes or no
    compares: ClassVar[bool] = False  # an answer prefers one of two outputs, or neither
    # its question lists the outputs, and an answer has rows of them, though it is of the item
    orders: ClassVar[bool] = False
    makes_tuples: ClassVar[bool] = False  # imports make items of a part of an input's outputs
    asks_first: ClassVar[bool] = False  # its question comes before the definition, not after
    is_told_in_words: ClassVar[bool] = False  # its label says more than the number
    note_on_values: ClassVar[str] = ""  # for the codebook: what the numbers mean
    counted: ClassVar[str] = ""  # what its parameters least and most count: "characters"
    longest_entry: ClassVar[int] = LONGEST_TEXT

    @classmethod
    def name_kind(cls) -> str:
        """Return its kind, as data has it."""
        return str(get_args(cls.model_fields["kind"].annotation)[0])

    @classmethod
    def name_title(cls) -> str:
        """Return what a researcher calls it: "Likert scale"."""
        return cls.model_fields["kind"].title or cls.name_kind()

    # --- in data

    def find_faults(self, at: str) -> Iterator[Fault]:
        """Find what is wrong between its parameters; each by itself has no fault."""
        yield from ()

    def name_columns(self) -> Iterator[tuple[str, str, str]]:
        """Name the columns that it needs: parameter, column and kind of column."""
        yield from ()

    def list_testable(self) -> tuple[Any, ...] | None:
        """List the answers that conditions may name; None: any number in bounds."""
        answers = tuple(value for value, _label in self.list_answers())
        return (*answers, *self.na_entry) if answers else None

    def name_kinds(self) -> dict[tuple[str, str], str]:
        """Name the kinds of marks that conditions may name: categories, then severities."""
        return {}

    def is_answer(self, answer: Any, outputs: int) -> bool:
        """Tell whether this is an answer about one output, or about an item with so many."""
        return is_among(answer, self.list_testable() or ())

    def are_testable(self, answers: Any) -> bool:
        """Tell whether this is a list of answers that conditions may name."""
        known = self.list_testable() or ()
        return isinstance(answers, list) and all(is_among(answer, known) for answer in answers)

    def is_gold(self, gold: Any, outputs: int) -> bool:
        """Tell whether this says what is right; None asks nothing."""
        return gold is None or self.is_answer(gold, outputs)

    def list_quotes(self, answer: Any) -> list[str]:
        """List the passages that an answer quotes."""
        return []

    @property
    def has_decimals(self) -> bool:
        """Tell whether answers may have decimals."""
        return False

    @property
    def steps(self) -> float:
        """Return how far apart answers are at least."""
        return 1 / UNITS if self.has_decimals else 1

    @property
    def number_words(self) -> str:
        """Say what kind of number an answer is."""
        return "a number" if self.has_decimals else "a whole number"

    # --- not applicable

    @property
    def na_words(self) -> str:
        """Return the words of the answer that the question doesn't apply; "": none."""
        return getattr(self, "not_applicable", None) or ""

    @property
    def has_na(self) -> bool:
        return bool(self.na_words)

    @property
    def na_entry(self) -> dict[str, Any]:
        """Return the entry that says “not applicable”, if there is one, with its answer."""
        return {NA: NA} if self.na_words else {}

    @property
    def na_key(self) -> str:
        """Return the key that answers “not applicable”: 0, unless that is a point."""
        return "x" if any(value == 0 for value, _label in self.list_answers()) else "0"

    def name_na(self) -> tuple[str, ...]:
        """Return the words of “not applicable”, where there are some."""
        return (self.na_words,) if self.na_words else ()

    def list_na(self) -> list[str]:
        """Return the line of “not applicable” in a list of answers in Markdown."""
        return [f"- {words} (not applicable)" for words in self.name_na()]

    # --- values

    # every scale has these, as a parameter, a constant or a property
    if TYPE_CHECKING:

        @property
        def minimum(self) -> float: ...

        @property
        def maximum(self) -> float: ...

    def name_entry(self, entry: str) -> str:
        """Return what a page calls an answer that was entered so: its number, or its words."""
        return entry

    @property
    def points_note(self) -> str:
        """Return what a page says once of some of the points; "" where there is nothing to say."""
        return ""

    def label_of(self, value: float) -> str:
        """Return the words at this value; "" if there are none."""
        return next((label for known, label in self.list_answers() if known == value), "")

    def label_of_row(self, value: float, part: str) -> str:
        """Return the words at the value of a row; those of its part, where it has parts."""
        return self.label_of(value)

    def list_answers(self) -> tuple[tuple[float, str], ...]:
        """List values with their labels, low to high; none where any number in a range will do.

        Values are one apart, and the first and the last have a label.
        """
        return ()

    def is_part(self, part: str) -> bool:
        """Tell whether an answer has a row of this part."""
        return False

    def list_options(self) -> tuple[tuple[str, str], ...]:
        """List key and label of the options that an analysis looks at one by one."""
        return ()

    @property
    def gives_number(self) -> bool:
        """Tell whether an answer has one number for an output, whatever parts it has."""
        return not self.has_parts

    def describe_marks(self) -> dict[str, list[dict[str, Any]]]:
        """Describe categories, severities and weights of marks, as an analysis reads them."""
        return {}

    def describe_mark(self, row: AnswerRow) -> dict[str, Any]:
        """Describe the mark that a row holds: its input, category, severity, note and weight."""
        return {}

    def list_reasons(self) -> list[dict[str, str]]:
        """List key and label of the reasons that can be ticked."""
        return []

    def reserved_values(self) -> tuple[float, ...]:
        """List the values that the document reserves for difficult cases."""
        return ()

    def name_standard_inputs(self) -> tuple[str, ...] | None:
        """Name the inputs by which an item may have a standard of its own; None: any of them."""
        return ()

    def select_rows(self) -> Q:
        """Return the condition on stored ratings, whichever output they are of."""
        number = Q(value__gte=self.minimum, value__lte=self.maximum)
        number &= Q(part="", detail__isnull=True)
        if listed := [value for value, _label in self.list_answers()]:
            number &= Q(value__in=listed)
        elif (step := count_units(self.steps)) > 1:
            beyond = Round((F("value") - Value(float(self.minimum))) * UNITS)
            number &= Q(Exact(Mod(Cast(beyond, BigIntegerField()), step), 0))
        number &= Q() if self.keeps_typed else Q(text="")
        return number | _IS_NA if self.na_words else number

    def select_marks(self) -> Q:
        """Return the condition on stored marks, in whichever text they are."""
        return Q(pk__in=[])

    def are_consistent(self, rows: Sequence[AnswerRow]) -> bool:
        """Tell whether the rows of one answer don't contradict each other, marks among them."""
        return True

    @property
    def columns(self) -> frozenset[str]:
        """Name the columns of files that answers need beside the number."""
        return frozenset({"not_applicable"} if self.na_words else ())

    def view_entry(self, entry: str) -> Any:
        """Return what the template shows of an entry, where it has several controls."""
        return entry

    def for_item(self, inputs: Mapping[str, Any], conversations: Collection[str] = ()) -> Self:
        """Return the scale with what the inputs of an item bring to it.

        `conversations`: which of its columns are some, “output” among them.
        """
        return self

    def for_outputs(self, names: Sequence[str]) -> Self:
        """Return the scale for an item whose outputs are called so, in the order of its page."""
        return self

    def for_output(self, text: str) -> Self:
        """Return the scale with what the text of the output brings to it."""
        return self

    @property
    def marked_columns(self) -> tuple[str, ...]:
        """Name the inputs in which passages are marked, and “output” if they are in that."""
        return ()

    @property
    def asks_notes(self) -> bool:
        """Tell whether people can write a note on a passage that they mark."""
        return False

    def find_item_fault(self) -> tuple[str, str]:
        """Return the column at fault of its item and what is wrong; both "" if nothing is."""
        return "", ""

    @property
    def start_entry(self) -> str:
        """Return the entry that a page starts with."""
        return ""

    def list_marks(self, entry: str) -> Sequence[Any]:
        """List the passages that an entry marks, for the texts of the page."""
        return ()

    def weigh_place(self, value: float | None) -> float:
        """Return how good an output is by its value in an order, more is better.

        None: it was shown and has no value.
        """
        return value or 0.0

    def for_person(self, seed: str) -> Self:
        """Return the scale as the person of this seed sees it: always in the same way."""
        return self

    @property
    def is_of_person(self) -> bool:
        """Tell whether people see it in different ways."""
        return False

    # --- page

    @property
    def has_notes(self) -> bool:
        """Tell whether points have notes below them, which may be folded away after a while."""
        return False

    @property
    def template(self) -> str:
        """Name the template of a question."""
        return f"scales/{self.kind}.html"

    def first_control(self, name: str) -> str:
        """Return the id of a question's first control, where the link of an error leads."""
        return name

    def read_entry(self, data: Mapping[str, Any], name: str) -> str:
        """Return the entry that was posted; controls of its own are called `<name>.<part>`."""
        return str(data.get(name) or "")

    def make_field(
        self, criterion: QuestionWords, output_name: str, *, is_one_of_several: bool = False
    ) -> forms.Field:
        """Make the form field of one question; it cleans an entry to an answer.

        Where an item has several outputs, messages name the one in question.
        """
        raise NotImplementedError

    # --- stored and read back

    def make_rows(
        self, answer: Any, about: AnswerRow, output_ids: Sequence[int]
    ) -> tuple[AnswerRow, ...]:
        """Return what to store of an answer.

        `about`: the question, as a row without an answer. `output_ids` are those of the item, in
        the order of the page.
        """
        if answer == NA:
            return (about._replace(detail={NA: True}),)
        return (about._replace(value=answer),)

    def read_rows(self, rows: Sequence[AnswerRow], output_ids: Sequence[int]) -> Any:
        """Return the value that the rows of one question hold; there is at least one.

        `output_ids` are those of the item, in the order uploaded.
        """
        value = rows[0].value
        return NA if value is None else value

    def name_tested(self, value: Any) -> str:
        """Return the words of an answer that a condition names."""
        if value == NA:
            return self.na_words
        return self.label_of(value) or str(value)

    def list_tested(self, answer: Any) -> tuple[Any, ...]:
        """List what conditions of other questions may ask for in an answer, as data names it."""
        return (answer,)

    def write_entry(self, value: Any, order: Sequence[int]) -> str:
        """Return the entry that means this value.

        `order`: for each place of the page, the index of its output in the order uploaded.
        """
        return str(value)

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
        return f"{self.number_words} from {self.minimum} to {self.maximum}"

    def describe_values(self) -> str:
        """Say what the values are, for the codebook."""
        return f"{self.minimum} to {self.maximum}"

    def write_cell(self, rows: Sequence[AnswerRow]) -> str:
        """Write what was answered about one output as one cell of a wide file."""
        (row,) = rows
        return NA if row.value is None else str(row.value)

    def describe_wide(self) -> tuple[str, bool, str]:
        """Describe its column in wide files: a cell, whether it is a number, what is allowed."""
        return "the rating", True, f"{self.minimum} to {self.maximum}"

    def write_markdown(self) -> str:
        """Write the scale as it was shown, for readers of a bundle."""
        words = f"{self.number_words} from {self.minimum} to {self.maximum}."
        return f"{words[:1].upper()}{words[1:]}"

    def describe_ratings(self, ratings: Sequence[Any]) -> str:
        """Say the ratings of a worked example: "5 (excellent)"."""
        labels = [self.label_of(value) for value in ratings]
        words = zip(ratings, labels, strict=True)
        return ", ".join(f"{value} ({label})" if label else str(value) for value, label in words)

    # --- words of pages for staff

    def describe_answer(self, rows: Sequence[AnswerRow]) -> str:
        """Say what was answered about one output, or one turn, as its rows are stored."""
        value = rows[0].value
        if value is None:
            return self.na_words or "not applicable"
        label = self.label_of(value)
        return label if self.is_told_in_words and label else self.describe_ratings([value])

    def describe_comparison(
        self, row: AnswerRow, names: Mapping[int, str], shown: Mapping[int, str]
    ) -> str:
        """Say what was answered about two outputs, where the scale compares them.

        `names` are what outputs are called here, by id; `shown` what the page of the person called
        them, in its order.
        """
        raise NotImplementedError

    # --- words of reports

    def words(self) -> str:
        """Say what kind of answer is asked, in the methods paragraph: "a decision between ..."."""
        return f"{self.number_words} from {self.minimum} to {self.maximum}"

    def name_choices(self) -> tuple[str, ...]:
        """List the answers as people saw them, low to high, for the datasheet."""
        return ()

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        """Return the entry of a simulated rater who values the outputs this much, around 0."""
        middle = (self.minimum + self.maximum) / 2
        spread = (self.maximum - self.minimum) / 3
        worth = felt[max(number - 1, 0)]
        value = min(max(middle + worth * spread, self.minimum), self.maximum)
        value = value if self.has_decimals else round(value)
        listed = [number for number, _label in self.list_answers()] or [value]
        nearest = min(listed, key=lambda number: abs(number - value))
        return self.doubt_as_bot(worth) or str(nearest)

    def doubt_as_bot(self, worth: float) -> str:
        """Return “not applicable” where a simulated rater says that: of what is worth least."""
        return NA if self.na_words and worth <= _DOUBTED else ""

    # --- worked examples and gold in data

    def rating_from_data(self, data: Any) -> tuple[Any, ...]:
        return tuple(data)

    def gold_to_data(self, text: str) -> Any:
        """Write the gold of a practice item: text of a gold column as one part for each output."""
        return [part.strip() or None for part in text.split(",")]

    def gold_from_data(self, data: Any) -> str:
        return ", ".join("" if part is None else str(part) for part in data)

    def write_gold(self, values: Sequence[Any | None]) -> str:
        """Return the text of a gold column that these values meet, in the form of `judge`."""
        return self.gold_from_data(list(values))


_DOUBTED = -2.0
# of a stored rating: that the question is not applicable
_IS_NA = Q(value__isnull=True, part="", text="", detail__na=True)


def join_choices(words: Iterable[str]) -> str:
    """Join words as a sentence lists them: "1, 2 or 3"."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def is_among(answer: Any, known: Iterable[Any]) -> bool:
    """Tell whether an answer is one of these, and of the same type: true isn't 1."""
    return any(answer == value and type(answer) is type(value) for value in known)


def find_twice(parts: Sequence[Any], at: str, name: str = "key") -> Iterator[Fault]:
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
