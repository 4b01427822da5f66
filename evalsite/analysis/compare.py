"""Comparisons of systems on one criterion: one method for complete and incomplete designs.

A mixed model (REML) of all systems with raters, inputs, input:system, rater:system and, where
raters have several outputs of an input, rater:input; with clusters also these and cluster:system.
Errors and degrees of freedom by Kenward and Roger. Too many effects for the model, or no
convergence: the bootstrap over inputs and raters. One rater, or raters unknown: a t test over
inputs, which says nothing about other raters. A system with one input or one rater isn't compared,
except over raters on the only input that both systems share; nor are systems whose difference the
ratings don't determine (see `split_tied`). In addition, for each pair, the same model of its two
systems alone.

p values are corrected over the comparisons of this criterion and, if no criterion is primary, over
those of the others too. With a baseline only the pairs that include it are tested, so the family is
smaller. Rank ranges come from simultaneous intervals of all differences and from the p values of
all pairs, corrected together, not from that family, so they stay the same; clusters come from the
corrected p values of all pairs, so with a baseline there are none.

The finding of a comparison is a code and its facts, which claim no more than the comparison shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import exp
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalsite.analysis.difference_tests import (
    JOINT,
    METHOD_RATERS,
    Correction,
    ModelPairs,
    compare_alone,
    correct_named,
    find_joint_test,
    mark_named,
    mean_test,
)
from evalsite.analysis.effects import DRAWS as EFFECT_DRAWS
from evalsite.analysis.effects import (
    effect_figures,
    friedman,
    rounded,
    sign_flip_test,
    wilcoxon_pratt,
)
from evalsite.analysis.figure import (
    ALL_EQUAL,
    LEVEL,
    REML,
    Cautions,
    Figure,
    Reason,
    leave_open,
    make_note,
    undefined,
)
from evalsite.analysis.intervals import (
    ALWAYS_EQUAL,
    SEED,
    TINY,
    Units,
    describe_equal_differences,
    drawn_figure,
    draws_for,
    find_clusters,
    has_no_spread,
    max_t,
    order_ranges,
    rank_ranges,
    simultaneous_reach,
    t_figure,
    two_way_means,
)
from evalsite.analysis.mixed import Mixed, fit_mixed
from evalsite.analysis.plan import NO_PLAN, SIGN, Better, Named, Plan
from evalsite.analysis.ratings import Ratings, Scores, design_cautions, find_thin, item_means

MANY_PAIRS = 1000
MOST_OWN = 45  # pairs that get a separate model each
MOST_OWN_RATINGS = 200_000  # ratings in all of these models together

Floats = NDArray[np.float64]
Pairs = list[tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class PairComparison:
    """A pair, second minus first (of logarithms for magnitudes, then with `ratio`).

    `difference` has the interval, p, standard error and degrees of freedom; `low_all`, `high_all`
    bound it in all pairs at once, tested or not; `own_error` is the difference with the error of
    this pair alone; `p_within` is corrected within the criterion only; `checks` are tests that see
    less of the design. `effects`: {} if there are more than MANY_PAIRS pairs.
    """

    first: str
    second: str
    difference: Figure
    p_corrected: float | None
    p_within: float | None
    own_error: Figure | None
    low_all: float | None
    high_all: float | None
    ratio: Figure | None
    effects: dict[str, Figure]
    checks: dict[str, Figure]
    is_exploratory: bool = False


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All pairs of one criterion (or all against the baseline), means, rank ranges, clusters.

    `model`: facts of the mixed model if one was fitted: variances, terms left out and why, terms at
    0. `family`: how many tests of this criterion the correction counts; `family_across`: those of
    other criteria too. `raw_ranges`: rank ranges before they are put in order. `thin`: the systems
    with only one of several inputs or raters, which have no ranks; if there are some, nothing tests
    all systems. `joint`: the test of three systems or more by the model; `overall`: Friedman's,
    which ignores raters.
    """

    systems: dict[str, Figure]
    pairs: list[PairComparison]
    correction: str
    family: int
    baseline: str | None
    cautions: Cautions
    family_across: int = 0
    exploratory: int = 0  # tests of pairs that the plan doesn't name
    rank_ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    raw_ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    clusters: list[list[str]] = field(default_factory=list)
    joint: Figure | None = None
    overall: Figure | None = None
    model: dict[str, Any] = field(default_factory=dict)
    thin: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Differences:
    """All pairs of a criterion with their tests, before any correction; see `correct`."""

    data: Scores
    mixed: Mixed
    baseline: str | None
    seed: int
    draws: int
    pairs: Pairs  # those to test first, then the others
    chosen: int  # how many are to test
    differences: list[Figure]
    own_errors: list[Figure | None]
    means: Floats
    order: Floats  # the means that put systems in order
    drawn: Floats
    model: dict[str, Any]
    joint: Figure | None
    cautions: Cautions
    named: Named = frozenset()
    better: Better = "higher"

    @property
    def is_named(self) -> list[bool]:
        names = self.data.systems
        return mark_named(((names[i], names[j]) for i, j in self.pairs[: self.chosen]), self.named)

    @property
    def p(self) -> list[float]:
        """Return the defined p values of the family."""
        tested = zip(self.differences, self.is_named, strict=False)
        p = (figure.details.get("p") for figure, is_named in tested if is_named)
        return [float(value) for value in p if value is not None]

    def correct(
        self, correction: Correction = "holm", other_p: Sequence[float] = ()
    ) -> "Comparison":
        """Return the comparison with p values corrected over its family and `other_p`, the p values
        of other criteria."""
        return _compare(self, correction, list(other_p))


def find_differences(
    data: Scores, *, plan: Plan = NO_PLAN, better: Better = "higher", seed: int = SEED,
    draws: int | None = None,
) -> Differences:  # fmt: skip
    """Compare every pair of systems, or every system with the plan's baseline, by the method that
    fits.

    Draws: 2000, or 500 above 1e5 ratings; 300 for effect sizes. `better` puts systems in order, and
    changes no difference. ValueError: a baseline without ratings.
    """
    baseline = plan.baseline or None
    if baseline is not None and baseline not in data.systems:
        raise ValueError(f"{baseline} has no ratings here; choose one of the systems.")
    used = draws or draws_for(len(data.value))
    ratings = Ratings(value=data.value, rater=data.rater, block=data.block, system=data.system)
    means, drawn = two_way_means(ratings, draws=used, seed=seed)
    chosen, rest = _choose_pairs(data.systems, baseline)
    pairs = chosen + rest
    mixed = fit_mixed(data)
    by_model = ModelPairs(data=data, mixed=mixed, means=means, drawn=drawn, seed=seed)
    is_modelled = data.rater is not None and data.raters != 1 and np.ptp(data.value) > 0
    differences, cautions = _test_pairs(by_model, pairs)
    own_errors = _find_own_errors(data, pairs, differences)
    if plan.has_own_errors:
        differences = [
            figure if other is None or other.value is None else replace(
                other, name="difference", details={**other.details, "error": "pair_alone"})
            for figure, other in zip(differences, own_errors, strict=True)
        ]  # fmt: skip
    differences = [
        _describe_spread(data, *ij, figure) for ij, figure in zip(pairs, differences, strict=True)
    ]
    fit = mixed.fit if is_modelled else None
    return Differences(
        data=data, mixed=mixed, baseline=baseline, seed=seed, draws=used, pairs=pairs,
        chosen=len(chosen), differences=differences, own_errors=own_errors, means=means,
        drawn=drawn, order=means if fit is None else fit.means,
        model=mixed.facts if is_modelled else {}, joint=_test_jointly(data, mixed),
        cautions=cautions, named=plan.named, better=better,
    )  # fmt: skip


def _compare(tested: Differences, correction: Correction, other_p: list[float]) -> Comparison:
    data, every, number = tested.data, tested.differences, tested.chosen
    is_many = number > MANY_PAIRS
    cautions = tested.cautions | ({"many_pairs": {}} if is_many else {})
    reach = _find_reach(tested.means, tested.drawn, every)
    is_named = tested.is_named
    corrected = _correct(every[:number], correction, other_p, is_named)
    within = _correct(every[:number], correction, (), is_named)
    not_computed = undefined("own_error", Reason.NOT_COMPUTED, method=REML)
    own_errors = [figure or not_computed for figure in tested.own_errors[:number]]
    own_corrected = _correct(own_errors, correction, other_p, is_named)
    pairs = []
    for place in range(number):
        own_error = tested.own_errors[place]
        if own_error is not None:
            details = {**own_error.details, "p_corrected": own_corrected[place]}
            own_error = replace(own_error, details=details)
        pair = _describe_pair(tested, place, own_error, reach[place])
        pairs.append(
            replace(pair, p_corrected=corrected[place], p_within=within[place],
                    is_exploratory=not is_named[place])
        )  # fmt: skip
    cautions |= _find_other_verdicts(pairs)
    # the tests of all pairs, including those that a baseline leaves out
    upheld = [q is not None and q < 1 - LEVEL for q in _correct(every, correction, other_p)]
    thin = [] if data.rater is None or data.raters == 1 else find_thin(data)
    sign = SIGN[tested.better]
    raw = _find_ranges(tested, thin, reach, upheld)
    overall = None
    if len(data.systems) > 2 and not thin:
        columns = [item_means(data, place) for place in range(len(data.systems))]
        overall = friedman(np.column_stack(columns))
    clusters = _find_clusters(tested, thin, pairs, upheld)
    return Comparison(
        systems=_list_means(data, tested.means, tested.drawn, tested.seed),
        pairs=pairs,
        correction=correction,
        family=len(tested.p),
        family_across=len(tested.p) + len(other_p),
        exploratory=sum(q is not None for q in corrected) - len(tested.p),
        baseline=tested.baseline,
        rank_ranges=order_ranges(dict(zip(data.systems, sign * tested.order, strict=True)), raw),
        raw_ranges=raw,
        clusters=clusters if raw and number == len(tested.pairs) else [],
        joint=tested.joint,
        overall=overall,
        model=tested.model,
        thin=[data.systems[place] for place in thin],
        cautions=cautions,
    )


def _correct(
    differences: Sequence[Figure],
    correction: Correction,
    other_p: Sequence[float] = (),
    is_named: Sequence[bool] = (),
) -> list[float | None]:
    p = [figure.details.get("p", np.nan) for figure in differences]
    return correct_named(p, is_named, other_p, correction)


def _find_own_errors(data: Scores, pairs: Pairs, differences: list[Figure]) -> list[Figure | None]:
    """Return the difference of each pair by a separate model of it.

    None: the criterion has no other pair, or too many, or the model of all systems has no test.
    """
    systems = len(data.systems)
    cost = len(pairs) * 2 / max(systems, 1) * len(data.value)
    if systems < 3 or len(pairs) > MOST_OWN or cost > MOST_OWN_RATINGS:
        return [None] * len(pairs)
    return [
        compare_alone(data, i, j) if figure.method == REML and figure.value is not None else None
        for (i, j), figure in zip(pairs, differences, strict=True)
    ]


def _find_other_verdicts(pairs: list[PairComparison]) -> Cautions:
    """Return a caution with the pairs whose own error changes the verdict, both p corrected."""
    named = []
    errors: dict[str, float] = {}  # of each system, summed over its pairs
    for pair in pairs:
        for name in (pair.first, pair.second):
            error = 0.0 if pair.own_error is None else pair.own_error.details.get("se") or 0.0
            errors[name] = errors.get(name, 0.0) + error
    for pair in pairs:
        p = None if pair.own_error is None else pair.own_error.details.get("p_corrected")
        if p is None or pair.p_corrected is None:
            continue
        if (p < 1 - LEVEL) != (pair.p_corrected < 1 - LEVEL):
            by_size = sorted((pair.first, pair.second), key=lambda name: errors[name])
            named.append(
                {
                    "system_1": pair.first,
                    "system_2": pair.second,
                    "p": p,
                    # the one that raters differ more, or less, about
                    "system": by_size[-1] if p >= 1 - LEVEL else by_size[0],
                }
            )
    return {"own_error_differs": {"pairs": named}} if named else {}


def _choose_pairs(systems: Sequence[str], baseline: str | None) -> tuple[Pairs, Pairs]:
    """Return the pairs to test, and the others: with a baseline, those that don't include it."""
    every = list(combinations(range(len(systems)), 2))
    if baseline is None:
        return every, []
    first = list(systems).index(baseline)
    chosen = [(first, place) for place in range(len(systems)) if place != first]
    return chosen, [pair for pair in every if first not in pair]


def _list_means(data: Scores, means: Floats, drawn: Floats, seed: int) -> dict[str, Figure]:
    """Return the mean of each system, or the geometric mean of magnitudes."""
    figures = {}
    for place, system in enumerate(data.systems):
        n = data.take(data.system == place).counts()
        value, draws = float(means[place]), drawn[:, place]
        if data.is_log:
            value, draws = exp(value), np.exp(draws)
        figures[system] = drawn_figure(
            "geometric_mean" if data.is_log else "mean", value, draws, n=n, seed=seed
        )
    return figures


def _test_pairs(by_model: ModelPairs, pairs: Pairs) -> tuple[list[Figure], Cautions]:
    """Return the test of each pair, and what can't be claimed."""
    data = by_model.data
    cautions = design_cautions(data)
    if data.rater is None or data.raters == 1:
        return [_test_over_items(data, i, j) for i, j in pairs], cautions
    if np.ptp(data.value) == 0:
        equal = t_figure("difference", (0.0, 0.0, 1.0), method=ALL_EQUAL, n=data.counts())
        return [equal for _ in pairs], cautions
    figures, more = by_model.compare(pairs)
    return figures, cautions | more


def _describe_spread(data: Scores, first: int, second: int, figure: Figure) -> Figure:
    """Return the difference; without spread, with a note whether all ratings or only means are
    equal."""
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


def _test_over_items(data: Scores, first: int, second: int) -> Figure:
    """Return the t test over the items that both systems have, on differences of item means."""
    d = item_means(data, second) - item_means(data, first)
    block = np.zeros(len(d), dtype=np.int64)
    block[data.group] = data.block
    is_known = np.isfinite(d)
    has_clusters = len(np.unique(block[is_known])) < is_known.sum()
    units: Units = "clusters" if has_clusters else "inputs"
    return mean_test(None, block[is_known], rounded(d[is_known]), units=units)


def _find_reach(means: Floats, drawn: Floats, differences: list[Figure]) -> list[float | None]:
    """Return how far each difference may be off, in all pairs at once; None if that isn't known.

    A difference that never varies isn't off if its p stays significant among so many pairs.
    """
    critical = max_t(means, drawn) if len(means) > 1 else None
    reach: list[float | None] = []
    for figure in differences:
        if has_no_spread(figure):
            is_upheld = float(figure.details.get("p", 1.0)) * len(differences) < 1 - LEVEL
            reach.append(0.0 if is_upheld else abs(figure.value or 0.0))
            continue
        se = figure.details.get("se", figure.details.get("se_bootstrap"))
        if critical is None or se is None or figure.value is None:
            reach.append(None)
            continue
        reach.append(float(simultaneous_reach(critical, figure.details.get("df", np.inf))) * se)
    return reach


def _describe_pair(
    tested: Differences, place: int, own_error: Figure | None, reach: float | None
) -> PairComparison:
    """Return a pair without the p values that are corrected."""
    data, seed, (i, j) = tested.data, tested.seed, tested.pairs[place]
    difference = tested.differences[place]
    draws = 0 if tested.chosen > MANY_PAIRS else min(tested.draws, EFFECT_DRAWS)
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
        p_corrected=None,
        p_within=None,
        own_error=own_error,
        low_all=value - reach if known else None,  # type: ignore[operator]
        high_all=value + reach if known else None,  # type: ignore[operator]
        ratio=_find_ratio(difference) if data.is_log else None,
        effects={name: leave_open(figure, difference) for name, figure in effects.items()},
        checks={name: leave_open(figure, difference) for name, figure in checks.items()},
    )


def _find_ratio(difference: Figure) -> Figure | None:
    """Return the ratio of the second to the first, from the difference of logarithms."""
    if difference.value is None:
        return replace(difference, name="ratio_of_geometric_means")
    low, high = (None if e is None else exp(e) for e in (difference.low, difference.high))
    return replace(
        difference,
        name="ratio_of_geometric_means",
        value=exp(difference.value),
        low=low,
        high=high,
        details={**difference.details, "transform": "exp_of_log_difference"},
    )


def _find_ranges(
    tested: Differences, thin: list[int], reach: list[float | None], upheld: list[bool]
) -> dict[str, tuple[int, int]]:
    """Return rank ranges from simultaneous intervals of the differences of all pairs.

    They hold only as far as the corrected p values of all pairs do, so no rank claims more than the
    sentence on its pair. Thin systems have no ranks and count in none, since one input alone
    doesn't rank systems. Without a direction there are none.
    """
    systems, sign = tested.data.systems, SIGN[tested.better]
    every = zip(tested.pairs, tested.differences, reach, upheld, strict=True)
    compared = [
        (pair, figure.value, far, holds)
        for pair, figure, far, holds in every
        # an undefined comparison ranks neither system above the other
        if figure.value is not None and not {*pair} & {*thin}
    ]
    if not sign or not compared or any(far is None for _, _, far, _ in compared):
        return {}
    above = np.zeros((len(systems),) * 2, dtype=bool)
    for (i, j), value, far, holds in compared:
        off, ahead = far or 0.0, sign * value
        above[j, i], above[i, j] = holds and ahead - off > 0, holds and ahead + off < 0
    kept = [place for place in range(len(systems)) if place not in thin]
    ranges = rank_ranges(above[np.ix_(kept, kept)])
    return {systems[place]: ends for place, ends in zip(kept, ranges, strict=True)}


def _find_clusters(
    tested: Differences, thin: list[int], pairs: list[PairComparison], upheld: list[bool]
) -> list[list[str]]:
    """Return clusters without thin systems, from p values of all pairs, corrected together."""
    systems, sign = tested.data.systems, SIGN[tested.better]
    goodness = sign * tested.order
    places = {name: place for place, name in enumerate(systems)}
    beats = np.zeros((len(systems),) * 2, dtype=bool)
    for pair, holds in zip(pairs, upheld, strict=False):
        if holds:
            up = sign * (pair.difference.value or 0.0) > 0
            i, j = places[pair.first], places[pair.second]
            beats[(j, i) if up else (i, j)] = True
    kept = [place for place in range(len(systems)) if place not in thin]
    parts = find_clusters(goodness[kept], beats[np.ix_(kept, kept)])
    return [[systems[kept[place]] for place in part] for part in parts]


def _test_jointly(data: Scores, mixed: Mixed) -> Figure | None:
    """Return the test of three systems or more; undefined if some aren't compared."""
    if len(data.systems) < 3:
        return None
    if data.rater is not None and data.raters != 1 and find_thin(data):
        return undefined("joint_f", Reason.TOO_FEW, method=JOINT, n=data.counts())
    return find_joint_test(mixed, len(data.systems), n=data.counts())


# --- findings, and what explains figures by other figures of the same criterion

ALPHA = 0.05


def order_pairs(
    pairs: Sequence[dict[str, Any]], systems: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Sort the pairs by rank, the best system against the next first; `systems` are sorted too."""
    rank = {system["system"]: place for place, system in enumerate(systems)}

    def places(pair: dict[str, Any]) -> list[int]:
        return sorted((rank[pair["system_1"]], rank[pair["system_2"]]))

    return sorted(pairs, key=places)


def describe_finding(
    first: str, second: str, effect: Figure, better: Better = "higher", unit: str = "points"
) -> dict[str, Any]:
    """Return code and facts of a comparison; `effect` is of `first` over or minus `second`.

    "higher" or "lower" only where the corrected p is below .05. A test that found nothing is never
    reported as equality.
    """
    details = effect.details
    if effect.value is None:
        why = details.get("why") or str(effect.reason)
        return make_note("undefined", first=first, second=second, why=why)
    p = details.get("p_corrected")
    code = "not_enough"
    if p is not None and p < ALPHA:
        code = "higher" if effect.value > (1 if effect.name == "ratio" else 0) else "lower"
    return make_note(
        code,
        first=first,
        second=second,
        better=better,
        unit=unit,
        effect=effect.name,
        value=effect.value,
        low=effect.low,
        high=effect.high,
        has_interval=details.get("interval") != Reason.TOO_FEW,
        level=effect.level,
        t=details.get("t"),
        df=details.get("df"),
        p=details.get("p"),
        p_corrected=p,
        family=details.get("family") or 1,
        is_by_model=effect.method == REML,
        is_on_one_input=details.get("only") == "one_input",
        is_exploratory=bool(details.get("is_exploratory")),
        spread=_read_spread(effect),
    )


def _read_spread(effect: Figure) -> dict[str, Any] | None:
    """Describe differences that are all equal, so that chance can't be estimated."""
    if not has_no_spread(effect):
        return None
    return {
        "is_difference": effect.details["note"] == ALWAYS_EQUAL,
        "is_of_means": bool(effect.details.get("of_means")),
        "has_raters": effect.n.get("raters", 0) > 1,
        "units": effect.details.get("units", 0),
        "units_of": effect.details.get("units_of", "inputs"),
    }


# --- ratings by one rater -----------------------------------------------------------------------

# details of tests: without them, what this rater did and its interval over inputs are left
_TESTED = {"p", "t", "p_corrected", "p_within", "correction", "family", "family_within"}
_TESTS_OF_SYSTEMS = {"friedman", "mcnemar", "cochran_q"}
_OF_TESTS = {"models_disagree"}


def describe_of_one_rater(criterion: Mapping[str, Any]) -> dict[str, Any]:
    """Return a criterion without tests, ranks and tiers; findings tell what this rater did.

    A test over inputs alone would call systems different as soon as the other raters are left out.
    """
    untested = {
        **criterion,
        "margins": [],
        "joint": None,
        "detectable": None,
        "systems": [
            system | {"rank": None, "rank_raw": None, "cluster": None}
            for system in criterion["systems"]
        ],
        "pairs": [_read_pair(pair) for pair in criterion["pairs"]],
        "tests": [
            _drop_test(test) for test in criterion["tests"] if test.name not in _TESTS_OF_SYSTEMS
        ],
        "cautions": {
            code: facts for code, facts in criterion["cautions"].items() if code not in _OF_TESTS
        },
    }
    if order := criterion.get("order"):
        untested["order"] = [entry | {"rank": None, "tier": None} for entry in order]
    return untested


def _read_pair(pair: Mapping[str, Any]) -> dict[str, Any]:
    effect: Figure = pair["effect"]
    effect = _drop_test(effect)
    kept = {**effect.details, "untested": "needs_two_raters"}
    untested = {"effect": replace(effect, details=kept), "checks": [], "own": None}
    if effect.value is None:
        return {**pair, **untested}
    finding = make_note(
        "by_one_rater",
        first=pair["system_1"],
        second=pair["system_2"],
        unit=pair["finding"]["facts"]["unit"],
        effect=effect.name,
        value=effect.value,
    )
    return {**pair, **untested, "finding": finding}


def _drop_test(figure: Figure) -> Figure:
    kept = {key: value for key, value in figure.details.items() if key not in _TESTED}
    return replace(figure, details=kept)


# --- why agreement is low, and why comparisons aren't those of the means shown -----------------

# differences up to this may be due to rounding
_APART = 0.005
# names of a system's mean by the mixed model
MODEL_MEANS = ("model_mean", "model_share")


def explain_weighing(
    systems: Sequence[Mapping[str, Any]],
    pairs: Sequence[Mapping[str, Any]],
    estimator: str = "means",
) -> dict[str, Any] | None:
    """Return a note where comparisons are not the ratio, or difference, of the means shown, or not
    the balance of the counts. It names the pair that is furthest apart.

    `estimator`: "model" where the mixed model's comparisons are shown beside its means.
    """
    means = {system["system"]: system["headline"].value for system in systems}
    by_model = list_model_means(systems) if estimator == "model" else {}
    furthest, facts = _APART, {}
    for pair in pairs:
        is_modelled = by_model and is_by_model(pair["effect"])
        shown = _find_shown(pair, by_model if is_modelled else means)
        compared = pair["effect"].value
        if shown is None or compared is None:
            continue
        is_ratio = pair["effect"].name == "ratio"
        apart = abs(compared / shown - 1) if is_ratio and shown else abs(compared - shown)
        if apart > furthest:
            furthest = apart
            facts = {
                "system_1": pair["system_1"],
                "system_2": pair["system_2"],
                "effect": pair["effect"].name,
                "has_counts": bool(pair["counts"]),
                "shown": shown,
                "compared": compared,
            }
    return make_note("weighing", **facts) if facts else None


def _find_shown(pair: Mapping[str, Any], means: Mapping[str, float | None]) -> float | None:
    """Return what the means, or the counts, that are shown say of this comparison."""
    if counts := pair["counts"]:
        return float((counts["wins"] - counts["losses"]) / sum(counts.values()))
    first, second = means.get(pair["system_1"]), means.get(pair["system_2"])
    if first is None or second is None:
        return None
    if pair["effect"].name == "ratio":
        return first / second if second else pair["effect"].value
    return first - second


def find_estimator(systems: Sequence[Mapping[str, Any]], pairs: Sequence[Mapping[str, Any]]) -> str:
    """Return what comparisons are based on: "model", the means of the mixed model; "means", those
    of all ratings."""
    known = list_model_means(systems)
    compared = [
        known.get(pair[side])
        for pair in pairs
        if is_by_model(pair["effect"])
        for side in ("system_1", "system_2")
    ]
    return "model" if compared and None not in compared else "means"


def list_model_means(systems: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Return the mean of each system by the mixed model."""
    return {
        system["system"]: figure.value
        for system in systems
        for figure in system.get("averages", ())
        if figure.name in MODEL_MEANS
    }


def is_by_model(effect: Figure) -> bool:
    """Return whether the comparison is of means by the mixed model."""
    return effect.method == REML and effect.value is not None


# --- pairs on which other tests disagree with each other, or with the comparison ---------------

_LEAST_DIFFERENCES = 6  # with fewer differences even the smallest p value of sign flips is above 5%

Pair = Mapping[str, Any]


def list_disagreeing(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Return the pairs on which a rank test and a test of means, both over inputs, disagree."""
    return [
        {
            "system_1": pair["system_1"],
            "system_2": pair["system_2"],
            "p_ranks": over[0],
            "p_means": over[1],
        }
        for pair in pairs
        if (over := _read(pair)) and _differ(*over)
    ]


def _read(pair: Pair) -> tuple[float, float] | None:
    """Return p of the rank test and of the sign flips of means; None where there are too few
    differences."""
    checks: dict[str, Figure] = {check.name: check for check in pair["checks"]}
    rank, means = checks.get("wilcoxon"), checks.get("sign_flip")
    if (
        rank is None
        or means is None
        or rank.n["items"] - rank.n.get("zeros", 0) < _LEAST_DIFFERENCES
    ):
        return None
    p_ranks, p_means = rank.details.get("p"), means.details.get("p")
    return None if p_ranks is None or p_means is None else (p_ranks, p_means)


def _differ(p: float, other_p: float) -> bool:
    return (p < 1 - LEVEL) != (other_p < 1 - LEVEL)
