"""The part of a report on raters who saw the same thing twice: do they agree with themselves?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalsite.analysis.figure import Figure
from evalsite.analysis.intra import POOLED, compare_passes, compare_swapped, find_passes
from evalsite.analysis.table import Table

_LEVELS = {"likert": "ordinal", "magnitude": "ratio", "decision": "nominal"}


def report_repeats(
    given: Table, instrument: Sequence[Mapping[str, Any]], seed: int
) -> list[Figure] | None:
    """Both passes of all raters compared, by criterion; None where nothing was shown twice.

    `given` holds the repeats, which never count in results.
    """
    passes = find_passes(given)
    if not len(passes):
        return None
    found: list[Figure] = []
    for described in instrument:
        mine = passes[passes.criterion == described["key"]]
        if not len(mine):
            continue
        if described["kind"] == "preference":
            sides = compare_swapped(
                first=mine["first"],
                second=mine["second"],
                first_left=mine.first_left,
                second_left=mine.second_left,
            )
            figures = {"same_outcome": sides.same_outcome, "same_side": sides.same_side}
        else:
            figures = compare_passes(
                rater=mine.participant,
                first=mine["first"],
                second=mine["second"],
                level=_LEVELS[described["kind"]],  # type: ignore[arg-type]
                seed=seed,
            )[POOLED]
        found += [
            replace(figure, name=f"{described['label']}: {name.replace('_', ' ')}")
            for name, figure in figures.items()
        ]
    return found
