"""Raters in a report: their figures and flags, and pairs of whom one may have copied the other.

Flags are reported with figure and threshold, never acted upon. Two kinds of carelessness need
different signs (Meade & Craig 2012), and runs alone are among the weakest (Goldammer et al. 2024):
no flag comes from runs alone, and a rater is shown with the number of their flags. Where the lines
are a study may set: see `thresholds`.

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
    compare_passes,
    describe_drift,
    describe_pace,
    describe_sameness,
    describe_use,
    find_passes,
)
from evalsite.analysis.correlation import fisher_interval
from evalsite.analysis.describe import describe_magnitude_use, find_standards
from evalsite.analysis.effects import wilson_share
from evalsite.analysis.families import find_family, get_numbers
from evalsite.analysis.figure import Figure, make_note
from evalsite.analysis.intervals import keep_possible
from evalsite.analysis.pairs import circular_triads
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

# --- flags

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
        # of each pair, how many further raters share enough outputs with both
        shape = (len(raters), len(raters))
        met = sparse.coo_array((np.ones(len(first)), (first, second)), shape=shape).tocsr()
        met = met + met.T
        may_be &= _look_up(met @ met, first, second).astype(int) >= 2
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


# --- preferences of single raters

LEAST_TRIPLES = 20  # of a rater; a share of fewer says little
_LEAST_RATERS = 5
Flagged = dict[str, tuple[Figure, Flag | None]]


def count_chosen_places(*, rater: ArrayLike, outcome: ArrayLike, first: ArrayLike) -> Flagged:
    """Return by rater how often they prefer the first place, of their decided answers.

    Arrays of length n; `outcome` is 0 for a tie, `first` the outcome that means the first place,
    -1 or 1. Raters without a decided answer are left out. Flagged below one chance in a thousand.
    """
    rows = pd.DataFrame(
        {"rater": np.asarray(rater).astype(str), "outcome": np.asarray(outcome, dtype=float)}
    )
    rows["is_first"] = rows.outcome == np.asarray(first, dtype=float)
    by = rows[rows.outcome != 0].groupby("rater").is_first.agg(["sum", "count"])
    places: Flagged = {}
    for name, hits, count in zip(by.index, by["sum"], by["count"], strict=True):
        figure = wilson_share(int(hits), int(count), name="share_of_first_place")
        places[str(name)] = figure, _find_side(figure, int(hits), int(count))
    return places


def _find_side(figure: Figure, hits: int, count: int) -> Flag | None:
    if stats.binomtest(hits, count).pvalue >= UNLIKELY:
        return None
    is_first = 2 * hits > count
    place = "first" if is_first else "second"
    # the threshold as a share: the most that is still likely
    most = int(stats.binom.isf(UNLIKELY / 2, count, 0.5))
    threshold = (most if is_first else count - most) / count
    return Flag(code="one_place", figure=figure, threshold=threshold, limits=(),
                facts={"place": place, "answers": count})  # fmt: skip


def count_circles(
    *, rater: ArrayLike, unit: ArrayLike, first: ArrayLike, second: ArrayLike, outcome: ArrayLike
) -> Flagged:  # fmt: skip
    """Return by rater the share of answered triples that go in a circle: A over B, B over C, C
    over A.

    Arrays of length n: `unit`, what the answers of a circle have in common; the systems; the
    outcome, -1 where the first is preferred, 0 for a tie, 1 for the second. Raters without an
    answered triple are left out. Flagged above 95% of the raters with 20 triples or more, if there
    are five of them; a study can't change that.
    """
    systems, codes = np.unique(
        np.concatenate([np.asarray(first).astype(str), np.asarray(second).astype(str)]),
        return_inverse=True,
    )
    rows = pd.DataFrame({"rater": np.asarray(rater).astype(str), "unit": np.asarray(unit)})
    rows["first"], rows["second"] = np.split(codes, 2)
    rows["outcome"] = -np.asarray(outcome, dtype=float)
    figures = {}
    for name, answers in rows.groupby("rater"):
        figure = circular_triads(
            pd.factorize(answers.unit)[0], answers["first"].to_numpy(),
            answers["second"].to_numpy(), answers.outcome.to_numpy(), len(systems),
        )  # fmt: skip
        if figure.value is not None:
            figures[str(name)] = figure
    return _flag_circles(figures)


def _flag_circles(figures: dict[str, Figure]) -> Flagged:
    enough = [figure.value for figure in figures.values() if figure.n["triples"] >= LEAST_TRIPLES]
    circles: Flagged = {name: (figure, None) for name, figure in figures.items()}
    if len(enough) < _LEAST_RATERS:
        return circles
    threshold = float(np.quantile([value or 0.0 for value in enough], START.change_quantile))
    for name, figure in figures.items():
        if figure.n["triples"] >= LEAST_TRIPLES and (figure.value or 0.0) > threshold:
            counts = {key: figure.n[key] for key in ("circular", "triples")}
            flag = Flag(code="circles", figure=figure, threshold=threshold, limits=(), facts=counts)
            circles[name] = figure, flag
    return circles


# --- columns and flags of each rater --------------------------------------------------


# parts whose columns lists of people show
_OF_LISTS = ("", "scale", "preference")


@dataclass
class RaterTable:
    """All raters by name, each with figures and flags, and the columns that show them.

    `pool`: by column, the figure of all raters together, where there is one.
    """

    raters: dict[str, dict[str, Any]]
    limits: Thresholds = START
    columns: list[dict[str, Any]] = field(default_factory=list)
    pool: dict[str, Figure] = field(default_factory=dict)

    def add_column(
        self, name: str, *, key: str = "", criterion: str = "", part: str = "", has_n: bool = False
    ) -> None:
        """Add a column of figures; `key`: where rows have them, if not under the name.

        `criterion`: the label of the one it is of, if there are several; `part`: the code of the
        table it is in; `has_n`: cells show n.
        """
        self.columns.append(
            {"key": key or name, "name": name, "criterion": criterion, "part": part,
             "has_n": has_n, "is_detail": part not in _OF_LISTS}
        )  # fmt: skip

    def add(self, rater: str, key: str, figure: Figure) -> None:
        if rater in self.raters:
            self.raters[rater]["figures"][key] = figure

    def raise_flag(self, rater: str, flag: Flag | None, criterion: str = "") -> None:
        """Add a flag; `criterion` is the label of what it is about, if there are several."""
        if flag is None or rater not in self.raters:
            return
        limits = self.limits
        self.raters[rater]["flags"].append(
            {
                "code": flag.code,
                "facts": dict(flag.facts),
                "criterion": criterion,
                "figure": flag.figure,
                "threshold": flag.threshold,
                # the study chose this threshold itself
                "is_own": any(getattr(limits, key) != getattr(START, key) for key in flag.limits),
            }
        )

    def to_report(self) -> dict[str, Any]:
        """Return columns and rows, without the columns in which no rater has a value."""
        known = {
            key
            for row in self.raters.values()
            for key, figure in row["figures"].items()
            if figure.value is not None
        }
        columns = [column for column in self.columns if column["key"] in known]
        return {"columns": columns, "rows": list(self.raters.values()), "pool": self.pool}


def add_reserved(
    table: Table,
    instrument: Sequence[Mapping[str, Any]],
    rows: Mapping[str, Sequence[RaterRow]],
    rater_table: RaterTable,
) -> None:
    """Add the share of reserved points by rater and criterion, and of all raters together.

    `rows`: by key of each criterion, what its raters did.
    """
    for criterion in instrument:
        points = [float(point) for point in criterion.get("reserved", ())]
        values = table.of(str(criterion["key"])).rows.value.dropna()
        if not points or not len(values):
            continue
        key = f"{criterion['key']}: share_reserved"
        rater_table.add_column(
            "share_reserved", key=key, criterion=str(criterion["label"]), part="reserved",
            has_n=True,
        )  # fmt: skip
        for row in rows[str(criterion["key"])]:
            rater_table.add(row.rater, key, row.figures["share_reserved"])
        share = float(values.isin(points).mean())
        rater_table.pool[key] = Figure(
            name="share_reserved", method="share_of_reserved", value=share,
            n={"ratings": len(values)}, details={"interval": "describes_behaviour"},
        )  # fmt: skip


def add_family_columns(
    instrument: Sequence[Mapping[str, Any]],
    rows: Mapping[str, Sequence[RaterRow]],
    rater_table: RaterTable,
) -> None:
    """Add the columns that only one family has, such as how raters use magnitudes, in a part for
    each criterion."""
    rated = [criterion for criterion in instrument if str(criterion["key"]) in rows]
    families = [find_family(criterion).name for criterion in rated]
    for criterion in rated:
        family = find_family(criterion)
        label = "" if families.count(family.name) == 1 else str(criterion["label"])
        for name in family.rater_columns:
            key = f"{criterion['key']}: {name}"
            rater_table.add_column(name, key=key, criterion=label, part=family.name)
            for row in rows[str(criterion["key"])]:
                if name in row.figures:
                    rater_table.add(row.rater, key, row.figures[name])


def add_preferences(table: Table, rater_table: RaterTable) -> None:
    """Add each rater's ties, preferred place and circles, over all criteria."""
    rows = table.rows[table.rows.outcome.notna()]
    if not len(rows):
        return
    for name in ("tie_share", "first_share", "circular_share"):
        rater_table.add_column(name, part="preference", has_n=True)
    placed = rows[(rows.shown_first == rows.system_1) | (rows.shown_first == rows.system_2)]
    # answers to one input by one criterion can go in a circle
    unit = rows.criterion + "\0" + rows.group
    checked = {
        "tie_share": check_tie_use(rater=rows.participant, outcome=rows.outcome),
        "first_share": count_chosen_places(
            rater=placed.participant,
            outcome=placed.outcome,
            first=np.where(placed.shown_first == placed.system_1, -1.0, 1.0),
        ),
        "circular_share": count_circles(
            rater=rows.participant, unit=unit, first=rows.system_1, second=rows.system_2,
            outcome=rows.outcome,
        ),
    }  # fmt: skip
    for key, raters in checked.items():
        for rater, (figure, flag) in raters.items():
            rater_table.add(rater, key, figure)
            rater_table.raise_flag(rater, flag)


def add_repeats(
    passes: pd.DataFrame, instrument: Sequence[Mapping[str, Any]], rater_table: RaterTable
) -> None:
    """Add how often each rater gives the same answer again, how far off they are, and a flag for
    those who change most."""
    for criterion in instrument:
        rows = passes[passes.criterion == criterion["key"]]
        if not len(rows):
            continue
        numbers = get_numbers(find_family(criterion))
        compared = compare_passes(rows, numbers.repeat_level)
        criterion_label = str(criterion["label"]) if len(instrument) > 1 else ""
        names = ["exact"]
        if numbers.change:
            names.append(numbers.change)
            flags = flag_changes(compared, name=numbers.change, limits=rater_table.limits)
            for rater, flag in flags.items():
                rater_table.raise_flag(rater, flag, criterion_label)
        for name in names:
            key = f"{criterion['key']}: {name}"
            rater_table.add_column(
                name, key=key, criterion=criterion_label, part="repeats", has_n=name == "exact",
            )  # fmt: skip
            for rater, figures in compared.items():
                rater_table.add(rater, key, figures[name])


def add_problems(annotations: pd.DataFrame | None, rater_table: RaterTable) -> None:
    """Add how many items each rater reported instead of rating them, if anyone did."""
    if annotations is None or not (annotations.outcome == "reported").any():
        return
    main = annotations[annotations.kind == "main"]
    by = (main.outcome == "reported").groupby(main.participant).agg(["sum", "count"])
    rater_table.add_column("reported", part="problems", has_n=True)
    for rater, number, count in zip(by.index, by["sum"], by["count"], strict=True):
        details = {"interval": "describes_behaviour"}
        figure = Figure(name="reported", method="count_of_items", value=float(number),
                        n={"items": int(count)}, details=details)  # fmt: skip
        rater_table.add(str(rater), "reported", figure)


# --- the part of the report -----------------------------------------------------------


_OF_SCALE = ("spearman", "offset", "top_share")
# with several criteria, the table shows only what can be compared; the rest shows in flags
_OF_EACH = ("spearman",)
_USUAL_WIDTH = 6  # of seven points
_OF_PAGES = ("median_seconds", "speed_ratio", "share_under_floor")


def report_raters(
    table: Table, files: Mapping[str, pd.DataFrame], instrument: Sequence[Mapping[str, Any]],
    limits: Thresholds = START, *, with_repeats: Table | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return a row for each rater with figures and flags; no rows where raters are unknown.

    `files`: annotations, the exported file of that name, which says how checks were answered and
    what was reported; words, how many each text of an item has. `limits`: where figures become
    flags. `with_repeats`: the table with hidden repeats, which never count in results.
    """
    if not table.raters_known or not len(table):
        return {"columns": [], "rows": [], "pool": {}}
    rater_table = RaterTable(
        raters={
            str(name): {"participant": name, "n": int(number), "figures": {}, "flags": []}
            for name, number in sorted(table.rows.groupby("participant").size().items())
        },
        limits=limits,
    )
    answers = table.rows.groupby("participant")["item"].nunique().to_dict()
    _add_pace(table, files.get("words"), answers, rater_table)
    _add_checks(files.get("annotations"), rater_table)
    rated = [criterion for criterion in instrument if find_family(criterion).is_scored]
    is_only = len(rated) == 1
    rows = {
        str(criterion["key"]): _add_criterion(table, criterion, rater_table, is_only=is_only)
        for criterion in rated
    }
    for rater, flags in flag_answers(list(rows.values()), answers, limits).items():
        for flag in flags:
            rater_table.raise_flag(rater, flag)
    on_points = [criterion for criterion in rated if find_family(criterion).has_points]
    if len(on_points) > 1:
        is_on_points = table.rows.criterion.isin([str(criterion["key"]) for criterion in on_points])
        ratings = Table(rows=table.rows[is_on_points], raters_known=table.raters_known)
        for rater, flag in flag_sameness(ratings, rater_table.limits).items():
            rater_table.raise_flag(rater, flag)
    add_reserved(table, on_points, rows, rater_table)
    add_family_columns(rated, rows, rater_table)
    add_preferences(table, rater_table)
    if with_repeats is not None and (with_repeats.rows.kind == "repeat").any():
        add_repeats(find_passes(with_repeats), instrument, rater_table)
    add_problems(files.get("annotations"), rater_table)
    return rater_table.to_report()


def _add_pace(
    table: Table, words: pd.DataFrame | None, answers: Mapping[str, int], rater_table: RaterTable
) -> None:
    """Add how long each rater takes for a page, and a flag if that is too short to read it.

    `words`: how many each text of each item has.
    """
    timed = table.rows[table.rows.seconds.notna()]
    timed = timed.drop_duplicates(["participant", "item"])
    if not len(timed):
        return
    read = None if words is None else _count_read(timed, words)
    described = describe_pace(rater=timed.participant, seconds=timed.seconds, words=read)
    for name in _OF_PAGES:
        rater_table.add_column(name)
    for rater, figures in described.items():
        for key in _OF_PAGES:
            if key in figures:
                rater_table.add(rater, key, figures[key])
        rater_table.raise_flag(rater, see_speed(figures, answers[rater], rater_table.limits))


def _count_read(pages: pd.DataFrame, words: pd.DataFrame) -> Any:
    """Return how many words on each page are new to its rater; missing where there are none, or
    where that isn't known."""
    words = words[words.groupby("item").words.transform("sum") > 0]
    shown = pages[["participant", "item"]].assign(page=range(len(pages)), order=find_order(pages))
    shown = shown.merge(words, on="item").sort_values("order", kind="stable")
    shown["words"] = shown.words.where(~shown.duplicated(["participant", "text"]), 0.0)
    return shown.groupby("page").words.sum().reindex(range(len(pages))).to_numpy()


def _add_checks(annotations: pd.DataFrame | None, rater_table: RaterTable) -> None:
    """Add how many gold and attention items each rater answered right."""
    if annotations is None:
        return
    checks = annotations[
        annotations.kind.isin(["gold", "attention"]) & (annotations.gold_agrees != "")
    ]
    checks = checks[checks.participant.isin(list(rater_table.raters))]
    if not len(checks):
        return
    is_right = checks.gold_agrees == "yes"
    rater_table.add_column("gold_share")
    judged = check_gold(rater=checks.participant, is_right=is_right, limits=rater_table.limits)
    for rater, (figure, flag) in judged.items():
        rater_table.add(rater, "gold_share", figure)
        rater_table.raise_flag(rater, flag)


def _add_criterion(
    table: Table, criterion: Mapping[str, Any], rater_table: RaterTable, *, is_only: bool
) -> list[RaterRow]:
    """Add figures and flags of a criterion, its columns named for it if there are several; return
    what each rater did."""
    points = [float(answer["value"]) for answer in criterion["answers"]] or None
    least, most = criterion.get("minimum"), criterion.get("maximum")
    if points:
        least, most = min(points), max(points)
    scale = Scale(
        points=points,
        ends=None if least is None or most is None else (float(least), float(most)),
        reserved=[float(point) for point in criterion.get("reserved", ())],
        is_log=find_family(criterion).is_log,
    )
    limits = _widen(rater_table.limits, criterion)
    rows = check_raters(table.of(str(criterion["key"])), scale, limits)
    about = "" if is_only else str(criterion["label"])
    for name in _OF_SCALE if is_only else _OF_EACH:
        key = name if is_only else f"{criterion['key']}: {name}"
        rater_table.add_column(name, key=key, criterion=about, part="scale")
        for row in rows:
            if name in row.figures:
                rater_table.add(row.rater, key, row.figures[name])
    for row in rows:
        for flag in row.flags:
            rater_table.raise_flag(row.rater, flag, about)
    return rows


def _widen(limits: Thresholds, criterion: Mapping[str, Any]) -> Thresholds:
    """Return the limits with drift, which is in points, fitted to a scale without labels."""
    ends = criterion.get("minimum"), criterion.get("maximum")
    if criterion["answers"] or None in ends or not find_family(criterion).has_points:
        return limits
    wider = (ends[1] - ends[0]) / _USUAL_WIDTH  # type: ignore[operator]
    return replace(limits, drift=limits.drift * max(wider, 1.0))


def report_copies(table: Table) -> dict[str, Any]:
    """Return the pairs of raters whose answers look copied, as `find_copied` does."""
    rows = table.rows if table.raters_known else table.rows[:0]
    copied = find_copied(
        unit=rows.output,
        rater=rows.participant,
        criterion=rows.criterion,
        value=rows.preferred.where(rows.preferred != "", rows.value.astype(str)),
    )
    names = ("raters", "pairs", "pairs_compared", "can_be_seen", "most_shared", "alike")
    return {name: copied[name] for name in names}


def warn_of_copies(copied: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a warning of copied answers, without names, since reports are shared."""
    if alike := copied["alike"]:
        equal = alike["outputs"] - alike["unequal"]
        return [make_note("both_alike", equal=equal, outputs=alike["outputs"])]
    if not copied["pairs"]:
        return []
    pair = copied["pairs"][0]
    equal, number = pair["outputs"] - pair["unequal"], len(copied["pairs"])
    return [
        make_note(
            "copied", pairs=number, equal=equal, outputs=pair["outputs"], shares=pair["others"]
        )
    ]


def report_repeats(
    with_repeats: Table, instrument: Sequence[Mapping[str, Any]]
) -> list[Figure] | None:
    """Compare both passes of all raters, by criterion; None if nothing was shown twice.

    `with_repeats`: the table with hidden repeats, which never count in results.
    """
    passes = find_passes(with_repeats)
    if not len(passes):
        return None
    figures: list[Figure] = []
    for criterion in instrument:
        rows = passes[passes.criterion == criterion["key"]]
        if not len(rows):
            continue
        compared = get_numbers(find_family(criterion)).compare_repeats(rows)
        figures += [
            replace(figure, name=name, group=(("criterion", str(criterion["key"])),))
            for name, figure in compared.items()
        ]
    return figures
