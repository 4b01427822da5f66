"""Where figures of a rater become a flag, and from how many answers on they can: starting values,
which a study may replace.

Plain numbers without heavy imports: pages ask these while a study runs, and reports ask the same.
An answer is that to one item.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from math import atanh, ceil, exp, inf, lgamma, log, sqrt, tanh

from evalsite.analysis.families import get_family


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """Where a figure becomes a flag; the starting values are guesses unless a survey rule."""

    top_share: float = 0.8
    top_share_ratings: int = 5
    sd_ratio: float = 0.25  # of the median rater's sd
    identical: float = 0.95
    identical_others: float = 0.6
    speed_ratio: float = 0.33
    speed_answers: int = 8
    speed_answers_alone: int = 10  # where the words aren't known
    under_floor: float = 0.2  # of the pages of a person who is fast
    floor_share: float = 0.5
    floor_pages: int = 4
    rho: float = 0.1
    rho_ratings: int = 20
    rho_few: float = -0.1
    rho_few_ratings: int = 12
    offset_sds: float = 2.0
    reserved: float = 0.4
    reserved_ratio: float = 2.0  # of the pool's share
    reserved_ratings: int = 20
    drift: float = 0.5  # points
    gold: float = 0.8
    attention: float = 0.5
    attention_checks: int = 2
    degraded_p: float = 0.05
    change_quantile: float = 0.95


START = Thresholds()
# outputs that two raters share, from which copied answers can be seen
FEWEST_SHARED = 8


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A threshold that a study may set, and its range.

    `in_percent`: it is shown and entered as a percentage, but stored as a share. `of_scores`,
    `of_points`: it applies only to criteria that are scored, or scored on points; `needs`: further
    conditions.
    """

    key: str
    least: float
    most: float
    in_percent: bool = False
    is_whole: bool = False
    of_scores: bool = False
    of_points: bool = False
    needs: str = ""

    @property
    def start(self) -> float:
        """The value that the software starts with."""
        value: float = getattr(START, self.key)
        return value


RESERVED, SEVERAL, REPEATS = "reserved", "several", "repeats"

LIMITS = (
    Limit(key="top_share", in_percent=True, least=0.5, most=1, of_scores=True),
    Limit(key="top_share_ratings", is_whole=True, least=2, most=1000, of_scores=True),
    Limit(key="sd_ratio", in_percent=True, least=0, most=1, of_scores=True),
    Limit(key="identical", in_percent=True, least=0.5, most=1, of_points=True, needs=SEVERAL),
    Limit(key="identical_others", in_percent=True, least=0, most=1, of_points=True, needs=SEVERAL),
    Limit(key="floor_share", in_percent=True, least=0.1, most=1),
    Limit(key="floor_pages", is_whole=True, least=2, most=1000),
    Limit(key="speed_ratio", in_percent=True, least=0, most=1),
    Limit(key="speed_answers", is_whole=True, least=2, most=1000),
    Limit(key="speed_answers_alone", is_whole=True, least=2, most=1000),
    Limit(key="rho", least=-1, most=1, of_scores=True),
    Limit(key="rho_ratings", is_whole=True, least=3, most=1000, of_scores=True),
    Limit(key="rho_few", least=-1, most=1, of_scores=True),
    Limit(key="rho_few_ratings", is_whole=True, least=3, most=1000, of_scores=True),
    Limit(key="offset_sds", least=0.5, most=10, of_scores=True),
    Limit(key="reserved", in_percent=True, least=0, most=1, of_points=True, needs=RESERVED),
    Limit(key="reserved_ratio", least=1, most=20, of_points=True, needs=RESERVED),
    Limit(key="reserved_ratings", is_whole=True, least=2, most=1000, of_points=True,
          needs=RESERVED),
    Limit(key="drift", least=0, most=10, of_points=True),
    Limit(key="change_quantile", in_percent=True, least=0.5, most=1, of_scores=True, needs=REPEATS),
    Limit(key="gold", in_percent=True, least=0, most=1),
    Limit(key="attention", in_percent=True, least=0.1, most=1),
    Limit(key="attention_checks", is_whole=True, least=1, most=100),
)  # fmt: skip
BY_KEY = {limit.key: limit for limit in LIMITS}


def list_limits(
    families: Iterable[str], *, has_reserved: bool = False, has_repeats: bool = False
) -> list[Limit]:
    """Return the thresholds that a study with criteria of these families may set.

    The other thresholds, for ties, places and circles, are the same for every study.
    """
    kinds = [get_family(name) for name in families]
    scored = sum(kind.is_scored for kind in kinds)
    on_points = sum(kind.has_points for kind in kinds)
    has = {
        "": True,
        RESERVED: has_reserved,
        SEVERAL: on_points > 1,
        REPEATS: has_repeats,
    }
    return [
        limit
        for limit in LIMITS
        if has[limit.needs]
        and (scored or not limit.of_scores)
        and (on_points or not limit.of_points)
    ]


def make_thresholds(chosen: Mapping[str, float]) -> Thresholds:
    """Return the starting values, replaced by the study's own; ValueError for an unknown name."""
    known = [field.name for field in fields(Thresholds)]
    for key in chosen:
        if key not in known:
            raise ValueError(f"There is no threshold {key}; choose one of {', '.join(known)}.")
    return Thresholds(**dict(chosen))  # type: ignore[arg-type]


# of a value: others' share, how much more may be taste, and the chance below which it is none
_TASTE = 0.15
UNLIKELY = 0.001
_NORMAL = 1.959964
Use = tuple[int, int, float]  # answers, those with the value used most, the others' share of it


def is_too_fast(
    *, answers: int, ratio: float | None, pages: int, under: int, limits: Thresholds
) -> bool:
    """Return whether pages took too little time to read them.

    `ratio`: the median time over the study's; `pages`: those whose words are known, `under` of them
    took less time than nobody can read them in.
    """
    is_fast = ratio is not None and ratio < limits.speed_ratio
    if not pages:
        return is_fast and answers >= limits.speed_answers_alone
    if pages >= limits.floor_pages and under >= limits.floor_share * pages:
        return True
    return is_fast and answers >= limits.speed_answers and under >= limits.under_floor * pages


def is_same_answer(uses: Iterable[Use], limits: Thresholds) -> bool:
    """Return whether one value is nearly always given on every criterion, unlike others'
    answers."""
    use_of_each = list(uses)
    return bool(use_of_each) and all(
        answers >= limits.top_share_ratings
        and most > limits.top_share * answers
        and find_chance(answers, most, share) < UNLIKELY
        for answers, most, share in use_of_each
    )


def find_chance(answers: int, most: int, share: float) -> float:
    """Return the chance that at least so many answers are a value to which others give this
    share."""
    p = share + _TASTE
    if p >= 1:
        return 1.0
    logs = (
        lgamma(answers + 1) - lgamma(k + 1) - lgamma(answers - k + 1)
        + k * log(p) + (answers - k) * log(1 - p)
        for k in range(most, answers + 1)
    )  # fmt: skip
    return min(1.0, sum(exp(log_chance) for log_chance in logs))


def count_needed_for_same(uses: Iterable[Use], limits: Thresholds) -> float:
    """Return from how many answers on equal ones would be flagged; infinite where others give so
    many."""
    shares = [min(1.0, share + _TASTE) for _, _, share in uses]
    if not shares or max(shares) >= 1:
        return inf
    return max(limits.top_share_ratings, ceil(log(UNLIKELY) / log(max(shares))))


def is_unlike_others(
    *, answers: int, rho: float | None, high: float | None, mean: float | None, limits: Thresholds
) -> bool:
    """Return whether a person orders outputs unlike the others, and more than chance explains.

    `rho`: the rank correlation with the others, over criteria; `high`: the upper end of its
    interval; `mean`: that of all people.
    """
    if rho is None or mean is None or answers < limits.rho_few_ratings:
        return False
    line = limits.rho if answers >= limits.rho_ratings else limits.rho_few
    return rho < line and (high is None or high < mean)


def find_upper_end(rho: float, outputs: int) -> float | None:
    """Return the upper end of a rank correlation's interval by Fisher's z; None for too few."""
    if abs(rho) >= 1:
        return rho if outputs > 3 else None
    if outputs < 4:
        return None
    return tanh(atanh(rho) + _NORMAL * sqrt((1 + rho**2 / 2) / (outputs - 3)))
