"""Figures of preferences: win shares, strengths, ties, and agreement on outcomes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import exp
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.agreement import (
    Level,
    agree_on_categories,
    alpha,
    count_units,
    draw_agreement,
)
from evalsite.analysis.behaviour import compare_swapped
from evalsite.analysis.compare import describe_finding, explain_weighing, order_pairs
from evalsite.analysis.difference_tests import (
    describe_family,
    find_exact_outcomes,
    find_limit,
    judge_hypotheses,
    judge_margin,
)
from evalsite.analysis.effects import share_variances
from evalsite.analysis.families import PREFERENCE
from evalsite.analysis.families.numbers import Design, Numbers, Prepared, Truth, average_outputs
from evalsite.analysis.figure import Figure, Reason, leave_open, undefined
from evalsite.analysis.intervals import detect_in, keep_detectable, keep_possible, turn_figure
from evalsite.analysis.mixed import Layout
from evalsite.analysis.pairs import (
    PairResult,
    PairsResult,
    PairTests,
    Preferences,
    find_pair_tests,
    lay_out_pairs,
    read_preferences,
)
from evalsite.analysis.plan import Plan
from evalsite.analysis.ratings import Floats, Table, factor_codes

_OUTCOMES = [-1.0, 0.0, 1.0]
_BOTH = ("good", "bad")

_FEW_DRAWS = 100  # tests against margins don't use them


class PreferenceNumbers(Numbers):
    """Pairs of systems are compared; with more than two systems, strengths are estimated."""

    family = PREFERENCE
    levels = ("system",)
    repeat_level: Level = "nominal"
    repetition_level: Level = "nominal"
    has_closed_form = False

    def prepare(
        self, table: Table, criterion: Mapping[str, Any], seed: int, plan: Plan
    ) -> Prepared:
        rows = table.rows
        table = replace(table, rows=rows[rows.outcome.notna()])
        tested = find_pair_tests(
            _read(table), baseline=plan.baseline or None, seed=seed, named=plan.named
        )
        finish = partial(self._finish, table, seed, plan, tested)
        return Prepared(p=tested.p, finish=finish)

    def _finish(
        self, table: Table, seed: int, plan: Plan, tested: PairTests, other_p: Sequence[float]
    ) -> dict[str, Any]:
        rows = table.rows
        result = tested.correct(other_p=other_p)
        wins = result.win_shares
        systems = [_describe(name, wins[name], result) for name in result.systems]
        systems.sort(key=lambda system: (-(wins[system["system"]].value or 0), system["system"]))
        pairs = [_explain_finding(pair, result, plan.baseline or None) for pair in result.pairs]
        graded = []
        for pair in order_pairs(pairs, systems):
            grades = _describe_grades(rows, pair["system_1"], pair["system_2"])
            graded.append(pair | {"grades": grades} if grades else pair)
        hypotheses = judge_hypotheses(pairs, plan.hypotheses, 0.0)
        outcome = rows.outcome
        # each preference involves the effects of two systems
        shares = share_variances(result.facts, times=2)
        return {
            "answers": [],
            "standard": None,
            "systems": systems,
            "pairs": graded,
            "joint": result.joint,
            "detectable": self.keep_detectable(detect_in(pairs), 1.0),
            "margins": _judge_margins(tested, plan),
            **({"hypotheses": hypotheses} if hypotheses else {}),
            "weighing": explain_weighing(systems, pairs),
            "tests": _list_tests(result),
            "fit": _show_fit(result),
            "agreement": [
                *agree_on_categories(table, outcome, _OUTCOMES, unit="item", is_ordered=True),
                *_agree_by_pair(table),
            ],
            "kappas": None,
            "model": {**result.facts, **({"shares": shares} if shares else {})},
            "drawn": "clusters" if (rows.cluster != "").any() else "inputs",
            "cautions": result.cautions,
        }

    def judge_margins(self, table: Table, seed: int, plan: Plan) -> list[dict[str, Any]]:
        rows = table.rows
        table = replace(table, rows=rows[rows.outcome.notna()])
        return _judge_margins(find_pair_tests(_read(table), seed=seed, draws=_FEW_DRAWS), plan)

    def lay_out(self, rows: pd.DataFrame) -> Layout:
        sides = rows[["system_1", "system_2"]].to_numpy(str)
        systems, codes = np.unique(sides, return_inverse=True)
        codes = np.sort(codes.reshape(sides.shape).astype(np.int64), axis=1)
        low, high = codes.T
        rater = factor_codes(rows.participant)
        data = Preferences(
            systems=[str(system) for system in systems], raters=[], rater=rater,
            item=factor_codes(rows.block), unit=factor_codes(rows.group), left=low, right=high,
            outcome=np.zeros(len(rows)), is_position_known=False,
        )  # fmt: skip
        met = sorted(set(zip(low.tolist(), high.tolist(), strict=True)))
        return lay_out_pairs(data, rater, met)

    def keep_detectable(self, figure: Figure | None, most: float) -> Figure | None:
        # a net share is at most 1
        return keep_detectable(figure, min(most, 1.0))

    def score_outputs(self, table: Table) -> pd.DataFrame:
        """Return a row for each of the two outputs of an item, with its net wins as `value`."""
        rows = table.rows
        answered = rows[rows.outcome.notna()]
        sides = [
            answered.assign(system=answered[name], score=sign * answered.outcome)
            for name, sign in (("system_1", -1), ("system_2", 1))
        ]
        return average_outputs(pd.concat(sides))

    def compare_repeats(self, passes: pd.DataFrame) -> dict[str, Figure]:
        """Return how often people choose the same outcome, and the same side, again."""
        sides = compare_swapped(
            first=passes["first"],
            second=passes["second"],
            first_left=passes.first_left,
            second_left=passes.second_left,
        )
        return {"same_outcome": sides.same_outcome, "same_side": sides.same_side}

    # --- a study compared with its replication

    def take_values(self, table: Table, standard: float | None) -> tuple[pd.DataFrame, pd.Series]:
        """Return outcomes from the side of the system whose name comes first."""
        rows = table.rows
        rows = rows[rows.outcome.notna()]
        return rows, rows.outcome.where(rows.system_1 <= rows.system_2, -rows.outcome)

    def score_systems(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return two rows for each `answer`: the share of the win of each system, a tie as half."""
        rows = rows.assign(answer=np.arange(len(rows)))
        named = rows[["system_1", "system_2"]]
        low, high = named.min(axis=1), named.max(axis=1)
        return pd.concat(
            [
                rows.assign(system=low, value=(1 - rows.value) / 2),
                rows.assign(system=high, value=(1 + rows.value) / 2),
            ],
            ignore_index=True,
        )

    # --- planned

    def simulate(self, rng: np.random.Generator, design: Design, truth: Truth, rows: int) -> Floats:
        """Return outcomes 1, 0, -1 by Davidson's model; strengths differ by item and rater."""
        p, q, parts = design.raters, design.items, truth.parts
        theta = truth.difference + rng.normal(0, parts.item_system, (rows, 1, q))
        theta = theta + rng.normal(0, parts.rater_system, (rows, p, 1))
        nu = 2 * truth.tie_share / (1 - truth.tie_share)
        up, down = np.exp(theta / 2), np.exp(-theta / 2)
        total = up + down + nu
        chance = rng.random((rows, p, q))
        return np.asarray((chance < up / total) * 1.0 - (chance > 1 - down / total))[:, None]


def _agree_by_pair(table: Table) -> list[Figure]:
    """Return nominal alpha of the outcomes of each pair, if there is more than one."""
    parts = table.rows.groupby(["system_1", "system_2"])
    if parts.ngroups < 2:
        return []
    figures = []
    for (first, second), rows in parts:
        ratings = replace(table, rows=rows).ratings(rows.outcome, "item")
        draws = draw_agreement(ratings, "points", scale=_OUTCOMES)
        figure = alpha(ratings, "nominal", draws=draws, name="alpha_nominal")
        sides = (("system_1", str(first)), ("system_2", str(second)))
        figures.append(replace(count_units(figure, "item"), group=sides))
    return figures


def _read(table: Table) -> Any:
    rows = table.rows
    # the side of each system, if the file has them
    is_known = bool((rows.shown_first != "").all()) and len(rows) > 0
    is_turned = (rows.shown_first == rows.system_2).to_numpy() & is_known
    left = np.where(is_turned, rows.system_2, rows.system_1)
    right = np.where(is_turned, rows.system_1, rows.system_2)
    # the table's -1 is a win of system_1, which is a win of the left one unless turned
    won = -rows.outcome.to_numpy() * np.where(is_turned, -1, 1)
    return read_preferences(table.ratings(won), left, right, is_position_known=is_known)


def _describe(name: str, share: Figure, result: PairsResult) -> dict[str, Any]:
    model = result.model
    if model is None:
        headline, further, ranks = _share_of_pair(name, share, result), [], None
    else:
        headline = replace(model.strengths[name], name="strength")
        further = [share, _beat_average(headline)]
        ranks = model.rank_ranges.get(name)
        if name in model.penalised:
            further.append(replace(model.penalised[name], name="penalised_strength"))
    clusters = [] if model is None else model.clusters
    return {
        "system": name,
        "n": share.n["answers"],
        "headline": headline,
        "others": further,
        "counts": None,
        "rank": None if ranks is None else {"low": ranks[0], "high": ranks[1]},
        "cluster": next(
            (number for number, names in enumerate(clusters, start=1) if name in names), None
        ),
    }


def _beat_average(strength: Figure) -> Figure:
    """Return how often a decided answer prefers the system to one of average strength."""

    def chance(value: float | None) -> float | None:
        return None if value is None else 1 / (1 + exp(-value))

    return replace(
        strength,
        name="beats_average",
        method=f"{strength.method}+against_average",
        value=chance(strength.value),
        low=chance(strength.low),
        high=chance(strength.high),
    )


def _share_of_pair(name: str, share: Figure, result: PairsResult) -> Figure:
    """Return the share of wins with its interval; with two systems it shows everything."""
    if not result.pairs:
        return share
    pair = result.pairs[0]
    half = replace(pair.half, name="win_share")
    return half if name == pair.first else turn_figure(half)


def _judge_margins(tested: PairTests, plan: Plan) -> list[dict[str, Any]]:
    """Return the planned tests against margins, on net win shares."""
    limit = find_limit(scale="share")
    tests = []
    for planned in plan.margins:
        named = {planned.system, planned.other}
        pair = next((pair for pair in tested.chosen if {pair.first, pair.second} == named), None)
        effect, exact = undefined("net_win_share", Reason.NO_DATA, method=""), None
        if pair is not None:
            is_first = pair.first == planned.system
            effect = pair.test if is_first else turn_figure(pair.test)
            sign = 1.0 if is_first else -1.0
            counts = {sign: pair.wins, 0.0: pair.ties, -sign: pair.losses}
            kinds = np.array([value for value, count in counts.items() if count])
            n = pair.net.n
            exact = find_exact_outcomes(kinds, raters=n.get("raters", 0), inputs=n["items"])
        tests.append(judge_margin(effect, planned, is_log=False, limit=limit, exact=exact))
    return tests


def _explain_finding(pair: PairResult, result: PairsResult, baseline: str | None) -> dict[str, Any]:
    """Return the pair, the system with more wins first; a baseline is always second."""
    within = sum(pair.p_corrected is not None for pair in result.pairs)
    details = {
        **pair.test.details,
        "p_corrected": pair.p_corrected,
        "p_within": pair.p_within,
        "correction": result.correction,
        **describe_family(result, within - result.exploratory, is_exploratory=pair.is_exploratory),
    }
    effect = replace(pair.test, name="net_win_share", details=details)
    effect = keep_possible(effect, -1.0, 1.0)
    half, counts = replace(pair.half, name="win_share"), (pair.wins, pair.ties, pair.losses)
    checks = [
        leave_open(replace(pair.sign, name="sign_test"), effect),
        leave_open(replace(pair.majority, name="sign_test_of_majorities"), effect),
    ]
    first, second = pair.first, pair.second
    is_turned = pair.losses > pair.wins if baseline is None else pair.first == baseline
    if is_turned:
        first, second, counts = second, first, counts[::-1]
        effect, half = turn_figure(effect), turn_figure(half)
        checks = [turn_figure(check) for check in checks]
    return {
        "system_1": first,
        "system_2": second,
        "effect": effect,
        "sizes": [half],
        "checks": checks,
        "counts": dict(zip(("wins", "ties", "losses"), counts, strict=True)),
        "finding": describe_finding(first, second, effect),
    }


def _show_fit(result: PairsResult) -> dict[str, Any] | None:
    """Return the expected and observed counts of each pair, and the pairs that were never compared.

    None: there is no model, or no finite one.
    """
    if result.model is None or not result.model.expected:
        return None
    fit = result.model.expected
    return {
        "pairs": [
            {"system_1": pair["first"], "system_2": pair["second"]}
            | {key: pair[key] for key in ("observed", "expected")}
            for pair in fit["pairs"]
        ],
        "through_others": [list(pair) for pair in result.through_others],
    }


def _test_fit(result: PairsResult, fit: dict[str, Any]) -> Figure:
    method = "fit_chi_square"
    n = {"answers": int(sum(sum(pair["observed"].values()) for pair in fit["pairs"]))}
    if fit["p"] is None:
        return undefined("davidson_fit", Reason.TOO_FEW, method=method, n=n)
    details = {key: fit[key] for key in ("df", "p", "draws")} | {"interval": "test"}
    return Figure(name="davidson_fit", method=method, value=fit["chi2"], n=n, details=details)


def _list_tests(result: PairsResult) -> list[Figure]:
    left_share = keep_possible(result.left_share, 0.0, 1.0)
    tests = [replace(left_share, name="share_of_first_place")]
    if result.model is not None:
        tests += [
            replace(result.model.position, name="position_effect"),
            replace(result.model.tie, name="tie_parameter"),
            replace(result.circles, name="circular_triads"),
        ]
        if result.model.expected:
            tests.append(_test_fit(result, result.model.expected))
        zeta = result.circles.details.get("zeta")
        if zeta is not None:
            tests.append(
                Figure(
                    name="kendall_zeta",
                    method="kendall_zeta",
                    value=zeta,
                    n={"inputs_and_raters": result.circles.details["complete_units"]},
                    details={"interval": result.circles.details["interval"]},
                )
            )
    return tests


# --- graded answers: by how much an output is preferred, and why it is a tie ----------------------


def _describe_grades(rows: pd.DataFrame, first: str, second: str) -> dict[str, Any] | None:
    """Return the mean step of a pair, and how often both were good or bad; None: nothing is graded.

    Steps towards `first` count as positive, ties as 0.
    """
    if not (rows.both != "").any() and not (rows.value.abs() > 1).any():
        return None
    answers = rows[
        ((rows.system_1 == first) & (rows.system_2 == second))
        | ((rows.system_1 == second) & (rows.system_2 == first))
    ]
    towards = -answers.outcome.where(answers.system_1 == first, -answers.outcome)
    steps = answers.value.fillna(0) * towards
    mean = Figure(
        name="mean_step",
        method="mean_of_steps",
        value=float(steps.mean()),
        n={"answers": len(answers)},
        details={"interval": "test_of_net_wins"},
    )
    return {
        "mean": mean,
        **{f"both_{name}": int((answers.both == name).sum()) for name in _BOTH},
        "steps": {
            str(int(step)): int(number) for step, number in steps[steps != 0].value_counts().items()
        },
    }


NUMBERS = PreferenceNumbers()
