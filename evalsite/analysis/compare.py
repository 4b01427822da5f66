"""Comparing systems on one criterion: the method that the design allows, the same for every pair.

Every rater with every item under both systems: the crossed test. Gaps: a mixed model (REML) with
raters, groups, group:system, rater:system and, where a rater has several outputs of a group,
rater:group. Too many random effects, or no convergence: the bootstrap over items and raters. One
rater, or raters unknown: a t test over items, which says nothing about other raters. A system with
one input or one rater is not compared, save over raters on one input that both share; nor are
systems whose difference the ratings do not determine (see `identify`).

With a baseline only the pairs that hold it are tested, so the family that p values are corrected
for is smaller. Rank ranges rest on simultaneous intervals of all differences and on the p values
of all pairs, corrected together, not on that family, and stay; clusters rest on the corrected p
values alone, and there are none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import exp
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalsite.analysis.bootstrap import drawn_figure, draws_for, two_way_means
from evalsite.analysis.clusters import find_clusters, max_t, rank_ranges, simultaneous_reach
from evalsite.analysis.crossed import crossed_test
from evalsite.analysis.effects import DRAWS as EFFECT_DRAWS
from evalsite.analysis.effects import effect_figures, rounded
from evalsite.analysis.figure import LEVEL, Figure, leave_open
from evalsite.analysis.incomplete_pairs import WithGaps
from evalsite.analysis.intervals import (
    TINY,
    Units,
    describe_equal_differences,
    detectable_figure,
    has_no_spread,
    t_figure,
)
from evalsite.analysis.mixed import Mixed, fit_mixed
from evalsite.analysis.multiple_testing import Correction, correct
from evalsite.analysis.one_sample import METHOD_RATERS, mean_test
from evalsite.analysis.rank_tests import friedman, sign_flip_test, wilcoxon_pratt
from evalsite.analysis.reml import METHOD as REML
from evalsite.analysis.resample import SEED
from evalsite.analysis.scores import (
    Scores,
    design_cautions,
    difference_grid,
    find_thin,
    item_means,
)

MANY_PAIRS = 1000

Floats = NDArray[np.float64]
Pairs = list[tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class PairComparison:
    """One pair, second minus first (of logarithms for magnitudes, with `ratio` beside).

    `difference` has the interval, p, standard error and degrees of freedom; `low_all`, `high_all`
    bound it in all pairs at once, tested or not; `detectable` is the smallest true difference that
    this design finds; `checks` are tests that see less of the design. `effects`: {} where there
    are more than MANY_PAIRS pairs.
    """

    first: str
    second: str
    difference: Figure
    p_corrected: float | None
    low_all: float | None
    high_all: float | None
    ratio: Figure | None
    detectable: Figure | None
    effects: dict[str, Figure]
    checks: dict[str, Figure]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All pairs of one criterion (or all against the baseline), means, rank ranges, clusters.

    `model` tells of the mixed model, where one was fitted: variances, terms left out and why,
    terms at 0. `family` is how many tests the correction counts. `thin`: the systems of one input
    or rater, of several, which have no ranks; with some there is no test of all systems.
    """

    systems: dict[str, Figure]
    pairs: list[PairComparison]
    correction: str
    family: int
    baseline: str | None
    cautions: list[str]
    rank_ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    clusters: list[list[str]] = field(default_factory=list)
    overall: Figure | None = None
    model: dict[str, Any] = field(default_factory=dict)
    thin: list[str] = field(default_factory=list)


def compare_systems(
    data: Scores,
    *,
    baseline: str | None = None,
    correction: Correction = "holm",
    seed: int = SEED,
    draws: int | None = None,
    mixed: Mixed | None = None,
) -> Comparison:
    """Every pair of systems, or every system against `baseline`, by the method that fits.

    Draws: 2000, or 500 above 1e5 ratings; of effect sizes 300. `mixed`: the model of these scores,
    where it has been fitted. ValueError: a baseline without ratings. No ratings or one system:
    no pairs.
    """
    if baseline is not None and baseline not in data.systems:
        raise ValueError(f"{baseline} has no ratings here; choose one of the systems.")
    if not len(data.value):
        return Comparison(
            systems={}, pairs=[], correction=correction, family=0, baseline=baseline,
            cautions=["no_data"],
        )  # fmt: skip
    used = draws or draws_for(len(data.value))
    means, drawn = two_way_means(
        data.rater, data.block, data.system, data.value, draws=used, seed=seed
    )
    chosen, rest = _choose_pairs(data.systems, baseline)
    every, model, cautions = _differences(data, chosen + rest, means, drawn, seed, mixed)
    every = [
        _describe_of_what(data, *ij, one) for ij, one in zip(chosen + rest, every, strict=True)
    ]
    reach, differences = _reach(means, drawn, every), every[: len(chosen)]
    corrected = _correct(differences, correction)
    bounded = zip(corrected, reach[: len(chosen)], strict=True)
    is_many = len(chosen) > MANY_PAIRS
    cautions += ["many_pairs"] if is_many else []
    pairs = [
        _pair(data, ij, one, both, seed, 0 if is_many else min(used, EFFECT_DRAWS))
        for ij, one, both in zip(chosen, differences, bounded, strict=True)
    ]
    upheld = [q is not None and q < 1 - LEVEL for q in _correct(every, correction)]
    thin = [] if data.rater is None or data.raters == 1 else find_thin(data)
    ranges = _find_ranges(data.systems, thin, chosen + rest, every, reach, upheld)
    clusters = _find_clusters(data.systems, thin, means, pairs) if ranges and not rest else []
    return Comparison(
        systems=_system_figures(data, means, drawn, seed),
        pairs=pairs,
        correction=correction,
        family=sum(q is not None for q in corrected),
        baseline=baseline,
        rank_ranges=ranges,
        clusters=clusters,
        overall=None if thin else _overall(data),
        model=model,
        thin=[data.systems[one] for one in thin],
        cautions=cautions,
    )


def _correct(differences: list[Figure], correction: Correction) -> list[float | None]:
    p = [one.details.get("p", np.nan) for one in differences]
    return [None if np.isnan(q) else float(q) for q in correct(p, correction)]


def _choose_pairs(systems: Sequence[str], baseline: str | None) -> tuple[Pairs, Pairs]:
    """The pairs to test, and those that are not: with a baseline, all that do not hold it."""
    every = list(combinations(range(len(systems)), 2))
    if baseline is None:
        return every, []
    first = list(systems).index(baseline)
    chosen = [(first, one) for one in range(len(systems)) if one != first]
    return chosen, [pair for pair in every if first not in pair]


def _system_figures(data: Scores, means: Floats, drawn: Floats, seed: int) -> dict[str, Figure]:
    """The mean of each system; the geometric mean where values are magnitudes."""
    found = {}
    for place, system in enumerate(data.systems):
        n = data.take(data.system == place).counts()
        value, draws = float(means[place]), drawn[:, place]
        if data.is_log:
            value, draws = exp(value), np.exp(draws)
        found[system] = drawn_figure(
            "geometric_mean" if data.is_log else "mean", value, draws, n=n, seed=seed,
            over_raters=data.rater is not None,
        )  # fmt: skip
    return found


def _differences(
    data: Scores, pairs: Pairs, means: Floats, drawn: Floats, seed: int, mixed: Mixed | None
) -> tuple[list[Figure], dict[str, Any], list[str]]:
    """The test of each pair, facts of the mixed model, and what cannot be claimed."""
    if data.rater is None or data.raters == 1:
        found = [_over_items(data, i, j) for i, j in pairs]
        return found, {}, design_cautions(data, is_complete=True)
    if np.ptp(data.value) == 0:
        same = t_figure(
            "difference", estimate=0.0, se=0.0, df=1.0, method="all ratings equal", n=data.counts()
        )
        return [same for _ in pairs], {}, design_cautions(data, is_complete=True)
    grids = [None if data.has_clusters else difference_grid(data, i, j) for i, j in pairs]
    complete = [grid for grid in grids if grid is not None and min(grid.shape) > 1]
    is_complete = len(complete) == len(pairs)
    cautions = design_cautions(data, is_complete=is_complete)
    if is_complete:
        return [crossed_test(grid) for grid in complete], {}, cautions
    mixed = mixed or fit_mixed(data)
    found, more = WithGaps(data=data, mixed=mixed, means=means, drawn=drawn, seed=seed).compare(
        pairs
    )
    if all(one.method != REML or one.value is None for one in found):
        # its words promise the model
        cautions = [one for one in cautions if one != "incomplete_crossing"]
    return found, mixed.facts, cautions + more


def _describe_of_what(data: Scores, first: int, second: int, figure: Figure) -> Figure:
    """A difference without spread says whether every rating shows it, or only their means."""
    if not has_no_spread(figure) or figure.method == METHOD_RATERS:
        return figure
    pair = data.take((data.system == first) | (data.system == second))
    who = np.zeros(len(pair.value), dtype=np.int64) if pair.rater is None else pair.rater
    rows = pd.DataFrame({"rater": who, "group": pair.group, "system": pair.system})
    cells = rows.assign(value=pair.value).groupby(["rater", "group", "system"]).value
    mean = cells.mean().unstack()
    apart = rounded((mean[second] - mean[first]).dropna().to_numpy())
    within, between = cells.max() - cells.min(), apart if len(apart) else pair.value
    varies = max(within.max(), np.ptp(between)) > TINY
    groups, blocks = (int(codes.max()) + 1 for codes in (pair.group, pair.block))
    units: Units = "clusters" if blocks < groups else "inputs"
    return describe_equal_differences(figure, units=units, is_of_means=bool(varies))


def _over_items(data: Scores, first: int, second: int) -> Figure:
    """The t test over the items that both systems have, on differences of item means."""
    d = item_means(data, second) - item_means(data, first)
    block = np.zeros(len(d), dtype=np.int64)
    block[data.group] = data.block
    there = np.isfinite(d)
    has_clusters = len(np.unique(block[there])) < there.sum()
    units: Units = "clusters" if has_clusters else "inputs"
    return mean_test(None, block[there], rounded(d[there]), units=units)


def _reach(means: Floats, drawn: Floats, differences: list[Figure]) -> list[float | None]:
    """How far each difference may be off, in all pairs at once; None where that is unknown.

    One that never varies isn't off, if its p stays significant among so many pairs.
    """
    critical = max_t(means, drawn) if len(means) > 1 else None
    found: list[float | None] = []
    for one in differences:
        if has_no_spread(one):
            stands = float(one.details.get("p", 1.0)) * len(differences) < 1 - LEVEL
            found.append(0.0 if stands else abs(one.value or 0.0))
            continue
        se = one.details.get("se", one.details.get("se_bootstrap"))
        if critical is None or se is None or one.value is None:
            found.append(None)
            continue
        found.append(float(simultaneous_reach(critical, one.details.get("df", np.inf))) * se)
    return found


def _pair(
    data: Scores,
    ij: tuple[int, int],
    difference: Figure,
    p_and_reach: tuple[float | None, float | None],
    seed: int,
    draws: int,
) -> PairComparison:
    (i, j), (p_corrected, reach) = ij, p_and_reach
    d = item_means(data, j) - item_means(data, i)
    d = rounded(d[np.isfinite(d)])
    value = difference.value
    checks = {"wilcoxon": wilcoxon_pratt(d), "sign_flip": sign_flip_test(d, seed=seed)}
    effects = effect_figures(data, i, j, seed=seed, draws=draws) if draws else {}
    known = value is not None and reach is not None
    return PairComparison(
        first=data.systems[i],
        second=data.systems[j],
        difference=difference,
        p_corrected=p_corrected,
        low_all=value - reach if known else None,  # type: ignore[operator]
        high_all=value + reach if known else None,  # type: ignore[operator]
        ratio=_ratio(difference) if data.is_log else None,
        detectable=_detectable(difference),
        effects={name: leave_open(one, difference) for name, one in effects.items()},
        checks={name: leave_open(one, difference) for name, one in checks.items()},
    )


def _ratio(difference: Figure) -> Figure | None:
    """How many times the first the second is rated, from the difference of logarithms."""
    if difference.value is None:
        return replace(difference, name="ratio_of_geometric_means")
    low, high = (None if e is None else exp(e) for e in (difference.low, difference.high))
    return replace(
        difference,
        name="ratio_of_geometric_means",
        value=exp(difference.value),
        low=low,
        high=high,
        details={**difference.details, "transform": "exp of a difference of natural logarithms"},
    )


def _detectable(difference: Figure) -> Figure | None:
    """The smallest detectable difference, where a standard error and its freedom are known."""
    se, df = difference.details.get("se"), difference.details.get("df")
    if not se or not df:
        return None
    return detectable_figure("detectable_difference", se=se, df=df, n=difference.n)


def _find_ranges(
    systems: list[str],
    thin: list[int],
    pairs: Pairs,
    differences: list[Figure],
    reach: list[float | None],
    upheld: list[bool],
) -> dict[str, tuple[int, int]]:
    """Rank ranges, from simultaneous intervals of the differences of all pairs, as far as the
    corrected p values of all pairs uphold them: so no rank says more than a sentence does. Thin
    systems have none, and count in none: one input alone doesn't rank systems."""
    compared = [
        (pair, one.value, far, holds)
        for pair, one, far, holds in zip(pairs, differences, reach, upheld, strict=True)
        # an undefined comparison ranks neither above the other
        if one.value is not None and not {*pair} & {*thin}
    ]
    if not compared or any(far is None for _, _, far, _ in compared):
        return {}
    above = np.zeros((len(systems),) * 2, dtype=bool)
    for (i, j), value, far, holds in compared:
        off = far or 0.0
        above[j, i], above[i, j] = holds and value - off > 0, holds and value + off < 0
    kept = [one for one in range(len(systems)) if one not in thin]
    found = rank_ranges(above[np.ix_(kept, kept)])
    return {systems[one]: ends for one, ends in zip(kept, found, strict=True)}


def _find_clusters(
    systems: list[str], thin: list[int], means: Floats, pairs: list[PairComparison]
) -> list[list[str]]:
    """Clusters of all but thin systems, from the corrected p values of all pairs."""
    place = {name: number for number, name in enumerate(systems)}
    beats = np.zeros((len(systems),) * 2, dtype=bool)
    for one in pairs:
        if one.p_corrected is not None and one.p_corrected < 1 - LEVEL:
            up, i, j = (one.difference.value or 0.0) > 0, place[one.first], place[one.second]
            beats[(j, i) if up else (i, j)] = True
    kept = [one for one in range(len(systems)) if one not in thin]
    parts = find_clusters(means[kept], beats[np.ix_(kept, kept)])
    return [[systems[kept[one]] for one in part] for part in parts]


def _overall(data: Scores) -> Figure | None:
    """Friedman's test over items, for three systems or more."""
    if len(data.systems) < 3:
        return None
    table = np.column_stack([item_means(data, one) for one in range(len(data.systems))])
    return friedman(table)
