"""Reading an instrument: faults of its shape, then those that need two of its parts."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from django.conf import settings

from evalsite.instruments.answer import HIGHLIGHTS
from evalsite.instruments.faults import Fault, Faults
from evalsite.instruments.parts import LARGEST_NUMBER, check_language, read_part
from evalsite.instruments.scales import COMMENT, NA, Scale, find_twice, is_among
from evalsite.instruments.schema import (
    FORMAT,
    MOST_TURNS,
    SEPARATOR,
    CheckQuestion,
    Column,
    Condition,
    Criterion,
    Eligibility,
    EntryQuestion,
    Example,
    Instrument,
    NoneOf,
    NumberRange,
    Rule,
    StudyQuestions,
)
from evalsite.instruments.texts import list_texts
from evalsite.lib.conversations import (
    MOST_PARTS,
    count_parts,
    read_numbers,
    read_turns,
    split_turns,
)
from evalsite.lib.seeds import MOST_ORDERED

RESERVED_COLUMNS = frozenset({"item", "system", "output", "group", "cluster", "kind"})
# columns of files of ratings beside one for each criterion, and fields of rating pages; and beside
# the right answers by criterion, gold says why they are right
RESERVED_KEYS = frozenset({
    "why",
    "study", "version", "batch", "item", "group", "cluster", "kind", "system", "output_id",
    "standard", "annotation", "participant", "person", "set", "place", "place_in_group",
    "place_in_set", "trial", "repeat_of", "status", "origin", "aids", "device", "language",
    "excluded", "exclusion_reason", "revisions", "started_at", "submitted_at", "seconds",
    "active_seconds", "time_given", "system_1", "system_2", "shown_first",
    "state", "client_ms", "active_ms", "first_ms", "go", "note", "comment", "ignore", "at",
    "attempt", "main", "work", "read", "questions", "unsaved", "keys", "problem", "result",
    "still", "report", "reported", "csrfmiddlewaretoken", HIGHLIGHTS,
})  # fmt: skip
# the code of what is valid, but can't be asked yet
NOT_YET = "not_yet"
_NEEDS_NOTICE = frozenset(
    {"BSD-3-Clause", "MIT", "Apache-2.0", "CC BY 4.0", "CC BY-SA 4.0", "Etalab 2.0"}
)
_STRUCTURED = frozenset({"conversation", "table"})
# what is shown as it is stored, or as its source, where passages are marked
_MARKABLE = frozenset({
    "text", "markdown", "code", "conversation", "dialogue", "review", "meaning representation",
})  # fmt: skip
_WIDTH = {"item": 0, "output": 1, "turn": 2}
_DEEPEST = 3
_TESTS = {
    "is_": "is", "includes": "includes", "at_least": "at_least", "at_most": "at_most",
    "answered": "answered", "has": "has", "changed": "changed",
}  # fmt: skip


class InvalidInstrument(ValueError):
    """Plain data that is no instrument; `faults` says what is wrong with it, and where."""

    def __init__(self, faults: Faults) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = faults


def read_instrument(data: Any, *, is_foreign: bool = False) -> Instrument:
    """Return the instrument; InvalidInstrument with every fault, if it has any.

    `is_foreign`: it came by web or file, so without hooks.
    """
    if isinstance(data, dict) and data.get("format", FORMAT) != FORMAT:
        raise InvalidInstrument(Faults([Fault("unknown_format", "format", f"must be {FORMAT}")]))
    instrument, faults = read_part(Instrument, data)
    if not faults:
        faults = list(_find_faults(instrument, is_foreign=is_foreign))
    if not faults:  # these are read against the rest, so the rest has to be right
        faults = [*_check_examples(instrument), *_check_translations(instrument)]
        faults = [replace(fault, place=_name_as_written(fault.place, data)) for fault in faults]
    if faults:
        raise InvalidInstrument(Faults(faults))
    return _write_tables(instrument)


def check_instrument(data: Any, *, is_foreign: bool = False) -> Faults:
    """Return all faults of this data, and of what is valid what this version can't ask yet."""
    try:
        return find_not_yet(read_instrument(data, is_foreign=is_foreign))
    except InvalidInstrument as refused:
        return refused.faults


def _name_as_written(place: str, data: Any) -> str:
    """Return the place with the old name of a key, if the file has that."""
    part, _, rest = place.partition(".")
    number, _, key = rest.partition(".")
    is_marked = part in ("examples", "practice") and key.startswith("marked.")
    if is_marked and "x_marked" in data[part][int(number)]:
        return f"{part}.{number}.x_{key}"
    return place


def _write_tables(instrument: Instrument) -> Instrument:
    """Return the instrument with tables as text: stored JSON loses the order of their columns."""
    kinds = {column.name: column.kind for column in instrument.item.inputs}
    outputs_kind = instrument.item.outputs.kind
    parts = {
        part: [
            example.model_copy(
                update={
                    "inputs": {
                        name: _write_table(value, kinds[name])
                        for name, value in example.inputs.items()
                    },
                    "outputs": [_write_table(text, outputs_kind) for text in example.outputs],
                }
            )
            for example in getattr(instrument, part)
        ]
        for part in ("examples", "practice")
    }
    return instrument.model_copy(update=parts)


def _write_table(value: Any, kind: str) -> Any:
    is_list = kind == "table" and isinstance(value, list)
    return json.dumps(value, ensure_ascii=False) if is_list else value


# --- rules between parts ----------------------------------------------------------


def _find_faults(instrument: Instrument, *, is_foreign: bool) -> Iterator[Fault]:
    if instrument.source.licence in _NEEDS_NOTICE and not instrument.source.notice:
        yield Fault("no_notice", "source.notice", "is required by this licence")
    yield from _check_columns(instrument)
    yield from _check_layout(instrument)
    yield from _check_criteria(instrument)
    if instrument.ignore:
        yield from find_twice(instrument.ignore.reasons, "ignore.reasons")
    if instrument.eligibility:
        yield from _check_eligibility(instrument.eligibility)
    yield from _check_hooks(instrument, is_foreign=is_foreign)
    yield from _check_comprehension(instrument.comprehension)


def _check_columns(instrument: Instrument) -> Iterator[Fault]:
    seen: set[str] = set()
    item = instrument.item
    parts: tuple[tuple[str, list[Any]], ...] = (
        ("inputs", item.inputs),
        ("output_columns", item.output_columns),
    )
    for part, columns in parts:
        for number, column in enumerate(columns):
            at = f"item.{part}.{number}.name"
            if column.name in RESERVED_COLUMNS:
                yield Fault("reserved_column", at, "is a column that every batch has")
            if column.name in seen:
                yield Fault("duplicate", at, "is the name of another column")
            seen.add(column.name)
    if item.output_columns and item.outputs.most != 1:
        yield Fault(
            "not_supported",
            "item.output_columns",
            "can only be used where an item has exactly one output. Show each output on its own "
            "(outputs: least 1, most 1), or list the column under inputs: it then holds for all "
            "outputs of an item",
        )


def _check_layout(instrument: Instrument) -> Iterator[Fault]:
    layout, outputs = instrument.layout, instrument.item.outputs
    if outputs.most < outputs.least:
        words = f"must be from {outputs.least} to 10"
        yield Fault("out_of_range", "item.outputs.most", words)
    bounds = (outputs.least, outputs.most)
    fits = {
        "one": (bounds == (1, 1), "must be 'several' or 'pair' unless an item has one output"),
        "pair": (bounds == (2, 2), "can only be 'pair' if an item has exactly two outputs"),
        "several": (outputs.most >= 2, "can only be 'several' if an item may have two outputs"),
    }
    is_right, words = fits[layout.outputs]
    if not is_right:
        yield Fault("wrong_layout", "layout.outputs", words)
    if layout.order == "given" and outputs.most > MOST_ORDERED:
        words = f"can only be given where an item has {MOST_ORDERED} outputs at most"
        yield Fault("wrong_layout", "layout.order", words)
    if "sheet" in layout.screens:
        parts = {
            "ignore": instrument.ignore is not None,
            "note": instrument.note is not None,
            "aids": bool(instrument.aids),
            "x_highlight": bool(instrument.highlight),
            "several outputs": layout.outputs != "one",
        }
        names = ", ".join(name for name, is_in in parts.items() if is_in)
        if names:
            words = f"can't be a sheet in an instrument with {names}"
            yield Fault("not_supported", "layout.screen", words)


def _check_criteria(instrument: Instrument) -> Iterator[Fault]:
    earlier: dict[str, Criterion] = {}
    columns = {column.name: column for column in instrument.columns}
    taken = {
        f"{criterion.key}_{COMMENT}": f"is the column of the comments on {criterion.key!r}"
        for criterion in instrument.criteria
        if criterion.comment
    }
    if any(criterion.per == "turn" for criterion in instrument.criteria):
        taken["turn"] = "is the column that numbers the turns"
    for number, criterion in enumerate(instrument.criteria):
        at = f"criteria.{number if criterion.key in earlier else criterion.key}"
        if criterion.key in earlier:
            words = "has the key of another criterion"
            yield Fault("duplicate", f"criteria.{criterion.key}", words)
        if criterion.key in RESERVED_KEYS:
            words = "is a name that the site uses itself: choose another"
            yield Fault("reserved_column", f"{at}.key", words)
        if criterion.key in taken:
            words = f"{taken[criterion.key]}: choose another name"
            yield Fault("reserved_column", f"{at}.key", words)
        yield from _check_criterion(instrument, criterion, at)
        yield from criterion.scale.find_faults(f"{at}.scale")
        for parameter, name, kind in criterion.scale.name_columns():
            yield from _check_column(name, kind, f"{at}.scale.{parameter}", columns)
        yield from _check_turns(instrument, criterion, at, columns)
        if criterion.scale.marked_columns:
            yield from _check_marking(instrument, criterion, f"{at}.scale", columns)
        yield from _check_when(criterion, at, earlier)
        earlier[criterion.key] = criterion


def _check_criterion(instrument: Instrument, criterion: Criterion, at: str) -> Iterator[Fault]:
    scale = criterion.scale
    if not (criterion.question or criterion.definition):
        yield Fault("no_question", at, "needs a question or a definition")
    if criterion.per not in scale.asked:
        words = f"must be {' or '.join(scale.asked)} for a {scale.kind} scale"
        yield Fault("wrong_per", f"{at}.per", words)
    if criterion.better and not scale.directed:
        words = f"is not for a {scale.kind} scale: its answers are neither high nor low"
        yield Fault("not_needed", f"{at}.better", words)
    if scale.needs == "pair" and instrument.layout.outputs != "pair":
        words = f"has a {scale.kind} scale, which needs a pair of outputs"
        yield Fault("wrong_layout", at, words)
    if instrument.item.outputs.least < scale.fewest:
        words = f"has a {scale.kind} scale, which needs {scale.fewest} or more outputs of an item"
        yield Fault("wrong_layout", at, words)


def _check_column(name: str, kind: str, at: str, columns: Mapping[str, Column]) -> Iterator[Fault]:
    if name not in columns:
        yield Fault("unknown_column", at, f"is {name!r}, which is no declared input")
    elif kind and columns[name].kind != kind:
        yield Fault("wrong_column", at, f"is {name!r}, which isn't of the kind {kind}")


def _check_turns(
    instrument: Instrument, criterion: Criterion, at: str, columns: Mapping[str, Column]
) -> Iterator[Fault]:
    if criterion.per != "turn":
        if criterion.turns:
            words = "is only for a criterion that is asked per turn"
            yield Fault("not_needed", f"{at}.turns", words)
        return
    if criterion.turns is None:
        words = "is required of a criterion that is asked per turn"
        yield Fault("missing_key", f"{at}.turns", words)
    elif criterion.turns.marked_by:
        yield from _check_column(
            criterion.turns.marked_by, "turns", f"{at}.turns.marked_by", columns
        )
    if instrument.item.outputs.kind != "conversation":
        yield Fault("no_turns", at, "is asked per turn, but the outputs are no conversations")
    elif instrument.item.outputs.most != 1:
        yield Fault(
            "not_supported",
            f"{at}.per",
            "can only be turn where an item has exactly one output. Show each conversation on its "
            "own (outputs: least 1, most 1)",
        )
    if instrument.highlight:
        yield Fault("not_supported", f"{at}.per", "can't be turn where passages are marked")


def _check_marking(
    instrument: Instrument, criterion: Criterion, at: str, columns: Mapping[str, Column]
) -> Iterator[Fault]:
    """Check that passages can be marked in the texts in which a question marks them."""
    kind = instrument.item.outputs.kind
    if kind not in _MARKABLE:
        words = f"can't mark passages of outputs of the kind {kind}"
        yield Fault("not_supported", at, words)
    for name in criterion.scale.marked_columns:
        column = columns.get(name)
        if column and (column.kind not in _MARKABLE or not column.shown):
            words = f"is {name!r}, in which nobody can mark passages"
            yield Fault("wrong_column", f"{at}.mark_in", words)
    if instrument.highlight:
        words = "can't be beside a question that marks passages"
        yield Fault("not_supported", "x_highlight", words)
    if "sheet" in instrument.layout.screens:
        words = "can't be a sheet in an instrument that marks passages"
        yield Fault("not_supported", "layout.screen", words)


# --- conditions -------------------------------------------------------------------


def _check_when(criterion: Criterion, at: str, earlier: Mapping[str, Criterion]) -> Iterator[Fault]:
    """Check when a question is asked, and when a comment on it."""
    if criterion.ask_if:
        yield from _check_condition(criterion.ask_if, f"{at}.ask_if", criterion.per, earlier)
    if criterion.comment and criterion.comment.if_:
        known = {**earlier, criterion.key: criterion}
        yield from _check_condition(criterion.comment.if_, f"{at}.comment.if", criterion.per, known)


def _check_condition(
    condition: Condition,
    at: str,
    per: str,
    earlier: Mapping[str, Criterion],
    depth: int = 1,
) -> Iterator[Fault]:
    if depth > _DEEPEST:
        yield Fault("too_deep", at, f"can be nested {_DEEPEST} deep at most")
        return
    if condition.not_:
        joined, parts = "not", [(f"{at}.not", condition.not_)]
    else:
        joined = "all" if condition.all_ else "any"
        listed = condition.all_ or condition.any_ or []
        parts = [(f"{at}.{joined}.{number}", part) for number, part in enumerate(listed)]
    if not parts:
        yield from _check_test(condition, at, per, earlier)
        return
    for field in sorted(condition.model_fields_set - {f"{joined}_", "extras"}):
        words = f"can't be beside {joined}"
        yield Fault("unknown_key", f"{at}.{field.removesuffix('_')}", words)
    for place, part in parts:
        yield from _check_condition(part, place, per, earlier, depth + 1)


def _check_test(
    condition: Condition, at: str, per: str, earlier: Mapping[str, Criterion]
) -> Iterator[Fault]:
    asked = earlier.get(condition.criterion)
    if asked is None:
        words = "must name a question that comes before this one"
        yield Fault("unknown_criterion", f"{at}.criterion", words)
        return
    named = [field for field in _TESTS if getattr(condition, field) is not None]
    if len(named) != 1:
        yield Fault("one_test", at, f"needs exactly one of: {', '.join(_TESTS.values())}")
        return
    test = _TESTS[named[0]]
    if test != "answered" and test not in asked.scale.tests:
        yield Fault("wrong_test", at, f"can't test {test!r} on a {asked.scale.kind} scale")
        return
    if test in ("is", "includes"):
        yield from _check_named_answers(getattr(condition, named[0]), asked.scale, f"{at}.{test}")
    elif test == "has":
        for name, kind in (condition.has or {}).items():
            if (name, kind) not in asked.scale.name_kinds():
                words = f"has {kind!r}, which isn't a {name} of that question"
                yield Fault("unknown_answer", f"{at}.has", words)
    elif isinstance(getattr(condition, test), float) and not asked.scale.has_decimals:
        yield Fault("type", f"{at}.{test}", "must be a whole number")
    if _WIDTH[asked.per] > _WIDTH[per]:
        if condition.outputs is None:
            words = f"is about each {asked.per}: say “outputs”: “any” or “every”"
            yield Fault("narrower", at, words)
    elif condition.outputs:
        words = "is only for tests of something narrower than the question"
        yield Fault("not_needed", f"{at}.outputs", words)


def _check_named_answers(answers: list[Any], scale: Scale, at: str) -> Iterator[Fault]:
    if not answers:
        yield Fault("length", at, "names no answer: choose at least one")
    known = scale.list_testable()
    for answer in answers:
        if known is not None and not is_among(answer, known):
            words = f"has {answer!r}, which isn't an answer to that question"
            yield Fault("unknown_answer", at, words)
        elif known is None and not (type(answer) is int or scale.is_answer(answer, 1)):
            yield Fault("type", at, "must be a whole number")


# --- people -----------------------------------------------------------------------


def check_study_questions(data: Any) -> Faults:
    """Return the faults of questions that a study asks in place of its instrument's."""
    questions, faults = read_part(StudyQuestions, data)
    if not faults:
        faults = list(_check_comprehension(questions.comprehension))
        faults += _check_entry_questions(questions.background, "background")
        if questions.eligibility:
            faults += _check_eligibility(questions.eligibility)
    return Faults(faults)


def _check_comprehension(questions: list[CheckQuestion]) -> Iterator[Fault]:
    for number, question in enumerate(questions):
        if question.right not in question.choices:
            at = f"comprehension.{number}.right"
            yield Fault("no_right_answer", at, "must be one of the choices")


def _check_entry_questions(questions: list[EntryQuestion], at: str) -> Iterator[Fault]:
    for number, question in enumerate(questions):
        yield from _check_entry_question(question, f"{at}.{number}")
    yield from find_twice(questions, at)


def _check_eligibility(eligibility: Eligibility) -> Iterator[Fault]:
    yield from _check_entry_questions(eligibility.questions, "eligibility.questions")
    if isinstance(eligibility.accept, str):
        return
    asked = {question.key: question for question in eligibility.questions}
    for key, rule in eligibility.accept.items():
        at = f"eligibility.accept.{key}"
        if key not in asked:
            yield Fault("unknown_question", at, "is not one of the questions")
        else:
            yield from _check_rule(rule, asked[key], at)


def _check_entry_question(question: EntryQuestion, at: str) -> Iterator[Fault]:
    if question.kind in ("number", "text") and question.choices:
        words = "belong to questions with answers to choose"
        yield Fault("not_needed", f"{at}.choices", words)
    if question.kind in ("choice", "several") and len(question.choices) < 2:
        words = f"must have 2 to 100 entries, and has {len(question.choices)}"
        yield Fault("length", f"{at}.choices", words)
    for number, choice in enumerate(question.choices):
        if SEPARATOR in choice.value:
            place = f"{at}.choices.{number}.value"
            yield Fault("separator", place, f"must not contain “{SEPARATOR}”")
    yield from find_twice(question.choices, f"{at}.choices", "value")


def _check_rule(rule: Rule, question: EntryQuestion, at: str) -> Iterator[Fault]:
    if question.asks_for == "number":
        yield from _check_range(rule, at)
        return
    if isinstance(rule, NumberRange):
        yield Fault("missing_key", f"{at}.none_of", "is required")
        return
    values = [choice.value for choice in question.choices]
    at = f"{at}.none_of" if isinstance(rule, NoneOf) else at
    for value in rule.none_of if isinstance(rule, NoneOf) else rule:
        if question.asks_for != "text" and value not in values:
            yield Fault("not_allowed", at, f"must be one of: {', '.join(sorted(values))}")


def _check_range(rule: Rule, at: str) -> Iterator[Fault]:
    if isinstance(rule, NoneOf):
        yield Fault("unknown_key", f"{at}.none_of", "is for answers to choose: give a range")
    elif not isinstance(rule, NumberRange):
        yield Fault("type", at, "must be an object")
    elif rule.least is None and rule.most is None:
        yield Fault("empty_range", at, "must have a lowest or a highest number")
    elif rule.least is not None and rule.most is not None and rule.least > rule.most:
        yield Fault("order", at, "must not begin above its end")


def _check_hooks(instrument: Instrument, *, is_foreign: bool) -> Iterator[Fault]:
    """Check that functions are inside the folder of an installed protocol."""
    addresses = [(f"hooks.{name}", dotted) for name, dotted in instrument.hooks.list_addresses()]
    if is_foreign and addresses:
        yield Fault("hooks_not_allowed", "hooks", "are for protocols installed with the site")
        addresses = []
    if instrument.eligibility and isinstance(instrument.eligibility.accept, str):
        addresses.append(("eligibility.accept", instrument.eligibility.accept))
    folders = tuple(f"{name}." for name in settings.PROTOCOLS)
    for at, dotted in addresses:
        if is_foreign or not dotted.startswith(folders):
            words = "must be inside the folder of an installed protocol"
            yield Fault("hooks_not_allowed", at, words)


# --- examples and translations ----------------------------------------------------


def _check_examples(instrument: Instrument) -> Iterator[Fault]:
    for number, example in enumerate(instrument.examples):
        yield from _check_example(instrument, example, f"examples.{number}")
    for number, example in enumerate(instrument.practice):
        yield from _check_example(instrument, example, f"practice.{number}")
    has_gold = any(example.gold for example in instrument.practice)
    if instrument.practice and not has_gold and not instrument.comprehension:
        words = "needs gold on at least one item, or comprehension questions"
        yield Fault("no_gold", "practice", words)


def check_example(instrument: Instrument, data: Any) -> Faults:
    """Return the faults of an example that a study shows in this instrument."""
    example, faults = read_part(Example, data)
    if not faults:
        faults = [
            Fault(fault.code, fault.place.removeprefix("examples."), fault.message)
            for fault in _check_example(instrument, example, "examples")
        ]
    return Faults(faults)


def _check_example(instrument: Instrument, example: Example, at: str) -> Iterator[Fault]:
    outputs = instrument.item.outputs
    # ratings may speak for themselves, a practice item has to explain
    speaks_for_itself = at.startswith("examples") and bool(example.ratings)
    if not example.why.strip() and not speaks_for_itself:
        yield Fault("empty_text", f"{at}.why", "must not be empty")
    keys = {criterion.key for criterion in instrument.criteria}
    if example.criterion and example.criterion not in keys:
        words = "isn't a criterion of this instrument"
        yield Fault("unknown_criterion", f"{at}.criterion", words)
    yield from _check_cells(instrument, example, at)
    if not outputs.least <= len(example.outputs) <= outputs.most:
        words = (
            f"must have {outputs.least} to {outputs.most} entries, and has {len(example.outputs)}"
        )
        yield Fault("length", f"{at}.outputs", words)
    for number, text in enumerate(example.outputs):
        yield from _check_text(text, outputs.kind, f"{at}.outputs.{number}")
    turns, faults = _count_turns(instrument, example, at)
    yield from faults
    for part in ("ratings", "gold"):
        for key, answer in getattr(example, part).items():
            place = f"{at}.{part}.{key}"
            if key not in keys:
                words = "isn't a criterion of this instrument"
                yield Fault("unknown_criterion", place, words)
                continue
            criterion = next(c for c in instrument.criteria if c.key == key)
            asked = Asked(criterion, example, part == "gold", turns.get(key))
            yield from _check_answer(asked, answer, place)
    for column, passages in example.marked.items():
        for passage in passages:
            if passage not in str(example.inputs.get(column, "")):
                words = f"has {passage!r}, which isn't in this input"
                yield Fault("quote_not_found", f"{at}.marked.{column}", words)


def _check_cells(instrument: Instrument, example: Example, at: str) -> Iterator[Fault]:
    """Check what an example says of its inputs, and in the columns of its outputs."""
    inputs = {column.name: column for column in instrument.item.inputs}
    own_columns = {column.name: column for column in instrument.item.output_columns}
    parts: tuple[tuple[str, Mapping[str, Any], Mapping[str, Column]], ...] = (
        ("inputs", example.inputs, inputs),
        ("columns", example.columns, own_columns),
    )
    for part, cells, declared in parts:
        for name in cells.keys() - declared.keys():
            yield Fault("unknown_column", f"{at}.{part}.{name}", "isn't declared")
        for name, column in declared.items():
            if column.required and name not in cells:
                yield Fault("missing_key", f"{at}.{part}.{name}", "is required")
    for name, value in example.inputs.items():
        if name in inputs:
            yield from _check_input(value, inputs[name].kind, f"{at}.inputs.{name}")
    for name, listed in example.columns.items():
        place, count = f"{at}.columns.{name}", len(example.outputs)
        if len(listed) != count:
            words = f"must have {count} entries, and has {len(listed)}"
            yield Fault("length", place, words)
        for number, cell in enumerate(listed):
            lines = cell if isinstance(cell, list) else [cell]
            if not lines:
                yield Fault("length", f"{place}.{number}", "must have at least 1 entry")
            for line in lines:
                yield from _check_text(line, "text", f"{place}.{number}")


def _check_input(value: Any, kind: str, at: str) -> Iterator[Fault]:
    """Check what an example shows of an input; only conversations and tables need words."""
    if kind in _STRUCTURED:
        yield from _check_text(value, kind, at)
    elif kind == "whole number" and type(value) is int:
        if abs(value) > LARGEST_NUMBER:
            words = f"must be from {-LARGEST_NUMBER} to {LARGEST_NUMBER}"
            yield Fault("out_of_range", at, words)
    elif not isinstance(value, str):
        words = "a whole number or text" if kind == "whole number" else "text"
        yield Fault("type", at, f"must be {words}")


def _check_text(value: Any, kind: str, at: str) -> Iterator[Fault]:
    """Check a text, or a conversation or a table, which may be given as a list."""
    if not isinstance(value, list) or kind not in _STRUCTURED:
        if not isinstance(value, str):
            yield Fault("type", at, "must be text")
        elif not value.strip():
            yield Fault("empty_text", at, "must not be empty")
        return
    if not value:
        yield Fault("empty_text", at, "must not be empty")
    for number, record in enumerate(value):
        if not isinstance(record, dict):
            yield Fault("type", f"{at}.{number}", "must be an object")
            continue
        for key in ("content", "role") if kind == "conversation" else ():
            if key not in record:
                yield Fault("missing_key", f"{at}.{number}.{key}", "is required")


class Asked(NamedTuple):
    """A question that an example answers, and how many turns of it are asked about."""

    criterion: Criterion
    example: Example
    is_gold: bool
    turns: int | None


def _check_answer(asked: Asked, answer: Any, at: str) -> Iterator[Fault]:
    """Check the answer to a question: of the item, or a list with one for each output."""
    criterion, count = asked.criterion, len(asked.example.outputs)
    is_of_all = asked.is_gold and criterion.scale.gold_of_all
    if criterion.per == "item" or is_of_all:
        yield from _check_value(asked, answer, at, count)
        return
    if not isinstance(answer, list) or len(answer) != count:
        code = "bad_gold" if asked.is_gold and criterion.per != "turn" else "length"
        yield Fault(code, at, f"must be a list of {count} entries, one for each output")
        return
    for number, value in enumerate(answer):
        place = f"{at}.{number}"
        if criterion.per != "turn":
            yield from _check_value(asked, value, at if asked.is_gold else place, 1)
        elif asked.turns is not None:
            yield from _check_by_turn(asked, value, place)


def _check_by_turn(asked: Asked, answers: Any, at: str) -> Iterator[Fault]:
    """Check the answers to the turns of a conversation; null: that turn wasn't asked."""
    if not isinstance(answers, list) or len(answers) != asked.turns:
        yield Fault("length", at, f"must be a list of {asked.turns} entries, one for each turn")
        return
    for number, answer in enumerate(answers):
        if answer is not None:
            yield from _check_value(asked, answer, f"{at}.{number}", 1)


def _check_value(asked: Asked, value: Any, at: str, outputs: int) -> Iterator[Fault]:
    scale = asked.criterion.scale
    if asked.is_gold:
        if not scale.is_gold(value, outputs):
            yield Fault("bad_gold", at, "isn't a right answer on this scale")
        return
    if value == NA and scale.has_na:
        return
    if not scale.is_answer(value, outputs):
        yield Fault("unknown_answer", at, "isn't an answer on this scale")
        return
    texts = [
        shown
        for text in (*asked.example.outputs, *asked.example.inputs.values())
        for shown in split_turns(json.dumps(text) if isinstance(text, list) else str(text)).values()
    ]
    for quote in scale.list_quotes(value):
        if not any(quote in text for text in texts):
            words = f"has {quote!r}, which isn't in the texts of this item"
            yield Fault("quote_not_found", at, words)


def _count_turns(
    instrument: Instrument, example: Example, at: str
) -> tuple[dict[str, int], list[Fault]]:
    """Count the turns that each criterion asks about; the faults say where it can't ask any."""
    counts: dict[str, int] = {}
    faults: list[Fault] = []
    if len(example.outputs) != 1:
        return counts, faults
    for criterion in instrument.criteria:
        if criterion.turns is None:
            continue
        column = criterion.turns.marked_by
        part = "columns" if column in example.columns else "inputs"
        cell = example.inputs.get(column, "")
        if part == "columns" and example.columns[column]:
            cell = example.columns[column][0]
        text = example.outputs[0]
        text = text if isinstance(text, str) else json.dumps(text)
        turns = read_turns(text) or []
        rated = criterion.turns.list_of_roles(text)
        marked = read_numbers(cell)
        if not rated or count_parts(turns) > MOST_PARTS or len(marked or rated) > MOST_TURNS:
            words = "must be a conversation with turns of these roles, and not too many"
            faults.append(Fault("no_turns", f"{at}.outputs.0", words))
        elif marked is None or set(marked) - set(rated):
            words = "must name turns of these roles by their numbers"
            faults.append(Fault("no_turns", f"{at}.{part}.{column}", words))
        else:
            counts[criterion.key] = len(set(marked) or rated)
    return counts, faults


def _check_translations(instrument: Instrument) -> Iterator[Fault]:
    known = list_texts(instrument.to_data()) if instrument.translations else {}
    for language, texts in instrument.translations.items():
        at = f"translations.{language}"
        try:
            check_language(language)
            is_other = language != instrument.language
        except ValueError:
            is_other = False
        if not is_other:
            yield Fault("bad_language", at, "must be the tag of another language")
        for address in texts.keys() - known.keys():
            words = "names no text of the instrument"
            yield Fault("unknown_address", f"{at}.{address}", words)


# --- what this version can't ask yet ----------------------------------------------


def find_not_yet(instrument: Instrument) -> Faults:
    """Find what is valid, but has no page yet."""
    faults = Faults()
    for criterion in instrument.criteria:
        at = f"criteria.{criterion.key}.scale"
        if not criterion.scale.has_page:
            faults.add(NOT_YET, f"{at}.kind", "can't be asked by this version yet")
    return faults
