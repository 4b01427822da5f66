"""A gate for scripts: an exit status that says whether a system is worse than another by more than
a margin.

It returns codes and figures; the sentence `gate` of a report words them.
"""

import json
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from math import inf, log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from evalsite.analysis.gate_slices import JudgeMargins, describe_slices, keep_pair, read_slices
from evalsite.analysis.plan import Margin, find_better
from evalsite.analysis.ratings import Table
from evalsite.analysis.report import list_systems
from evalsite.lib.limited import VALUES_IN_FILE, read_json

Floats = NDArray[np.float64]
Variances = tuple[float, float, float]  # of raters, inputs and the residual

# an error must not look like an outcome
STATUS = {"pass": 0, "fail": 1, "undecided": 2}
FAULTY = 3
LEVELS = (0.05, 0.025, 0.01)
# options that change nothing about the outcome
_NO_MATTER = (
    "output", "json", "undecided", "other_papers", "file_order", "command", "summary", "plan_hash",
    "file", "counted_in",
)  # fmt: skip
_FILES = ("ratings", "items", "judge_labels")
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
    """The requested test, and the slice of each row of the file."""

    margin: Margin
    slices: pd.Series | None


def read_gate(
    options: Namespace, table: Table, instrument: Sequence[Mapping[str, Any]]
) -> Gate | None:
    """Return the requested test; None without one. ValueError says what it lacks."""
    systems = list_systems(table)
    named = [options.gate, options.against, options.margin]
    if not any([*named, options.slices, options.undecided]):
        return None
    if not all(named) or not 0 < options.margin < inf:
        raise ValueError("A gate needs the names of two systems, and a margin above 0.")
    if unknown := [name for name in named[:2] if name not in systems]:
        known = ", ".join(systems) or "none"
        raise ValueError(f"No system is called {unknown[0]}. There are: {known}.")
    if options.gate == options.against:
        raise ValueError("A gate compares two different systems.")
    criteria = table.criteria
    criterion = options.primary or (criteria[0] if len(criteria) == 1 else "")
    if criterion not in criteria:
        problem = f"No criterion is called {criterion}. " if criterion else ""
        raise ValueError(f"{problem}Say which criterion decides: {', '.join(criteria)}.")
    described = next(each for each in instrument if each["key"] == criterion)
    if (better := find_better(described)) == "none":
        raise ValueError(
            f"Nothing says whether high or low values of {criterion} are better, so nothing can "
            "be worse. Add --better higher or --better lower."
        )
    margin = Margin(
        criterion=criterion, system=options.gate, relation="not_worse", other=options.against,
        margin=options.margin, level=options.level, better=better,
        # of the plan of a bundle
        **vars(options).get("planned_judge", {}),
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

    `table` holds the ratings in the report; `judges`, by criterion, test margins on some of them.
    ValueError: the margin doesn't suit the scale.
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
        facts |= describe_slices(
            part, gate.slices.loc[part.rows.index], judge=judges[margin.criterion],
            margin=margin, seed=options.seed,
        )  # fmt: skip
        facts["outcome"] = "fail" if facts["fails_in"] else facts["outcome"]
    # how many more answers would decide isn't known of a difference that a judge's labels correct
    is_judged = bool(test.get("judge")) and "why" not in test
    if criterion and facts["outcome"] == "undecided" and not is_judged:
        facts["plan"] = _plan(test, part, margin, criterion)
    facts["undecided_as"] = options.undecided if facts["outcome"] == "undecided" else None
    facts["status"] = STATUS[facts["undecided_as"] or facts["outcome"]]
    facts["runs"] = _count_runs(options)
    return facts


def _plan(
    test: Mapping[str, Any], table: Table, margin: Margin, criterion: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return how much more data would decide if the systems are equal; None where the closed form
    doesn't describe the ratings: without a model, with clusters, or if few raters rated both
    systems."""
    pair = keep_pair(table, margin).rows
    model, compares = criterion["model"], bool(pair.outcome.notna().any())
    variances = model.get("variances", {})
    visits = pair.groupby(["participant", "group"])
    # rated systems are paired if each visit has both; compared ones always are
    is_paired = compares or float((visits.system.nunique() == 2).mean()) >= _ALMOST_ALL
    if "se" not in test or not is_paired or (pair.cluster != "").any():
        return None
    people, inputs = int(pair.participant.nunique()), int(pair.group.nunique())
    k = visits.ngroups / inputs
    by_input = "input:system" if compares else "group:system"
    # with one answer per input the variance of inputs is in the residual
    if (
        min(people, inputs) < 2
        or "rater:system" not in variances
        or (by_input not in variances and k > 1)
    ):
        return None
    plan = plan_gate(
        GateDesign(people=people, inputs=inputs, answers_per_input=None if k == people else k),
        margin=log(margin.margin) if test["is_log"] else margin.margin, level=margin.level,
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
    files = {name: vars(options).get(name) for name in _FILES}
    paths = [path for path in files.values() if path is not None]
    left_out = (*_NO_MATTER, *_FILES)
    chosen = {key: value for key, value in vars(options).items() if key not in left_out}
    folder = vars(options).get("counted_in", options.ratings.parent)
    return count_runs(
        folder, system=options.gate, other=options.against,
        fingerprint=make_fingerprint(paths, chosen), now=datetime.now(UTC),
    )  # fmt: skip


def _explain_limit(test: Mapping[str, Any]) -> str:
    """Return why this margin isn't allowed on this scale, and which would be."""
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


# --- power, if the two systems are equal ----------------------------------------------------------
#
# The variances are those of differences between the two systems: of raters (twice rater:system),
# inputs (twice input:system) and the residual (twice it; of preferences once, since each is a
# difference).

POWER = 0.8
MOST_TIMES = 20  # as many inputs, or people
_TINY = 1e-9
_LARGE = 30.0  # a shift relative to which a normal deviate is small


@dataclass(frozen=True, kw_only=True)
class GateDesign:
    """Who rates what; `answers_per_input`: how many of the people rate an input; None: all."""

    people: int
    inputs: int
    answers_per_input: float | None = None


def plan_gate(
    design: GateDesign, *, variances: Variances, margin: float, level: float = 0.05
) -> dict[str, Any]:
    """Return the power of a gate now, and the fewest inputs, or people, with which it is POWER.

    `inputs_needed` are for
    the same people, `people_needed` for the same inputs, each person rating as many as now; None:
    MOST_TIMES as many would not do. ValueError: fewer than two people or inputs, or no margin.
    """
    people, inputs = design.people, design.inputs
    if people < 2 or inputs < 2 or not margin > 0:
        raise ValueError("A gate is planned for two people or more, two inputs, and a margin.")

    def find_power(p: Floats, n: Floats) -> tuple[Floats, Floats, Floats]:
        # new people rate as many inputs as the present ones
        now = design.answers_per_input
        k = p if now is None else now * p / people
        variance, df = _find_error(p, n, k, variances)
        se = np.sqrt(variance)
        return se, df, _power_of_one_side(margin / np.maximum(se, _TINY * margin), df, level)

    inputs_grid = np.arange(inputs, MOST_TIMES * inputs + 1, dtype=float)
    people_grid = np.arange(people, MOST_TIMES * people + 1, dtype=float)
    se, df, power = find_power(np.full_like(inputs_grid, people), inputs_grid)
    more_people = find_power(people_grid, np.full_like(people_grid, inputs))[2]
    return {
        "people": people,
        "inputs": inputs,
        "variances": list(variances),
        "margin": margin,
        "se": float(se[0]),
        "df": float(df[0]),
        "power": float(power[0]),
        "inputs_needed": _find_first(inputs_grid, power),
        "people_needed": _find_first(people_grid, more_people),
    }


def _find_first(grid: Floats, power: Floats) -> int | None:
    enough = np.flatnonzero(power >= POWER)
    return int(grid[enough[0]]) if len(enough) else None


def _find_error(p: Floats, n: Floats, k: Floats, variances: Variances) -> tuple[Floats, Floats]:
    """Return the variance of the difference, and its degrees of freedom; `k`: answers per input."""
    by_rater, by_input, residual = variances
    rated = n * k / p  # inputs of each person
    single = (by_rater + (by_input + residual) / rated) / p
    # how much of the inputs that people share cancels between them
    shared = np.maximum((k - 1) * p / (k * (p - 1)), _TINY)
    of_rater = (by_rater + residual / (shared * rated)) / p
    of_input = (by_input + residual / k) / n
    several = by_rater / p + of_input
    below = of_rater**2 / (p - 1) + of_input**2 / (n - 1)
    below = below + (k == p) * (residual / (p * n)) ** 2 / ((p - 1) * (n - 1))
    df = np.maximum(1.0, several**2 / np.maximum(below, 1e-300))
    return np.where(k <= 1, single, several), np.where(k <= 1, p - 1, df)


def _power_of_one_side(shift: Floats, df: Floats, level: float) -> Floats:
    """Return the probability that a noncentral t exceeds the critical value at `level`."""
    edge = stats.t.isf(level, df)
    exact = stats.nct.sf(edge, df, np.minimum(shift, _LARGE))
    # scipy's noncentral t fails for large shifts, where only the error of the spread matters
    far = stats.chi2.cdf(df * (shift / edge) ** 2, df)
    return np.asarray(np.where(shift < _LARGE, exact, far), dtype=np.float64)


# --- how often gates were run: each run is a test of its own --------------------------------------

RUNS_FILE = "evalsite-gates.json"  # beside the ratings


def make_fingerprint(paths: list[Path], options: dict[str, Any]) -> str:
    """Return a hash that is equal for runs with the same files and options, and so the same
    outcome."""
    digest = sha256(json.dumps(options, sort_keys=True, default=str).encode())
    for path in paths:
        digest.update(sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def count_runs(
    folder: Path, *, system: str, other: str, fingerprint: str, now: datetime
) -> dict[str, Any] | None:
    """Add this run to the file, unless the file has it; return how many gates were run against
    `other`, and when the first was. None: the file can't be read or written."""
    path = folder / RUNS_FILE
    try:
        runs = _read_runs(path)
        if all(run["fingerprint"] != fingerprint for run in runs):
            runs.append({
                "system": system, "against": other, "fingerprint": fingerprint,
                "run_at": now.astimezone(UTC).isoformat(timespec="seconds"),
            })  # fmt: skip
            # replaced at once, so that a run that is killed leaves the old file
            part = path.with_name(f".{RUNS_FILE}.{os.getpid()}")
            content = json.dumps({"gates": runs}, indent=1, ensure_ascii=False)
            part.write_text(content, encoding="utf-8")
            part.replace(path)
    except (OSError, ValueError, KeyError, TypeError):
        # a file with other content stays as it is
        return None
    at = [str(run["run_at"]) for run in runs if run["against"] == other]
    return {"number": len(at), "first_at": min(at)}


def _read_runs(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    runs = read_json(path.read_text(encoding="utf-8"), most_values=VALUES_IN_FILE)["gates"]
    for run in runs:
        datetime.fromisoformat(run["run_at"])
    return [{key: run[key] for key in ("system", "against", "fingerprint", "run_at")}
            for run in runs]  # fmt: skip
