"""A metric beside people within inputs, and pairs of systems in order."""

import numpy as np
import pandas as pd
import pytest

from evalsite.analysis.report import metrics
from evalsite.analysis.report.metrics import correlate_metrics, describe_metric
from tests.analysis.vectors import compare, find_vectors, read_vector


@pytest.mark.parametrize("vector", find_vectors("v3_metrics"))
def test_figures_are_those_of_the_vector(vector):
    data, expected, tolerance = read_vector(vector)

    got = describe_metric(
        item=data["item"], system=data.system, human=data.human,
        metric=data[vector.removeprefix("v3_metrics__")],
    )  # fmt: skip

    compare(got, expected, tolerance)


def describe(human, metric):
    """The figures of tables with a row for each input and a column for each system."""
    human, metric = np.array(human, dtype=float), np.array(metric, dtype=float)
    inputs, systems = human.shape
    return describe_metric(
        item=np.repeat(np.arange(inputs), systems), system=np.tile(np.arange(systems), inputs),
        human=human.ravel(), metric=metric.ravel(),
    )  # fmt: skip


def test_inputs_without_variation_are_left_out_and_counted():
    got = describe(
        [[1, 2, 3], [2, 2, 2], [1, 2, 3], [3, 2, 1]], [[1, 2, 3], [1, 2, 3], [5, 5, 5], [1, 2, 3]]
    )

    within = got["within_inputs"]["tau"]
    counts = within["inputs"], within["equal_people"], within["equal_metric"]
    # one input is ordered alike, one the other way
    assert (within["value"], counts) == (pytest.approx(0.0), (2, 1, 1))


def test_two_systems_have_tau_alone():
    got = describe([[1, 2], [2, 1]], [[1, 2], [2, 1]])["within_inputs"]

    assert got["tau"]["value"] == 1
    assert got["pearson"]["value"] is got["spearman"]["value"] is None


def test_ties_of_the_metric_are_called_where_people_tie():
    # by hand: at 0 only the decided pairs are right, 2 of 3; from .1 on the tie is right as well
    got = describe([[1, 1, 3]], [[0.0, 0.1, 1.0]])["tie_calibrated"]

    assert got["accuracy_at_0"] == pytest.approx(2 / 3)
    assert (got["accuracy"], got["threshold"]) == (pytest.approx(1), pytest.approx(0.1))


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_scale_of_a_metric_does_not_matter(scale):
    human, metric = [[1, 2, 3], [3, 1, 2]], np.array([[0.1, 0.3, 0.2], [0.3, 0.1, 0.2]])

    plain, scaled = describe(human, metric), describe(human, metric * scale)

    compare(scaled["within_inputs"], plain["within_inputs"], 1e-9)
    assert scaled["soft_pairwise_accuracy"] == pytest.approx(plain["soft_pairwise_accuracy"])
    threshold = plain["tie_calibrated"]["threshold"]
    assert scaled["tie_calibrated"]["threshold"] == pytest.approx(threshold * scale)


def test_soft_accuracy_of_the_same_scores_is_one():
    human = [[1, 2, 3], [3, 1, 2]]

    assert describe(human, human)["soft_pairwise_accuracy"] == pytest.approx(1)


def test_more_pairs_than_memory_holds_have_no_threshold(monkeypatch):
    monkeypatch.setattr(metrics, "MOST_PAIRS", 5)

    got = describe([[1, 2, 3], [3, 1, 2]], [[1, 2, 3], [3, 1, 2]])

    assert got["tie_calibrated"]["accuracy"] is None
    assert got["soft_pairwise_accuracy"] == pytest.approx(1)


def test_one_system_leaves_everything_undefined():
    got = describe([[1], [2]], [[1], [2]])

    assert got["tie_calibrated"]["accuracy"] is got["soft_pairwise_accuracy"] is None
    assert {one["value"] for one in got["within_inputs"].values()} == {None}


def test_intervals_are_over_clusters_where_there_are_some():
    rng = np.random.default_rng(5)
    rows = [(f"i{i}", f"c{i // 2}", s) for i in range(12) for s in "abcd"]
    human = pd.DataFrame(rows, columns=["group", "block", "system"])
    human["value"] = rng.normal(size=len(human))
    metric = human[["group", "system"]].assign(metric="m", value=rng.normal(size=len(human)))

    (found,) = correlate_metrics(human, metric, levels=("within_inputs",))

    tau = found.levels["within_inputs"]["kendall"]
    assert tau.details["df"] == 5
    assert tau.details["interval"] == "t_over_clusters"
