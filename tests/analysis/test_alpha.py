"""Krippendorff's alpha: the reference vectors, the definition, and what may not change it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsite.analysis.agreement import alpha, gwet, icc, percent_agreement
from evalsite.analysis.ratings import Ratings
from tests.analysis.vectors import compare, find_vectors, read_data, read_vector

LEVELS = ["nominal", "ordinal", "interval", "ratio"]

ratings = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 5), st.integers(1, 6)),
    min_size=4, max_size=40, unique_by=lambda one: one[:2],
)  # fmt: skip


def measure(rows, level="ordinal", *, block=None, **options):
    unit, rater, value = zip(*rows, strict=True)
    return alpha(Ratings(unit=unit, rater=rater, value=value, block=block), level, **options)


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


@pytest.mark.one_case
@pytest.mark.parametrize("name", find_vectors("alpha"))
def test_alpha_is_that_of_the_vector(name):
    data, expected, tolerance = read_vector(name)

    got = {level: alpha(Ratings(unit=data.unit, rater=data.rater, value=data.value), level).value
           for level in LEVELS}  # fmt: skip

    compare(got, expected, tolerance)


def test_alpha_of_logarithms_is_that_of_the_vector():
    data, expected, tolerance = read_vector("alpha_log__agree_magnitude")

    found = alpha(Ratings(unit=data.unit, value=data.value), "interval", transform="ln")

    compare({"interval_of_log": found.value}, expected, tolerance)


def read_options(data):
    if "unit" in data:
        return {"unit": data.unit}
    return {"unit": data["item"] + " " + data.system, "block": data["item"]}


@pytest.mark.one_case
@pytest.mark.parametrize(
    "name", [*find_vectors("agreement_interval"), *find_vectors("agreement_by_input")]
)
def test_values_of_agreement_are_those_of_the_vector(name):
    data, expected, tolerance = read_vector(name)
    known = {"rater": data.rater, "value": data.value} | read_options(data)
    scale = range(1, 8 if "7" in name else 6)

    figures = {
        "alpha": alpha(Ratings(**known), "ordinal"),
        "ac2": gwet(Ratings(**known), scale=scale, weights="quadratic"),
        "agreement": percent_agreement(Ratings(**known)),
        "icc11": icc(Ratings(**known))["ICC(1,1)"],
    }

    # the ends in these vectors are those of an older method: see v3_agreement
    values = {name: {"value": figure["value"]} for name, figure in expected.items()}
    compare({name: {"value": figure.value} for name, figure in figures.items()}, values, tolerance)


@pytest.mark.parametrize("level", LEVELS)
def test_slopes_of_the_interval_are_those_of_weighted_counts(level):
    # what one more input of the same kind, or one more of a rare value, does to alpha
    rng = np.random.default_rng(5)
    rows = [(u, r, int(rng.integers(1, 6))) for u in range(30) for r in range(4)]

    unit, _, value = zip(*rows, strict=True)

    figure = alpha(Ratings(unit=unit, value=value), level)

    rarest = min(sorted(set(value)), key=value.count)
    more = define_alpha([*rows, *((30, r, rarest) for r in range(4))], level)
    change = np.log((1 - figure.value) / (1 - more))
    expected = spread_of_weights(rows, level) + 0.04 * change**2
    assert figure.details["v_inputs"] == pytest.approx(expected, rel=1e-4)


def spread_of_weights(rows, level):
    """The variance over units by central differences of weighted alphas."""
    levels = sorted({row[0] for row in rows})
    slopes = []
    for unit in levels:
        ends = [-np.log(1 - weigh_alpha(rows, level, {(0, unit): 1 + by})) for by in (-1e-4, 1e-4)]
        slopes.append((ends[1] - ends[0]) / 2e-4)
    off = np.array(slopes) - np.mean(slopes)
    return (off**2).sum() * len(levels) / (len(levels) - 1)


def weigh_alpha(rows, level, weight):
    """Alpha with weights of raters and units, pair by pair."""
    values = sorted({value for _, _, value in rows})
    units = {}
    for unit, rater, value in rows:
        units.setdefault(unit, []).append((values.index(value), weight.get((1, rater), 1.0)))
    n = np.zeros(len(values))
    table = np.zeros((len(values),) * 2)
    for unit, some in units.items():
        u, m = weight.get((0, unit), 1.0), sum(w for _, w in some)
        pairs = m**2 - sum(w**2 for _, w in some)
        for i, (one, w) in enumerate(some):
            n[one] += u * w
            for j, (other, v) in enumerate(some):
                if i != j:
                    table[one, other] += u * w * v * m / pairs
    middle = n.cumsum() - n / 2
    x = np.array(values, dtype=float)
    distance = {
        "nominal": 1 - np.eye(len(values)),
        "ordinal": np.subtract.outer(middle, middle) ** 2,
        "interval": np.subtract.outer(x, x) ** 2,
        "ratio": (np.subtract.outer(x, x) / np.add.outer(x, x)) ** 2,
    }[level]
    total = n.sum()
    expected = (np.outer(n, n) * distance).sum() / (total * (total - 1))
    return 1 - (table * distance).sum() / total / expected


def test_perfect_agreement_has_no_interval():
    found = measure([(unit, rater, unit % 5) for unit in range(9) for rater in range(3)])

    assert (found.value, found.low) == (1, None)
    assert found.details["none"] == "all_equal"


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

    found = alpha(Ratings(unit=data.unit, rater=data.rater, value=data.value), level)

    assert (found.value, found.reason) == (None, reason)


@given(ratings, st.sampled_from(LEVELS))
@settings(max_examples=60, deadline=None)
def test_alpha_by_counts_is_alpha_by_definition(rows, level):
    wanted = define_alpha(rows, level)

    found = measure(rows, level)

    assert found.value == pytest.approx(wanted, abs=1e-10)


@pytest.mark.torture
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


def test_outputs_of_an_input_share_its_weight():
    rng = np.random.default_rng(3)
    rows = [(u, r, int(rng.integers(1, 8))) for u in range(60) for r in range(3)]
    unit = [one[0] for one in rows]

    alone, whole = measure(rows), measure(rows, block=[one // 20 for one in unit])

    assert alone.value == whole.value
    assert (alone.details["inputs"], whole.details["inputs"]) == (60, 3)
    assert (alone.low, alone.high) != (whole.low, whole.high)


def test_two_values_of_a_rater_for_a_unit_are_refused():
    with pytest.raises(ValueError, match="two values for one unit"):
        measure([(1, 1, 3), (1, 1, 4), (2, 1, 5)])
