"""A study and its repetition: CV*, correlations, agreement across both, findings upheld."""

from itertools import combinations
from math import exp, pi, sqrt

import numpy as np
import pandas as pd
import pytest

from evalsite.analysis.report.replication import (
    agree_across,
    correlate_scores,
    cv_star,
    find_cv_stars,
    find_differences,
    find_scores,
    score_twice,
    share_upheld,
)
from tests.analysis.vectors import compare, find_vectors, read_vector

SYSTEMS = ("A", "B", "C", "D")


def make_frame(seed=1, *, systems=SYSTEMS, items=20, raters=6, noise=0.6, shift=0.0, truth=7):
    """Ratings of every output by every rater; outputs are the same in every study."""
    quality = np.random.default_rng(truth).normal(0, 0.4, (items, len(systems)))
    draw = np.random.default_rng(seed)
    rows = [
        (f"p{rater}", f"g{item}", f"g{item}", f"i{item}|{name}", name,
         np.clip(round(3 + shift + place + quality[item, place] + draw.normal(0, noise)), 1, 7))
        for rater in range(raters) for item in range(items) for place, name in enumerate(systems)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["rater", "group", "block", "unit", "system", "value"])


# --- CV* ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", find_vectors("qra"))
def test_cv_star_and_spearman_are_those_of_the_vectors(name):
    data, expected, tolerance = read_vector(name)
    wide = data.pivot_table(index="system", columns="study", values="score")
    got = {
        system: {
            "n": figure.n["scores"],
            "mean": figure.details["mean"],
            "sd": figure.details["sd"],
            "cv_star": figure.value,
        }
        for system, row in wide.iterrows()
        for figure in [cv_star(row)]
    }
    one, two = (
        pd.DataFrame({"rater": "p", "group": "g", "block": "g", "unit": wide.index,
                      "system": wide.index, "value": wide[study].to_numpy()})
        for study in ("study1", "study2")
    )  # fmt: skip
    got["spearman_study1_study2"] = correlate_scores(score_twice(one, two), "spearman").value

    compare(got, expected, tolerance)


# printed in Table 4 of Belz, Popovic and Mille (2022): BLEU and SARI scores of two systems
@pytest.mark.parametrize(
    ("scores", "printed"),
    [
        ([84.51, 84.50, 87.46, 85.60, 84.20, 86.61, 86.20], 1.562),
        ([30.65, 30.65, 29.13, 30.65, 29.96], 2.487),
        ([87.50, 80.75, 89.36, 88.10, 89.64, 88.80], 4.176),
        ([31.11, 30.28, 31.11, 29.12], 3.572),
    ],
)
def test_cv_star_is_as_its_authors_printed_it(scores, printed):
    assert cv_star(scores).value == pytest.approx(printed, abs=0.0005)


def test_cv_star_of_two_scores_is_as_by_hand():
    # sd of 2 and 3 is sqrt(1/2), c4(2) = sqrt(2/pi)
    by_hand = (1 + 1 / 8) * sqrt(1 / 2) / sqrt(2 / pi) / 2.5 * 100

    assert cv_star([2, 3]).value == pytest.approx(by_hand, abs=1e-9)


def test_cv_star_of_equal_scores_is_nought_and_of_many_is_finite():
    assert cv_star([3.5, 3.5]).value == 0
    assert 0 < cv_star(list(range(1, 1001))).value < 100


def test_cv_star_has_a_reason_where_it_is_undefined():
    assert cv_star([]).reason == "too_few"
    assert cv_star([4.0]).reason == "too_few"
    assert cv_star([0.0, 0.0]).reason == "no_variation"


def test_cv_star_refuses_a_scale_that_begins_below_nought():
    with pytest.raises(ValueError, match="begin at 0"):
        cv_star([-1.0, 2.0])


def test_cv_star_of_a_scale_from_1_is_of_the_scale_shifted_to_0():
    one, two = make_frame(1), make_frame(2, shift=0.5)

    twice = score_twice(one, two, low=1)

    scores = [frame[frame.system == "A"].value.mean() - 1 for frame in (one, two)]
    found = find_cv_stars(twice)["A"]
    assert found.value == pytest.approx(cv_star(scores).value)
    assert found.details["shifted_by"] == 1
    assert found.value > find_cv_stars(score_twice(one, two))["A"].value


def test_magnitudes_are_compared_by_geometric_means_and_not_shifted():
    one, two = make_frame(1), make_frame(2)

    twice = score_twice(one, two, is_log=True)

    means = [exp(np.log(frame[frame.system == "B"].value).mean()) for frame in (one, two)]
    assert find_scores(twice, 0)["B"].value == pytest.approx(means[0])
    assert find_cv_stars(twice)["B"].value == pytest.approx(cv_star(means).value)
    ratio = find_differences(twice)["B"]
    assert ratio.name == "repeat_ratio"
    assert ratio.value == pytest.approx(means[1] / means[0])
    assert ratio.low < ratio.value < ratio.high


# --- scores ---------------------------------------------------------------------------


def test_scores_are_the_plain_means_of_each_study():
    one, two = make_frame(1), make_frame(2, items=8)

    twice = score_twice(one, two)

    for place, frame in enumerate((one, two)):
        means = frame.groupby("system").value.mean()
        assert {name: one.value for name, one in find_scores(twice, place).items()} == (
            pytest.approx(means.to_dict())
        )
    assert find_scores(twice, 1)["A"].n == {"ratings": 48, "outputs": 8}


def test_interval_of_a_difference_finds_a_shift_and_holds_none():
    one, same, moved = make_frame(1), make_frame(2), make_frame(3, shift=1.0)

    none = find_differences(score_twice(one, same))["B"]
    some = find_differences(score_twice(one, moved))["B"]

    assert none.low < 0 < none.high
    assert 0.5 < some.low < some.high < 1.5
    assert some.details["draws"] == 2000


def test_correlation_of_scores_is_that_of_the_means():
    one, two = make_frame(1), make_frame(2, noise=2.0)
    means = [frame.groupby("system").value.mean() for frame in (one, two)]

    pearson, spearman = (
        correlate_scores(score_twice(one, two), kind) for kind in ("pearson", "spearman")
    )

    assert pearson.value == pytest.approx(np.corrcoef(*means)[0, 1])
    assert pearson.low <= pearson.value <= pearson.high
    assert spearman.value == pytest.approx(1)
    assert spearman.n["systems"] == 4
    # so few systems give no p
    assert "p" not in pearson.details


@pytest.mark.one_case
@pytest.mark.parametrize("place", [0, 1])
def test_clusters_of_one_study_are_drawn_in_both_whichever_has_them(place):
    plain = [make_frame(1), make_frame(2)]
    clusters = {f"g{item}": f"c{item // 5}" for item in range(20)}
    clustered = [frame.assign(block=frame.group.map(clusters)) for frame in plain]
    mixed = [clustered[at] if at == place else plain[at] for at in (0, 1)]

    found, wanted, other = (
        find_differences(score_twice(*pair))["B"] for pair in (mixed, clustered, plain)
    )

    assert found == wanted
    assert (found.low, found.high) != (other.low, other.high)
    assert agree_across(*mixed, level="ordinal") == agree_across(*clustered, level="ordinal")


def test_fewer_than_three_systems_in_common_have_no_correlation():
    one, two = make_frame(1, systems="AB"), make_frame(2, systems="AB")
    other = make_frame(3, systems="XY")

    assert correlate_scores(score_twice(one, two), "pearson").reason == "too_few"
    nothing = score_twice(one, other)
    assert correlate_scores(nothing, "spearman").reason == "nothing_in_common"
    assert find_cv_stars(nothing) == {}


def test_systems_of_one_study_alone_are_left_out():
    twice = score_twice(make_frame(1, systems="ABCX"), make_frame(2, systems="ABCY"))

    assert twice.systems == ["A", "B", "C"]


def test_equal_scores_of_all_systems_have_no_correlation():
    flat = make_frame(1).assign(value=4)

    assert correlate_scores(score_twice(flat, make_frame(2)), "pearson").reason == "no_variation"


def test_one_rater_gives_no_interval_and_says_why():
    found = find_differences(score_twice(make_frame(1, raters=1), make_frame(2)))["A"]

    assert (found.low, found.high) == (None, None)
    assert found.details["interval"] == "needs_two_inputs_and_raters"


def test_unknown_raters_leave_intervals_over_items():
    found = find_differences(score_twice(make_frame(1).assign(rater=None), make_frame(2)))["A"]

    assert found.method == "bootstrap_of_items"
    assert found.low < found.high


def test_order_of_rows_and_names_change_no_digit():
    one, two = make_frame(1), make_frame(2)
    turned = [
        frame.sample(frac=1, random_state=5).assign(
            rater=lambda rows: "x" + rows.rater, group=lambda rows: "y" + rows.group,
            block=lambda rows: "z" + rows.block, unit=lambda rows: "u" + rows.unit,
        )
        for frame in (one, two)
    ]  # fmt: skip

    plain, other = (find_differences(score_twice(*pair)) for pair in ((one, two), turned))

    assert plain == other
    assert agree_across(one, two, level="ordinal") == agree_across(*turned, level="ordinal")


# --- agreement across both ------------------------------------------------------------


def test_alpha_across_is_alpha_of_all_ratings_of_common_outputs():
    one, two = make_frame(1), make_frame(2, items=12, noise=2.0)

    across, first, second, scores = agree_across(one, two, level="ordinal")

    assert across.n["units"] == first.n["units"] == second.n["units"] == 12 * 4
    # the same names in both studies are other people
    assert across.n["raters"] == 12
    assert second.value < across.value < first.value
    assert across.low < across.value < across.high
    assert scores.n == {"units": 48, "ratings": 96, "raters": 2, "units_left_out": 0}


def test_a_copy_agrees_with_its_original_on_every_score():
    one = make_frame(1)

    *_, scores = agree_across(one, one, level="ordinal")

    assert scores.value == pytest.approx(1)


def test_one_rating_of_an_output_in_each_study_still_gives_alpha_across():
    one, two = make_frame(1, raters=1), make_frame(2, raters=1)

    across, first, *_ = agree_across(one, two, level="interval")

    assert across.value is not None
    assert first.reason == "no_overlap"


def test_no_output_in_common_has_a_reason():
    one, two = make_frame(1), make_frame(2)
    two["unit"] = "other " + two.unit

    assert {figure.reason for figure in agree_across(one, two, level="ordinal")} == {
        "nothing_in_common"
    }


def test_magnitudes_agree_by_their_logarithms():
    one, two = make_frame(1), make_frame(2)
    logs = [frame.assign(value=np.log(frame.value)) for frame in (one, two)]

    found = agree_across(one, two, level="interval", is_log=True)

    wanted = agree_across(*logs, level="interval")
    assert [figure.value for figure in found] == [figure.value for figure in wanted]
    assert found[0].details["transform"] == "ln"


# --- findings -------------------------------------------------------------------------


def verdicts(**told):
    return dict(zip(combinations("ABC", 2), told["of"], strict=True))


def test_findings_are_upheld_reversed_or_not_found_again():
    first = verdicts(of=["B", "C", "C"])
    second = verdicts(of=["B", "A", ""])

    figure, told = share_upheld(first, second)

    assert figure.value == pytest.approx(1 / 3)
    assert figure.n == {"findings": 3, "pairs": 3}
    assert told == {("A", "B"): "upheld", ("A", "C"): "reversed", ("B", "C"): "not_again"}
    assert figure.details["interval"] == "shared_findings"


def test_finding_whose_pair_is_not_compared_again_counts_apart():
    figure, told = share_upheld(verdicts(of=["B", "C", ""]), {("A", "B"): "B", ("B", "C"): "C"})

    assert (figure.value, figure.n["findings"], figure.details["not_compared"]) == (1.0, 1, 1)
    assert told[("A", "C")] == "not_compared"
    assert told[("B", "C")] == "new"


def test_without_a_finding_there_is_nothing_to_uphold():
    nothing, _ = share_upheld(verdicts(of=["", "", ""]), verdicts(of=["", "", "C"]))
    apart, _ = share_upheld({("A", "B"): "A"}, {("X", "Y"): "X"})

    assert nothing.reason == "no_difference"
    assert apart.reason == "nothing_in_common"
