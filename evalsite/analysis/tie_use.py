"""Raters who never say that two outputs are equal, or always do, beside what others say."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evalsite.analysis.binary_tests import wilson_share
from evalsite.analysis.figure import Figure
from evalsite.analysis.flags import Flag

# below this chance, by the ties of all others, getting only ties, or none, isn't luck
UNLIKELY = 0.001


def check_tie_use(*, rater: ArrayLike, outcome: ArrayLike) -> dict[str, tuple[Figure, Flag | None]]:
    """Of each rater by name the share of ties, flagged where all answers or none are ties though
    that is unlikely by the share of the others.

    Arrays of length n; an outcome of 0 is a tie.
    """
    rows = pd.DataFrame(
        {"rater": np.asarray(rater).astype(str), "tie": np.asarray(outcome, dtype=float) == 0}
    )
    by = rows.groupby("rater").tie.agg(["sum", "count"])
    ties, number = int(by["sum"].sum()), int(by["count"].sum())
    found = {}
    for name, own, count in zip(by.index, by["sum"], by["count"], strict=True):
        figure = wilson_share(int(own), int(count), name="tie_share")
        others = number - int(count)
        share = (ties - int(own)) / others if others else None
        found[str(name)] = figure, _find_flag(figure, int(own), int(count), share)
    return found


def _find_flag(figure: Figure, ties: int, count: int, others: float | None) -> Flag | None:
    """`others`: the share of ties among the answers of all others; None: there are none."""
    if others is None or 0 < ties < count:
        return None
    chance = others**count if ties else (1 - others) ** count
    if chance >= UNLIKELY:
        return None
    how = f"of {count:,} answers, where the others say so of {others:.0%}".replace("%", " %")
    word = "always_ties" if ties else "never_ties"
    text = f"Says “equal” of all {how}" if ties else f"Never says “equal”, {how}"
    # the figure reaches its line only at the end: all answers, or none
    return Flag(code=word, text=text, figure=figure, threshold=float(ties > 0), limits=())
