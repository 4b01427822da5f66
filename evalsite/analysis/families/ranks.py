"""Figures of orders: Plackett-Luce strengths, mean places, scores of best and worst, agreement.

Comparisons are differences of log strengths. Their interval, and the p value at which it would end
at 0, are those of the two-way bootstrap: these answers have no closed form.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.agreement import alpha, draw_agreement
from evalsite.analysis.compare import describe_finding, order_pairs
from evalsite.analysis.correlation import kendall_w_of_sets
from evalsite.analysis.difference_tests import (
    correct_named,
    describe_family,
    find_limit,
    judge_hypotheses,
    judge_margin,
    mark_named,
)
from evalsite.analysis.families import RANKS
from evalsite.analysis.families.numbers import Numbers, Prepared, average_outputs
from evalsite.analysis.figure import Cautions, Figure, Reason, undefined
from evalsite.analysis.intervals import METHOD as OVER_BOTH
from evalsite.analysis.intervals import METHOD_ITEMS as OVER_ITEMS
from evalsite.analysis.intervals import describe_draws, draws_for, turn_figure, two_way_sums
from evalsite.analysis.plackett import (
    METHOD,
    MOST_SEPARATED,
    PlackettResult,
    rank_within_screens,
    read_rankings,
)
from evalsite.analysis.plan import Plan
from evalsite.analysis.ratings import (
    Floats,
    Ratings,
    Table,
    canonical_rows,
    read_systems,
)

EFFECT = "strength_difference"
_ENDS = "best_worst"  # the kind of question that asks for no more than these


@dataclass(frozen=True, kw_only=True)
class Tested:
    """The comparisons of a criterion: `p` where there is a test, NaN where there is none."""

    screens: pd.DataFrame
    are_ends: bool
    seed: int
    result: PlackettResult
    effects: list[tuple[str, str, Figure]]
    p: list[float]
    is_named: list[bool]
    family_across: int = 0
    exploratory: int = 0


class RanksNumbers(Numbers):
    """The outputs of an item are put in order, or only the best and the worst are known."""

    family = RANKS
    has_closed_form = False

    def prepare(
        self, table: Table, criterion: Mapping[str, Any], seed: int, plan: Plan
    ) -> Prepared:
        are_ends = criterion["kind"] == _ENDS
        screens = list_screens(table, are_ends=are_ends)
        rows = table.rows
        ratings = Ratings(
            value=rows.value if are_ends else -rows.value, rater=table.rater,
            group=rows["item"], block=rows.block, system=rows.system,
        )  # fmt: skip
        shown = _read_shown(rows)
        # an item of a study has ten outputs at most
        rankings = read_rankings(ratings, shown, are_ends=are_ends, most_orders=factorial(10))
        result = rank_within_screens(rankings, seed=seed, draws=draws_for(rankings.screens))
        effects = _compare(result, plan.baseline)
        is_named = mark_named(((first, second) for first, second, _ in effects), plan.named)
        p = [float(effect.details.get("p", np.nan)) for _, _, effect in effects]
        tested = Tested(
            screens=screens, are_ends=are_ends, seed=seed, result=result, effects=effects, p=p,
            is_named=is_named,
        )  # fmt: skip
        planned = [
            number for number, is_in in zip(p, is_named, strict=True) if is_in and number == number
        ]
        return Prepared(p=planned, finish=partial(self._finish, table, plan, tested))

    def _finish(
        self, table: Table, plan: Plan, tested: Tested, other_p: Sequence[float]
    ) -> dict[str, Any]:
        result = tested.result
        figures = _describe_places(table, tested)
        systems = [
            _describe(system, strength, result, figures.get(system, []))
            for system, strength in result.strengths.items()
        ]
        systems.sort(key=lambda entry: (-(entry["headline"].value or 0), entry["system"]))
        pairs = order_pairs(list(_correct(tested, other_p, plan.baseline)), systems)
        hypotheses = judge_hypotheses(pairs, plan.hypotheses, 0.0)
        return {
            "answers": [],
            "standard": None,
            "systems": systems,
            "pairs": pairs,
            "joint": None,
            "detectable": None,
            "margins": self.judge_margins(table, tested.seed, plan),
            **({"hypotheses": hypotheses} if hypotheses else {}),
            "weighing": None,
            "tests": [],
            "fit": None,
            "agreement": _agree(table, tested),
            "kappas": None,
            "model": {},
            "drawn": "clusters" if (table.rows.cluster != "").any() else "inputs",
            "cautions": _list_cautions(table),
        }

    def judge_margins(self, table: Table, seed: int, plan: Plan) -> list[dict[str, Any]]:
        """Strengths have no unit that a margin could be given in."""
        effect = undefined(EFFECT, Reason.NO_DATA, method=METHOD)
        limit = find_limit(scale="share")
        return [
            judge_margin(effect, planned, is_log=False, limit=limit) for planned in plan.margins
        ]

    def score_outputs(self, table: Table) -> pd.DataFrame:
        return average_outputs(_list_known(table))

    def take_values(self, table: Table, standard: float | None) -> tuple[pd.DataFrame, pd.Series]:
        """Return the score of each output that was shown, higher where it is better."""
        rows = _list_known(table)
        return rows.assign(value=rows.score), rows.score

    def find_low(self, tables: Sequence[Table], criterion: Mapping[str, Any]) -> float:
        return min(float(_list_known(table).score.min()) for table in tables)


def _list_cautions(table: Table) -> Cautions:
    cautions: Cautions = {}
    if table.rater is None:
        cautions["raters_unknown"] = {}
    elif table.rater.nunique() < 2:
        cautions["one_rater"] = {}
    if table.rows.block.nunique() < 2:
        cautions["one_item"] = {}
    return cautions


# --- what was shown -------------------------------------------------------------------------------


def _read_shown(rows: pd.DataFrame) -> list[list[str]]:
    """Return for each rating the systems that were shown with its output.

    A file that doesn't say it: all systems that anyone placed in this item.
    """
    by_item = rows.groupby("item").system.agg(lambda names: sorted({*names}))
    return [
        read_systems(cell) if cell else by_item[item]
        for cell, item in zip(rows.systems_shown, rows["item"], strict=True)
    ]


def list_screens(table: Table, *, are_ends: bool) -> pd.DataFrame:
    """Return a row for each output that was shown to a person, also where it got no place.

    `score`: 1 for the best and -1 for the worst, or minus the place; `mean_place`: with ties, and
    all outputs without a place, at the mean of what they share.
    """
    rows = table.rows.assign(shown=_read_shown(table.rows))
    keys = ["participant", "item"]
    whole = rows.drop_duplicates(keys)[[*keys, "group", "block", "cluster", "criterion", "shown"]]
    whole = whole.explode("shown").rename(columns={"shown": "system"})
    placed = rows[[*keys, "system", "value"]]
    screens = whole.merge(placed, on=[*keys, "system"], how="left").reset_index(drop=True)
    screens["output"] = screens["item"] + "\x1f" + screens.system
    if are_ends:
        screens["score"] = screens["mean_place"] = screens.value.fillna(0.0)
        return screens
    page = screens.groupby(keys)
    known = screens.value.fillna(np.inf)
    screens["mean_place"] = known.groupby([screens.participant, screens["item"]]).rank()
    last = page.value.transform("max") + 1
    screens["score"] = -screens.value.fillna(last)
    return screens


def _list_known(table: Table) -> pd.DataFrame:
    return list_screens(table, are_ends=bool((table.rows.value < 0).any()))


# --- systems --------------------------------------------------------------------------------------


def _describe(
    system: str, strength: Figure, result: PlackettResult, figures: Sequence[Figure]
) -> dict[str, Any]:
    ranks = result.rank_ranges.get(system)
    return {
        "system": system,
        "n": figures[0].n["answers"] if figures else 0,
        "headline": replace(strength, name="strength"),
        "others": list(figures),
        "counts": None,
        "rank": None if ranks is None else {"low": ranks[0], "high": ranks[1]},
        "cluster": next(
            (number for number, names in enumerate(result.clusters, start=1) if system in names),
            None,
        ),
    }


def _describe_places(table: Table, tested: Tested) -> dict[str, list[Figure]]:
    """Return mean place and share of first places of each system; of ends their balance."""
    screens = tested.screens
    systems = sorted(screens.system.unique())
    rater = None if table.rater is None else screens.participant
    factors = [screens.block] if rater is None else [rater, screens.block]
    order, codes = canonical_rows(screens.mean_place, *factors, screens.system)
    shown = screens.iloc[order]
    first = shown.groupby(["participant", "item"]).value.transform("min") == shown.value
    share = first / first.groupby([shown.participant, shown["item"]]).transform("sum")
    columns = {
        "shown": np.ones(len(shown)), "place": 2 * shown.mean_place.to_numpy(),
        "first": share.fillna(0.0).to_numpy(),
    }  # fmt: skip
    if tested.are_ends:
        columns = {"shown": columns["shown"], "score": shown.score.to_numpy()}
    names = shown.system.to_numpy()
    wide = np.column_stack([
        np.where(names == system, column, 0.0)
        for system in systems for column in columns.values()
    ])  # fmt: skip
    draws = draws_for(len(shown))
    who = None if rater is None else codes[0]
    drawn = two_way_sums(who, codes[-2], wide, draws=draws, seed=tested.seed)
    over = OVER_ITEMS if rater is None else OVER_BOTH
    figures = {}
    for at, system in enumerate(systems):
        of = slice(at * len(columns), (at + 1) * len(columns))
        rows, sums = shown[names == system], wide[:, of].sum(axis=0)
        figures[system] = [
            replace(figure, seed=tested.seed) if figure.low is not None else figure
            for figure in _write_places(rows, sums, drawn[:, of], over)
        ]
    return figures


def _write_places(rows: pd.DataFrame, sums: Floats, drawn: Floats, over: str) -> Iterator[Figure]:
    are_ends = len(sums) == 2
    n = {"answers": len(rows), "items": rows.block.nunique()}
    n |= {"raters": rows.participant.nunique()} if over == OVER_BOTH else {}
    named = (
        [("best_worst_score", "best_less_worst", 1, 1.0)]
        if are_ends
        else [("mean_place", "mean_place", 1, 0.5), ("share_first", "share_first", 2, 1.0)]
    )
    for name, method, column, unit in named:
        value = float(unit * sums[column] / sums[0])
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = describe_draws(unit * drawn[:, column] / drawn[:, 0], value)
        details = dict(spread.details)
        if spread.low is not None:
            details["interval"] = over
        yield Figure(
            name=name, method=method, value=value, low=spread.low, high=spread.high, n=n,
            details=details,
        )  # fmt: skip
    for name, score in (("times_best", 1), ("times_worst", -1)) if are_ends else ():
        times = float((rows.score == score).sum())
        yield Figure(name=name, method="count", value=times, n=n, details={"interval": "count"})


# --- comparisons ----------------------------------------------------------------------------------


def _compare(result: PlackettResult, baseline: str) -> list[tuple[str, str, Figure]]:
    """Return the difference of strengths of each two systems, or of each and the baseline."""
    systems = list(result.strengths)
    places = {system: place for place, system in enumerate(systems)}
    pairs = [pair for pair in combinations(systems, 2) if not baseline or baseline in pair]
    return [(first, second, _subtract(result, first, second, places)) for first, second in pairs]


def _subtract(result: PlackettResult, first: str, second: str, places: Mapping[str, int]) -> Figure:
    strengths = [result.strengths[name] for name in (first, second)]
    left, right = (strength.value for strength in strengths)
    if left is None or right is None:
        reason = next(figure.reason for figure in strengths if figure.value is None)
        return undefined(EFFECT, reason or Reason.NO_DATA, method=METHOD, n=strengths[0].n)
    value, known = left - right, strengths[0]
    drawn = result.drawn[:, places[first]] - result.drawn[:, places[second]]
    separated = known.details.get("draws_separated", 0)
    is_known = known.low is not None and separated <= MOST_SEPARATED * (len(drawn) + separated)
    if not is_known or not np.ptp(drawn) > 0:
        details = {"interval": known.details.get("interval", str(Reason.SEPARATED))}
        return Figure(name=EFFECT, method=METHOD, value=value, n=known.n, details=details)
    spread = describe_draws(drawn, value)
    beyond = min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
    p = min(1.0, 2 * (beyond + 1) / (len(drawn) + 1))
    over = known.details["interval"]
    return Figure(
        name=EFFECT, method=METHOD, value=value, low=spread.low, high=spread.high, n=known.n,
        seed=known.seed, details=spread.details | {"interval": over, "p": p},
    )  # fmt: skip


def _correct(tested: Tested, other_p: Sequence[float], baseline: str) -> Iterator[dict[str, Any]]:
    """Yield the pairs with p corrected, the stronger system first; a baseline is always second."""
    across = correct_named(tested.p, tested.is_named, other_p)
    within = correct_named(tested.p, tested.is_named)
    known = np.array([number == number for number in tested.p], dtype=bool)
    named = int((known & np.array(tested.is_named, dtype=bool)).sum())
    facts = replace(
        tested, family_across=named + len(other_p), exploratory=int(known.sum()) - named
    )
    for (first, second, effect), p, inside, is_named in zip(
        tested.effects, across, within, tested.is_named, strict=True
    ):
        if effect.value is not None:
            family = describe_family(facts, named, is_exploratory=not is_named)
            more = {"p_corrected": p, "p_within": inside, "correction": "holm", **family}
            effect = replace(effect, details={**effect.details, **more})
        is_turned = first == baseline if baseline else (effect.value or 0) < 0
        if is_turned:
            first, second, effect = second, first, turn_figure(effect)
        yield {
            "system_1": first,
            "system_2": second,
            "effect": effect,
            "sizes": [],
            "checks": [],
            "counts": None,
            "finding": describe_finding(first, second, effect, unit=""),
        }


# --- agreement ------------------------------------------------------------------------------------


def _agree(table: Table, tested: Tested) -> list[Figure]:
    """Return alpha of the places, and Kendall's W where all outputs of an item have one."""
    screens = tested.screens
    rater = None if table.rater is None else screens.participant
    scale = sorted(float(value) for value in screens.score.unique())
    ratings = Ratings(
        value=screens.score, unit=screens.output, rater=rater, group=screens["item"],
        block=screens.block, system=screens.system,
    )  # fmt: skip
    draws = draw_agreement(ratings, "points", scale=scale)
    first = alpha(ratings, "ordinal", draws=draws, name="alpha_places")
    if tested.are_ends or screens.value.isna().any():
        return [first]
    return [first, kendall_w_of_sets(ratings, seed=tested.seed)]


NUMBERS = RanksNumbers()
