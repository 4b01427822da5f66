"""A study compared with its replication, as plain data that JSON can hold.

It is made from the reports of both studies and the ratings behind them, so that the findings of
each are described as in its own report.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.bootstrap import METHOD as OVER_BOTH
from evalsite.analysis.families import find_family, get_numbers
from evalsite.analysis.families.numbers import Numbers, find_scale
from evalsite.analysis.figure import LEVEL, METHODS_VERSION, Figure, Reason, make_note, undefined
from evalsite.analysis.replication import (
    Pair,
    agree_across,
    correlate_scores,
    find_cv_stars,
    find_differences,
    find_scores,
    score_twice,
    share_upheld,
)
from evalsite.analysis.report.ignored import drop_ignored, read_ignored
from evalsite.analysis.table import Table, read_table
from evalsite.analysis.to_json import to_plain

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
    upheld, pairs = _judge(sides, key)
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
    """Return the ratings of one study in the form that `evalsite.analysis.replication` takes."""
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


def _judge(sides: tuple[Side, Side], key: str) -> tuple[Figure, list[dict[str, Any]]]:
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
