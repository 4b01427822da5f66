"""What a comparison of two systems says, as a sentence that claims no more than it shows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalsite.analysis.figure import Figure, Reason
from evalsite.analysis.intervals import ALWAYS_EQUAL, has_no_spread
from evalsite.analysis.reml import METHOD as REML

ALPHA = 0.05
MOST_TOLD = 0.9994  # a p value that rounds to 1 is reported as near it
_WORDS = {
    "difference": ("is rated {size} points higher than {second}", "the difference is {value}"),
    "ratio": ("is rated {size} times as high as {second}", "the ratio is {value}"),
    "risk_difference": (
        "is accepted {size} percentage points more often than {second}",
        "the difference is {value} percentage points",
    ),
    "net_win_share": (
        "is preferred to {second} more often than the reverse, by {size} percentage points{of}",
        "the net win share is {value} percentage points",
    ),
}
_IN_PERCENT = {"risk_difference", "net_win_share"}
# where every difference is the same: of the whole scale, and of less
_ALWAYS = {
    "difference": "is rated {size} points higher than {second}",
    "ratio": "is rated {size} times as high as {second}",
    "risk_difference": "is accepted {size} percentage points more often than {second}",
    "net_win_share": "is preferred to {second} by {size} percentage points of all answers",
}
_ALWAYS_WHOLLY = {
    "risk_difference": "is accepted and {second} is not",
    "net_win_share": "is preferred to {second}",
}

# what the sign flips are of
_UNITS = {
    "inputs": ("input", "inputs"),
    "clusters": ("cluster of inputs", "clusters of inputs"),
    "raters": ("rater", "raters"),
}


def order_pairs(
    pairs: Sequence[dict[str, Any]], systems: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The pairs by rank, the best system against the next first; `systems` are sorted by rank."""
    rank = {one["system"]: place for place, one in enumerate(systems)}

    def places(pair: dict[str, Any]) -> list[int]:
        return sorted((rank[pair["system_1"]], rank[pair["system_2"]]))

    return sorted(pairs, key=places)


def describe_finding(first: str, second: str, effect: Figure) -> dict[str, str]:
    """Code and sentence of a comparison; `effect` is of `first` over or minus `second`.

    "higher" or "lower" only where the corrected p is below .05. A test that found nothing is never
    reported as equality.
    """
    found = _describe(first, second, effect)
    if effect.value is not None and effect.details.get("only") == "one_input":
        found["text"] += " This holds on this input only."
    if effect.value is not None and effect.details.get("is_exploratory"):
        found["text"] += " Exploratory: the plan doesn't name this comparison."
    return found


def _describe(first: str, second: str, effect: Figure) -> dict[str, str]:
    if effect.value is None:
        why = effect.details.get("why") or _explain(effect.reason)
        return {"code": "undefined", "text": f"{first} and {second} can't be compared: {why}."}
    p = effect.details.get("p_corrected")
    if has_no_spread(effect):
        return _describe_always(first, second, effect, p)
    if p is None or p >= ALPHA:
        return {"code": "not_enough", "text": _describe_open(first, second, effect)}
    is_higher = effect.value > (1 if effect.name == "ratio" else 0)
    one, two = (first, second) if is_higher else (second, first)
    # a mixed model weighs answers: its balance is not that of the counts
    of = "" if effect.method == REML else " of all answers"
    size = write_size(effect, is_higher=is_higher)
    words = _WORDS[effect.name][0].format(size=size, second=two, of=of)
    known = _describe_estimator(effect) + _interval(effect, is_higher)
    return {
        "code": "higher" if is_higher else "lower",
        "text": f"{one} {words} ({known}corrected p {write_p(p)}).",
    }


def _describe_always(first: str, second: str, effect: Figure, p: float | None) -> dict[str, str]:
    """Return the sentence for differences that are all equal, so that chance can't be estimated."""
    if effect.details["note"] != ALWAYS_EQUAL:
        return {
            "code": "not_enough",
            "text": f"{first} and {second} come out equal "
            f"{_describe_where(effect, 'with')}, so there "
            "is nothing to test. That is not proof that they are equally good.",
        }
    where = _describe_where(effect, "by")
    is_higher = (effect.value or 0.0) > (1 if effect.name == "ratio" else 0)
    one, two = (first, second) if is_higher else (second, first)
    is_whole = effect.name in _ALWAYS_WHOLLY and abs(effect.value or 0.0) == 1
    words = (_ALWAYS_WHOLLY if is_whole else _ALWAYS)[effect.name]
    phrases = words.format(size=write_size(effect, is_higher=is_higher), second=two)
    exactly = "" if is_whole else "exactly so much "
    by = f"corrected p {write_p(p)}, " if p is not None else ""
    number, (one_unit, units) = effect.details.get("units", 0), _find_units(effect)
    known = f"({by}by sign flips over {number:,} {one_unit if number == 1 else units})"
    if p is None or p >= ALPHA:
        return {
            "code": "not_enough",
            "text": f"No clear difference between {first} and {second}: "
            f"{one} {phrases}, {exactly}"
            f"{where}, but too few {units} show it {known}.",
        }
    return {
        "code": "higher" if is_higher else "lower",
        "text": f"{one} {phrases}, {exactly}{where} {known}.",
    }


def _find_units(effect: Figure) -> tuple[str, str]:
    return _UNITS[effect.details.get("units_of", "inputs")]


def _describe_where(effect: Figure, by: str) -> str:
    """Where a difference without spread is so: everywhere, or only in the means of its units."""
    if not effect.details.get("of_means"):
        has_raters = effect.n.get("raters", 0) > 1
        return f"{by} every rater on every input" if has_raters else "on every input"
    unit = _find_units(effect)[0]
    before = {"cluster of inputs": "in", "rater": by}.get(unit, "on")
    return f"on average {before} every {unit}"


def _describe_open(first: str, second: str, effect: Figure) -> str:
    words = _WORDS[effect.name][1].format(value=_write(effect.value, effect.name))
    p = effect.details.get("p_corrected")
    known = _describe_estimator(effect) + (_interval(effect, True) or _describe_unbounded(effect))
    known += "" if p is None else f"corrected p {write_p(p)}"
    text = f"No clear difference between {first} and {second}: {words}"
    text += f" ({known.removesuffix(', ')})." if known else "."
    return text + _describe_correction(effect, p)


def _describe_estimator(effect: Figure) -> str:
    """That the effect is one of means by the mixed model, not of the means of all ratings."""
    return "mixed model, " if effect.method == REML else ""


def _describe_correction(effect: Figure, p: float | None) -> str:
    """Say why a pair has no clear difference though its own interval leaves out equality."""
    alone, family = effect.details.get("p"), effect.details.get("family") or 0
    if p is None or alone is None or alone >= ALPHA or family < 2:
        return ""
    return f" The interval is for this pair alone, without the correction for {family} comparisons."


def write_size(effect: Figure, *, is_higher: bool) -> str:
    """How large the effect is, without a sign, seen from the system that is named first."""
    value = effect.value or 0.0
    if effect.name == "ratio":
        return _write(value if is_higher else 1 / value, "ratio")
    return _write(abs(value), effect.name)


def _describe_unbounded(effect: Figure) -> str:
    """Why a difference with a p value has no interval beside it: "no interval: ..., "."""
    if effect.details.get("interval") != f"none: {Reason.TOO_FEW}":
        return ""
    return "no interval, since so few ratings allow every difference there can be, "


def _interval(effect: Figure, is_higher: bool) -> str:
    """ "95% CI 0.1 to 0.4, ", seen from the system that is named first."""
    if effect.low is None or effect.high is None:
        return ""
    low, high = effect.low, effect.high
    if not is_higher:
        low, high = (1 / high, 1 / low) if effect.name == "ratio" else (-high, -low)
    bounds = f"{_write(low, effect.name)} to {_write(high, effect.name)}"
    return f"{effect.level:.0%} CI {bounds}, "


def _write(value: float | None, name: str) -> str:
    if value is None:
        return ""
    number = round(value * 100) if name in _IN_PERCENT else round(value, 2)
    # a zero has no sign: what rounds to it does not either
    text = f"{number + 0}" if name in _IN_PERCENT else f"{number + 0.0:.2f}"
    return text.replace("-", "−")


def write_p(p: float) -> str:
    """ "= .023", "< .001" or "> .999"."""
    if p > MOST_TOLD:
        return "> .999"
    return "< .001" if p < 0.001 else f"= {p:.3f}".replace("0.", ".", 1)


_REASONS: dict[Any, str] = {
    Reason.NO_DATA: "there are no ratings of both",
    Reason.NO_VARIATION: "all ratings are equal",
    Reason.TOO_FEW: "there are too few ratings",
    Reason.NO_OVERLAP: "nothing links their ratings",
}


def _explain(reason: Reason | None) -> str:
    return _REASONS.get(reason, str(reason).replace("_", " "))


# --- ratings by one rater -----------------------------------------------------------------------

_REST = "One rater says nothing about others, so nothing is tested."
_BY_ONE = {
    "difference": "rates {one} {size} points higher than {two}",
    "ratio": "rates {one} {size} times {two}",
    "risk_difference": "accepts {one} {size} percentage points more often than {two}",
    "net_win_share": (
        "prefers {one} to {two} more often than the reverse, by {size} percentage points"
    ),
}
_ALIKE_BY_ONE = {
    "risk_difference": "accepts {one} and {two} equally often",
    "net_win_share": "prefers {one} to {two} as often as the reverse",
}
_NO_SIZE = {"0", "0.00"}
# of tests: what is left without them is what this rater did, and its interval over inputs
_TESTED = {"p", "t", "p_corrected", "p_within", "correction", "family", "family_within"}
_TESTS_OF_SYSTEMS = {"friedman", "mcnemar", "cochran_q"}
_OF_TESTS = {"models_disagree"}


def describe_of_one_rater(found: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a criterion without tests, ranks and tiers; sentences tell what this rater did.

    A test over inputs alone would call systems different as soon as the other raters are left out.
    """
    phrases = {
        **found,
        "margins": [],
        "joint": None,
        "detectable": None,
        "systems": [
            one | {"rank": None, "rank_raw": None, "cluster": None} for one in found["systems"]
        ],
        "pairs": [_describe_pair(pair) for pair in found["pairs"]],
        "tests": [
            _drop_test(one)
            for one in found["tests"]
            if one.name.partition(", ")[0] not in _TESTS_OF_SYSTEMS
        ],
        "cautions": {
            code: facts for code, facts in found["cautions"].items() if code not in _OF_TESTS
        },
    }
    if order := found.get("order"):
        phrases["order"] = [one | {"rank": None, "tier": None} for one in order]
    return phrases


def _describe_pair(pair: Mapping[str, Any]) -> dict[str, Any]:
    effect: Figure = pair["effect"]
    effect = _drop_test(effect)
    kept = {**effect.details, "untested": "needs two raters"}
    untested = {"effect": replace(effect, details=kept), "checks": [], "own": None}
    if effect.value is None:
        return {**pair, **untested}
    text = _describe_one_rater(str(pair["system_1"]), str(pair["system_2"]), effect)
    return {**pair, **untested, "finding": {"code": "one_rater", "text": text}}


def _drop_test(figure: Figure) -> Figure:
    kept = {key: one for key, one in figure.details.items() if key not in _TESTED}
    return replace(figure, details=kept)


def _describe_one_rater(first: str, second: str, effect: Figure) -> str:
    is_higher = (effect.value or 0.0) >= (1 if effect.name == "ratio" else 0)
    one, two = (first, second) if is_higher else (second, first)
    size = write_size(effect, is_higher=is_higher)
    is_alike = size == "1.00" if effect.name == "ratio" else size in _NO_SIZE
    words = (
        _ALIKE_BY_ONE.get(effect.name, "rates {one} and {two} alike on average") if is_alike else ""
    )
    words = words or _BY_ONE[effect.name]
    return f"This one rater {words.format(one=one, two=two, size=size)}. {_REST}"
