"""Gwet's coefficients, plain agreement, Fleiss, Cohen, and the intraclass correlations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsite.analysis.agreement import (
    FORMS,
    cohen,
    find_components,
    fleiss,
    gwet,
    icc,
    icc_in_file_order,
    icc_of_matrix,
    kappa_matrix,
    percent_agreement,
)
from evalsite.analysis.ratings import Ratings, code
from tests.analysis.vectors import compare, find_vectors, read_data, read_vector

SHROUT = dict(zip(("ICC1", "ICC2", "ICC3", "ICC1k", "ICC2k", "ICC3k"), FORMS, strict=True))


def top_of(name):
    return 7 if name.endswith("7") else 5


@pytest.mark.parametrize("name", find_vectors("gwet"))
def test_gwet_is_that_of_the_vector(name):
    data, expected, tolerance = read_vector(name)
    given_ = {"unit": data.unit, "value": data.value, "rater": data.rater}
    scale = range(1, top_of(name) + 1)

    got = {
        "ac1": gwet(Ratings(**given_), scale=scale, weights="identity").value,
        "ac2_linear": gwet(Ratings(**given_), scale=scale, weights="linear").value,
        "ac2_quadratic": gwet(Ratings(**given_), scale=scale, weights="quadratic").value,
        "percent_agreement": percent_agreement(Ratings(**given_)).value,
    }

    compare(got, expected, tolerance)


@pytest.mark.parametrize("name", find_vectors("fleiss"))
def test_fleiss_is_that_of_the_vector(name):
    data, expected, tolerance = read_vector(name)

    found = fleiss(Ratings(unit=data.unit, value=data.value, rater=data.rater))

    compare({"kappa": found.value}, expected, tolerance)


@pytest.mark.parametrize("name", find_vectors("cohen"))
def test_cohen_is_that_of_the_vector(name):
    data, expected, tolerance = read_vector(name)
    wide = data.pivot(index="unit", columns="rater", values="value")
    first, second = wide.iloc[:, 0], wide.iloc[:, 1]

    got = {
        key: cohen(first=first, second=second, scale=range(1, 8), weights=weights).value
        for key, weights in
        {"kappa": "identity", "linear": "linear", "quadratic": "quadratic"}.items()
    }  # fmt: skip

    compare(got, expected, tolerance)


@pytest.mark.parametrize("name", find_vectors("icc"))
def test_intraclass_correlations_are_those_of_the_vector(name):
    data, expected, tolerance = read_vector(name)

    table = data.pivot(index="unit", columns="rater", values="value").to_numpy()

    found = icc_of_matrix(table)

    got = {}
    for key, form in SHROUT.items():
        one = found[form]
        got[key] = {"icc": one.value, "F": one.details["F"], "p": one.details["p"],
                    "low": one.low, "high": one.high}  # fmt: skip
    compare(got, expected, tolerance)


def test_intraclass_correlations_with_gaps_are_those_of_the_vector():
    data, expected, tolerance = read_vector("icc_mixed__agree_crowd7")

    found = icc(Ratings(unit=data.unit, value=data.value, rater=data.rater))

    got = {f"var_{key}": value for key, value in found["ICC(A,1)"].details["variance"].items()}
    got |= {"icc_a1": found["ICC(A,1)"].value, "icc_c1": found["ICC(C,1)"].value}
    compare(got, expected, tolerance)
    assert found["ICC(A,1)"].details["warning"] == "not_crossed"


def test_variances_of_penicillin_are_those_of_the_vector():
    data, expected, tolerance = read_vector("lmm__penicillin")

    coded = code(Ratings(unit=data.plate, rater=data["sample"], value=data.diameter))
    found = find_components(coded, with_rater=True)

    got = {"plate": found.unit, "sample": found.rater, "Residual": found.residual}
    compare(got, expected["variance"], tolerance)


def test_variances_by_reml_are_those_by_anova_on_complete_data():
    data = read_data("agree_complete5.csv")
    coded = code(Ratings(unit=data.unit, rater=data.rater, value=data.value))

    crossed = find_components(coded, with_rater=True)
    one_way = find_components(coded, with_rater=False)

    anova = icc(Ratings(unit=data.unit, value=data.value, rater=data.rater))
    whole = crossed.unit + crossed.rater + crossed.residual
    assert crossed.unit / whole == pytest.approx(anova["ICC(A,1)"].value, abs=1e-6)
    assert crossed.unit / (crossed.unit + crossed.residual) == pytest.approx(
        anova["ICC(C,1)"].value, abs=1e-6
    )
    assert one_way.unit / (one_way.unit + one_way.residual) == pytest.approx(
        anova["ICC(1,1)"].value, abs=1e-6
    )


def test_only_one_way_forms_stand_without_raters():
    data = read_data("agree_complete5.csv")

    found = icc(Ratings(unit=data.unit, value=data.value, rater=None))

    assert found["ICC(1,k)"].value == pytest.approx(0.859013687817304)
    assert found["ICC(C,k)"].reason == "raters_unknown"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("degenerate_all_equal", "no_variation"),
        ("degenerate_one_rater", "no_overlap"),
        ("degenerate_no_overlap", "no_overlap"),
        ("degenerate_empty", "no_data"),
    ],
)
def test_undefined_agreement_has_its_reason(name, reason):
    data = read_data(f"{name}.csv")
    given_ = {"unit": data.unit, "value": data.value, "rater": data.rater}
    scale = range(1, 8)

    figures = [
        gwet(Ratings(**given_), scale=scale, weights="identity"),
        gwet(Ratings(**given_), scale=scale, weights="quadratic"),
        fleiss(Ratings(**given_)),
        kappa_matrix(Ratings(**given_), shared=1).mean,
        *icc(Ratings(**given_)).values(),
        *icc_in_file_order(unit=data.unit, value=data.value).values(),
    ]

    shown = {figure.reason for figure in figures}
    assert shown <= {reason, "unequal_raters"}
    assert all(figure.value is None for figure in figures)
    assert gwet(Ratings(**given_), scale=scale, weights="identity").reason == reason


def test_plain_agreement_is_shown_where_all_ratings_are_equal():
    data = read_data("degenerate_all_equal.csv")

    found = percent_agreement(Ratings(unit=data.unit, value=data.value, rater=data.rater))

    assert found.value == 1
    assert 0.5 < found.low < 1
    assert found.high == 1


def test_fleiss_needs_equal_numbers_of_ratings():
    data = read_data("agree_crowd7.csv").iloc[:-1]

    assert fleiss(Ratings(unit=data.unit, value=data.value)).reason == "unequal_raters"


def test_a_value_off_the_scale_is_refused():
    with pytest.raises(ValueError, match="9 is not on the scale"):
        gwet(Ratings(unit=[1, 1], value=[9, 3]), scale=range(1, 8), weights="identity")


def test_cohen_of_a_constant_pair_has_no_figure():
    assert cohen(first=[3, 3], second=[3, 3], scale=range(1, 6)).reason == "no_variation"
    assert cohen(first=[], second=[], scale=range(1, 6)).reason == "no_data"


def test_within_one_counts_neighbours():
    found = percent_agreement(Ratings(unit=[1, 1, 2, 2], value=[3, 4, 1, 3]), within=1)

    assert found.value == 0.5


def test_matrix_of_kappas_holds_cohens_figures():
    data = read_data("agree_complete5.csv")
    wide = data.pivot(index="unit", columns="rater", values="value")

    found = kappa_matrix(Ratings(unit=data.unit, rater=data.rater, value=data.value))

    assert len(found.kappa) == 6
    for first, second, kappa, shared in zip(
        found.first, found.second, found.kappa, found.shared, strict=True
    ):
        one, two = wide[found.raters[first]], wide[found.raters[second]]
        alone = cohen(first=one, second=two, scale=range(1, 6), weights="quadratic")
        assert kappa == pytest.approx(alone.value)
        assert shared == 30


def test_matrix_of_kappas_needs_raters_and_shared_units():
    assert (
        kappa_matrix(Ratings(unit=[1, 1], rater=None, value=[1, 2])).mean.reason == "raters_unknown"
    )
    assert (
        kappa_matrix(Ratings(unit=[1, 1], rater=[1, 2], value=[1, 2])).mean.reason == "no_overlap"
    )


ratings = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(1, 5)),
    min_size=6, max_size=30, unique_by=lambda one: one[:2],
)  # fmt: skip


@pytest.mark.torture
@pytest.mark.slow
@given(ratings, st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_order_of_rows_and_names_change_no_digit(rows, random):
    names = list(range(100, 200))
    random.shuffle(names)
    other = [(f"u{names[unit]}", f"r{names[rater]}", value) for unit, rater, value in rows]
    random.shuffle(other)

    def measure(table):
        unit, rater, value = zip(*table, strict=True)
        some = {"unit": unit, "value": value, "rater": rater}
        figures = [
            gwet(Ratings(**some), scale=range(1, 6), weights="linear"),
            percent_agreement(Ratings(**some)),
            fleiss(Ratings(**some)),
            *icc(Ratings(**some)).values(),
        ]
        return [figure.to_dict() for figure in figures]

    assert measure(rows) == measure(other)


@pytest.mark.parametrize("offset", [0, 1])
def test_absolute_agreement_has_no_interval_without_a_degree_of_freedom(offset):
    """Raters who agree less than by chance: F's quantile with .01 degrees of freedom overflows."""
    table = np.array([[1, 1 + offset, 4], [1, 1 + offset, 4], [1, 5 + offset, 1]], dtype=float)

    figure = icc_of_matrix(table)["ICC(A,1)"]

    assert figure.value < 0
    assert (figure.low, figure.high) == (None, None)
    assert figure.details["interval"] == "no_freedom"


@given(
    st.lists(st.lists(st.integers(1, 7), min_size=3, max_size=3), min_size=3, max_size=12),
    st.integers(-3, 3),
)
@settings(max_examples=25, deadline=None)
def test_consistency_forgives_a_raters_offset(matrix, offset):
    table = np.array(matrix, dtype=float)
    moved = table + np.array([0, offset, 0])

    one, two = icc_of_matrix(table)["ICC(C,k)"], icc_of_matrix(moved)["ICC(C,k)"]

    if one.value is not None and two.value is not None:
        assert one.value == pytest.approx(two.value, abs=1e-8)


def test_raters_who_all_agree_have_an_icc_of_one():
    table = np.repeat(np.arange(5.0)[:, None], 3, axis=1)

    found = icc_of_matrix(table)

    assert all(one.value == pytest.approx(1) for one in found.values())
    assert all(one.low is None for one in found.values())


@pytest.mark.parametrize("within", [0, 1])
def test_agreement_counts_the_units_it_is_the_mean_of(within):
    rows = [("u1", "r1", 1), ("u1", "r2", 2), ("u2", "r1", 3), ("u2", "r2", 3), ("u3", "r1", 1)]
    unit, rater, value = zip(*rows, strict=True)

    found = percent_agreement(Ratings(unit=unit, rater=rater, value=value), within=within)

    assert found.n == {"units": 2, "ratings": 4, "raters": 2, "units_left_out": 1}
    assert found.value == (1.0 if within else 0.5)
