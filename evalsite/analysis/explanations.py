"""Explain comparisons that aren't the ratio or the difference of the means shown, or the balance of
the counts."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalsite.analysis.figure import REML, Figure, make_note

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
