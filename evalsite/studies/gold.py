"""Gold: the right answers of practice and gold items, in the notation of gold columns.

An empty gold is neither asked nor scored. The notation follows the scale of the criterion:

- Likert: a point ("5") or a range of points ("4..6"). With several outputs one part for each
  output, in the order uploaded, parted by commas; an empty part asks nothing ("5, , 1..2").
- Decision: the protocol's own word for yes or no ("accept"), in parts as above.
- Preference: the name of a system, the number of an output, or "tie".
- Magnitude: order only, never scores: "1<2, 1<standard, 2=3"; a chain ("1<2<3") is as good.

Numbers are those of the outputs as uploaded, from 1, wherever a page may show them.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError

from evalsite.protocol import (
    Criterion,
    Decision,
    Likert,
    Magnitude,
    Preference,
    ProtocolConfig,
)

STANDARD = "standard"
TIE = "tie"
_LONGEST_SAID = 60

_RANGE = re.compile(r"(-?[0-9]{1,9})(?:\s*\.\.\s*(-?[0-9]{1,9}))?")
# the space around it is taken off after: with it here, a cell full of spaces would take hours
_RELATION = re.compile(r"([<>=])")
_COMMON_NAME = re.compile(r"[A-Z][a-z]+( [a-z]+)*( [0-9]+)?")
# longer labels of points would not fit into a sentence
_SHORT_LABEL = 32


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """What one part of a gold says of an answer: whether it is met, and a sentence to show."""

    criterion: str
    is_met: bool
    sentence: str


@dataclass(frozen=True)
class Relation:
    """Two things compared: the lower and the higher, or two equals; 0 is the standard."""

    low: int
    high: int
    is_equal: bool = False

    def is_met(self, scores: Sequence[int]) -> bool:
        low, high = scores[self.low], scores[self.high]
        return low == high if self.is_equal else low < high


# --- what the site asks ---------------------------------------------------------


def find_gold(config: ProtocolConfig, gold: Mapping[str, str]) -> tuple[Criterion, ...]:
    """The criteria of which this item's gold says something, in the protocol's order."""
    return tuple(one for one in config.criteria if gold.get(one.key, "").strip())


def asked_criteria(config: ProtocolConfig, gold: Mapping[str, str]) -> tuple[Criterion, ...]:
    """What practice asks of an item: what has gold, or everything where nothing has."""
    return find_gold(config, gold) or config.criteria


def check_gold(criterion: Criterion, text: str, outputs: Sequence[str]) -> None:
    """Raise ValidationError unless this text is a gold for an item of these systems' outputs.

    `outputs` names the system of each output, in the order uploaded.
    """
    if not text.strip():
        return
    try:
        _parse(criterion, text, outputs)
    except ValidationError as fault:
        column = f"gold_{criterion.key}"
        raise ValidationError(f"{column}: {fault.message}", code="gold") from None


def feedback(
    criterion: Criterion,
    gold: str,
    values: Sequence[int],
    standard: int | None,
    output_names: Sequence[str],
    systems: Sequence[str] = (),
) -> list[Feedback]:
    """What this gold says of these values, one entry for each thing it asks.

    All sequences are in the order uploaded. `values` holds one number for each output; for a
    preference it holds one number alone: the output preferred, from 1, or 0 for a tie.
    `output_names` are the labels as this participant saw them ("Utterance 2", "Response B").
    `systems` is needed only where the gold of a preference names one.
    """
    if not gold.strip():
        return []
    said = _speakers[criterion.scale.kind](
        criterion, _parse(criterion, gold, systems or output_names), values, standard, output_names
    )
    return [
        Feedback(
            criterion=criterion.label, is_met=is_met, sentence=sentence[:1].upper() + sentence[1:]
        )
        for is_met, sentence in said
    ]


def right_values(
    criterion: Criterion, gold: str, outputs: Sequence[str], standard: int | None
) -> list[int | None]:
    """Values that meet this gold, in the form of `feedback`; None where it asks nothing."""
    parsed: Any = _parse(criterion, gold, outputs)
    match criterion.scale:
        case Preference():
            return [parsed]
        case Magnitude():
            return _scores_that_meet(parsed, len(outputs), standard or 100)
    return [None if part is None else part[len(part) // 2] for part in parsed]


def count_asked(criterion: Criterion, gold: str, outputs: int, standard: int | None) -> int:
    """How many entries `feedback` has for an answer to this gold."""
    if isinstance(criterion.scale, Preference):
        return 1 if gold.strip() else 0
    return len(feedback(criterion, gold, [0] * outputs, standard, [""] * outputs))


def count_met(results: Iterable[Feedback]) -> tuple[int, int]:
    """How many of these were met, and how many were asked."""
    met = [result.is_met for result in results]
    return sum(met), len(met)


# --- reading the notation -------------------------------------------------------

# For each output the values that are right, or None where nothing is asked.
Parts = list[range | None]


def _parse(
    criterion: Criterion, text: str, outputs: Sequence[str]
) -> "Parts | list[Relation] | int":
    match criterion.scale:
        case Likert() as likert:
            return _parse_parts(text, len(outputs), lambda part: _parse_points(part, likert))
        case Decision() as decision:
            return _parse_parts(text, len(outputs), lambda part: _parse_word(part, decision))
        case Preference():
            return _parse_preferred(text, outputs)
        case Magnitude():
            return _parse_relations(text, len(outputs))


def _parse_parts(text: str, outputs: int, parse: Callable[[str], range]) -> Parts:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != outputs:
        raise ValidationError(
            f"{_quote(text)} has {len(parts)} of {outputs} right answers. Give one for each "
            "output in the order of the file, parted by commas; leave a place empty to ask nothing."
        )
    return [parse(part) if part else None for part in parts]


def _parse_points(part: str, scale: Likert) -> range:
    found = _RANGE.fullmatch(part)
    if not found:
        raise ValidationError(
            f"{_quote(part)} is not a point or a range of points. Write it like "
            f"{scale.maximum} or {scale.minimum}..{scale.maximum}."
        )
    low, high = int(found[1]), int(found[2] or found[1])
    known = {point.value for point in scale.points}
    if not {low, high} <= known:
        raise ValidationError(
            f"{_quote(part)} is outside the scale. "
            f"Use points from {scale.minimum} to {scale.maximum}."
        )
    if low > high:
        raise ValidationError(f"{_quote(part)} runs backwards. Write the lower point first.")
    return range(low, high + 1)


def _parse_word(part: str, scale: Decision) -> range:
    words = {scale.yes.casefold(): 1, scale.no.casefold(): 0}
    if part.casefold() not in words:
        raise ValidationError(
            f"{_quote(part)} is not an answer. Write {scale.yes.lower()} or {scale.no.lower()}."
        )
    value = words[part.casefold()]
    return range(value, value + 1)


def _parse_preferred(text: str, outputs: Sequence[str]) -> int:
    """The number of the output that should be preferred, from 1; 0 for a tie."""
    wanted = text.strip()
    if wanted in outputs:
        return list(outputs).index(wanted) + 1
    if wanted.casefold() == TIE:
        return 0
    numbers = {str(number): number for number in range(1, len(outputs) + 1)}
    if wanted not in numbers:
        raise ValidationError(
            f"{_quote(wanted)} is not a system of this item. Write the system's name as in the "
            f"file, or tie. The systems are: {', '.join(outputs)}."
        )
    return numbers[wanted]


def _parse_relations(text: str, outputs: int) -> list[Relation]:
    relations = [
        relation
        for part in text.split(",")
        if part.strip()
        for relation in _parse_chain(part.strip(), outputs)
    ]
    if not relations:
        raise ValidationError(f"{_quote(text)} compares nothing. Write it like 1<2, 2=3.")
    if not _find_levels(relations):
        raise ValidationError(
            f"{_quote(text)} contradicts itself: no scores can meet all of it. Take out a part."
        )
    return relations


def _parse_chain(part: str, outputs: int) -> list[Relation]:
    steps = [step.strip() for step in _RELATION.split(part)]
    if len(steps) == 1:
        raise ValidationError(
            f"{_quote(part)} compares nothing. Write which output is lower, or that two are equal, "
            "like 1<2 or 2=3."
        )
    names = [_parse_side(name, part, outputs) for name in steps[::2]]
    relations = []
    for left, sign, right in zip(names, steps[1::2], names[1:], strict=False):
        if left == right:
            raise ValidationError(f"{_quote(part)} compares an output with itself.")
        low, high = (right, left) if sign == ">" else (left, right)
        relations.append(Relation(low, high, is_equal=sign == "="))
    return relations


def _parse_side(name: str, part: str, outputs: int) -> int:
    if name.casefold() == STANDARD:
        return 0
    numbers = {str(number): number for number in range(1, outputs + 1)}
    if name not in numbers:
        raise ValidationError(
            f"{_quote(part)} names {_quote(name)}, which is no output of this item. Use the "
            f"numbers 1 to {outputs} and the word {STANDARD}: a magnitude has a right order, "
            "but no right score."
        )
    return numbers[name]


def _find_levels(relations: Sequence[Relation]) -> dict[int, int]:
    """Levels, by number of the output, that meet all relations; none if no scores can."""
    # pushed upwards until they come to rest
    nodes = {node for relation in relations for node in (relation.low, relation.high)}
    level = dict.fromkeys(nodes, 0)
    while max(level.values()) <= len(nodes):
        before = dict(level)
        for relation in relations:
            if relation.is_equal:
                level[relation.low] = max(level[relation.low], level[relation.high])
                level[relation.high] = level[relation.low]
            else:
                level[relation.high] = max(level[relation.high], level[relation.low] + 1)
        if level == before:
            return level
    return {}


def _scores_that_meet(
    relations: Sequence[Relation], outputs: int, standard: int
) -> list[int | None]:
    """A score for each output, one step of a quarter for each level above or below the standard."""
    levels = _find_levels(relations)
    middle = levels.get(0, 0)
    steps = [levels.get(number, middle) - middle for number in range(1, outputs + 1)]
    return [max(1, round(standard * 1.25**step)) for step in steps]


def _quote(text: str) -> str:
    """The words of a cell as a message says them, a long cell by its beginning."""
    said = text.strip()
    return f"“{said}”" if len(said) <= _LONGEST_SAID else f"“{said[:_LONGEST_SAID]}…”"


# --- saying it ------------------------------------------------------------------

Said = list[tuple[bool, str]]


def _say_points(
    criterion: Criterion,
    parts: Parts,
    values: Sequence[int],
    standard: int | None,
    output_names: Sequence[str],
) -> Said:
    said = []
    for right, value, name in zip(parts, values, output_names, strict=True):
        if right is None:
            continue
        words = [_say_value(criterion, point) for point in right]
        given = _say_given(criterion, value)
        verb = "chose" if isinstance(criterion.scale, Decision) else "gave"
        start = f"You {verb}" if len(parts) == 1 else f"{name}: you {verb}"
        if value in right:
            said.append((True, f"{start} {given}, as we suggest."))
        else:
            said.append((False, f"{start} {given}. We suggest {_say_range(words)}."))
    return said


def _say_preferred(
    criterion: Criterion,
    right: int,
    values: Sequence[int],
    standard: int | None,
    output_names: Sequence[str],
) -> Said:
    (value,) = values
    names = ["a tie", *output_names]
    if value == right:
        return [(True, f"You chose {names[value]}, as we suggest.")]
    return [(False, f"You chose {names[value]}. We suggest {names[right]}.")]


def _say_relations(
    criterion: Criterion,
    relations: Sequence[Relation],
    values: Sequence[int],
    standard: int | None,
    output_names: Sequence[str],
) -> Said:
    scores = [standard or 0, *values]
    names = ["The standard", *output_names]
    said = []
    for relation in relations:
        if standard is None and 0 in (relation.low, relation.high):
            continue  # nothing to compare with
        is_met = relation.is_met(scores)
        said.append((is_met, _say_relation(relation, names, is_met=is_met)))
    return said


def _say_relation(relation: Relation, names: Sequence[str], *, is_met: bool) -> str:
    low, high = names[relation.low], names[relation.high]
    if relation.is_equal:
        verb = "have the same score, as they should." if is_met else "should have the same score."
        return f"{_join_names(low, high)} {verb}"
    if relation.low == 0:  # of an utterance and the standard, the utterance is spoken of
        verb = "is higher than {}, as it should be." if is_met else "should be higher than {}."
        return f"{high} " + verb.format(_in_sentence(low))
    verb = "is lower than {}, as it should be." if is_met else "should be lower than {}."
    return f"{low} " + verb.format(_in_sentence(high))


def _say_value(criterion: Criterion, value: int) -> str:
    if isinstance(criterion.scale, Decision):
        return criterion.scale.label_of(value)
    return str(value)


def _say_given(criterion: Criterion, value: int) -> str:
    """The value with its label, where all labels of the scale are short enough to be read on."""
    points = getattr(criterion.scale, "points", ())
    if not points or any(len(point.label) > _SHORT_LABEL for point in points):
        return _say_value(criterion, value)
    return f"{value} ({criterion.scale.label_of(value)})"


def _say_range(words: Sequence[str]) -> str:
    if len(words) > 2:
        return f"{words[0]} to {words[-1]}"
    return " or ".join(words)


def _in_sentence(name: str) -> str:
    """The name in the middle of a sentence: "utterance 2", but "Response B" and "RESPONSE"."""
    return name[:1].lower() + name[1:] if _COMMON_NAME.fullmatch(name) else name


def _join_names(first: str, second: str) -> str:
    """Both names as the subject of a sentence, the lower number first."""
    stem, _, number = first.rpartition(" ")
    other_stem, _, other = second.rpartition(" ")
    if stem and stem == other_stem and number.isdecimal() and other.isdecimal():
        low, high = sorted((number, other), key=int)
        return f"{stem}s {low} and {high}"
    if first == "The standard":
        first, second = second, first
    return f"{first} and {_in_sentence(second)}"


_speakers: dict[str, Callable[..., Said]] = {
    "likert": _say_points,
    "decision": _say_points,
    "preference": _say_preferred,
    "magnitude": _say_relations,
}
