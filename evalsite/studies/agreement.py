"""Whether an answer agrees with the gold of its item, from plain values: for files and counts."""

from collections.abc import Mapping, Sequence

from evalsite.protocol import Protocol
from evalsite.studies.gold import feedback, find_gold

# an output's id and the name of its system; no name: the system gave none, as in practice
Named = tuple[int, str | None]
# a rating by its criterion and its output; no output: a tie
Given = Mapping[tuple[str, int | None], int]


def agrees_with_gold(
    config: Protocol,
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
        rows = {pk: value for (key, pk), value in given.items() if key == criterion.key}
        values = criterion.scale.read_values(rows, [pk for pk, _ in outputs])
        answered = [value for value in values if value is not None]
        if len(answered) < len(values):
            return None
        found += feedback(criterion, gold[criterion.key], answered, standard, names, systems)
    return all(one.is_met for one in found) if found else None
