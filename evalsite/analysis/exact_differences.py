"""Differences of two systems that are the same in every rating: exact, so there is no interval."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalsite.analysis.scores import Scores

Floats = NDArray[np.float64]

LEAST_RATERS = 3
LEAST_INPUTS = 10
_NO_SPREAD = 1e-4  # of the standard deviation of values: all that is left is rounding


@dataclass(frozen=True, kw_only=True)
class ExactDifference:
    """Second minus first, as every rater sees it on every input (`constant`), or 0 where all
    ratings are equal (`all_equal`). `raters` is 0 where they are unknown."""

    code: Literal["constant", "all_equal"]
    value: float
    raters: int
    inputs: int

    @property
    def is_enough(self) -> bool:
        """Whether so many raters and inputs can decide without an interval."""
        return self.raters >= LEAST_RATERS and self.inputs >= LEAST_INPUTS

    def to_dict(self) -> Mapping[str, object]:
        return {"code": self.code, "raters": self.raters, "inputs": self.inputs}


def find_exact_scores(data: Scores, first: int, second: int) -> ExactDifference | None:
    """Return the difference of two systems' scores, if every rater rated both on every input with
    the same difference; None if it varies, or a rater lacks one of them."""
    pair = data.take((data.system == first) | (data.system == second))
    is_second = pair.system == second
    if is_second.all() or not is_second.any():
        return None
    who = np.zeros(len(pair.value), dtype=np.int64) if pair.rater is None else pair.rater
    if np.ptp(pair.value) == 0:
        sides = [(who[side], pair.group[side]) for side in (is_second, ~is_second)]
        raters, inputs = (min(len(np.unique(side[at])) for side in sides) for at in (0, 1))
        return ExactDifference(
            code="all_equal", value=0.0, raters=0 if pair.rater is None else raters, inputs=inputs
        )
    rows = pd.DataFrame({"rater": who, "group": pair.group, "second": is_second})
    cells = rows.assign(value=pair.value).groupby(["rater", "group", "second"]).value
    apart = cells.mean().unstack()
    least = _NO_SPREAD * float(pair.value.std())
    if apart.isna().any(axis=None) or (cells.max() - cells.min()).max() > least:
        return None
    difference = (apart[True] - apart[False]).to_numpy(dtype=np.float64)
    if float(difference.std()) > least:
        return None
    return ExactDifference(
        code="constant",
        value=float(np.round(difference.mean(), 9)),
        raters=pair.raters or 0,
        inputs=int(pair.group.max()) + 1,
    )


def find_exact_outcomes(outcome: Floats, *, raters: int, inputs: int) -> ExactDifference | None:
    """Return the net share of a pair if every answer is the same; None if answers vary."""
    if not len(outcome) or np.ptp(outcome) > 0:
        return None
    return ExactDifference(code="constant", value=float(outcome[0]), raters=raters, inputs=inputs)
