"""Figures of magnitudes: geometric means and ratios, and what the order on a page shows."""

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.agreement import (
    Level,
    alpha,
    draw_agreement,
    find_reliability,
    icc,
    split_variance,
)
from evalsite.analysis.compare import PairComparison
from evalsite.analysis.correlation import kendall_w_of_sets, pairwise_correlation
from evalsite.analysis.describe import (
    Described,
    describe_magnitudes,
    find_slips,
    find_standards,
    log_ratio,
)
from evalsite.analysis.effects import sign_test
from evalsite.analysis.families import MAGNITUDE
from evalsite.analysis.families.numbers import (
    Design,
    Ends,
    FurtherFigures,
    ScoredNumbers,
    Truth,
    draw_latent,
    write_rank,
)
from evalsite.analysis.figure import Figure, leave_open
from evalsite.analysis.intervals import keep_detectable
from evalsite.analysis.plackett import rank_within_screens, read_rankings
from evalsite.analysis.plan import SIGN, Better
from evalsite.analysis.ratings import Floats, Table

_FURTHER = ("geo_mean_winsorised", "mean_rank", "share_best")
_MOST_LOG = log(1e6)  # scores have six digits at most: no true ratio is larger


class MagnitudeNumbers(ScoredNumbers):
    """Logarithms are analysed, so a difference is a ratio."""

    family = MAGNITUDE
    effect = "ratio"
    has_standardised_effect = False
    equal = 1.0
    repeat_level: Level = "ratio"
    repetition_level: Level = "interval"
    change = "sd_log_change"

    def compare_values(self, table: Table) -> Any:
        rows = table.rows
        if rows.standard.isna().any() or rows.standard.nunique() < 2:
            return rows.value
        # where standards differ between items, all scores move to the most frequent one
        return rows.value / rows.standard * float(rows.standard.mode()[0])

    def describe_others(
        self, table: Table, described: dict[str, Described], better: Better, seed: int
    ) -> FurtherFigures:
        rows = table.rows
        figures = describe_magnitudes(
            table.ratings(rows.value), find_standards(rows), better=better, seed=seed
        )
        return {
            name: (
                [*(of[key] for key in _FURTHER if key in of), described[name].figures["median"]],
                _list_centred(of),
            )
            for name, of in figures.items()
        }

    def check_pairs(
        self, pairs: Sequence[PairComparison], table: Table
    ) -> Sequence[PairComparison]:
        """Return the pairs with a sign test of the order within pages, which needs no ratios."""
        if table.rater is None:
            return pairs
        # a row for each page of a rater, with the score of each system
        screens = table.rows.pivot_table(
            index=["participant", "group"], columns="system", values="value", aggfunc="mean"
        )
        checked = []
        for pair in pairs:
            check = sign_test((screens[pair.second] - screens[pair.first]).dropna())
            order = "order_on_page"
            check = replace(check, method=f"{check.method}+{order}")
            check = leave_open(check, pair.difference)
            checked.append(replace(pair, checks=pair.checks | {"sign_within": check}))
        return checked

    def choose_effect(self, pair: PairComparison) -> Figure:
        return pair.ratio or pair.difference

    def find_bounds(self, ends: Ends | None) -> Ends:
        most = exp(_MOST_LOG)
        return 1 / most, most

    def keep_detectable(self, figure: Figure | None, most: float) -> Figure | None:
        figure = keep_detectable(figure, _MOST_LOG)
        if figure is None or figure.value is None:
            return figure
        low, high = (None if end is None else exp(end) for end in (figure.low, figure.high))
        return replace(figure, value=exp(figure.value), low=low, high=high)

    def agree(self, table: Table, scale: list[float] | None, seed: int) -> list[Figure]:
        """Return agreement on log scores, on raw ratios, and on the order within a page."""
        rows = table.rows
        raw, logs = table.ratings(rows.value), table.ratings(self.measure(table))
        # alpha takes the logarithms itself and notes that
        ratios = table.ratings(np.exp(logs.value))
        ranks = rows.groupby(["participant", "group"]).value.rank(ascending=False)
        draws = draw_agreement(logs, "values", is_log=True)
        first = alpha(ratios, "interval", transform="ln", draws=draws, name="alpha_log")
        of_ranks = alpha(table.ratings(ranks), "ordinal", name="alpha_ranks")
        transform = {"transform": "rank_on_page"}
        return [
            first,
            alpha(raw, "ratio", draws=draws, name="alpha_ratio"),
            find_reliability(first),
            replace(of_ranks, details={**of_ranks.details, **transform}),
            *icc(logs, transform="ln", draws=draws).values(),
            *split_variance(logs),
            kendall_w_of_sets(raw, seed=seed),
            pairwise_correlation(logs, "spearman", seed=seed),
        ]

    def find_standard(self, table: Table) -> float | None:
        """Return the score of the standard, if all ratings have the same one."""
        standards = table.rows.standard.dropna().unique()
        return float(standards[0]) if len(standards) == 1 else None

    def count_slips(self, table: Table) -> Figure | None:
        """Return how many scores are as far from the others on their page as slips would be."""
        if table.rater is None:
            return None
        rows = table.rows
        page = rows.groupby(["participant", "group"]).ngroup()
        slips = find_slips(page=page, logs=np.log(rows.value), rater=rows.participant)
        return Figure(
            name="slips",
            method="possible_slips",
            value=float(slips.sum()),
            n={"ratings": len(rows)},
            details={"interval": "count"},
        )

    def list_order(self, table: Table, better: Better, seed: int) -> list[dict[str, Any]]:
        """Return the ranking by the order within a page, the strongest system first.

        It needs no ratios. [] for one system, or without a direction.
        """
        rows = table.rows
        if rows.system.nunique() < 2 or better == "none":
            return []
        screens = read_rankings(table.ratings(SIGN[better] * rows.value))
        result = rank_within_screens(screens, seed=seed)
        tiers = {
            name: tier for tier, names in enumerate(result.clusters, start=1) for name in names
        }
        ranking = [
            {
                "system": system,
                "strength": replace(figure, name="order_strength"),
                "rank": write_rank(result.rank_ranges.get(system)),
                "tier": tiers.get(system),
                "left_out": result.left_out,
            }
            for system, figure in result.strengths.items()
        ]
        return sorted(ranking, key=lambda row: (-(row["strength"].value or 0), row["system"]))

    def measure(self, table: Table) -> Any:
        return log_ratio(table.rows.value, find_standards(table.rows))

    # --- a study compared with its replication

    def find_common_standard(self, first: Table, second: Table) -> float | None:
        """Return the most frequent standard of the first study, if standards differ."""
        standards = pd.concat([first.rows.standard, second.rows.standard])
        if standards.isna().any() or standards.nunique() < 2:
            return None
        return float(first.rows.standard.mode()[0])

    def take_values(self, table: Table, standard: float | None) -> tuple[pd.DataFrame, pd.Series]:
        rows = table.rows
        return rows, rows.value if standard is None else rows.value / rows.standard * standard

    # --- planned

    def simulate(self, rng: np.random.Generator, design: Design, truth: Truth, rows: int) -> Floats:
        return draw_latent(rng, design, truth, rows)


def _list_centred(of: dict[str, Figure]) -> list[Figure]:
    """Return a system's means without each rater's modulus, and without each rater's spread."""
    if "mean_log_z" not in of:
        return []
    centred = of["geo_mean_ratio_rater_centred"]
    # back on the scale that raters used
    unit = float(centred.details["standard"])
    value, low, high = (
        None if end is None else end * unit for end in (centred.value, centred.low, centred.high)
    )
    shown = replace(centred, name="geo_mean_centred", value=value, low=low, high=high)
    return [shown, of["mean_log_z"]]


NUMBERS = MagnitudeNumbers()
