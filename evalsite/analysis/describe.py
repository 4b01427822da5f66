"""Descriptions of the ratings of each system: distributions, means, medians, shares, magnitudes.

Intervals are the bootstrap over items and raters (over items where raters are unknown), all from
the same draws: each draw gives a distribution for each system, and every figure follows from it.

Magnitudes are ratios: logarithms of value over standard, geometric means, and ranks. Sources:
Bard, Robertson & Sorace (1996); Novikova, Dusek & Rieser (2018). That ratios of such ratings mean
ratios of quality is assumed, not shown; so ranks are always shown too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evalsite.analysis.effects import wilson_share
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.intervals import SEED, drawn_figure, draws_for, two_way_means, two_way_sums
from evalsite.analysis.plan import SIGN, Better
from evalsite.analysis.ratings import Floats, Ratings, canonical_rows

LEAST_FOR_Z = 5  # ratings of a rater, for standardising them
TRIM = 0.1
_MOST_POINTS = 15


@dataclass(frozen=True, kw_only=True)
class Described:
    """The figures of one system by name, and how often each value was given."""

    system: str
    figures: dict[str, Figure]
    counts: dict[float, int]


def describe_systems(
    ratings: Ratings, *, scale: Sequence[float] | None = None,
    ends: tuple[float, float] | None = None, seed: int = SEED,
) -> list[Described]:  # fmt: skip
    """Return for each system by name: mean, sd, median, trimmed mean, share of the mode, and, of a
    scale, the share of every point, of the top point and, from three points on, of the lowest two.
    Without a scale: quartiles, and the shares at the `ends`, if any.

    Intervals draw raters and blocks. Without a scale and with more than 15 distinct values only the
    mean has an interval. ValueError: a value is not on the scale.
    """
    ordered, names = order_ratings(ratings)
    items, systems, raters = ordered.get("block"), ordered.get("system"), ordered.rater
    values = ordered.value
    points = np.unique(values) if scale is None else np.asarray(sorted(scale), dtype=np.float64)
    place = np.minimum(np.searchsorted(points, values), len(points) - 1)
    if not np.array_equal(points[place], values):
        raise ValueError("A value is not on the scale.")
    if not len(values):
        return []
    draws = draws_for(len(values))
    counted = np.zeros((len(names), len(points)))
    np.add.at(counted, (systems, place), 1)
    if len(points) > _MOST_POINTS:
        _, means = two_way_means(ordered, draws=draws, seed=seed)
        drawn = None
    else:
        drawn = _draw(ordered, place, counted.shape, draws=draws, seed=seed)
        means = drawn @ points
    shares_at_ends = {}
    bounds = ends if ends and scale is None else ()
    for label, end in zip(("share_at_low", "share_at_high"), bounds, strict=False):
        at_end = values == end
        _, drawn_end = two_way_means(replace(ordered, value=at_end), draws=draws, seed=seed)
        shares_at_ends[label] = at_end, drawn_end
    described = []
    for index, name in enumerate(names):
        mine = systems == index
        n = {"ratings": int(mine.sum()), "items": len(np.unique(items[mine]))}
        if raters is not None:
            n["raters"] = len(np.unique(raters[mine]))
        make = _FigureMaker(n=n, seed=seed)
        of_system = None if drawn is None else drawn[:, index]
        figures = _describe_distribution(make, points, counted[index], of_system, means[:, index])
        if scale is not None and of_system is not None:
            figures |= _describe_points(make, points, counted[index], of_system)
        if scale is None:
            figures |= _describe_quartiles(make, values[mine])
            for label, (at_end, drawn_end) in shares_at_ends.items():
                hits = np.array([(~at_end[mine]).sum(), at_end[mine].sum()])
                of_end = np.column_stack([1 - drawn_end[:, index], drawn_end[:, index]])
                figures[label] = _share(make, label, hits, of_end, [1])
        by_value = {float(point): int(number)
                    for point, number in zip(points, counted[index], strict=True)
                    if number or scale is not None}  # fmt: skip
        described.append(Described(system=name, figures=figures, counts=by_value))
    return sorted(described, key=lambda each: each.system)


@dataclass(frozen=True, kw_only=True)
class _FigureMaker:
    n: dict[str, int]
    seed: int

    def figure(self, name: str, value: float, drawn: Floats, **details: Any) -> Figure:
        figure = drawn_figure(name, value, drawn, n=self.n, seed=self.seed)
        return replace(figure, details={**details, **figure.details})

    def bare(self, name: str, value: float, method: str) -> Figure:
        details = {"interval": "many_values"}
        return Figure(name=name, method=method, value=value, n=self.n, details=details)


def _describe_distribution(
    make: _FigureMaker, points: Floats, counted: Floats, drawn: Floats | None, means: Floats
) -> dict[str, Figure]:
    total = counted.sum()
    share = counted / total
    squares = counted @ (points - counted @ points / total) ** 2
    sd = float(np.sqrt(squares / (total - 1))) if total > 1 else None
    figures = {"mean": make.figure("mean", float(share @ points), means, sd=sd)}
    median, trimmed = (float(f(share[None, :], points)[0]) for f in (find_median, find_trimmed))
    if drawn is None:
        figures["median"] = make.bare("median", median, "median")
        figures["trimmed_mean"] = make.bare("trimmed_mean", trimmed, "tenth_trimmed_mean")
        return figures
    figures["median"] = make.figure("median", median, find_median(drawn, points))
    figures["trimmed_mean"] = make.figure(
        "trimmed_mean", trimmed, find_trimmed(drawn, points), trim=TRIM
    )
    mode = int(np.argmax(share))
    figures["mode_share"] = make.figure(
        "mode_share", float(share[mode]), drawn[:, mode], mode=float(points[mode])
    )
    return figures


def _describe_quartiles(make: _FigureMaker, value: Floats) -> dict[str, Figure]:
    details = {"interval": "describes_ratings"}
    return {
        name: Figure(
            name=name,
            method=name,
            value=float(np.quantile(value, share)),
            n=make.n,
            details=details,
        )
        for name, share in (("first_quartile", 0.25), ("third_quartile", 0.75))
    }


def _describe_points(
    make: _FigureMaker, points: Floats, counted: Floats, drawn: Floats
) -> dict[str, Figure]:
    """Return the shares of every point, and of the top point and of the lowest two, where the scale
    has more points than these: the shares of all points would always be 1."""
    last = len(counted) - 1
    boxes = {f"share_{point:g}": [at] for at, point in enumerate(points)}
    boxes |= {"top_box": [last]} if last > 0 else {}
    boxes |= {"bottom_box": [0, 1]} if last > 1 else {}
    return {name: _share(make, name, counted, drawn, at) for name, at in boxes.items()}


def _share(make: _FigureMaker, name: str, counted: Floats, drawn: Floats, at: list[int]) -> Figure:
    """Return a share with its two-way interval, and Wilson's naive interval in the details."""
    hits, total = int(counted[at].sum()), int(counted.sum())
    naive = wilson_share(hits, total)
    if hits in (0, total):  # every draw has the same share, so draws say nothing about its error
        return replace(naive, name=name)
    return make.figure(
        name, hits / total, drawn[:, at].sum(axis=1), wilson_low=naive.low, wilson_high=naive.high
    )


def find_median(share: Floats, points: Floats) -> Floats:
    """Return the median of each row of shares (draws, points); points ascending. NaN stays NaN."""
    total = np.cumsum(share, axis=1)
    half = 0.5 * total[:, -1:]
    low = points[np.argmax(total >= half - 1e-9, axis=1)]
    high = points[np.argmax(total > half + 1e-9, axis=1)]
    return np.where(np.isnan(total[:, -1]), np.nan, (low + high) / 2)


def find_trimmed(share: Floats, points: Floats) -> Floats:
    """Return the mean of each row of shares without the outermost TRIM on either side."""
    total = np.cumsum(share, axis=1)
    kept = np.clip(total, TRIM, 1 - TRIM) - np.clip(total - share, TRIM, 1 - TRIM)
    return (kept @ points) / (1 - 2 * TRIM)


def _draw(ordered: Ratings, place: Any, shape: tuple[int, int], *, draws: int, seed: int) -> Floats:
    """Return each system's distribution in each draw (draws, systems, points); NaN: not drawn."""
    cells = np.zeros((len(place), shape[0] * shape[1]))
    cells[np.arange(len(place)), ordered.get("system") * shape[1] + place] = 1
    sums = two_way_sums(ordered.rater, ordered.block, cells, draws=draws, seed=seed)
    sums = sums.reshape(-1, *shape)
    total = sums.sum(axis=2, keepdims=True)
    return np.where(total > 0, sums / np.where(total > 0, total, 1), np.nan)


def order_ratings(ratings: Ratings, digits: int | None = None) -> tuple[Ratings, list[str]]:
    """Return the ratings in an order independent of names, with codes of blocks, systems and
    raters, and the names of the systems by code. `digits`: rounds the values that decide the
    order."""
    value, system = ratings.value, ratings.get("system")
    factors = [ratings.get("block"), system]
    factors += [] if ratings.rater is None else [ratings.rater]
    rows, codes = canonical_rows(value if digits is None else np.round(value, digits), *factors)
    rater = None if ratings.rater is None else codes[2]
    first = np.unique(codes[1], return_index=True)[1]
    names = [str(name) for name in system.astype(str)[rows][first]]
    return Ratings(value=value[rows], block=codes[0], system=codes[1], rater=rater), names


def standardise(*, rater: ArrayLike, value: ArrayLike) -> pd.DataFrame:
    """Return each rating on its rater's own scale: columns `centred`, `z` and `is_centred_only`.

    z is the value less the rater's mean, over the rater's sd (n - 1). A rater with fewer than 5
    ratings or without variation is centred only, and marked. It assumes that all raters saw a
    similar mix of systems.
    """
    ratings = pd.DataFrame({"rater": np.asarray(rater), "value": np.asarray(value, dtype=float)})
    by = ratings.groupby("rater").value
    mean, sd, number = by.transform("mean"), by.transform("std"), by.transform("count")
    centred = ratings.value - mean
    flat = (number < LEAST_FOR_Z) | ~(sd > 1e-12)
    z = centred / sd.where(~flat, 1.0)
    return pd.DataFrame({"centred": centred, "z": z, "is_centred_only": flat})


def find_imbalance(*, rater: ArrayLike, system: ArrayLike) -> float:
    """Return how far a rater's mix of systems is from the overall mix, at most: the largest
    difference of two shares, 0 to 1. At 0 all raters saw the systems equally often, as
    standardising assumes."""
    table = pd.crosstab(np.asarray(rater), np.asarray(system)).to_numpy(dtype=float)
    if not table.size:
        return 0.0
    shares = table / table.sum(axis=1, keepdims=True)
    return float(np.abs(shares - table.sum(axis=0) / table.sum()).max())


def describe_standardised(ratings: Ratings, *, seed: int = SEED) -> dict[str, dict[str, Figure]]:
    """Return for each system the means of z scores within raters, and of rater-centred ratings with
    the grand mean added back.

    Ratings are standardised once, before anything is drawn; `details["imbalance"]` says how much
    raters' mixes of systems differ (see `find_imbalance`).
    """
    rater, system = ratings.get("rater"), ratings.get("system")
    standardised = standardise(rater=rater, value=ratings.value)
    imbalance = find_imbalance(rater=rater, system=system)
    grand = float(np.mean(ratings.value)) if len(ratings) else 0.0
    flat = standardised.is_centred_only.groupby(system.astype(str)).sum()
    by_system: dict[str, dict[str, Figure]] = {name: {} for name in flat.index}
    centred = standardised.centred + grand
    for name, column in (("mean_z", standardised.z), ("mean_centred", centred)):
        figures = average_systems(name, replace(ratings, value=column), digits=10, seed=seed)
        for system_name, figure in figures.items():
            details = {"centred_only": int(flat[system_name]), "imbalance": imbalance}
            details |= figure.details
            by_system[system_name][name] = replace(figure, details=details)
    return by_system


def average_systems(
    name: str, ratings: Ratings, *, digits: int, seed: int, is_log: bool = False
) -> dict[str, Figure]:
    """Return the mean of each system, exponentiated if values are logarithms. `digits`: to which
    values are rounded when the order of rows is found."""
    if not len(ratings):
        return {}
    ordered, names = order_ratings(ratings, digits)
    items, systems, raters = ordered.get("block"), ordered.get("system"), ordered.rater
    means, drawn = two_way_means(ordered, draws=draws_for(len(ratings)), seed=seed)
    if is_log:
        means, drawn = np.exp(means), np.exp(drawn)
    figures = {}
    for place, system in enumerate(names):
        mine = systems == place
        n = {"ratings": int(mine.sum()), "items": len(np.unique(items[mine]))}
        if raters is not None:
            n["raters"] = len(np.unique(raters[mine]))
        figures[system] = drawn_figure(name, float(means[place]), drawn[:, place], n=n, seed=seed)
    return figures


# --- magnitudes

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
