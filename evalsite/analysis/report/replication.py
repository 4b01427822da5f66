"""A study compared with its replication, as plain data that JSON can hold.

It is made from the reports of both studies and the ratings behind them, so that the findings of
each are described as in its own report.

CV* is the coefficient of variation for small samples of Belz, Popovic and Mille (2022, Quantified
Reproducibility Assessment of NLP Results, ACL), with the corrections of the code that they
published with it (coeff-var) and of the reference vector: 100 (1 + 1/(4n)) s / (c4(n) |mean|),
where s has n - 1 degrees of freedom and c4 makes it unbiased for normal scores. The scale must
begin at 0. Their later QRA++ has more measures, which aren't computed here.

A frame has a row for each rating: `rater` (missing: unknown), `group` and `block` (the input, and
what is drawn as a whole), `unit` (the output, with the same name in both studies), `system`,
`value`; for preferences a row for each system, and the number of their common `answer`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, lgamma, sqrt
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import stats

from evalsite.analysis.agreement import Level, alpha
from evalsite.analysis.correlation import METHODS, Kind, correlate, steady
from evalsite.analysis.families import find_family, get_numbers
from evalsite.analysis.families.numbers import Numbers, find_scale
from evalsite.analysis.figure import (
    LEVEL,
    METHODS_VERSION,
    Figure,
    Reason,
    make_note,
    to_plain,
    undefined,
)
from evalsite.analysis.intervals import (
    METHOD,
    METHOD_ITEMS,
    NO_DRAWS,
    SEED,
    describe_draws,
    draws_for,
    two_way_means,
)
from evalsite.analysis.intervals import METHOD as OVER_BOTH
from evalsite.analysis.ratings import Floats, Ratings, Table, canonical_rows, read_table
from evalsite.analysis.report.answers import drop_ignored, read_ignored

CV_STAR = "cv_star"
FEW_SYSTEMS = 10  # below this, a correlation over systems has an interval but no p
_TINY = 1e-12

Outcome = Literal["upheld", "reversed", "not_again", "not_compared", "new", "open"]
Pair = tuple[str, str]


def cv_star(scores: Sequence[float]) -> Figure:
    """Return how far scores of the same quantity vary, in percent of their mean.

    `scores`: on a scale that begins at 0; ValueError: one is below 0. Undefined: too_few (one
    score), no_variation (all are 0).
    """
    values = np.asarray(scores, dtype=np.float64)
    n = len(values)
    if (values < 0).any():
        raise ValueError("Shift the scale to begin at 0: a score is below it.")
    if n < 2:
        return undefined("cv_star", Reason.TOO_FEW, method=CV_STAR, n={"scores": n})
    mean, sd = float(values.mean()), float(values.std(ddof=1))
    if mean < _TINY:
        return undefined("cv_star", Reason.NO_VARIATION, method=CV_STAR, n={"scores": n})
    c4 = sqrt(2 / (n - 1)) * exp(lgamma(n / 2) - lgamma((n - 1) / 2))
    return Figure(
        name="cv_star",
        method=CV_STAR,
        value=(1 + 1 / (4 * n)) * sd / c4 / mean * 100,
        n={"scores": n},
        details={"mean": mean, "sd": sd, "sd_unbiased": sd / c4,
                 "interval": "few_scores"},
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Twice:
    """The scores of the systems that both studies rated, and their draws.

    `first` and `second`: means (of logarithms if `is_log`), arrays (systems,). Draws: (draws,
    systems), NaN where a draw leaves a score undefined.
    """

    systems: list[str]
    first: Floats
    second: Floats
    first_drawn: Floats
    second_drawn: Floats
    counts: list[dict[str, dict[str, int]]]  # of each study, by system
    n: dict[str, int]
    low: float
    is_log: bool
    over_raters: bool
    can_be_drawn: bool
    seed: int


def score_twice(
    first: pd.DataFrame, second: pd.DataFrame, *, low: float = 0.0, is_log: bool = False,
    seed: int = SEED,
) -> Twice:  # fmt: skip
    """Return the scores of the systems in common, each study's from all of its own ratings.

    Inputs that both have are drawn together, raters of both from one pool. `low`: where the scale
    begins. `is_log`: values are magnitudes, compared by their logarithms.
    """
    systems = sorted(set(first.system) & set(second.system))
    parts = [part[part.system.isin(systems)] for part in (first, second)]
    rows = _join(*parts)
    value = np.log(rows.value) if is_log else rows.value
    place = {name: number for number, name in enumerate(systems)}
    column = rows.system.map(place).to_numpy(np.int64) + len(systems) * rows.study.to_numpy()
    is_known = bool(rows.rater.notna().all())
    who = rows.rater if is_known else np.zeros(len(rows))
    value = value.to_numpy(np.float64)
    order, (who_code, block_code, _) = canonical_rows(
        value, np.asarray(who), rows.block.to_numpy(), column
    )
    draws = draws_for(len(rows))
    means, drawn = np.zeros(0), np.zeros((draws, 0))
    if len(rows):
        ratings = Ratings(value=value[order], rater=who_code if is_known else None,
                          block=block_code, system=column[order])  # fmt: skip
        means, drawn = two_way_means(ratings, draws=draws, seed=seed)
    n = {"systems": len(systems)}
    if all("answer" in part for part in parts):
        # each answer has two rows
        n["answers"] = sum(part.answer.nunique() for part in parts)
    else:
        n["ratings"] = len(rows)
    raters = [part.rater.nunique() for part in parts]
    return Twice(
        systems=systems,
        first=means[: len(systems)],
        second=means[len(systems) :],
        first_drawn=drawn[:, : len(systems)],
        second_drawn=drawn[:, len(systems) :],
        counts=[_count_by_system(part) for part in parts],
        n=n | ({"raters": sum(raters)} if is_known else {}),
        low=low,
        is_log=is_log,
        over_raters=is_known,
        can_be_drawn=rows.block.nunique() > 1 and (not is_known or min(raters) > 1),
        seed=seed,
    )


def _join(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Return both studies in one frame; raters differ, inputs with the same name are the same."""
    rows = pd.concat([first.assign(study=0), second.assign(study=1)], ignore_index=True)
    is_known = rows.rater.notna()
    rows["rater"] = (rows.study.astype(str) + "|" + rows.rater.astype(str)).where(is_known, None)
    # a file without clusters takes those of the other; if both have some, the first's count
    known = rows[rows.block != rows.group].drop_duplicates("group").set_index("group").block
    if len(known):
        rows["block"] = rows.group.map(known).fillna(rows.block)
    return rows


def _count_by_system(rows: pd.DataFrame) -> dict[str, dict[str, int]]:
    parts = rows.groupby("system")
    return {
        str(name): {"ratings": len(part), "outputs": part.unit.nunique()} for name, part in parts
    }


def find_scores(twice: Twice, study: Literal[0, 1]) -> dict[str, Figure]:
    """Return the score of each system in one study; its own report has the intervals."""
    means = (twice.first, twice.second)[study]
    return {
        system: Figure(
            name="geometric_mean" if twice.is_log else "mean",
            method="of_all_ratings",
            value=exp(mean) if twice.is_log else float(mean),
            n=twice.counts[study][system],
            details={"interval": "see_report"},
        )
        for system, mean in zip(twice.systems, means, strict=True)
    }


def find_differences(twice: Twice) -> dict[str, Figure]:
    """Return second minus first for each system, or the ratio of both for magnitudes."""
    name = "repeat_ratio" if twice.is_log else "repeat_difference"
    differences = {}
    for place, system in enumerate(twice.systems):
        value = float(twice.second[place] - twice.first[place])
        drawn = twice.second_drawn[:, place] - twice.first_drawn[:, place]
        if twice.is_log:
            value, drawn = exp(value), np.exp(drawn)
        figure = Figure(
            name=name,
            method=_name_method(twice),
            value=value,
            n={
                f"ratings_{name}": counts[system]["ratings"]
                for name, counts in zip(("first", "second"), twice.counts, strict=True)
            },
        )
        differences[system] = _add_interval(figure, drawn, twice)
    return differences


def find_cv_stars(twice: Twice) -> dict[str, Figure]:
    """Return CV* of the two scores of each system, on the scale shifted to begin at 0."""
    stars = {}
    for system, *means in zip(twice.systems, twice.first, twice.second, strict=True):
        scores = [exp(mean) if twice.is_log else mean - twice.low for mean in means]
        figure = cv_star([max(score, 0.0) if score > -_TINY else score for score in scores])
        details = {**figure.details, "interval": "two_scores"}
        details["shifted_by"] = 0.0 if twice.is_log else twice.low
        stars[system] = replace(figure, details=details)
    return stars


def correlate_scores(twice: Twice, kind: Kind) -> Figure:
    """Return the correlation of the systems' scores in both studies; each draw keeps all systems.

    Undefined: nothing_in_common, too_few (fewer than 3 systems), no_variation.
    """
    name = f"score_{kind}"
    if not twice.systems:
        return undefined(name, Reason.NOTHING_IN_COMMON, method=METHODS[kind], n={"systems": 0})
    first, second = steady(twice.first), steady(twice.second)
    figure = correlate(first, second, kind, resampling=NO_DRAWS)
    n = {key: number for key, number in twice.n.items() if key != "raters"}
    known = {key: value for key, value in figure.details.items() if key != "blocks"}
    known["transform"] = "ln" if twice.is_log else "none"
    if figure.value is None:
        return replace(figure, name=name, n=n, details=known)
    if len(twice.systems) < FEW_SYSTEMS:
        known.pop("p", None)
    figure = replace(figure, name=name, n=n, details=known)
    return _add_interval(figure, _correlate_rows(twice, kind), twice)


def _correlate_rows(twice: Twice, kind: Kind) -> Floats:
    sides = [steady(twice.first_drawn), steady(twice.second_drawn)]
    if kind == "spearman":
        sides = [stats.rankdata(side, axis=1, nan_policy="propagate") for side in sides]
    first, second = (side - side.mean(axis=1, keepdims=True) for side in sides)
    spread = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    is_flat = ~(spread > _TINY)
    return np.where(is_flat, np.nan, (first * second).sum(axis=1) / np.where(is_flat, 1, spread))


def _name_method(twice: Twice) -> str:
    return METHOD if twice.over_raters else METHOD_ITEMS


def _add_interval(figure: Figure, drawn: Floats, twice: Twice) -> Figure:
    """Return the figure with the percentile interval of its draws."""
    known = dict(figure.details)
    if not twice.can_be_drawn:
        has_raters = twice.over_raters
        known["interval"] = "needs_two_inputs_and_raters" if has_raters else "needs_two_inputs"
        return replace(figure, details=known)
    assert figure.value is not None
    spread = describe_draws(drawn, figure.value)
    known |= spread.details
    if spread.low is not None:
        known["interval"] = _name_method(twice)
    return replace(figure, low=spread.low, high=spread.high, details=known, seed=twice.seed)


# --- agreement ------------------------------------------------------------------------


def agree_across(
    first: pd.DataFrame, second: pd.DataFrame, *, level: Level, is_log: bool = False,
    seed: int = SEED,
) -> list[Figure]:  # fmt: skip
    """Return Krippendorff's alpha on the outputs that both studies rated.

    `alpha_across`: of all ratings together; `alpha_first`, `alpha_second`: of each study alone, on
    the same outputs; `alpha_of_scores`: the two studies taken as two raters, each with the mean of
    its ratings of an output. Undefined: nothing_in_common, and as for alpha.
    """
    names = ("alpha_across", "alpha_first", "alpha_second", "alpha_of_scores")
    common = set(first.unit) & set(second.unit)
    if not common:
        return [
            undefined(name, Reason.NOTHING_IN_COMMON, method="alpha", n={"units": 0})
            for name in names
        ]
    rows = _join(*(rows[rows.unit.isin(common)] for rows in (first, second)))
    if is_log:
        rows["value"] = np.log(rows.value)
    parts = [rows, rows[rows.study == 0], rows[rows.study == 1]]
    figures = [
        alpha(
            Ratings(unit=part.unit, rater=part.rater if part.rater.notna().all() else None,
                    value=part.value, block=part.block),
            level, name=name,
        )
        for name, part in zip(names, parts, strict=False)
    ]  # fmt: skip
    scores = rows.groupby(["unit", "study"], as_index=False).agg(
        {"value": "mean", "block": "first"}
    )
    figures.append(
        alpha(
            Ratings(unit=scores.unit, rater=scores.study, block=scores.block,
                    value=steady(scores.value.to_numpy())),
            "interval", name=names[-1],
        )
    )  # fmt: skip
    if not is_log:
        return figures
    return [replace(figure, details={**figure.details, "transform": "ln"}) for figure in figures]


# --- findings -------------------------------------------------------------------------


def share_upheld(
    first: Mapping[Pair, str], second: Mapping[Pair, str]
) -> tuple[Figure, dict[Pair, Outcome]]:
    """Return the share of the first study's findings that the second upholds, and each outcome.

    `first`, `second`: by pair, its names sorted, the system that is higher at the corrected level,
    or "" if no difference is clear; pairs that aren't compared are missing. A finding is upheld if
    the second study has the same direction; findings whose pair it doesn't compare are counted
    separately. Undefined: nothing_in_common (no pair is compared in both), no_difference (the first
    has no finding that could be upheld).
    """
    outcomes: dict[Pair, Outcome] = {
        pair: _judge(first.get(pair), second.get(pair)) for pair in sorted({*first, *second})
    }
    counts = {str(name): sum(outcome == name for outcome in outcomes.values()) for name in _COUNTED}
    tested = sum(counts[name] for name in ("upheld", "reversed", "not_again"))
    n = {"findings": tested, "pairs": len(set(first) & set(second))}
    method = "share_upheld"
    known: dict[str, Any] = {**counts, "interval": "shared_findings"}
    if not tested:
        reason = Reason.NO_DIFFERENCE if n["pairs"] else Reason.NOTHING_IN_COMMON
        return undefined("share_upheld", reason, method=method, n=n, details=known), outcomes
    figure = Figure(
        name="share_upheld", method=method, value=counts["upheld"] / tested, n=n, details=known
    )
    return figure, outcomes


_COUNTED: tuple[Outcome, ...] = ("upheld", "reversed", "not_again", "not_compared", "new")


def _judge(first: str | None, second: str | None) -> Outcome:
    if first is None or second is None:
        return "not_compared" if first else "open"
    if not first:
        return "new" if second else "open"
    if not second:
        return "not_again"
    return "upheld" if first == second else "reversed"


# --- the comparison as a report ----------------------------------------------------------------

_SIDES = ("first", "second")
_SEPARATOR = "\x1f"
# of findings that say nothing about systems in general
_UNTOLD = {"undefined", "by_one_rater"}

# --- warnings -------------------------------------------------------------------------


def warn_of_both(
    comparison: Mapping[str, Any], warnings: Sequence[Sequence[Mapping[str, Any]]]
) -> list[dict[str, Any]]:
    """Return what a reader must know before believing a comparison of two studies.

    `warnings`: those of each study's report; the ones about all of its data are repeated.
    """
    return [
        *_warn_of_outputs(comparison),
        *_warn_of_criteria(comparison),
        *(
            {**note, "study": side}
            for side, notes in zip(_SIDES, warnings, strict=True)
            for note in notes
            if note["criterion"] is None
        ),
    ]


def _warn_of_outputs(comparison: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    common = comparison["common"]
    first, second = (comparison[side]["outputs"] for side in _SIDES)
    is_pairs = any(find_family(criterion).compares for criterion in comparison["criteria"])
    if number := common["same_answers"]:
        yield make_note("same_answers", ratings=number)
    if not common["outputs"]:
        yield make_note("no_shared_outputs", is_pairs=is_pairs)
    elif max(first, second) > common["outputs"] + common["changed"]:
        yield make_note(
            "other_items", is_pairs=is_pairs, common=common["outputs"], first=first, second=second
        )
    if number := common["changed"]:
        yield make_note("other_texts", is_pairs=is_pairs, changed=number)
    for side in _SIDES:
        if systems := common[f"only_{side}"]:
            yield make_note(f"only_{side}", systems=systems)


def _warn_of_criteria(comparison: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    first, second = (comparison[side]["criteria"] for side in _SIDES)
    if alone := [key for key in (*first, *second) if (key in first) != (key in second)]:
        yield make_note("other_criteria", criteria=alone)
    for criterion in comparison["criteria"]:
        if criterion["has_other_scale"]:
            yield make_note("other_scale", label=criterion["label"])
        if criterion["standard"] is not None:
            yield make_note(
                "other_standard", label=criterion["label"], standard=criterion["standard"]
            )


# --- how it was computed --------------------------------------------------------------


def list_notes(criterion: Mapping[str, Any], low: float, seed: int) -> list[dict[str, Any]]:
    """Return the notes on one criterion, whose figures are known."""
    family = find_family(criterion)
    moved = [system["moved"] for system in criterion["systems"]]
    drawn = [figure for figure in moved if figure.details.get("draws")]
    return [
        make_note("repeated_score", family=family.name),
        make_note("repeated_cv", low=low),
        *(
            make_note(
                "repeated_intervals",
                draws=figure.details["draws"],
                method=figure.method,
                is_one_pool=figure.method == OVER_BOTH,
            )
            for figure in drawn[:1]
        ),
        make_note("repeated_correlations", is_log=family.is_log),
        make_note("repeated_agreement"),
        make_note("repeated_findings"),
        make_note("seed", seed=seed, methods=METHODS_VERSION),
    ]


# --- the comparison as plain data -----------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two studies: its report, and its ratings without those that the report drops."""

    table: Table
    report: Mapping[str, Any]


def read_side(paths: Mapping[str, Path], report: Mapping[str, Any]) -> Side:
    """Return a study from its exported files ratings and annotations and its report "kept"; items
    that most raters ignored are left out here too."""
    table = read_table(paths["ratings"]).results()
    annotations = pd.read_csv(paths["annotations"], dtype=str, keep_default_na=False)
    return Side(table=drop_ignored(table, read_ignored(annotations, table)), report=report)


def make_repetition(
    sides: tuple[Side, Side],
    *,
    instrument: Sequence[Mapping[str, Any]],
    seed: int,
    changed: Collection[tuple[str, str]] = frozenset(),
    step: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Return by criterion which results of the first study the second, the replication, upholds.

    `changed`: item and system of outputs with the same name but another text or input in the second
    study; they count in scores, but not as common outputs. `instrument` as for a report.
    """
    criteria = []
    for criterion in instrument:
        key = str(criterion["key"])
        if all(len(side.table.of(key)) for side in sides):
            criteria.append(_compare(sides, criterion, changed, seed))
        step()
    comparison = {
        "methods_version": METHODS_VERSION,
        "seed": seed,
        "level": LEVEL,
        "first": _describe(sides[0]),
        "second": _describe(sides[1]),
        "common": _count_common(sides, changed),
        "criteria": criteria,
    }
    comparison["warnings"] = warn_of_both(comparison, [side.report["warnings"] for side in sides])
    plain: dict[str, Any] = to_plain(comparison)
    return plain


def _describe(side: Side) -> dict[str, Any]:
    data = side.report["data"]
    keys = ("ratings", "participants", "items", "systems", "origins", "raters_known", "first_at",
            "last_at")  # fmt: skip
    criteria = [criterion["key"] for criterion in side.report["criteria"]]
    outputs = set(_name_outputs(side.table.rows))
    return {key: data[key] for key in keys} | {"outputs": len(outputs), "criteria": criteria}


def _count_common(sides: tuple[Side, Side], changed: Collection[tuple[str, str]]) -> dict[str, Any]:
    first, second = (side.table.rows for side in sides)
    outputs = [set(_name_outputs(rows)) for rows in (first, second)]
    moment = ["participant", "item", "system", "criterion", "submitted_at"]
    equal = first[first.submitted_at != ""][moment].merge(second[moment].drop_duplicates())
    systems = [set(side.report["data"]["systems"]) for side in sides]
    shared = pd.Series(sorted(outputs[0] & outputs[1]), dtype=str)
    is_changed = _is_changed(shared, changed)
    return {
        "systems": sorted(systems[0] & systems[1]),
        "only_first": sorted(systems[0] - systems[1]),
        "only_second": sorted(systems[1] - systems[0]),
        "outputs": int((~is_changed).sum()),
        "changed": int(is_changed.sum()),
        "same_answers": len(equal),
    }


def _name_outputs(rows: pd.DataFrame) -> pd.Series:
    """Return a name for what each row rates, the same in both studies: the item and its systems."""
    first, second = (rows[name].astype(str) for name in ("system_1", "system_2"))
    ordered = (
        first.where(first <= second, second) + _SEPARATOR + second.where(first <= second, first)
    )
    systems = rows.system.astype(str).where(rows.preferred == "", ordered)
    is_known = (rows.preferred == "") | (first != "")
    return rows["item"].astype(str) + _SEPARATOR + systems.where(is_known, "")


# --- one criterion --------------------------------------------------------------------


def _compare(
    sides: tuple[Side, Side],
    criterion: Mapping[str, Any],
    changed: Collection[tuple[str, str]],
    seed: int,
) -> dict[str, Any]:
    key, family = str(criterion["key"]), find_family(criterion)
    numbers, is_log = get_numbers(family), family.is_log
    tables = tuple(side.table.of(key) for side in sides)
    first_table, second_table = tables
    standard = numbers.find_common_standard(first_table, second_table)
    rated = [_frame(table, numbers, standard) for table in tables]
    scored = [numbers.score_systems(frame) for frame in rated]
    low = numbers.find_low(tables, criterion)
    twice = score_twice(*scored, low=low, is_log=is_log, seed=seed)
    moved, spread = find_differences(twice), find_cv_stars(twice)
    has_other_scale = len({find_scale(table) for table in tables} - {None}) > 1
    common = [frame[~_is_changed(frame.unit, changed)] for frame in rated]
    agreement = agree_across(*common, level=numbers.repetition_level, is_log=is_log, seed=seed)
    if has_other_scale:
        moved, spread = (
            {name: _refuse(figure) for name, figure in figures.items()}
            for figures in (moved, spread)
        )
        agreement = [_refuse(figure) for figure in agreement]
    first, second = find_scores(twice, 0), find_scores(twice, 1)
    upheld, pairs = _judge_pairs(sides, key)
    comparison = {
        "key": key,
        "label": str(criterion["label"]),
        "kind": str(criterion["kind"]),
        "family": family.name,
        "standard": standard,
        "has_other_scale": has_other_scale,
        "systems": [
            {"system": name, "first": first[name], "second": second[name], "moved": moved[name],
             "cv_star": spread[name]}
            for name in twice.systems
        ],
        "correlations": [correlate_scores(twice, kind) for kind in ("pearson", "spearman")],
        "agreement": agreement,
        "upheld": upheld,
        "pairs": pairs,
    }  # fmt: skip
    return comparison | {
        "finding": _describe_upheld(upheld),
        "notes": list_notes(comparison, twice.low, seed),
    }


def _frame(table: Table, numbers: Numbers, standard: float | None) -> pd.DataFrame:
    """Return the ratings of one study in the form that statistics take."""
    rows, value = numbers.take_values(table, standard)
    return pd.DataFrame(
        {
            "rater": rows.participant if table.raters_known else None,
            "group": rows.group,
            "block": rows.block,
            "unit": _name_outputs(rows),
            "system": rows.system.astype(str),
            "value": value.astype(np.float64),
            "system_1": rows.system_1,
            "system_2": rows.system_2,
        }
    )


def _is_changed(unit: pd.Series, changed: Collection[tuple[str, str]]) -> pd.Series:
    """Return whether each output, or one of two compared outputs, differs in the other study."""
    if not changed:
        return pd.Series(data=False, index=unit.index)
    changed_outputs = {_SEPARATOR.join(pair) for pair in changed}
    parts = unit.str.split(_SEPARATOR)
    return parts.map(lambda part: any(_SEPARATOR.join((part[0], system)) in changed_outputs
                                      for system in part[1:]))  # fmt: skip


def _refuse(figure: Figure) -> Figure:
    return undefined(figure.name, Reason.OTHER_SCALE, method=figure.method, n=figure.n)


# --- findings -------------------------------------------------------------------------


def _judge_pairs(sides: tuple[Side, Side], key: str) -> tuple[Figure, list[dict[str, Any]]]:
    """Return the share of findings upheld, and every pair that the first study compares."""
    first_pairs, second_pairs = (_list_pairs(side.report, key) for side in sides)
    first_higher, second_higher = (
        {
            names: _find_higher(pair)
            for names, pair in pairs.items()
            if pair["finding"]["code"] not in _UNTOLD
        }
        for pairs in (first_pairs, second_pairs)
    )
    figure, outcomes = share_upheld(first_higher, second_higher)
    rows = []
    for names, pair in first_pairs.items():
        again = second_pairs.get(names)
        effect = again and again["effect"]
        if again and again["system_1"] != pair["system_1"]:
            effect = _turn(again["effect"])
        rows.append(
            {
                "system_1": pair["system_1"],
                "system_2": pair["system_2"],
                "first": pair["effect"],
                "second": effect,
                "outcome": outcomes.get(names, "not_compared"),
            }
        )
    return figure, rows


def _list_pairs(report: Mapping[str, Any], key: str) -> dict[Pair, Mapping[str, Any]]:
    return {
        tuple(sorted((pair["system_1"], pair["system_2"]))): pair
        for criterion in report["criteria"]
        if criterion["key"] == key
        for pair in criterion["pairs"]
    }


def _find_higher(pair: Mapping[str, Any]) -> str:
    """Return the system with the clearly higher score, or "" if no difference is clear."""
    higher = {"higher": pair["system_1"], "lower": pair["system_2"]}
    return str(higher.get(pair["finding"]["code"], ""))


def _turn(effect: Mapping[str, Any]) -> dict[str, Any]:
    """Return the effect, plain data, from the other system's side."""
    is_ratio = effect["name"] == "ratio"

    def turn(value: float | None) -> float | None:
        if value is None:
            return None
        return 1 / value if is_ratio else -value

    details = {key: -value if key == "t" else value for key, value in effect["details"].items()}
    return {**effect, "value": turn(effect["value"]), "low": turn(effect["high"]),
            "high": turn(effect["low"]), "details": details}  # fmt: skip


def _describe_upheld(figure: Figure) -> dict[str, Any]:
    """Return a note on how many findings the replication upholds."""
    if figure.reason is Reason.NOTHING_IN_COMMON:
        return make_note("nothing_repeated")
    counts = {
        key: figure.details[key]
        for key in ("upheld", "reversed", "not_again", "not_compared", "new")
    }
    findings = 0 if figure.value is None else figure.n["findings"]
    return make_note("upheld", findings=findings, **counts)
