"""Gold: the right answers of practice and gold items, and what is said of an answer by them.

An empty gold is neither asked nor scored. How golds are written: gold_notation.py.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError

from evalsite.protocol import Criterion, Magnitude, Preference, ProtocolConfig
from evalsite.studies.gold_notation import parse_gold, scores_that_meet
from evalsite.studies.gold_words import SPEAKERS


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """What one part of a gold says of an answer: whether it is met, and a sentence to show."""

    criterion: str
    is_met: bool
    sentence: str


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
        parse_gold(criterion, text, outputs)
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
    said = SPEAKERS[criterion.scale.kind](
        criterion,
        parse_gold(criterion, gold, systems or output_names),
        values,
        standard,
        output_names,
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
    parsed: Any = parse_gold(criterion, gold, outputs)
    match criterion.scale:
        case Preference():
            return [parsed]
        case Magnitude():
            return scores_that_meet(parsed, len(outputs), standard or 100)
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
