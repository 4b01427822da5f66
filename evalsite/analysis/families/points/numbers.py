"""Figures of scores on points: means, the use of the points, ordinal agreement."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.agreement import describe_ratings, split
from evalsite.analysis.alpha import alpha
from evalsite.analysis.describe import Described, describe_standardised
from evalsite.analysis.families.numbers import Ends, find_scale
from evalsite.analysis.families.points import POINTS
from evalsite.analysis.families.scored import Others, ScoredNumbers
from evalsite.analysis.figure import Figure
from evalsite.analysis.gwet import gwet, percent_agreement
from evalsite.analysis.icc import icc
from evalsite.analysis.kappa import kappa_matrix
from evalsite.analysis.ranks import pairwise_correlation
from evalsite.analysis.simulated_ratings import Design, Floats, Parts, draw_latent
from evalsite.analysis.table import Table

_OTHERS = ("median", "top_box", "bottom_box")
_AVERAGES = ("trimmed_mean", "mode_share")
_MOST_RATERS_SHOWN = 40


class PointsNumbers(ScoredNumbers):
    """Points lie equally far apart: their means and differences are compared."""

    family = POINTS
    change = ("mean_abs_change", "Mean change")

    def find_ends(self, described: Mapping[str, Any]) -> Ends | None:
        """Return the first and last point, or the ends of a scale without labelled points."""
        ends = described.get("minimum"), described.get("maximum")
        if not described["answers"] and None not in ends:
            return float(ends[0]), float(ends[1])  # type: ignore[arg-type]
        return super().find_ends(described)

    def list_answers(
        self, table: Table, key: str, scale: list[float] | None
    ) -> list[dict[str, Any]]:
        points = find_points(table, key, scale)
        return [{"value": point, "label": f"{point:g}"} for point in points]

    def describe_others(
        self, table: Table, known: dict[str, Any], described: dict[str, Described], seed: int
    ) -> Others:
        own = {} if table.rater is None else describe_standardised(seed=seed, **known)
        return {
            name: (
                [one.figures[key] for key in _OTHERS if key in one.figures],
                [
                    *(one.figures[key] for key in _AVERAGES if key in one.figures),
                    *(own[name][key] for key in ("mean_centred", "mean_z") if name in own),
                ],
            )
            for name, one in described.items()
        }

    def agree(self, table: Table, scale: list[float] | None, seed: int) -> list[Figure]:
        """Return agreement, the ordinal coefficients first."""
        known = describe_ratings(table, table.rows.value)
        points = scale or sorted(table.rows.value.unique())
        return [
            alpha(level="ordinal", name="alpha_ordinal", **known),
            gwet(scale=points, weights="quadratic", name="ac2", **known),
            percent_agreement(name="percent_agreement", **known),
            percent_agreement(within=1, name="within_1", **known),
            *icc(seed=seed, **known).values(),
            *split(known),
            pairwise_correlation(kind="spearman", name="pairwise_spearman", seed=seed, **known),
            pairwise_correlation(kind="kendall", name="pairwise_tau_b", seed=seed, **known),
            alpha(level="interval", name="alpha_interval", **known),
        ]

    def compare_raters(self, table: Table) -> dict[str, Any] | None:
        """Return the weighted kappas of all pairs of raters, as a square."""
        rows = table.rows
        found = kappa_matrix(unit=rows.output, rater=table.rater, value=rows.value)
        raters = sorted(found.raters)
        if not 2 <= len(raters) <= _MOST_RATERS_SHOWN or not len(found.kappa):
            return None
        square = pd.DataFrame(np.nan, index=raters, columns=raters)
        for one, two, kappa in zip(found.first, found.second, found.kappa, strict=True):
            names = found.raters[one], found.raters[two]
            square.loc[names] = square.loc[names[::-1]] = kappa
        values = [
            [None if np.isnan(cell) else float(cell) for cell in row] for row in square.to_numpy()
        ]
        return {"raters": raters, "values": values}

    def find_low(self, tables: Sequence[Table], described: Mapping[str, Any]) -> float:
        """Return the lowest point, as the files tell it or else the criterion."""
        scales = [scale[0] for scale in map(find_scale, tables) if scale]
        ends = self.find_ends(described)
        return min(scales) if scales else ends[0] if ends else 0.0

    def simulate(
        self, rng: np.random.Generator, design: Design, parts: Parts, difference: float, rows: int,
        points: int, tie_share: float, systems: int = 2,
    ) -> Floats:  # fmt: skip
        value = draw_latent(rng, design, parts, difference, rows, systems) + (points + 1) / 2
        return np.clip(np.rint(value), 1, points)


NUMBERS = PointsNumbers()


_MOST_POINTS = 11  # if the scale isn't known
_MOST_POINTS_ASKED_FOR = 101  # such as 0-100


def find_points(table: Table, key: str, scale: list[float] | None) -> list[float]:
    """The points of a scale: as the file says, else as asked for, else as far as values reach."""
    rows = table.rows
    values = rows.value.dropna().to_numpy()
    if not len(values):
        return scale or []
    low, high = rows.scale_min.min(), rows.scale_max.max()
    is_known = True
    if np.isfinite(low) and np.isfinite(high):
        pass
    elif scale is not None:
        low, high = scale[0], scale[-1]
    else:
        is_known = False
        low, high = values.min(), values.max()
    _check_points(key, values, low, high, is_known=is_known)
    return [float(point) for point in np.arange(low, high + 1)]


def _check_points(key: str, values: Any, low: float, high: float, *, is_known: bool) -> None:
    """ValueError, with what to do, where values are no points from low to high."""
    most = _MOST_POINTS_ASKED_FOR if is_known else _MOST_POINTS
    if is_known and high - low >= most:
        raise ValueError(
            f"The scale of {key} has more than {most} points. Say --protocol magnitude if its "
            "values are magnitudes."
        )
    if (values != np.round(values)).any() or high - low >= most:
        other = "" if is_known else ", or give the --scale they are of, such as 1-100"
        raise ValueError(
            f"The values of {key} are no points of a scale. Say --protocol magnitude{other}."
        )
    if (values < low).any() or (values > high).any():
        raise ValueError(
            f"The values of {key} go from {values.min():g} to {values.max():g}: they are no "
            f"points of a scale from {low:g} to {high:g}. Give the --scale they are of."
        )
