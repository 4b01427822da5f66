"""A judge, which is a model that rates, beside people.

People are the standard. The correction of people's differences by a judge's labels is
prediction-powered (Angelopoulos, Duchi & Zrnic 2023, PPI++), with raters and inputs as crossed
samples: the mixed model of residuals by Kenward and Roger.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import atanh, sqrt, tanh
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from evalsite.analysis.difference_tests import correct
from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined
from evalsite.analysis.intervals import t_figure
from evalsite.analysis.mixed import Mixed, fit_mixed, fit_tables
from evalsite.analysis.pairs import Preferences, lay_out_pairs
from evalsite.analysis.ratings import Ratings, Scores, read_scores, renumber

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Distance = Literal["interval", "nominal"]

LEAST_INPUTS = 20  # labelled by people and judge, for a correction
LEAST_PEOPLE = 3  # for anything that takes people as a sample
_STEP = 1e-3  # of the weights, in the jackknife
_LAPSED = 1.959964
_ALT_LEAST = 30  # outputs of a person, in the alternative annotator test


# --- agreement ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Beside:
    """Ratings of outputs that the judge has labelled, as codes; `judge`: its value of each output.

    `group`: the input of each output.
    """

    value: Floats  # (ratings,)
    rater: Ints
    output: Ints
    judge: Floats  # (outputs,)
    group: Ints
    is_nominal: bool

    def figures(self, people: Floats, inputs: Floats) -> Floats:
        """Return person with person, judge with person, and the shortfall, with these weights of
        people and inputs; NaN where nothing varies."""
        outputs = len(self.judge)
        of_rater, of_output = people[self.rater], inputs[self.group]
        size: Floats = np.bincount(self.output, of_rater, outputs).astype(np.float64)
        squares: Floats = np.bincount(self.output, of_rater**2, outputs).astype(np.float64)
        weight = of_rater * of_output[self.output]
        # a rating is never paired with itself; outputs with one rating have no pairs
        is_shared = np.bincount(self.output, minlength=outputs) > 1
        shared = weight * is_shared[self.output]
        apart = self._find_apart(of_rater, size, squares)
        whole = float(shared.sum())
        pairs = np.where(is_shared, size**2 - squares, 1.0)
        kept = of_output * is_shared
        with np.errstate(invalid="ignore", divide="ignore"):
            observed = (kept * apart * size / pairs).sum() / whole
            alpha = 1 - observed / self._expect(shared)
            judged = self.judge[self.output]
            apart_from_judge = (
                (judged != self.value) * 1.0 if self.is_nominal else (judged - self.value) ** 2
            )
            alone = float((weight * apart_from_judge).sum())
            beside = 1 - alone / weight.sum() / self._expect_beside(weight, of_output * size)
        return np.array([alpha, beside, alpha - beside])

    def _find_apart(self, of_rater: Floats, size: Floats, squares: Floats) -> Floats:
        """Return of each output the sum of distances over its pairs of ratings, both ways."""
        outputs = len(size)
        if not self.is_nominal:
            first = np.bincount(self.output, of_rater * self.value, outputs)
            second = np.bincount(self.output, of_rater * self.value**2, outputs)
            return np.asarray(2 * (size * second - first**2))
        values, place = np.unique(self.value, return_inverse=True)
        cells = np.bincount(self.output * len(values) + place, of_rater, outputs * len(values))
        equal = (cells.reshape(outputs, -1) ** 2).sum(axis=1) - squares
        return np.asarray(size**2 - squares - equal)

    def _expect(self, weight: Floats) -> float:
        """Return the mean distance over all pairs of these ratings."""
        n = float(weight.sum())
        if self.is_nominal:
            counts = np.bincount(np.unique(self.value, return_inverse=True)[1], weight)
            return float((n**2 - (counts**2).sum()) / (n * (n - 1)))
        first, second = float(weight @ self.value), float(weight @ self.value**2)
        return 2 * (n * second - first**2) / (n * (n - 1))

    def _expect_beside(self, weight: Floats, of_output: Floats) -> float:
        """Return the mean distance of every judge's value, counted once per rating of its output,
        and every rating."""
        n = float(weight.sum())
        if self.is_nominal:
            values = np.unique(np.concatenate([self.value, self.judge]))
            shares = [
                np.bincount(np.searchsorted(values, answers), weights, len(values)) / n
                for answers, weights in ((self.judge, of_output), (self.value, weight))
            ]
            return float(1 - shares[0] @ shares[1])
        judged, rated = float(of_output @ self.judge) / n, float(weight @ self.value) / n
        spread = float(of_output @ self.judge**2) / n - judged**2
        return spread + float(weight @ self.value**2) / n - rated**2 + (judged - rated) ** 2


def read_beside(*, people: pd.DataFrame, judge: pd.DataFrame, level: Distance) -> Beside:
    """Return the ratings of outputs with a label, from `rater, item, system, value` of people and
    `item, system, value` of the judge; with a column `cluster`, that is weighted as one input."""
    keys = ["item", "system"]
    both = people.merge(judge[[*keys, "value"]].rename(columns={"value": "judge"}), on=keys)
    both = both.sort_values(["rater", *keys], kind="stable", ignore_index=True)
    codes = both.groupby(keys, sort=True).ngroup().to_numpy(np.int64)
    first = np.unique(codes, return_index=True)[1]
    group = both["cluster" if "cluster" in both else "item"].to_numpy()[first]
    return Beside(
        value=both["value"].to_numpy(np.float64),
        rater=np.unique(both["rater"].astype(str), return_inverse=True)[1].astype(np.int64),
        output=codes,
        judge=both["judge"].to_numpy(np.float64)[first],
        group=np.unique(group, return_inverse=True)[1].astype(np.int64),
        is_nominal=level == "nominal",
    )


def find_agreement(data: Beside) -> dict[str, Figure]:
    """Return `people_agreement`, `judge_agreement` and `judge_shortfall`.

    The last two have intervals by the two-way infinitesimal jackknife over people and inputs; with
    fewer than three people over inputs only. That of people among themselves is alpha's.
    """
    names = ("people_agreement", "judge_agreement", "judge_shortfall")
    method = "judge_nominal" if data.is_nominal else "judge_interval"
    people, inputs = int(data.rater.max(initial=-1)) + 1, int(data.group.max(initial=-1)) + 1
    n = {"raters": people, "items": inputs, "units": len(data.judge), "ratings": len(data.value)}
    if not len(data.value):
        return {name: undefined(name, Reason.NO_OVERLAP, method=method, n=n) for name in names}
    even = np.ones(people), np.ones(inputs)
    values = data.figures(*even)
    of_people, of_inputs = (_find_slopes(data, even, side) for side in (0, 1))
    is_over_people = people >= LEAST_PEOPLE
    figures = {}
    for place, name in enumerate(names):
        if not np.isfinite(values[place]):
            is_alone = np.bincount(data.output).max() < 2
            reason = Reason.NO_OVERLAP if is_alone and place != 1 else Reason.NO_VARIATION
            figures[name] = undefined(name, reason, method=method, n=n)
            continue
        details: dict[str, Any] = {"interval": "alpha"}
        low = high = None
        if place and inputs > 1:
            v_people = _spread(of_people[:, place]) if is_over_people else 0.0
            v_inputs = _spread(of_inputs[:, place])
            whole = v_people + v_inputs
            parts = v_inputs**2 / (inputs - 1)
            parts += v_people**2 / (people - 1) if is_over_people else 0.0
            details = {"interval": "jackknife" if is_over_people else "jackknife_inputs"}
            if whole > 0:
                df = whole**2 / parts
                reach = float(stats.t.ppf((1 + LEVEL) / 2, df)) * sqrt(whole)
                low, high = values[place] - reach, values[place] + reach
                high = min(high, 1.0) if name == "judge_agreement" else high
                details |= {"v_raters": v_people, "v_inputs": v_inputs, "df": df}
        figures[name] = Figure(
            name=name, method=method, value=float(values[place]), low=low, high=high, n=n,
            details=details,
        )  # fmt: skip
    return figures


def _find_slopes(data: Beside, even: tuple[Floats, Floats], side: int) -> Floats:
    """Return the derivatives of the three figures by each weight of people (0) or inputs (1)."""
    rows = []
    for place in range(len(even[side])):
        ends = []
        for step in (_STEP, -_STEP):
            weights = [even[0], even[1]]
            weights[side] = even[side].copy()
            weights[side][place] += step
            with np.errstate(invalid="ignore"):
                ends.append(data.figures(*weights))
        rows.append((ends[0] - ends[1]) / (2 * _STEP))
    return np.array(rows)


def _spread(slopes: Floats) -> float:
    return float(len(slopes) / (len(slopes) - 1) * ((slopes - slopes.mean()) ** 2).sum())


def find_rates(data: Beside) -> dict[str, dict[str, float | None]]:
    """Return `tpr` and `tnr` of yes/no answers (1, 0): the share of the judge's yes among people's
    yes, and no among no, each rating once; `person`: with another person in the judge's place.
    `precision`: the share of people's yes where the judge says yes."""
    size = np.bincount(data.output, minlength=len(data.judge))
    many = size > 1
    result: dict[str, dict[str, float | None]] = {}
    for name, answer in (("tpr", 1.0), ("tnr", 0.0)):
        n = np.bincount(data.output, data.value == answer, len(data.judge))
        of_people = n[many] * (n[many] - 1) / (size[many] - 1)
        result[name] = {
            "judge": float(n[data.judge == answer].sum() / n.sum()) if n.sum() else None,
            "person": float(of_people.sum() / n[many].sum()) if n[many].sum() else None,
        }
    yes = data.judge[data.output] == 1.0
    precision = float((data.value[yes] == 1.0).mean()) if yes.any() else None
    return result | {"precision": {"judge": precision}}


def list_points(data: Beside) -> list[dict[str, float]]:
    """Return for each value of the judge the number of outputs, `n`, and people's mean of them."""
    mean = np.bincount(data.output, data.value) / np.bincount(data.output)
    return [
        {"point": float(point), "n": int(at.sum()), "people": float(mean[at].mean())}
        for point in np.unique(data.judge)
        for at in [data.judge == point]
    ]


def compare_with_people(
    *, people: pd.DataFrame, judge: pd.DataFrame, level: Distance
) -> dict[str, Any]:
    """Return agreement of people with people and of the judge with people, the shortfall, and rates
    (nominal) or people's means by the judge's point and the slope on length (interval)."""
    data = read_beside(people=people, judge=judge, level=level)
    figures = find_agreement(data)
    words = {
        "person_with_person": "people_agreement", "judge_with_person": "judge_agreement",
        "shortfall": "judge_shortfall",
    }  # fmt: skip
    got: dict[str, Any] = {
        key: {
            "value": figures[name].value, "low": figures[name].low, "high": figures[name].high,
            **figures[name].details,
        }
        for key, name in words.items()
    }  # fmt: skip
    if level == "nominal":
        return got | {"rates": find_rates(data)}
    got["by_point"] = {f"{point['point']:g}": point for point in list_points(data)}
    if "words" in judge and people["system"].nunique() == 2:
        figure = find_length(people=people, judge=judge)
        got["length"] = {
            "per_doubling": figure.value, "se": figure.details.get("se"),
            "df": figure.details.get("df"), "p": figure.p,
        }  # fmt: skip
    return got


def find_length(*, people: pd.DataFrame, judge: pd.DataFrame) -> Figure:
    """Return the slope of the judge's bias on twice as many words, `judge_length`: of (judge -
    people's mean), second less first system, on log2 of the ratio of words, over inputs.

    For more than two systems over all pairs of outputs of an input, freed of the means of pairs.
    `judge` has a column `words`. Needs 20 inputs.
    """
    keys = ["item", "system"]
    mean = people.groupby(keys)["value"].mean().rename("people")
    both = judge.set_index(keys).join(mean, how="inner").reset_index()
    both = both[both["words"] > 0]
    both["apart"] = both["value"] - both["people"]
    both["log"] = np.log2(both["words"])
    keys = ["apart", "log"]
    tables = {
        key: both.pivot(index="item", columns="system", values=key) for key in ("apart", "log")
    }
    x, y, of_input = [], [], []
    for first, second in combinations(sorted(both["system"].unique()), 2):
        pair = {key: (table[second] - table[first]).dropna() for key, table in tables.items()}
        if len(pair["log"]) > 1:
            x.append(pair["log"] - pair["log"].mean())
            y.append(pair["apart"] - pair["apart"].mean())
            of_input.extend(pair["log"].index)
    inputs = len(set(of_input))
    method, n = "judge_length", {"items": inputs}
    if inputs < LEAST_INPUTS:
        return undefined(method, Reason.TOO_FEW, method=method, n=n)
    by, bias = np.concatenate(x), np.concatenate(y)
    if not (by**2).sum() > 0:
        return undefined(method, Reason.NO_VARIATION, method=method, n=n)
    slope = float(by @ bias / (by @ by))
    left = bias - slope * by
    # the pairs of an input share its outputs, so that inputs are what varies
    df = inputs - 2
    if len(x) == 1:
        error = sqrt(float(left @ left) / df / float(by @ by))
    else:
        sums = pd.Series(left * by).groupby(of_input).sum().to_numpy()
        error = sqrt(inputs / df * float((sums**2).sum())) / float(by @ by)
    return t_figure(method, (slope, error, df), method=method, n=n)


# --- bias --------------------------------------------------------------------------------------


def find_bias(*, people: pd.DataFrame, judge: pd.DataFrame) -> tuple[list[Figure], list[Figure]]:
    """Return the judge's mean bias by system, `judge_bias`, and its differences between two
    systems, `judge_favours`, second less first, with p corrected by Holm.

    The joint model of (judge - person), every rating.
    """
    keys = ["item", "system"]
    both = people.merge(judge[[*keys, "value"]].rename(columns={"value": "judge"}), on=keys)
    data = _read(both, both["judge"] - both["value"])
    mixed = fit_mixed(data)
    unit = np.eye(len(data.systems))
    means = [
        _contrast("judge_bias", mixed, data, row, (("system", name),))
        for name, row in zip(data.systems, unit, strict=True)
    ]
    apart = [
        _contrast("judge_favours", mixed, data, unit[j] - unit[i], _name(data.systems, i, j))
        for i, j in combinations(range(len(data.systems)), 2)
    ]
    return _correct(means), _correct(apart)


def describe_bias(*, people: pd.DataFrame, judge: pd.DataFrame) -> dict[str, Any]:
    """Return `means` by system, and `favours` by pair, of judge minus person."""
    means, apart = find_bias(people=people, judge=judge)
    ends = ("se", "df", "t", "p")
    return {
        "means": {
            dict(figure.group)["system"]: {
                "mean": figure.value, "low": figure.low, "high": figure.high,
                **{key: figure.details.get(key) for key in ends},
            }
            for figure in means
        },
        "favours": {
            _join(figure): {
                "difference": figure.value, "low": figure.low, "high": figure.high,
                **{key: figure.details.get(key) for key in ends},
            }
            for figure in apart
        },
    }  # fmt: skip


# --- the corrected difference ------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Corrected:
    """Differences of systems in people's eyes, second less first, alone and with the judge.

    `reason`: why the second can't be had; then `pairs` is empty. `only_some`: inputs with ratings
    of only some systems, which don't count for `weight`.
    """

    people: list[Figure]
    pairs: list[Figure]
    judge: list[float]
    labelled: int  # n
    further: int  # N
    weight: float  # lambda
    r: float | None
    answers: float  # per input and output (k)
    only_some: int = 0
    reason: str = ""

    def describe_worth(self) -> dict[str, float] | None:
        """Return what the labels save, by `find_worth`."""
        if self.r is None or not self.further:
            return None
        return find_worth(
            r=self.r, labelled=self.labelled, further=self.further, answers=self.answers
        )


def find_corrected(*, people: pd.DataFrame, judge: pd.DataFrame) -> Corrected:
    """Return the differences of systems on a scale, corrected by the labels of the same outputs and
    of further inputs that nobody rated.

    `people`: rater, item, system, value; `judge`: item, system, value; either may have a cluster.
    """
    systems = sorted(people["system"].astype(str).unique())
    judge = judge[judge["system"].isin(systems)]
    labels = judge.pivot(index="item", columns="system", values="value").reindex(columns=systems)
    labels = labels.dropna()
    means = people.pivot_table(index="item", columns="system", values="value", aggfunc="mean")
    whole = means.dropna()
    ours = whole.index.intersection(labels.index)
    theirs = labels.index.difference(means.index)
    y, f = _free(whole.loc[ours]), _free(labels.loc[ours])
    both = _free(labels.loc[ours.union(theirs)])
    s, n, further = len(systems), len(ours), len(theirs)
    alone = _read(people, people["value"])
    unit = np.eye(s)
    sides = [(i, j, unit[j] - unit[i]) for i, j in combinations(range(s), 2)]
    model = fit_mixed(alone)
    figures = _correct([
        _contrast("difference", model, alone, w, _name(systems, i, j)) for i, j, w in sides
    ])  # fmt: skip
    rated = people.merge(labels.stack().rename("judge").reset_index(), on=["item", "system"])
    counted = rated["item"].isin(ours)
    result = Corrected(
        people=figures,
        pairs=[],
        judge=[float((labels.to_numpy() @ w).mean()) if len(labels) else 0.0 for *_, w in sides],
        labelled=n,
        further=further,
        weight=_find_weight(
            (y, (n - 1) * (s - 1)), f, (both, (n + further - 1) * (s - 1)), further and n / further
        ),
        r=_correlate(y, f),
        answers=float(counted.sum()) / (n * s) if n else 0.0,
        only_some=len(means) - len(whole),
        reason=_refuse(people, n, further),
    )
    if result.reason:
        return result
    data = _read(rated, rated["value"] - result.weight * rated["judge"])
    mixed = fit_mixed(data)
    cluster = judge.drop_duplicates("item").set_index("item").get("cluster")
    pairs = []
    for i, j, w in sides:
        residual = _contrast("judged_difference", mixed, data, w, _name(systems, i, j))
        apart = pd.Series(labels.loc[theirs].to_numpy() @ w, index=theirs)
        pairs.append(_add_further(residual, apart, cluster, result.weight))
    return replace(result, pairs=_correct(pairs))


def find_corrected_preferences(*, people: pd.DataFrame, judge: pd.DataFrame) -> Corrected:
    """Return net shares of pairs of systems (1: the second is always preferred), corrected by the
    mean verdict of a judge.

    `people`: rater, item, first, second, value; `judge`: item, first, second, value (two orders are
    averaged); a value is 1 if the second is preferred, -1 the first, 0 a tie, or a grade.
    """
    people, judge = turn_pairs(people), turn_pairs(judge)
    keys = ["item", "first", "second"]
    met = sorted(set(zip(people["first"], people["second"], strict=True)))
    labels = judge.groupby(keys)["value"].mean()
    labels = labels[[pair[1:] in set(met) for pair in labels.index]]
    means = people.groupby(keys)["value"].mean()
    ours, theirs = labels.index.intersection(means.index), labels.index.difference(means.index)
    # an input that people rated is none of the others, whichever pair they saw
    rated_inputs = set(people["item"])
    theirs = theirs[[pair[0] not in rated_inputs for pair in theirs]]
    y, f = _center(means.loc[ours]), _center(labels.loc[ours])
    both = _center(labels.loc[ours.union(theirs)])
    n, further, p = len(ours), len(theirs), len(met)
    systems = sorted({name for pair in met for name in pair})
    model, data = _fit_preferences(people, people["value"], systems, met)
    unit = np.eye(p)
    figures = _correct([
        _contrast("net_share", model, data, row, (("system_1", a), ("system_2", b)))
        for row, (a, b) in zip(unit, met, strict=True)
    ])  # fmt: skip
    rated = people.merge(labels.rename("judge").reset_index(), on=keys)
    result = Corrected(
        people=figures,
        pairs=[],
        judge=[float(labels.xs(pair, level=(1, 2)).mean()) for pair in met] if len(labels) else [],
        labelled=n,
        further=further,
        weight=_find_weight((y, n - p), f, (both, n + further - p), further and n / further),
        r=_correlate(y, f),
        answers=len(rated) / n if n else 0.0,
        reason=_refuse(people, n, further),
    )
    if result.reason:
        return result
    mixed, data = _fit_preferences(
        rated, rated["value"] - result.weight * rated["judge"], systems, met
    )
    cluster = judge.drop_duplicates("item").set_index("item").get("cluster")
    pairs = []
    for row, pair in zip(unit, met, strict=True):
        group = (("system_1", pair[0]), ("system_2", pair[1]))
        residual = _contrast("judged_net_share", mixed, data, row, group)
        apart = labels.loc[theirs]
        apart = apart[[place[1:] == pair for place in apart.index]].droplevel([1, 2])
        pairs.append(_add_further(residual, apart, cluster, result.weight))
    return replace(result, pairs=_correct(pairs))


def correct_differences(*, people: pd.DataFrame, judge: pd.DataFrame) -> dict[str, Any]:
    """Return `n`, `N`, `lambda`, `worth` and the corrected `pairs`; of preferences of two systems
    (columns first, second) their net share, `win_share`, and what the two orders show."""
    is_preference = "first" in people
    result = (find_corrected_preferences if is_preference else find_corrected)(
        people=people, judge=judge
    )
    got: dict[str, Any] = {
        "n": result.labelled, "N": result.further, "lambda": result.weight,
        "worth": result.describe_worth(), "reason": result.reason,
    }  # fmt: skip
    ends = ("se", "df", "t", "p")
    pairs = {
        _join(figure): {
            "estimate": figure.value, "low": figure.low, "high": figure.high,
            **{key: figure.details.get(key) for key in ends},
            "people": {
                "difference": alone.value, "net": alone.value, "low": alone.low,
                "high": alone.high, **{key: alone.details.get(key) for key in ends},
            },
            "judge": judged,
        }
        for figure, alone, judged in zip(result.pairs, result.people, result.judge, strict=False)
    }  # fmt: skip
    if not is_preference or len(pairs) != 1:
        return got | {"pairs": pairs}
    [pair] = pairs.values()
    net: Any = pair["estimate"]
    return got | pair | find_orders(judge) | {"win_share": (1 + net) / 2}


def find_orders(judge: pd.DataFrame) -> dict[str, float]:
    """Return of verdicts with an `order` (1: the first was shown first, 2: turned round) the share
    of inputs with the `same_verdict` in both, and the pull to the side that is `first_shown`; {}
    if no input has both orders."""
    if "order" not in judge:
        return {}
    both = judge.pivot_table(
        index=["item", "first", "second"], columns="order", values="value", aggfunc="mean"
    )
    both = both.reindex(columns=[1, 2]).dropna()
    if both.empty:
        return {}
    # values count for the second system, so that a pull to the side shown first lowers order 1
    apart = both[1] - both[2]
    return {
        "same_verdict": float((apart == 0).mean()),
        "first_shown": float(apart.mean() / 2),
    }


def find_worth(*, r: float, labelled: int, further: int, answers: float) -> dict[str, float]:
    """Return how many more `inputs`, and `answers`, the labels stand for beside the same people,
    with the ends of both by Fisher's z of r; `most_answers`: with any number of labels.

    r: correlation of people's and the judge's differences over `labelled` inputs with `answers`
    to each output; `further`: labelled by the judge alone.
    """

    def count(value: float, share: float) -> float:
        saved = value**2 * share
        return labelled * saved / (1 - saved) if saved < 1 else float("inf")

    share = further / (labelled + further)
    inputs = count(r, share)
    worth = {
        "r": r, "share_saved": r**2 * share, "inputs": inputs, "answers": answers * inputs,
        "answers_per_label": answers * inputs / further, "most_answers": answers * count(r, 1.0),
    }  # fmt: skip
    if labelled > LEAST_PEOPLE and abs(r) < 1:
        reach = stats.norm.ppf((1 + LEVEL) / 2) / sqrt(labelled - 3)
        low, high = (max(0.0, tanh(atanh(r) + step)) for step in (-reach, reach))
        worth |= {
            "low": answers * count(low, share), "high": answers * count(high, share),
        }  # fmt: skip
    return worth


def plan_width(  # noqa: PLR0913 (a design, by its letters)
    *,
    people: int,
    inputs: int,
    answers_per_input: int,
    other_labels: int,
    variances: tuple[float, float, float],
    r: float,
) -> dict[str, float]:
    """Return the `half_width` and `df` planned for these people, inputs, answers and labels.

    `variances`: of differences by rater, by input, and the residual (statistics of a pilot). With
    one person, or one input, there is no interval: both are infinite and 0.
    """
    of_rater, of_input, residual = variances
    p, n, k = people, inputs, answers_per_input
    left = 1 - r**2 * other_labels / (n + other_labels)
    m = n * k / p
    if p < 2 or n < 2:
        return {"half_width": float("inf"), "df": 0.0}
    if k == 1:
        variance, df = (of_rater + (of_input + residual) * left / m) / p, float(p - 1)
    else:
        efficiency = (k - 1) * p / (k * (p - 1))
        a = (of_rater + residual / (efficiency * m)) / p
        b = (of_input + residual / k) * left / n
        variance = of_rater / p + b
        df = max(1.0, variance**2 / (a**2 / (p - 1) + b**2 / (n - 1)))
    return {"half_width": float(stats.t.ppf((1 + LEVEL) / 2, df)) * sqrt(variance), "df": df}


def audit_again(*, r0: float, n0: int, r1: float, n1: int) -> dict[str, Any]:
    """Return `z` of the loss of correlation since the certificate (r0 over n0 inputs), and whether
    it `lapses`."""
    z = (atanh(r0) - atanh(r1)) / sqrt(1 / (n0 - 3) + 1 / (n1 - 3))
    return {"z": z, "lapses": z > _LAPSED}


# --- the alternative annotator test ------------------------------------------------------------


def alt_test(
    ratings: Ratings, judge: Mapping[str, float], *, score: str = "accuracy", epsilon: float = 0.15
) -> dict[str, Any]:
    """Return the alternative annotator test (Calderon, Reichart & Dror 2025).

    Units are outputs; `judge`: its answer to each by name. `score`: accuracy
    (categories) or neg_rmse (numbers). `winning_rate` and `advantage` are None where nobody rated
    30 outputs that another person rated too; `left_out` counts the people below that.
    """
    return alt_tests(ratings, judge, score, [epsilon])[epsilon]


def alt_tests(
    ratings: Ratings, judge: Mapping[str, float], score: str, epsilons: Sequence[float]
) -> dict[float, dict[str, Any]]:
    """Return the test at each epsilon."""
    rows = pd.DataFrame(
        {"unit": ratings.get("unit"), "rater": ratings.get("rater"), "value": ratings.value}
    )
    rows = rows[rows["unit"].isin(judge)]
    rows["judge"] = rows["unit"].map(judge)
    ahead = _find_ahead(rows, score)
    left_out = int(rows["rater"].nunique()) - len(ahead)
    return {epsilon: _test_ahead(ahead, epsilon, left_out) for epsilon in epsilons}


def _find_ahead(rows: pd.DataFrame, score: str) -> dict[str, tuple[Floats, Floats]]:
    """Return for each person with enough outputs where the judge, and the person, is at least as
    near to the others."""
    pairs = rows.merge(rows[["unit", "rater", "value"]], on="unit", suffixes=("", "_other"))
    pairs = pairs[pairs["rater"] != pairs["rater_other"]]
    for key in ("value", "judge"):
        if score == "accuracy":
            pairs[f"{key}_score"] = (pairs[key] == pairs["value_other"]) * 1.0
        else:
            pairs[f"{key}_score"] = (pairs[key] - pairs["value_other"]) ** 2
    each = pairs.groupby(["rater", "unit"])[["value_score", "judge_score"]].mean().round(12)
    if score != "accuracy":
        each = -np.sqrt(each).round(12)
    return {
        str(name): (
            ((of_rater["judge_score"] >= of_rater["value_score"]) * 1.0).to_numpy(),
            ((of_rater["value_score"] >= of_rater["judge_score"]) * 1.0).to_numpy(),
        )
        for name, of_rater in each.groupby(level=0)
        if len(of_rater) >= _ALT_LEAST
    }


def _test_ahead(
    ahead: Mapping[str, tuple[Floats, Floats]], epsilon: float, left_out: int
) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, (judge_ahead, person_ahead) in ahead.items():
        apart = person_ahead - judge_ahead
        if np.ptp(apart) > 0:
            p = float(stats.ttest_1samp(apart, epsilon, alternative="less").pvalue)
        else:
            p = 0.0 if apart[0] < epsilon else 1.0
        result[name] = {
            "n": len(apart), "judge_ahead": float(judge_ahead.mean()),
            "person_ahead": float(person_ahead.mean()), "p": p,
        }  # fmt: skip
    if not result:
        return {"raters": {}, "winning_rate": None, "advantage": None, "passes": None,
                "left_out": left_out}  # fmt: skip
    corrected = correct([person["p"] for person in result.values()], "by")
    for person, p_by in zip(result.values(), corrected, strict=True):
        person |= {"p_by": float(p_by), "won": bool(p_by < 1 - LEVEL)}
    rate = float(np.mean([person["won"] for person in result.values()]))
    return {
        "raters": result,
        "winning_rate": rate,
        "advantage": float(np.mean([person["judge_ahead"] for person in result.values()])),
        "passes": rate >= 0.5,
        "left_out": left_out,
    }


# --- parts -------------------------------------------------------------------------------------


def _read(rows: pd.DataFrame, value: Any) -> Scores:
    return read_scores(
        Ratings(
            value=value, rater=rows["rater"], group=rows["item"], system=rows["system"],
            block=rows.get("cluster"),
        )
    )  # fmt: skip


def _name(systems: list[str], i: int, j: int) -> tuple[tuple[str, str], ...]:
    return (("system_1", systems[i]), ("system_2", systems[j]))


def _join(figure: Figure) -> str:
    group = dict(figure.group)
    return f"{group['system_2']}-{group['system_1']}"


def _contrast(
    name: str, mixed: Mixed, data: Scores, weights: Any, group: tuple[tuple[str, str], ...]
) -> Figure:
    """Return this contrast of the model; undefined where the data don't determine it."""
    if mixed.fit is None or mixed.fit.is_overcorrected(weights) or not mixed.determines(weights):
        reason = mixed.reason or Reason.TOO_FEW
        return undefined(name, reason, method="judge_model", n=data.counts(), group=group)
    estimate = mixed.fit.contrast(weights)
    figure = t_figure(name, estimate, method="judge_model", n=data.counts())
    return replace(figure, group=group)


def _correct(figures: list[Figure]) -> list[Figure]:
    """Return the figures with p corrected by Holm for each other."""
    p = [np.nan if figure.p is None else figure.p for figure in figures]
    return [
        figure
        if np.isnan(value)
        else replace(figure, details={**figure.details, "p_corrected": float(value)})
        for figure, value in zip(figures, correct(p), strict=True)
    ]


def _free(table: pd.DataFrame) -> Floats:
    """Return the values (inputs, systems) freed of the means of inputs and systems."""
    values = table.to_numpy(np.float64)
    if not len(values):
        return values
    values = values - values.mean(axis=1, keepdims=True)
    return np.asarray(values - values.mean(axis=0))


def _center(values: pd.Series) -> Floats:
    """Return the values freed of the mean of their pair of systems."""
    return np.asarray(values - values.groupby(level=[1, 2]).transform("mean"), dtype=np.float64)


def _find_weight(
    people: tuple[Floats, int], judge: Floats, whole: tuple[Floats, int], ratio: float
) -> float:
    """Return lambda: PPI++'s tuning of power, over all pairs of systems together.

    `people` and `judge`: freed values of the labelled inputs, `whole`: the judge's of all inputs;
    with their degrees of freedom. `ratio`: n/N.
    """
    spread = float((whole[0] ** 2).sum())
    if people[1] <= 0 or whole[1] <= 0 or not spread > 0 or not ratio:
        return 0.0
    together = float((people[0] * judge).sum()) / people[1]
    return max(0.0, together / (spread / whole[1] * (1 + ratio)))


def _correlate(y: Floats, f: Floats) -> float | None:
    size = sqrt(float((y**2).sum()) * float((f**2).sum()))
    return float((y * f).sum()) / size if size > 0 else None


def _refuse(people: pd.DataFrame, labelled: int, further: int) -> str:
    """Return why nothing can be corrected, as a code; "" if it can."""
    if people["rater"].nunique() < LEAST_PEOPLE:
        return "few_people"
    if labelled < LEAST_INPUTS:
        return "few_inputs"
    return "" if further > 1 else "no_further"


def _add_further(
    residual: Figure, apart: pd.Series, cluster: pd.Series | None, weight: float
) -> Figure:
    """Return the residual's difference plus what the judge's labels of the others add."""
    if residual.value is None or "df" not in residual.details:
        return residual
    n = len(apart)
    if cluster is None:
        spread, units = float(apart.var(ddof=1)) / n, n
    else:
        sums = (apart - apart.mean()).groupby(cluster.reindex(apart.index)).sum()
        units = len(sums)
        spread = units / (units - 1) * float((sums**2).sum()) / n**2 if units > 1 else 0.0
    residue, added = residual.details["se"] ** 2, weight**2 * spread
    variance = residue + added
    parts = residue**2 / residual.details["df"] + (added**2 / (units - 1) if units > 1 else 0.0)
    estimate = residual.value + weight * float(apart.mean()), sqrt(variance), variance**2 / parts
    figure = t_figure(residual.name, estimate, method="judge_corrected", n=residual.n)
    return replace(figure, group=residual.group)


def turn_pairs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs with the systems in alphabetical order, values turned with them."""
    is_turned = rows["first"] > rows["second"]
    turned = rows.assign(
        first=np.where(is_turned, rows["second"], rows["first"]),
        second=np.where(is_turned, rows["first"], rows["second"]),
        value=np.where(is_turned, -rows["value"], rows["value"]),
    )
    if "order" in rows:
        turned["order"] = np.where(is_turned, 3 - rows["order"], rows["order"])
    return turned


def _fit_preferences(
    rows: pd.DataFrame, value: Any, systems: list[str], met: list[tuple[str, str]]
) -> tuple[Mixed, Scores]:
    """Return the mixed model of all pairs, and the answers with the pair as their system."""
    order = rows.assign(value=value).sort_values(["rater", "item", "first", "second", "value"])
    place = {name: number for number, name in enumerate(systems)}
    low, high = (order[side].map(place).to_numpy(np.int64) for side in ("first", "second"))
    pair = {ends: number for number, ends in enumerate(met)}
    cluster = order.get("cluster")
    unit = renumber(np.unique(order["item"].astype(str), return_inverse=True)[1])
    data = Scores(
        systems=[f"{a} {b}" for a, b in met],
        raters=order["rater"].nunique(),
        rater=renumber(np.unique(order["rater"].astype(str), return_inverse=True)[1]),
        group=unit,
        block=unit
        if cluster is None
        else renumber(np.unique(cluster.astype(str), return_inverse=True)[1]),
        system=np.array(
            [pair[ends] for ends in zip(order["first"], order["second"], strict=True)],
            dtype=np.int64,
        ),
        value=order["value"].to_numpy(np.float64),
        row=np.arange(len(order)),
        is_log=False,
        has_clusters=cluster is not None,
    )
    if data.raters == 1 or len(data.value) <= len(met):
        return Mixed(reason=Reason.TOO_FEW), data
    if np.ptp(data.value) == 0:
        return Mixed(reason=Reason.NO_VARIATION), data
    assert data.rater is not None
    answers = Preferences(
        systems=systems, raters=[], rater=data.rater, item=data.block, unit=data.group, left=low,
        right=high, outcome=data.value, is_position_known=False,
    )  # fmt: skip
    laid = lay_out_pairs(answers, data.rater, [(place[a], place[b]) for a, b in met])
    return fit_tables(data.value, laid.tables, laid.fixed, dropped={}, blocks=laid.blocks), data
