"""Magnitudes, repeats, criteria and metrics: the vectors, and the rules beside them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsite.analysis.agreement import cohen, split_variance
from evalsite.analysis.behaviour import POOLED, compare_passes, compare_swapped, find_passes
from evalsite.analysis.correlation import fisher_interval
from evalsite.analysis.describe import (
    describe_magnitude_use,
    describe_magnitudes,
    find_slips,
    log_ratio,
    rank_pages,
    winsorise,
)
from evalsite.analysis.ratings import Ratings, make_table
from evalsite.analysis.report.across_criteria import correlate_criteria, cronbach
from evalsite.analysis.report.metrics import correlate_metrics, find_ceiling, williams
from tests.analysis.vectors import compare, find_vectors, read_vector

FEW = 50


@pytest.mark.parametrize("name", find_vectors("magnitude"))
def test_magnitudes_are_those_of_the_vector(name):
    data, expected, tolerance = read_vector(name)

    found = describe_magnitudes(
        Ratings(rater=data.rater, block=data["item"], system=data.system, value=data.value),
        standard=data.standard,
    )

    got = {system: {key: one.value for key, one in some.items()} for system, some in found.items()}
    compare(got, expected, tolerance)
    for some in found.values():
        assert all(one.low < one.value < one.high for one in some.values())


def test_magnitudes_that_have_no_logarithm_are_refused():
    with pytest.raises(ValueError, match="above 0"):
        log_ratio([100, 0], [100, 100])


def test_figures_of_raters_are_left_out_where_raters_are_unknown():
    found = describe_magnitudes(
        Ratings(rater=None, block=[1, 1, 2, 2], system=["a", "b"] * 2, value=[100, 50, 80, 70]),
    )

    assert set(found["a"]) == {"geo_mean", "geo_mean_ratio", "arithmetic_mean"}
    assert found["a"]["geo_mean"].value == pytest.approx(np.sqrt(8000))


def test_a_slip_is_found_and_weighs_less_when_winsorised():
    page, value = [1, 1, 1, 2, 2, 2], [70, 80, 700, 100, 90, 60]

    slips = find_slips(page=page, logs=np.log(value))
    clipped = np.exp(winsorise(page=page, logs=np.log(value)))

    assert list(slips) == [False, False, True, False, False, False]
    assert clipped == pytest.approx([70, 80, 400, 100, 90, 60])


def test_ties_share_the_rank_and_the_first_place():
    found = rank_pages(page=[1, 1, 1], value=[100, 100, 50])

    assert list(found["rank"]) == [1.5, 1.5, 3]
    assert list(found.best) == [0.5, 0.5, 0]


def test_use_of_magnitudes_is_told_by_rater():
    found = describe_magnitude_use(
        Ratings(rater=["r", "r", "s"], value=[100, 55, 33]), standard=[100, 100, 100]
    )

    assert found["r"]["share_of_standard"].value == 0.5
    assert (found["r"]["share_of_10s"].value, found["r"]["share_of_5s"].value) == (0.5, 1)
    assert found["r"]["ratio"].value == pytest.approx(100 / 55)
    assert found["s"]["sd_log"].reason == "too_few"  # one rating has no spread


@pytest.mark.parametrize("name", find_vectors("intra"))
def test_repeats_are_those_of_the_vector(name):
    data, expected, tolerance = read_vector(name)

    passes = data.rename(columns={"rater": "participant"})

    found = compare_passes(passes)

    got = {rater: {key: one.value for key, one in some.items()} for rater, some in found.items()}
    for rater, rows in [(POOLED, data), *data.groupby("rater")]:
        kappa = cohen(first=rows["first"], second=rows.second, scale=range(1, 8),
                      weights="quadratic")  # fmt: skip
        got[rater]["quadratic_kappa"] = kappa.value
    compare(got, expected, tolerance)
    assert found[POOLED]["exact"].value == np.mean(data["first"] == data.second)
    assert found[POOLED]["ordinal_alpha"].low is not None


def test_repeats_of_magnitudes_are_told_as_ratios():
    passes = pd.DataFrame({"participant": "r", "first": 100, "second": [200, 50, 200, 50]})

    found = compare_passes(passes, "ratio")[POOLED]

    sd = np.log(2) * np.sqrt(4 / 3)
    assert found["sd_log_change"].value == pytest.approx(sd)
    assert found["ratio_band"].details["from"] == pytest.approx(np.exp(-1.959964 * sd))


def test_no_repeats_have_no_figures():
    none = pd.DataFrame({"participant": [], "first": [], "second": []})

    found = compare_passes(none)[POOLED]

    assert {one.reason for one in found.values()} == {"no_data"}


def test_swapped_repeats_tell_a_side_from_a_system():
    # prefers the left whatever it is; prefers one system; ties
    found = compare_swapped(first=[-1, 1, 0], second=[1, 1, 0], first_left=[-1, 1, 1],
                            second_left=[1, -1, -1])  # fmt: skip

    assert found.same_outcome.value == pytest.approx(2 / 3)
    assert found.same_side.value == 0.5
    assert found.same_side.n["answers"] == 2


def test_repeats_of_an_export_are_matched_with_their_first_pass():
    columns = ["participant", "item", "kind", "repeat_of", "system", "criterion", "value"]
    rows = [
        ("p", "i1", "main", "", "A", "q", 3), ("p", "i1", "main", "", "B", "q", 5),
        ("p", "i1 (repeat 2-1)", "repeat", "i1", "B", "q", 4),
        ("p", "i1 (repeat 2-1)", "repeat", "i1", "A", "q", 2),
        ("o", "i1", "main", "", "A", "q", 7), ("o", "i9", "repeat", "i8", "A", "q", 7),
    ]  # fmt: skip

    table = make_table(pd.DataFrame(rows, columns=columns))
    found = find_passes(table)

    assert sorted(zip(found["first"], found.second, strict=True)) == [(3, 2), (5, 4)]
    assert len(table.results()) == 3


def test_repeats_of_pairs_know_their_sides():
    rows = pd.DataFrame({
        "participant": "p", "item": ["i", "i (repeat 2-1)"], "kind": ["main", "repeat"],
        "repeat_of": ["", "i"], "criterion": "q", "value": 1, "system_1": "A", "system_2": "B",
        "preferred": ["A", "B"], "outcome": ["1", "2"], "shown_first": ["A", "B"],
    })  # fmt: skip

    found = find_passes(make_table(rows))

    sides = compare_swapped(first=found["first"], second=found.second,
                            first_left=found.first_left,
                            second_left=found.second_left)  # fmt: skip
    assert sides.same_outcome.value == 0
    assert sides.same_side.value == 1  # the left both times


def test_disagreement_is_told_apart_by_its_kind():
    rng = np.random.default_rng(5)
    unit, rater = (one.ravel() for one in np.meshgrid(range(40), range(8)))
    quality, offset = rng.normal(0, 1, 40), rng.normal(0, 2, 8)

    value = quality[unit] + offset[rater] + rng.normal(0, 0.5, 320)
    units, raters, rest = split_variance(Ratings(unit=unit, rater=rater, value=value))
    alone, _ = split_variance(Ratings(unit=unit, value=quality[unit]))
    nothing = split_variance(Ratings(unit=[], rater=[], value=[]))

    assert units.value + raters.value + rest.value == pytest.approx(1)
    assert raters.value > units.value
    assert rest.value < 0.15
    assert alone.value == pytest.approx(1, abs=1e-4)
    assert {figure.reason for figure in nothing} == {"no_data"}


@pytest.mark.parametrize("name", find_vectors("criteria"))
def test_criteria_are_those_of_the_vector(name):
    data, expected, tolerance = read_vector(name)
    outputs = data[["c1", "c2", "c3"]]

    pairs = correlate_criteria(outputs, draws=FEW)
    whole = cronbach(outputs, draws=FEW)

    got = {"spearman": {f"{one}_{two}": figure.value for (one, two), figure in pairs.items()},
           "cronbach_alpha": whole.value}  # fmt: skip
    compare(got, expected, tolerance)
    assert whole.low < whole.value < whole.high
    assert not any(figure.details["too_alike"] for figure in pairs.values())


def test_criteria_that_say_the_same_are_told():
    outputs = pd.DataFrame({"a": range(9), "b": range(9)})

    assert correlate_criteria(outputs, draws=FEW)[("a", "b")].details["too_alike"]


def test_undefined_cronbach_has_its_reason():
    assert cronbach(pd.DataFrame({"a": [], "b": []})).reason == "no_data"
    assert cronbach(pd.DataFrame({"a": [1, 2, 3]})).reason == "too_few"
    assert cronbach(pd.DataFrame({"a": [3, 3, 3], "b": [1, 1, 1]})).reason == "no_variation"


@pytest.mark.parametrize("name", find_vectors("metrics"))
def test_metrics_are_those_of_the_vector(name):
    data, expected, tolerance = read_vector(name)
    human = pd.DataFrame({"group": data["item"], "system": "s", "value": data.human})
    long = data.melt(["item", "human"], var_name="metric")
    scores = long.rename(columns={"item": "group"}).assign(system="s")

    found = {one.metric: one.levels["output"]
             for one in correlate_metrics(human, scores, draws=FEW)}  # fmt: skip
    test = williams(human=data.human, first=data.metric_a, second=data.metric_b)

    got = {"williams_t": test.details["t"], "williams_p": test.details["p"]}
    for metric, some in found.items():
        low, high = fisher_interval(some["pearson"].value, len(data), "pearson")
        got[metric] = {"pearson": some["pearson"].value, "spearman": some["spearman"].value,
                       "kendall_tau_b": some["kendall"].value,
                       "pearson_p": some["pearson"].details["p"],
                       "pearson_low": low, "pearson_high": high}  # fmt: skip
    compare(got, expected, tolerance)


def make_scores(systems=12, groups=20, seed=1):
    rng = np.random.default_rng(seed)
    rows = [(f"g{g}", f"s{s}", s + rng.normal(), rng.normal()) for g in range(groups)
            for s in range(systems)]  # fmt: skip
    return pd.DataFrame(rows, columns=["group", "system", "value", "noise"])


def as_metric(table, **columns):
    parts = [table[["group", "system"]].assign(metric=name, value=column)
             for name, column in columns.items()]  # fmt: skip
    return pd.concat(parts)


def test_a_metric_that_says_what_raters_say_correlates_at_each_level():
    human = make_scores()

    found = correlate_metrics(human, as_metric(human, same=human.value * 2 + 1), draws=FEW)[0]

    for level in found.levels.values():
        assert all(one.value == pytest.approx(1) for one in level.values())
    assert "p" in found.levels["system"]["pearson"].details


def test_fewer_than_ten_systems_get_no_p():
    human = make_scores(systems=5)

    found = correlate_metrics(human, as_metric(human, other=human.noise), draws=FEW)[0]

    system = found.levels["system"]
    assert "p" not in system["pearson"].details
    assert system["pairwise_accuracy"].n == {"systems": 5, "groups": 20}
    assert system["pairwise_accuracy"].low is not None


def test_two_systems_have_no_correlation_of_systems():
    human = make_scores(systems=2)

    found = correlate_metrics(human, as_metric(human, same=human.value), draws=FEW)[0]

    system = dict(found.levels["system"])
    # two systems are one pair, whose order is known
    assert system.pop("soft_pairwise_accuracy").value == pytest.approx(1)
    assert {one.reason for one in system.values()} == {"too_few"}


@pytest.mark.torture
@given(st.randoms(use_true_random=False))
@settings(max_examples=5, deadline=None)
def test_order_and_names_change_no_figure_of_metrics(random):
    human = make_scores(systems=4, groups=8)
    scores = as_metric(human, other=human.noise)
    names = {f"g{place}": name for place, name in enumerate(random.sample("abcdefgh", 8))}

    def rename(table):
        order = random.sample(range(len(table)), len(table))
        return table.iloc[order].assign(group=lambda some: some.group.map(names))

    one = correlate_metrics(human, scores, draws=FEW)[0]
    two = correlate_metrics(rename(human), rename(scores), draws=FEW)[0]

    for level, some in one.levels.items():
        for kind, figure in some.items():
            other = two.levels[level][kind]
            for key in ("value", "low", "high"):
                assert getattr(figure, key) == pytest.approx(getattr(other, key), abs=1e-9)


def test_undefined_williams_has_its_reason():
    assert williams(human=[], first=[], second=[]).reason == "no_data"
    assert williams(human=[1, 2, 3], first=[1, 2, 3], second=[2, 1, 3]).reason == "too_few"
    flat = williams(human=[1, 2, 3, 4], first=[1, 1, 1, 1], second=[2, 1, 3, 5])
    assert flat.reason == "no_variation"


@pytest.mark.filterwarnings("error")
def test_ratings_without_variation_have_no_ceiling_and_cause_no_warning():
    output = np.repeat(np.arange(6), 2)

    found = find_ceiling(Ratings(unit=output, value=np.full(12, 4.0)))

    assert (found.value, found.reason) == (None, "no_variation")


def test_ceiling_is_high_where_raters_agree_and_absent_where_none_meet():
    rng = np.random.default_rng(2)
    output = np.repeat(np.arange(40), 4)
    value = output + rng.normal(0, 0.1, 160)

    assert find_ceiling(Ratings(unit=output, value=value)).value > 0.99
    assert find_ceiling(Ratings(unit=[1, 2, 3], value=[1, 2, 3])).reason == "no_overlap"
    assert find_ceiling(Ratings(unit=[], value=[])).reason == "no_data"
