"""Whether an answer agrees with the gold of its item, from plain values: for files and counts."""

from collections.abc import Mapping, Sequence

from evalsite.protocol import Criterion, Preference, ProtocolConfig
from evalsite.studies.gold import feedback, find_gold

# an output's id and the name of its system; no name: the system gave none, as in practice
Named = tuple[int, str | None]
# a rating by its criterion and its output; no output: a tie
Given = Mapping[tuple[str, int | None], int]


def agrees_with_gold(
    config: ProtocolConfig,
    gold: Mapping[str, str],
    outputs: Sequence[Named],
    given: Given,
    standard: int | None,
) -> bool | None:
    """Whether all that this gold asks is met; None: it asks nothing, or something has no answer.

    `outputs` are in the order uploaded.
    """
    names = [str(number) for number in range(1, len(outputs) + 1)]
    systems = [system for _, system in outputs if system]
    found = []
    for criterion in find_gold(config, gold):
        values = _values_as_uploaded(criterion, outputs, given)
        if values is None:
            return None
        found += feedback(criterion, gold[criterion.key], values, standard, names, systems)
    return all(one.is_met for one in found) if found else None


def _values_as_uploaded(
    criterion: Criterion, outputs: Sequence[Named], given: Given
) -> list[int] | None:
    """The values in the form that gold compares: by output, or which output is preferred."""
    ids = [pk for pk, _ in outputs]
    if isinstance(criterion.scale, Preference):
        if (criterion.key, None) in given:
            return [0]
        return next(
            ([n] for n, pk in enumerate(ids, start=1) if (criterion.key, pk) in given), None
        )
    values = [given.get((criterion.key, pk)) for pk in ids]
    return None if None in values else [value for value in values if value is not None]
