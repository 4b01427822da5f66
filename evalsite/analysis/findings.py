"""The finding of a comparison of two systems: a code and its facts, which claim no more than the
comparison shows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalsite.analysis.direction import Better
from evalsite.analysis.figure import REML, Figure, Reason, make_note
from evalsite.analysis.intervals import ALWAYS_EQUAL, has_no_spread

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
        spread=_describe_spread(effect),
    )


def _describe_spread(effect: Figure) -> dict[str, Any] | None:
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
        "pairs": [_describe_pair(pair) for pair in criterion["pairs"]],
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


def _describe_pair(pair: Mapping[str, Any]) -> dict[str, Any]:
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
