"""The mixed model: the reference vectors, and what may not change it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evalsite.analysis import mixed
from evalsite.analysis.mixed import TooManyEffects, fit_mixed, fit_reml, signed, usable_terms
from evalsite.analysis.ratings import Ratings, factor_codes, read_scores
from tests.analysis.compared import crossed_parts
from tests.analysis.vectors import compare, find_vectors, read_data, read_vector

# lme4 stops a little before the optimum: with its tightest settings it gives the degrees of
# freedom of lmm_full__compare_crowd5 as here (72.55644), 6e-5 of them beside the vector's.
OF_DF = 1e-4


def list_terms(data, family):
    terms = {"rater": data.rater, "item": data["item"]}
    if family != "lmm":
        terms["is"] = data["item"] + " " + data.system
    if family == "lmm_full":
        terms["rs"] = data.rater + " " + data.system
    return terms


def contrast_by_satterthwaite(fit, weights):
    """Estimate, error and degrees of freedom as lmerTest has them: variances at 0 don't count."""
    w = np.asarray(weights, dtype=float)
    free = np.array([*fit.variances.values(), fit.residual]) > 0
    spread = 2 * np.linalg.inv(fit.curvature[np.ix_(free, free)])
    slope = np.einsum("i,kij,j->k", w, fit.slopes, w)[free]
    variance = w @ fit.covariance @ w
    return w @ fit.means, variance**0.5, 2 * variance**2 / (slope @ spread @ slope)


def describe(fit, systems):
    fixed = {}
    for place, system in enumerate(systems):
        weights = np.zeros(len(systems))
        weights[place] = 1
        if place:
            weights[0] = -1
        estimate, se, df = contrast_by_satterthwaite(fit, weights)
        fixed[system if place else "(Intercept)"] = {
            "estimate": estimate, "se": se, "df_satterthwaite": df
        }  # fmt: skip
    return {
        "fixed": fixed,
        "variance": {**fit.variances, "Residual": fit.residual},
        "reml_loglik": fit.loglik,
        "singular": bool(fit.singular),
    }


@pytest.mark.parametrize(
    "name",
    [
        name
        for family in ("lmm", "lmm_output", "lmm_full")
        for name in find_vectors(family)
        if not name.endswith("penicillin")
    ],
)
def test_mixed_model_is_that_of_the_vector(name):
    data, expected, tolerance = read_vector(name)
    family = name.split("__")[0]

    fit = fit_reml(data.value, list_terms(data, family), system=factor_codes(data.system))

    got = describe(fit, sorted(data.system.unique()))
    for system, fixed in expected["fixed"].items():
        wanted = fixed.pop("df_satterthwaite")
        assert got["fixed"][system]["df_satterthwaite"] == pytest.approx(
            wanted, abs=tolerance, rel=OF_DF
        )
        fixed.pop("p_satterthwaite")
    compare(got, expected, tolerance)
    assert fit.converged


def contrast_pair(systems, first, second):
    weights = np.zeros(len(systems))
    weights[systems.index(second)], weights[systems.index(first)] = 1, -1
    return weights


@pytest.mark.one_case
@pytest.mark.parametrize("name", find_vectors("joint"))
def test_comparison_of_systems_is_that_of_lme4_and_pbkrtest(name):
    data, expected, tolerance = read_vector(name)
    has_clusters = "cluster" in data
    scores = read_scores(
        Ratings(
            rater=data.rater,
            group=data["item"],
            system=data.system,
            value=data.value,
            block=data.cluster if has_clusters else None,
        )
    )

    fit = fit_mixed(scores).fit

    def describe_contrast(weights, key):
        return dict(zip((key, "se", "df"), fit.contrast(weights), strict=True))

    systems = scores.systems
    units = np.eye(len(systems))
    got = {
        "pairs": {
            f"{two}-{one}": describe_contrast(contrast_pair(systems, one, two), "difference")
            for one in systems
            for two in systems
            if one != two
        },
        "means": {
            name: describe_contrast(unit, "mean") for name, unit in zip(systems, units, strict=True)
        },
        "from_average": {
            name: describe_contrast(unit - 1 / len(systems), "difference")
            for name, unit in zip(systems, units, strict=True)
        },
        "reml_loglik": fit.loglik,
    }
    keep = {"difference", "mean", "se", "df"}
    wanted = {
        part: {
            name: {key: one for key, one in figures.items() if key in keep}
            for name, figures in expected[part].items()
        }
        for part in ("pairs", "means", "from_average")
    }
    compare(got, wanted | {"reml_loglik": expected["reml_loglik"]}, tolerance)


def test_preferences_of_all_pairs_are_those_of_the_vector():
    data, expected, tolerance = read_vector("joint_pairs__pairs_raters")
    pairs = sorted(set(zip(data["first"], data.second, strict=True)))
    pair = [pairs.index(one) for one in zip(data["first"], data.second, strict=True)]
    terms = {
        "rs": signed(data.rater + data.second, data.rater + data["first"]),
        "is": signed(data["item"] + data.second, data["item"] + data["first"]),
    }

    fit = fit_reml(data.value, terms, system=pair, blocks=[data["item"], data.rater])

    got = {
        f"{second}-{first}": dict(zip(("difference", "se", "df"), fit.contrast(unit), strict=True))
        for (first, second), unit in zip(pairs, np.eye(len(pairs)), strict=True)
    }
    wanted = {
        name: {key: one[key] for key in ("difference", "se", "df")}
        for name, one in expected["pairs"].items()
    }
    compare(got, wanted, tolerance)
    variance = {**fit.variances, "Residual": fit.residual}
    compare(variance, expected["variance"], tolerance)


def test_a_small_variance_is_found_and_not_taken_for_none():
    data, expected, tolerance = read_vector("reml_boundary__oneway_small")

    fit = fit_reml(data.value, {"unit": data.unit})

    got = {
        "var_unit": fit.variances["unit"],
        "var_residual": fit.residual,
        "icc_1_1": fit.variances["unit"] / (fit.variances["unit"] + fit.residual),
        "reml_deviance": -2 * fit.loglik,
    }
    compare(got, expected, tolerance)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_integrated_out_the_model_is_the_same(seed, monkeypatch):
    _, (rater, item, system, value) = make_complete(seed=seed, raters=5, items=9)
    keep = np.random.default_rng(seed).random(len(value)) < 0.7
    rater, item, system, value = (one[keep] for one in (rater, item, system, value))
    terms = {"rater": rater, "group": item, "rs": rater * 2 + system, "is": item * 2 + system}
    found = []
    for block in (rater, item, np.zeros_like(item)):
        monkeypatch.setattr(
            mixed, "_choose_block", lambda terms, given, block=block: (
                block, mixed.list_inner(terms, block)[0]),
        )  # fmt: skip
        fit = fit_reml(value, terms, system=system)
        found.append([fit.loglik, *fit.contrast([-1, 1])])

    assert found[0] == pytest.approx(found[1], rel=1e-6)
    assert found[0] == pytest.approx(found[2], rel=1e-6)


def test_mixed_model_of_penicillin_is_that_of_the_vector():
    data, expected, tolerance = read_vector("lmm__penicillin")

    fit = fit_reml(data.diameter, {"plate": data.plate, "sample": data["sample"]})

    estimate, se, _ = contrast_by_satterthwaite(fit, [1.0])
    variance = {**fit.variances, "Residual": fit.residual}
    got = {"intercept": estimate, "se": se, "variance": variance, "reml_loglik": fit.loglik}
    compare(got, expected, tolerance)


def test_variance_components_of_unbalanced_ratings_are_those_of_the_vector():
    data, expected, tolerance = read_vector("icc_mixed__agree_crowd7")

    fit = fit_reml(data.value, {"unit": data.unit, "rater": data.rater})

    unit, rater, rest = fit.variances["unit"], fit.variances["rater"], fit.residual
    got = {
        "var_unit": unit,
        "var_rater": rater,
        "var_residual": rest,
        "icc_a1": unit / (unit + rater + rest),
        "icc_c1": unit / (unit + rest),
    }
    compare(got, expected, tolerance)


# Made up here and fitted by lme4 1.1.31 (bobyqa, rhoend 1e-12) with lmerTest 3.1.3: value ~
# system + (1|rater) + (1|item) + (1|item:system) + (1|rater:system) + (1|rater:item); the second
# system against the first.
FITTED_BY_LME4 = {
    "mixed_small": (-78.799642800653, (0.148300125, 0.288514824, 16.246014240),
                    {"rater": 0.571931, "group": 0.155292, "group:system": 0.340246,
                     "rater:system": 0.0, "rater:group": 0.0}),
    "mixed_gaps": (-437.6113205861, (0.213241169, 0.311107558, 20.231407699),
                   {"rater": 0.0372325, "group": 0.0937389, "group:system": 0.1763908,
                    "rater:system": 0.1835787, "rater:group": 0.0465931}),
}  # fmt: skip


@pytest.mark.parametrize("name", FITTED_BY_LME4)
def test_mixed_model_is_that_of_lme4_on_other_data(name):
    loglik, contrast, variances = FITTED_BY_LME4[name]
    data = pd.read_csv(Path(__file__).parent / "data" / f"{name}.csv")
    terms = {
        "rater": data.rater,
        "group": data["item"],
        "group:system": data["item"] * 10 + data.system,
        "rater:system": data.rater * 10 + data.system,
        "rater:group": data.rater * 1000 + data["item"],
    }
    kept, _ = usable_terms(terms, len(data))
    weights = np.zeros(data.system.nunique())
    weights[:2] = -1, 1

    fit = fit_reml(data.value, kept, system=data.system)

    assert fit.loglik == pytest.approx(loglik, abs=1e-7)
    assert contrast_by_satterthwaite(fit, weights) == pytest.approx(contrast, rel=1e-5)
    assert dict(fit.variances) == pytest.approx(variances, abs=2e-6)


def make_complete(*, seed, raters=8, items=15, parts=(1.2, 1.2, 1.0, 1.0)):
    """A complete design of two systems: the difference matrix and its single ratings."""
    rng = np.random.default_rng(seed)
    sd_rater, sd_item, sd_output, sd_taste = parts
    rater, item, system = (
        axis.ravel()
        for axis in np.meshgrid(np.arange(raters), np.arange(items), [0, 1], indexing="ij")
    )
    value = (
        rng.normal(0, sd_rater, raters)[rater]
        + rng.normal(0, sd_item, items)[item]
        + rng.normal(0, sd_output, (items, 2))[item, system]
        + rng.normal(0, sd_taste, (raters, 2))[rater, system]
        + rng.normal(0, 0.7, (raters, items))[rater, item]
        + rng.normal(0, 0.7, len(rater))
    )
    table = value.reshape(raters, items, 2)
    return table[:, :, 1] - table[:, :, 0], (rater, item, system, value)


def test_mixed_model_of_a_complete_design_is_the_crossed_test():
    compared = 0
    for seed in range(5):
        differences, (rater, item, system, value) = make_complete(seed=seed)
        terms = {
            "rater": rater,
            "item": item,
            "group:system": item * 2 + system,
            "rater:system": rater * 2 + system,
            "rater:group": rater * 99 + item,
        }

        fit = fit_reml(value, terms, system=system)

        if fit.singular:  # the crossed test knows no bound at 0 for one part
            continue
        compared += 1
        estimate, se, df = contrast_by_satterthwaite(fit, [-1, 1])
        mean, error, freedom = crossed_parts(differences)
        assert estimate == pytest.approx(mean)
        assert se == pytest.approx(error, rel=1e-5)
        assert df == pytest.approx(freedom, rel=1e-3)
    assert compared >= 3


def test_renamed_and_reordered_ratings_give_the_same_model():
    data = read_data("compare_crowd5.csv")
    shuffled = data.sample(frac=1, random_state=3)
    shuffled["rater"] = "x" + shuffled.rater.str[::-1]

    first, second = (
        fit_reml(d.value, list_terms(d, "lmm"), system=factor_codes(d.system))
        for d in (data, shuffled)
    )

    assert first.contrast([-1, 0, 0, 1]) == pytest.approx(second.contrast([-1, 0, 0, 1]), rel=1e-6)


def test_variance_of_nothing_is_zero_and_named():
    # Within every item the two raters differ by the same amount up to noise that cancels.
    value = [1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 2.0, 1.0]
    item = [0, 0, 1, 1, 2, 2, 3, 3]

    fit = fit_reml(value, {"item": item})

    assert fit.singular == ("item",)
    assert fit.converged


def test_systems_with_raters_of_their_own_are_compared_with_the_least_certainty():
    """Whether a system or its only rater differs can't be known: of the raters nothing is."""
    rater = np.repeat(np.arange(4), 20)
    value = np.random.default_rng(1).normal(size=80) + rater
    item = np.tile(np.arange(20), 4)

    for terms in (
        {"rater": rater},
        {"rater": rater, "item": item},
        {"rater": rater, "team": rater // 2},
    ):
        fit = fit_reml(value, terms, system=rater)

        _, se, df = fit.contrast([-1, 1, 0, 0])
        # the error that the model has without Kenward and Roger's correction: nothing is corrected
        assert se == pytest.approx(
            np.sqrt([-1, 1, 0, 0] @ fit.covariance @ [-1, 1, 0, 0]), rel=1e-6
        )
        assert df == 1


def test_inputs_are_integrated_out_of_the_model_of_systems(monkeypatch):
    # of 60 inputs and 5 raters only raters, with and without systems, may stay: 5 + 5 * 2
    monkeypatch.setattr(mixed, "MOST_OUTER", 15)
    _, (rater, item, system, value) = make_complete(seed=1, raters=5, items=60)

    found = fit_mixed(read_scores(Ratings(rater=rater, group=item, system=system, value=value)))

    assert found.fit is not None


def test_model_with_too_many_effects_is_refused(monkeypatch):
    monkeypatch.setattr(mixed, "MOST_OUTER", 5)
    rater, item = np.divmod(np.arange(60), 10)

    with pytest.raises(TooManyEffects):
        fit_reml(np.arange(60.0) % 7, {"rater": rater, "item": item, "both": (rater + item) % 9})


def test_model_without_variation_is_refused():
    with pytest.raises(ValueError, match="vary"):
        fit_reml([3.0, 3.0, 3.0], {"item": [0, 1, 2]})
