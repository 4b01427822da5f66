"""What the preferences of single raters show: the place that they prefer, and circles of three.

A rater prefers one place whatever stands there if their decided answers fall on it more often than
chance lets fall them; outputs are put on places at random.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from evalsite.analysis.binary_tests import wilson_share
from evalsite.analysis.figure import Figure
from evalsite.analysis.flags import Flag
from evalsite.analysis.pair_checks import circular_triads
from evalsite.analysis.thresholds import START
from evalsite.analysis.tie_use import UNLIKELY

LEAST_TRIPLES = 20  # of a rater; fewer say little, as for other shares
_LEAST_RATERS = 5
Looked = dict[str, tuple[Figure, Flag | None]]


def count_chosen_places(*, rater: ArrayLike, outcome: ArrayLike, first: ArrayLike) -> Looked:
    """Of each rater by name how often they prefer the first place, of decided answers.

    Arrays of length n; `outcome` is 0 for a tie, `first` the outcome that means the first place,
    -1 or 1. Who has no decided answer is left out. Flagged below one chance in a thousand.
    """
    rows = pd.DataFrame(
        {"rater": np.asarray(rater).astype(str), "outcome": np.asarray(outcome, dtype=float)}
    )
    rows["is_first"] = rows.outcome == np.asarray(first, dtype=float)
    by = rows[rows.outcome != 0].groupby("rater").is_first.agg(["sum", "count"])
    found: Looked = {}
    for name, own, count in zip(by.index, by["sum"], by["count"], strict=True):
        figure = wilson_share(int(own), int(count), name="share_of_first_place")
        found[str(name)] = figure, _find_side(figure, int(own), int(count))
    return found


def _find_side(figure: Figure, own: int, count: int) -> Flag | None:
    if stats.binomtest(own, count).pvalue >= UNLIKELY:
        return None
    is_first = 2 * own > count
    place = "first" if is_first else "second"
    # the line as a share: the most that is still likely; flagged beyond it
    most = int(stats.binom.isf(UNLIKELY / 2, count, 0.5))
    line = (most if is_first else count - most) / count
    text = f"Prefers the {place} place whatever stands there, of {count:,} decided answers"
    return Flag(code="one_place", text=text, figure=figure, threshold=line, limits=())


def count_circles(
    *, rater: ArrayLike, unit: ArrayLike, first: ArrayLike, second: ArrayLike, outcome: ArrayLike
) -> Looked:  # fmt: skip
    """Of each rater by name the share of answered triples that go in a circle: A over B, B over C,
    C over A. Who answered none is left out.

    Arrays of length n: `unit`, what the answers of a circle have in common; the systems; the
    outcome, -1 where the first is preferred, 0 for a tie, 1 for the second. Flagged above 95 % of
    raters, of those with 20 triples, if there are five; a study cannot set that.
    """
    systems, codes = np.unique(
        np.concatenate([np.asarray(first).astype(str), np.asarray(second).astype(str)]),
        return_inverse=True,
    )
    rows = pd.DataFrame({"rater": np.asarray(rater).astype(str), "unit": np.asarray(unit)})
    rows["first"], rows["second"] = np.split(codes, 2)
    rows["outcome"] = -np.asarray(outcome, dtype=float)
    figures = {}
    for name, own in rows.groupby("rater"):
        figure = circular_triads(
            pd.factorize(own.unit)[0], own["first"].to_numpy(), own["second"].to_numpy(),
            own.outcome.to_numpy(), len(systems),
        )  # fmt: skip
        if figure.value is not None:
            figures[str(name)] = figure
    return _flag_circles(figures)


def _flag_circles(figures: dict[str, Figure]) -> Looked:
    enough = [one.value for one in figures.values() if one.n["triples"] >= LEAST_TRIPLES]
    found: Looked = {name: (figure, None) for name, figure in figures.items()}
    if len(enough) < _LEAST_RATERS:
        return found
    line = float(np.quantile([value or 0.0 for value in enough], START.change_quantile))
    for name, figure in figures.items():
        if figure.n["triples"] >= LEAST_TRIPLES and (figure.value or 0.0) > line:
            text = f"Goes in circles: {figure.n['circular']:,} of {figure.n['triples']:,} triples"
            flag = Flag(code="circles", text=text, figure=figure, threshold=line, limits=())
            found[name] = figure, flag
    return found
