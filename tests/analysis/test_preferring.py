"""What preferences of single raters show: one place, and circles of three."""

from itertools import permutations

from evalsite.analysis.report.raters import count_chosen_places, count_circles

CIRCLE, LINE = (-1, -1, 1), (-1, -1, -1)  # A over B, B over C, and C over A or A over C


def answer(firsts: int, seconds: int, ties: int = 0):
    outcomes = [-1] * firsts + [1] * seconds + [0] * ties
    return count_chosen_places(
        rater=["p"] * len(outcomes), outcome=outcomes, first=[-1] * len(outcomes)
    )["p"]


def test_who_prefers_one_place_beyond_chance_is_flagged():
    figure, flag = answer(26, 4, ties=9)

    # 2 * sum(C(30, k), k from 25) / 2 ** 30 = .00032, from 24 it is .00143
    assert (round(figure.value, 4), figure.n["answers"]) == (0.8667, 30)
    assert flag.code == "one_place"
    assert flag.facts == {"place": "first", "answers": 30}
    assert answer(24, 6)[1] is None
    assert answer(25, 5)[1] is not None


def test_the_threshold_of_a_place_is_the_share_from_which_it_is_unlikely():
    first, second = answer(26, 4)[1], answer(4, 26)[1]

    assert first.threshold == 24 / 30  # flagged above it
    assert second.threshold == 6 / 30
    assert second.facts["place"] == "second"


def test_few_answers_for_one_place_are_no_sign():
    assert answer(9, 0)[1] is None  # 2 * .5 ** 9 = .004


def go_in_circles(**raters):
    """Answers of each rater to so many units of three pairs: circles, then straight orders."""
    rows = [
        (rater, f"u{number}", *pair, outcome)
        for rater, (circles, units) in raters.items()
        for number in range(units)
        for pair, outcome in zip(
            ("AB", "BC", "AC"), CIRCLE if number < circles else LINE, strict=True
        )
    ]
    names = ("rater", "unit", "first", "second", "outcome")
    return count_circles(**dict(zip(names, zip(*rows, strict=True), strict=True)))


def test_the_share_of_circles_is_that_of_the_answered_triples():
    figure, flag = go_in_circles(one=(3, 20))["one"]

    assert (figure.value, figure.n) == (0.15, {"triples": 20, "circular": 3})
    assert flag is None  # nobody beside


def test_every_order_of_three_is_free_of_circles():
    for a, b, c in permutations("ABC"):
        found = count_circles(
            rater=["p"] * 3, unit=["u"] * 3, first=[a, b, a], second=[b, c, c], outcome=[-1] * 3
        )
        assert found["p"][0].value == 0


def test_who_goes_in_circles_more_than_nearly_all_is_flagged():
    found = go_in_circles(a=(0, 20), b=(1, 20), c=(1, 20), d=(2, 20), e=(9, 20))

    assert [name for name, (_, flag) in found.items() if flag] == ["e"]
    flag = found["e"][1]
    # numpy's quantile .95 of 0, .05, .05, .1, .45: .1 + .8 * .35
    assert (flag.code, round(flag.threshold, 4)) == ("circles", 0.38)
    assert flag.limits == ()  # a study of comparisons has no such threshold to set


def test_circles_are_no_sign_in_fewer_than_20_triples_or_among_four_raters():
    few = go_in_circles(a=(0, 20), b=(1, 20), c=(1, 20), d=(2, 20), e=(9, 19))
    four = go_in_circles(a=(0, 20), b=(1, 20), c=(1, 20), e=(9, 20))

    assert not any(flag for _, flag in (*few.values(), *four.values()))
