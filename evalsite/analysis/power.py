"""Power: how often a design finds a true difference, by simulated studies.

A study is drawn from variance parts (a pilot's, or typical ones), shown on the scale of the
protocol, and tested as results are: one system is ahead of all others, which are equal; raters and
inputs vary alike between systems, so their mean squares are pooled over all of these; p values are
corrected by Holm over the comparisons that are planned. A closed form for two systems in complete
designs serves as a check (Westfall, Judd & Kenny 2014); it isn't valid below five raters. The
smaller of the numbers of items and raters limits power.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from evalsite.analysis.effects import wilson_share
from evalsite.analysis.families import find_planned, get_numbers, list_planners
from evalsite.analysis.families.numbers import Design, Parts, Truth
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.intervals import Resampling, detectable, power_of_t
from evalsite.analysis.ratings import Floats

ALPHA = 0.05
_CELLS = 2_000_000  # numbers held at once

# by simulation, typical parts: guesses of the size seen in the reference tables, to be replaced by
# a pilot's
PRESETS: dict[str, Parts] = {
    name: Parts(**planner.sources[0].parts) for name, planner in list_planners().items()
}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What simulated studies of one design found.

    `power`: how often one planned comparison is found after correction, with its Monte-Carlo
    interval; `alone`: without correction; `best`: how often the system ahead is found above every
    other. `width` the mean width of the 95% interval; `sign_error`
    the share of significant results on the wrong side and `exaggeration` how many times too large
    they are on average (Gelman & Carlin 2014); `difference` on the scale as shown.
    """

    design: Design
    power: Figure
    alone: Figure
    best: Figure
    width: Figure
    sign_error: Figure
    exaggeration: Figure
    difference: float
    closed_form: float | None


def closed_form(parts: Parts, design: Design, difference: float) -> tuple[float, float, float]:
    """Return power, degrees of freedom and standard error of the crossed test in a complete design.

    Good from five raters; no floors or rounding of the scale.
    """
    p, q = design.raters, design.items
    item, rater, rest = (2 * s**2 for s in (parts.item_system, parts.rater_system, parts.residual))
    ms_item, ms_rater = rest + p * item, rest + q * rater
    below = ms_item**2 / (q - 1) + ms_rater**2 / (p - 1) + rest**2 / ((p - 1) * (q - 1))
    df = (ms_item + ms_rater - rest) ** 2 / below
    se = sqrt(item / q + rater / p + rest / (p * q))
    return power_of_t(difference, se=se, df=df), df, se


def smallest_difference(parts: Parts, design: Design, *, power: float = 0.8) -> float:
    """Return the smallest true difference that the design finds with this power, by the closed
    form.

    With gaps the same form, with the ratings that there are.
    """
    seen = design.shown().sum(axis=1)
    total, p, q = float(seen.sum()), design.raters, design.items
    item = 2 * parts.item_system**2 / q
    rater = 2 * parts.rater_system**2 * float((seen**2).sum()) / total**2
    rest = 2 * parts.residual**2 / total
    variance = item + rater + rest
    if total == q and p > 1:  # one rating for each output: items and residual are one
        below = rater**2 / (p - 1) + (item + rest) ** 2 / max(total - p, 1)
    else:
        below = (item + rest) ** 2 / (q - 1) + (rater + rest) ** 2 / (p - 1)
        below += rest**2 / max(total - p - q + 1, 1)
    return detectable(se=sqrt(variance), df=max(variance**2 / below, 1.0), power=power)


@dataclass(frozen=True, kw_only=True)
class Comparisons:
    """Which p values are corrected: of how many pairs, first those with the system that differs (0:
    all), and those of other criteria, in which nothing is found."""

    named: int = 0
    further: int = 0


ALL_PAIRS = Comparisons()
STUDIES = Resampling(draws=1000)


def plan(
    design: Design, truth: Truth, *, scale: str = "likert", tests: Comparisons = ALL_PAIRS,
    resampling: Resampling = STUDIES,
) -> Plan:  # fmt: skip
    """Simulate studies, each tested as results are, and return what they find.

    The true difference: latent points (Likert), logarithms (magnitude), a share (decisions), log
    odds among decided answers (pairs). Gaps in the design (`per_output`) are tested with variance
    parts by moments. Of pairs only two systems are drawn, and the correction is Bonferroni's: a
    little less power than Holm's. ValueError: a design of fewer than two raters or items, or fewer
    than one draw.
    """
    draws, systems = resampling.draws, truth.systems
    if min(design.items, design.raters) < 2 or design.ratings_per_output < 1 or draws < 1:
        raise ValueError("Plan with two raters and two items or more, each output rated once.")
    numbers = get_numbers(find_planned(scale))
    tested: list[_Tested] = []
    shown = design.shown()
    batch = max(1, _CELLS // (systems * design.items * design.raters))
    rng = np.random.default_rng(resampling.seed)
    for start in range(0, draws, batch):
        rows = min(batch, draws - start)
        values = numbers.simulate(rng, design, truth, rows)
        tested.append(_test(values, shown, systems * (systems - 1) // 2, tests))
    whole = _Tested(
        **{name: np.concatenate([vars(part)[name] for part in tested]) for name in vars(tested[0])}
    )
    closed = None
    if design.is_complete and numbers.has_closed_form and systems == 2:
        closed = closed_form(truth.parts, design, truth.difference)[0]
    return _summarise(design, whole, truth.difference, closed, resampling.seed)


@dataclass(frozen=True, kw_only=True)
class _Tested:
    """For each simulated study: the comparison of the system ahead, and what was found."""

    mean: Floats
    se: Floats
    df: Floats
    plain: Floats  # the difference with every rater on every item
    is_alone: NDArray[np.bool_]
    is_found: NDArray[np.bool_]
    is_best: NDArray[np.bool_]


def _join(parts: Sequence[_Tested]) -> _Tested:
    names = vars(parts[0])
    return _Tested(**{name: np.concatenate([vars(part)[name] for part in parts]) for name in names})


def _test(values: Floats, shown: NDArray[np.bool_], compared: int, tests: Comparisons) -> _Tested:
    """Test every pair of each study (studies, systems, raters, items); of preferences, which are
    those of one pair, `compared` pairs are tested."""
    count, named, further = values.shape[1], tests.named, tests.further
    if count == 1:  # outcomes of a pair
        contrasts, scale = values, 1.0
        apart = _average(values, shown)
        plain = values.mean(axis=(-2, -1))[:, 0]
        pairs = [(-1, 0)]
    else:
        contrasts, scale = _contrast(values), 2.0
        means = _average(values, shown)
        pairs = list(combinations(range(count), 2))
        apart = np.stack([means[:, n] - means[:, m] for m, n in pairs], axis=1)
        plain = (values[:, -1] - values[:, 0]).mean(axis=(-2, -1))
    variance, df = _pool(contrasts, shown)
    se = np.sqrt(scale * variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(se[:, None] > 0, np.abs(apart) / se[:, None], 0.0)
    p = 2 * special.stdtr(df[:, None], -t)
    # for outcomes only one of the compared pairs is drawn
    corrected = _correct(p, further + compared - len(pairs))
    first = next(place for place, (m, n) in enumerate(pairs) if n in (0, count - 1) and m < 1)
    ahead = [place for place, (_, n) in enumerate(pairs) if n == count - 1 or count == 1]
    planned = list(dict.fromkeys([first, *ahead, *range(len(pairs))]))[: named or len(pairs)]
    # of preferences, those that are named but not drawn
    more = max(named - len(pairs), 0) if named else compared - len(pairs)
    return _Tested(
        mean=apart[:, first],
        se=se,
        df=df,
        plain=plain,
        is_alone=p[:, first] < ALPHA,
        is_found=_correct(p[:, planned], further + more)[:, 0] < ALPHA,
        is_best=np.asarray(((corrected[:, ahead] < ALPHA) & (apart[:, ahead] > 0)).all(axis=1)),
    )


def _correct(p: Floats, more: int) -> Floats:
    """Correct each row by Holm, with `more` further tests in which nothing is found."""
    count = p.shape[1]
    order = p.argsort(axis=1)
    factors = np.arange(count, 0, -1) + more
    sorted_p = np.maximum.accumulate(np.take_along_axis(p, order, axis=1) * factors, axis=1)
    corrected = np.empty_like(p)
    np.put_along_axis(corrected, order, np.minimum(sorted_p, 1.0), axis=1)
    return corrected


def _average(values: Floats, shown: NDArray[np.bool_]) -> Floats:
    """Return the mean of each system's available ratings (studies, systems)."""
    return np.asarray((values * shown).sum(axis=(-2, -1)) / shown.sum())


def _contrast(values: Floats) -> Floats:
    """Return orthonormal contrasts of the systems (studies, systems - 1, raters, items)."""
    count = values.shape[1]
    helmert = np.tril(np.ones((count, count)), -1)[1:]
    for row, place in zip(helmert, range(1, count), strict=True):
        row[place] = -place
        row /= sqrt(place * (place + 1))
    return np.einsum("cs,xsri->xcri", -helmert, values)


def _pool(contrasts: Floats, shown: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the variance of the mean of a contrast, and degrees of freedom, pooled over the
    contrasts."""
    count = contrasts.shape[1]
    if not shown.all():
        return pool_moments(contrasts, shown)
    raters, items = contrasts.shape[-2:]
    squares = [square.mean(axis=1) for square in mean_squares(contrasts)[1:]]
    return find_error(squares, raters=raters, items=items, contrasts=count)


def _expect_forms(seen: Floats) -> Floats:
    """Return the coefficients of the variance parts in the sums of squares by rater, by item and of
    all (forms, parts)."""
    by_rater, by_item, total = seen.sum(axis=1), seen.sum(axis=0), seen.sum()
    rater, item = (by_rater**2).sum() / total, (by_item**2).sum() / total
    mixed_rater = (seen**2 / by_item[None, :]).sum()
    mixed_item = (seen**2 / by_rater[:, None]).sum()
    expected = np.array(
        [
            [total - rater, mixed_item - item, len(by_rater) - 1],
            [mixed_rater - rater, total - item, len(by_item) - 1],
            [total - rater, total - item, total - 1],
        ]
    )
    if total == len(by_item):  # one rating for each output: items and residual are one
        expected[:, 1] = 0.0
    return expected


def pool_moments(contrasts: Floats, shown: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the variance of the mean of a contrast where not every rater sees every item, and its
    degrees of freedom.

    `contrasts`: (studies, contrasts, raters, items), used where `shown` (raters, items). Variance
    parts by Henderson's first method (quadratic forms, averaged over the contrasts, equated to what
    they are expected to be), kept from falling below 0; degrees of freedom by Satterthwaite over
    the parts.
    """
    count = contrasts.shape[1]
    seen = shown.astype(float)
    by_rater, by_item, total = seen.sum(axis=1), seen.sum(axis=0), seen.sum()
    d = np.where(shown, contrasts, 0.0)
    mean = d.sum(axis=(-2, -1)) / total
    d = np.where(shown, d - mean[..., None, None], 0.0)
    forms = np.stack(
        [
            (d.sum(axis=-1) ** 2 / by_rater).sum(axis=-1),
            (d.sum(axis=-2) ** 2 / by_item).sum(axis=-1),
            (d**2).sum(axis=(-2, -1)),
        ],
        axis=-1,
    ).mean(axis=1)
    rater, item = (by_rater**2).sum() / total, (by_item**2).sum() / total
    p, q = len(by_rater), len(by_item)
    part = np.maximum(forms @ np.linalg.pinv(_expect_forms(seen)).T, 0.0)
    pieces = part * np.array([rater, item, 1.0]) / total
    variance = np.maximum(pieces.sum(axis=1), 1e-300)
    freedom = count * np.array([p - 1, q - 1, max(total - p - (q - 1) * (total > q), 1)])
    # The residual is part of the errors of the other parts, as in the complete design; with one
    # rating for each item, items and residual are one part.
    extra = np.array([1.0, 1.0, 0.0]) if total > q else np.zeros(3)
    errors = pieces + pieces[:, 2:] * extra
    df = variance**2 / np.maximum((errors**2 / freedom).sum(axis=1), 1e-300)
    return variance, np.maximum(df, 1.0)


def _summarise(
    design: Design, tested: _Tested, difference: float, closed: float | None, seed: int
) -> Plan:
    mean, hit = tested.mean, tested.is_found
    truth = float(tested.plain.mean())
    n = {"studies": len(mean)}
    method = "simulated_studies"
    width = 2 * stats.t.ppf(0.975, tested.df) * tested.se
    wrong = int((np.sign(mean[hit]) != np.sign(difference)).sum())
    power, alone, best = (
        replace(wilson_share(int(is_hit.sum()), len(is_hit), name=name), seed=seed)
        for name, is_hit in (
            ("power", hit), ("power_alone", tested.is_alone), ("power_best", tested.is_best)
        )
    )  # fmt: skip
    sign, much = (
        undefined(name, Reason.NO_DATA, method=f"{method}+none_significant", n=n)
        for name in ("sign_error", "exaggeration")
    )
    if hit.any() and difference:
        sign = replace(wilson_share(wrong, int(hit.sum()), name="sign_error"), seed=seed)
        if truth:
            ratio = float(np.abs(mean[hit]).mean() / abs(truth))
            much = Figure(name="exaggeration", method=method, value=ratio, n=n, seed=seed)
    return Plan(
        design=design,
        power=power,
        alone=alone,
        best=best,
        width=Figure(
            name="interval_width", method=method, value=float(width.mean()), n=n, seed=seed
        ),
        sign_error=sign,
        exaggeration=much,
        difference=truth,
        closed_form=closed,
    )


def parts_of_variances(variances: Mapping[str, float], residual: float) -> Parts:
    """Return the variance parts of a pilot's mixed model (the terms of compare.compare_systems)."""

    def sd(name: str) -> float:
        return sqrt(max(variances.get(name, 0.0), 0.0))

    return Parts(
        rater=sd("rater"),
        item=sd("group"),
        item_system=sd("group:system"),
        rater_system=sd("rater:system"),
        residual=sqrt(residual),
    )


# --- the number of items ------------------------------------------------------------------------

MOST_ITEMS = 5000


def items_needed(
    parts: Parts,
    *,
    difference: float,
    raters: int,
    per_output: int | None = None,
    power: float = 0.8,
) -> int | None:
    """Return the fewest items with which `raters` find the difference with this power.

    None where MOST_ITEMS are not enough: raters who differ in which system they like set a limit
    that only more raters move. ValueError: no difference, or fewer than two raters.
    """
    if not difference or raters < 2:
        raise ValueError("Give a difference that is not 0, and two raters or more.")

    def finds(items: int) -> bool:
        design = Design(items=items, raters=raters, per_output=per_output)
        return smallest_difference(parts, design, power=power) <= abs(difference)

    low, high = 2, 4
    while not finds(high):
        low, high = high, high * 2
        if high > MOST_ITEMS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if finds(middle) else (middle, high)
    return low if low == 2 and finds(low) else high


# --- two systems in a crossed design: every rater rates every item under both ---------------------


def find_error(
    squares: Sequence[Floats], *, raters: int, items: int, contrasts: int = 1
) -> tuple[Floats, Floats]:
    """Return the variance of a mean difference and its degrees of freedom, from the mean squares of
    raters, of items, and of the residual, pooled over `contrasts`.

    Error = MS_item + MS_rater - MS_residual, never below MS_residual; degrees of freedom by
    Satterthwaite (Westfall, Judd & Kenny 2014).
    """
    ms_rater, ms_item, ms_rest = squares
    error = np.maximum(ms_item + ms_rater - ms_rest, ms_rest)
    below = ms_item**2 / (items - 1) + ms_rater**2 / (raters - 1)
    below = below + ms_rest**2 / ((raters - 1) * (items - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.where(below > 0, contrasts * error**2 / below, 1.0)
    return error / (raters * items), df


def mean_squares(differences: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return the mean, and the mean squares of raters, of items, and of the residual.

    `differences`: (..., raters, items), no gaps, at least two of each. Leading axes are kept: a
    batch of studies at once.
    """
    raters, items = differences.shape[-2:]
    mean = differences.mean(axis=(-2, -1))
    by_rater = differences.mean(axis=-1) - mean[..., None]
    by_item = differences.mean(axis=-2) - mean[..., None]
    rest = differences - mean[..., None, None] - by_rater[..., :, None] - by_item[..., None, :]
    ms_rater = items * (by_rater**2).sum(axis=-1) / (raters - 1)
    ms_item = raters * (by_item**2).sum(axis=-1) / (items - 1)
    ms_rest = (rest**2).sum(axis=(-2, -1)) / ((raters - 1) * (items - 1))
    return mean, ms_rater, ms_item, ms_rest
