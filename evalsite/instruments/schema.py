"""The instrument: what participants are asked, as a file, as stored and as the object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, get_args

from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from pydantic import AfterValidator, AliasChoices, Field, PlainValidator, SerializeAsAny

from evalsite.instruments.kinds import LONGEST_TEXT, AnyScale, Per, Scale, read_scale
from evalsite.instruments.parts import (
    LARGEST_NUMBER,
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
from evalsite.lib.conversations import MOST_PARTS, count_parts, read_numbers, read_turns

FORMAT = "evalsite.instrument/1"
# between the options of one answer, so no option holds it
SEPARATOR = ";"
# an answer in words to a question about a person
LONGEST_ANSWER = 100
# turns of one conversation that a page asks about
MOST_TURNS = 100
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
_SCREENS = get_args(Screen)
# What was answered, as `Scale.list_tested` names it, by criterion and the number of one of several
# outputs or of a turn (0: the item, or its only output); None: not asked or not answered.
Answers = Mapping[str, Mapping[int, tuple[Any, ...] | None]]


# --- where it comes from, and what an item holds ----------------------------------


class Source(Part):
    """Where an instrument comes from, and which of its words are whose.

    `licence` of the words taken over, with the `notice` that it asks for; "none" where nothing
    but a method was taken. `exact` and `ours` say which parts are to the letter.
    """

    cite: Words
    licence: Words
    exact: Words
    ours: Words
    url: str = ""
    read: str = ""
    from_memory: str = ""
    notice: str = ""


class InputColumn(Part):
    """A column of a batch that belongs to the item: its name, kind, and other names it goes by.

    Columns with the same word in `together` are filled in all of them or in none.
    """

    is_of_output: ClassVar[bool] = False
    name: Key
    label: Words
    kind: InputKind
    aliases: Names = []
    required: bool = True
    together: str = ""
    # of earlier versions: read, never used and never written, since every input is shown whole
    display: Literal["full", "scroll", "folded"] = Field("full", exclude=True)
    language: str = ""  # of code
    shown: bool = True

    @property
    def heading(self) -> str:
        return self.label


class OutputColumn(Part):
    """A column of the only output of an item, which is for a question and not to be read.

    Items with the same inputs share them, whatever is in such a column.
    """

    is_of_output: ClassVar[bool] = True
    together: ClassVar[str] = ""
    language: ClassVar[str] = ""
    shown: ClassVar[bool] = True
    name: Key
    kind: Literal["statements", "spans", "turns"]
    label: Words = ""
    aliases: Names = []
    required: bool = True

    @property
    def heading(self) -> str:
        return self.label or self.name


Column = InputColumn | OutputColumn


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
    """How an item is laid out on its page.

    `inputs` are above the outputs or beside them, where the page is wide, or not shown at all.
    `order` of outputs, and of the items of a group that stays together: random, or as in the file.
    `letters` stand for 1, 2, ... in the names of outputs; one that is longer than a letter is the
    whole name. `menu`: headings of the instructions that rating pages link to, followed by the
    places of the set.
    """

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
        """List the layouts of a set from which a study chooses; the first is its default."""
        return self.screen if isinstance(self.screen, list) else [self.screen]

    @property
    def is_beside(self) -> bool:
        """Tell whether what is read is beside the questions, where the page is wide."""
        return self.questions == "beside"

    @property
    def is_typed(self) -> bool:
        """Tell whether each output has its own questions under it."""
        return self.questions == "under each output"

    @property
    def has_columns(self) -> bool:
        """Tell whether questions are side by side, where the page is wide."""
        return self.questions == "below" and self.outputs == "one"

    @property
    def is_pair(self) -> bool:
        return self.outputs == "pair"

    @property
    def is_given(self) -> bool:
        """Tell whether outputs, and items of a group, are in the order of the file."""
        return self.order == "given"


# --- questions --------------------------------------------------------------------


class Condition(Part):
    """A test of an earlier question, or conditions joined by all, any or not.

    `outputs`: of a test of something narrower than the question, whether one of the outputs or
    turns must meet it, or all.
    """

    criterion: str = ""
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

    def is_met(self, answers: Answers, number: int) -> bool:
        """Tell whether the answers meet it, for a question about what has this number."""
        if self.not_:
            return not self.not_.is_met(answers, number)
        if self.all_:
            return all(part.is_met(answers, number) for part in self.all_)
        if self.any_:
            return any(part.is_met(answers, number) for part in self.any_)
        answered = answers.get(self.criterion, {})
        if not self.outputs:
            return self._is_met_by(answered.get(number, answered.get(0)))
        met = [self._is_met_by(answer) for answer in answered.values()]
        return any(met) if self.outputs == "any" else bool(met) and all(met)

    def _is_met_by(self, answer: tuple[Any, ...] | None) -> bool:
        if self.answered is not None:
            return (answer is not None) == self.answered
        if answer is None:
            return False
        if named := self.is_ or self.includes:
            return any(value in named for value in answer)
        numbers = [value for value in answer if isinstance(value, int)]
        if self.at_least is not None:
            return any(value >= self.at_least for value in numbers)
        return self.at_most is not None and any(value <= self.at_most for value in numbers)

    def describe(self, criteria: Mapping[str, Any]) -> str:
        """Say it in the middle of a sentence: "you chose “no” for “Clear”"."""
        if self.not_:
            return _("it is not so that %(what)s") % {"what": self.not_.describe(criteria)}
        if parts := self.all_ or self.any_:
            word = _(" and ") if self.all_ else _(" or ")
            return word.join(part.describe(criteria) for part in parts)
        asked = criteria[self.criterion]
        words = {"label": asked.label, "value": self.at_least}
        if self.at_least is not None:
            return _("“%(label)s” is %(value)s or more") % words
        if self.at_most is not None:
            return _("“%(label)s” is %(value)s or less") % {**words, "value": self.at_most}
        if self.answered is not None:
            if self.answered:
                return _("you answered “%(label)s”") % words
            return _("you did not answer “%(label)s”") % words
        named = self.is_ or self.includes or []
        chosen = _(" or ").join(f"“{asked.scale.name_tested(value)}”" for value in named)
        return _("you chose %(chosen)s for “%(label)s”") % {**words, "chosen": chosen}


class Comment(Part):
    """A box for words about an answer; the condition says when it has to be filled."""

    ask: Literal["optional", "required"]
    label: Words = ""
    most: int = Field(LONGEST_TEXT, ge=1, le=LONGEST_TEXT)
    if_: Condition | None = Field(None, alias="if")

    @property
    def is_required(self) -> bool:
        return self.ask == "required"


class Turns(Part):
    """Which turns of a conversation are rated: those of these roles.

    `marked_by` names the column with the numbers of turns that are; empty cells mean all of them.
    """

    roles: Annotated[list[Words], Field(min_length=1, max_length=10), AfterValidator(check_unique)]
    marked_by: Words = ""

    def list_turns(self, inputs: Mapping[str, Any], text: str) -> tuple[int, ...]:
        """List the numbers of the turns of this conversation that are rated."""
        marked = read_numbers(inputs.get(self.marked_by, "")) if self.marked_by else ()
        return tuple(n for n in self.list_of_roles(text) if not marked or n in marked)

    def list_of_roles(self, text: str) -> tuple[int, ...]:
        """List the numbers of the turns of these roles, marked or not."""
        roles = {role.casefold() for role in self.roles}
        turns = enumerate(read_turns(text) or (), start=1)
        return tuple(number for number, turn in turns if str(turn["role"]).casefold() in roles)

    def find_fault(self, inputs: Mapping[str, Any], text: str) -> tuple[str, str]:
        """Return the column at fault and what is wrong; both "" if there are turns to rate.

        The column is "" where the conversation itself is at fault.
        """
        roles = " or ".join(f"“{role}”" for role in self.roles)
        turns = read_turns(text)
        if turns is None:
            return "", (
                "The output is no conversation. Write a JSON list of turns, each with role and "
                "content."
            )
        if count_parts(turns) > MOST_PARTS:
            return "", f"The conversation has more than {MOST_PARTS:,} turns and calls of tools"
        rated = self.list_of_roles(text)
        if not rated:
            return "", f"The conversation has no turn of the role {roles}, so there is none to rate"
        cell = inputs.get(self.marked_by, "") if self.marked_by else ""
        marked = read_numbers(cell)
        if marked is None:
            return self.marked_by, (
                f"“{str(cell)[:60]}” names no turns. Write their numbers, such as 2;4, or nothing "
                "for all of them."
            )
        if wrong := [number for number in marked if number not in rated]:
            return self.marked_by, (
                f"Turn {wrong[0]} of the conversation isn’t one of the role {roles}. Those are: "
                f"{', '.join(map(str, rated[:20]))}{' …' if len(rated) > 20 else ''}."
            )
        if len(marked or rated) > MOST_TURNS:
            return "", f"The conversation has more than {MOST_TURNS} turns to rate"
        return "", ""


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
    """Why an item may be ignored, and whether that covers the other items of its group too.

    `key` is what an ignored annotation keeps as its reason; `note` says what is covered, with
    {count} for the items of the group.
    """

    key: Key
    label: Words
    note: str = ""
    covers: Literal["item", "group"] = "item"

    def describe_cover(self, count: int) -> str:
        """Return the note for a group of so many items; 0: that isn’t known."""
        return self.note.replace("{count} ", f"{count} " if count > 1 else "")


class Ignore(Part):
    """That an item may be ignored: why, and in Markdown when, in full view on the page."""

    reasons: Annotated[list[IgnoreReason], Field(min_length=1, max_length=200)]
    note: str = ""


class EntryChoice(Part):
    value: Words
    label: Words


AnswerKind = Literal["choice", "several", "number", "text"]


class EntryQuestion(Part):
    """A question about a person, asked openly, so that it does not give away what is wanted."""

    key: Key
    label: Words
    help: str = ""
    kind: AnswerKind | None = None  # none: one choice; without choices, an answer in words
    choices: Annotated[list[EntryChoice], Field(max_length=100)] = []

    @property
    def asks_for(self) -> AnswerKind:
        return self.kind or ("choice" if self.choices else "text")

    @property
    def labels(self) -> dict[str, str]:
        """Return the words of each answer to choose, by its value."""
        return {choice.value: choice.label for choice in self.choices}

    def allows(self, rule: Rule, answer: str) -> bool:
        """Tell whether this answer allows taking part; none never does."""
        if isinstance(rule, NumberRange):
            return rule.allows(answer)
        answers = rule.none_of if isinstance(rule, NoneOf) else rule
        if self.asks_for == "text":
            is_named = _fold(answer) in map(_fold, answers)
        else:
            chosen = split_options(answer) if self.asks_for == "several" else [answer]
            is_named = not set(chosen).isdisjoint(answers)
        return bool(answer) and is_named != isinstance(rule, NoneOf)

    def is_offered(self, answer: str) -> bool:
        """Tell whether this answer was chosen or a number, and not written in words."""
        if self.asks_for == "number":
            return answer.removeprefix("-").isdecimal()
        chosen = split_options(answer) if self.asks_for == "several" else [answer]
        return self.labels.keys() >= set(chosen)

    def find_accepted(self, rule: Rule | None) -> str:
        """Return an answer that the rule allows, for simulated people."""
        if isinstance(rule, NumberRange):
            return str(next((end for end in (rule.least, rule.most) if end is not None), 0))
        values = list(self.labels)
        if isinstance(rule, NoneOf):
            values = values or ["something else"]
            return next((value for value in values if self.allows(rule, value)), values[0])
        if rule:
            return rule[0]
        if self.asks_for == "number":
            return "30"
        return values[0] if values else "English"


def _fold(text: str) -> str:
    """Return a short text so that case and spaces make no difference."""
    return " ".join(text.split()).casefold()


def join_options(options: Iterable[str]) -> str:
    """Return the options of one answer as the text that is stored."""
    return SEPARATOR.join(options)


def split_options(answer: str) -> list[str]:
    return answer.split(SEPARATOR) if answer else []


class NumberRange(Part):
    """The numbers that allow taking part, both ends included."""

    least: int | None = Field(None, ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)
    most: int | None = Field(None, ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)

    def allows(self, answer: str) -> bool:
        number = int(answer) if answer.removeprefix("-").isdecimal() else None
        return (
            number is not None
            and (self.least is None or number >= self.least)
            and (self.most is None or number <= self.most)
        )


class NoneOf(Part):
    """The answers that don't allow taking part."""

    none_of: Annotated[list[Words], Field(min_length=1, max_length=200)]


# the answers that allow taking part, of which one is enough; or a rule
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
    """Who may take part: what is asked, and the message for people who may not.

    `accept`: by question, what allows taking part; or the dotted name of a function
    `(answers) -> bool`. A question that it doesn't name is only recorded. `rule` says it in words,
    for people whose platform states conditions before it sends them; "": nobody reads it.
    """

    questions: Annotated[list[EntryQuestion], Field(min_length=1, max_length=20)]
    rule: str
    refusal: str
    accept: Annotated[
        SerializeAsAny[str | dict[str, Any]],
        PlainValidator(read_accept, json_schema_input_type=Address | dict[str, Rule]),
    ]

    def is_met(self, answers: Mapping[str, str]) -> bool:
        """Tell whether these answers allow taking part."""
        if isinstance(self.accept, str):
            return bool(import_string(self.accept)(answers))
        return all(
            question.allows(self.accept[question.key], answers.get(question.key, ""))
            for question in self.questions
            if question.key in self.accept
        )

    def find_rule(self, key: str) -> Rule | None:
        """Return what allows taking part among answers to this question; None: anything."""
        return None if isinstance(self.accept, str) else self.accept.get(key)


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
    """A question on the instructions: its choices in order, the right one among them, and why.

    A qualification asks it where no practice item has gold.
    """

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
    """How work is handed out unless the researcher says otherwise.

    `has_bonus`: a participant who completes all sets that the cap allows earns a bonus.
    `checks_take_places`: checks and repeats are among the `set_size` items of a set, not on top.
    """

    k: int = Field(3, ge=1, le=1000)
    set_size: int = Field(10, ge=1, le=500)
    max_sets: int | None = Field(None, ge=1, le=1000)
    has_bonus: bool = False
    checks_take_places: bool = False
    groups: Literal["free", "together", "once"] = "free"


class Aid(Part):
    """An addition to the exact instrument, off unless the study turns the aids on."""

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
    version: int | None = None
    sha256: str | None = None


class Instrument(Part):
    """What participants are asked. Stored, exported, shipped and sent in this one shape."""

    format: Literal["evalsite.instrument/1"]
    key: InstrumentKey
    version: int = Field(ge=1)
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
    minutes_per_item: Above0 = 1
    based_on: BasedOn | None = None
    hooks: Hooks = Hooks()
    translations: dict[str, dict[str, Words]] = {}


for model in (Condition, Comment, Criterion, Instrument):
    model.model_rebuild()
