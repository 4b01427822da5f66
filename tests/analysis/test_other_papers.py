"""What other papers print: the vectors, and figures worked out by hand."""

import numpy as np
import pandas as pd
import pytest

from evalsite.analysis.families import FAMILIES
from evalsite.analysis.ratings import Ratings, Table, make_table
from evalsite.analysis.report.across_criteria import (
    compare_identical,
    dawid_skene,
    linear_kappa,
    list_other_figures,
)
from tests.analysis.vectors import read_vector


def test_dawid_skene_is_that_of_the_vector():
    data, expected, tolerance = read_vector("dawid_skene__labels_accept")

    names, codes = np.unique(data.value, return_inverse=True)

    found = dawid_skene(Ratings(unit=data.unit, rater=data.rater, value=codes))

    def name(shares):
        return {names[int(code)]: share for code, share in shares.items()}

    assert found["log_likelihood"] == pytest.approx(expected["log_likelihood"], abs=tolerance)
    assert name(found["class_share"]) == pytest.approx(expected["class_share"], abs=tolerance)
    assert found["right"] == pytest.approx(expected["rater_accuracy"], abs=tolerance)
    for unit, shares in expected["probability"].items():
        assert name(found["probability"][unit]) == pytest.approx(shares, abs=tolerance)


def test_linear_kappa_of_two_raters_is_that_of_the_vector():
    data, expected, tolerance = read_vector("cohen__agree_two_raters7")

    found = linear_kappa(
        Ratings(unit=data.unit, rater=data.rater, value=data.value), scale=list(range(1, 8))
    )

    assert found.value == pytest.approx(expected["linear"], abs=tolerance)
    assert found.low < found.value < found.high


def test_slopes_of_kappa_are_those_of_small_weights():
    rng = np.random.default_rng(3)
    value = rng.integers(1, 6, (40, 2)).astype(float)
    value[:, 1] = np.clip(value[:, 0] + rng.integers(-1, 2, 40), 1, 5)

    def weigh(twice):
        order = np.r_[np.arange(40), np.full(twice, 0)]
        rows = pd.DataFrame(value[order]).stack()
        unit = rows.index.get_level_values(0)
        rater = rows.index.get_level_values(1).astype(str)
        return linear_kappa(
            Ratings(unit=unit, rater=rater, value=rows.to_numpy()), scale=[1, 2, 3, 4, 5]
        )

    one = weigh(0)

    # an interval of normal width for 40 units, as the delta method gives it
    assert 0.05 < one.high - one.low < 0.6


def rate(rows: list[tuple[str, str, str, float]]) -> Table:
    """Ratings of participant, item, system and value."""
    frame = pd.DataFrame(rows, columns=["participant", "item", "system", "value"])
    return make_table(frame)


def test_magnitudes_have_raw_means_and_those_of_ln_and_ln_1_plus_x():
    rows = [(rater, item, "a", value) for item in "xy" for rater, value in (("r", 50), ("s", 200))]

    figures = {
        (figure.name, *dict(figure.group).values()): figure
        for figure in list_other_figures(rate(rows), FAMILIES["magnitude"], None)
    }

    assert figures["mean_of_raw_scores", "a"].value == 125
    assert figures["mean_of_log", "a"].value == pytest.approx(np.log(100))
    assert figures["mean_of_log1p", "a"].value == pytest.approx(np.log(51 * 201) / 2)
    assert ("alpha_of_raw_scores", "interval") in figures


def test_dawid_skene_shares_of_decisions_are_of_each_system():
    data, expected, tolerance = read_vector("dawid_skene__labels_accept")
    system = {unit: "ab"[place % 2] for place, unit in enumerate(sorted(set(data.unit)))}
    value = data.value.map({"accept": 1, "reject": 0, "ignore": 2})
    rows = zip(data.rater, data.unit, data.unit.map(system), value, strict=True)

    figures = {
        dict(figure.group).get("system"): figure
        for figure in list_other_figures(rate(list(rows)), FAMILIES["decision"], None)
        if figure.name == "dawid_skene_share"
    }

    for name in "ab":
        wanted = [
            of["accept"] for unit, of in expected["probability"].items() if system[unit] == name
        ]
        found = figures[name]
        assert found.value == pytest.approx(np.mean(wanted), abs=tolerance)
        assert found.n["outputs"] == len(wanted)


def test_dawid_skene_shares_of_preferences_are_of_each_pair():
    """One answer of all raters an item: the shares are those of the votes."""
    rows = [(f"r{rater}", f"{pair}{n}", *pair, pair[n == 0]) for pair in ("ab", "ac")
            for n in range(4) for rater in range(2)]  # fmt: skip
    columns = ["participant", "item", "system_1", "system_2", "preferred"]
    table = make_table(pd.DataFrame(rows, columns=columns))

    shares = {
        tuple(dict(figure.group).values()): figure.value
        for figure in list_other_figures(table, FAMILIES["preference"], None)
        if figure.name == "dawid_skene_share"
    }

    assert shares == pytest.approx({
        ("a", "b", "first"): 0.75, ("a", "b", "second"): 0.25,
        ("a", "c", "first"): 0.75, ("a", "c", "second"): 0.25,
    })  # fmt: skip


def test_identical_texts_of_two_systems_are_compared():
    table = rate(
        [("r", "x", "a", 3), ("r", "x", "b", 3), ("s", "x", "a", 2), ("s", "x", "b", 4),
         ("r", "y", "a", 1), ("r", "y", "b", 5)]
    )  # fmt: skip
    texts = pd.DataFrame(
        {"item": ["x", "x", "y", "y"], "system": ["a", "b", "a", "b"],
         "text": ["same", "same", "one", "two"]}
    )  # fmt: skip

    found = compare_identical(table, texts)

    assert (found.value, found.n) == (0.5, {"pairs": 2, "inputs": 1})
