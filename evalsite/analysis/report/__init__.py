"""The report of a study: everything that its ratings show, as plain data that JSON can hold.

It is made from the files that the study exports, so anyone who has them can make it again.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from evalsite.analysis.compare import describe_of_one_rater
from evalsite.analysis.design import (
    count_parts,
    describe_data,
    describe_design,
    find_missing,
    find_shift,
    is_suspect,
    list_design_figures,
    list_shown,
)
from evalsite.analysis.difference_tests import correct_margins
from evalsite.analysis.families import find_family, get_numbers, name_unit
from evalsite.analysis.families.numbers import Prepared
from evalsite.analysis.figure import (
    LEVEL,
    METHODS_VERSION,
    REML,
    Cautions,
    Figure,
    make_note,
    to_plain,
)
from evalsite.analysis.gate_slices import describe_slices, place_in_slices, read_item_slices
from evalsite.analysis.intervals import DRAWS
from evalsite.analysis.plan import NO_PLAN, Plan, find_better, is_undirected
from evalsite.analysis.ratings import Table, read_table
from evalsite.analysis.report.across_criteria import (
    compare_identical,
    list_other_figures,
    read_texts,
    report_together,
    warn_of_likeness,
)
from evalsite.analysis.report.answers import (
    Instrument,
    count_comments,
    count_missing,
    describe_missing,
    drop_ignored,
    keep_compared,
    list_reasons,
    read_ignored,
    read_notes,
    read_remarks,
    report_ignored,
    split_parts,
    warn_of_dropped,
)
from evalsite.analysis.report.judges import (
    count_output_words,
    decide_by_judges,
    read_labels,
    report_judges,
)
from evalsite.analysis.report.metrics import read_metrics, report_metrics
from evalsite.analysis.report.raters import (
    report_copies,
    report_raters,
    report_repeats,
    warn_of_copies,
)
from evalsite.analysis.report.spans import list_unscored, report_spans
from evalsite.analysis.thresholds import START, Thresholds

# --- words to read --------------------------------------------------------------------
_AT_ONCE = 10_000  # rows; texts may be long
# columns of items.csv that aren't inputs; those of gold begin with gold_
_NO_INPUTS = frozenset({
    "study", "batch", "item", "group", "cluster", "kind", "repeat_of", "held", "output_id",
    "system", "output", "output_is_empty", "extra", "item_no", "group_no",
})  # fmt: skip


def count_words(path: Path) -> pd.DataFrame:
    """Return for each text of each item in an exported items.csv: `item`, `text` (equal texts have
    equal numbers) and `words`.

    Words are separated by spaces: a script without spaces seems to have few words, so nobody
    seems too fast. Without a column output the frame is empty.
    """
    counted = [pd.DataFrame({"item": [], "text": [], "words": []})]
    with pd.read_csv(path, dtype=str, keep_default_na=False, chunksize=_AT_ONCE) as parts:
        counted += [_count(part) for part in parts if "output" in part]
    # each output has a row, which repeats the inputs of its item
    return pd.concat(counted[1:] or counted, ignore_index=True).drop_duplicates(["item", "text"])


def _count(rows: pd.DataFrame) -> pd.DataFrame:
    inputs = [
        name for name in rows.columns if name not in _NO_INPUTS and not name.startswith("gold_")
    ]
    texts = rows.melt(id_vars="item", value_vars=["output", *inputs], value_name="of")
    words = texts.of.map(lambda text: len(text.split())).astype(float)
    numbers = pd.util.hash_array(texts.of.to_numpy(dtype=object))
    return pd.DataFrame({"item": texts["item"], "text": numbers, "words": words})


# --- warnings -------------------------------------------------------------------------
FEW_RATERS = 5  # fewer than this and no method rescues a claim about raters
FEW_ITEMS = 10
FEW_CLUSTERS = 5


def warn_about(table: Table) -> list[dict[str, Any]]:
    """Return the warnings about all of the data."""
    rows = table.rows
    warnings = [
        make_note(origin, ratings=count, total=len(rows))
        for origin in ("simulated", "imported")
        if (count := int((rows.origin == origin).sum()))
    ]
    if not table.raters_known:
        warnings.append(make_note("raters_unknown"))
    clusters = rows[rows.cluster != ""].cluster.nunique()
    if 0 < clusters < FEW_CLUSTERS:
        warnings.append(make_note("few_clusters", clusters=clusters))
    if table.raters_known and count_parts(rows) > 1:
        warnings.append(make_note("unlinked"))
    return warnings


def warn_of_few(parts: Mapping[str, Table]) -> list[dict[str, Any]]:
    """Return warnings of few raters or inputs, by criterion, or of all data if all have few.

    `parts`: the ratings or answers of each criterion that has some.
    """
    few_raters: dict[int, list[str]] = {}
    few_items = []
    for key, part in parts.items():
        raters = part.rows.participant.nunique()
        if part.raters_known and raters < FEW_RATERS:
            few_raters.setdefault(raters, []).append(key)
        if part.rows.group.nunique() < FEW_ITEMS:
            few_items.append(key)

    def list_criteria(keys: list[str]) -> list[str | None]:
        return [None] if len(keys) == len(parts) else [*keys]

    return [
        make_note("few_raters", key, raters=raters, keeps_error_rate=False)
        for raters, keys in few_raters.items()
        for key in list_criteria(keys)
    ] + [make_note("few_items", key) for key in list_criteria(few_items) if few_items]


def drop_repeated(
    warnings: Sequence[dict[str, Any]], criteria: Collection[str]
) -> list[dict[str, Any]]:
    """Return the warnings without those of few raters where "one rater" says the same and more.

    `criteria`: the keys of all that have ratings, which a warning of no criterion is about.
    """
    of_one = {note["criterion"] for note in warnings if note["code"] == "one_rater"}
    return [
        note
        for note in warnings
        if note["code"] != "few_raters"
        or note["facts"]["raters"] > 1
        or not ({note["criterion"]} if note["criterion"] else set(criteria)) <= of_one
    ]


# warnings that contradict the claim that tests keep their error rate
_DOUBTS = frozenset({
    "simulated", "raters_unknown", "own_error_differs", "copied", "both_alike",
    "missing_by_system", "clusters_not_named",
})  # fmt: skip
_CLAIMED_FROM = 3  # raters, the fewest in the simulations


def claim_error_rate(
    warnings: Sequence[dict[str, Any]], criteria: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the warnings, those of few raters with a fact: whether simulations back the tests.

    They do if each criterion is compared by the model of all systems and nothing else is in doubt.
    `criteria`: with their pairs.
    """

    def is_claimed(note: Mapping[str, Any]) -> bool:
        key = note["criterion"]
        doubted = {
            other["code"] for other in warnings if key is None or other["criterion"] in (None, key)
        }
        effects = [
            pair["effect"]
            for criterion in criteria
            if key in (None, criterion["key"])
            for pair in criterion["pairs"]
        ]
        return (
            note["facts"]["raters"] >= _CLAIMED_FROM
            and not doubted & _DOUBTS
            and bool(effects)
            and all(effect.method == REML and effect.value is not None for effect in effects)
        )

    return [
        note
        if note["code"] != "few_raters"
        else {**note, "facts": {**note["facts"], "keeps_error_rate": is_claimed(note)}}
        for note in warnings
    ]


def warn_of_missing(
    criterion: Mapping[str, Any], absent: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return a warning for each system whose ratings are missing more often than the others'."""
    pairs, better = criterion["pairs"], criterion["better"]
    effect = pairs[0]["effect"].name if pairs else "difference"
    return [
        make_note(
            "missing_by_system",
            criterion["key"],
            **entry,
            better=better,
            unit=name_unit(criterion),
            effect=effect,
            shift=find_shift(entry, pairs, better),
        )
        for entry in absent
        if is_suspect(entry)
    ]


def warn_of_criterion(key: str, cautions: Cautions) -> list[dict[str, Any]]:
    """Return the warnings of a criterion, without those that `warn_of_few` or notes give."""
    # a variance of 0 is a valid answer, so a note reports it
    reported_elsewhere = {"raters_unknown", "singular_model"}
    return [
        make_note(code, key, **facts)
        for code, facts in cautions.items()
        if code not in reported_elsewhere
    ]


# --- the report

Progress = Callable[[int, int], None]
KeepOutputs = Callable[[pd.DataFrame], None]

# how many answers are missing by design: by criterion, reason and system
Missing = Mapping[str, Mapping[str, Mapping[str, int]]]
MANY_RATERS = 2


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What decides a report beside the ratings.

    `instrument`: for each criterion its key, label, kind, family, answers (value and label),
    reserved points and, without answers, minimum and maximum. `plan`: what was fixed beforehand.
    `limits`: above which raters are flagged.
    """

    instrument: Instrument
    seed: int
    plan: Plan = NO_PLAN
    limits: Thresholds = START


@dataclass(frozen=True, kw_only=True)
class Material:
    """The ratings that count, all of them, and the other files of a study by name.

    `missing`: how many answers are missing by design. `warnings`: found when the files were read.
    """

    table: Table
    everything: Table
    files: Mapping[str, pd.DataFrame]
    missing: Missing = field(default_factory=dict)
    warnings: Sequence[dict[str, Any]] = ()


def make_reports(
    paths: Mapping[str, Path],
    settings: Settings,
    *,
    progress: Progress = lambda done, total: None,
    keep_outputs: KeepOutputs | None = None,
) -> dict[str, Any]:
    """Return the reports "kept", without exclusions, and "all", None if nothing is excluded.

    `paths`: the files ratings (needed), annotations, highlights, items, metrics and judge_labels,
    as a study exports them; for a bare file of preferences `outputs`, a file that names the systems
    of each item. `keep_outputs` is called with the table of outputs of each criterion of the report
    "kept", in turn. ValueError: a file doesn't have the documented form.
    """
    unsplit = read_table(paths["ratings"], outputs=paths.get("outputs"))
    table, criteria = split_parts(unsplit, settings.instrument)
    of_parts = replace(settings, instrument=criteria)
    files = {
        name: pd.read_csv(paths[name], dtype=str, keep_default_na=False)
        for name in ("annotations", "highlights", "items")
        if name in paths and (name != "items" or "highlights" in paths)
    }
    if "items" in paths:
        files["words"] = count_words(paths["items"])
        files["texts"] = read_texts(paths["items"])
    files["remarks"] = read_remarks(paths)
    files["notes"] = read_notes(files.get("annotations"))
    sliced = {margin.slices for margin in settings.plan.margins if margin.slices}
    if sliced and "items" in paths:
        files["slices"] = read_item_slices(paths["items"], sliced)
    if "metrics" in paths:
        files["metrics"] = read_metrics(paths["metrics"])
    if "judge_labels" in paths:
        files["judge_labels"] = read_labels(paths["judge_labels"], paths.get("items"))
        if "items" in paths:
            files["output_words"] = count_output_words(paths["items"])
    kept, everything = table.results(), table.results(with_excluded=True)
    has_excluded = len(kept) != len(everything)
    steps = (1 + has_excluded) * (len(criteria) + 1)
    done = iter(range(1, steps + 1))

    def step() -> None:
        progress(next(done), steps)

    def report(ratings: Table, keep_outputs: KeepOutputs | None = None) -> dict[str, Any]:
        with_excluded = ratings is everything
        loose = [
            str(criterion["key"]) for criterion in settings.instrument if criterion.get("is_loose")
        ]
        counted = unsplit.results(with_excluded=with_excluded) if loose else unsplit
        missing = {key: count_missing(counted, key) for key in loose}
        written = {name: files[name] for name in ("remarks", "notes")}
        if ratings is not everything:
            written = {name: rows[~rows.is_excluded] for name, rows in written.items()}
        material = Material(table=ratings, everything=table, files=files | written, missing=missing)
        return make_report(material, of_parts, step=step, keep_outputs=keep_outputs)

    return {
        "kept": report(kept, keep_outputs),
        "all": report(everything) if has_excluded else None,
    }


def make_report(
    material: Material,
    settings: Settings,
    *,
    step: Callable[[], None] = lambda: None,
    keep_outputs: KeepOutputs | None = None,
) -> dict[str, Any]:
    """Return a report of the ratings that count."""
    table, files, missing = material.table, material.files, material.missing
    instrument, seed, plan = settings.instrument, settings.seed, settings.plan
    ignored = read_ignored(files.get("annotations"), table)
    whole, table = table, drop_ignored(table, ignored)
    asked = {str(criterion["key"]): criterion for criterion in instrument}
    parts = {key: part for key in asked if len(part := table.of(key))}
    facts = describe_design(table)
    warnings = [
        *material.warnings, *warn_about(table), *warn_of_few(parts),
        *warn_of_dropped(whole, table),
    ]  # fmt: skip
    # all that people answered, even about items that most ignored
    copied = report_copies(whole)
    warnings += warn_of_copies(copied)
    prepared = {key: _prepare(part, asked[key], settings) for key, part in parts.items()}
    family = Family.of(
        plan.primary,
        {key: tests.p for key, tests in prepared.items()},
        {key: str(option["of"]) for key, option in asked.items() if "of" in option},
    )
    warnings += family.warn()
    criteria = []
    # the primary criterion is the result: it comes first
    for key in sorted(asked, key=lambda key: not family.is_primary(key)):
        if key in parts:
            part = parts[key]
            result = _finish(prepared[key], part, asked[key], plan, family)
            warnings += warn_of_criterion(key, result.pop("cautions"))
            list_outputs = result.pop("outputs", None)
            if keep_outputs and list_outputs:
                keep_outputs(list_outputs())
            by_design = missing.get(str(asked[key].get("of", key)), {})
            shown = _list_shown(table, asked[key])
            result["other_papers"] = _list_other_papers(result, part, files.get("texts"), seed)
            _describe(result, part, shown, by_design)
            warnings += warn_of_missing(result, result["missing_by_system"])
            result["undropped"] = _report_undropped(whole, len(part), asked[key], settings, family)
            if "remarks" in files and asked[key].get("reasons"):
                result["reasons"] = {
                    "labels": {option["key"]: option["label"] for option in asked[key]["reasons"]},
                    "shares": [*list_reasons(files["remarks"], asked[key], seed=seed)],
                }
            if "judge_labels" in files:
                result["judges"] = report_judges(
                    part, asked[key], files["judge_labels"], files.get("output_words"),
                    result["model"],
                )  # fmt: skip
            if find_family(asked[key]).has_marks and "highlights" in files:
                result["spans"] = report_spans(part, asked[key], files["highlights"], seed)
            criteria.append(_add_metrics(result, part, files.get("metrics"), seed))
        step()
    decide_by_judges(
        criteria, plan, family.p, is_across=family.is_across, raters_known=table.raters_known
    )
    margins = [criterion.get("margins") or [] for criterion in criteria]
    for tests in [[*chain(*margins)]] if family.is_across else margins:
        correct_margins(tests)
        correct_margins(test["alone"] for test in tests if "alone" in test)
    if "slices" in files:
        for result in criteria:
            key = result["key"]
            _judge_slices(result, parts[key], asked[key], settings, files["slices"])
    # an option that was ticked doesn't accept an output
    families = {
        key: find_family(criterion) for key, criterion in asked.items() if "of" not in criterion
    }
    directions = {key: find_better(criterion) for key, criterion in asked.items()}
    together = report_together(table, files, families, directions, seed)
    together |= report_ignored(ignored, table, seed)
    labels = {key: criterion["label"] for key, criterion in asked.items()}
    warnings += warn_of_likeness(together, labels)
    report = {
        "methods_version": METHODS_VERSION,
        "seed": seed,
        "draws": DRAWS,
        "level": LEVEL,
        "plan": {
            "primary": family.primary or None,
            "baseline": plan.baseline or None,
            "has_own_errors": plan.has_own_errors,
            "thresholds": asdict(settings.limits),
        },
        "family": family.describe(),
        "data": describe_data(table, files.get("annotations"), facts),
        "warnings": claim_error_rate(drop_repeated(warnings, parts), criteria),
        "design": list_design_figures(facts),
        "criteria": criteria,
        "together": {
            **together,
            "repeats": report_repeats(material.everything, instrument),
        },
        # how people rate or ignore shows in all of their answers
        "raters": report_raters(
            whole, files, instrument, settings.limits, with_repeats=material.everything
        ),
        "copied": copied,
    }
    unscored = [
        criterion for key, criterion in asked.items()
        if key not in parts and find_family(criterion).has_marks
    ]  # fmt: skip
    if unscored and "highlights" in files:
        report["marks"] = list_unscored(whole, unscored, files["highlights"], seed)
    if "remarks" in files:
        report["comments"] = count_comments(files["remarks"], files["notes"])
    step()
    plain: dict[str, Any] = to_plain(report)
    return plain


def _list_shown(table: Table, criterion: Mapping[str, Any]) -> pd.DataFrame:
    """Return which outputs were shown with a question, and which of these have no rating."""
    family = find_family(criterion)
    is_of_all = family.compares or family.orders
    is_of_outputs = not is_of_all and "of" not in criterion and "per" not in criterion
    shown = list_shown(
        table, str(criterion["key"]), is_asked_always=not criterion.get("is_conditional")
    )
    return shown if is_of_outputs else shown[:0]


def _describe(
    result: dict[str, Any],
    part: Table,
    shown: pd.DataFrame,
    by_design: Mapping[str, Mapping[str, int]],
) -> None:
    """Add what is missing, and what that leaves open."""
    result["missing_by_system"] = find_missing(shown)
    if any(by_design.values()):
        result["missing"] = by_design
    notes = result["notes"] = []
    if any(system["missing"] for system in result["missing_by_system"]):
        notes.append(make_note("missing_at_random", share=float(shown.is_missing.mean())))
    # of a comparison of two outputs nothing can be missing of one system alone
    is_of_outputs = (part.rows.system != "").any() and not find_family(result).orders
    if shown.empty and part.raters_known and is_of_outputs and result["pairs"]:
        notes.append(make_note("shown_unknown"))
    notes += describe_missing(by_design)


@dataclass(frozen=True, kw_only=True)
class Family:
    """The comparisons for which p values are corrected together.

    These are the comparisons of one criterion if the plan names a primary one or there is only one;
    otherwise those of all criteria. The options of a choice, which are a criterion each, are always
    corrected together.
    """

    primary: str
    p: Mapping[str, list[float]]  # of each criterion
    choices: Mapping[str, str]  # of each option, the choice that it belongs to

    @classmethod
    def of(cls, primary: str, p: Mapping[str, list[float]], choices: Mapping[str, str]) -> "Family":
        """Return the family; a primary criterion without ratings doesn't count as one."""
        known = {choices.get(key, key) for key in p} | set(p)
        return cls(primary=primary if primary in known else "", p=p, choices=choices)

    def is_primary(self, criterion: str) -> bool:
        """Return whether this is the primary criterion, or an option of it."""
        return self.primary in (criterion, self.choices.get(criterion, criterion))

    @property
    def is_across(self) -> bool:
        return not self.primary and sum(bool(values) for values in self.p.values()) > 1

    def list_other_p(self, criterion: str) -> list[float]:
        """Return the p values of other criteria that the correction of this one covers."""
        choice = self.choices.get(criterion)
        return [
            p
            for key, values in self.p.items()
            if key != criterion
            and (self.is_across or (choice is not None and self.choices.get(key) == choice))
            for p in values
        ]

    def name_role(self, criterion: str) -> str:
        """Return "primary", "secondary" or, where none is primary, ""."""
        if not self.primary:
            return ""
        return "primary" if self.is_primary(criterion) else "secondary"

    def describe(self) -> dict[str, Any]:
        tests = sum(len(values) for values in self.p.values())
        return {"across": self.is_across, "comparisons": tests}

    def warn(self) -> list[dict[str, Any]]:
        if not self.is_across:
            return []
        return [make_note("across", comparisons=sum(len(values) for values in self.p.values()))]


def _prepare(table: Table, criterion: Mapping[str, Any], settings: Settings) -> Prepared:
    planned = settings.plan.of(str(criterion["key"]), list_systems(table), find_better(criterion))
    numbers = get_numbers(find_family(criterion))
    prepared = numbers.prepare(table, criterion, settings.seed, planned)
    has_one_rater = table.raters_known and table.rows.participant.nunique() < MANY_RATERS
    # what one rater did isn't tested
    return replace(prepared, p=[]) if has_one_rater else prepared


def _finish(
    prepared: Prepared, table: Table, criterion: Mapping[str, Any], plan: Plan, family: Family
) -> dict[str, Any]:
    key = str(criterion["key"])
    baseline = plan.baseline if plan.baseline in list_systems(table) else None
    known = {name: criterion[name] for name in ("key", "label", "kind")}
    known |= {
        "family": find_family(criterion).name, "better": find_better(criterion),
        "baseline": baseline, "role": family.name_role(key),
    }  # fmt: skip
    result = known | prepared.finish(family.list_other_p(key))
    if "one_rater" in result["cautions"]:
        result = describe_of_one_rater(result)
    if is_undirected(criterion):
        result["cautions"]["no_direction"] = {}
    if plan.baseline and baseline is None:
        result["cautions"]["no_baseline"] = {}
    return result


def _judge_slices(
    result: dict[str, Any], table: Table, criterion: Mapping[str, Any], settings: Settings,
    by_item: pd.DataFrame,
) -> None:  # fmt: skip
    """Change tests of "not worse" by the slices that the plan names."""
    better, judge = find_better(criterion), get_numbers(find_family(criterion)).judge_margins
    planned = settings.plan.of(result["key"], list_systems(table), better).margins
    # by one rater nothing is tested
    for test, margin in zip(result.get("margins") or (), planned, strict=False):
        is_refused = test.get("reason") in ("no_margin", "no_direction")
        if margin.slices and margin.relation == "not_worse" and not is_refused:
            slices = place_in_slices(table, by_item[margin.slices])
            judged = describe_slices(table, slices, judge=judge, margin=margin, seed=settings.seed)
            for part in (test, test.get("alone")):
                if part is not None:
                    on_all = part["outcome"]
                    outcome = "fail" if judged["fails_in"] else on_all
                    part |= {"outcome_on_all": on_all, "outcome": outcome, **judged}


def _report_undropped(
    whole: Table, kept: int, criterion: Mapping[str, Any], settings: Settings, family: Family
) -> dict[str, Any] | None:
    """Return the results with the items that most ignored; None if these have no ratings."""
    part = whole.of(str(criterion["key"]))
    if len(part) == kept:
        return None
    prepared = _prepare(part, criterion, settings)
    return keep_compared(_finish(prepared, part, criterion, settings.plan, family))


def _list_other_papers(
    result: Mapping[str, Any], table: Table, texts: pd.DataFrame | None, seed: int
) -> list[Figure]:
    """Return the figures that other papers print, for the files of the criterion."""
    family = find_family(result)
    scale = [float(answer["value"]) for answer in result["answers"]] if family.has_points else None
    figures = list_other_figures(table, family, scale, seed=seed)
    if texts is not None and not family.compares:
        identical = compare_identical(table, texts)
        figures += [] if identical is None else [identical]
    return figures


def _add_metrics(
    result: dict[str, Any], table: Table, scores: pd.DataFrame | None, seed: int
) -> dict[str, Any]:
    """Return the result with automatic metrics of the same outputs."""
    metrics = report_metrics(table, find_family(result), scores, seed, result["better"])
    return {**result, "metrics": metrics}


def list_systems(table: Table) -> list[str]:
    """Return the names of the systems with ratings or answers, in alphabetical order."""
    rows = table.rows
    answered = rows[rows.outcome.notna()]
    named = {*rows.system, *answered.system_1, *answered.system_2}
    return sorted(named - {""})
