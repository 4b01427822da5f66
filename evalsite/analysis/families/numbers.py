"""What a family computes for a criterion; the defaults are those of scores of outputs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalsite.analysis.agreement import Level
from evalsite.analysis.behaviour import POOLED, compare_passes
from evalsite.analysis.compare import (
    Comparison,
    Differences,
    PairComparison,
    describe_finding,
    explain_weighing,
    find_differences,
    find_estimator,
    list_disagreeing,
    order_pairs,
)
from evalsite.analysis.describe import (
    TRIM,
    Described,
    describe_systems,
    find_standards,
    log_ratio,
    standardise,
)
from evalsite.analysis.difference_tests import (
    MarginLimit,
    ScaleKind,
    describe_family,
    find_exact_scores,
    find_limit,
    judge_hypotheses,
    judge_margin,
)
from evalsite.analysis.effects import add_effect, share_variances
from evalsite.analysis.families import Family, name_unit
from evalsite.analysis.figure import REML, Cautions, Figure, Reason, undefined
from evalsite.analysis.intervals import detect_in, keep_detectable, keep_possible, turn_figure
from evalsite.analysis.mixed import (
    Layout,
    Mixed,
    lay_out_scores,
    list_from_average,
    mean_figures,
    predict_outputs,
)
from evalsite.analysis.plan import SIGN, Better, Plan, find_better
from evalsite.analysis.ratings import Floats, Scores, Table, factor_codes, read_scores

# --- simulated studies: the design, the variance parts of ratings, and latent ratings


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Standard deviations of the parts of a rating, in the units of the scale.

    Likert: points of the latent scale (one point = one step). Magnitude: natural logarithms.
    Pairs: log odds of the second system's win among decided answers (`item_system` and
    `rater_system` are of that difference; the residual is the model's own chance).
    """

    rater: float = 0.0
    item: float = 0.0
    item_system: float
    rater_system: float
    residual: float


@dataclass(frozen=True, kw_only=True)
class Design:
    """How many items, raters, and ratings for each output; all raters on all items if None."""

    items: int
    raters: int
    per_output: int | None = None

    @property
    def ratings_per_output(self) -> int:
        """How many raters see each item."""
        return self.raters if self.per_output is None else min(self.per_output, self.raters)

    @property
    def is_complete(self) -> bool:
        """Whether every rater sees every item."""
        return self.ratings_per_output == self.raters

    def shown(self) -> NDArray[np.bool_]:
        """Return which rater sees which item (raters, items), in rotation, with even loads."""
        k, table = self.ratings_per_output, np.zeros((self.raters, self.items), dtype=bool)
        for item in range(self.items):
            # Another stride each round, so that the same raters do not always meet.
            start = item * k + item * k // self.raters
            table[(start + np.arange(k)) % self.raters, item] = True
        return table


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What is true in simulated studies: how ratings vary, and how far the last system is ahead.

    `points`: of a scale with points; `tie_share`: of comparisons between equals.
    """

    parts: Parts
    difference: float
    systems: int = 2
    points: int = 0
    tie_share: float = 0.0


def draw_latent(rng: np.random.Generator, design: Design, truth: Truth, rows: int) -> Floats:
    """Draw latent ratings (rows, systems, raters, items); the last system is ahead."""
    p, q = design.raters, design.items
    parts, systems, difference = truth.parts, truth.systems, truth.difference
    rater = rng.normal(0, parts.rater, (rows, 1, p, 1))
    item = rng.normal(0, parts.item, (rows, 1, 1, q))
    output = rng.normal(0, parts.item_system, (rows, systems, 1, q))
    taste = rng.normal(0, parts.rater_system, (rows, systems, p, 1))
    rest = rng.normal(0, parts.residual, (rows, systems, p, q))
    shift = np.full((1, systems, 1, 1), -difference / 2)
    shift[:, -1] = difference / 2
    return np.asarray(rater + item + output + taste + rest + shift)


# --- what every family computes

Ends = tuple[float, float]
LEVELS = ("output", "within_inputs", "item_centred", "system")  # of comparisons with metrics


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A criterion whose comparisons are tested but not corrected.

    `p`: their p values. `finish`: makes the report from the p values of other criteria that the
    correction covers.
    """

    p: list[float]
    finish: Callable[[Sequence[float]], dict[str, Any]]


class Numbers:
    """How the answers to a criterion are analysed.

    `levels`: those at which automatic metrics are compared with them. `repeat_level` and
    `repetition_level`: the level of alpha for answers given twice by one person, and by two
    studies. `change`: the figure of a rater that shows how much answers change.
    """

    family: Family
    levels: Sequence[str] = LEVELS
    repeat_level: Level = "ordinal"
    repetition_level: Level = "ordinal"
    change: str = ""
    has_closed_form = True

    def prepare(
        self, table: Table, criterion: Mapping[str, Any], seed: int, plan: Plan
    ) -> Prepared:
        """Return the tests of a criterion; finished: systems, pairs, tests and agreement.

        `plan.baseline`: all comparisons are with this system, which has ratings here; "": all pairs
        are compared.
        """
        raise NotImplementedError

    def judge_margins(self, table: Table, seed: int, plan: Plan) -> list[dict[str, Any]]:
        """Return the tests of the plan's margins on some of the ratings.

        The margins were checked against the scale of all ratings.
        """
        raise NotImplementedError

    def lay_out(self, rows: pd.DataFrame) -> Layout:
        """Return who rates what in the form that the model of `prepare` takes, without the values.

        `rows`: a row for each rating with participant, group, block and system, or with system_1
        and system_2 in a family that compares.
        """
        raise NotImplementedError

    def keep_detectable(self, figure: Figure | None, most: float) -> Figure | None:
        """Return the smallest effect that the design detects, if such an effect is possible."""
        return keep_detectable(figure, most)

    # --- compared with automatic metrics

    def measure(self, table: Table) -> Any:
        """Return a value for each rating; their mean is the score of an output."""
        return table.rows.value

    def score_outputs(self, table: Table) -> pd.DataFrame:
        """Return a row for each output: item, system, group, block, and its score as `value`."""
        return average_outputs(table.rows.assign(score=self.measure(table)))

    # --- answered twice by the same person

    def compare_repeats(self, passes: pd.DataFrame) -> dict[str, Figure]:
        """Return how all raters together answered the second time."""
        return compare_passes(passes, self.repeat_level)[POOLED]

    # --- a study compared with its replication

    def find_common_standard(self, first: Table, second: Table) -> float | None:
        """Return the standard that the scores of both studies relate to, if there is one."""
        return None

    def take_values(self, table: Table, standard: float | None) -> tuple[pd.DataFrame, pd.Series]:
        """Return the rows that a replication compares, and their values."""
        return table.rows, table.rows.value

    def score_systems(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a replication, each a score of one system."""
        return rows

    def find_low(self, tables: Sequence[Table], criterion: Mapping[str, Any]) -> float:
        """Return where the scale begins."""
        return 0.0

    # --- planned

    def simulate(self, rng: np.random.Generator, design: Design, truth: Truth, rows: int) -> Floats:
        """Return simulated values (rows, systems, raters, items), the last system ahead.

        A family that compares returns outcomes of one pair, as the only system.
        """
        raise NotImplementedError


def average_outputs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each output with the mean of its column `score` as `value`."""
    by_output = rows.groupby(["item", "system", "group", "block"], sort=True)
    return by_output.score.mean().rename("value").reset_index()


def find_scale(table: Table) -> Ends | None:
    """Return the ends of the scale from the file; None if it has none, or has magnitudes."""
    rows = table.rows
    low, high = rows.scale_min.min(), rows.scale_max.max()
    return None if np.isnan(low) or np.isnan(high) else (float(low), float(high))


# --- the ratings of each output, combined ---------------------------------------------
COLUMNS = (
    "criterion", "item", "output", "group", "cluster", "system", "n", "mean", "median",
    "trimmed_mean", "mode", "mode_share", "geometric_mean", "rater_centred", "rater_z",
    "centred_only", "blup", "blup_reason",
)  # fmt: skip


def aggregate_outputs(
    table: Table, *, is_log: bool = False, predicted: Floats | None = None, reason: str = ""
) -> pd.DataFrame:
    """Return a row for each output of a criterion, with the columns COLUMNS, by item and output.

    `predicted` (n,): for each rating, what the mixed model predicts for its output; without it,
    `reason` says why. Cells are empty for what needs raters where they are unknown, the mode of
    magnitudes, and the geometric mean of other scales. Rater-centred means have the grand mean
    added back; those of magnitudes, and rater-z, use logarithms, and the centred means are
    exponentiated. `centred_only` counts ratings whose rater has too few ratings, or too equal ones,
    for a z.
    """
    ratings = _list_ratings(table, predicted, is_log=is_log)
    by = ratings.groupby("output", sort=False)
    outputs = by[["item", "group", "cluster", "system"]].first()
    outputs["n"] = by.size()
    for name, column, how in (
        ("mean", "value", "mean"),
        ("median", "value", "median"),
        ("trimmed_mean", "trimmed", "sum"),
        ("geometric_mean", "log", "mean"),
        ("rater_centred", "centred", "mean"),
        ("rater_z", "z", "mean"),
        ("centred_only", "is_centred_only", "sum"),
        ("blup", "predicted", "first"),
    ):
        outputs[name] = by[column].agg(how, **({"min_count": 1} if how == "sum" else {}))
    if is_log:
        outputs[["geometric_mean", "rater_centred"]] = np.exp(
            outputs[["geometric_mean", "rater_centred"]]
        )
        outputs[["mode", "mode_share"]] = np.nan
    else:
        outputs = outputs.join(_find_modes(ratings))
    outputs["centred_only"] = outputs.centred_only.astype("Int64")
    if (outputs["mode"].dropna() % 1 == 0).all():
        outputs["mode"] = outputs["mode"].astype("Int64")
    outputs["blup_reason"] = np.where(outputs.blup.isna(), reason, "")
    outputs["criterion"] = table.rows.criterion.iloc[0] if len(table) else ""
    outputs = outputs.reset_index().sort_values(["item", "output"], kind="stable")
    return outputs[list(COLUMNS)].reset_index(drop=True)


def _list_ratings(table: Table, predicted: Floats | None, *, is_log: bool) -> pd.DataFrame:
    """Return every rating with the values to average, sorted by output and value."""
    rows = table.rows
    ratings = rows[["output", "item", "group", "cluster", "system", "value"]].copy()
    ratings["predicted"] = np.nan if predicted is None else predicted
    ratings["log"] = np.log(rows.value) if is_log else np.nan
    ratings["centred"] = ratings["z"] = ratings["is_centred_only"] = np.nan
    if table.rater is not None:
        value: Any = rows.value
        if is_log:
            value = log_ratio(rows.value, find_standards(rows))
        scaled = standardise(rater=table.rater, value=value)
        grand = float(np.mean(ratings.log if is_log else rows.value)) if len(ratings) else 0.0
        ratings["centred"] = scaled.centred.to_numpy() + grand
        ratings["z"] = scaled.z.to_numpy()
        ratings["is_centred_only"] = scaled.is_centred_only.to_numpy().astype(float)
    ratings = ratings.sort_values(["output", "value"], kind="stable")
    ratings["trimmed"] = ratings.value * _weigh(ratings.output)
    return ratings


def _weigh(output: pd.Series) -> Any:
    """Return the weight of each rating in the trimmed mean of its output."""
    by = output.groupby(output, sort=False)
    place, number = by.cumcount(), by.transform("size")
    upper, lower = (place + 1) / number, place / number
    kept = upper.clip(TRIM, 1 - TRIM) - lower.clip(TRIM, 1 - TRIM)
    return kept / (1 - 2 * TRIM)


def _find_modes(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return the most frequent value of each output, the lowest if tied, and its share."""
    counted = ratings.groupby(["output", "value"], sort=True).size().rename("count").reset_index()
    counted = counted.sort_values(["output", "count", "value"], ascending=[True, False, True])
    top = counted.drop_duplicates("output").set_index("output")
    number = counted.groupby("output")["count"].sum()
    return pd.DataFrame({"mode": top.value, "mode_share": top["count"] / number})


# --- the family -----------------------------------------------------------------------
_FEW_DRAWS = 100  # tests against margins don't use them
_SIZES = ("superiority", "dz", "gz", "rank_biserial", "cliffs_delta")

# by system, the figures beside the headline figure, and the other ways to average
FurtherFigures = dict[str, tuple[list[Figure], list[Figure]]]


class ScoredNumbers(Numbers):
    """A family whose answers are numbers, one for each output.

    `effect` names what two systems are compared by, `equal` is its value if they are equal;
    `names`: figures that have another name in this family. `has_standardised_effect`: units aren't
    clear by themselves, as shares and ratios are.
    """

    effect = "difference"
    has_standardised_effect = True
    equal = 0.0
    names: Mapping[str, str] = {}
    least = -inf  # possible value, on a scale without ends

    def prepare(
        self, table: Table, criterion: Mapping[str, Any], seed: int, plan: Plan
    ) -> Prepared:
        """Return the tests; the finished part has `outputs`, a function that makes the table of
        outputs, which is too long for a report."""
        tested = find_differences(
            self._read(table), plan=plan, better=find_better(criterion), seed=seed
        )
        finish = partial(self._finish, table, criterion, plan, tested)
        return Prepared(p=tested.p, finish=finish)

    def _finish(
        self, table: Table, criterion: Mapping[str, Any], plan: Plan, tested: Differences,
        other_p: Sequence[float],
    ) -> dict[str, Any]:  # fmt: skip
        scores, mixed, seed = tested.data, tested.mixed, tested.seed
        answers = list(criterion["answers"])
        scale = [float(answer["value"]) for answer in answers] or None
        ends = self.find_ends(criterion)
        comparison = tested.correct(other_p=other_p)
        systems = self._list_systems(table, scale, ends, comparison, tested)
        kind: ScaleKind = "share" if self.family.decides else "points"
        kind = "ratio" if self.family.is_log else kind
        limit = find_limit(scale=kind, ends=ends, value=scores.value)
        slips = self.count_slips(table)
        from_average = list_from_average(scores, mixed)
        for name, figure in mean_figures(scores, mixed).items():
            figure = self._rename(figure)
            # a linear model doesn't know the ends of the scale
            figure = keep_possible(figure, *(ends or (self.least, inf)))
            system = next(system for system in systems if system["system"] == name)
            system["averages"].append(figure)
            distance = from_average.get(name)
            system["from_average"] = distance and keep_possible(distance, *self.find_bounds(ends))
        pairs = [
            self._describe(pair, comparison, ends, tested.better, name_unit(criterion))
            for pair in self.check_pairs(comparison.pairs, table)
        ]
        estimator = find_estimator(systems, pairs)
        histogram = None if answers else self.count_in_bins(table, ends)
        hypotheses = judge_hypotheses(pairs, plan.hypotheses, self.equal, tested.better)
        shares = share_variances(comparison.model)
        return {
            "answers": answers,
            # possible values of numbers without labels
            **({} if answers or ends is None else {"range": list(ends)}),
            **({"histogram": histogram} if histogram else {}),
            # whether systems are compared by the model's means or by those of all ratings
            "estimator": estimator,
            "standard": self.find_standard(table),
            "systems": systems,
            "pairs": order_pairs(pairs, systems),
            "joint": comparison.joint,
            "detectable": self.keep_detectable(detect_in(pairs), self.find_bounds(ends)[1]),
            "margins": self._judge_margins(tested, plan, limit),
            **({"hypotheses": hypotheses} if hypotheses else {}),
            "weighing": explain_weighing(systems, pairs, estimator),
            "order": self.list_order(table, tested.better, seed),
            "tests": self.list_tests(table, comparison),
            "agreement": self.agree(table, scale, seed),
            "kappas": self.compare_raters(table),
            "slips": slips,
            "model": {**comparison.model, **({"shares": shares} if shares else {})},
            "drawn": name_drawn(table),
            "cautions": _list_cautions(comparison, pairs, slips),
            "outputs": partial(self._list_outputs, table, scores, mixed),
        }

    def lay_out(self, rows: pd.DataFrame) -> Layout:
        systems, codes = np.unique(rows.system.to_numpy(str), return_inverse=True)
        rater, group, block = map(factor_codes, (rows.participant, rows.group, rows.block))
        scores = Scores(
            systems=[str(system) for system in systems],
            raters=int(rater.max()) + 1,
            rater=rater,
            group=group,
            block=block,
            system=codes.astype(np.int64),
            value=np.zeros(len(rows)),
            row=np.arange(len(rows)),
            is_log=self.family.is_log,
            has_clusters=bool((rows.block != rows.group).any()),
        )
        return lay_out_scores(scores, rater)

    # --- what a family may do differently

    def find_ends(self, criterion: Mapping[str, Any]) -> Ends | None:
        """Return the lowest and highest possible value, if figures are cut there."""
        values = [float(answer["value"]) for answer in criterion["answers"]]
        return (min(values), max(values)) if values else None

    def count_in_bins(self, table: Table, ends: Ends | None) -> dict[str, Any] | None:
        """Return how often values of each system lie between edges; None if points are counted or
        another figure shows the distribution."""
        return None

    def compare_values(self, table: Table) -> Any:
        """Return the values that systems are compared by."""
        return table.rows.value

    def describe_others(
        self, table: Table, described: dict[str, Described], better: Better, seed: int
    ) -> FurtherFigures:
        """Return the figures beside the headline figure, and the other ways to average."""
        raise NotImplementedError

    def check_pairs(
        self, pairs: Sequence[PairComparison], table: Table
    ) -> Sequence[PairComparison]:
        """Return the pairs with the additional tests of this family."""
        return pairs

    def choose_effect(self, pair: PairComparison) -> Figure:
        """Return the figure that two systems are compared by."""
        return pair.difference

    def find_bounds(self, ends: Ends | None) -> Ends:
        """Return the smallest and the largest possible effect."""
        most = ends[1] - ends[0] if ends else inf
        return -most, most

    def list_tests(self, table: Table, comparison: Comparison) -> list[Figure]:
        """Return the tests of all systems."""
        return [] if comparison.overall is None else [comparison.overall]

    def agree(self, table: Table, scale: list[float] | None, seed: int) -> list[Figure]:
        """Return the figures of agreement between raters."""
        raise NotImplementedError

    def compare_raters(self, table: Table) -> dict[str, Any] | None:
        """Return the agreement of every two raters as a square, if there is one to show."""
        return None

    def find_standard(self, table: Table) -> float | None:
        """Return the score that all ratings relate to, if there is one."""
        return None

    def count_slips(self, table: Table) -> Figure | None:
        """Return how many ratings may be slips of the hand, where that can be seen."""
        return None

    def list_order(self, table: Table, better: Better, seed: int) -> list[dict[str, Any]]:
        """Return the ranking by the order within a page; [] where nothing is ordered."""
        return []

    # --- systems

    def _rename(self, figure: Figure) -> Figure:
        return replace(figure, name=self.names.get(figure.name, figure.name))

    def _read(self, table: Table) -> Scores:
        # values, not logs of ratios: a shared standard moves all systems equally
        ratings = table.ratings(self.compare_values(table))
        if not (table.rows.cluster != "").any():
            ratings = replace(ratings, block=None)
        return read_scores(ratings, is_log=self.family.is_log)

    def _list_outputs(self, table: Table, scores: Scores, mixed: Mixed) -> pd.DataFrame:
        """Return the table of outputs, with what the mixed model predicts for each."""
        predictions = predict_outputs(scores, mixed)
        predicted = np.full(len(table), np.nan)
        if predictions is not None:
            predicted[scores.row] = predictions
        return aggregate_outputs(
            table,
            is_log=self.family.is_log,
            predicted=predicted,
            reason=str(mixed.reason or Reason.TOO_FEW),
        )

    def _list_systems(
        self, table: Table, scale: list[float] | None, ends: Ends | None, comparison: Comparison,
        tested: Differences,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Return the systems, the best first; without a direction, in the order of the file."""
        rows, better, seed = table.rows, tested.better, tested.seed
        figures = describe_systems(table.ratings(rows.value), scale=scale, ends=ends, seed=seed)
        described = {system.system: system for system in figures}
        further = self.describe_others(table, described, better, seed)
        outputs = rows.groupby("system").output.nunique()
        clusters = {
            name: number
            for number, names in enumerate(comparison.clusters, start=1)
            for name in names
        }
        systems = [
            {
                "system": name,
                "n": described[name].figures["mean"].n["ratings"],
                "outputs": int(outputs[name]),
                "sd": self._find_sd(table, name),
                "headline": self._rename(figure),
                "others": further[name][0],
                "averages": further[name][1],
                "counts": None
                if scale is None
                else {f"{value:.10g}": number for value, number in described[name].counts.items()},
                "rank": write_rank(comparison.rank_ranges.get(name)),
                "rank_raw": write_rank(comparison.raw_ranges.get(name)),
                "cluster": clusters.get(name),
            }
            for name, figure in comparison.systems.items()
        ]
        if better == "none":
            places = {name: place for place, name in enumerate(rows.system.unique())}
            return sorted(systems, key=lambda system: places[system["system"]])
        sign = SIGN[better]
        return sorted(
            systems, key=lambda system: (-sign * (system["headline"].value or 0), system["system"])
        )

    def _find_sd(self, table: Table, system: str) -> Figure:
        """Return the standard deviation of a system's ratings, or of the logs of magnitudes."""
        values = np.asarray(self.compare_values(table), dtype=np.float64)
        # sorted, so that rounding doesn't depend on the order of rows
        values = np.sort(values[(table.rows.system == system).to_numpy()])
        name, n = "sd_log" if self.family.is_log else "sd", {"ratings": len(values)}
        method = "sd_of_ratings"
        if len(values) < 2:
            return undefined(name, Reason.TOO_FEW, method=method, n=n)
        sd = float(np.std(np.log(values) if self.family.is_log else values, ddof=1))
        details = {"interval": "describes_ratings"}
        return Figure(name=name, method=method, value=sd, n=n, details=details)

    # --- pairs

    def judge_margins(self, table: Table, seed: int, plan: Plan) -> list[dict[str, Any]]:
        tested = find_differences(self._read(table), seed=seed, draws=_FEW_DRAWS)
        return self._judge_margins(tested, plan, MarginLimit(scale="numbers"))

    def _judge_margins(
        self, tested: Differences, plan: Plan, limit: MarginLimit
    ) -> list[dict[str, Any]]:
        """Return the planned tests against margins, each on the difference that the plan names."""
        data, is_log = tested.data, self.family.is_log
        tests = []
        for planned in plan.margins:
            effect, exact = undefined("difference", Reason.NO_DATA, method=""), None
            if {planned.system, planned.other} <= set(data.systems):
                ij = tuple(data.systems.index(name) for name in (planned.other, planned.system))
                exact = find_exact_scores(data, *ij)
                effect = _find_difference(tested, *ij) or effect
            tests.append(judge_margin(effect, planned, is_log=is_log, limit=limit, exact=exact))
        return tests

    def _describe(
        self, pair: PairComparison, comparison: Comparison, ends: Ends | None, better: Better,
        unit: str,
    ) -> dict[str, Any]:  # fmt: skip
        """Return the pair, the better system first.

        The effect is of the first over or minus the second, as rated: below 0 for the better system
        if lower is better. A baseline is always second, so that all effects are relative to it.
        """
        effect = self.choose_effect(pair)
        details = {
            **effect.details,
            "p_corrected": pair.p_corrected,
            "p_within": pair.p_within,
            "correction": comparison.correction,
            **describe_family(comparison, comparison.family, is_exploratory=pair.is_exploratory),
        }
        least, most = self.find_bounds(ends)
        effect = keep_possible(replace(effect, name=self.effect, details=details), least, most)
        if self.has_standardised_effect and effect.method == REML:
            effect = add_effect(effect, comparison.model)
        first, second = pair.second, pair.first
        effects = [pair.effects[key] for key in _SIZES if key in pair.effects]
        checks = [replace(check, name=name) for name, check in pair.checks.items()]
        own_error = None if pair.own_error is None else keep_possible(pair.own_error, least, most)
        # without a direction the higher system is first, so differences have no sign
        apart = 0.0 if effect.value is None else effect.value - self.equal
        is_behind = apart > 0 if better == "lower" else apart < 0
        if is_behind and comparison.baseline is None:
            first, second = second, first
            effect = turn_figure(effect)
            effects = [turn_figure(figure) for figure in effects]
            checks = [turn_figure(figure) for figure in checks]
            own_error = None if own_error is None else turn_figure(own_error)
        return {
            "system_1": first,
            "system_2": second,
            "effect": effect,
            "sizes": [_name_sides(figure, better) for figure in effects],
            "checks": checks,
            "own": own_error,
            "counts": None,
            "finding": describe_finding(first, second, effect, better, unit),
        }


def _find_difference(tested: Differences, first: int, second: int) -> Figure | None:
    """Return the tested difference, second minus first; None if the pair isn't tested."""
    chosen = zip(tested.pairs[: tested.chosen], tested.differences, strict=False)
    for pair, figure in chosen:
        if pair == (first, second):
            return figure
        if pair == (second, first):
            return turn_figure(figure)
    return None


def name_drawn(table: Table) -> str:
    """Return what a bootstrap resamples: clusters if the study has some, else inputs."""
    return "clusters" if (table.rows.cluster != "").any() else "inputs"


def write_rank(ranks: tuple[int, int] | None) -> dict[str, int] | None:
    """Return the ends of a rank range as plain data."""
    return None if ranks is None else {"low": ranks[0], "high": ranks[1]}


def _name_sides(figure: Figure, better: Better) -> Figure:
    """Return the figure with the method of the report, where system_1 is the first.

    Superiority is the probability that the first is better or, without a direction, higher.
    """
    if figure.name != "superiority":
        return figure
    figure, method = (
        (turn_figure(figure), "first_lower") if better == "lower" else (figure, "first_higher")
    )
    figure = replace(figure, name="p_higher") if better == "none" else figure
    return replace(figure, method=method)


def _list_cautions(
    comparison: Comparison, pairs: list[dict[str, Any]], slips: Figure | None
) -> Cautions:
    cautions = dict(comparison.cautions)
    if disagreeing := list_disagreeing(pairs):
        cautions["models_disagree"] = {"pairs": disagreeing}
    if slips is not None and slips.value:
        cautions["possible_slips"] = {}
    return cautions
