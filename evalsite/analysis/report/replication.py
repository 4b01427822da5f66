"""A study beside its repetition, as plain data that JSON can hold.

Made of the ratings that each study's report is made of, and of the reports, so that what was found
in each is described as in its own report.
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

# --- warnings -------------------------------------------------------------------------


def warn_of_both(
    comparison: Mapping[str, Any], warnings: Sequence[Sequence[Mapping[str, Any]]]
) -> list[dict[str, Any]]:
    """What a reader must know before believing a comparison of two studies.

    `warnings`: those of the report of each study; what is true of all of its data is repeated.
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
    noun = "compared pair" if is_pairs else "output"
    if number := common["same_answers"]:
        yield make_note("same_answers", ratings=number)
    if not common["outputs"]:
        yield make_note("no_shared_outputs", noun=noun)
    elif max(first, second) > common["outputs"] + common["changed"]:
        yield make_note(
            "other_items", noun=noun, common=common["outputs"], first=first, second=second
        )
    if number := common["changed"]:
        yield make_note("other_texts", noun=noun, changed=number)
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
        make_note("repeated_score", score=family.score),
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


_SEPARATOR = "\x1f"
# of findings that say nothing of systems in general
_UNTOLD = {"undefined", "by_one_rater"}


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two studies: its ratings less what its report leaves out, and that report."""

    table: Table
    report: Mapping[str, Any]


def read_side(paths: Mapping[str, Path], report: Mapping[str, Any]) -> Side:
    """The side of a study, from its exported files ratings and annotations, and its report of what
    is not excluded: items that most of their raters ignored are left out here too."""
    table = read_table(paths["ratings"]).results()
    annotations = pd.read_csv(paths["annotations"], dtype=str, keep_default_na=False)
    return Side(table=drop_ignored(table, read_ignored(annotations, table)), report=report)


def make_repetition(
    first: Side,
    second: Side,
    *,
    instrument: Sequence[Mapping[str, Any]],
    seed: int,
    changed: Collection[tuple[str, str]] = frozenset(),
    step: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """What the second study, the repeat, upholds of the first, by criterion.

    `changed`: item and system of outputs that have one name but not one text (or input) in both;
    they count in scores, and as no common outputs. `instrument` as for a report.
    """
    sides = (first, second)
    criteria = []
    for described in instrument:
        key = str(described["key"])
        if all(len(side.table.of(key)) for side in sides):
            criteria.append(_compare(sides, described, changed, seed))
        step()
    found = {
        "methods_version": METHODS_VERSION,
        "seed": seed,
        "level": LEVEL,
        "first": _describe(first),
        "second": _describe(second),
        "common": _count_common(sides, changed),
        "criteria": criteria,
    }
    found["warnings"] = warn_of_both(found, [side.report["warnings"] for side in sides])
    plain: dict[str, Any] = to_plain(found)
    return plain


def _describe(side: Side) -> dict[str, Any]:
    data = side.report["data"]
    known = ("ratings", "participants", "items", "systems", "origins", "raters_known", "first_at",
             "last_at")  # fmt: skip
    criteria = [one["key"] for one in side.report["criteria"]]
    outputs = set(_name_outputs(side.table.rows))
    return {key: data[key] for key in known} | {"outputs": len(outputs), "criteria": criteria}


def _count_common(sides: tuple[Side, Side], changed: Collection[tuple[str, str]]) -> dict[str, Any]:
    one, two = (side.table.rows for side in sides)
    named = [set(_name_outputs(rows)) for rows in (one, two)]
    moment = ["participant", "item", "system", "criterion", "submitted_at"]
    same = one[one.submitted_at != ""][moment].merge(two[moment].drop_duplicates())
    systems = [set(side.report["data"]["systems"]) for side in sides]
    shared = pd.Series(sorted(named[0] & named[1]), dtype=str)
    is_changed = _is_changed(shared, changed)
    return {
        "systems": sorted(systems[0] & systems[1]),
        "only_first": sorted(systems[0] - systems[1]),
        "only_second": sorted(systems[1] - systems[0]),
        "outputs": int((~is_changed).sum()),
        "changed": int(is_changed.sum()),
        "same_answers": len(same),
    }


def _name_outputs(rows: pd.DataFrame) -> pd.Series:
    """What was rated, named alike in both studies: its item, with its system or systems."""
    one, two = (rows[name].astype(str) for name in ("system_1", "system_2"))
    ordered = one.where(one <= two, two) + _SEPARATOR + two.where(one <= two, one)
    what = rows.system.astype(str).where(rows.preferred == "", ordered)
    is_known = (rows.preferred == "") | (one != "")
    return rows["item"].astype(str) + _SEPARATOR + what.where(is_known, "")


# --- one criterion --------------------------------------------------------------------


def _compare(
    sides: tuple[Side, Side],
    described: Mapping[str, Any],
    changed: Collection[tuple[str, str]],
    seed: int,
) -> dict[str, Any]:
    key, family = str(described["key"]), find_family(described)
    numbers, is_log = get_numbers(family), family.is_log
    tables = tuple(side.table.of(key) for side in sides)
    first_table, second_table = tables
    standard = numbers.find_common_standard(first_table, second_table)
    rated = [_frame(table, numbers, standard) for table in tables]
    scored = [numbers.score_systems(one) for one in rated]
    low = numbers.find_low(tables, described)
    twice = score_twice(*scored, low=low, is_log=is_log, seed=seed)
    moved, spread = find_differences(twice), find_cv_stars(twice)
    has_other_scale = len({find_scale(table) for table in tables} - {None}) > 1
    common = [one[~_is_changed(one.unit, changed)] for one in rated]
    agreement = agree_across(*common, level=numbers.repetition_level, is_log=is_log, seed=seed)
    if has_other_scale:
        moved, spread = ({name: _refuse(one) for name, one in of.items()} for of in (moved, spread))
        agreement = [_refuse(one) for one in agreement]
    one, two = find_scores(twice, 0), find_scores(twice, 1)
    upheld, pairs = _judge(sides, key)
    found = {
        "key": key,
        "label": str(described["label"]),
        "kind": str(described["kind"]),
        "family": family.name,
        "standard": standard,
        "has_other_scale": has_other_scale,
        "systems": [
            {"system": name, "first": one[name], "second": two[name], "moved": moved[name],
             "cv_star": spread[name]}
            for name in twice.systems
        ],
        "correlations": [correlate_scores(twice, kind) for kind in ("pearson", "spearman")],
        "agreement": agreement,
        "upheld": upheld,
        "pairs": pairs,
    }  # fmt: skip
    return found | {
        "finding": _describe_upheld(upheld),
        "notes": list_notes(found, twice.low, seed),
    }


def _frame(table: Table, numbers: Numbers, standard: float | None) -> pd.DataFrame:
    """The ratings of one study as a repetition takes them."""
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
    """Whether an output, or one of the two that were compared, is another in the other study."""
    if not changed:
        return pd.Series(data=False, index=unit.index)
    others = {_SEPARATOR.join(pair) for pair in changed}
    parts = unit.str.split(_SEPARATOR)
    return parts.map(lambda part: any(_SEPARATOR.join((part[0], one)) in others
                                      for one in part[1:]))  # fmt: skip


def _refuse(figure: Figure) -> Figure:
    return undefined(figure.name, Reason.OTHER_SCALE, method=figure.method, n=figure.n)


# --- findings -------------------------------------------------------------------------


def _judge(sides: tuple[Side, Side], key: str) -> tuple[Figure, list[dict[str, Any]]]:
    """The share of findings upheld, and every pair that the first study compares."""
    reported = [_list_pairs(side.report, key) for side in sides]
    figure, phrases = share_upheld(*({pair: _find_higher(one) for pair, one in pairs.items()
                                   if one["finding"]["code"] not in _UNTOLD}
                                  for pairs in reported))  # fmt: skip
    rows = []
    for pair, one in reported[0].items():
        two = reported[1].get(pair)
        is_turned = two is not None and two["system_1"] != one["system_1"]
        rows.append(
            {
                "system_1": one["system_1"],
                "system_2": one["system_2"],
                "first": one["effect"],
                "second": _turn(two["effect"]) if two and is_turned else two and two["effect"],
                "outcome": phrases.get(pair, "not_compared"),
            }
        )
    return figure, rows


def _list_pairs(report: Mapping[str, Any], key: str) -> dict[Pair, Mapping[str, Any]]:
    criteria = [one for one in report["criteria"] if one["key"] == key]
    return {
        tuple(sorted((pair["system_1"], pair["system_2"]))): pair
        for criterion in criteria
        for pair in criterion["pairs"]
    }


def _find_higher(pair: Mapping[str, Any]) -> str:
    """The system that was found higher, or "" if there was no clear difference."""
    found = {"higher": pair["system_1"], "lower": pair["system_2"]}
    return str(found.get(pair["finding"]["code"], ""))


def _turn(effect: Mapping[str, Any]) -> dict[str, Any]:
    """The effect, plain data, seen from the other system."""
    is_ratio = effect["name"] == "ratio"

    def turn(value: float | None) -> float | None:
        if value is None:
            return None
        return 1 / value if is_ratio else -value

    details = {key: -one if key == "t" else one for key, one in effect["details"].items()}
    return {**effect, "value": turn(effect["value"]), "low": turn(effect["high"]),
            "high": turn(effect["low"]), "details": details}  # fmt: skip


def _describe_upheld(figure: Figure) -> dict[str, Any]:
    """Return how many findings the repeat found again."""
    if figure.reason is Reason.NOTHING_IN_COMMON:
        return make_note("nothing_repeated")
    counts = {
        key: figure.details[key]
        for key in ("upheld", "reversed", "not_again", "not_compared", "new")
    }
    findings = 0 if figure.value is None else figure.n["findings"]
    return make_note("upheld", findings=findings, **counts)
