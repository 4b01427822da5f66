"""Whether Davidson's model says no more of preferences than the answers do."""

import numpy as np
import pytest

from evalsite.analysis.pairs import PairsResult, read_preferences
from evalsite.analysis.ratings import Ratings, read_table
from tests.analysis.compared import compare_pairs
from tests.support.published import published_file


def _answer(*pairs: tuple[str, str, int, int, int]) -> PairsResult:
    """The result of pairs with so many wins, ties and losses, each an input of its own."""
    left, right, outcome, item = [], [], [], []
    for first, second, wins, ties, losses in pairs:
        answers = [1] * wins + [0] * ties + [-1] * losses
        outcome += answers
        left += [first] * len(answers)
        right += [second] * len(answers)
        item += [f"{first}{second}{number}" for number in range(len(answers))]
    data = read_preferences(
        Ratings(rater=None, group=item, value=outcome), left, right, is_position_known=False
    )
    return compare_pairs(data, draws=500)


def test_observed_and_expected_counts_agree_in_sum_and_show_a_circle() -> None:
    circle = _answer(("A", "B", 40, 5, 15), ("B", "C", 40, 5, 15), ("C", "A", 40, 5, 15))

    fit = circle.model.expected

    # all strengths are equal by symmetry: 27.5 wins and losses, 5 ties are expected of each pair
    for pair in fit["pairs"]:
        assert pair["expected"] == pytest.approx(
            {"wins": 27.5, "ties": 5, "losses": 27.5}, abs=1e-4
        )
    assert fit["chi2"] == pytest.approx(6 * 12.5**2 / 27.5, rel=1e-4)
    assert fit["df"] == 3
    assert fit["p"] < 0.01


def test_answers_as_the_model_has_them_do_fit_it() -> None:
    # log strengths .8, 0, -.8 and nu 1: e^.8 : e^.4 : 1 of a pair next to each other, and
    # e^.8 : 1 : e^-.8 of the outer one, of 300 answers each
    found = _answer(("A", "B", 142, 95, 63), ("B", "C", 142, 95, 63), ("A", "C", 182, 81, 37))

    assert found.model.expected["chi2"] < 0.1
    assert found.model.expected["p"] > 0.9
    assert found.model.strengths["A"].value == pytest.approx(0.8, abs=0.01)


def test_systems_never_compared_directly_have_no_certain_rank_where_the_model_does_not_fit() -> (
    None
):
    # ties are many with B and few with C: one tie parameter is too little for both pairs
    found = _answer(("A", "B", 10, 160, 30), ("A", "C", 120, 10, 70))

    assert found.model.expected["p"] < 0.05
    low, high = found.model.rank_ranges["B"]
    assert low < high


@pytest.mark.slow
def test_marco_ranks_leave_open_what_no_judge_compared() -> None:
    table = read_table(
        published_file("marco_pairwise/ratings_long.csv"),
        outputs=published_file("marco_pairwise/batch_long.csv"),
        raters_known=False,
    )
    rows = table.of("readability").rows
    found = compare_pairs(
        read_preferences(
            Ratings(rater=None, group=rows.group, value=-rows.outcome.astype(int)),
            rows.system_1,
            rows.system_2,
            is_position_known=False,
        )
    )

    # ties are 91% of one pair and 64% of the other; HDSA and human were never compared
    assert found.model.expected["p"] < 0.05
    assert {"HDSA", "human"} not in [{pair.first, pair.second} for pair in found.pairs]
    ranges = found.model.rank_ranges
    assert all(ranges[name][0] < ranges[name][1] for name in ("HDSA", "human"))


@pytest.mark.torture
@pytest.mark.slow
def test_no_rank_says_more_than_the_sentence_of_the_pair() -> None:
    rng = np.random.default_rng(6)
    seen = 0
    for _ in range(20):
        wins = rng.integers(10, 26, 3)
        found = _answer(
            *(
                (one, two, int(number), 5, 36 - int(number))
                for (one, two), number in zip(("AB", "AC", "BC"), wins, strict=True)
            )
        )
        ranges = found.model.rank_ranges
        for pair in found.pairs:
            (low, high), (least, most) = ranges[pair.first], ranges[pair.second]
            is_apart = high < least or most < low
            seen += is_apart
            if low == high and least == most:
                assert is_apart
        for name, (low, high) in ranges.items():
            of_name = [one for one in found.pairs if name in (one.first, one.second)]
            told = sum(one.p_corrected < 0.05 for one in of_name)
            # n systems: each that is certainly above or below takes one rank away
            assert (len(ranges) - 1) - (high - low) <= told
    assert seen
