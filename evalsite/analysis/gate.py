"""A gate for scripts: whether a system is worse than another by more than a margin, as a status."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from math import exp
from typing import Any

from evalsite.analysis.findings import write_p
from evalsite.analysis.plan import Margin

# a fault must not pass for an outcome
STATUS = {"pass": 0, "fail": 1, "undecided": 2}
FAULTY = 3
_SAID = {
    "pass": "{} is not worse than {} by more than {}",
    "fail": "{} is worse than {} by more than {}",
    "undecided": "not shown that {} is not worse than {} by more than {}",
}


def add_gate(parser: ArgumentParser) -> None:
    gate = parser.add_argument_group(
        "gate",
        "Ends with 0 if SYSTEM is not worse than OTHER by more than the margin, 1 if it is, 2 if "
        "that can't be decided, and 3 if a file or an option is faulty. One test, not corrected.",
    )
    gate.add_argument("--gate", default="", metavar="SYSTEM", help="the system to decide about")
    gate.add_argument("--against", default="", metavar="OTHER", help="what it is compared with")
    gate.add_argument("--margin", type=float, metavar="NUMBER", help="in units of the scale; of "
        "decisions and preferences a share, such as 0.05; of magnitudes a ratio, such as "
        "1.1")  # fmt: skip


def read_gate(options: Namespace, criteria: Sequence[str], systems: Sequence[str]) -> list[Margin]:
    """Return the test that is asked for, if one is; ValueError says what it lacks."""
    given = [options.gate, options.against, options.margin]
    if not any(given):
        return []
    if not all(given) or not options.margin > 0:
        raise ValueError("A gate needs all of --gate, --against, and --margin above 0.")
    if unknown := [one for one in given[:2] if one not in systems]:
        known = ", ".join(systems) or "none"
        raise ValueError(f"No system is called {unknown[0]}. There are: {known}.")
    if options.gate == options.against:
        raise ValueError("A gate compares two different systems.")
    criterion = options.primary or (criteria[0] if len(criteria) == 1 else "")
    if criterion not in criteria:
        raise ValueError(f"Say which criterion decides, by --primary: {', '.join(criteria)}.")
    return [
        Margin(
            criterion=criterion, system=options.gate, relation="not_worse",
            other=options.against, margin=options.margin,
        )
    ]  # fmt: skip


def find_outcome(report: Mapping[str, Any]) -> tuple[str, int]:
    """Return the outcome of the gate in words and as an exit status; ("", 0) without one.

    ValueError if the margin can't be one of this scale.
    """
    tests = [
        (one["label"], test) for one in report["criteria"] for test in one.get("margins") or ()
    ]
    if not tests:
        return "", 0
    ((label, test),) = tests
    pair, outcome = (test["system"], test["other"]), test["outcome"]
    if outcome is None and test["reason"] == "no_margin":
        raise ValueError("The margin of magnitudes is a ratio above 1, such as 1.1.")
    if outcome is None:
        reason = str(test["reason"]).replace("_", " ")
        said = f"{pair[0]} can't be compared with {pair[1]} ({reason})"
        return f"Gate, {label}, undecided: {said}", STATUS["undecided"]
    low, high = (exp(test[end]) if test["is_log"] else test[end] for end in ("low90", "high90"))
    by = f"a factor of {test['margin']:g}" if test["is_log"] else f"{test['margin']:g}"
    said = _SAID[outcome].format(*pair, by)
    interval = f"90% interval {low:.4g} to {high:.4g}, p {write_p(test['p'])}"
    return f"Gate, {label}, {outcome}: {said} ({interval})", STATUS[outcome]
