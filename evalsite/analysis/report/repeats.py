"""The part of a report on raters who saw the same thing twice: do they agree with themselves?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalsite.analysis.families import find_family, get_numbers
from evalsite.analysis.figure import Figure
from evalsite.analysis.intra_rater import find_passes
from evalsite.analysis.table import Table


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
        figures = get_numbers(find_family(described)).compare_repeats(mine, seed)
        found += [
            replace(figure, name=f"{described['label']}: {name.replace('_', ' ')}")
            for name, figure in figures.items()
        ]
    return found
