"""Effect sizes of many draws at once, against items copied as often as they were drawn."""

from math import exp, lgamma, sqrt

import numpy as np
import pytest
from scipy import stats

from evalsite.analysis.effects import effect_figures, effects_of_draws
from evalsite.analysis.ratings import Ratings, read_scores


def draw_items(*, draws: int, items: int, seed: int):
    """Means of two systems on a grid of thirds, many tied, some missing, and weights."""
    rng = np.random.default_rng(seed)
    first, second = np.round(rng.normal(3, 1, (2, draws, items)) * 3) / 3
    first[rng.random(first.shape) < 0.1] = np.nan
    return first, second, rng.integers(0, 3, (draws, items)).astype(float)


def size_by_copies(first, second, times) -> dict[str, float]:
    """The sizes of one draw by their definitions, each item copied as often as it was drawn."""
    times = np.where(np.isnan(first), 0, times).astype(int)
    a, b = np.repeat(first, times), np.repeat(second, times)
    d = np.round(b - a, 9)
    moved = d[d != 0]
    ranks = stats.rankdata(np.abs(moved))
    dz = d.mean() / d.std(ddof=1)
    df = len(d) - 1
    apart = np.sign(np.round(b[:, None], 9) - np.round(a[None, :], 9))
    return {
        "dz": dz,
        "gz": dz * exp(lgamma(df / 2) - lgamma((df - 1) / 2)) / sqrt(df / 2),
        "cliffs_delta": apart.mean(),
        "rank_biserial": (ranks * np.sign(moved)).sum() / ranks.sum(),
    }


@pytest.mark.parametrize("cells", [1, 100, 500_000])
def test_sizes_of_draws_are_those_of_copied_items(cells):
    first, second, times = draw_items(draws=30, items=12, seed=4)

    found = effects_of_draws(first, second, times, cells=cells)

    one_by_one = [size_by_copies(*rows) for rows in zip(first, second, times, strict=True)]
    for name, drawn in found.items():
        assert drawn == pytest.approx([one[name] for one in one_by_one], abs=1e-12), name


def test_a_draw_of_two_items_or_of_equal_differences_has_no_size():
    first = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    second = np.array([[2.0, 2.0, 1.0], [2.0, 3.0, 4.0], [1.0, 2.0, 3.0]])
    times = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])

    found = effects_of_draws(first, second, times)

    assert np.isnan(found["dz"]).all()
    assert np.isnan(found["cliffs_delta"]).tolist() == [True, False, False]
    assert np.isnan(found["rank_biserial"]).tolist() == [True, False, True]


def test_what_was_not_drawn_has_no_part_in_a_size():
    first, second, times = draw_items(draws=20, items=8, seed=5)
    odd = np.where(times == 0, 1e6, second)

    one, other = (effects_of_draws(first, some, times) for some in (second, odd))

    for name in one:
        assert one[name] == pytest.approx(other[name], nan_ok=True), name


def test_superiority_counts_the_raters_and_inputs_that_it_compares():
    rows = [
        ("r1", "i1", "a", 1), ("r1", "i1", "b", 2), ("r2", "i1", "a", 3), ("r2", "i1", "b", 3),
        ("r1", "i2", "a", 4), ("r1", "i2", "b", 5), ("r2", "i3", "a", 1), ("r3", "i3", "b", 2),
    ]  # fmt: skip
    rater, group, system, value = zip(*rows, strict=True)
    data = read_scores(Ratings(rater=rater, group=group, system=system, value=value))

    found = effect_figures(data, 0, 1, seed=1, draws=20)

    # on i3 no rater has both; the mean of i3 still has
    assert found["superiority"].n == {"items": 2, "inputs_and_raters": 3, "raters": 2}
    assert found["superiority"].value == pytest.approx((1 + 0.5 + 1) / 3)
    assert found["dz"].n == {"items": 3}
