"""Plackett-Luce: the vector, undefined cases, and the order within real screens."""

from itertools import pairwise, permutations

import numpy as np
import pandas as pd
import pytest

from evalsite.analysis.plackett import rank_within_screens, read_rankings
from evalsite.analysis.ratings import Ratings
from tests.analysis.vectors import compare, read_vector
from tests.support.published import published_file


def read(data):
    return read_rankings(
        Ratings(rater=data.rater, block=data["item"], system=data.system, value=data.value)
    )


def drop_ties(data):
    """Leave out the screens on which two systems have the same value."""
    values = data.groupby(["rater", "item"]).value
    return data[values.transform("nunique") == values.transform("size")]


def test_strengths_are_those_of_the_vector():
    data, expected, tolerance = read_vector("plackett_luce__magnitude_rankme")

    found = rank_within_screens(read(drop_ties(data)), draws=20)

    base = found.strengths["A"].value
    got = {system: one.value - base for system, one in found.strengths.items()}
    got |= {"sets_used": found.screens, "loglik": found.loglik}
    compare(got, expected, tolerance)


def test_tied_systems_that_trade_places_are_equally_strong():
    data = pd.DataFrame(
        {
            "rater": ["r1"] * 3 + ["r2"] * 3,
            "item": ["i1"] * 6,
            "system": list("abcabc"),
            "value": [5, 5, 1, 1, 1, 5],
        }
    )

    found = rank_within_screens(read(data), draws=5)

    assert found.strengths["a"].value == pytest.approx(found.strengths["b"].value, abs=1e-6)
    assert found.screens == 2


def test_ties_pull_strengths_together():
    data, _, _ = read_vector("plackett_luce__magnitude_rankme")

    strict = rank_within_screens(read(drop_ties(data)), draws=5).strengths
    tied = rank_within_screens(read(data), draws=5).strengths

    def gap(found):
        return found["C"].value - found["B"].value

    assert 0 < gap(tied) < gap(strict)


@pytest.mark.parametrize(
    ("values", "reason"),
    [([9, 5, 1, 9, 5, 1], "separated"), ([], "no_data")],
)
def test_strengths_without_end_are_undefined(values, reason):
    data = pd.DataFrame(
        {"rater": list("xxxyyy")[: len(values)], "item": ["i"] * len(values),
         "system": list("abcabc")[: len(values)], "value": values}
    )  # fmt: skip

    found = rank_within_screens(read(data), draws=5)

    assert {one.reason for one in found.strengths.values()} <= {reason}
    assert found.loglik is None


def test_systems_that_never_share_a_screen_are_disconnected():
    data = pd.DataFrame(
        {"rater": ["r"] * 8, "item": [1, 1, 2, 2, 3, 3, 4, 4], "system": list("ababcdcd"),
         "value": [1, 2, 2, 1, 1, 2, 2, 1]}
    )  # fmt: skip

    found = rank_within_screens(read(data), draws=5)

    assert {one.reason for one in found.strengths.values()} == {"disconnected"}


def test_renamed_and_reordered_screens_give_the_same_figures():
    data, _, _ = read_vector("plackett_luce__magnitude_rankme")
    shuffled = data.sample(frac=1, random_state=4)
    shuffled["rater"] = shuffled.rater.str[::-1]

    one, other = (rank_within_screens(read(d), draws=30) for d in (data, shuffled))

    for system, figure in one.strengths.items():
        again = other.strengths[system]
        assert (figure.value, figure.low) == pytest.approx((again.value, again.low), abs=1e-5)


def test_screens_of_rankme_put_the_middle_system_last():
    data = pd.read_csv(published_file("rankme/ratings_long.csv"))
    data = data.rename(columns={"participant": "rater"})

    found = rank_within_screens(read(data), draws=100)

    assert found.screens == 300
    # 74 screens tie all three and 151 the first two: strengths have ends all the same
    for figure in found.strengths.values():
        assert figure.details["draws_separated"] == 0
        assert figure.low < figure.value < figure.high
    assert found.strengths["slug2slug"].low > 0 > found.strengths["sheffield_v2"].high
    assert found.clusters[-1] == ["sheffield_v2"]
    assert found.rank_ranges["sheffield_v2"] == (3, 3)
    assert np.isfinite(found.loglik)


def test_ties_count_as_if_they_were_broken_by_chance_over_and_over():
    data = pd.read_csv(published_file("rankme/ratings_long.csv"))
    data = data.rename(columns={"participant": "rater"})
    chance = np.random.default_rng(3)

    broken = [
        rank_within_screens(
            read(data.assign(value=data.value * 1e6 + chance.permutation(len(data)))), draws=2
        ).strengths
        for _ in range(30)
    ]

    for system, figure in rank_within_screens(read(data), draws=2).strengths.items():
        values = [one[system].value for one in broken]
        error = np.std(values) / np.sqrt(len(values))
        assert figure.value == pytest.approx(np.mean(values), abs=4 * error + 0.005)


def test_a_tie_is_half_a_win_each_way():
    values = {"r1": (2, 1), "r2": (2, 1), "r3": (2, 1), "r4": (1, 2), "r5": (3, 3), "r6": (4, 4)}
    rows = [(rater, "i", system, value) for rater, both in values.items()
            for system, value in zip("ab", both, strict=True)]  # fmt: skip
    data = pd.DataFrame(rows, columns=["rater", "item", "system", "value"])

    found = rank_within_screens(read(data), draws=5).strengths

    # three wins and two halves against one and two halves
    assert found["a"].value - found["b"].value == pytest.approx(np.log(4 / 2), abs=1e-6)


def test_log_likelihood_of_a_tie_is_the_average_over_all_its_orders():
    values = [(3, 3, 3, 1), (1, 2, 2, 2), (2, 2, 3, 3), (4, 1, 1, 4), (1, 3, 2, 1)]
    data = pd.DataFrame(
        [(f"r{number}", "i", system, value) for number, row in enumerate(values)
         for system, value in zip("abcd", row, strict=True)],
        columns=["rater", "item", "system", "value"],
    )  # fmt: skip

    found = rank_within_screens(read(data), draws=2)

    weight = [np.exp(found.strengths[system].value) for system in "abcd"]
    total = 0.0
    for row in values:
        orders = [order for order in permutations(range(4))
                  if all(row[a] >= row[b] for a, b in pairwise(order))]  # fmt: skip
        total += np.mean(
            [
                sum(np.log(weight[one] / sum(weight[k] for k in order[place:]))
                    for place, one in enumerate(order))
                for order in orders
            ]
        )  # fmt: skip
    assert found.loglik == pytest.approx(total, abs=1e-9)


def make_screens(rows):
    return pd.DataFrame(
        [(f"r{number}", f"i{number}", system, value) for number, both in enumerate(rows)
         for system, value in zip("ab", both, strict=True)],
        columns=["rater", "item", "system", "value"],
    )  # fmt: skip


def test_nothing_but_ties_tells_no_strength():
    found = rank_within_screens(read(make_screens([(5, 5)] * 6)), draws=20)

    assert {one.reason for one in found.strengths.values()} == {"no_decided_pairs"}
    assert not found.rank_ranges


def test_draws_without_strengths_are_left_out_and_counted():
    rare = rank_within_screens(read(make_screens([(2, 1)] * 30 + [(1, 2)] * 8)), draws=400)
    often = rank_within_screens(read(make_screens([(2, 1)] * 9 + [(1, 2)])), draws=400)

    assert 0 <= rare.strengths["a"].details["draws_separated"] <= 20
    assert rare.strengths["a"].low is not None
    # without the one screen that b wins there is no end: in about .9 ** 10 of all draws by item
    assert often.strengths["a"].details["draws_separated"] > 20
    assert often.strengths["a"].low is None
    assert often.strengths["a"].details["interval"] == "separated"
    assert not often.rank_ranges


# --- the best and the worst, and the first few ----------------------------------------------


def read_ends(data):
    shown = [names.split() for names in data.shown for _ in ("best", "worst")]
    rows = pd.DataFrame(
        [(row.rater, row.item, row.Index, system, value)
         for row in data.itertuples() for system, value in ((row.best, 1), (row.worst, -1))],
        columns=["rater", "item", "screen", "system", "value"],
    )  # fmt: skip
    ratings = Ratings(
        rater=rows.rater, block=rows["item"], system=rows.system, value=rows.value,
        group=rows.screen,
    )  # fmt: skip
    return read_rankings(ratings, shown, are_ends=True)


def test_rows_of_ends_have_the_strengths_of_the_vector_and_intervals_around_them():
    data, expected, tolerance = read_vector("best_worst__best_worst")

    found = rank_within_screens(read_ends(data), draws=100)

    values = {system: figure.value for system, figure in found.strengths.items()}
    compare(values, expected["strength"], tolerance)
    assert found.loglik == pytest.approx(expected["loglik"], abs=tolerance)
    assert all(figure.low < figure.value < figure.high for figure in found.strengths.values())


def test_best_of_seven_comes_first_and_the_worst_last_where_all_is_turned_round():
    shown = [f"s{number}" for number in range(7)]
    answers = [("s0", "s6"), ("s1", "s5"), ("s2", "s0"), ("s6", "s1"), ("s3", "s4"), ("s5", "s2"),
               ("s4", "s3")]  # fmt: skip
    data = pd.DataFrame(
        [(f"r{number}", "i1", " ".join(shown), *ends) for number, ends in enumerate(answers)],
        columns=["rater", "item", "shown", "best", "worst"],
    )
    ranked = rank_within_screens(read_ends(data), draws=5)

    theta = {system: figure.value for system, figure in ranked.strengths.items()}
    total = 0.0
    for best, worst in answers:
        rest = [name for name in shown if name != best]
        total += theta[best] - np.log(sum(np.exp(theta[name]) for name in shown))
        total += -theta[worst] - np.log(sum(np.exp(-theta[name]) for name in rest))
    assert ranked.loglik == pytest.approx(total, abs=1e-9)
    assert ranked.screens == 7


def test_always_best_has_no_end():
    rows = pd.DataFrame({
        "rater": ["r1", "r1", "r2", "r2"], "item": ["i1", "i1", "i2", "i2"],
        "system": list("abab"), "value": [1, -1, 1, -1],
    })  # fmt: skip
    ratings = Ratings(
        rater=rows.rater, block=rows["item"], system=rows.system, value=rows.value,
        group=rows["item"],
    )  # fmt: skip

    found = rank_within_screens(read_rankings(ratings, ["abc"] * 4, are_ends=True), draws=5)

    assert {figure.reason for figure in found.strengths.values()} == {"separated"}


def test_outputs_without_a_place_come_after_all_that_have_one_in_no_order():
    # the best of three is known: P(a) = 3/6, P(b) = 2/6, P(c) = 1/6
    first = list("aaabbc")
    rows = pd.DataFrame({"rater": [f"r{n}" for n in range(6)], "item": "i", "system": first,
                         "value": -1.0})  # fmt: skip
    ratings = Ratings(
        rater=rows.rater, block=rows["item"], system=rows.system, value=rows.value,
        group=rows["item"],
    )  # fmt: skip

    found = rank_within_screens(read_rankings(ratings, ["abc"] * 6), draws=5)

    values = {system: figure.value for system, figure in found.strengths.items()}
    assert values["a"] - values["c"] == pytest.approx(np.log(3), abs=1e-6)
    assert values["b"] - values["c"] == pytest.approx(np.log(2), abs=1e-6)
