"""Pairs of raters whose answers are so similar that one may have copied the other's.

A pair is flagged if its answers are nearly all equal, if that isn't what two raters with their use
of the scale would reach by chance, and if it is beyond the agreement that other pairs reach.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse, stats

from evalsite.analysis.ratings import Floats, Ints
from evalsite.analysis.thresholds import FEWEST_SHARED

_FEWEST_OF_TWO_RATERS = 30
_MOST_UNEQUAL = 0.02
_LEAST_SURPRISE = 5.0  # outputs that would differ by chance alone
_UNLIKELY = 0.005
_MANY_PAIRS = 30  # more pairs than this show how much honest pairs differ
_FEWEST_CLOSE = 20  # shared outputs from which a pair's agreement counts for its raters
_FEW_VALUES = 3
_AT_ONCE = 2_000_000  # pairs of answers


def find_copied(
    *, unit: ArrayLike, rater: ArrayLike, criterion: ArrayLike, value: ArrayLike
) -> dict[str, Any]:
    """Return the pairs of raters with copied answers, and whether copies could be seen at all.

    Arrays of length n, one row for each answer. An output is equal if every criterion that both
    answered is. `pairs`: those flagged, the most outputs first, with the lowest and the highest
    share of equal outputs of the other pairs (`others`); `can_be_seen`: whether equal answers on
    all outputs would flag some pair; `most_shared`: the most outputs that a pair has in common;
    `alike`: the outputs of the only pair, if its answers are equal on nearly all of them.
    """
    rows = pd.DataFrame(
        {
            "unit": np.asarray(unit),
            "rater": np.asarray(rater).astype(str),
            "criterion": np.asarray(criterion),
            "value": np.asarray(value),
        }
    )
    rows = rows.dropna().drop_duplicates(["unit", "rater", "criterion"])
    raters = sorted(rows.rater.unique())
    most_shared, pairs = _compare_pairs(rows, raters)
    first, second, outputs, unequal, chance = pairs
    result: dict[str, Any] = {
        "raters": len(raters), "pairs_compared": len(first), "flagged": 0, "pairs": [],
        "most_shared": most_shared, "can_be_seen": False, "alike": None,
    }  # fmt: skip
    if not len(first):
        return result
    closest = np.lexsort((unequal, -outputs))[0]
    result["closest_pair_of_most_shared"] = {
        "outputs": int(outputs[closest]), "unequal": int(unequal[closest]),
        "chance": float(chance[closest]),
    }  # fmt: skip
    equal = 1 - unequal / outputs
    if len(first) == 1:
        # nothing to compare with
        if unequal[0] <= _MOST_UNEQUAL * outputs[0] and outputs[0] >= _FEWEST_OF_TWO_RATERS:
            result["alike"] = {"outputs": int(outputs[0]), "unequal": int(unequal[0])}
        return result
    has_few_values = rows.groupby("criterion").value.nunique().max() <= _FEW_VALUES
    kappa = _find_honest_agreement(outputs, unequal, chance, has_few_values=has_few_values)
    with_others = _find_closest_others(first, second, outputs, equal, len(raters))
    p = np.minimum(0.995, np.maximum(chance + (1 - chance) * kappa, with_others))
    may_be = outputs * (1 - chance) >= _LEAST_SURPRISE
    if len(first) <= _MANY_PAIRS and has_few_values:
        may_be &= _count_shared_others(first, second, len(raters)) >= 2
    result["can_be_seen"] = bool((may_be & (len(first) * p**outputs < _UNLIKELY)).any())
    is_copied = may_be & (unequal <= _MOST_UNEQUAL * outputs)
    is_copied &= len(first) * stats.binom.cdf(unequal, outputs, 1 - p) < _UNLIKELY
    honest = equal[~is_copied]
    result["pairs"] = [
        {
            "first_rater": raters[first[at]],
            "second_rater": raters[second[at]],
            "outputs": int(outputs[at]),
            "unequal": int(unequal[at]),
            "others": [float(honest.min()), float(honest.max())] if honest.size else [],
        }
        for at in sorted(np.flatnonzero(is_copied), key=lambda at: (-outputs[at], at))
    ]
    result["flagged"] = len(result["pairs"])
    if result["pairs"]:
        result |= result["pairs"][0]
    return result


def _compare_pairs(
    rows: pd.DataFrame, raters: Sequence[str]
) -> tuple[int, tuple[Ints, Ints, Ints, Ints, Floats]]:
    """Return the most outputs that two raters share; and of each pair that shares enough: both
    raters by number, outputs, unequal ones, and the chance that an output is equal."""
    criteria = sorted(rows.criterion.unique())
    rows = rows.assign(
        rater=pd.Categorical(rows.rater, raters).codes,
        value=pd.factorize(rows.value)[0].astype(float),
    )
    answers = rows.pivot(index=["unit", "rater"], columns="criterion", values="value")
    who, values = answers.index.get_level_values("rater").to_numpy(), answers[criteria].to_numpy()
    shape = len(raters), len(raters)
    outputs, equal = sparse.csr_array(shape), sparse.csr_array(shape)
    for left, right, is_equal in _meet(who, values, answers.index.get_level_values("unit")):
        outputs = (
            outputs + sparse.coo_array((np.ones(len(left)), (left, right)), shape=shape).tocsr()
        )
        equal = equal + sparse.coo_array((is_equal, (left, right)), shape=shape).tocsr()
    met = outputs.tocoo()
    enough = met.data >= FEWEST_SHARED
    first, second, number = met.row[enough], met.col[enough], met.data[enough]
    order = np.lexsort((second, first))
    first, second, number = first[order].astype(int), second[order].astype(int), number[order]
    unequal = number - _look_up(equal, first, second)
    chance = _find_chance(who, values, first, second, len(raters))
    known = ~np.isnan(chance)
    pairs = (first[known], second[known], number[known].astype(int), unequal[known].astype(int),
             chance[known])  # fmt: skip
    return int(met.data.max(initial=0)), pairs


def _meet(who: Ints, values: Floats, unit: Any) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Yield every two answers to one output in batches: who gave them, and whether they are equal.

    `who` and `values` are sorted by unit, then rater.
    """
    starts = np.flatnonzero(np.r_[True, unit[1:] != unit[:-1]]) if len(who) else np.zeros(0, int)
    sizes = np.diff(np.r_[starts, len(who)])
    for size in np.unique(sizes[sizes > 1]):
        places = np.array(list(combinations(range(size), 2)))
        mine = starts[sizes == size]
        for block in np.array_split(mine, max(1, len(mine) * len(places) // _AT_ONCE)):
            left, right = ((block[:, None] + places[:, side]).ravel() for side in (0, 1))
            has_both = ~(np.isnan(values[left]) | np.isnan(values[right]))
            is_met = has_both.any(axis=1)
            is_equal = ((values[left] == values[right]) | ~has_both).all(axis=1)
            yield who[left][is_met], who[right][is_met], is_equal[is_met].astype(float)


def _find_chance(who: Ints, values: Floats, first: Ints, second: Ints, raters: int) -> Floats:
    """Return for each pair the chance that two answers are equal, if each rater drew from their
    own.

    An answer is the string of the criteria that both ever answered; of raters without a complete
    one it is NaN.
    """
    asked = np.zeros((raters, values.shape[1]), dtype=bool)
    np.logical_or.at(asked, who, ~np.isnan(values))
    kinds, kind = np.unique(asked, axis=0, return_inverse=True)
    kind = kind.ravel()
    chance = np.full(len(first), np.nan)
    low, high = np.minimum(kind[first], kind[second]), np.maximum(kind[first], kind[second])
    for a, b in np.unique(np.column_stack([low, high]), axis=0) if len(first) else ():
        mine = (low == a) & (high == b)
        shared = values[:, kinds[a] & kinds[b]]
        complete = ~np.isnan(shared).any(axis=1)
        strings = np.unique(shared[complete], axis=0, return_inverse=True)[1].ravel()
        number = np.bincount(who[complete], minlength=raters)
        weights = 1 / number[who[complete]]
        shape = raters, int(strings.max(initial=0)) + 1
        shares = sparse.coo_array((weights, (who[complete], strings)), shape=shape).tocsr()
        equal = _look_up(shares @ shares.T, first[mine], second[mine])
        is_known = (number[first[mine]] > 0) & (number[second[mine]] > 0)
        chance[mine] = np.where(is_known, np.minimum(equal, 1.0), np.nan)
    return chance


def _look_up(table: Any, first: Ints, second: Ints) -> Floats:
    """Return the entries of a sparse table at these places."""
    if not len(first):
        return np.zeros(0)
    return np.asarray(table.tocsr()[first, second], dtype=float).ravel()


def _find_honest_agreement(
    outputs: Ints, unequal: Ints, chance: Floats, *, has_few_values: bool
) -> Floats:
    """Return for each pair the agreement beyond chance that an honest pair may reach."""
    weight = outputs * (1 - chance)
    kappa = 1 - unequal / np.where(weight > 0, weight, np.inf)

    def sum_of_others(values: Floats) -> Floats:
        return values.sum() - values

    total = sum_of_others(weight)
    mean = sum_of_others(weight * kappa) / np.where(total > 0, total, np.inf)
    if len(outputs) <= _MANY_PAIRS:
        return np.maximum(mean, 0.90 if has_few_values else 0.75)
    spread = sum_of_others(weight * kappa**2) / np.where(total > 0, total, np.inf) - mean**2
    # the sampling part of a pair's variance, times its weight: (1 - κ)(1 - (1 - p_e)(1 - κ))
    has_weight = (weight > 0).astype(float)
    number, apart = sum_of_others(has_weight), sum_of_others(has_weight * (1 - chance))
    by_chance = (1 - mean) * (number - (1 - mean) * apart) / np.where(total > 0, total, np.inf)
    return np.minimum(0.98, mean + 3 * np.sqrt(np.maximum(spread - by_chance, 0)))


def _find_closest_others(
    first: Ints, second: Ints, outputs: Ints, equal: Floats, raters: int
) -> Floats:
    """Return for each pair the highest share of equal outputs that either has with a third
    person."""
    enough = outputs >= _FEWEST_CLOSE
    pairs = pd.DataFrame({
        "rater": np.r_[first[enough], second[enough]],
        "other": np.r_[second[enough], first[enough]],
        "share": np.tile(equal[enough], 2),
    }).sort_values("share", ascending=False, kind="stable")  # fmt: skip
    best = pairs.groupby("rater").head(2)
    highest, next_highest = np.zeros(raters), np.zeros(raters)
    closest = np.full(raters, -1)
    is_first = ~best.duplicated("rater")
    highest[best.rater[is_first]] = best.share[is_first]
    closest[best.rater[is_first]] = best.other[is_first]
    next_highest[best.rater[~is_first]] = best.share[~is_first]
    return np.maximum(
        np.where(closest[first] == second, next_highest[first], highest[first]),
        np.where(closest[second] == first, next_highest[second], highest[second]),
    )


def _count_shared_others(first: Ints, second: Ints, raters: int) -> Ints:
    """Return for each pair how many further raters share enough outputs with both."""
    met = sparse.coo_array((np.ones(len(first)), (first, second)), shape=(raters, raters)).tocsr()
    met = met + met.T
    return _look_up(met @ met, first, second).astype(int)
