"""The sentences of a gate: a function for each fact, so that none says more than its facts do."""

from collections.abc import Mapping
from datetime import datetime
from math import exp, log10
from typing import Any

from evalsite.analysis.findings import write_p

Facts = Mapping[str, Any]

_OUTCOMES = {
    "pass": "{system} is not worse than {other} by more than {by}",
    "fail": "{system} is worse than {other} by more than {by}",
    "undecided": "not shown that {system} is not worse than {other} by more than {by}",
}
_EXACT = {
    "constant": "every rater gives the same difference ({difference}) on every input, so there is "
    "no interval",
    "all_equal": "all ratings of the two are equal, so there is no interval",
}
_TOO_FEW = "; fewer than 3 raters or 10 inputs can't decide"
_REASONS = {
    "one_rater": "there is one rater, who says nothing about others",
    "no_data": "there are no ratings of both",
    "equal_means": "the ratings vary, but their difference is the same on average everywhere, "
    "which can't be tested against a margin",
    "too_few": "there are too few ratings for a test",
}


def write_gate(facts: Facts) -> str:
    """How the gate ended, as a paragraph."""
    sentences = [
        _write_outcome(facts),
        *write_slices(facts),
        _write_plan(facts),
        _write_raters(facts),
        _write_mapped(facts),
        _write_runs(facts),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def write_limit(test: Facts) -> str:
    """Why a margin can't be one of this scale, and what could be."""
    margin, limit = test["margin"], test["limit"]
    if test["scale"] == "ratio":
        return "The margin of magnitudes is a ratio above 1 and at most 2, such as 1.1."
    if test["scale"] == "share":
        return f"A margin of {margin:g} is too wide for a share. Use less than {limit:g}."
    if test["scale"] == "numbers":
        return (
            f"A margin of {margin:g} is too wide: the standard deviation of all ratings is "
            f"{limit:.4g}. Use less."
        )
    low, high = test["ends"]
    on = f"on a scale from {low:g} to {high:g}"
    # only the whole range lets every system pass
    why = "would pass any system" if margin >= high - low else "is too wide"
    return f"A margin of {margin:g} {on} {why}. Use less than {limit:g}."


def _write_outcome(facts: Facts) -> str:
    """What the test on all inputs found, which a slice may overrule."""
    test = facts["test"]
    start = f"Gate, {facts['criterion']}, {facts['outcome']}: "
    system, other = test["system"], test["other"]
    if test["outcome"] is None:
        why = _REASONS.get(test["reason"], str(test["reason"]).replace("_", " "))
        return f"{start}{system} can't be compared with {other} ({why})."
    by = f"a factor of {test['margin']:g}" if test["is_log"] else f"{test['margin']:g}"
    words = _OUTCOMES[test["outcome"]].format(system=system, other=other, by=by)
    over = " on all inputs together" if "slices" in facts else ""
    lower = "lower is better; " if test["better"] == "lower" else ""
    return f"{start}{words}{over} ({lower}{_write_test(test)})."


def _write_test(test: Facts) -> str:
    if "exact" in test:
        words = _EXACT[test["exact"]["code"]].format(difference=_write_difference(test))
        return words + (_TOO_FEW if str(test["reason"]).endswith("_too_few") else "")
    p = {"pass": f"p {write_p(test['p'])}", "fail": f"p {write_p(test['p_fail'])}"}
    both = f"p {write_p(test['p'])} for not worse, p {write_p(test['p_fail'])} for worse"
    known = p.get(test["outcome"], both)
    return f"{_name(test)} {_write_difference(test)}, {_write_interval(test)}, {known}"


def _name(test: Facts) -> str:
    return "ratio" if test["is_log"] else "difference"


def _write_difference(test: Facts) -> str:
    """The system minus the other in the units of the scale, or over it."""
    return _write_number(_turn(test) * test["difference"], test)


def _write_interval(test: Facts) -> str:
    """The interval that the one-sided test looks at: 90% at the level of 5%."""
    ends = sorted(_turn(test) * test[end] for end in ("low", "high"))
    low, high = (_write_number(end, test) for end in ends)
    return f"{1 - 2 * test.get('level', 0.05):.0%} CI {low} to {high}"


def _turn(test: Facts) -> int:
    """Facts are as the system is better; readers see the scale as it is."""
    return -1 if test.get("better") == "lower" else 1


def _write_number(value: float, test: Facts) -> str:
    number = exp(value) if test["is_log"] else value
    return f"{number + 0.0:.4g}".replace("-", "−")


def write_slices(facts: Facts) -> list[str]:
    """Where the system is worse; else the slice that comes nearest to it."""
    if "slices" not in facts:
        return []
    level, better = facts["test"]["level"], facts["test"]["better"]
    slices = [{**each, "level": level, "better": better} for each in facts["slices"]]
    worse = [each for each in slices if each["is_worse"]]
    sentences = [f"Fails in slice {each['slice']}: {_write_slice(each)}." for each in worse]
    worst = facts["worst"]
    if worst is not None and worst["slice"] not in [each["slice"] for each in worse]:
        worst = {**worst, "level": level, "better": better}
        sentences.append(f"Worst slice {worst['slice']}: {_write_slice(worst)}.")
    if worst is None:
        sentences.append("No slice has a difference to test.")
    if facts.get("unsliced"):
        number = facts["unsliced"]
        sentences.append(f"{number:,} {'input is' if number == 1 else 'inputs are'} in no slice.")
    return sentences


def _write_slice(each: Facts) -> str:
    phrases = [f"{_name(each)} {_write_difference(each)}"]
    if "low" in each:
        phrases.append(_write_interval(each))
    if "p_corrected" in each:
        phrases.append(f"corrected p {write_p(each['p_corrected'])}")
    elif each["is_tested"]:
        phrases.append("the same for every rater on every input")
    else:
        number = each["inputs"]
        phrases.append(f"not tested, with {number} {'input' if number == 1 else 'inputs'}")
    return ", ".join(phrases)


def _write_plan(facts: Facts) -> str:
    """How many more answers would decide; "" where that isn't known."""
    plan = facts.get("plan")
    if plan is None:
        return ""
    more, people, inputs = plan["more_answers"], plan["people"], plan["inputs"]
    if more["inputs"]:
        return (
            f"If they are equal, about {_round(more['inputs'])} more answers from these {people} "
            "people would show it in 8 of 10 studies."
        )
    if plan["inputs_needed"] is not None:
        # enough already: the difference itself is why nothing is shown
        return ""
    if plan["is_sparse"]:
        return ""
    if plan["people_needed"] is None:
        return "This margin is too small for this design."
    number = plan["people_needed"] - people
    return (
        f"More inputs won't do. If they are equal, about {number} more "
        f"{'person' if number == 1 else 'people'} on the same {inputs} inputs "
        f"({_round(more['people'])} answers) would show it in 8 of 10 studies."
    )


def _round(number: int) -> str:
    """Two figures: the forecast knows no more."""
    digits = max(0, int(log10(number)) - 1) if number else 0
    return f"{round(number, -digits):,}"


def _write_raters(facts: Facts) -> str:
    if facts["raters_known"] or facts["test"]["outcome"] is None:
        return ""
    return "The raters are unknown, so this generalises over inputs, not raters."


def _write_mapped(facts: Facts) -> str:
    outcome = facts["undecided_as"]
    return f"Undecided counts as {outcome} here (--undecided {outcome})." if outcome else ""


def _write_runs(facts: Facts) -> str:
    level, runs, other = facts["test"]["level"], facts["runs"], facts["test"]["other"]
    start = f"One test at {level * 100:g}%"
    if runs is None:
        return f"{start}."
    day = datetime.fromisoformat(runs["first_at"])
    number = runs["number"]
    counted = "1 gate has" if number == 1 else f"{number:,} gates have"
    return f"{start}; {counted} been run against {other} since {day.day} {day:%B %Y}."
