"""What a criterion says where one rater's ratings count: what is seen, and nothing of others."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evalsite.analysis.figure import Figure
from evalsite.analysis.findings import write_size

_REST = "One rater says nothing about others, so nothing is tested."
_WORDS = {
    "difference": "rates {one} {size} points higher than {two}",
    "ratio": "rates {one} {size} times {two}",
    "risk_difference": "accepts {one} {size} percentage points more often than {two}",
    "net_win_share": (
        "prefers {one} to {two} more often than the reverse, by {size} percentage points"
    ),
}
_ALIKE = {
    "risk_difference": "accepts {one} and {two} equally often",
    "net_win_share": "prefers {one} to {two} as often as the reverse",
}
_NOTHING = {"0", "0.00"}
# of tests: what is left without them is what this rater did, and its interval over inputs
_TESTED = {"p", "t", "p_corrected", "correction", "family"}
_TESTS_OF_SYSTEMS = {"friedman", "mcnemar", "cochran_q"}
_OF_TESTS = {"models_disagree"}


def describe_of_one_rater(found: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a criterion without tests, ranks and tiers; sentences tell what this rater did.

    A test over inputs alone would call systems different as soon as the other raters are left out.
    """
    phrases = {
        **found,
        "systems": [one | {"rank": None, "cluster": None} for one in found["systems"]],
        "pairs": [_describe_pair(pair) for pair in found["pairs"]],
        "tests": [
            _drop_test(one)
            for one in found["tests"]
            if one.name.partition(", ")[0] not in _TESTS_OF_SYSTEMS
        ],
        "cautions": [code for code in found["cautions"] if code not in _OF_TESTS],
    }
    if order := found.get("order"):
        phrases["order"] = [one | {"rank": None, "tier": None} for one in order]
    return phrases


def _describe_pair(pair: Mapping[str, Any]) -> dict[str, Any]:
    effect: Figure = pair["effect"]
    effect = _drop_test(effect)
    kept = {**effect.details, "untested": "needs two raters"}
    untested = {"effect": replace(effect, details=kept), "checks": [], "detectable": None}
    if effect.value is None:
        return {**pair, **untested}
    text = _describe(str(pair["system_1"]), str(pair["system_2"]), effect)
    return {**pair, **untested, "finding": {"code": "one_rater", "text": text}}


def _drop_test(figure: Figure) -> Figure:
    kept = {key: one for key, one in figure.details.items() if key not in _TESTED}
    return replace(figure, details=kept)


def _describe(first: str, second: str, effect: Figure) -> str:
    is_higher = (effect.value or 0.0) >= (1 if effect.name == "ratio" else 0)
    one, two = (first, second) if is_higher else (second, first)
    size = write_size(effect, is_higher=is_higher)
    is_alike = size == "1.00" if effect.name == "ratio" else size in _NOTHING
    words = _ALIKE.get(effect.name, "rates {one} and {two} alike on average") if is_alike else ""
    words = words or _WORDS[effect.name]
    return f"This one rater {words.format(one=one, two=two, size=size)}. {_REST}"
