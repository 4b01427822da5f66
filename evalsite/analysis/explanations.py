"""Explain figures by other figures of the same criterion: low agreement, and comparisons that
aren't the ratio or the difference of the means shown, or the balance of the counts."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import sqrt
from typing import Any

from evalsite.analysis.components import SHARES
from evalsite.analysis.figure import REML, Figure, make_note

# below it, Krippendorff (2004) draws no conclusions from data
CUSTOMARY = 0.667
# of the variance that even use of all points would have: outputs below the first and the rest
# below the second are a narrow range
_NARROW_OUTPUTS, _NARROW_REST = 1 / 16, 1 / 4
# differences up to this may be due to rounding
_APART = 0.005
# names of a system's mean by the mixed model
MODEL_MEANS = ("model_mean", "model_share")


def explain_disagreement(criterion: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield why alpha is below the customary bound: offsets of raters, a narrow range, or noise."""
    known = {figure.name: figure for figure in criterion["agreement"] if figure.value is not None}
    first = criterion["agreement"][0]
    if first.name not in known or first.value >= CUSTOMARY or not set(SHARES) <= set(known):
        return
    of_outputs, of_raters, of_rest = (float(known[key].details["variance"]) for key in SHARES)
    facts: dict[str, Any] = {"alpha": first.value, "bound": CUSTOMARY}
    if of_raters >= of_rest:
        if {"ICC(C,1)", "ICC(A,1)"} <= set(known):
            facts |= {"icc_c": known["ICC(C,1)"].value, "icc_a": known["ICC(A,1)"].value}
        yield make_note("low_alpha_by_offset", **facts)
        return
    facts |= {"outputs": sqrt(of_outputs), "raters": sqrt(of_raters), "rest": sqrt(of_rest)}
    points = [float(answer["value"]) for answer in criterion.get("answers", [])]
    if not points:
        yield make_note("low_alpha_by_noise", **facts)
        return
    step = min((high - low for low, high in pairwise(sorted(points))), default=1.0)
    even = step**2 * (len(points) ** 2 - 1) / 12
    is_narrow = of_outputs < _NARROW_OUTPUTS * even and of_rest < _NARROW_REST * even
    code = "low_alpha_by_range" if is_narrow else "low_alpha_by_noise"
    yield make_note(code, **facts, even=sqrt(even))


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
