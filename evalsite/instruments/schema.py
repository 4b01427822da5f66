"""The instrument: what participants are asked, as a file, as stored and as the object."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, AliasChoices, Field, PlainValidator, SerializeAsAny

from evalsite.instruments.parts import (
    Above0,
    Address,
    InstrumentKey,
    Key,
    Language,
    Names,
    Numeric,
    Part,
    Words,
    check_address,
    check_unique,
    read_as,
    refuse,
)
from evalsite.instruments.scales import LONGEST_TEXT, AnyScale, Per, Scale, read_scale

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
    cite: Words = Field(title="Source")
    licence: Words = Field(
        title="Licence of its words", description="“none” where only a method was taken."
    )
    exact: Words = Field(title="Taken word for word", json_schema_extra={"rows": 2})
    ours: Words = Field(title="Written by you", json_schema_extra={"rows": 2})
    url: str = Field("", title="Address")
    read: str = Field("", title="Read on")
    from_memory: str = Field("", title="Written from memory", json_schema_extra={"rows": 2})
    notice: str = Field("", title="Notice that the licence asks for", json_schema_extra={"rows": 2})


class InputColumn(Part):
    name: Key = Field(title="Column in uploads")
    label: Words = Field(title="Name on the page")
    kind: InputKind = Field(title="Kind")
    aliases: Names = Field([], title="Other names of the column", description="One per line.")
    required: bool = Field(True, title="Every item has it")
    together: str = Field(
        "", title="Shown together as", description="Inputs with the same words here share a block."
    )
    # of earlier versions: read, never used and never written, since every input is shown whole
    display: Literal["full", "scroll", "folded"] = Field("full", exclude=True)
    language: str = Field("", title="Language", description="A code such as de, if it differs.")
    shown: bool = Field(True, title="Shown on the page")


class OutputColumn(Part):
    """A column of an output, which is for a question and not to be read."""

    name: Key = Field(title="Column in uploads")
    kind: Literal["statements", "spans", "turns"] = Field(title="Kind")
    label: Words | None = Field(None, title="Name on the page")
    aliases: Names = Field([], title="Other names of the column", description="One per line.")
    required: bool = Field(True, title="Every output has it")


class Outputs(Part):
    kind: TextKind = Field(title="Kind of output")
    least: int = Field(ge=1, le=10, title="Outputs of an item, at least")
    most: int = Field(ge=1, le=10, title="Outputs of an item, at most")
    aliases: Names = Field([], title="Other names of the column", description="One per line.")
    language: str = Field("", title="Language", description="A code such as de, if it differs.")


class ItemParts(Part):
    inputs: Annotated[list[InputColumn], Field(max_length=200)] = Field(
        title="Inputs", json_schema_extra={"noun": "input"}
    )
    outputs: Outputs = Field(title="Outputs")
    output_columns: Annotated[list[OutputColumn], Field(max_length=200)] = Field(
        [],
        title="Columns of an output",
        description="Only questions use them. Outputs of the same inputs are compared.",
        json_schema_extra={"noun": "column"},
    )
    name: Words = Field("Item", title="What a page calls an item")
    names: Words = Field("Items", title="What it calls several")
    output_name: Words = Field("Response", title="What it calls an output")


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
    outputs: Literal["one", "several", "pair"] = Field(
        title="and rate",
        json_schema_extra={
            "words": {
                "one": "one output",
                "pair": "two outputs side by side",
                "several": "three to eight outputs",
            }
        },
    )
    questions: Literal["below", "beside", "under each output"] = Field(
        title="Questions are",
        json_schema_extra={
            "words": {
                "beside": "beside the output",
                "below": "below the output",
                "under each output": "under each output",
            }
        },
    )
    inputs: Literal["above", "beside", "none"] = Field(
        "above",
        title="Inputs are",
        json_schema_extra={
            "words": {
                "above": "above the outputs",
                "beside": "beside the outputs",
                "none": "not shown",
            }
        },
    )
    order: Literal["random", "given"] = Field(
        "random",
        title="Order of outputs",
        json_schema_extra={"words": {"random": "random and balanced", "given": "as in the file"}},
    )
    letters: Names = Field([], title="Letters of the outputs", description="One per line.")
    menu: Names = Field([], title="Entries of the page’s menu", description="One per line.")
    screen: Annotated[
        Screen | list[Screen],
        PlainValidator(read_screens, json_schema_input_type=Screen | list[Screen]),
    ] = Field(
        "one",
        title="Items on a page",
        description="With both, each study chooses.",
        json_schema_extra={"words": {"one": "one item", "sheet": "a whole set as a sheet"}},
    )

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
    ask: Literal["optional", "required"] = Field(
        title="Comment",
        json_schema_extra={"words": {"": "none", "optional": "optional", "required": "required"}},
    )
    label: Words | None = Field(None, title="Words above the comment")
    most: int = Field(LONGEST_TEXT, ge=1, le=LONGEST_TEXT, title="Most characters of a comment")
    if_: Condition | None = Field(None, alias="if", title="Comment only if")


class Turns(Part):
    roles: Annotated[
        list[Words], Field(min_length=1, max_length=10), AfterValidator(check_unique)
    ] = Field(title="Turns of", description="Roles in the conversations, one per line.")
    marked_by: Words | None = Field(
        None,
        title="Of these turns",
        description="For turns named in a column, add an input of the kind “turns”.",
        json_schema_extra={"column": "turns", "words": {"": "all"}},
    )


class Criterion(Part):
    """One quality that is judged. `better`: none says that it is as its kind has it."""

    key: Key = Field(title="Column in files")
    label: Words = Field(title="Name in results", json_schema_extra={"is_in_sight": True})
    per: Per = Field(
        title="Asked",
        json_schema_extra={
            "words": {
                "output": "for each output",
                "item": "once for the item",
                "turn": "for each turn of a conversation",
            }
        },
    )
    scale: Annotated[
        SerializeAsAny[Scale], PlainValidator(read_scale, json_schema_input_type=AnyScale)
    ] = Field(title="Kind of answer")
    question: Words | None = Field(
        None, title="What people read", json_schema_extra={"is_in_sight": True, "rows": 2}
    )
    definition: Words | None = Field(
        None,
        title="Definition",
        description="Always in view. Markdown.",
        json_schema_extra={"rows": 3},
    )
    summary: Words | None = Field(None, title="In a few words", json_schema_extra={"rows": 2})
    range_note: Words | None = Field(None, title="Note on the values")
    better: Literal["higher", "lower", "none"] | None = Field(
        None,
        title="Better are",
        json_schema_extra={
            "words": {
                "": "as usual for this kind of answer",
                "higher": "higher values",
                "lower": "lower values",
                "none": "neither",
            }
        },
    )
    ask_if: Condition | None = Field(None, title="Only if")
    comment: Comment | None = Field(None, title="Comment")
    turns: Turns | None = Field(None, title="Turns")
    required: bool = Field(True, title="An answer is required")


# --- people -----------------------------------------------------------------------


class IgnoreReason(Part):
    key: Key = Field(title="Name in files")
    label: Words = Field(title="Label")
    note: str = Field("", title="Note")
    covers: Literal["item", "group"] = Field(
        "item",
        title="What is left out",
        json_schema_extra={"words": {"item": "the item", "group": "all items of its group"}},
    )


class Ignore(Part):
    reasons: Annotated[list[IgnoreReason], Field(min_length=1, max_length=200)] = Field(
        title="Reasons to leave an item out", json_schema_extra={"noun": "reason"}
    )
    note: str = Field("", title="Note above the reasons", json_schema_extra={"rows": 2})


class EntryChoice(Part):
    value: Words = Field(title="Name in files")
    label: Words = Field(title="Answer", json_schema_extra={"is_in_box": True})


class EntryQuestion(Part):
    key: Key = Field(title="Column in files")
    label: Words = Field(title="Question")
    help: str = Field("", title="Help")
    kind: Literal["choice", "several", "number", "text"] | None = Field(
        None,
        title="Kind of answer",
        json_schema_extra={
            "words": {
                "": "one of the answers below, or else text",
                "choice": "one answer",
                "several": "several answers",
                "number": "a number",
                "text": "text",
            }
        },
    )
    choices: Annotated[list[EntryChoice], Field(max_length=100)] = Field(
        [], title="Answers, one per line", json_schema_extra={"noun": "answer"}
    )

    @property
    def asks_for(self) -> str:
        return self.kind or ("choice" if self.choices else "text")


class NumberRange(Part):
    least: int | None = Field(None, ge=-LARGEST_NUMBER, le=LARGEST_NUMBER, title="At least")
    most: int | None = Field(None, ge=-LARGEST_NUMBER, le=LARGEST_NUMBER, title="At most")


class NoneOf(Part):
    none_of: Annotated[list[Words], Field(min_length=1, max_length=200)] = Field(title="None of")


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
    questions: Annotated[list[EntryQuestion], Field(min_length=1, max_length=20)] = Field(
        title="Questions", json_schema_extra={"noun": "question"}
    )
    rule: str = Field(title="Who may take part, in words")
    refusal: str = Field(title="What everyone else reads", json_schema_extra={"rows": 2})
    accept: Annotated[
        SerializeAsAny[str | dict[str, Any]],
        PlainValidator(read_accept, json_schema_input_type=Address | dict[str, Rule]),
    ] = Field(title="Accepted answers")


# --- the whole --------------------------------------------------------------------


class Example(Part):
    inputs: dict[str, Any] = Field(title="Inputs")
    outputs: Annotated[list[Any], Field(max_length=200)] = Field(title="Outputs")
    why: str = Field(title="Why", json_schema_extra={"rows": 2})
    label: Words | None = Field(None, title="Heading")
    criterion: str | None = Field(None, title="Only for the question")
    columns: dict[str, list[Any]] = Field({}, title="Columns of an output")
    ratings: dict[str, Any] = Field({}, title="Ratings")
    gold: dict[str, Any] = Field({}, title="Right answers")
    marked: dict[str, list[str]] = Field(
        {}, title="Marked passages", validation_alias=AliasChoices("marked", "x_marked")
    )


class CheckQuestion(Part):
    question: Words = Field(title="Question")
    choices: Annotated[list[Words], Field(min_length=2, max_length=6)] = Field(
        title="Answers, one per line"
    )
    right: str = Field(title="Right answer", description="As it is written above.")
    why: Words = Field(title="Why", json_schema_extra={"rows": 2})


class StudyQuestions(Part):
    """Questions that a study asks in place of its instrument's, and after the work."""

    eligibility: Eligibility | None = None
    background: Annotated[list[EntryQuestion], Field(min_length=1, max_length=20)] = []
    comprehension: Annotated[list[CheckQuestion], Field(max_length=200)] = []


class Design(Part):
    k: int = Field(3, ge=1, le=1000, title="Answers per item")
    set_size: int = Field(10, ge=1, le=500, title="Items in a set")
    max_sets: int | None = Field(None, ge=1, le=1000, title="Sets of one person, at most")
    has_bonus: bool = Field(False, title="The last set earns a bonus")
    checks_take_places: bool = Field(False, title="Checks count as items of a set")
    groups: Literal["free", "together", "once"] = Field(
        "free",
        title="Items of a group",
        json_schema_extra={
            "words": {
                "free": "go to anyone",
                "together": "go to one person together",
                "once": "never go to one person twice",
            }
        },
    )


class Aid(Part):
    key: Key = Field(title="Name in files")
    label: Words = Field(title="Label")


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
    version: int | None = None
    sha256: str | None = None


class Instrument(Part):
    """What participants are asked. Stored, exported, shipped and sent in this one shape."""

    format: Literal["evalsite.instrument/1"]
    key: InstrumentKey = Field(title="Name in files")
    version: int = Field(ge=1, title="Version")
    language: Language = Field(title="Written in", description="A code such as en, de or pt-BR.")
    title: Words = Field(title="Title")
    summary: Words = Field(title="Summary", description="One sentence for researchers.")
    source: Source = Field(title="Source and licence")
    instructions: Words = Field(
        title="Instructions", description="Markdown.", json_schema_extra={"rows": 8}
    )
    item: ItemParts = Field(title="Inputs and outputs")
    layout: Layout = Field(title="Layout")
    criteria: Annotated[list[Criterion], Field(min_length=1, max_length=40)] = Field(
        title="Questions", json_schema_extra={"noun": "question"}
    )
    instructions_title: str = Field("", title="Heading of the instructions")
    page_note: Words | None = Field(
        None,
        title="Note on every page",
        validation_alias=AliasChoices("page_note", "x_page_note"),
        json_schema_extra={"rows": 2},
    )
    help_label: Words | None = Field(
        None,
        title="Name of the help on a page",
        validation_alias=AliasChoices("help_label", "x_help_label"),
    )
    # until spans have a page
    highlight: Words | None = Field(
        None,
        alias="x_highlight",
        title="Hint on marking passages",
        description="Empty: passages can’t be marked.",
    )
    note: str | None = Field(None, title="Words above a box for notes on an item")
    examples: Annotated[list[Example], Field(max_length=200)] = Field(
        [], title="Worked examples", json_schema_extra={"noun": "example"}
    )
    practice: Annotated[list[Example], Field(max_length=200)] = Field(
        [], title="Practice", json_schema_extra={"noun": "practice item"}
    )
    comprehension: Annotated[list[CheckQuestion], Field(max_length=200)] = Field(
        [], title="Check of the instructions", json_schema_extra={"noun": "question"}
    )
    ignore: Ignore | None = Field(None, title="Leaving items out")
    eligibility: Eligibility | None = Field(None, title="Questions about people")
    design: Design = Field(Design(), title="How work is handed out")
    aids: Annotated[list[Aid], Field(max_length=200)] = Field([], title="Aids")
    minutes_per_item: Above0 = Field(1, title="Minutes per item")
    based_on: BasedOn | None = Field(None, title="Based on")
    hooks: Hooks = Field(Hooks(), title="Functions of a protocol")
    translations: dict[str, dict[str, Words]] = Field({}, title="Translations")


for model in (Condition, Comment, Criterion, Instrument):
    model.model_rebuild()
