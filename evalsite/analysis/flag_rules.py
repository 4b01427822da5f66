"""Where figures of a person become a flag, and from how many answers on they can.

Plain numbers without heavy imports: pages ask these while a study runs, and reports ask the same.
An answer is that to one item.
"""

from collections.abc import Iterable
from math import atanh, ceil, exp, inf, lgamma, log, sqrt, tanh

from evalsite.analysis.thresholds import Thresholds

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
