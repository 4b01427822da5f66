"""What a gold says of an answer, in sentences for the participant who gave it."""

import re
from collections.abc import Callable, Sequence

from evalsite.protocol import Criterion, Decision
from evalsite.studies.gold_notation import Parts, Relation

_COMMON_NAME = re.compile(r"[A-Z][a-z]+( [a-z]+)*( [0-9]+)?")
# longer labels of points would not fit into a sentence
_SHORT_LABEL = 32

# for each thing asked, whether it is met and the sentence
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


SPEAKERS: dict[str, Callable[..., Said]] = {
    "likert": _say_points,
    "decision": _say_points,
    "preference": _say_preferred,
    "magnitude": _say_relations,
}
