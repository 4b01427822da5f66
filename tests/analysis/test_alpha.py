"""Krippendorff's alpha: the reference vectors, the definition, and what may not change it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsite.analysis.alpha import alpha
from tests.analysis.vectors import compare, find_vectors, read_data, read_vector

LEVELS = ["nominal", "ordinal", "interval", "ratio"]
FEW = 50  # draws where the interval is not the point

ratings = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 5), st.integers(1, 6)),
    min_size=4, max_size=40, unique_by=lambda one: one[:2],
)  # fmt: skip


def measure(rows, level="ordinal", **options):
    unit, rater, value = zip(*rows, strict=True)
    options = {"draws": FEW} | options
    return alpha(unit=unit, rater=rater, value=value, level=level, **options)


def define_alpha(rows, level):
    """Alpha as its definition has it: the table of coincidences, value by value."""
    by_unit = {}
    for unit, _, value in rows:
        by_unit.setdefault(unit, []).append(value)
    values = sorted({value for some in by_unit.values() if len(some) > 1 for value in some})
    table = np.zeros((len(values), len(values)))
    for some in by_unit.values():
        for i, one in enumerate(some):
            for j, other in enumerate(some):
                if i != j:
                    table[values.index(one), values.index(other)] += 1 / (len(some) - 1)
    n = table.sum(axis=0)
    distance = np.zeros_like(table)
    for i, one in enumerate(values):
        for j, other in enumerate(values):
            low, high = min(i, j), max(i, j)
            distance[i, j] = {
                "nominal": float(i != j),
                "ordinal": (n[low : high + 1].sum() - (n[i] + n[j]) / 2) ** 2,
                "interval": (one - other) ** 2,
                "ratio": ((one - other) / (one + other)) ** 2,
            }[level]
    expected = (np.outer(n, n) * distance).sum()
    return 1 - (n.sum() - 1) * (table * distance).sum() / expected if expected else None


@pytest.mark.parametrize("name", find_vectors("alpha"))
def test_alpha_is_that_of_the_vector(name):
    data, expected, tolerance = read_vector(name)

    got = {level: alpha(unit=data.unit, rater=data.rater, value=data.value, level=level,
                        draws=FEW).value for level in LEVELS}  # fmt: skip

    compare(got, expected, tolerance)


def test_alpha_of_logarithms_is_that_of_the_vector():
    data, expected, tolerance = read_vector("alpha_log__agree_magnitude")

    found = alpha(unit=data.unit, value=data.value, level="interval", transform="ln", draws=FEW)

    compare({"interval_of_log": found.value}, expected, tolerance)


def test_interval_of_alpha_is_that_of_the_vector():
    data, expected, tolerance = read_vector("bootstrap_alpha__agree_crowd7")

    found = alpha(unit=data.unit, rater=data.rater, value=data.value, level="ordinal")

    got = found.details | {"alpha": found.value, "low": found.low, "high": found.high}
    compare(got, expected, tolerance)
    assert found.details["draws"] == 2000


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("degenerate_all_equal", "no_variation"),
        ("degenerate_one_rater", "no_overlap"),
        ("degenerate_no_overlap", "no_overlap"),
        ("degenerate_empty", "no_data"),
    ],
)
@pytest.mark.parametrize("level", LEVELS)
def test_undefined_alpha_has_its_reason(name, reason, level):
    data = read_data(f"{name}.csv")

    found = alpha(unit=data.unit, rater=data.rater, value=data.value, level=level)

    assert (found.value, found.reason) == (None, reason)


@given(ratings, st.sampled_from(LEVELS))
@settings(max_examples=60, deadline=None)
def test_alpha_by_counts_is_alpha_by_definition(rows, level):
    wanted = define_alpha(rows, level)

    found = measure(rows, level, draws=3)

    assert found.value == pytest.approx(wanted, abs=1e-10)


@given(ratings, st.sampled_from(LEVELS), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_order_of_rows_and_names_change_no_digit(rows, level, random):
    names = list(range(100, 200))
    random.shuffle(names)
    other = [(f"u{names[unit]}", f"r{names[rater]}", value) for unit, rater, value in rows]
    random.shuffle(other)

    one, two = measure(rows, level), measure(other, level)

    assert one.to_dict() == two.to_dict()


@given(st.lists(st.integers(1, 7), min_size=2, max_size=20).filter(lambda v: len(set(v)) > 1))
@settings(max_examples=20, deadline=None)
def test_perfect_agreement_is_one(values):
    rows = [(unit, rater, value) for unit, value in enumerate(values) for rater in range(3)]

    assert all(measure(rows, level).value == pytest.approx(1) for level in LEVELS)


def test_units_with_one_rating_are_left_out_and_counted():
    rows = [(1, 1, 3), (1, 2, 4), (2, 1, 5), (2, 2, 5), (3, 1, 7)]

    found = measure(rows)

    assert found.value == measure(rows[:4]).value
    assert found.n == {"units": 2, "ratings": 4, "raters": 2, "units_left_out": 1}


def test_blocks_are_drawn_whole():
    rng = np.random.default_rng(3)
    rows = [(u, r, int(rng.integers(1, 8))) for u in range(60) for r in range(3)]
    unit, rater, value = zip(*rows, strict=True)

    alone = alpha(unit=unit, rater=rater, value=value, level="ordinal")
    blocks = [one // 20 for one in unit]
    whole = alpha(unit=unit, rater=rater, value=value, level="ordinal", block=blocks)

    assert alone.value == whole.value
    assert (alone.details["blocks"], whole.details["blocks"]) == (60, 3)
    assert (alone.low, alone.high) != (whole.low, whole.high)


def test_two_values_of_a_rater_for_a_unit_are_refused():
    with pytest.raises(ValueError, match="two values for one unit"):
        measure([(1, 1, 3), (1, 1, 4), (2, 1, 5)])


def test_same_seed_gives_the_same_digits_and_another_does_not():
    data = read_data("agree_crowd7.csv")

    def find(seed):
        return alpha(unit=data.unit, value=data.value, level="ordinal", seed=seed, draws=200)

    assert find(5).to_dict() == find(5).to_dict()
    assert find(5).low != find(6).low


def test_many_blocks_are_drawn_less_often():
    unit = np.repeat(np.arange(20_001), 2)

    found = alpha(unit=unit, value=(unit + np.arange(len(unit))) % 5, level="nominal")

    assert found.details["draws"] == 500


def test_jackknife_interval_ends_where_alpha_ends():
    # all units agree but one of six: the t interval reaches beyond 1
    value = [1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 1, 2]

    found = alpha(unit=np.repeat(range(6), 2), value=value, level="nominal")

    assert found.details["jackknife_low"] < found.value < 1
    assert found.details["jackknife_high"] == 1
