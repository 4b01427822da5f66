"""The part of a report on a criterion that is rated for each output."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import exp, inf, log
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.binary import wilson_share
from evalsite.analysis.compare import Comparison, PairComparison, compare_systems
from evalsite.analysis.describe import Described, describe_standardised, describe_systems
from evalsite.analysis.figure import Figure, Reason, leave_open
from evalsite.analysis.magnitude import SLIP, describe_magnitudes, find_slips, log_ratio
from evalsite.analysis.majorities import compare_majorities
from evalsite.analysis.mixed import Mixed, fit_mixed, mean_figures, predict_outputs
from evalsite.analysis.outputs import aggregate_outputs
from evalsite.analysis.plackett import rank_within_screens, read_rankings
from evalsite.analysis.rank_tests import sign_test
from evalsite.analysis.report.agreement import (
    agree_on_categories,
    agree_on_magnitudes,
    agree_on_points,
    compare_raters,
)
from evalsite.analysis.report.checking import find_disagreeing
from evalsite.analysis.report.explaining import explain_weighing, find_estimator
from evalsite.analysis.report.findings import order_pairs, tell_finding
from evalsite.analysis.report.sides import keep_detectable, keep_possible, turn_figure
from evalsite.analysis.scores import Scores, read_scores
from evalsite.analysis.table import Table

_EFFECT = {"likert": "difference", "decision": "risk_difference", "magnitude": "ratio"}
_OTHERS = ("median", "top_box", "bottom_box")
_AVERAGES = ("trimmed_mean", "mode_share")
_OTHERS_OF_MAGNITUDES = ("geo_mean_winsorised", "mean_rank", "share_best")
_SIZES = ("superiority", "dz", "gz", "rank_biserial", "cliffs_delta")
_MOST_LOG = log(1e6)  # scores have six digits at most: no true ratio lies beyond


def report_values(
    table: Table, described: Mapping[str, Any], seed: int, baseline: str | None = None
) -> dict[str, Any]:
    """Systems, pairs, tests and agreement of one criterion, as figures.

    `outputs` is a function that makes the table of outputs, which is too long for a report.
    `baseline`: all comparisons are with this system, which has ratings here; None: every pair.
    """
    kind = str(described["kind"])
    answers = list(described["answers"])
    scale = [float(answer["value"]) for answer in answers] or None
    scores = _read(table, kind)
    mixed = fit_mixed(scores)
    comparison = compare_systems(scores, baseline=baseline, seed=seed, mixed=mixed)
    systems = _list_systems(table, kind, scale, comparison, seed)
    slips = _count_slips(table) if kind == "magnitude" else None
    screens = _spread_screens(table) if kind == "magnitude" else None
    for name, figure in mean_figures(scores, mixed).items():
        figure = replace(figure, name="model_share") if kind == "decision" else figure
        # a linear model knows no ends of the scale
        figure = keep_possible(figure, min(scale), max(scale)) if scale else figure
        next(one for one in systems if one["system"] == name)["averages"].append(figure)
    pairs = [_tell(_add_check(pair, screens), kind, comparison, scale) for pair in comparison.pairs]
    estimator = find_estimator(systems, pairs)
    return {
        "answers": answers,
        # of systems that are compared: the means of the model, or those of all ratings
        "estimator": estimator,
        "standard": find_standard(table) if kind == "magnitude" else None,
        "systems": systems,
        "pairs": order_pairs(pairs, systems),
        "weighing": explain_weighing(systems, pairs, estimator),
        "order": _list_order(table, kind, seed),
        "tests": _list_tests(table, kind, comparison),
        "agreement": _agree(table, kind, scale, seed),
        "kappas": compare_raters(table) if kind == "likert" else None,
        "slips": slips,
        "model": comparison.model,
        "drawn": name_drawn(table),
        "cautions": _list_cautions(comparison, pairs, slips),
        "outputs": partial(_list_outputs, table, kind, scores, mixed),
    }


def name_drawn(table: Table) -> str:
    """What a bootstrap draws anew: clusters, where the study has some."""
    return "clusters of inputs" if (table.rows.cluster != "").any() else "inputs"


def find_standard(table: Table) -> float | None:
    """The score of the standard, where all ratings have the same one."""
    found = table.rows.standard.dropna().unique()
    return float(found[0]) if len(found) == 1 else None


def _count_slips(table: Table) -> Figure | None:
    """How many scores lie so far from the others of their page that they may be slips."""
    if table.rater is None:
        return None
    rows = table.rows
    page = rows.groupby(["participant", "group"]).ngroup()
    found = find_slips(page=page, logs=np.log(rows.value), rater=rows.participant)
    return Figure(
        name="slips",
        method=f"scores over {SLIP:g} times above or below the median of a rater's page, or of all "
        "their scores where a page has two or one",
        value=float(found.sum()),
        n={"ratings": len(rows)},
        details={"interval": "none: a count"},
    )


def _read(table: Table, kind: str) -> Scores:
    rows = table.rows
    has_clusters = bool((rows.cluster != "").any())
    # values, not logs of ratios: a shared standard moves all systems alike
    return read_scores(
        group=rows.group,
        system=rows.system,
        value=_values(table, kind),
        rater=table.rater,
        cluster=rows.block if has_clusters else None,
        is_log=kind == "magnitude",
    )


def _list_outputs(table: Table, kind: str, scores: Scores, mixed: Mixed) -> pd.DataFrame:
    """The table of outputs, with what the mixed model predicts of each."""
    found = predict_outputs(scores, mixed)
    predicted = np.full(len(table), np.nan)
    if found is not None:
        predicted[scores.row] = found
    return aggregate_outputs(
        table,
        is_magnitude=kind == "magnitude",
        predicted=predicted,
        reason=str(mixed.reason or Reason.TOO_FEW),
    )


def _values(table: Table, kind: str) -> Any:
    rows = table.rows
    if kind != "magnitude" or rows.standard.isna().any() or rows.standard.nunique() < 2:
        return rows.value
    # standards that differ between items: all on the scale of the most usual one
    return rows.value / rows.standard * float(rows.standard.mode()[0])


def _list_cautions(
    comparison: Comparison, pairs: list[dict[str, Any]], slips: Figure | None
) -> list[str]:
    found = list(comparison.cautions)
    if find_disagreeing(pairs):
        found.append("models_disagree")
    if slips is not None and slips.value:
        found.append("possible_slips")
    return found


# --- systems ------------------------------------------------------------------------


def _list_systems(
    table: Table, kind: str, scale: list[float] | None, comparison: Comparison, seed: int
) -> list[dict[str, Any]]:
    rows = table.rows
    known = {
        "rater": table.rater,
        "group": rows.block,
        "system": rows.system,
        "value": rows.value,
    }
    described = {one.system: one for one in describe_systems(scale=scale, seed=seed, **known)}
    others = _list_others(table, kind, known, described, seed)
    found = [
        {
            "system": name,
            "n": described[name].figures["mean"].n["ratings"],
            "headline": _headline(figure, kind, described[name]),
            "others": others[name][0],
            "averages": others[name][1],
            "counts": _count(described[name], scale),
            "rank": _write_rank(comparison.rank_ranges.get(name)),
            "cluster": _find_cluster(comparison, name),
        }
        for name, figure in comparison.systems.items()
    ]
    return sorted(found, key=lambda one: (-(one["headline"].value or 0), one["system"]))


def _headline(figure: Figure, kind: str, described: Described) -> Figure:
    return replace(figure, name="share") if kind == "decision" else figure


def _count(described: Described, scale: list[float] | None) -> dict[int, int] | None:
    if scale is None:
        return None
    return {int(value): number for value, number in described.counts.items()}


def _write_rank(found: tuple[int, int] | None) -> dict[str, int] | None:
    return None if found is None else {"low": found[0], "high": found[1]}


def _find_cluster(comparison: Comparison, name: str) -> int | None:
    parts = enumerate(comparison.clusters, start=1)
    return next((number for number, systems in parts if name in systems), None)


def _list_others(
    table: Table, kind: str, known: dict[str, Any], described: dict[str, Described], seed: int
) -> dict[str, tuple[list[Figure], list[Figure]]]:
    """Of each system what stands beside the headline figure, and the other ways to average."""
    if kind == "magnitude":
        return _list_magnitudes(table, known, described, seed)
    if kind == "decision":
        return {name: ([_wilson(one)], []) for name, one in described.items()}
    own = {} if table.rater is None else describe_standardised(seed=seed, **known)
    return {
        name: (
            [one.figures[key] for key in _OTHERS if key in one.figures],
            [
                *(one.figures[key] for key in _AVERAGES if key in one.figures),
                *(own[name][key] for key in ("mean_centred", "mean_z") if name in own),
            ],
        )
        for name, one in described.items()
    }


def _wilson(described: Described) -> Figure:
    """The naive interval, which takes all decisions as independent: beside the right one."""
    hits = described.counts.get(1.0, 0)
    return wilson_share(hits, described.figures["mean"].n["ratings"], name="share_wilson")


def _list_magnitudes(
    table: Table, known: dict[str, Any], described: dict[str, Described], seed: int
) -> dict[str, tuple[list[Figure], list[Figure]]]:
    standard = table.rows.standard
    figures = describe_magnitudes(
        standard=None if standard.isna().any() else standard, seed=seed, **known
    )
    return {
        name: (
            [
                *(of[key] for key in _OTHERS_OF_MAGNITUDES if key in of),
                described[name].figures["median"],
            ],
            _list_centred(of),
        )
        for name, of in figures.items()
    }


def _list_centred(of: dict[str, Figure]) -> list[Figure]:
    """What is left of a system's magnitudes without each rater's own modulus, and own spread."""
    if "mean_log_z" not in of:
        return []
    centred = of["geo_mean_ratio_rater_centred"]
    # back on the scale that raters used
    unit = float(centred.details["standard"])
    value, low, high = (
        None if end is None else end * unit for end in (centred.value, centred.low, centred.high)
    )
    shown = replace(centred, name="geo_mean_centred", value=value, low=low, high=high)
    return [shown, of["mean_log_z"]]


# --- pairs --------------------------------------------------------------------------


def _spread_screens(table: Table) -> pd.DataFrame | None:
    """What each rater gave to each system on one page, a page in a row; None without raters."""
    if table.rater is None:
        return None
    return table.rows.pivot_table(
        index=["participant", "group"], columns="system", values="value", aggfunc="mean"
    )


def _add_check(pair: PairComparison, screens: pd.DataFrame | None) -> PairComparison:
    """The pair with a sign test of the order within pages, which needs no ratios."""
    if screens is None:
        return pair
    apart = (screens[pair.second] - screens[pair.first]).dropna()
    found = sign_test(apart)
    method = f"{found.method}; order of the two on a rater's page, pages taken as independent"
    found = leave_open(replace(found, method=method), pair.difference)
    return replace(pair, checks=pair.checks | {"sign_within": found})


def _tell(
    pair: PairComparison, kind: str, comparison: Comparison, scale: list[float] | None
) -> dict[str, Any]:
    """The pair, the better system first; the effect is of the first over or minus the second.

    With a baseline it always stands second, so that all effects are seen from it.
    """
    effect = pair.ratio if kind == "magnitude" and pair.ratio else pair.difference
    details = {
        **effect.details,
        "p_corrected": pair.p_corrected,
        "correction": comparison.correction,
        "family": comparison.family,
    }
    most = _find_most(kind, scale)
    least = 1 / most if kind == "magnitude" else -most
    effect = keep_possible(replace(effect, name=_EFFECT[kind], details=details), least, most)
    first, second = pair.second, pair.first
    effects = [_name_sides(pair.effects[key]) for key in _SIZES if key in pair.effects]
    checks = [replace(check, name=name) for name, check in pair.checks.items()]
    is_lower = effect.value is not None and effect.value < (1 if kind == "magnitude" else 0)
    if is_lower and comparison.baseline is None:
        first, second = second, first
        effect = turn_figure(effect)
        effects, checks = ([turn_figure(one) for one in some] for some in (effects, checks))
    detectable = _detectable(pair.detectable, kind, most)
    return {
        "system_1": first,
        "system_2": second,
        "effect": effect,
        "sizes": effects,
        "checks": checks,
        "counts": None,
        "detectable": detectable,
        "finding": tell_finding(first, second, effect, detectable),
    }


def _find_most(kind: str, scale: list[float] | None) -> float:
    """The largest difference, or ratio, that there can be."""
    if kind == "magnitude":
        return exp(_MOST_LOG)
    return scale[-1] - scale[0] if scale else inf


def _name_sides(figure: Figure) -> Figure:
    """The figure with its method as the report names the two: the first is system_1."""
    if figure.name != "superiority":
        return figure
    return replace(figure, method="P(first > second) + .5 P(equal), same item and rater")


def _detectable(figure: Figure | None, kind: str, most: float) -> Figure | None:
    if kind != "magnitude":
        return keep_detectable(figure, most)
    figure = keep_detectable(figure, _MOST_LOG)
    if figure is None or figure.value is None:
        return figure
    low, high = (None if end is None else exp(end) for end in (figure.low, figure.high))
    return replace(figure, value=exp(figure.value), low=low, high=high)


# --- tests and agreement ------------------------------------------------------------


def _list_tests(table: Table, kind: str, comparison: Comparison) -> list[Figure]:
    found = [] if comparison.overall is None else [comparison.overall]
    rows = table.rows
    # of a system with one input or one rater none of them is a test
    if kind == "decision" and not comparison.thin:
        classic = compare_majorities(group=rows.group, system=rows.system, value=rows.value)
        found += [] if classic is None else [classic]
    return found


def _list_order(table: Table, kind: str, seed: int) -> list[dict[str, Any]]:
    """The ranking by the order within a page, which needs no ratios: systems, the strongest first.

    [] where nothing is ordered: one system, or no magnitudes.
    """
    rows = table.rows
    if kind != "magnitude" or rows.system.nunique() < 2:
        return []
    screens = read_rankings(
        rater=table.rater, item=rows.block, system=rows.system, value=rows.value, screen=rows.group
    )
    result = rank_within_screens(screens, seed=seed)
    tiers = {name: tier for tier, some in enumerate(result.clusters, start=1) for name in some}
    found = [
        {
            "system": system,
            "strength": replace(figure, name="order_strength"),
            "rank": _write_rank(result.rank_ranges.get(system)),
            "tier": tiers.get(system),
            "left_out": result.left_out,
        }
        for system, figure in result.strengths.items()
    ]
    return sorted(found, key=lambda one: (-(one["strength"].value or 0), one["system"]))


def _agree(table: Table, kind: str, scale: list[float] | None, seed: int) -> list[Figure]:
    rows = table.rows
    if kind == "magnitude":
        logs = log_ratio(rows.value, None if rows.standard.isna().any() else rows.standard)
        return agree_on_magnitudes(table, np.asarray(logs), seed)
    if kind == "decision":
        return agree_on_categories(table, rows.value, scale or [0.0, 1.0], seed, unit="output")
    return agree_on_points(table, scale or sorted(rows.value.unique()), seed)
