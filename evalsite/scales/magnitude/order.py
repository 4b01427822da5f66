"""Gold of magnitudes: the order of outputs and the standard, never scores.

"1<2, 1<standard, 2=3"; a chain ("1<2<3") is as good. Numbers are those of the outputs as uploaded,
from 1, wherever a page may show them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.core.exceptions import ValidationError

from evalsite.scales.points import quote

STANDARD = "standard"
_COMMON_NAME = re.compile(r"[A-Z][a-z]+( [a-z]+)*( [0-9]+)?")
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


def parse_relations(text: str, outputs: int) -> list[Relation]:
    relations = [
        relation
        for part in text.split(",")
        if part.strip()
        for relation in _parse_chain(part.strip(), outputs)
    ]
    if not relations:
        raise ValidationError(f"{quote(text)} compares nothing. Write it like 1<2, 2=3.")
    if not _find_levels(relations):
        raise ValidationError(
            f"{quote(text)} contradicts itself: no scores can meet all of it. Take out a part."
        )
    return relations


def _parse_chain(part: str, outputs: int) -> list[Relation]:
    steps = [step.strip() for step in _RELATION.split(part)]
    if len(steps) == 1:
        raise ValidationError(
            f"{quote(part)} compares nothing. Write which output is lower, or that two are equal, "
            "like 1<2 or 2=3."
        )
    names = [_parse_side(name, part, outputs) for name in steps[::2]]
    relations = []
    for left, sign, right in zip(names, steps[1::2], names[1:], strict=False):
        if left == right:
            raise ValidationError(f"{quote(part)} compares an output with itself.")
        low, high = (right, left) if sign == ">" else (left, right)
        relations.append(Relation(low, high, is_equal=sign == "="))
    return relations


def _parse_side(name: str, part: str, outputs: int) -> int:
    if name.casefold() == STANDARD:
        return 0
    numbers = {str(number): number for number in range(1, outputs + 1)}
    if name not in numbers:
        raise ValidationError(
            f"{quote(part)} names {quote(name)}, which is no output of this item. Use the "
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


def judge_relation(
    relation: Relation, scores: Sequence[int], names: Sequence[str]
) -> tuple[bool, str]:
    """Tell whether scores meet the relation, and say so; both begin with the standard."""
    is_met = relation.is_met(scores)
    return is_met, _describe_relation(relation, names, is_met=is_met)


def _describe_relation(relation: Relation, names: Sequence[str], *, is_met: bool) -> str:
    low, high = names[relation.low], names[relation.high]
    if relation.is_equal:
        verb = "have the same score, as they should." if is_met else "should have the same score."
        return f"{_join_names(low, high)} {verb}"
    if relation.low == 0:  # of an utterance and the standard, the utterance is spoken of
        verb = "is higher than {}, as it should be." if is_met else "should be higher than {}."
        return f"{high} " + verb.format(_in_sentence(low))
    verb = "is lower than {}, as it should be." if is_met else "should be lower than {}."
    return f"{low} " + verb.format(_in_sentence(high))


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
