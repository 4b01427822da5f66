"""Preferences between two systems at a time: tables, tests, strengths, rank ranges, and what they
show in addition: position, ties by rater, and circles.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse, stats

from evalsite.analysis.difference_tests import (
    ONE_INPUT,
    Correction,
    correct_named,
    find_joint_test_of_pairs,
    mark_named,
    mean_test,
)
from evalsite.analysis.effects import majority_sign, sign_test_of_counts
from evalsite.analysis.figure import LEVEL, REML, Cautions, Figure, Reason, undefined
from evalsite.analysis.intervals import METHOD as OVER_BOTH
from evalsite.analysis.intervals import (
    SEED,
    TINY,
    Units,
    describe_draws,
    describe_equal_differences,
    drawn_figure,
    drawn_test,
    draws_for,
    t_figure,
    two_way_sums,
)
from evalsite.analysis.mixed import Layout, Mixed, fit_tables, signed
from evalsite.analysis.plan import Named
from evalsite.analysis.ratings import Ratings, canonical_rows
from evalsite.analysis.strengths import Outcomes, Strengths, count_pairs, does_fit, find_strengths

# --- position, ties and circles

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_POSITION = "share_of_left"
_CIRCLES = "share_of_circles"


def position_bias(rater: Codes | None, item: Codes, outcome: Floats, *, seed: int = SEED) -> Figure:
    """Return the share of "left" among decided answers, and p of the exact test against one half.

    `outcome` (n,): 1 left, 0 tie, -1 right, as shown. The p value takes answers as independent;
    the interval doesn't.
    """
    decided = outcome != 0
    left, total = int((outcome > 0).sum()), int(decided.sum())
    n = {"left": left, "right": total - left, "ties": int((~decided).sum())}
    if not total:
        reason = Reason.NO_DECIDED_PAIRS if len(outcome) else Reason.NO_DATA
        return undefined("left_share", reason, method=_POSITION, n=n)
    columns = np.column_stack([outcome > 0, decided]).astype(np.float64)
    sums = two_way_sums(rater, item, columns, draws=draws_for(len(item)), seed=seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = describe_draws(sums[:, 0] / sums[:, 1], left / total)
    p = float(stats.binomtest(left, total).pvalue)
    return Figure(
        name="left_share",
        method=_POSITION,
        value=left / total,
        low=spread.low,
        high=spread.high,
        n=n,
        seed=seed,
        details=spread.details | {"p": p, "test": "exact_binomial"},
    )


def tie_shares(rater: Codes, outcome: Floats) -> list[dict[str, Any]]:
    """Return each rater's answers, share of ties, and whether there are none or only ties."""
    total = np.bincount(rater)
    ties = np.bincount(rater, weights=outcome == 0)
    return [
        {
            "rater": code,
            "answers": int(total[code]),
            "tie_share": float(ties[code] / total[code]),
            "never_ties": bool(ties[code] == 0),
            "always_ties": bool(ties[code] == total[code]),
        }
        for code in np.flatnonzero(total)
    ]


@dataclass(frozen=True, kw_only=True)
class _Edges:
    """The decided pairs (edges,) of the units, in order of unit, lower and higher system."""

    unit: Codes
    low: Codes
    high: Codes
    sign: Floats  # 1: the lower system is preferred, -1: the higher one


def _find_preferred(
    unit: Codes, first: Codes, second: Codes, outcome: Floats, systems: int
) -> _Edges:
    """Return which of two systems each unit prefers over all its answers; no edge if neither."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    cell, place = np.unique((unit * systems + low) * systems + high, return_inverse=True)
    net = np.bincount(place, weights=np.where(first < second, outcome, -outcome))
    cell, sign = cell[net != 0], np.sign(net[net != 0])
    return _Edges(
        unit=cell // systems**2, low=cell // systems % systems, high=cell % systems, sign=sign
    )


def _count_triples(edges: _Edges, systems: int) -> tuple[int, Codes]:
    """Return how many triples have all three pairs decided, and the unit of each that is a circle.

    Pairs that meet in the middle system of a triple are joined, one middle system at a time: the
    work grows with the number of answers, not with the number of possible triples.
    """
    cells = (edges.unit * systems + edges.low) * systems + edges.high
    triples, circular = 0, [np.zeros(0, dtype=np.int64)]
    for middle in range(1, systems - 1):
        below, above = np.flatnonzero(edges.high == middle), np.flatnonzero(edges.low == middle)
        start, end = (
            np.searchsorted(edges.unit[above], edges.unit[below], side=side)
            for side in ("left", "right")
        )
        number = end - start
        lower = np.repeat(below, number)
        within = np.arange(len(lower)) - np.repeat(number.cumsum() - number, number)
        upper = above[np.repeat(start, number) + within]
        closing = (edges.unit[lower] * systems + edges.low[lower]) * systems + edges.high[upper]
        third = np.minimum(np.searchsorted(cells, closing), len(cells) - 1)
        is_closed = cells[third] == closing
        triples += int(is_closed.sum())
        x, y, z = edges.sign[lower], edges.sign[upper], -edges.sign[third]
        circular.append(edges.unit[lower[is_closed & (x == y) & (y == z)]])
    return triples, np.concatenate(circular)


def circular_triads(
    unit: Codes, first: Codes, second: Codes, outcome: Floats, systems: int
) -> Figure:
    """Return how often a rater's answers on an item go in a circle, a > b > c > a.

    After Kendall and Babington Smith. `unit` (n,): codes of rater-and-item; `outcome`: 1 the first
    is preferred, -1 the second, 0 a tie. Only triples with all three pairs decided count. Details:
    zeta (1 = no circle, 0 = as many as possible), for the units that decided all pairs of systems.
    """
    edges = _find_preferred(unit, first, second, outcome, systems)
    triples, circular = _count_triples(edges, systems)
    circles = len(circular)
    n = {"triples": triples, "circular": circles}
    if not triples:
        return undefined("circular_share", Reason.TOO_FEW, method=_CIRCLES, n=n)
    full = np.flatnonzero(np.bincount(edges.unit) == systems * (systems - 1) // 2)
    odd = systems**3 - systems if systems % 2 else systems**3 - 4 * systems
    by_unit = np.bincount(circular, minlength=int(edges.unit.max()) + 1)
    zeta = float(1 - 24 * by_unit[full].mean() / odd) if len(full) else None
    why = "describes_answers"
    details = {"zeta": zeta, "complete_units": len(full), "interval": why}
    return Figure(
        name="circular_share", method=_CIRCLES, value=circles / triples, n=n, details=details
    )


_ONE_RATER = "by_one_rater"


@dataclass(frozen=True, kw_only=True)
class Preferences:
    """Answers as codes, rows in an order that doesn't depend on names; see `read_preferences`."""

    systems: list[str]
    raters: list[str]
    rater: Codes | None
    item: Codes  # the group, or its cluster: what is resampled
    unit: Codes  # the group itself
    left: Codes
    right: Codes
    outcome: Floats
    is_position_known: bool


@dataclass(frozen=True, kw_only=True)
class PairResult:
    """A pair: counts from the side of `first`, shares with intervals, tests and corrected p."""

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    net: Figure
    half: Figure
    test: Figure
    sign: Figure
    majority: Figure
    p_corrected: float | None = None
    p_within: float | None = None
    is_exploratory: bool = False


@dataclass(frozen=True, kw_only=True)
class PairsResult:
    """Everything that preferences on a criterion show.

    `model`: None for two systems, where one share shows all that strengths would. `through_others`:
    the pairs that were never compared directly, whether or not something links them. `win_shares`:
    for each system the share of its answers in which it is preferred, a tie as half. `facts`: of
    the mixed model of all pairs. `joint`: the test that all pairs of three systems or more are
    balanced.
    """

    systems: list[str]
    pairs: list[PairResult]
    correction: str
    model: Strengths | None
    left_share: Figure
    circles: Figure
    ties_by_rater: list[dict[str, Any]]
    cautions: Cautions
    through_others: list[tuple[str, str]]
    win_shares: dict[str, Figure]
    family_across: int
    facts: dict[str, Any]
    joint: Figure | None
    exploratory: int = 0  # tests of pairs that the plan doesn't name


def read_preferences(
    ratings: Ratings, left: Any, right: Any, *, is_position_known: bool = True
) -> Preferences:
    """Return preferences as codes.

    Values are outcomes: 1 is a win of `left`, 0 a tie, -1 a win of `right`, which hold the names of
    the two systems (n,). If nobody knows which system was on the left, pass them in any order with
    `is_position_known` False. Blocks, or else groups, are resampled. ValueError: another outcome,
    or a system against itself.
    """
    if not np.isin(ratings.value, (-1, 0, 1)).all():
        raise ValueError("An outcome is 1 (left), 0 (a tie) or -1 (right).")
    value, rater, item = ratings.value + 0.0, ratings.rater, ratings.get("group")
    who = np.zeros(len(value)) if rater is None else rater
    drawn = item if ratings.block is None else ratings.block
    systems = sorted({str(name) for name in (*left, *right)})
    place = {name: number for number, name in enumerate(systems)}
    sides = [pd.Series(side).astype(str).map(place).to_numpy(np.int64) for side in (left, right)]
    if (sides[0] == sides[1]).any():
        raise ValueError("A system is compared with itself; leave out such items.")
    rows, (who_code, item_code, unit_code, *_) = canonical_rows(value, who, drawn, item, *sides)
    raters = [""] * (int(who_code.max(initial=-1)) + 1)
    for code, name in zip(who_code, pd.Series(who).astype(str).to_numpy()[rows], strict=True):
        raters[code] = str(name)
    return Preferences(
        systems=systems,
        raters=raters,
        rater=None if rater is None else who_code,
        item=item_code,
        unit=unit_code,
        left=sides[0][rows],
        right=sides[1][rows],
        outcome=value[rows],
        is_position_known=is_position_known,
    )


@dataclass(frozen=True, kw_only=True)
class PairTests:
    """All pairs with answers and their tests, before any correction; see `correct`."""

    data: Preferences
    baseline: str | None
    seed: int
    counts: Floats
    tables: Floats
    every: list[PairResult]
    facts: dict[str, Any]
    joint: Figure | None
    named: Named = frozenset()

    @property
    def chosen(self) -> list[PairResult]:
        """Return the pairs to test: with a baseline, those that include it."""
        return [pair for pair in self.every if self.baseline in (None, pair.first, pair.second)]

    @property
    def is_named(self) -> list[bool]:
        return mark_named(((pair.first, pair.second) for pair in self.chosen), self.named)

    @property
    def p(self) -> list[float]:
        """Return the defined p values of the family."""
        tested = zip(self.chosen, self.is_named, strict=True)
        p = (pair.test.details.get("p") for pair, is_named in tested if is_named)
        return [float(value) for value in p if value is not None]

    def correct(
        self, correction: Correction = "holm", other_p: Sequence[float] = ()
    ) -> "PairsResult":
        """Return all figures, with p values corrected over these pairs and `other_p`.

        `other_p`: the p values of other criteria. Rank ranges uphold the tests of all pairs.
        """
        data, seed, every = self.data, self.seed, self.every
        model = None
        if len(data.systems) > 2:
            n = _count(data, np.ones(len(data.outcome), dtype=bool), len(data.outcome))
            outcomes = Outcomes(
                systems=data.systems, counts=self.counts, tables=self.tables,
                has_position=data.is_position_known,
            )  # fmt: skip
            is_upheld = _find_upheld(data.systems, _correct(every, correction, other_p))
            model = find_strengths(outcomes, is_upheld, n=n, seed=seed)
        return PairsResult(
            systems=data.systems,
            pairs=_correct(self.chosen, correction, other_p, self.is_named),
            correction=correction,
            model=model,
            left_share=_find_left_share(data, seed),
            circles=_find_circles(data),
            ties_by_rater=_list_ties(data),
            cautions=_list_cautions(data, every, model),
            through_others=list_through_others(data.systems, every),
            win_shares=_share_wins(data, self.counts, self.tables, seed),
            family_across=len(self.p) + len(other_p),
            facts=self.facts,
            joint=self.joint,
            exploratory=sum("p" in pair.test.details for pair in self.chosen) - len(self.p),
        )


def find_pair_tests(
    data: Preferences,
    *,
    baseline: str | None = None,
    seed: int = SEED,
    draws: int | None = None,
    named: Named = frozenset(),
) -> PairTests:
    """Return the tests of all pairs; without answers there are none.

    With a `baseline`, only the pairs that include it are tested; strengths, rank ranges and
    clusters come from the model of all answers either way. `named`: the pairs that a plan names,
    for which p values are corrected. ValueError: a baseline without answers.
    """
    s = len(data.systems)
    if baseline is not None and baseline not in data.systems:
        raise ValueError(f"{baseline} has no answers here; choose one of the systems.")
    counts = count_pairs(data.left, data.right, data.outcome, s)
    tables = draw_tables(data, draws=draws or draws_for(len(data.outcome)), seed=seed)
    met = [(i, j) for i, j in combinations(range(s), 2) if (counts[i, j] + counts[j, i]).sum()]
    mixed = fit_pairs(data, met)
    tested = _Tested(data=data, counts=counts, tables=tables, seed=seed, mixed=mixed)
    contrasts = np.eye(len(met)).tolist()
    every = [
        _compare_pair(tested, i, j, weights) for (i, j), weights in zip(met, contrasts, strict=True)
    ]
    n = _count(data, np.ones(len(data.outcome), dtype=bool), len(data.outcome))
    return PairTests(
        data=data, baseline=baseline, seed=seed, counts=counts, tables=tables, every=every,
        facts=mixed.facts, joint=find_joint_test_of_pairs(mixed, met, s, n=n) if s > 2 else None,
        named=named,
    )  # fmt: skip


def fit_pairs(data: Preferences, met: Sequence[tuple[int, int]]) -> Mixed:
    """Return the mixed model of all pairs, from the side of the system with the lower code.

    It has a mean for each pair, and what raters and inputs add to one system and take off the
    other.
    """
    if data.rater is None:
        return Mixed(reason=Reason.RATERS_UNKNOWN)
    if len(data.raters) < 2 or len(data.outcome) <= len(met):
        return Mixed(reason=Reason.TOO_FEW)
    value = np.where(data.left < data.right, data.outcome, -data.outcome)
    if np.ptp(value) == 0:
        return Mixed(reason=Reason.NO_VARIATION)
    laid = lay_out_pairs(data, data.rater, met)
    return fit_tables(value, laid.tables, laid.fixed, dropped={}, blocks=laid.blocks)


def lay_out_pairs(data: Preferences, rater: Codes, met: Sequence[tuple[int, int]]) -> Layout:
    """Return the layout of the model of preferences: a mean for each pair that `met`, the lower
    number first."""
    s, systems = len(data.systems), data.systems
    low, high = np.minimum(data.left, data.right), np.maximum(data.left, data.right)
    place = {pair: number for number, pair in enumerate(met)}
    factors = {"rater:system": rater, "input:system": data.unit}
    if len(np.unique(data.item)) < len(np.unique(data.unit)):
        factors["cluster:system"] = data.item
    return Layout(
        tables={name: signed(code * s + low, code * s + high) for name, code in factors.items()},
        fixed=np.array([place[ij] for ij in zip(low.tolist(), high.tolist(), strict=True)]),
        blocks=list(factors.values()),
        contrasts={
            frozenset((systems[i], systems[j])): np.eye(len(met))[number]
            for number, (i, j) in enumerate(met)
        },
    )


def draw_tables(data: Preferences, *, draws: int, seed: int) -> Floats:
    """Return the counts (draws, systems, systems, 3) of each draw of the two-way bootstrap."""
    s = len(data.systems)
    if not len(data.outcome):
        return np.zeros((0, s, s, 3))
    place = (data.left * s + data.right) * 3 + (1 - data.outcome.astype(np.int64))
    where = np.arange(len(place)), place
    pair_counts = sparse.csc_matrix((np.ones(len(place)), where), shape=(len(place), s * s * 3))
    tables = two_way_sums(data.rater, data.item, pair_counts, draws=draws, seed=seed)
    return tables.reshape(draws, s, s, 3)


def _correct(
    pairs: list[PairResult],
    correction: Correction,
    other_p: Sequence[float] = (),
    is_named: Sequence[bool] = (),
) -> list[PairResult]:
    """Return the pairs with p values corrected for each other, and for `other_p`."""
    p = [pair.test.details.get("p", np.nan) for pair in pairs]
    named = is_named or [True] * len(p)
    within = correct_named(p, named, (), correction)
    across = correct_named(p, named, other_p, correction)
    return [
        replace(pair, p_corrected=q, p_within=w, is_exploratory=not is_planned)
        for pair, q, w, is_planned in zip(pairs, across, within, named, strict=True)
    ]


def _find_upheld(systems: list[str], pairs: list[PairResult]) -> NDArray[np.bool_]:
    """Return which system is above which (systems, systems) by the corrected test of the pair.

    A test on one input only ranks no systems.
    """
    is_upheld = np.zeros((len(systems),) * 2, dtype=bool)
    for pair in (pair for pair in pairs if "only" not in pair.test.details):
        if pair.p_corrected is not None and pair.p_corrected < 1 - LEVEL:
            i, j = systems.index(pair.first), systems.index(pair.second)
            is_first = (pair.test.value or 0.0) > 0
            is_upheld[(i, j) if is_first else (j, i)] = True
    return is_upheld


def _count(data: Preferences, rows: NDArray[np.bool_], answers: int) -> dict[str, int]:
    """Return the `n` of a figure on these answers; with clusters if some hold several inputs."""
    items, blocks = (len(np.unique(codes[rows])) for codes in (data.unit, data.item))
    n = {"answers": answers, "items": items}
    if blocks < items:
        n["clusters"] = blocks
    if data.rater is not None:
        n["raters"] = len(np.unique(data.rater[rows]))
    return n


@dataclass(frozen=True, kw_only=True)
class _Tested:
    """What every pair is tested by: the answers, their draws, and the model of all pairs."""

    data: Preferences
    counts: Floats
    tables: Floats
    seed: int
    mixed: Mixed


def _compare_pair(tested: _Tested, i: int, j: int, weights: list[float]) -> PairResult:
    """Return all figures of a pair; `weights`: its contrast in the model."""
    data, counts, tables = tested.data, tested.counts, tested.tables
    wins, ties, losses = (int(count) for count in counts[i, j] + counts[j, i, ::-1])
    total = wins + ties + losses
    drawn = tables[:, i, j] + tables[:, j, i, ::-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = drawn / drawn.sum(axis=1, keepdims=True)
    # outcomes from the side of the first system
    forth, back = (data.left == i) & (data.right == j), (data.left == j) & (data.right == i)
    rows = forth | back
    outcome = np.where(forth, data.outcome, -data.outcome)[rows]
    n = _count(data, rows, total)
    known: dict[str, Any] = {"n": n, "seed": tested.seed}
    return PairResult(
        first=data.systems[i],
        second=data.systems[j],
        wins=wins,
        ties=ties,
        losses=losses,
        net=drawn_figure(
            "net_win_share", (wins - losses) / total, share[:, 0] - share[:, 2], **known
        ),
        half=drawn_figure(
            "win_share_ties_half", (wins + ties / 2) / total, share[:, 0] + share[:, 1] / 2, **known
        ),
        test=_test(
            tested,
            rows,
            outcome,
            weights,
            drawn_test(
                "net_win_share", (wins - losses) / total, share[:, 0] - share[:, 2], **known
            ),
        ),
        sign=sign_test_of_counts(wins, losses, ties),
        majority=majority_sign(data.unit[rows], outcome),
    )


def _test(
    tested: _Tested, rows: NDArray[np.bool_], outcome: Floats, weights: list[float],
    by_draws: Figure,
) -> Figure:  # fmt: skip
    """Return the test of a pair by the mixed model of all pairs, or `by_draws` without a model.

    Undefined if only one of several raters compared the pair;
    a test on one input holds for that input only.
    """
    data, mixed, n = tested.data, tested.mixed, by_draws.n
    if len(data.raters) > 1 and n.get("raters") == 1:
        return undefined(
            "net_win_share", Reason.TOO_FEW, method=REML, n=n, details={"why": _ONE_RATER}
        )
    units: Units = "clusters" if "clusters" in n else "inputs"
    blocks = n.get("clusters", n["items"])
    if data.rater is not None and len(data.raters) > 1 and blocks > 1 and not np.ptp(outcome):
        equal = (float(outcome[0]), 0.0, 1.0)
        figure = t_figure("net_win_share", equal, method=REML, n=n, units=blocks)
        figure = describe_equal_differences(figure, units=units, is_of_means=False)
    elif data.rater is None or len(data.raters) == 1 or blocks == 1:
        who = None if data.rater is None else data.rater[rows]
        figure = mean_test(who, data.item[rows], outcome, name="net_win_share", units=units)
    elif mixed.fit is None and _has_equal_means(data.item[rows], outcome):
        equal = (float(outcome.mean()), 0.0, 1.0)
        figure = t_figure("net_win_share", equal, method=REML, n=n, units=blocks)
        figure = describe_equal_differences(figure, units=units, is_of_means=True)
    elif mixed.fit is None or mixed.fit.is_overcorrected(weights):
        why = mixed.facts.get("fallback", "error_poorly_known")
        figure = replace(by_draws, details={**by_draws.details, "fallback": why})
    elif not mixed.determines(weights):
        details = {"why": "undetermined"}
        return undefined("net_win_share", Reason.TOO_FEW, method=REML, n=n, details=details)
    else:
        figure = t_figure("net_win_share", mixed.fit.contrast(weights), method=REML, n=n)
    if n["items"] == 1:
        return replace(figure, details={**figure.details, "only": ONE_INPUT})
    return figure


def _has_equal_means(block: Codes, outcome: Floats) -> bool:
    """Return whether every input or cluster has the same mean, so that there is no error."""
    count = np.bincount(block)
    mean = np.bincount(block, weights=outcome)[count > 0] / count[count > 0]
    return bool(np.ptp(mean) < TINY)


def _share_wins(data: Preferences, counts: Floats, tables: Floats, seed: int) -> dict[str, Figure]:
    points, total = _count_points(counts)
    won, drawn = _count_points(tables)
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn_shares = won / drawn
    shares = {}
    for place, system in enumerate(data.systems):
        is_shown = (data.left == place) | (data.right == place)
        n = _count(data, is_shown, int(total[place]))
        value = float(points[place] / total[place])
        figure = drawn_figure("win_share", value, drawn_shares[:, place], n=n, seed=seed)
        shares[system] = replace(figure, method="wins_and_half_ties")
    return shares


def _count_points(counts: Floats) -> tuple[Floats, Floats]:
    """Return the wins of each system, ties as half, and its answers, both (..., systems)."""
    # sums over whole tables don't copy them
    as_left, as_right = counts.sum(axis=-2), counts.sum(axis=-3)
    won = as_left[..., 0] + as_right[..., 2] + (as_left[..., 1] + as_right[..., 1]) / 2
    return won, as_left.sum(axis=-1) + as_right.sum(axis=-1)


def _find_left_share(data: Preferences, seed: int) -> Figure:
    if not data.is_position_known:
        reason = Reason.PLACES_UNKNOWN if len(data.outcome) else Reason.NO_DATA
        return undefined("left_share", reason, method="positions_unknown")
    return position_bias(data.rater, data.item, data.outcome, seed=seed)


def _find_circles(data: Preferences) -> Figure:
    if data.rater is None:
        return undefined("circular_share", Reason.RATERS_UNKNOWN, method="share_of_circles")
    unit = data.rater * (int(data.unit.max(initial=0)) + 1) + data.unit
    unit = np.unique(unit, return_inverse=True)[1].astype(np.int64)
    return circular_triads(unit, data.left, data.right, data.outcome, len(data.systems))


def _list_ties(data: Preferences) -> list[dict[str, Any]]:
    if data.rater is None:
        return []
    rows = [
        {**row, "rater": data.raters[row["rater"]]} for row in tie_shares(data.rater, data.outcome)
    ]
    return sorted(rows, key=lambda row: str(row["rater"]))


def _list_cautions(data: Preferences, pairs: list[PairResult], model: Strengths | None) -> Cautions:
    cautions: Cautions = {}
    if data.rater is None:
        cautions["raters_unknown"] = {}
    elif len(data.raters) == 1:
        cautions["one_rater"] = {}
    methods = {pair.test.method for pair in pairs}
    if thin := [pair for pair in pairs if pair.test.details.get("why") == _ONE_RATER]:
        cautions["thin_pairs"] = {"pairs": [[pair.first, pair.second] for pair in thin]}
    if OVER_BOTH in methods:
        cautions["bootstrap_instead_of_model"] = {}
    return cautions if model is None else cautions | _doubt_model(model, data.systems, pairs)


def _doubt_model(model: Strengths, systems: list[str], pairs: list[PairResult]) -> Cautions:
    cautions: Cautions = {}
    if model.fault in (Reason.SEPARATED, Reason.DISCONNECTED):
        cautions[str(model.fault)] = {}
    if model.expected.get("p") is not None and not does_fit(model.expected):
        cautions["model_misfit"] = {}
    if model.fault != Reason.DISCONNECTED and list_through_others(systems, pairs):
        cautions["through_others"] = {}
    return cautions


def list_through_others(systems: list[str], pairs: list[PairResult]) -> list[tuple[str, str]]:
    """Return the pairs that were never compared directly."""
    met = {frozenset((pair.first, pair.second)) for pair in pairs}
    return [names for names in combinations(systems, 2) if frozenset(names) not in met]
