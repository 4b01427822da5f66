"""Questions about a person: what is asked before or after the work, and who may take part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from evalsite.instruments.schema import LARGEST_NUMBER as LARGEST_NUMBER
from evalsite.instruments.schema import SEPARATOR as SEPARATOR

AnswerKind = Literal["choice", "several", "number", "text"]
KINDS: tuple[AnswerKind, ...] = ("choice", "several", "number", "text")
LONGEST_TEXT = 100


@dataclass(frozen=True, kw_only=True)
class EntryQuestion:
    """A question about a person, asked openly, so that it does not give away what is wanted."""

    key: str
    label: str
    help: str = ""
    choices: tuple[tuple[str, str], ...] = ()  # value and label
    kind: AnswerKind | None = None  # none: one choice; without choices, an answer in words

    @property
    def asks_for(self) -> AnswerKind:
        return self.kind or ("choice" if self.choices else "text")


@dataclass(frozen=True, kw_only=True)
class NumberRange:
    """The numbers that allow taking part, both ends included."""

    least: int | None = None
    most: int | None = None

    def allows(self, answer: str) -> bool:
        number = int(answer) if answer.removeprefix("-").isdecimal() else None
        return (
            number is not None
            and (self.least is None or number >= self.least)
            and (self.most is None or number <= self.most)
        )


@dataclass(frozen=True, kw_only=True)
class NoneOf:
    """The answers that don't allow taking part."""

    answers: tuple[str, ...]


# the answers that allow taking part, of which one is enough; or a rule
Rule = Sequence[str] | NumberRange | NoneOf


@dataclass(frozen=True, kw_only=True)
class Eligibility:
    """Who may take part: what is asked, and the message for people who may not.

    `accept`: by question, what allows taking part; or the dotted name of a function
    `(answers) -> bool`. A question that it doesn't name is only recorded. `rule` says it in words,
    for people whose platform states conditions before it sends them; "": nobody reads it.
    """

    questions: tuple[EntryQuestion, ...]
    rule: str
    refusal: str
    accept: Mapping[str, Rule] | str


def allows(question: EntryQuestion, rule: Rule, answer: str) -> bool:
    """Tell whether this answer to a question allows taking part; none never does."""
    if isinstance(rule, NumberRange):
        return rule.allows(answer)
    if question.asks_for == "text":
        given, named = {_fold(answer)}, [_fold(one) for one in _answers_of(rule)]
    else:
        given = set(split_options(answer) if question.asks_for == "several" else [answer])
        named = list(_answers_of(rule))
    is_named = not given.isdisjoint(named)
    return bool(answer) and is_named != isinstance(rule, NoneOf)


def _answers_of(rule: "Sequence[str] | NoneOf") -> Sequence[str]:
    return rule.answers if isinstance(rule, NoneOf) else rule


def _fold(text: str) -> str:
    """Return a short text so that case and spaces make no difference."""
    return " ".join(text.split()).casefold()


def join_options(options: Sequence[str]) -> str:
    """Return the options of one answer as the text that is stored."""
    return SEPARATOR.join(options)


def split_options(answer: str) -> list[str]:
    return answer.split(SEPARATOR) if answer else []


def is_offered(question: EntryQuestion, answer: str) -> bool:
    """Tell whether this answer was chosen or a number, and not written in words."""
    if question.asks_for == "number":
        return answer.removeprefix("-").isdecimal()
    offered = {value for value, _ in question.choices}
    given = split_options(answer) if question.asks_for == "several" else [answer]
    return offered.issuperset(given)


def find_accepted(question: EntryQuestion, rule: Rule | None) -> str:
    """Return an answer that the rule allows, for simulated people."""
    if isinstance(rule, NumberRange):
        return str(next((end for end in (rule.least, rule.most) if end is not None), 0))
    if isinstance(rule, NoneOf):
        values = [value for value, _ in question.choices] or ["something else"]
        return next((value for value in values if allows(question, rule, value)), values[0])
    if rule:
        return rule[0]
    if question.asks_for == "number":
        return "30"
    return question.choices[0][0] if question.choices else "English"


# --- plain data ---------------------------------------------------------------------------


def write_eligibility(eligibility: Eligibility) -> dict[str, Any]:
    accept = eligibility.accept
    return {
        "questions": [write_question(question) for question in eligibility.questions],
        "rule": eligibility.rule,
        "refusal": eligibility.refusal,
        "accept": accept
        if isinstance(accept, str)
        else {key: _write_rule(rule) for key, rule in accept.items()},
    }


def write_question(question: EntryQuestion) -> dict[str, Any]:
    """Return the question as plain data, defaults left out."""
    given = {one.name: (getattr(question, one.name), one.default) for one in fields(question)}
    data = {name: value for name, (value, default) in given.items() if value != default}
    if question.choices:
        data["choices"] = [{"value": value, "label": label} for value, label in question.choices]
    return data


def _write_rule(rule: Rule) -> Any:
    if isinstance(rule, NoneOf):
        return {"none_of": list(rule.answers)}
    if isinstance(rule, NumberRange):
        ends = {"least": rule.least, "most": rule.most}
        return {name: value for name, value in ends.items() if value is not None}
    return list(rule)


def read_eligibility(data: Mapping[str, Any]) -> Eligibility:
    """Read what was checked before it was stored."""
    accept = data["accept"]
    if not isinstance(accept, str):
        accept = {key: _read_rule(rule) for key, rule in accept.items()}
    return Eligibility(
        questions=tuple(read_question(one) for one in data["questions"]),
        rule=data["rule"],
        refusal=data["refusal"],
        accept=accept,
    )


def read_question(data: Mapping[str, Any]) -> EntryQuestion:
    return EntryQuestion(
        key=data["key"],
        label=data["label"],
        help=data.get("help", ""),
        choices=tuple((choice["value"], choice["label"]) for choice in data.get("choices", [])),
        kind=data.get("kind"),
    )


def _read_rule(data: Any) -> Rule:
    if not isinstance(data, Mapping):
        return tuple(data)
    if "none_of" in data:
        return NoneOf(answers=tuple(data["none_of"]))
    return NumberRange(least=data.get("least"), most=data.get("most"))


# --- checks -------------------------------------------------------------------------------
