"""Figures of scores on points: means, the use of the points, ordinal agreement."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.agreement import (
    alpha,
    draw_agreement,
    find_reliability,
    gwet,
    icc,
    kappa_matrix,
    percent_agreement,
    split_variance,
)
from evalsite.analysis.correlation import pairwise_correlation
from evalsite.analysis.describe import Described, describe_standardised
from evalsite.analysis.families import POINTS
from evalsite.analysis.families.numbers import (
    Design,
    Ends,
    FurtherFigures,
    ScoredNumbers,
    Truth,
    draw_latent,
    find_scale,
)
from evalsite.analysis.figure import Figure
from evalsite.analysis.plan import Better
from evalsite.analysis.ratings import Floats, Table

_FURTHER = ("median", "first_quartile", "third_quartile", "share_at_low", "share_at_high",
           "top_box", "bottom_box")  # fmt: skip
_BINS = 10
_ROUND = (1.0, 2.0, 5.0, 10.0)
_AVERAGES = ("trimmed_mean", "mode_share")
_STANDARDISED = ("mean_centred", "mean_z")
_MOST_RATERS_SHOWN = 40


class PointsNumbers(ScoredNumbers):
    """Points are equally far apart, so means and differences are compared."""

    family = POINTS
    change = "mean_abs_change"

    def find_ends(self, criterion: Mapping[str, Any]) -> Ends | None:
        """Return the first and last point, or the ends of a scale without labelled points."""
        ends = criterion.get("minimum"), criterion.get("maximum")
        if not criterion["answers"] and None not in ends:
            return float(ends[0]), float(ends[1])  # type: ignore[arg-type]
        return super().find_ends(criterion)

    def count_in_bins(self, table: Table, ends: Ends | None) -> dict[str, Any] | None:
        """Return the histogram of each system, in tenths of the scale, or of the range of values as
        far as round numbers allow."""
        rows = table.rows
        edges = np.linspace(*ends, _BINS + 1) if ends else _find_edges(rows.value.to_numpy())
        return {
            "edges": [float(edge) for edge in edges],
            "counts": {
                str(system): [int(count) for count in np.histogram(value, edges)[0]]
                for system, value in rows.groupby("system").value
            },
        }

    def describe_others(
        self, table: Table, described: dict[str, Described], better: Better, seed: int
    ) -> FurtherFigures:
        standardised = {}
        if table.rater is not None:
            standardised = describe_standardised(table.ratings(table.rows.value), seed=seed)
        return {
            name: (
                [system.figures[key] for key in _FURTHER if key in system.figures],
                [
                    *(system.figures[key] for key in _AVERAGES if key in system.figures),
                    *(standardised[name][key] for key in _STANDARDISED if name in standardised),
                ],
            )
            for name, system in described.items()
        }

    def agree(self, table: Table, scale: list[float] | None, seed: int) -> list[Figure]:
        """Return agreement: for points, ordinal coefficients first; for numbers, only coefficients
        that use distances."""
        ratings = table.ratings(table.rows.value)
        draws = draw_agreement(ratings, "points" if scale else "values", scale=scale)
        of_distances = alpha(ratings, "interval", draws=draws, name="alpha_interval")
        variance = [
            *icc(ratings, draws=draws).values(),
            *split_variance(ratings),
            pairwise_correlation(ratings, "spearman", seed=seed),
            pairwise_correlation(ratings, "kendall", seed=seed),
        ]
        if scale is None:
            return [of_distances, find_reliability(of_distances), *variance]
        first = alpha(ratings, "ordinal", draws=draws, name="alpha_ordinal")
        return [
            first,
            gwet(ratings, scale=scale, weights="quadratic", draws=draws, name="ac2"),
            percent_agreement(ratings, draws=draws),
            percent_agreement(ratings, within=1, draws=draws, name="within_1"),
            find_reliability(first),
            *variance,
            of_distances,
        ]

    def compare_raters(self, table: Table) -> dict[str, Any] | None:
        """Return the weighted kappas of all pairs of raters, as a square."""
        kappas = kappa_matrix(table.ratings(table.rows.value))
        raters = sorted(kappas.raters)
        if not 2 <= len(raters) <= _MOST_RATERS_SHOWN or not len(kappas.kappa):
            return None
        square = pd.DataFrame(np.nan, index=raters, columns=raters)
        for first, second, kappa in zip(kappas.first, kappas.second, kappas.kappa, strict=True):
            names = kappas.raters[first], kappas.raters[second]
            square.loc[names] = square.loc[names[::-1]] = kappa
        values = [
            [None if np.isnan(cell) else float(cell) for cell in row] for row in square.to_numpy()
        ]
        return {"raters": raters, "values": values}

    def find_low(self, tables: Sequence[Table], criterion: Mapping[str, Any]) -> float:
        """Return the lowest point, from the files or else from the criterion."""
        scales = [scale[0] for scale in map(find_scale, tables) if scale]
        ends = self.find_ends(criterion)
        return min(scales) if scales else ends[0] if ends else 0.0

    def simulate(self, rng: np.random.Generator, design: Design, truth: Truth, rows: int) -> Floats:
        value = draw_latent(rng, design, truth, rows) + (truth.points + 1) / 2
        return np.clip(np.rint(value), 1, truth.points)


NUMBERS = PointsNumbers()


def _find_edges(value: Floats) -> Floats:
    """Return the edges of about ten bins whose width is a round number."""
    low, high = float(value.min()), float(value.max())
    width = (high - low) / _BINS
    if not width:
        return np.array([low - 0.5, low + 0.5])
    power = 10.0 ** np.floor(np.log10(width))
    step = next(power * factor for factor in _ROUND if power * factor >= width * (1 - 1e-9))
    first, last = np.floor(low / step), np.ceil(high / step)
    # the highest value is in the last bin
    return np.round(np.arange(first, max(last, first + 1) + 1) * step, 10)
