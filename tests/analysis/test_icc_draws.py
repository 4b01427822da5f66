"""Intervals of intraclass correlations where hardly any rating differs from the others."""

import numpy as np
import pytest

from evalsite.analysis.icc import icc

RATERS, UNITS = 5, 24
DRAWN = ("ICC(A,1)", "ICC(C,1)", "ICC(A,k)", "ICC(C,k)")


def rate_alike(seed: int, *, odd: int):
    """Units by raters, all 4 but for `odd` lower ratings: two units to a block."""
    rng = np.random.default_rng(seed)
    table = np.full((UNITS, RATERS), 4.0)
    for _ in range(odd):
        table[rng.integers(UNITS), rng.integers(RATERS)] -= rng.integers(1, 3)
    return table


def find_iccs(table):
    units, raters = table.shape
    unit = np.repeat(np.arange(units), raters)
    return icc(
        unit=unit.astype(str), rater=np.tile(np.arange(raters), units).astype(str),
        value=table.ravel(), input=(unit // 2).astype(str),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_no_interval_of_a_reliability_runs_above_1(seed):
    table = rate_alike(seed, odd=1 + seed % 4)

    found = find_iccs(table)

    ends = [(one.low, one.high) for one in found.values() if one.high is not None]
    assert all(low <= high <= 1 for low, high in ends)


def test_with_one_odd_rating_a_third_of_draws_say_nothing_so_there_is_no_interval():
    # a draw of 12 blocks misses the odd one with chance (11/12) ** 12 = .352: all values are equal
    found = find_iccs(rate_alike(0, odd=1))

    for one in (found[name] for name in DRAWN):
        share = one.details["draws_undefined"] / one.details["draws"]
        assert share == pytest.approx(0.352, abs=0.04)
        assert (one.low, one.high) == (None, None)
        assert one.details["interval"].endswith("of 2,000 draws leave it undefined")


def test_with_much_variation_the_interval_stands():
    rng = np.random.default_rng(3)
    quality = rng.normal(0, 1, (UNITS, 1))

    found = find_iccs(quality + rng.normal(0, 0.5, (UNITS, RATERS)))

    for name, one in found.items():
        assert one.low < one.value < one.high < 1
        assert ("for these raters" in one.details["interval"]) == (name in DRAWN)
