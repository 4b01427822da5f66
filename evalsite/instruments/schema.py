"""The instrument: what participants are asked, as a file, as stored and as the object."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, AliasChoices, Field, PlainValidator, SerializeAsAny

from evalsite.instruments.kinds import LONGEST_TEXT, AnyScale, Per, Scale, read_scale
from evalsite.instruments.parts import (
    Address,
    InstrumentKey,
    Key,
    Language,
    Minutes,
    Names,
    Numeric,
    Part,
    Words,
    check_address,
    check_unique,
    read_as,
    refuse,
)

FORMAT = "evalsite.instrument/1"
# between the options of one answer, so no option holds it
SEPARATOR = ";"
LARGEST_NUMBER = 10**9
TextKind = Literal["text", "markdown", "code", "table", "conversation", "dialogue"]
InputKind = Literal[
    "text", "markdown", "code", "table", "conversation", "dialogue", "meaning representation",
    "review", "whole number", "statements", "spans", "turns",
]  # fmt: skip
Screen = Literal["one", "sheet"]
OUTPUT_KINDS = frozenset(get_args(TextKind))
# those that this version can show
INPUT_KINDS = frozenset(get_args(InputKind)) - {"spans"}
# of inputs and columns of outputs: for a question, and not to be read
KINDS_OF_OUTPUTS = frozenset({"statements", "turns"})
_SCREENS = ("one", "sheet")


# --- where it comes from, and what an item holds ----------------------------------


class Source(Part):
    cite: Words
    licence: Words
    exact: Words
    ours: Words
    url: str = ""
    read: str = ""
    from_memory: str = ""
    notice: str = ""


class InputColumn(Part):
    name: Key
    label: Words
    kind: InputKind
    aliases: Names = []
    required: bool = True
    together: str = ""
    # of earlier versions: read, never used and never written, since every input is shown whole
    display: Literal["full", "scroll", "folded"] = Field("full", exclude=True)
    language: str = ""
    shown: bool = True


class OutputColumn(Part):
    """A column of an output, which is for a question and not to be read."""

    name: Key
    kind: Literal["statements", "spans", "turns"]
    label: Words | None = None
    aliases: Names = []
    required: bool = True


class Outputs(Part):
    kind: TextKind
    least: int = Field(ge=1, le=10)
    most: int = Field(ge=1, le=10)
    aliases: Names = []
    language: str = ""


class ItemParts(Part):
    inputs: Annotated[list[InputColumn], Field(max_length=200)]
    outputs: Outputs
    output_columns: Annotated[list[OutputColumn], Field(max_length=200)] = []
    name: Words = "Item"
    names: Words = "Items"
    output_name: Words = "Response"


def read_screens(value: Any) -> Any:
    """Read a layout of a set, or a list of those from which a study chooses."""
    screens = value if isinstance(value, list) else [value]
    if not screens:
        raise refuse("length", "must have at least 1 entry")
    if not all(isinstance(screen, str) and screen in _SCREENS for screen in screens):
        raise refuse("not_allowed", f"must be one of: {', '.join(_SCREENS)}")
    check_unique(screens)
    return value


class Layout(Part):
    outputs: Literal["one", "several", "pair"]
    questions: Literal["below", "beside", "under each output"]
    inputs: Literal["above", "beside", "none"] = "above"
    order: Literal["random", "given"] = "random"
    letters: Names = []
    menu: Names = []
    screen: Annotated[
        Screen | list[Screen],
        PlainValidator(read_screens, json_schema_input_type=Screen | list[Screen]),
    ] = "one"

    @property
    def screens(self) -> list[Screen]:
        return self.screen if isinstance(self.screen, list) else [self.screen]


# --- questions --------------------------------------------------------------------


class Condition(Part):
    """A test of an earlier question, or conditions joined by all, any or not."""

    criterion: str | None = None
    is_: Annotated[list[Any], Field(max_length=200)] | None = Field(None, alias="is")
    includes: Annotated[list[Any], Field(max_length=200)] | None = None
    at_least: Numeric | None = None
    at_most: Numeric | None = None
    has: dict[Literal["category", "severity"], Key] | None = None
    changed: bool | None = None
    answered: bool | None = None
    outputs: Literal["any", "every"] | None = None
    all_: Annotated[list[Condition], Field(min_length=2, max_length=10)] | None = Field(
        None, alias="all"
    )
    any_: Annotated[list[Condition], Field(min_length=2, max_length=10)] | None = Field(
        None, alias="any"
    )
    not_: Condition | None = Field(None, alias="not")


class Comment(Part):
    ask: Literal["optional", "required"]
    label: Words | None = None
    most: int = Field(LONGEST_TEXT, ge=1, le=LONGEST_TEXT)
    if_: Condition | None = Field(None, alias="if")


class Turns(Part):
    roles: Annotated[list[Words], Field(min_length=1, max_length=10), AfterValidator(check_unique)]
    marked_by: Words | None = None


class Criterion(Part):
    """One quality that is judged. `better`: none says that it is as its kind has it."""

    key: Key
    label: Words
    per: Per
    scale: Annotated[
        SerializeAsAny[Scale], PlainValidator(read_scale, json_schema_input_type=AnyScale)
    ]
    question: Words | None = None
    definition: Words | None = None
    summary: Words | None = None
    range_note: Words | None = None
    better: Literal["higher", "lower", "none"] | None = None
    ask_if: Condition | None = None
    comment: Comment | None = None
    turns: Turns | None = None
    required: bool = True


# --- people -----------------------------------------------------------------------


class IgnoreReason(Part):
    key: Key
    label: Words
    note: str = ""
    covers: Literal["item", "group"] = "item"


class Ignore(Part):
    reasons: Annotated[list[IgnoreReason], Field(min_length=1, max_length=200)]
    note: str = ""


class EntryChoice(Part):
    value: Words
    label: Words


class EntryQuestion(Part):
    key: Key
    label: Words
    help: str = ""
    kind: Literal["choice", "several", "number", "text"] | None = None
    choices: Annotated[list[EntryChoice], Field(max_length=100)] = []

    @property
    def asks_for(self) -> str:
        return self.kind or ("choice" if self.choices else "text")


class NumberRange(Part):
    least: int | None = Field(None, ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)
    most: int | None = Field(None, ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)


class NoneOf(Part):
    none_of: Annotated[list[Words], Field(min_length=1, max_length=200)]


Rule = list[str] | NoneOf | NumberRange
_read_answers = read_as(Annotated[list[Words], Field(min_length=1, max_length=200)])


def read_rule(value: Any) -> Rule:
    """Read what allows taking part: answers, all but these answers, or a range of numbers."""
    if isinstance(value, list):
        answers: list[str] = _read_answers(value)
        return answers
    if isinstance(value, dict) and value.keys() - {"least", "most"}:
        return NoneOf.model_validate(value)
    return NumberRange.model_validate(value)


_read_rules = read_as(dict[str, Annotated[Any, PlainValidator(read_rule)]])


def read_accept(value: Any) -> Any:
    return check_address(value) if isinstance(value, str) else _read_rules(value)


class Eligibility(Part):
    questions: Annotated[list[EntryQuestion], Field(min_length=1, max_length=20)]
    rule: str
    refusal: str
    accept: Annotated[
        SerializeAsAny[str | dict[str, Any]],
        PlainValidator(read_accept, json_schema_input_type=Address | dict[str, Rule]),
    ]


# --- the whole --------------------------------------------------------------------


class Example(Part):
    inputs: dict[str, Any]
    outputs: Annotated[list[Any], Field(max_length=200)]
    why: str
    label: Words | None = None
    criterion: str | None = None
    columns: dict[str, list[Any]] = {}
    ratings: dict[str, Any] = {}
    gold: dict[str, Any] = {}
    marked: dict[str, list[str]] = Field({}, validation_alias=AliasChoices("marked", "x_marked"))


class CheckQuestion(Part):
    question: Words
    choices: Annotated[list[Words], Field(min_length=2, max_length=6)]
    right: str
    why: Words


class StudyQuestions(Part):
    """Questions that a study asks in place of its instrument's, and after the work."""

    eligibility: Eligibility | None = None
    background: Annotated[list[EntryQuestion], Field(min_length=1, max_length=20)] = []
    comprehension: Annotated[list[CheckQuestion], Field(max_length=200)] = []


class Design(Part):
    k: int = Field(3, ge=1, le=1000)
    set_size: int = Field(10, ge=1, le=500)
    max_sets: int | None = Field(None, ge=1, le=1000)
    has_bonus: bool = False
    checks_take_places: bool = False
    groups: Literal["free", "together", "once"] = "free"


class Aid(Part):
    key: Key
    label: Words


class Hooks(Part):
    """Functions in the folder of a protocol, by their dotted names."""

    clean: Address | None = None
    check_entry: Address | None = None
    item_context: Address | None = None
    standard_score: Address | None = None
    instructions: Address | None = None
    options_form: Address | None = None

    def list_addresses(self) -> list[tuple[str, str]]:
        addresses = ((name, getattr(self, name)) for name in type(self).model_fields)
        return [(name, dotted) for name, dotted in addresses if name != "extras" and dotted]


class BasedOn(Part):
    key: str | None = None
    version: int | None = Field(None, ge=1, le=LARGEST_NUMBER)
    sha256: str | None = None


class Instrument(Part):
    """What participants are asked. Stored, exported, shipped and sent in this one shape."""

    format: Literal["evalsite.instrument/1"]
    key: InstrumentKey
    version: int = Field(ge=1, le=LARGEST_NUMBER)
    language: Language
    title: Words
    summary: Words
    source: Source
    instructions: Words
    item: ItemParts
    layout: Layout
    criteria: Annotated[list[Criterion], Field(min_length=1, max_length=40)]
    instructions_title: str = ""
    page_note: Words | None = Field(None, validation_alias=AliasChoices("page_note", "x_page_note"))
    help_label: Words | None = Field(
        None, validation_alias=AliasChoices("help_label", "x_help_label")
    )
    # until spans have a page
    highlight: Words | None = Field(None, alias="x_highlight")
    note: str | None = None
    examples: Annotated[list[Example], Field(max_length=200)] = []
    practice: Annotated[list[Example], Field(max_length=200)] = []
    comprehension: Annotated[list[CheckQuestion], Field(max_length=200)] = []
    ignore: Ignore | None = None
    eligibility: Eligibility | None = None
    design: Design = Design()
    aids: Annotated[list[Aid], Field(max_length=200)] = []
    minutes_per_item: Minutes = 1
    based_on: BasedOn | None = None
    hooks: Hooks = Hooks()
    translations: dict[str, dict[str, Words]] = {}


for model in (Condition, Comment, Criterion, Instrument):
    model.model_rebuild()
