"""Strengths of systems from preferences, with intervals, rank ranges and clusters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from evalsite.analysis.clusters import certainly_above, find_clusters, order_ranges, rank_ranges
from evalsite.analysis.davidson import (
    DavidsonFit,
    compare_with_fit,
    drop_ties,
    fit_davidson,
    fit_draws,
)
from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined
from evalsite.analysis.newton import FAR
from evalsite.analysis.resample import describe_draws

Floats = NDArray[np.float64]

DAVIDSON = "davidson"
PENALISED = "penalised_davidson"
BRADLEY_TERRY = "bradley_terry"


@dataclass(frozen=True, kw_only=True)
class Strengths:
    """The fitted models as figures.

    `strengths`: log strengths that sum to 0, with the share won among decided answers against a
    system of average strength in the details. `penalised` is filled only where the plain model has
    no finite answer, and `bradley_terry` drops the ties. Rank ranges and clusters come from the
    plain model, from simultaneous intervals, and never claim more than the tests of pairs do: see
    `find_strengths`. `expected` compares the plain model with what was observed.
    """

    strengths: dict[str, Figure]
    penalised: dict[str, Figure]
    bradley_terry: dict[str, Figure]
    tie: Figure
    position: Figure
    rank_ranges: dict[str, tuple[int, int]]
    clusters: list[list[str]]
    expected: dict[str, Any]
    fault: Reason | None


@dataclass(frozen=True, kw_only=True)
class _Drawn:
    """A fit and its bootstrap draws: log strengths that sum to 0."""

    fit: DavidsonFit
    method: str
    scores: Floats
    errors: Floats
    drawn: Floats  # (draws, systems)
    parameters: Floats  # (draws, parameters)


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """How often each pair of systems had each outcome: counts (systems, systems, 3), and those of
    each bootstrap draw (draws, ... , 3). `has_position`: the first system was on the left."""

    systems: Sequence[str]
    counts: Floats
    tables: Floats
    has_position: bool


def find_strengths(
    outcomes: Outcomes, is_upheld: NDArray[np.bool_], *, n: Mapping[str, int], seed: int
) -> Strengths:
    """Fit the models.

    Separated or disconnected comparisons: every strength has that reason. `is_upheld[i, j]`: the
    test of this pair finds i above j. A system ranks certainly above another where the simultaneous
    interval of their strengths says so and the test of the pair confirms it. If the two were never
    compared directly, the interval is enough, but only if the model can be checked and fits.
    """
    systems, counts, tables = outcomes.systems, outcomes.counts, outcomes.tables
    has_position = outcomes.has_position
    plain = _fit(counts, tables, has_position=has_position, method=DAVIDSON)
    soft = None
    if plain == Reason.SEPARATED:
        soft = _fit(counts, tables, has_position=has_position, method=PENALISED)
    bare = _fit(drop_ties(counts), tables, has_position=False, method=BRADLEY_TERRY)
    expected: dict[str, Any] = {}
    if not isinstance(plain, Reason):
        expected = compare_with_fit(plain.fit, counts, list(systems), tables, plain.parameters)
    may_claim = _may_claim(counts, expected, is_upheld)
    ranges, clusters = _rank(systems, plain, may_claim)
    return Strengths(
        strengths=_figures(systems, plain, DAVIDSON, n, seed),
        penalised={} if soft is None else _figures(systems, soft, PENALISED, n, seed),
        bradley_terry=_figures(systems, bare, BRADLEY_TERRY, n, seed),
        tie=_tie(plain, n, seed),
        position=_position(plain, has_position, n, seed),
        rank_ranges=ranges,
        clusters=clusters,
        expected=expected,
        fault=plain if isinstance(plain, Reason) else None,
    )


def _fit(counts: Floats, tables: Floats, *, has_position: bool, method: str) -> _Drawn | Reason:
    fit = fit_davidson(counts, has_position=has_position, is_penalised=method == PENALISED)
    if isinstance(fit, Reason):
        return fit
    s = fit.systems
    turn = np.eye(s) - 1 / s
    covariance = np.zeros((s, s))
    covariance[1:, 1:] = fit.covariance[: s - 1, : s - 1]
    parameters = fit_draws(fit, counts, tables)
    strengths = np.hstack([np.zeros((len(tables), 1)), parameters[:, : s - 1]])
    return _Drawn(
        fit=fit,
        method=method,
        scores=turn @ fit.strengths,
        errors=np.sqrt(np.diag(turn @ covariance @ turn)),
        drawn=strengths - strengths.mean(axis=1, keepdims=True),
        parameters=parameters,
    )


def _figures(
    systems: Sequence[str], model: _Drawn | Reason, method: str, n: Mapping[str, int], seed: int
) -> dict[str, Figure]:
    if isinstance(model, Reason):
        return {system: undefined("log_strength", model, method=method, n=n) for system in systems}
    figures = {}
    for place, system in enumerate(systems):
        score = float(model.scores[place])
        low, high, details = _interval(model.drawn[:, place], score)
        details["beats_average"] = float(expit(score))
        details["se_hessian"] = float(model.errors[place])
        figures[system] = Figure(
            name="log_strength", method=method, value=score, low=low, high=high, n=n, seed=seed,
            details=details,
        )  # fmt: skip
    return figures


def _interval(drawn: Floats, value: float) -> tuple[float | None, float | None, dict[str, object]]:
    """Return the percentile interval; an end at which draws have no finite strength is None."""
    interval = describe_draws(drawn, value)
    details: dict[str, object] = dict(interval.details)
    endless = int((np.abs(drawn) > FAR).sum())
    if endless:
        details["draws_without_end"] = endless
        details.pop("se_bootstrap", None)
    low, high = (None if e is None or abs(e) > FAR else e for e in (interval.low, interval.high))
    return low, high, details


def _one(
    name: str, value: float, drawn: Floats, n: Mapping[str, int], seed: int, **known: object
) -> Figure:
    low, high, details = _interval(drawn, value)
    return Figure(
        name=name, method=DAVIDSON, value=value, low=low, high=high, n=n, seed=seed,
        details=details | known,
    )  # fmt: skip


def _tie(model: _Drawn | Reason, n: Mapping[str, int], seed: int) -> Figure:
    """Return the probability of a tie between equals, from nu."""
    if isinstance(model, Reason):
        return undefined("tie_chance", model, method=DAVIDSON, n=n)
    if not model.fit.has_ties:
        details = {"nu": 0.0, "interval": "no_tie_seen"}
        return Figure(name="tie_chance", method=DAVIDSON, value=0.0, n=n, details=details)
    nu, drawn = model.fit.nu, np.exp(model.parameters[:, model.fit.systems - 1])
    return _one("tie_chance", nu / (2 + nu), drawn / (2 + drawn), n, seed, nu=nu)


def _position(
    model: _Drawn | Reason, has_position: bool, n: Mapping[str, int], seed: int
) -> Figure:
    """Return the probability that the left of two equals wins among decided answers."""
    if not has_position:
        reason = Reason.PLACES_UNKNOWN
        return undefined("left_chance", reason, method="positions_not_modelled", n=n)
    if isinstance(model, Reason):
        return undefined("left_chance", model, method=DAVIDSON, n=n)
    log_odds = float(model.fit.position or 0.0)
    chances = expit(model.parameters[:, -1])
    return _one("left_chance", float(expit(log_odds)), chances, n, seed, log_odds=log_odds)


def _may_claim(
    counts: Floats, expected: Mapping[str, Any], is_upheld: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    met = counts.sum(axis=2) > 0
    is_compared = met | met.T
    upheld = is_compared & is_upheld
    return np.asarray(upheld | ~is_compared if does_fit(expected) else upheld)


def does_fit(expected: Mapping[str, Any]) -> bool:
    """Return whether the model was checked and not rejected."""
    p = expected.get("p")
    return p is not None and p >= 1 - LEVEL


def _rank(
    systems: Sequence[str], model: _Drawn | Reason, may_claim: NDArray[np.bool_]
) -> tuple[dict[str, tuple[int, int]], list[list[str]]]:
    if isinstance(model, Reason):
        return {}, []
    above = certainly_above(model.drawn)
    if above is None:
        return {}, []
    above &= may_claim
    clusters = find_clusters(model.scores, above)
    ranges = dict(zip(systems, rank_ranges(above), strict=True))
    return (
        order_ranges(dict(zip(systems, model.scores.tolist(), strict=True)), ranges),
        [[systems[system] for system in part] for part in clusters],
    )
