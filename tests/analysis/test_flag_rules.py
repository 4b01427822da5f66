"""From how many answers on a figure of a person is a flag: the lines of each rule."""

import pytest
from scipy import stats

from evalsite.analysis.correlation import fisher_interval
from evalsite.analysis.thresholds import (
    START,
    count_needed_for_same,
    find_chance,
    find_upper_end,
    is_same_answer,
    is_too_fast,
    is_unlike_others,
)


@pytest.mark.parametrize(
    ("figures", "is_flagged"),
    [
        # half of at least 4 pages under the floor, whatever the pace
        ((4, 0.9, 4, 2), True),
        ((4, None, 4, 2), True),
        ((5, 0.9, 5, 2), False),
        ((3, 0.1, 3, 3), False),
        # under a third of the median time, and 20% of the pages
        ((8, 0.32, 10, 2), True),
        ((8, 0.33, 10, 2), False),
        ((8, 0.32, 10, 1), False),
        ((7, 0.32, 10, 2), False),
        # the words aren't known
        ((10, 0.32, 0, 0), True),
        ((9, 0.32, 0, 0), False),
        ((10, None, 0, 0), False),
    ],
)
def test_too_fast_needs_four_pages_or_eight_answers_or_ten(figures, is_flagged):
    answers, ratio, pages, under = figures

    is_raised = is_too_fast(answers=answers, ratio=ratio, pages=pages, under=under, limits=START)

    assert is_raised == is_flagged


@pytest.mark.parametrize(("answers", "most", "share"), [(5, 5, 0.1), (20, 17, 0.4), (12, 11, 0.25)])
def test_chance_of_a_value_is_the_binomial_tail(answers, most, share):
    tail = stats.binom.sf(most - 1, answers, share + 0.15)

    assert find_chance(answers, most, share) == pytest.approx(tail, rel=1e-9)


@pytest.mark.parametrize(
    ("uses", "is_flagged", "needed"),
    [
        ([(5, 5, 0.10)], True, 5),  # .25 ** 5 = .00098
        ([(5, 5, 0.11)], False, 6),
        ([(4, 4, 0.0)], False, 5),
        ([(12, 12, 0.4)], True, 12),  # .55 ** 12 = .00077
        ([(11, 11, 0.4)], False, 12),
        ([(200, 200, 0.85)], False, float("inf")),
        ([(20, 16, 0.0)], False, 5),  # no more than 80%
        ([(20, 20, 0.2), (20, 20, 0.8)], False, 135),  # .95 ** 135 = .00098
        ([(20, 20, 0.2), (20, 20, 0.3)], True, 9),
        ([], False, float("inf")),
    ],
)
def test_same_answer_needs_as_many_as_the_others_use_of_it_asks(uses, is_flagged, needed):
    assert is_same_answer(uses, START) == is_flagged
    assert count_needed_for_same(uses, START) == needed


@pytest.mark.parametrize(
    ("answers", "rho", "high", "is_flagged"),
    [
        (20, 0.09, 0.5, True),
        (20, 0.10, 0.5, False),
        (20, 0.09, 0.6, False),  # chance may set it apart from the mean
        (19, 0.09, 0.5, False),
        (19, -0.11, 0.5, True),
        (12, -0.11, 0.5, True),
        (12, -0.10, 0.5, False),
        (11, -0.9, 0.0, False),
    ],
)
def test_disagreement_needs_twelve_answers_and_below_twenty_a_lower_line(
    answers, rho, high, is_flagged
):
    is_raised = is_unlike_others(answers=answers, rho=rho, high=high, mean=0.6, limits=START)

    assert is_raised == is_flagged


@pytest.mark.parametrize(("rho", "outputs"), [(0.1, 20), (-0.5, 12), (0.9, 5)])
def test_upper_end_of_a_correlation_is_that_of_the_report(rho, outputs):
    assert find_upper_end(rho, outputs) == pytest.approx(
        fisher_interval(rho, outputs, "spearman")[1], abs=1e-6
    )
    assert find_upper_end(rho, 3) is None
