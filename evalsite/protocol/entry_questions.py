"""Questions about a person: what is asked before or after the work, and who may take part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from evalsite.protocol.faults import (
    Faults,
    check_choice,
    check_key,
    check_keys,
    check_list,
    check_text,
    check_unique,
    check_whole,
)

AnswerKind = Literal["choice", "several", "number", "text"]
KINDS: tuple[AnswerKind, ...] = ("choice", "several", "number", "text")
# between the options of one answer, so no option holds it
SEPARATOR = ";"
LONGEST_TEXT = 100
LARGEST_NUMBER = 10**9
MOST_QUESTIONS = 20
MOST_CHOICES = 100


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


def check_eligibility(eligibility: Any, faults: Faults) -> None:
    """Check who may take part; a dotted name in `accept` is for the caller to check."""
    needed = {"questions", "rule", "refusal", "accept"}
    if not check_keys(eligibility, "eligibility", faults, needed=needed, optional=()):
        return
    for name in ("rule", "refusal"):
        check_text(eligibility.get(name, ""), f"eligibility.{name}", faults, may_be_empty=True)
    asked = check_questions(eligibility.get("questions", [{}]), "eligibility.questions", faults)
    accept = eligibility.get("accept", {})
    at = "eligibility.accept"
    if isinstance(accept, str):
        return
    if not isinstance(accept, Mapping):
        faults.add("type", at, "must be an object")
        return
    for key, rule in accept.items():
        if key not in asked:
            faults.add("unknown_question", f"{at}.{key}", "is not one of the questions")
        else:
            _check_rule(rule, asked[key], f"{at}.{key}", faults)


def check_questions(questions: Any, at: str, faults: Faults) -> dict[str, EntryQuestion]:
    """Check questions about a person; return by key those that have no fault."""
    found = {}
    listed = check_list(questions, at, faults, least=1, most=MOST_QUESTIONS)
    for number, question in enumerate(listed):
        before = len(faults)
        _check_question(question, f"{at}.{number}", faults)
        if len(faults) == before:
            found[question["key"]] = read_question(question)
    keys = [one.get("key") for one in listed if isinstance(one, Mapping)]
    check_unique(keys, at, faults)
    return found


def _check_question(question: Any, place: str, faults: Faults) -> None:
    optional = {"help", "choices", "kind"}
    if not check_keys(question, place, faults, needed={"key", "label"}, optional=optional):
        return
    check_key(question.get("key", "a"), f"{place}.key", faults)
    check_text(question.get("label", "-"), f"{place}.label", faults)
    check_text(question.get("help", ""), f"{place}.help", faults, may_be_empty=True)
    if "kind" in question:
        check_choice(question["kind"], KINDS, f"{place}.kind", faults)
    has_choices = question.get("kind") in ("choice", "several")
    if question.get("kind") in ("number", "text") and question.get("choices"):
        faults.add("not_needed", f"{place}.choices", "belong to questions with answers to choose")
    choices = check_list(
        question.get("choices", []), f"{place}.choices", faults,
        least=2 if has_choices else 0, most=MOST_CHOICES,
    )  # fmt: skip
    for number, choice in enumerate(choices):
        at = f"{place}.choices.{number}"
        if check_keys(choice, at, faults, needed={"value", "label"}, optional=()):
            check_text(choice.get("label", "-"), f"{at}.label", faults)
            value = choice.get("value", "-")
            if check_text(value, f"{at}.value", faults) and SEPARATOR in value:
                faults.add("separator", f"{at}.value", f"must not contain “{SEPARATOR}”")
    values = [one.get("value") for one in choices if isinstance(one, Mapping)]
    check_unique(values, f"{place}.choices", faults)


def _check_rule(rule: Any, question: EntryQuestion, at: str, faults: Faults) -> None:
    if question.asks_for == "number":
        _check_range(rule, at, faults)
        return
    if isinstance(rule, Mapping):
        if not check_keys(rule, at, faults, needed={"none_of"}, optional=()):
            return
        rule, at = rule.get("none_of", ["-"]), f"{at}.none_of"
    values = [value for value, _ in question.choices]
    for value in check_list(rule, at, faults, least=1):
        if question.asks_for == "text":
            check_text(value, at, faults)
        else:
            check_choice(value, values, at, faults)


def _check_range(rule: Any, at: str, faults: Faults) -> None:
    if not check_keys(rule, at, faults, needed=(), optional=("least", "most")):
        return
    ends = [rule[name] for name in ("least", "most") if name in rule]
    for name in ("least", "most"):
        if name in rule:
            check_whole(
                rule[name], f"{at}.{name}", faults, least=-LARGEST_NUMBER, most=LARGEST_NUMBER
            )
    if not ends:
        faults.add("empty_range", at, "must have a lowest or a highest number")
    elif len(ends) == 2 and not faults and ends[0] > ends[1]:
        faults.add("order", at, "must not begin above its end")
