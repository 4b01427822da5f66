"""The figures of a pair as a reader sees them: from one side, within what is possible; and the
difference that a study like this one finds in 8 of 10 cases, after correction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
from scipy import optimize, stats

from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined

_SHARES = frozenset(
    {
        "superiority", "win_share", "win_share_ties_half", "win_share_without_ties", "sign_test",
        "sign_test_of_majorities", "sign_within",
    }
)  # fmt: skip
_LOST = {"wins": "losses", "losses": "wins"}


def turn_figure(figure: Figure) -> Figure:
    """Return the figure from the side of the pair's other system.

    A ratio is inverted, a share becomes 1 minus the share, a sum of ranks that of the other sign;
    everything else changes its sign.
    """
    details = {
        key: -value if key in ("t", "z", "d") else value for key, value in figure.details.items()
    }
    for end, other in (("d_low", "d_high"), ("d_high", "d_low")):
        if (reached := figure.details.get(other)) is not None:
            details[end] = -reached

    def turn(value: float | None) -> float | None:
        if value is None:
            return None
        if figure.name in ("ratio", "ratio_of_geometric_means"):
            return 1 / value
        if figure.name in _SHARES:
            return 1 - value
        if figure.name == "wilcoxon":
            return float(figure.details.get("sum_of_ranks", 0.0)) - value
        return 0.0 - value

    return replace(
        figure,
        value=turn(figure.value),
        low=turn(figure.high),
        high=turn(figure.low),
        n={_LOST.get(unit, unit): number for unit, number in figure.n.items()},
        details=details,
    )


def keep_possible(figure: Figure, least: float, most: float) -> Figure:
    """Return the figure with an interval that holds only possible values.

    It is undefined if its value is impossible, as a model without ends can yield from few ratings.
    An end beyond `least` or `most` is cut there, which loses no possible value. An interval of all
    possible values, or of none, says nothing and is dropped as too_few.
    """
    slack = 1e-9 * max(1.0, abs(figure.value or 0.0))
    if figure.value is not None and not least - slack <= figure.value <= most + slack:
        return undefined(figure.name, Reason.TOO_FEW, method=figure.method, n=figure.n)
    if figure.low is None or figure.high is None:
        return figure
    if least <= figure.low and figure.high <= most:
        return figure
    details = dict(figure.details)
    is_all = figure.low <= least and most <= figure.high
    if is_all or figure.high <= least or most <= figure.low:
        details["interval"] = str(Reason.TOO_FEW)
        return replace(figure, low=None, high=None, details=details)
    details["interval"] = f"{details.get('interval', '')}+cut"
    return replace(figure, low=max(least, figure.low), high=min(most, figure.high), details=details)


def keep_detectable(figure: Figure | None, most: float) -> Figure | None:
    """Return the smallest difference that the design detects; too_few if it isn't possible."""
    if figure is None or figure.value is None:
        return figure
    if figure.value > most:
        return replace(figure, value=None, reason=Reason.TOO_FEW, low=None, high=None)
    high = None if figure.high is None else min(figure.high, most)
    return replace(figure, high=high)


# --- the difference that would be found --------------------------------------------------------

POWER = 0.8
_MOST_DF = 1e5  # beyond, the answer is the same to five digits
_METHOD = "detectable_difference"


def find_detectable(*, se: float, df: float, m: int) -> dict[str, float]:
    """Return `detectable`, se * ncp with P(T > t(1 - .05/(2m), df)) = .8 for a noncentral T with df
    and ncp; and `low` and `high`, its limits given the error of `se`, by the chi-square of df.

    A noncentral t is (Z + ncp) / S, with df S² a chi-square, so its chance is a mean over Z: of
    scipy, nct has no answer for the large shifts of few degrees of freedom.
    """
    df = min(df, _MOST_DF)
    edge = float(stats.t.isf((1 - LEVEL) / (2 * m), df))
    step = min(0.02, edge / sqrt(2 * df) / 8)
    z = np.arange(-9, 9 + step, step)
    weight = np.exp(-(z**2) / 2)
    weight /= weight.sum()

    def find_gap(ncp: float) -> float:
        chance = stats.chi2.cdf(df * (np.maximum(z + ncp, 0) / edge) ** 2, df)
        return float(weight @ chance) - POWER

    size = se * float(optimize.brentq(find_gap, 0, 20 * edge + 20, xtol=1e-9))
    low, high = (size * sqrt(df / float(stats.chi2.ppf(q, df))) for q in (0.975, 0.025))
    return {"detectable": size, "low": low, "high": high}


def describe_detectable(*, se: float, df: float, m: int, n: Mapping[str, int]) -> Figure:
    """Return the detectable difference as a figure, with what it rests on in its details."""
    sizes = find_detectable(se=se, df=df, m=m)
    details = {"power": POWER, "tests": m, "se": se, "df": df, "interval": "chi_square"}
    return Figure(
        name="detectable_difference", method=_METHOD, value=sizes["detectable"], low=sizes["low"],
        high=sizes["high"], n=n, details=details,
    )  # fmt: skip


def list_planned(pairs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the pairs that p values are corrected for, which a plan names or leaves open."""
    return [pair for pair in pairs if not pair["effect"].details.get("is_exploratory")]


def detect_in(pairs: Sequence[Mapping[str, Any]]) -> Figure | None:
    """Return what the study finds in the planned comparison with the largest standard error, as a
    test of its family; None where no error is known."""
    known: list[tuple[float, Mapping[str, Any]]] = [
        (pair["effect"].details["se"], pair)
        for pair in list_planned(pairs)
        if pair["effect"].details.get("se")
        and pair["effect"].details.get("df")
        # a pair that is compared on one input says nothing about others
        and "only" not in pair["effect"].details
    ]
    if not known:
        return None
    se, pair = max(known, key=lambda entry: entry[0])
    effect: Figure = pair["effect"]
    figure = describe_detectable(
        se=se, df=effect.details["df"], m=effect.details.get("family") or 1, n=effect.n
    )
    sides = {side: str(pair[side]) for side in ("system_1", "system_2")}
    return replace(figure, details={**figure.details, **sides})
