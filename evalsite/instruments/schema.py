"""The instrument: what participants are asked, as a file, as stored and as the object."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from django import forms
from django.apps import apps
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from pydantic import AfterValidator, AliasChoices, Field, PlainValidator, SerializeAsAny

from evalsite.instruments.fields import LONGEST_TEXT
from evalsite.instruments.parts import (
    LARGEST_NUMBER,
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
    is_number,
    read_as,
    refuse,
)
from evalsite.instruments.scales import OUTPUT, AnyScale, Per, Scale, read_scale
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
INPUT_KINDS = frozenset(get_args(InputKind))
# of inputs and columns of outputs: for a question, and not to be read
KINDS_OF_OUTPUTS = frozenset({"statements", "spans", "turns"})
_SCREENS = get_args(Screen)
# the option of a study that chooses a layout, where its instrument offers both
SCREEN_OPTION = "screen"
_NAMED_SCREENS = {"one": "One item per page", "sheet": "A sheet: all items of a set on one page"}
# What was answered, as `Scale.list_tested` names it, by criterion and the number of one of several
# outputs or of a turn (0: the item, or its only output); None: not asked or not answered.
Answers = Mapping[str, Mapping[int, tuple[Any, ...] | None]]


# --- where it comes from, and what an item holds ----------------------------------


class Source(Part):
    """Where an instrument comes from, and which of its words are whose.

    `licence` of the words taken over, with the `notice` that it asks for; "none" where nothing
    but a method was taken. `exact` and `ours` say which parts are to the letter.
    """

    cite: Words = Field(title="Source")
    licence: Words = Field(
        title="Licence of its words", description="“none” where only a method was taken."
    )
    exact: Words = Field(title="Taken word for word", json_schema_extra={"rows": 2})
    ours: Words = Field(title="Written for this instrument", json_schema_extra={"rows": 2})
    url: str = Field("", title="Address")
    read: str = Field("", title="What was read of it")
    from_memory: str = Field("", title="Written from memory", json_schema_extra={"rows": 2})
    notice: str = Field("", title="Notice that the licence asks for", json_schema_extra={"rows": 2})


class InputColumn(Part):
    """A column of a batch that belongs to the item: its name, kind, and other names it goes by.

    Columns with the same word in `together` are filled in all of them or in none.
    """

    is_of_output: ClassVar[bool] = False
    name: Key = Field(title="Column in uploads")
    label: Words = Field(title="Name on the page")
    kind: InputKind = Field(title="Kind")
    aliases: Names = Field([], title="Other names of the column", description="One per line.")
    required: bool = Field(True, title="Every item has it")
    together: str = Field(
        "",
        title="Filled together with",
        description="Of inputs with the same word here, all are filled or none.",
    )
    # of earlier versions: read, never kept and never written, since every input is shown whole
    display: Annotated[
        Literal["full", "scroll", "folded"], AfterValidator(lambda display: "full")
    ] = Field("full", exclude=True)
    language: str = Field("", title="Language of code", description="Such as python.")
    shown: bool = Field(True, title="Shown on the page")

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
    name: Key = Field(title="Column in uploads")
    kind: Literal["statements", "spans", "turns"] = Field(title="Kind")
    label: Words = Field("", title="Name on the page")
    aliases: Names = Field([], title="Other names of the column", description="One per line.")
    required: bool = Field(True, title="Every output has it")

    @property
    def heading(self) -> str:
        return self.label or self.name


Column = InputColumn | OutputColumn


class Outputs(Part):
    """The outputs of an item.

    A “dialogue” is a next line, shown without markup and with the speaker it names set apart.
    """

    kind: TextKind = Field(title="Kind of output")
    least: int = Field(ge=1, le=10, title="Outputs of an item, at least")
    most: int = Field(ge=1, le=10, title="Outputs of an item, at most")
    aliases: Names = Field([], title="Other names of the column", description="One per line.")
    language: str = Field("", title="Language of code", description="Such as python.")


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
    """How an item is laid out on its page.

    `inputs` are above the outputs or beside them, where the page is wide, or not shown at all.
    `order` of outputs, and of the items of a group that stays together: random, or as in the file.
    `letters` stand for 1, 2, ... in the names of outputs; one that is longer than a letter is the
    whole name. `menu`: headings of the instructions that rating pages link to, followed by the
    places of the set.
    """

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
    menu: Names = Field(
        [],
        title="Headings in the page’s menu",
        description="Headings of the instructions, one per line.",
    )
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
        if self.has is not None:
            kinds = self.has.items()
            return any(all(getattr(mark, name) == key for name, key in kinds) for mark in answer)
        if self.changed is not None:
            return self.changed in answer
        if named := self.is_ or self.includes:
            return any(value in named for value in answer)
        numbers = [value for value in answer if is_number(value)]
        if self.at_least is not None:
            return any(value >= self.at_least for value in numbers)
        return self.at_most is not None and any(value <= self.at_most for value in numbers)

    def describe(self, criteria: Mapping[str, Any]) -> str:
        """Say it in the middle of a sentence: "you chose “no” for “Clear”"."""
        if self.not_:
            return _("it isn’t the case that %(what)s") % {"what": self.not_.describe(criteria)}
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
        if self.has is not None:
            marked = {**words, "marked": asked.scale.name_tested(self.has)}
            if self.has:
                return _("you marked %(marked)s in “%(label)s”") % marked
            return _("you marked something in “%(label)s”") % marked
        if self.changed is not None:
            if self.changed:
                return _("you changed “%(label)s”") % words
            return _("you did not change “%(label)s”") % words
        named = self.is_ or self.includes or []
        chosen = _(" or ").join(f"“{asked.scale.name_tested(value)}”" for value in named)
        return _("you chose %(chosen)s for “%(label)s”") % {**words, "chosen": chosen}


class Comment(Part):
    """A box for words about an answer; the condition says when it has to be filled."""

    ask: Literal["optional", "required"] = Field(
        title="Comment",
        json_schema_extra={"words": {"": "none", "optional": "optional", "required": "required"}},
    )
    label: Words = Field("", title="Words above the comment")
    most: int = Field(LONGEST_TEXT, ge=1, le=LONGEST_TEXT, title="Most characters of a comment")
    if_: Condition | None = Field(None, alias="if", title="Comment only if")

    @property
    def is_required(self) -> bool:
        return self.ask == "required"


class Turns(Part):
    """Which turns of a conversation are rated: those of these roles.

    `marked_by` names the column with the numbers of turns that are; empty cells mean all of them.
    """

    roles: Annotated[
        list[Words], Field(min_length=1, max_length=10), AfterValidator(check_unique)
    ] = Field(title="Turns of", description="Roles in the conversations, one per line.")
    marked_by: Words = Field(
        "",
        title="Of these turns",
        description="For turns named in a column, add an input of the kind “turns”.",
        json_schema_extra={"column": "turns", "words": {"": "all"}},
    )

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
    """One quality that is judged. `definition` is Markdown and always in full view.

    `range_note` says in one line what may be entered. `ask_if` says when it is asked; without it
    always. `better`: none says that it is as its kind has it.
    """

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
    question: Words = Field(
        "", title="What people read", json_schema_extra={"is_in_sight": True, "rows": 2}
    )
    definition: Words = Field(
        "",
        title="Definition",
        description="Always in view. Markdown.",
        json_schema_extra={"rows": 3},
    )
    summary: Words = Field(
        "",
        title="Short definition",
        description="Shown above the definition with the worked examples.",
        json_schema_extra={"rows": 2},
    )
    range_note: Words = Field("", title="Note on what may be entered")
    better: Literal["higher", "lower", "none"] | None = Field(
        None,
        title="What is better",
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

    @property
    def direction(self) -> str:
        """Say which values are better; "" where nothing says it."""
        return self.better or self.scale.better

    @property
    def per_output(self) -> bool:
        """Tell whether its ratings are of outputs, or of their turns."""
        return self.per != "item"

    @property
    def is_of_outputs(self) -> bool:
        """Tell whether its rows name outputs: each is rated, or all are put in order."""
        return self.per_output or self.scale.orders

    @property
    def per_turn(self) -> bool:
        return self.per == "turn"

    @property
    def family(self) -> str:
        """Name the family of its analysis: numbers of turns are averaged, whatever their scale."""
        return "turns" if self.per_turn and self.scale.family != "text" else self.scale.family

    @property
    def is_always_answered(self) -> bool:
        """Tell whether every answer to an item holds one to this criterion."""
        return self.required and self.ask_if is None

    @property
    def columns(self) -> frozenset[str]:
        """Name the columns of files that its answers need beside the number."""
        columns = self.scale.columns | ({"part", "text"} if self.comment else frozenset())
        return columns | {"turn"} if self.per_turn else columns

    @property
    def is_asked_once(self) -> bool:
        """Tell whether a scale that could be asked of each output is asked of the whole item."""
        return self.per == "item" and self.scale.asked[0] == "output"


# --- people -----------------------------------------------------------------------


class IgnoreReason(Part):
    """Why an item may be ignored, and whether that covers the other items of its group too.

    `key` is what an ignored annotation keeps as its reason; `note` says what is covered, with
    {count} for the items of the group.
    """

    key: Key = Field(title="Name in files")
    label: Words = Field(title="Label")
    note: str = Field("", title="Note")
    covers: Literal["item", "group"] = Field(
        "item",
        title="What is left out",
        json_schema_extra={"words": {"item": "the item", "group": "all items of its group"}},
    )

    def describe_cover(self, count: int) -> str:
        """Return the note for a group of so many items; 0: that isn’t known."""
        return self.note.replace("{count} ", f"{count} " if count > 1 else "")


class Ignore(Part):
    """That an item may be ignored: why, and in Markdown when, in full view on the page."""

    reasons: Annotated[list[IgnoreReason], Field(min_length=1, max_length=200)] = Field(
        title="Reasons to leave an item out", json_schema_extra={"noun": "reason"}
    )
    note: str = Field("", title="Note above the reasons", json_schema_extra={"rows": 2})


class EntryChoice(Part):
    value: Words = Field(title="Name in files")
    label: Words = Field(title="Answer", json_schema_extra={"is_in_box": True})


AnswerKind = Literal["choice", "several", "number", "text"]


class EntryQuestion(Part):
    """A question about a person, asked openly, so that it does not give away what is wanted."""

    key: Key = Field(title="Column in files")
    label: Words = Field(title="Question")
    help: str = Field("", title="Help")
    kind: AnswerKind | None = Field(
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

    least: int | None = Field(None, ge=-LARGEST_NUMBER, le=LARGEST_NUMBER, title="At least")
    most: int | None = Field(None, ge=-LARGEST_NUMBER, le=LARGEST_NUMBER, title="At most")

    def allows(self, answer: str) -> bool:
        number = int(answer) if answer.removeprefix("-").isdecimal() else None
        return (
            number is not None
            and (self.least is None or number >= self.least)
            and (self.most is None or number <= self.most)
        )


class NoneOf(Part):
    """The answers that don't allow taking part."""

    none_of: Annotated[list[Words], Field(min_length=1, max_length=200)] = Field(title="None of")


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

    questions: Annotated[list[EntryQuestion], Field(min_length=1, max_length=20)] = Field(
        title="Questions", json_schema_extra={"noun": "question"}
    )
    rule: str = Field(title="Who may take part, in words")
    refusal: str = Field(title="What everyone else reads", json_schema_extra={"rows": 2})
    accept: Annotated[
        SerializeAsAny[str | dict[str, Any]],
        PlainValidator(read_accept, json_schema_input_type=Address | dict[str, Rule]),
    ] = Field(title="Accepted answers")

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
    """A worked or practice item: inputs by column, outputs, given answers, and the why.

    `ratings` and `gold` map criterion to the answer, or to one for each output. `columns` are those
    of outputs. `marked` lists passages to mark, by input. `label` is what the document prints
    beside an example, and `criterion` the key of the one it explains. In worked examples `why` is
    Markdown.
    """

    inputs: dict[str, Any] = Field(title="Inputs")
    outputs: Annotated[list[Any], Field(max_length=200)] = Field(title="Outputs")
    why: str = Field(title="Why", json_schema_extra={"rows": 2})
    label: Words = Field("", title="Heading")
    criterion: Words = Field("", title="Only for the question")
    columns: dict[str, list[Any]] = Field({}, title="Columns of an output")
    ratings: dict[str, Any] = Field({}, title="Ratings")
    gold: dict[str, Any] = Field({}, title="Right answers")
    marked: dict[str, list[str]] = Field(
        {}, title="Marked passages", validation_alias=AliasChoices("marked", "x_marked")
    )

    @cached_property
    def cells(self) -> dict[str, Any]:
        """Return inputs and columns of the only output by column, as the cells of a file."""
        inputs = {name: write_structure(value) for name, value in self.inputs.items()}
        firsts = {name: values[0] for name, values in self.columns.items()}
        return inputs | {
            name: first if isinstance(first, str) else "\n".join(map(str, first))
            for name, first in firsts.items()
        }

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Return the outputs as texts."""
        return tuple(map(write_structure, self.outputs))


def write_structure(value: Any) -> Any:
    """Write a conversation or a table that data holds as a list as the text of a file."""
    if not isinstance(value, list):
        return value
    # stored JSON has lost the order of keys: role and content come first, as in most files
    first = ("role", "content")
    records = [
        {
            name: record[name]
            for name in (*first, *sorted(record.keys() - set(first)))
            if name in record
        }
        if isinstance(record, dict) and "role" in record
        else record
        for record in value
    ]
    return json.dumps(records, ensure_ascii=False)


class CheckQuestion(Part):
    """A question on the instructions: its choices in order, the right one among them, and why.

    A qualification asks it where no practice item has gold.
    """

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
    examples: Annotated[list[Example], Field(max_length=200)] = []


class Design(Part):
    """How work is handed out unless the researcher says otherwise.

    `has_bonus`: a participant who completes all sets that the cap allows earns a bonus.
    `checks_take_places`: checks and repeats are among the `set_size` items of a set, not on top.
    """

    k: int = Field(3, ge=1, le=1000, title="Answers per item")
    set_size: int = Field(10, ge=1, le=500, title="Items in a set")
    max_sets: int | None = Field(None, ge=1, le=1000, title="Sets of one person, at most")
    has_bonus: bool = Field(False, title="Everyone who finishes all sets earns a bonus")
    checks_take_places: bool = Field(False, title="Checks are among the items of a set")
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
    """An addition to the exact instrument, off unless the study turns the aids on."""

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
    """What was copied, and how its pages were changed when a study was made of it.

    `inputs` are shown as well; `kinds` are those that a study's files have, by input or "output".
    """

    key: str | None = None
    version: int | None = Field(None, ge=1, le=LARGEST_NUMBER)
    sha256: str | None = None
    note: bool = False
    inputs: Names = []
    kinds: dict[str, InputKind] = {}


class Instrument(Part):
    """What participants are asked. Stored, exported, shipped and sent in this one shape.

    `hooks` are dotted names of functions in a protocol's folder, for what data can't express:

    - `clean(values)` raises ValidationError when answers don't go together;
    - `check_entry(answers)` raises ValidationError, by question, for contradictory entry answers;
    - `item_context(options, inputs)` returns what the item template needs besides;
    - `standard_score(options, inputs)` returns the score that an item's magnitudes relate to;
    - `instructions(text, design)` returns the instructions for a study with this design;
    - `options_form` is a form class: the study's own settings, with the document's as initial.
    """

    format: Literal["evalsite.instrument/1"]
    key: InstrumentKey = Field(title="Name in files")
    version: int = Field(ge=1, le=LARGEST_NUMBER, title="Version")
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
    page_note: Words = Field(
        "",
        title="Note above the questions",
        description="Markdown.",
        validation_alias=AliasChoices("page_note", "x_page_note"),
        json_schema_extra={"rows": 2},
    )
    help_label: Words = Field(
        "",
        title="Name of the link to the instructions",
        validation_alias=AliasChoices("help_label", "x_help_label"),
    )
    # until spans have a page
    highlight: Words = Field(
        "",
        alias="x_highlight",
        title="Hint on marking passages",
        description="Empty: passages can’t be marked.",
    )
    note: str | None = Field(
        None,
        title="Words above a box for notes on an item",
        description="Empty: there is no box.",
        json_schema_extra={"when_empty": "Anything unclear? (optional)"},
    )
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
    minutes_per_item: Minutes = Field(1, title="Minutes per item")
    based_on: BasedOn | None = Field(None, title="Based on")
    hooks: Hooks = Field(Hooks(), title="Functions of a protocol")
    translations: dict[str, dict[str, Words]] = Field({}, title="Translations")

    # --- hooks

    @property
    def hook_names(self) -> frozenset[str]:
        """Return the dotted names of all functions and forms that this instrument calls."""
        accept = self.eligibility.accept if self.eligibility else {}
        names = {dotted for _name, dotted in self.hooks.list_addresses()}
        return frozenset(names | ({accept} if isinstance(accept, str) else set()))

    def _call(self, hook: str, default: Any, *args: Any) -> Any:
        dotted = getattr(self.hooks, hook)
        return import_string(dotted)(*args) if dotted else default

    def clean(self, values: Mapping[str, Any]) -> None:
        """Raise ValidationError when answers that are right one by one don't go together."""
        self._call("clean", None, values)

    def check_entry(self, answers: Mapping[str, str]) -> None:
        """Raise ValidationError, by question, when entry answers contradict one another."""
        self._call("check_entry", None, answers)

    def is_eligible(self, answers: Mapping[str, str]) -> bool:
        """Tell whether these answers to the entry questions allow taking part."""
        return self.eligibility is None or self.eligibility.is_met(answers)

    def item_context(self, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the item template needs beside inputs and outputs."""
        context: dict[str, Any] = self._call("item_context", {}, self._complete(options), inputs)
        return context

    def standard_score(self, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> int | None:
        """Return the score that magnitudes of this item relate to, where there is one."""
        score: int | None = self._call("standard_score", None, self._complete(options), inputs)
        return score

    @property
    def unit_name(self) -> str:
        """Name what one page shows and answers are counted of: an output, an item or a pair."""
        outputs = self.item.outputs
        if outputs.most == 1:
            return "output"
        return "pair" if outputs.least == outputs.most == 2 else "item"

    def instructions_for(self, design: Design) -> str:
        """Return the instructions of a study that hands work out so."""
        return str(self._call("instructions", self.instructions, self.instructions, design))

    @cached_property
    def options_form(self) -> type[forms.Form] | None:
        """Return the form of the settings that a study of this instrument has of its own."""
        dotted, screens = self.hooks.options_form, self.layout.screens
        form: type[forms.Form] | None = import_string(dotted) if dotted else None
        if len(screens) == 1:
            return form
        field = forms.ChoiceField(
            label="Layout",
            choices=[(screen, _NAMED_SCREENS[screen]) for screen in screens],
            initial=screens[0],
            help_text="Practice and tests always have one item per page.",
        )
        return type("OptionsForm", (form or forms.Form,), {SCREEN_OPTION: field})

    @cached_property
    def default_options(self) -> dict[str, Any]:
        """Return what the options form starts with: the options of a study with the defaults."""
        if self.options_form is None:
            return {}
        fields = self.options_form.base_fields
        return {name: form_field.initial for name, form_field in fields.items()}

    def is_sheet(self, options: Mapping[str, Any]) -> bool:
        """Tell whether a study with these options has all items of a set on one page; without a
        choice it is the first layout."""
        chosen, screens = options.get(SCREEN_OPTION), self.layout.screens
        return (chosen if chosen in screens else screens[0]) == "sheet"

    def _complete(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return self.default_options | dict(options)

    # --- views of the above

    @cached_property
    def criterion_by_key(self) -> dict[str, Criterion]:
        return {criterion.key: criterion for criterion in self.criteria}

    @cached_property
    def columns(self) -> list[Column]:
        """List the columns of a batch that an item needs: inputs, then those of its output."""
        return [*self.item.inputs, *self.item.output_columns]

    @cached_property
    def asks_turns(self) -> bool:
        """Tell whether turns of conversations are rated."""
        return any(criterion.per_turn for criterion in self.criteria)

    @cached_property
    def conversations(self) -> frozenset[str]:
        """Name the inputs that are conversations, and “output” if the outputs are."""
        kinds = {column.name: column.kind for column in self.item.inputs}
        kinds[OUTPUT] = self.item.outputs.kind
        return frozenset(name for name, kind in kinds.items() if kind == "conversation")

    @property
    def marks_turns(self) -> bool:
        """Tell whether passages are marked in turns of conversations."""
        return any(
            self.conversations.intersection(criterion.scale.marked_columns)
            for criterion in self.criteria
        )

    @property
    def marks_texts(self) -> bool:
        """Tell whether passages are marked, and only in texts that are read as one."""
        return bool(self.marking) and not self.marks_turns

    @cached_property
    def standard_inputs(self) -> tuple[str, ...] | None:
        """Name the inputs by which an item may have a standard of its own; None: any of them."""
        named: dict[str, None] = {}
        for criterion in self.criteria:
            names = criterion.scale.name_standard_inputs()
            if names is None:
                return None
            named |= dict.fromkeys(names)
        return tuple(named)

    def has_example(self, inputs: Mapping[str, Any], outputs: Sequence[str]) -> bool:
        """Whether an item of these texts is one of the worked examples."""
        texts = tuple(outputs)
        return any(example.cells == inputs and example.texts == texts for example in self.examples)

    @property
    def instruction_examples(self) -> tuple[Example, ...]:
        """Return the examples shown with the instructions: those that explain all criteria."""
        return tuple(example for example in self.examples if not example.criterion)

    @property
    def has_ignore(self) -> bool:
        return self.ignore is not None

    @property
    def ignore_reasons(self) -> Sequence[IgnoreReason]:
        return self.ignore.reasons if self.ignore else ()

    @property
    def ignore_note(self) -> str:
        return self.ignore.note if self.ignore else ""

    @property
    def has_highlight(self) -> bool:
        return bool(self.highlight)

    @property
    def has_marks(self) -> bool:
        """Tell whether passages are marked, with a question about them or without."""
        return self.has_highlight or bool(self.marking)

    @property
    def marking(self) -> list[Criterion]:
        """The questions that are answered by marking passages."""
        return [criterion for criterion in self.criteria if criterion.scale.marked_columns]

    @property
    def has_note(self) -> bool:
        return self.note is not None

    @property
    def item_template(self) -> tuple[str, ...]:
        """Name the templates of an item, best first: the protocol's own, then the standard one."""
        return (f"{self.key}/item.html", "participation/item.html")

    @cached_property
    def aids_script(self) -> str:
        """Name the script of the aids in the protocol's folder; "" where it has none."""
        name = f"{self.key}/aids.js"
        folders = (Path(config.path) / "static" for config in apps.get_app_configs())
        return name if any((folder / name).is_file() for folder in folders) else ""


for model in (Condition, Comment, Criterion, Instrument):
    model.model_rebuild()
