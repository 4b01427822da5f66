"""Descriptions of the ratings of each system: distributions, means, medians, shares.

Intervals are the bootstrap over items and raters (over items where raters are unknown), all from
the same draws: each draw gives a distribution for each system, and every figure follows from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evalsite.analysis.binary_tests import wilson_share
from evalsite.analysis.bootstrap import drawn_figure, draws_for, two_way_means, two_way_sums
from evalsite.analysis.canonical_order import Floats, canonical_rows
from evalsite.analysis.figure import Figure
from evalsite.analysis.resample import SEED

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
    *, rater: ArrayLike | None, group: ArrayLike, system: ArrayLike, value: ArrayLike,
    scale: Sequence[float] | None = None, ends: tuple[float, float] | None = None,
    draws: int | None = None, seed: int = SEED,
) -> list[Described]:  # fmt: skip
    """Return for each system by name: mean, sd, median, trimmed mean, share of the mode, and, of a
    scale, the share of every point, of the top point and, from three points on, of the lowest two.
    Without a scale: quartiles, and the shares at the `ends`, if any.

    Arrays of length n, one row for each rating; `group` is the item factor (or its cluster).
    Without a scale and with more than 15 distinct values only the mean has an interval.
    ValueError: a value is not on the scale.
    """
    rows, (items, systems, raters) = _order(rater, group, system, value)
    names = _name(system, rows, systems)
    values = np.asarray(value, dtype=np.float64)[rows]
    points = np.unique(values) if scale is None else np.asarray(sorted(scale), dtype=np.float64)
    place = np.minimum(np.searchsorted(points, values), len(points) - 1)
    if not np.array_equal(points[place], values):
        raise ValueError("A value is not on the scale.")
    if not len(values):
        return []
    draws = draws_for(len(values)) if draws is None else draws
    counted = np.zeros((len(names), len(points)))
    np.add.at(counted, (systems, place), 1)
    if len(points) > _MOST_POINTS:
        _, means = two_way_means(raters, items, systems, values, draws=draws, seed=seed)
        drawn = None
    else:
        drawn = _draw(raters, items, systems, place, counted.shape, draws, seed)
        means = drawn @ points
    shares_at_ends = {}
    bounds = ends if ends and scale is None else ()
    for label, end in zip(("share_at_low", "share_at_high"), bounds, strict=False):
        at_end = values == end
        _, drawn_end = two_way_means(
            raters, items, systems, at_end.astype(np.float64), draws=draws, seed=seed
        )
        shares_at_ends[label] = at_end, drawn_end
    described = []
    for index, name in enumerate(names):
        mine = systems == index
        n = {"ratings": int(mine.sum()), "items": len(np.unique(items[mine]))}
        if raters is not None:
            n["raters"] = len(np.unique(raters[mine]))
        make = _FigureMaker(n=n, seed=seed, over_raters=raters is not None)
        figures = _describe_distribution(
            make, points, counted[index], None if drawn is None else drawn[:, index],
            means[:, index], has_scale=scale is not None,
        )  # fmt: skip
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
    over_raters: bool

    def figure(self, name: str, value: float, drawn: Floats, **details: Any) -> Figure:
        return drawn_figure(name, value, drawn, n=self.n, seed=self.seed,
                            over_raters=self.over_raters, details=details)  # fmt: skip

    def bare(self, name: str, value: float, method: str) -> Figure:
        details = {"interval": "many_values"}
        return Figure(name=name, method=method, value=value, n=self.n, details=details)


def _describe_distribution(
    make: _FigureMaker, points: Floats, counted: Floats, drawn: Floats | None, means: Floats, *,
    has_scale: bool,
) -> dict[str, Figure]:  # fmt: skip
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
    if has_scale:
        for at, point in enumerate(points):
            figures[f"share_{point:g}"] = _share(make, f"share_{point:g}", counted, drawn, [at])
        figures |= _boxes(make, counted, drawn)
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


def _boxes(make: _FigureMaker, counted: Floats, drawn: Floats) -> dict[str, Figure]:
    """Return the shares of the top point and of the lowest two, where the scale has more points
    than these: the shares of all points would always be 1."""
    last = len(counted) - 1
    boxes = {"top_box": [last]} if last > 0 else {}
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


def find_trimmed(share: Floats, points: Floats, trim: float = TRIM) -> Floats:
    """Return the mean of each row of shares without the outermost `trim` on either side."""
    total = np.cumsum(share, axis=1)
    kept = np.clip(total, trim, 1 - trim) - np.clip(total - share, trim, 1 - trim)
    return (kept @ points) / (1 - 2 * trim)


def _draw(
    raters: Any, items: Any, systems: Any, place: Any, shape: tuple[int, int], draws: int, seed: int
) -> Floats:
    """Return each system's distribution in each draw (draws, systems, points); NaN: not drawn."""
    cells = np.zeros((len(place), shape[0] * shape[1]))
    cells[np.arange(len(place)), systems * shape[1] + place] = 1
    sums = two_way_sums(raters, items, cells, draws=draws, seed=seed).reshape(-1, *shape)
    total = sums.sum(axis=2, keepdims=True)
    return np.where(total > 0, sums / np.where(total > 0, total, 1), np.nan)


def _order(
    rater: ArrayLike | None, group: ArrayLike, system: ArrayLike, value: ArrayLike
) -> tuple[Any, tuple[Any, Any, Any]]:
    """Return rows in an order independent of names, and codes of items, systems and raters."""
    factors = [group, system] + ([] if rater is None else [rater])
    rows, codes = canonical_rows(value, *(np.asarray(factor) for factor in factors))
    return rows, (codes[0], codes[1], None if rater is None else codes[2])


def _name(system: ArrayLike, rows: Any, codes: Any) -> list[str]:
    names = np.asarray(system).astype(str)[rows]
    first = np.unique(codes, return_index=True)[1]
    return [str(name) for name in names[first]]


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


def describe_standardised(
    *, rater: ArrayLike, group: ArrayLike, system: ArrayLike, value: ArrayLike,
    draws: int | None = None, seed: int = SEED,
) -> dict[str, dict[str, Figure]]:  # fmt: skip
    """Return for each system the means of z scores within raters, and of rater-centred ratings with
    the grand mean added back.

    Ratings are standardised once, before anything is drawn; `details["imbalance"]` says how much
    raters' mixes of systems differ (see `find_imbalance`). Arguments as for `describe_systems`.
    """
    standardised = standardise(rater=rater, value=value)
    imbalance = find_imbalance(rater=rater, system=system)
    grand = float(np.mean(np.asarray(value, dtype=float))) if len(standardised) else 0.0
    by_system: dict[str, dict[str, Figure]] = {}
    centred = standardised.centred + grand
    for name, column in (("mean_z", standardised.z), ("mean_centred", centred)):
        rows, (items, systems, raters) = _order(rater, group, system, np.round(column, 10))
        if not len(rows):
            return by_system
        names = _name(system, rows, systems)
        values = column.to_numpy()[rows]
        number = draws_for(len(values)) if draws is None else draws
        means, drawn = two_way_means(raters, items, systems, values, draws=number, seed=seed)
        flat = standardised.is_centred_only.to_numpy()[rows]
        for index, system_name in enumerate(names):
            mine = systems == index
            n = {"ratings": int(mine.sum()), "items": len(np.unique(items[mine])),
                 "raters": len(np.unique(raters[mine]))}  # fmt: skip
            details = {"centred_only": int(flat[mine].sum()), "imbalance": imbalance}
            by_system.setdefault(system_name, {})[name] = drawn_figure(
                name, float(means[index]), drawn[:, index], n=n, seed=seed, details=details
            )
    return {system_name: by_system[system_name] for system_name in sorted(by_system)}
