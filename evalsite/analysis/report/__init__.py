"""The report of a study: everything that its ratings say, as plain data that JSON can hold.

Made from the files that the study exports, so that anyone who has them can make it again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from evalsite.analysis.agreement import list_agreement_notes
from evalsite.analysis.design import describe_data, describe_design, list_design_figures
from evalsite.analysis.direction import find_better, is_undirected
from evalsite.analysis.equivalence import correct_margins
from evalsite.analysis.families import find_family, get_numbers
from evalsite.analysis.families.numbers import Prepared
from evalsite.analysis.figure import LEVEL, METHODS_VERSION, Figure, make_note
from evalsite.analysis.findings import describe_of_one_rater
from evalsite.analysis.gate_slices import (
    decide_with_slices,
    place_in_slices,
    read_item_slices,
)
from evalsite.analysis.missing import find_missing, list_shown
from evalsite.analysis.plan import NO_PLAN, Plan
from evalsite.analysis.report.across_criteria import report_together, warn_of_likeness
from evalsite.analysis.report.answer_parts import count_missing, describe_missing, split_parts
from evalsite.analysis.report.ignored import (
    drop_ignored,
    keep_compared,
    read_ignored,
    warn_of_dropped,
)
from evalsite.analysis.report.metrics import list_metric_notes, read_metrics, report_metrics
from evalsite.analysis.report.notes import (
    claim_error_rate,
    count_words,
    list_conclusions,
    list_notes,
    warn_about,
    warn_of_criterion,
    warn_of_few,
    warn_of_missing,
)
from evalsite.analysis.report.other_papers import (
    EQUAL_TEXTS,
    compare_identical,
    list_other_figures,
    read_texts,
)
from evalsite.analysis.report.raters import (
    report_copies,
    report_raters,
    report_repeats,
    warn_of_copies,
)
from evalsite.analysis.resample import DRAWS
from evalsite.analysis.table import Table, read_table
from evalsite.analysis.thresholds import START, Thresholds, make_thresholds
from evalsite.analysis.to_json import to_plain

Progress = Callable[[int, int], None]
Instrument = Sequence[Mapping[str, Any]]
KeepOutputs = Callable[[pd.DataFrame], None]

# what is missing by design: by criterion, why, and system
Missing = Mapping[str, Mapping[str, Mapping[str, int]]]
MANY_RATERS = 2


def make_reports(
    paths: Mapping[str, Path],
    *,
    instrument: Instrument,
    seed: int,
    raters_known: bool = True,
    plan: Plan = NO_PLAN,
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
    `plan`: what was fixed beforehand. `thresholds` of raters' flags by name, those that differ from
    the starting values. `keep_outputs` is handed the table of outputs of each criterion of the
    report "kept", in turn. ValueError: a file is not of the documented form, or there is no such
    threshold.
    """
    limits = make_thresholds(thresholds or {})
    table = read_table(paths["ratings"], outputs=paths.get("outputs"), raters_known=raters_known)
    as_given, asked = table, instrument
    table, instrument = split_parts(table, asked)
    others = {
        name: pd.read_csv(paths[name], dtype=str, keep_default_na=False)
        for name in ("annotations", "highlights", "items")
        if name in paths and (name != "items" or "highlights" in paths)
    }
    if "items" in paths:
        others["words"] = count_words(paths["items"])
        others["texts"] = read_texts(paths["items"])
    sliced = {margin.slices for margin in plan.margins if margin.slices}
    if sliced and "items" in paths:
        others["slices"] = read_item_slices(paths["items"], sliced)
    if "metrics" in paths:
        others["metrics"] = read_metrics(paths["metrics"])
    kept, everything = table.results(), table.results(with_excluded=True)
    has_excluded = len(kept) != len(everything)
    steps = (1 + has_excluded) * (len(instrument) + 1)
    done = iter(range(1, steps + 1))

    def step() -> None:
        progress(next(done), steps)

    def report(some: Table, keep_outputs: KeepOutputs | None = None) -> dict[str, Any]:
        missing = _count_missing(as_given, asked, with_excluded=some is everything)
        return make_report(
            some, table, others, instrument=instrument, missing=missing, seed=seed, plan=plan,
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
    missing: Missing = MappingProxyType({}),
    plan: Plan = NO_PLAN,
    limits: Thresholds = START,
    step: Callable[[], None] = lambda: None,
    keep_outputs: KeepOutputs | None = None,
    warnings: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """One report, of the ratings in `table`; `given` holds those that do not count too.

    `warnings`: of whoever read the file.
    """
    ignored = read_ignored(others.get("annotations"), table)
    whole, table = table, drop_ignored(table, ignored)
    facts, parts = describe_design(table), _take_parts(table, instrument)
    warnings = [
        *warnings, *warn_about(table), *warn_of_few(parts), *warn_of_dropped(whole, table),
    ]  # fmt: skip
    # all that people answered, also of items that most ignored
    copied = report_copies(whole)
    warnings += warn_of_copies(copied)
    criteria = []
    opened = {
        str(one["key"]): _prepare(parts[str(one["key"])], one, seed, plan)
        for one in instrument
        if str(one["key"]) in parts
    }
    family = Family.of(
        plan.primary,
        {key: one.p for key, one in opened.items()},
        {str(one["key"]): str(one["of"]) for one in instrument if "of" in one},
    )
    warnings += family.warn()
    # the primary criterion is the result: it comes first
    for described in sorted(instrument, key=lambda one: not family.is_primary(str(one["key"]))):
        key = str(described["key"])
        if part := parts.get(key):
            found = _finish(opened[key], part, described, plan, family)
            cautions = found.pop("cautions")
            warnings += warn_of_criterion(key, cautions)
            list_outputs = found.pop("outputs", None)
            if keep_outputs and list_outputs:
                keep_outputs(list_outputs())
            found["agreement_notes"] = list_agreement_notes(key, found["agreement"])
            found["notes"] = list_notes(found, seed)
            found["conclusions"] = list_conclusions(found)
            found["other_papers"] = _list_of_others(found, part, others.get("texts"), seed)
            shown = _list_shown(table, described)
            absent = find_missing(shown)
            found["missing_by_system"] = absent
            for figure in found["other_papers"]:
                if figure.name == EQUAL_TEXTS:
                    inputs, share = figure.n["inputs"], figure.value
                    note = make_note("equal_texts", inputs=inputs, share=share)
                    found["notes"].insert(-1, note)
            if any(entry["missing"] for entry in absent):
                share = float(shown.is_missing.mean())
                found["notes"].insert(-1, make_note("missing_at_random", share=share))
            warnings += warn_of_missing(found, absent)
            gone = missing.get(str(described.get("of", key)), {})
            if any(gone.values()):
                found["missing"] = gone
            found["notes"][-1:-1] = describe_missing(gone)
            found["undropped"] = _report_undropped(whole, len(part), described, seed, plan, family)
            criteria.append(_add_metrics(found, part, others.get("metrics"), seed))
        step()
    margins = [one.get("margins") or [] for one in criteria]
    for tests in [chain(*margins)] if family.is_across else margins:
        correct_margins(tests)
    if "slices" in others:
        described = {str(one["key"]): one for one in instrument}
        for found in criteria:
            key = found["key"]
            _judge_slices(found, parts[key], described[key], plan, others["slices"], seed)
    # an option that was ticked doesn't accept an output
    families = {str(one["key"]): find_family(one) for one in instrument if "of" not in one}
    directions = {str(one["key"]): find_better(one) for one in instrument}
    together = report_together(table, others, families, directions, seed, ignored)
    warnings += warn_of_likeness(together, {str(one["key"]): one["label"] for one in instrument})
    report = {
        "methods_version": METHODS_VERSION,
        "seed": seed,
        "draws": DRAWS,
        "level": LEVEL,
        "plan": {
            "primary": family.primary or None,
            "baseline": plan.baseline or None,
            "has_own_errors": plan.has_own_errors,
            "thresholds": asdict(limits),
        },
        "family": family.describe(),
        "data": describe_data(table, others.get("annotations"), facts),
        "warnings": claim_error_rate(warnings, criteria),
        "design": list_design_figures(facts),
        "criteria": criteria,
        "together": {
            **together,
            "repeats": report_repeats(given, instrument, seed),
        },
        # who ignores or rates how is seen in all that they gave
        "raters": report_raters(whole, others, instrument, limits, given=given),
        "copied": copied,
    }
    step()
    plain: dict[str, Any] = to_plain(report)
    return plain


def _count_missing(table: Table, instrument: Instrument, *, with_excluded: bool) -> Missing:
    """Return what is missing by design, by criterion; nothing where no question allows it."""
    loose = [str(one["key"]) for one in instrument if one.get("is_loose")]
    counted = table.results(with_excluded=with_excluded) if loose else table
    return {key: count_missing(counted, key) for key in loose}


def _list_shown(table: Table, described: Mapping[str, Any]) -> pd.DataFrame:
    """Return which outputs were shown with a question, and which of these have no rating."""
    family = find_family(described)
    is_of_outputs = not family.compares and "of" not in described and "per" not in described
    shown = list_shown(
        table, str(described["key"]), is_asked_always=not described.get("is_conditional")
    )
    return shown if is_of_outputs else shown[:0]


def _take_parts(table: Table, instrument: Instrument) -> dict[str, Table]:
    """Of each criterion that has ratings or answers, the table of these."""
    parts = {str(one["key"]): table.of(str(one["key"])) for one in instrument}
    return {key: part for key, part in parts.items() if len(part)}


@dataclass(frozen=True, kw_only=True)
class Family:
    """The comparisons for which p values are corrected: of each criterion separately if the plan
    names a primary one, or if there is only one criterion; else of all criteria together. The
    options of a choice, which are a criterion each, are always corrected together."""

    primary: str
    p: Mapping[str, list[float]]  # of each criterion
    choices: Mapping[str, str]  # of each option, the choice that it belongs to

    @classmethod
    def of(cls, primary: str, p: Mapping[str, list[float]], choices: Mapping[str, str]) -> "Family":
        """The family; a primary criterion without ratings is none."""
        known = {choices.get(key, key) for key in p} | set(p)
        return cls(primary=primary if primary in known else "", p=p, choices=choices)

    def is_primary(self, criterion: str) -> bool:
        """Whether this is the primary criterion, or an option of it."""
        return self.primary in (criterion, self.choices.get(criterion, criterion))

    @property
    def is_across(self) -> bool:
        return not self.primary and sum(bool(one) for one in self.p.values()) > 1

    def others(self, criterion: str) -> list[float]:
        """The p values of other criteria that the correction of this one covers."""
        choice = self.choices.get(criterion)
        return [
            p
            for key, some in self.p.items()
            if key != criterion
            and (self.is_across or (choice is not None and self.choices.get(key) == choice))
            for p in some
        ]

    def name_role(self, criterion: str) -> str:
        """Return "primary", "secondary" or, where none is primary, ""."""
        if not self.primary:
            return ""
        return "primary" if self.is_primary(criterion) else "secondary"

    def describe(self) -> dict[str, Any]:
        tests = sum(len(one) for one in self.p.values())
        return {"across": self.is_across, "comparisons": tests}

    def warn(self) -> list[dict[str, Any]]:
        if not self.is_across:
            return []
        return [make_note("across", comparisons=sum(len(one) for one in self.p.values()))]


def _prepare(table: Table, described: Mapping[str, Any], seed: int, plan: Plan) -> Prepared:
    own = plan.of(str(described["key"]), list_systems(table), find_better(described))
    prepared = get_numbers(find_family(described)).prepare(table, described, seed, own)
    has_one_rater = table.raters_known and table.rows.participant.nunique() < MANY_RATERS
    # what one rater did isn't tested
    return replace(prepared, p=[]) if has_one_rater else prepared


def _finish(
    prepared: Prepared, table: Table, described: Mapping[str, Any], plan: Plan, family: Family
) -> dict[str, Any]:
    key = str(described["key"])
    used = plan.baseline if plan.baseline in list_systems(table) else None
    known = {name: described[name] for name in ("key", "label", "kind")}
    known |= {
        "family": find_family(described).name, "better": find_better(described),
        "baseline": used, "role": family.name_role(key),
    }  # fmt: skip
    found = known | prepared.finish(family.others(key))
    if "one_rater" in found["cautions"]:
        found = describe_of_one_rater(found)
    if is_undirected(described):
        found["cautions"]["no_direction"] = {}
    if plan.baseline and used is None:
        found["cautions"]["no_baseline"] = {}
    return found


def _judge_slices(
    found: dict[str, Any], table: Table, described: Mapping[str, Any], plan: Plan,
    by_item: pd.DataFrame, seed: int,
) -> None:  # fmt: skip
    """Let the slices that the plan names overrule tests of "not worse"."""
    better, judge = find_better(described), get_numbers(find_family(described)).judge_margins
    planned = plan.of(found["key"], list_systems(table), better).margins
    # by one rater nothing is tested
    for test, margin in zip(found.get("margins") or (), planned, strict=False):
        if margin.slices and margin.relation == "not_worse" and test["outcome"]:
            slices = place_in_slices(table, by_item[margin.slices])
            on_all = test["outcome"]
            test |= {"outcome_on_all": on_all} | decide_with_slices(
                on_all, table, slices, judge=judge, margin=margin, seed=seed
            )


def _report_undropped(
    whole: Table,
    kept: int,
    described: Mapping[str, Any],
    seed: int,
    plan: Plan,
    family: Family,
) -> dict[str, Any] | None:
    """The results with the items that most ignored; None where none of these has ratings."""
    part = whole.of(str(described["key"]))
    if len(part) == kept:
        return None
    return keep_compared(
        _finish(_prepare(part, described, seed, plan), part, described, plan, family)
    )


def _list_of_others(
    found: Mapping[str, Any], table: Table, texts: pd.DataFrame | None, seed: int
) -> list[Figure]:
    """What other papers print of the criterion, for its files."""
    family = find_family(found)
    scale = [float(one["value"]) for one in found["answers"]] if family.has_points else None
    figures = list_other_figures(table, family, scale, seed=seed)
    same = None
    if texts is not None and not family.compares:
        same = compare_identical(table, texts)
    return figures if same is None else [*figures, same]


def _add_metrics(
    found: dict[str, Any], table: Table, scores: pd.DataFrame | None, seed: int
) -> dict[str, Any]:
    """The part of a criterion with what automatic metrics say of the same outputs."""
    metrics = report_metrics(table, find_family(found), scores, seed, found["better"])
    notes = list(found["notes"])
    if metrics is not None:
        # before the seed, which holds for them too
        notes[-1:-1] = list_metric_notes(metrics)
    return {**found, "metrics": metrics, "notes": notes}


def list_systems(table: Table) -> list[str]:
    """The systems that have ratings or answers in the table, by name."""
    rows = table.rows
    answered = rows[rows.outcome.notna()]
    named = {*rows.system, *answered.system_1, *answered.system_2}
    return sorted(named - {""})
