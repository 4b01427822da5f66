"""Why a figure is as it is, by other figures of the same criterion: low agreement, and comparisons
that are not the ratio or the difference of the means shown, or the balance of the counts."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import sqrt
from typing import Any

from evalsite.analysis.disagreement import SHARES
from evalsite.analysis.figure import Figure, write_coefficient
from evalsite.analysis.reml import METHOD as REML

# below it, Krippendorff (2004) draws no conclusions from data
CUSTOMARY = 0.667
# of the variance that even use of all points would have: outputs below the first and the rest
# below the second are a narrow range
_NARROW_OUTPUTS, _NARROW_REST = 1 / 16, 1 / 4
# what rounding alone may set apart
_APART = 0.005
# what a system's mean by the mixed model is called
MODEL_MEANS = ("model_mean", "model_share")


def explain_disagreement(criterion: Mapping[str, Any]) -> Iterator[str]:
    """Where alpha is below the customary bound: offset of raters, narrow range, or the rest."""
    known = {one.name: one for one in criterion["agreement"] if one.value is not None}
    first = criterion["agreement"][0]
    if first.name not in known or first.value >= CUSTOMARY or not set(SHARES) <= set(known):
        return
    of_outputs, of_raters, of_rest = (float(known[key].details["variance"]) for key in SHARES)
    start = f"α is {write_coefficient(first.value)}, below {str(CUSTOMARY)[1:]}."
    if of_raters >= of_rest:
        yield f"{start} Raters vary more than the residual{_describe_iccs(known)}."
        return
    points = [float(one["value"]) for one in criterion.get("answers", [])]
    spread = (
        f"the standard deviation of outputs is {sqrt(of_outputs):.2f}, that of raters "
        f"{sqrt(of_raters):.2f}, that of the rest {sqrt(of_rest):.2f}"
    )
    if not points:
        yield f"{start} The residual varies more than raters do: {spread}."
        return
    step = min((high - low for low, high in pairwise(sorted(points))), default=1.0)
    even = step**2 * (len(points) ** 2 - 1) / 12
    scale = f"with all points used equally often it would be {sqrt(even):.2f}"
    is_narrow = of_outputs < _NARROW_OUTPUTS * even and of_rest < _NARROW_REST * even
    why = (
        "Outputs lie within a narrow range, and raters near one another"
        if is_narrow
        else "The residual varies more than raters do"
    )
    yield f"{start} {why}: {spread}; {scale}."


def _describe_iccs(known: Mapping[str, Figure]) -> str:
    if not {"ICC(C,1)", "ICC(A,1)"} <= set(known):
        return ""
    own, same = (float(known[name].value or 0.0) for name in ("ICC(C,1)", "ICC(A,1)"))
    return (
        " (offset of raters): ICC(C,1), which allows each rater a level of their own, is "
        f"{write_coefficient(own)}; ICC(A,1), which does not, is {write_coefficient(same)}"
    )


def explain_weighing(
    systems: Sequence[Mapping[str, Any]],
    pairs: Sequence[Mapping[str, Any]],
    estimator: str = "means",
) -> str:
    """A sentence where comparisons are not the ratio, or difference, of the means shown, or not the
    balance of the counts; "" where they are. It names the pair that is furthest apart.

    `estimator`: "model" where the mixed model's comparisons are shown beside its means.
    """
    means = {one["system"]: one["headline"].value for one in systems}
    by_model = list_model_means(systems) if estimator == "model" else {}
    furthest = (_APART, "")
    for pair in pairs:
        is_modelled = by_model and is_by_model(pair["effect"])
        found = _set_beside(pair, by_model if is_modelled else means)
        furthest = max(furthest, found or furthest)
    if not furthest[1]:
        return ""
    each = "counts take each answer once" if pairs[0]["counts"] else "means count each rating once"
    return (
        f"Comparisons weight raters and inputs; {each}. So the two can differ: for {furthest[1]}."
    )


def find_estimator(systems: Sequence[Mapping[str, Any]], pairs: Sequence[Mapping[str, Any]]) -> str:
    """What comparisons are made of: "model", the means of the mixed model; "means", those of all
    ratings."""
    known = list_model_means(systems)
    compared = [
        known.get(pair[side])
        for pair in pairs
        if is_by_model(pair["effect"])
        for side in ("system_1", "system_2")
    ]
    return "model" if compared and None not in compared else "means"


def list_model_means(systems: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """The mean of each system by the mixed model."""
    return {
        one["system"]: figure.value
        for one in systems
        for figure in one.get("averages", ())
        if figure.name in MODEL_MEANS
    }


def is_by_model(effect: Figure) -> bool:
    """Whether the comparison is one of means by the mixed model."""
    return effect.method == REML and effect.value is not None


def _set_beside(
    pair: Mapping[str, Any], means: Mapping[str, float | None]
) -> tuple[float, str] | None:
    """How far the comparison lies from what is shown of the two systems, and both in words."""
    names = f"{pair['system_1']} and {pair['system_2']}"
    found, counts = pair["effect"].value, pair["counts"]
    one, two = means.get(pair["system_1"]), means.get(pair["system_2"])
    if found is None:
        return None
    if counts:
        shown = (counts["wins"] - counts["losses"]) / sum(counts.values())
        phrases = f"the counts give a net win share of {shown * 100:.2f} percentage points"
        return abs(found - shown), f"{names}, {phrases} and the comparison gives {found * 100:.2f}"
    if one is None or two is None:
        return None
    is_ratio = pair["effect"].name == "ratio"
    shown = (one / two if two else found) if is_ratio else one - two
    apart = abs(found / shown - 1) if is_ratio and shown else abs(found - shown)
    # a share is shown in percent, its difference in percentage points
    unit = 100 if pair["effect"].name == "risk_difference" else 1
    what = "have a ratio of" if is_ratio else "differ by"
    phrases = f"the means shown {what} {shown * unit:.2f}"
    return apart, f"{names}, {phrases} and the comparison gives {found * unit:.2f}"
