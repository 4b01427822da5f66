"""The bootstrap and the jackknife over units, beside another program's."""

import numpy as np

from evalsite.analysis.intervals import describe_draws, drawn_figure, spread
from tests.analysis.vectors import compare, read_vector


def test_bootstrap_and_jackknife_of_alpha_are_those_of_the_vector():
    data, expected, tolerance = read_vector("bootstrap_alpha__agree_crowd7")
    counts = data.groupby(["unit", "value"]).size().unstack(fill_value=0).to_numpy(dtype=float)
    number = counts.sum(axis=1, keepdims=True)
    counts, number = counts[number[:, 0] > 1], number[number[:, 0] > 1]
    # of each unit its coincidences: every two ratings, weighted by 1/(m - 1)
    pairs = counts[:, :, None] * counts[:, None, :] - np.eye(counts.shape[1]) * counts[:, :, None]
    pairs /= (number - 1)[:, :, None]

    def find_alpha(weights):
        coincidences = np.einsum("du,uab->dab", weights, pairs)
        margins = coincidences.sum(axis=2)
        middles = np.cumsum(margins, axis=1) - margins / 2
        distances = (middles[:, :, None] - middles[:, None, :]) ** 2
        by_chance = (margins[:, :, None] * margins[:, None, :] * distances).sum(axis=(1, 2))
        observed = (coincidences * distances).sum(axis=(1, 2))
        return 1 - (margins.sum(axis=1) - 1) * observed / by_chance

    drawn = spread(find_alpha, len(counts), draws=2000, seed=1)

    figures = {
        "alpha": find_alpha(np.ones((1, len(counts))))[0],
        "low": drawn.low,
        "high": drawn.high,
        "se_bootstrap": drawn.details["se_bootstrap"],
        "se_jackknife": drawn.details["se_jackknife"],
    }
    compare(figures, expected, tolerance)


def test_bootstrap_interval_holds_its_figure_where_draws_are_all_on_one_side():
    drawn = np.linspace(-2.5, -1.44, 100)

    figure = drawn_figure("dz", -1.41, drawn, n={"inputs": 6}, seed=1)

    assert figure.low < -2.4
    assert figure.high == -1.41


def test_interval_holds_its_figure_where_all_draws_are_on_one_side():
    above, below = (describe_draws(np.array([2.0, 3.0, 4.0]), value) for value in (1.5, 9.0))

    assert (above.low, below.high) == (1.5, 9.0)
    assert (above.high, below.low) == (
        describe_draws(np.array([2.0, 3.0, 4.0]), 3.0).high,
        describe_draws(np.array([2.0, 3.0, 4.0]), 3.0).low,
    )
