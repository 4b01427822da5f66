"""The report of a study: everything that its ratings say, as plain data that JSON can hold.

Made from the files that the study exports, so that anyone who has them can make it again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from evalsite.analysis.design import describe_data, describe_design, list_design_figures
from evalsite.analysis.families import find_family, get_numbers
from evalsite.analysis.figure import LEVEL, METHODS_VERSION
from evalsite.analysis.findings import describe_of_one_rater
from evalsite.analysis.report.across_criteria import report_together, warn_of_likeness
from evalsite.analysis.report.ignored import (
    drop_ignored,
    keep_compared,
    read_ignored,
    warn_of_dropped,
)
from evalsite.analysis.report.metrics import read_metrics, report_metrics, write_metric_notes
from evalsite.analysis.report.notes import (
    count_words,
    warn_about,
    warn_of_criterion,
    warn_of_few,
    write_notes,
)
from evalsite.analysis.report.raters import report_raters, report_repeats
from evalsite.analysis.resample import DRAWS
from evalsite.analysis.table import Table, read_table
from evalsite.analysis.thresholds import START, Thresholds, make_thresholds
from evalsite.analysis.to_json import to_plain

Progress = Callable[[int, int], None]
Instrument = Sequence[Mapping[str, Any]]
KeepOutputs = Callable[[pd.DataFrame], None]


def make_reports(
    paths: Mapping[str, Path],
    *,
    instrument: Instrument,
    seed: int,
    raters_known: bool = True,
    baseline: str = "",
    thresholds: Mapping[str, float] | None = None,
    progress: Progress = lambda done, total: None,
    keep_outputs: KeepOutputs | None = None,
) -> dict[str, Any]:
    """The reports "kept", without what is excluded, and "all", which is None if nothing is.

    `paths`: the files ratings (needed), annotations, highlights, items and metrics, as a study
    exports them; for a bare file of preferences `outputs`, a file that names the systems of each
    item.
    `raters_known` False: participants are no persons.
    `instrument`: for each criterion its key, label, kind, family, answers (value and label),
    reserved points and, without answers, minimum and maximum; kinds of version 0.1 need no family.
    `baseline`: the system that all others are compared with; "": every pair. `thresholds`
    of raters' flags by name, those that differ from the starting values. `keep_outputs` is handed
    the table of outputs of each criterion of the report "kept", in turn. ValueError: a file is not
    of the documented form, or there is no such threshold.
    """
    limits = make_thresholds(thresholds or {})
    table = read_table(paths["ratings"], outputs=paths.get("outputs"), raters_known=raters_known)
    others = {
        name: pd.read_csv(paths[name], dtype=str, keep_default_na=False)
        for name in ("annotations", "highlights", "items")
        if name in paths and (name != "items" or "highlights" in paths)
    }
    if "items" in paths:
        others["words"] = count_words(paths["items"])
    if "metrics" in paths:
        others["metrics"] = read_metrics(paths["metrics"])
    kept, everything = table.results(), table.results(with_excluded=True)
    has_excluded = len(kept) != len(everything)
    steps = (1 + has_excluded) * (len(instrument) + 1)
    done = iter(range(1, steps + 1))

    def step() -> None:
        progress(next(done), steps)

    def report(some: Table, keep_outputs: KeepOutputs | None = None) -> dict[str, Any]:
        return make_report(
            some, table, others, instrument=instrument, seed=seed, baseline=baseline,
            limits=limits, step=step, keep_outputs=keep_outputs,
        )  # fmt: skip

    return {
        "kept": report(kept, keep_outputs),
        "all": report(everything) if has_excluded else None,
    }


def make_report(
    table: Table,
    given: Table,
    others: Mapping[str, pd.DataFrame],
    *,
    instrument: Instrument,
    seed: int,
    baseline: str = "",
    limits: Thresholds = START,
    step: Callable[[], None] = lambda: None,
    keep_outputs: KeepOutputs | None = None,
) -> dict[str, Any]:
    """One report, of the ratings in `table`; `given` holds those that do not count too."""
    ignored = read_ignored(others.get("annotations"), table)
    whole, table = table, drop_ignored(table, ignored)
    facts, parts = describe_design(table), _take_parts(table, instrument)
    warnings = warn_about(table) + warn_of_few(parts) + warn_of_dropped(whole, table)
    criteria = []
    for described in instrument:
        if part := parts.get(str(described["key"])):
            found = _report_criterion(part, described, seed, baseline)
            cautions = found.pop("cautions")
            warnings += warn_of_criterion(str(described["key"]), cautions, found["pairs"])
            list_outputs = found.pop("outputs", None)
            if keep_outputs and list_outputs:
                keep_outputs(list_outputs())
            found["notes"] = write_notes(found, seed)
            found["undropped"] = _report_undropped(whole, len(part), described, seed, baseline)
            criteria.append(_add_metrics(found, part, others.get("metrics"), seed))
        step()
    families = {str(one["key"]): find_family(one) for one in instrument}
    together = report_together(table, others, families, seed, ignored)
    warnings += warn_of_likeness(together, {str(one["key"]): one["label"] for one in instrument})
    report = {
        "methods_version": METHODS_VERSION,
        "seed": seed,
        "draws": DRAWS,
        "level": LEVEL,
        "plan": {"baseline": baseline or None, "thresholds": asdict(limits)},
        "data": describe_data(table, others.get("annotations"), facts),
        "warnings": warnings,
        "design": list_design_figures(facts),
        "criteria": criteria,
        "together": {
            **together,
            "repeats": report_repeats(given, instrument, seed),
        },
        # who ignores or rates how is seen in all that they gave
        "raters": report_raters(whole, others, instrument, limits, given=given),
    }
    step()
    plain: dict[str, Any] = to_plain(report)
    return plain


def _take_parts(table: Table, instrument: Instrument) -> dict[str, Table]:
    """Of each criterion that has ratings or answers, the table of these."""
    parts = {str(one["key"]): table.of(str(one["key"])) for one in instrument}
    return {key: part for key, part in parts.items() if len(part)}


def _report_criterion(
    table: Table, described: Mapping[str, Any], seed: int, baseline: str
) -> dict[str, Any]:
    used = baseline if baseline in list_systems(table) else None
    family = find_family(described)
    known = {key: described[key] for key in ("key", "label", "kind")}
    known |= {"family": family.name, "baseline": used}
    found = known | get_numbers(family).report(table, described, seed, used)
    if "one_rater" in found["cautions"]:
        found = describe_of_one_rater(found)
    if baseline and used is None:
        found["cautions"] = [*found["cautions"], "no_baseline"]
    return found


def _report_undropped(
    whole: Table, kept: int, described: Mapping[str, Any], seed: int, baseline: str
) -> dict[str, Any] | None:
    """The results with the items that most ignored; None where none of these has ratings."""
    part = whole.of(str(described["key"]))
    if len(part) == kept:
        return None
    return keep_compared(_report_criterion(part, described, seed, baseline))


def _add_metrics(
    found: dict[str, Any], table: Table, scores: pd.DataFrame | None, seed: int
) -> dict[str, Any]:
    """The part of a criterion with what automatic metrics say of the same outputs."""
    metrics = report_metrics(table, find_family(found), scores, seed)
    notes = list(found["notes"])
    if metrics is not None:
        # before the seed, which holds for them too
        notes[-1:-1] = write_metric_notes(metrics)
    return {**found, "metrics": metrics, "notes": notes}


def list_systems(table: Table) -> list[str]:
    """The systems that have ratings or answers in the table, by name."""
    rows = table.rows
    answered = rows[rows.outcome.notna()]
    named = {*rows.system, *answered.system_1, *answered.system_2}
    return sorted(named - {""})
