"""The notation of gold columns, read: what is right of each output, or in which order.

The notation follows the scale of the criterion:

- Likert: a point ("5") or a range of points ("4..6"). With several outputs one part for each
  output, in the order uploaded, parted by commas; an empty part asks nothing ("5, , 1..2").
- Decision: the protocol's own word for yes or no ("accept"), in parts as above.
- Preference: the name of a system, the number of an output, or "tie".
- Magnitude: order only, never scores: "1<2, 1<standard, 2=3"; a chain ("1<2<3") is as good.

Numbers are those of the outputs as uploaded, from 1, wherever a page may show them.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.core.exceptions import ValidationError

from evalsite.protocol import Criterion, Decision, Likert, Magnitude, Preference

STANDARD = "standard"
TIE = "tie"
_LONGEST_SAID = 60

_RANGE = re.compile(r"(-?[0-9]{1,9})(?:\s*\.\.\s*(-?[0-9]{1,9}))?")
# the space around it is taken off after: with it here, a cell full of spaces would take hours
_RELATION = re.compile(r"([<>=])")


@dataclass(frozen=True)
class Relation:
    """Two things compared: the lower and the higher, or two equals; 0 is the standard."""

    low: int
    high: int
    is_equal: bool = False

    def is_met(self, scores: Sequence[int]) -> bool:
        low, high = scores[self.low], scores[self.high]
        return low == high if self.is_equal else low < high


# For each output the values that are right, or None where nothing is asked.
Parts = list[range | None]


def parse_gold(
    criterion: Criterion, text: str, outputs: Sequence[str]
) -> Parts | list[Relation] | int:
    """What this text says is right, in the form of its scale; ValidationError if it says nothing.

    `outputs` names the system of each output, in the order uploaded.
    """
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


def scores_that_meet(
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
