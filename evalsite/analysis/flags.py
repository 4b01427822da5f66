"""Flags on raters: reported with figure and threshold, never acted upon.

Two kinds of carelessness need different signs (Meade & Craig 2012), and runs alone are among the
weakest (Goldammer et al. 2024): no flag comes from runs alone, and a rater is shown with the
number of their flags. Where the lines are a study may set: see `thresholds`.

A pair of raters is flagged if its answers are nearly all equal, if that isn't what two raters with
their use of the scale would reach by chance, and if it is beyond the agreement that other pairs
reach.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import inf, log
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse, stats

from evalsite.analysis.behaviour import (
    POOLED,
    Figures,
    against_others,
    describe_drift,
    describe_sameness,
    describe_use,
)
from evalsite.analysis.correlation import fisher_interval
from evalsite.analysis.describe import describe_magnitude_use, find_standards
from evalsite.analysis.effects import wilson_share
from evalsite.analysis.figure import Figure
from evalsite.analysis.intervals import keep_possible
from evalsite.analysis.ratings import Floats, Ints, Table
from evalsite.analysis.thresholds import (
    FEWEST_SHARED,
    START,
    UNLIKELY,
    Thresholds,
    Use,
    is_same_answer,
    is_too_fast,
    is_unlike_others,
)

_ROBUST = 1.4826  # times the median deviation: a robust standard deviation
# raters who are much alike are few robust standard deviations apart: less than half a point, or a
# ratio of 1.25, is no offset worth a look
_LEAST, _LEAST_LOG = 0.5, log(1.25)
_FEWEST_FOR_SD = 20


@dataclass(frozen=True, kw_only=True)
class Flag:
    """One sign about one rater: what was seen, the figure it rests on, and where the line is.

    `limits`: the thresholds by name that drew the line; `facts`: what the sentence of the code
    needs.
    """

    code: str
    figure: Figure
    threshold: float
    limits: tuple[str, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The flag as plain data."""
        return {"code": self.code, "facts": dict(self.facts), "figure": self.figure.to_dict(),
                "threshold": self.threshold}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RaterRow:
    """One rater of one criterion: figures by name, and flags.

    `use`: of their most used value, beside the others.
    """

    rater: str
    ratings: int
    figures: Figures
    use: Use
    flags: tuple[Flag, ...]


@dataclass(frozen=True, kw_only=True)
class Scale:
    """What values there can be: `points`, if only some; `reserved` points, meant to be rare; the
    lowest and the highest. `is_log`: drift and offset are taken on logarithms."""

    points: Sequence[float] | None = None
    reserved: Sequence[float] = ()
    ends: tuple[float, float] | None = None
    is_log: bool = False


OPEN_SCALE = Scale()


def check_raters(
    table: Table, scale: Scale = OPEN_SCALE, limits: Thresholds = START
) -> list[RaterRow]:
    """One row for each rater of one criterion's ratings, by name; [] where raters are unknown.

    `table`: results of one criterion with numbers as values. What rests on all criteria together is
    flagged by `flag_answers`, and pace by `see_speed`.
    """
    rows = table.rows
    if not table.raters_known or rows.empty:
        return []
    is_log, ends, reserved = scale.is_log, scale.ends, scale.reserved
    order = find_order(rows)
    ratings = table.ratings(np.log(rows.value) if is_log else rows.value)
    known = describe_use(
        table.ratings(rows.value), order=order, scale=scale.points, reserved=reserved
    )
    if is_log:
        use = describe_magnitude_use(table.ratings(rows.value), find_standards(rows))
        known = {name: figures | use[name] for name, figures in known.items()}
    most = ends[1] - ends[0] if ends and not is_log else inf
    for compared in against_others(ratings):
        offset = keep_possible(compared.offset, -most, most)
        known[compared.rater] |= {"spearman": compared.spearman, "offset": offset}
    for name, column in (("drift_trial", rows.trial), ("drift_place", rows.place_in_set)):
        if column.notna().any():
            for drifting, figure in describe_drift(ratings, column, name=name).items():
                # from far below the others to far above them
                known[drifting][name] = keep_possible(figure, -2 * most, 2 * most)
    uses = _find_uses(rows)
    number = rows.participant.value_counts()
    pool = _Pool.of(known, rows.value, reserved)
    return [
        RaterRow(rater=name, ratings=int(number[name]), figures=figures, use=uses[name],
                 flags=tuple(_find_flags(figures, pool, limits, is_log)))
        for name, figures in sorted(known.items())
    ]  # fmt: skip


def find_order(rows: pd.DataFrame) -> Any:
    """Of each row its place in time: by trial, else by submitted_at; then place, then file."""
    keys = ["trial", "submitted_at", "place", "row"]
    ordered = rows[keys].reset_index(drop=True).sort_values(keys)
    place = np.empty(len(rows), dtype=np.intp)
    place[ordered.index.to_numpy()] = np.arange(len(rows))
    return place


def _find_uses(rows: pd.DataFrame) -> dict[str, Use]:
    """Return for each rater by name: their ratings, those with their most used value, and the share
    of it in all other people's ratings."""
    counts = rows.groupby(["participant", "value"]).size()
    by_rater, by_value = counts.groupby("participant").sum(), counts.groupby("value").sum()
    # of values used equally often, the one that the others give least
    ordered = counts.reset_index(name="n").assign(
        others=lambda frame: frame.value.map(by_value) - frame.n
    )
    ordered = ordered.sort_values(["n", "others"], ascending=[False, True], kind="stable")
    top = ordered.drop_duplicates("participant").set_index("participant")
    rest = len(rows) - by_rater
    return {
        str(name): (
            int(by_rater[name]), int(top.n[name]),
            float(top.others[name] / rest[name]) if rest[name] else 1.0,
        )
        for name in top.index
    }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _Pool:
    """What raters do on the whole, to set one beside."""

    sd: float | None
    offset: float | None
    offset_sd: float | None
    reserved: float | None

    @classmethod
    def of(
        cls, figures: dict[str, Figures], values: pd.Series, reserved: Sequence[float]
    ) -> "_Pool":
        offsets = _collect(figures, "offset")
        middle = float(np.median(offsets)) if offsets.size else None
        spread = None
        if offsets.size >= 5:
            spread = _ROBUST * float(np.median(np.abs(offsets - np.median(offsets))))
        sds = _collect(figures, "sd")
        return cls(
            sd=float(np.median(sds)) if sds.size else None,
            offset=middle,
            offset_sd=spread or None,
            reserved=float(values.isin(list(reserved)).mean()) if len(reserved) else None,
        )


def _collect(figures: dict[str, Figures], name: str) -> Any:
    values = [known[name].value for known in figures.values() if name in known]
    return np.sort([value for value in values if value is not None])


def _find_flags(figures: Figures, pool: _Pool, limits: Thresholds, is_log: bool) -> list[Flag]:
    flags = [
        _see_little_variation(figures, pool, limits),
        _see_offset(figures, pool, limits, is_log),
        _see_reserved(figures, pool, limits),
    ]
    drifting = [] if is_log else _see_drift(figures, limits)
    return [flag for flag in flags if flag is not None] + drifting


def _get(figures: Figures, name: str) -> tuple[Figure | None, float]:
    """The figure and its value; NaN, which no threshold meets, where there is none."""
    figure = figures.get(name)
    return figure, np.nan if figure is None or figure.value is None else figure.value


def _see_little_variation(figures: Figures, pool: _Pool, limits: Thresholds) -> Flag | None:
    """Return whether ratings vary little, though none of them is given nearly always."""
    figure, sd = _get(figures, "sd")
    if figure is None or not pool.sd or figure.n["ratings"] < _FEWEST_FOR_SD:
        return None
    if _get(figures, "top_share")[1] > limits.top_share or not sd < limits.sd_ratio * pool.sd:
        return None
    return Flag(code="straight_lining", figure=figure, threshold=limits.sd_ratio * pool.sd,
                limits=("sd_ratio",), facts={"is_one_value": False})  # fmt: skip


def see_speed(figures: Figures, answers: int, limits: Thresholds) -> Flag | None:
    """The flag of a rater who is fast; where words are known, only if too fast to read them."""
    figure, ratio = _get(figures, "speed_ratio")
    floor, share = _get(figures, "share_under_floor")
    pages = 0 if floor is None else floor.n["pages"]
    under = 0 if floor is None else round(share * pages)
    is_fast = is_too_fast(answers=answers, ratio=None if np.isnan(ratio) else ratio, pages=pages,
                          under=under, limits=limits)  # fmt: skip
    if not is_fast:
        return None
    if floor is not None and pages >= limits.floor_pages and share >= limits.floor_share:
        return Flag(code="speeder", figure=floor, threshold=limits.floor_share,
                    limits=("floor_share", "floor_pages"),
                    facts={"share": None, "is_under_floor": True})  # fmt: skip
    assert figure is not None
    needed = "speed_answers" if pages else "speed_answers_alone"
    return Flag(code="speeder", figure=figure, threshold=limits.speed_ratio,
                limits=("speed_ratio", needed, "under_floor"),
                facts={"share": limits.speed_ratio, "is_under_floor": bool(pages)})  # fmt: skip


def flag_answers(
    criteria: Sequence[Sequence[RaterRow]], answers: Mapping[str, int], limits: Thresholds
) -> dict[str, list[Flag]]:
    """Return the flags that rest on all scored criteria together, by rater.

    `criteria`: of each, the rows of `check_raters`; `answers`: how many items each rater rated.
    """
    mine: dict[str, list[RaterRow]] = {}
    orders: dict[str, list[Figure]] = {}
    for rows in criteria:
        for row in rows:
            mine.setdefault(row.rater, []).append(row)
            rho = row.figures["spearman"]
            if rho.value is not None:
                orders.setdefault(row.rater, []).append(rho)
    flags: dict[str, list[Flag]] = {}
    for rater, row_of_each in mine.items():
        if is_same_answer([row.use for row in row_of_each], limits):
            least = min(
                (row.figures["top_share"] for row in row_of_each),
                key=lambda figure: figure.value or 0,
            )
            flags.setdefault(rater, []).append(
                Flag(code="straight_lining", figure=least, threshold=limits.top_share,
                     limits=("top_share", "top_share_ratings"),
                     facts={"is_one_value": True})
            )  # fmt: skip
    means = {rater: _average_order(figures) for rater, figures in orders.items()}
    values = [figure.value for figure in means.values() if figure.value is not None]
    mean = float(np.mean(np.sort(values))) if values else None
    for rater, figure in means.items():
        number = answers[rater]
        if is_unlike_others(answers=number, rho=figure.value, high=figure.high, mean=mean,
                            limits=limits):  # fmt: skip
            line = "rho" if number >= limits.rho_ratings else "rho_few"
            flags.setdefault(rater, []).append(
                Flag(code="disagreement", figure=figure, threshold=getattr(limits, line),
                     limits=(line, f"{line}_ratings"))
            )  # fmt: skip
    return flags


def _average_order(figures: Sequence[Figure]) -> Figure:
    """Return a rater's mean correlation with the others, with the interval of so many outputs."""
    if len(figures) == 1:
        return figures[0]
    value = float(np.mean([figure.value for figure in figures]))
    units = min(figure.n["units"] for figure in figures)
    low, high = fisher_interval(value, units, "spearman")
    return replace(figures[0], value=value, low=low, high=high,
                   n={"units": units, "criteria": len(figures)})  # fmt: skip


def _see_offset(figures: Figures, pool: _Pool, limits: Thresholds, is_log: bool) -> Flag | None:
    figure, offset = _get(figures, "offset")
    if figure is None or pool.offset is None or pool.offset_sd is None:
        return None
    drawn, least = limits.offset_sds * pool.offset_sd, _LEAST_LOG if is_log else _LEAST
    line = max(drawn, least)
    if not abs(offset - pool.offset) > line or _holds(figure, pool.offset):
        return None
    is_higher = offset > pool.offset
    # the threshold itself, so that the figure is beyond it
    threshold = pool.offset + (line if is_higher else -line)
    return Flag(code="offset", figure=figure, threshold=threshold,
                limits=("offset_sds",) if drawn >= least else (),
                facts={"is_higher": is_higher})  # fmt: skip


def _holds(figure: Figure, middle: float) -> bool:
    """Whether chance alone may set the figure apart from the middle of all raters."""
    if figure.low is None or figure.high is None:
        # without spread it is always as large; of a single value nothing is known
        return figure.details.get("se") != 0
    return figure.low <= middle <= figure.high


def _see_reserved(figures: Figures, pool: _Pool, limits: Thresholds) -> Flag | None:
    figure, share = _get(figures, "share_reserved")
    if figure is None or pool.reserved is None:
        return None
    if figure.n["ratings"] < limits.reserved_ratings:
        return None
    line = min(limits.reserved, limits.reserved_ratio * pool.reserved)
    if not share > line:
        return None
    name = "reserved" if line == limits.reserved else "reserved_ratio"
    return Flag(code="reserved_points", figure=figure, threshold=line,
                limits=(name, "reserved_ratings"))  # fmt: skip


def _see_drift(figures: Figures, limits: Thresholds) -> list[Flag]:
    flags = []
    for name in ("drift_trial", "drift_place"):
        figure, rise = _get(figures, name)
        if figure is None or figure.low is None or figure.high is None:
            continue
        if figure.low * figure.high > 0 and abs(rise) > limits.drift:
            sign = 1 if rise > 0 else -1
            flags.append(Flag(code=name, figure=figure, threshold=sign * limits.drift,
                              limits=("drift",), facts={"is_rising": rise > 0}))  # fmt: skip
    return flags


def flag_sameness(table: Table, limits: Thresholds | None = None) -> dict[str, Flag]:
    """Raters who give all criteria of an output one value while others do not, by name.

    `table`: results of the criteria that share a scale.
    """
    limits = limits or Thresholds()
    rows = table.rows
    if not table.raters_known or rows.empty:
        return {}
    figures = describe_sameness(rater=rows.participant, unit=rows.output,
                                criterion=rows.criterion, value=rows.value)  # fmt: skip
    shares = {name: figure.value for name, figure in figures.items() if figure.value is not None}
    flags = {}
    for name, share in shares.items():
        rest = [value for other, value in shares.items() if other != name]
        if share > limits.identical and rest and np.median(rest) < limits.identical_others:
            flags[name] = Flag(code="identical_criteria", figure=figures[name],
                               threshold=limits.identical,
                               limits=("identical", "identical_others"))  # fmt: skip
    return flags


def check_gold(
    *, rater: ArrayLike, is_right: ArrayLike, limits: Thresholds | None = None
) -> dict[str, tuple[Figure, Flag | None]]:
    """For each rater by name the share of control items answered right, and the flag if it is low.

    Arrays of length n, one row for each answered item with gold.
    """
    limits = limits or Thresholds()
    rows = pd.DataFrame({"rater": np.asarray(rater).astype(str),
                         "right": np.asarray(is_right, dtype=bool)})  # fmt: skip
    checked: dict[str, tuple[Figure, Flag | None]] = {}
    for name, answers in rows.groupby("rater"):
        figure = wilson_share(int(answers.right.sum()), len(answers), name="gold_share")
        flag = None
        if figure.value is not None and figure.value < limits.gold:
            flag = Flag(code="gold", figure=figure, threshold=limits.gold, limits=("gold",))
        checked[str(name)] = (figure, flag)
    return checked


def flag_changes(
    passes: Mapping[str, Figures], *, name: str = "mean_abs_change",
    limits: Thresholds | None = None,
) -> dict[str, Flag]:  # fmt: skip
    """Raters whose repeats differ more than those of 95% of raters, from `compare_passes`; by
    name. With fewer than 5 raters, no one is compared with the others."""
    limits = limits or Thresholds()
    changes = {rater: figures[name] for rater, figures in passes.items()
               if rater != POOLED and figures[name].value is not None}  # fmt: skip
    if len(changes) < 5:
        return {}
    values = [figure.value or 0.0 for figure in changes.values()]
    line = float(np.quantile(values, limits.change_quantile))
    return {
        rater: Flag(code="inconsistent", figure=figure, threshold=line,
                    limits=("change_quantile",))
        for rater, figure in changes.items() if (figure.value or 0.0) > line
    }  # fmt: skip


# --- ties ---------------------------------------------------------------------------------------


def check_tie_use(*, rater: ArrayLike, outcome: ArrayLike) -> dict[str, tuple[Figure, Flag | None]]:
    """Of each rater by name the share of ties, flagged where all answers or none are ties though
    that is unlikely by the share of the others.

    Arrays of length n; an outcome of 0 is a tie.
    """
    rows = pd.DataFrame(
        {"rater": np.asarray(rater).astype(str), "tie": np.asarray(outcome, dtype=float) == 0}
    )
    by = rows.groupby("rater").tie.agg(["sum", "count"])
    ties, number = int(by["sum"].sum()), int(by["count"].sum())
    uses = {}
    for name, by_rater, count in zip(by.index, by["sum"], by["count"], strict=True):
        figure = wilson_share(int(by_rater), int(count), name="tie_share")
        rest = number - int(count)
        share = (ties - int(by_rater)) / rest if rest else None
        uses[str(name)] = figure, _find_flag(figure, int(by_rater), int(count), share)
    return uses


def _find_flag(figure: Figure, ties: int, count: int, elsewhere: float | None) -> Flag | None:
    """`elsewhere`: the share of ties among the answers of everyone else; None: there are none."""
    if elsewhere is None or 0 < ties < count:
        return None
    chance = elsewhere**count if ties else (1 - elsewhere) ** count
    if chance >= UNLIKELY:
        return None
    # the figure reaches its line only at the end: all answers, or none
    return Flag(code="always_ties" if ties else "never_ties", figure=figure,
                threshold=float(ties > 0), limits=(),
                facts={"answers": count, "share_of_others": elsewhere})  # fmt: skip


# --- pairs of raters, one of whom may have copied the other

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
