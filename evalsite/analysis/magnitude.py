"""Magnitudes are ratios: logarithms of value over standard, geometric means, and ranks.

Sources: Bard, Robertson & Sorace (1996); Novikova, Dusek & Rieser (2018). That ratios of such
ratings mean ratios of quality is assumed, not shown; so ranks are always shown too.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evalsite.analysis.describe import average_systems, standardise
from evalsite.analysis.direction import SIGN, Better
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.ratings import Floats, Ratings
from evalsite.analysis.resample import SEED

SLIP = 5.0  # a value so many times above or below the page's median may be a slip (700 for 70)
_DIGITS = 12
_ROUNDING = 1e-9  # 20 beside 100 is five times below, not more


def log_ratio(value: ArrayLike, standard: ArrayLike | None) -> Floats:
    """Return ln(value / standard), of length n; without a standard ln(value).

    ValueError: a value or a standard is not above 0.
    """
    values = np.asarray(value, dtype=np.float64)
    below = np.ones(1) if standard is None else np.asarray(standard, dtype=np.float64)
    if not (values > 0).all() or not (below > 0).all():
        raise ValueError("Magnitudes and their standard must be above 0.")
    return np.asarray(np.log(values / below))


def find_slips(*, page: ArrayLike, logs: ArrayLike, rater: ArrayLike | None = None) -> Any:
    """Return which ratings (n,) are more than SLIP times above or below the median of their page.

    `page`: what one rater saw together; `logs`: logarithms; the median as for `winsorise`.
    """
    apart = np.asarray(logs, dtype=float) - _middle(page, logs, rater)
    return np.abs(apart) > np.log(SLIP) + _ROUNDING


def winsorise(*, page: ArrayLike, logs: ArrayLike, rater: ArrayLike | None = None) -> Floats:
    """Return the logarithms, limited to a distance of ln(SLIP) from the median of their page.

    On a page of two a slip would move the median too, so there the median of all ratings of that
    `rater` is used, where raters are known.
    """
    middle = _middle(page, logs, rater)
    return np.clip(np.asarray(logs, dtype=float), middle - np.log(SLIP), middle + np.log(SLIP))


def _middle(page: ArrayLike, logs: ArrayLike, rater: ArrayLike | None) -> Floats:
    ratings = pd.DataFrame({"page": np.asarray(page), "log": np.asarray(logs, dtype=float)})
    by_page = ratings.groupby("page").log
    middle = by_page.transform("median")
    if rater is not None:
        of_rater = ratings.log.groupby(np.asarray(rater)).transform("median")
        middle = middle.where(by_page.transform("size") > 2, of_rater)
    return middle.to_numpy()


def rank_pages(*, page: ArrayLike, value: ArrayLike) -> pd.DataFrame:
    """Return for each rating its `rank` within its page (1 is best, ties at their mean) and `best`,
    its share in being the best (ties share equally)."""
    ratings = pd.DataFrame({"page": np.asarray(page), "value": np.asarray(value, dtype=float)})
    by = ratings.groupby("page").value
    top = ratings.value == by.transform("max")
    number = top.groupby(ratings.page).transform("sum")
    return pd.DataFrame({"rank": by.rank(ascending=False), "best": top / number})


def find_standards(rows: pd.DataFrame) -> pd.Series | None:
    """Return the standard of each rating; None if any has none."""
    return None if rows.standard.isna().any() else rows.standard


def describe_magnitudes(
    ratings: Ratings, standard: ArrayLike | None = None, *, better: Better = "higher",
    seed: int = SEED,
) -> dict[str, dict[str, Figure]]:  # fmt: skip
    """Return for each system by name: geometric mean of value (`geo_mean`) and of value over
    standard (`geo_mean_ratio`), the same rater-centred and winsorised, mean z score of the
    logarithm within raters, mean rank and share best within the page (unless neither high nor low
    values are better), and the arithmetic mean for contrast.

    A page is what one rater saw of a block. Means are over ratings; intervals are the bootstrap
    over blocks and raters. Figures that need raters are left out where these are unknown.
    ValueError as for `log_ratio`.
    """
    values, rater = ratings.value, ratings.rater
    if not values.size:
        return {}
    logs = log_ratio(values, standard)
    unit = float(np.exp(np.mean(np.log(values) - logs)))  # the standard, where there is one
    columns: dict[str, tuple[Floats, bool]] = {
        "geo_mean": (np.log(values), True),
        "geo_mean_ratio": (logs, True),
    }
    if rater is not None:
        standardised = standardise(rater=rater, value=logs)
        columns["geo_mean_ratio_rater_centred"] = (
            standardised.centred.to_numpy() + logs.mean(),
            True,
        )
        columns["mean_log_z"] = (standardised.z.to_numpy(), False)
        both = pd.DataFrame({"rater": rater, "block": ratings.get("block")})
        page = both.groupby(["rater", "block"]).ngroup().to_numpy()
        columns["geo_mean_winsorised"] = (
            winsorise(page=page, logs=np.log(values), rater=rater),
            True,
        )
        if better != "none":
            ranks = rank_pages(page=page, value=SIGN[better] * values)
            columns["mean_rank"] = (ranks["rank"].to_numpy(), False)
            columns["share_best"] = (ranks["best"].to_numpy(), False)
    columns["arithmetic_mean"] = (values, False)
    by_system: dict[str, dict[str, Figure]] = {}
    for name, (column, is_log) in columns.items():
        details = {"transform": "ln", "standard": unit} if is_log else {}
        figures = average_systems(
            name, replace(ratings, value=column), digits=_DIGITS, seed=seed, is_log=is_log
        )
        for system, figure in figures.items():
            of_system = by_system.setdefault(system, {})
            of_system[name] = replace(figure, details={**details, **figure.details})
    return {system: by_system[system] for system in sorted(by_system)}


def describe_magnitude_use(
    ratings: Ratings, standard: ArrayLike | None = None
) -> dict[str, dict[str, Figure]]:
    """Return for each rater by name how they use magnitudes: geo_mean, sd_log (n - 1), share_of_5s
    and share_of_10s (multiples), ratio (largest over smallest), and share_of_standard.

    Values are above 0. Undefined: too_few (sd_log of one rating).
    """
    rows = pd.DataFrame({"rater": ratings.get("rater").astype(str), "value": ratings.value})
    rows["standard"] = np.nan if standard is None else np.asarray(standard, dtype=float)
    return {str(name): _use(of_rater) for name, of_rater in rows.groupby("rater")}


def _use(rows: pd.DataFrame) -> dict[str, Figure]:
    values = np.sort(rows.value.to_numpy())
    logs, n = np.log(values), {"ratings": len(values)}
    measures = {
        "geo_mean": (float(np.exp(logs.mean())), "geometric_mean_of_values"),
        "share_of_5s": (float((values % 5 == 0).mean()), "share_of_5s"),
        "share_of_10s": (float((values % 10 == 0).mean()), "share_of_10s"),
        "ratio": (float(values[-1] / values[0]), "largest_over_smallest"),
    }
    if rows.standard.notna().any():
        equal = float((rows.value == rows.standard).mean())
        measures["share_of_standard"] = (equal, "share_of_standard")
    method = "sd_of_logs"
    if len(values) > 1:
        measures["sd_log"] = (float(logs.std(ddof=1)), method)
    details = {"interval": "describes_behaviour"}
    figures = {name: Figure(name=name, method=way, value=value, n=n, details=details)
               for name, (value, way) in measures.items()}  # fmt: skip
    if len(values) < 2:
        figures["sd_log"] = undefined("sd_log", Reason.TOO_FEW, method=method, n=n)
    return figures
