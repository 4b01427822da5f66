"""A gate for scripts: whether a system is worse than another by more than a margin, as a status.

What it decides is codes and figures; the sentence `gate` of a report words them.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf, log
from typing import Any

import pandas as pd

from evalsite.analysis.direction import find_better
from evalsite.analysis.gate_plan import plan_gate
from evalsite.analysis.gate_runs import count_runs, make_fingerprint
from evalsite.analysis.gate_slices import (
    JudgeMargins,
    decide_with_slices,
    keep_pair,
    read_slices,
)
from evalsite.analysis.plan import Margin
from evalsite.analysis.report import list_systems
from evalsite.analysis.table import Table

# a fault must not pass for an outcome
STATUS = {"pass": 0, "fail": 1, "undecided": 2}
FAULTY = 3
LEVELS = (0.05, 0.025, 0.01)
# options that change nothing about the outcome
_NO_MATTER = (
    "output", "json", "undecided", "other_papers", "file_order", "command", "summary", "plan_hash",
    "file", "counted_in",
)  # fmt: skip
_ALMOST_ALL = 0.95  # of the pairs of rater and input: those that have both systems
_CLOSE = 1.25  # how far the planner's standard error may be from that of the fit


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
    gate.add_argument("--level", type=float, choices=LEVELS, default=LEVELS[0], help="the level "
        "of the one-sided test; 0.025 for gates that run daily; default: %(default)s")  # fmt: skip
    gate.add_argument("--slices", default="", metavar="COLUMN", help="the column of the file that "
        "divides the inputs, such as language: the gate fails if the system is worse by more than "
        "the margin in one of them")  # fmt: skip
    gate.add_argument("--undecided", choices=("pass", "fail"), help="end with the status of this "
        "outcome where nothing is decided")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Gate:
    """What is asked for: the test, and the slice of each row of the file."""

    margin: Margin
    slices: pd.Series | None


def read_gate(
    options: Namespace, table: Table, instrument: Sequence[Mapping[str, Any]]
) -> Gate | None:
    """Return the test that is asked for, if one is; ValueError says what it lacks."""
    systems = list_systems(table)
    named = [options.gate, options.against, options.margin]
    if not any([*named, options.slices, options.undecided]):
        return None
    if not all(named) or not 0 < options.margin < inf:
        raise ValueError("A gate needs all of --gate, --against, and --margin above 0.")
    if unknown := [name for name in named[:2] if name not in systems]:
        known = ", ".join(systems) or "none"
        raise ValueError(f"No system is called {unknown[0]}. There are: {known}.")
    if options.gate == options.against:
        raise ValueError("A gate compares two different systems.")
    criteria = table.criteria
    criterion = options.primary or (criteria[0] if len(criteria) == 1 else "")
    if criterion not in criteria:
        raise ValueError(f"Say which criterion decides, by --primary: {', '.join(criteria)}.")
    described = next(each for each in instrument if each["key"] == criterion)
    if (better := find_better(described)) == "none":
        raise ValueError(
            f"Nothing says whether high or low values of {criterion} are better, so nothing can "
            "be worse. Add --better higher or --better lower."
        )
    margin = Margin(
        criterion=criterion, system=options.gate, relation="not_worse", other=options.against,
        margin=options.margin, level=options.level, better=better,
    )  # fmt: skip
    slices = None
    if options.slices:
        slices = read_slices(options.ratings, options.slices, table, items=options.items)
    return Gate(margin=margin, slices=slices)


def decide_gate(
    gate: Gate,
    table: Table,
    report: Mapping[str, Any],
    options: Namespace,
    judges: Mapping[str, JudgeMargins],
) -> dict[str, Any]:
    """Return how the gate ended: its `outcome` and `status`, the `test` on all inputs, `slices`
    with the `worst`, a `plan` where nothing is decided, and `runs`, how often gates were run.

    `table` holds the ratings that the report is of; `judges`, by criterion, test margins on some of
    them. ValueError: the margin doesn't suit the scale.
    """
    margin = gate.margin
    criterion = next((part for part in report["criteria"] if part["key"] == margin.criterion), None)
    # without ratings, or by one rater, nothing is tested
    tests = criterion.get("margins") if criterion else None
    test: dict[str, Any] = dict(tests[0]) if tests else {
        "system": margin.system, "other": margin.other, "margin": margin.margin, "outcome": None,
        "level": margin.level, "better": margin.better, "is_log": False,
        "reason": "one_rater" if criterion else "no_data",
    }  # fmt: skip
    if test.get("reason") == "no_margin":
        raise ValueError(_explain_limit(test))
    facts: dict[str, Any] = {
        "criterion": criterion["label"] if criterion else margin.criterion,
        "outcome": test["outcome"] or "undecided", "test": test,
        "raters_known": table.raters_known,
    }  # fmt: skip
    part = table.of(margin.criterion)
    if criterion and gate.slices is not None:
        facts |= decide_with_slices(
            facts["outcome"], part, gate.slices.loc[part.rows.index],
            judge=judges[margin.criterion], margin=margin, seed=options.seed,
        )  # fmt: skip
    if criterion and facts["outcome"] == "undecided":
        facts["plan"] = _plan(test, part, margin, criterion)
    facts["undecided_as"] = options.undecided if facts["outcome"] == "undecided" else None
    facts["status"] = STATUS[facts["undecided_as"] or facts["outcome"]]
    facts["runs"] = _count_runs(options)
    return facts


def _plan(
    test: Mapping[str, Any], table: Table, margin: Margin, criterion: Mapping[str, Any]
) -> dict[str, Any] | None:
    """How much more would decide if the systems are equal; None where the closed form doesn't
    describe the ratings: without a model, with clusters, or if few raters have both systems."""
    pair = keep_pair(table, margin).rows
    model, compares = criterion["model"], bool(pair.outcome.notna().any())
    variances = model.get("variances", {})
    visits = pair.groupby(["participant", "group"])
    # of rated systems each visit has both; of compared ones it always does
    is_paired = compares or float((visits.system.nunique() == 2).mean()) >= _ALMOST_ALL
    if "se" not in test or not is_paired or (pair.cluster != "").any():
        return None
    people, inputs = int(pair.participant.nunique()), int(pair.group.nunique())
    k = visits.ngroups / inputs
    by_input = "input:system" if compares else "group:system"
    # with one answer per input what inputs add is in the residual
    if (
        min(people, inputs) < 2
        or "rater:system" not in variances
        or (by_input not in variances and k > 1)
    ):
        return None
    plan = plan_gate(
        people=people, inputs=inputs, level=margin.level,
        margin=log(margin.margin) if test["is_log"] else margin.margin,
        answers_per_input=None if k == people else k,
        variances=(
            2 * variances["rater:system"], 2 * variances.get(by_input, 0.0),
            (1 if compares else 2) * model["residual"],
        ),
    )  # fmt: skip
    if not 1 / _CLOSE <= plan["se"] / test["se"] <= _CLOSE:
        return None
    items = len(pair[["participant", "item"]].drop_duplicates()) / visits.ngroups
    n, p = plan["inputs_needed"], plan["people_needed"]
    more = {
        "inputs": None if n is None else round((n - inputs) * k * items),
        "people": None if p is None else round((p - people) * inputs * k / people * items),
    }
    return {**plan, "answers_per_input": k, "more_answers": more, "is_sparse": k < 2}


def _count_runs(options: Namespace) -> dict[str, Any] | None:
    paths = [path for path in (options.ratings, options.items) if path is not None]
    chosen = {key: value for key, value in vars(options).items() if key not in _NO_MATTER}
    chosen = {key: value for key, value in chosen.items() if key not in ("ratings", "items")}
    folder = vars(options).get("counted_in", options.ratings.parent)
    return count_runs(
        folder, system=options.gate, other=options.against,
        fingerprint=make_fingerprint(paths, chosen), now=datetime.now(UTC),
    )  # fmt: skip


def _explain_limit(test: Mapping[str, Any]) -> str:
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
