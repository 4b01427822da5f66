"""Comparisons tested and corrected in one step, as a report of one criterion has them."""

import numpy as np

from evalsite.analysis.agreement import alpha, draw_agreement, gwet, icc, percent_agreement
from evalsite.analysis.compare import find_differences
from evalsite.analysis.pairs import find_pair_tests
from evalsite.analysis.power import find_error, mean_squares


def compare_systems(data, *, correction="holm", others=(), **options):
    """Every pair of systems, or every system against a baseline."""
    return find_differences(data, **options).correct(correction, others)


def compare_pairs(data, *, correction="holm", others=(), **options):
    """All figures of preferences on one criterion."""
    return find_pair_tests(data, **options).correct(correction, others)


def describe_agreement(ratings, kind, *, scale=None):
    """The coefficients of a criterion by name, and the parts of their intervals; values of
    categories are their numbers."""
    draws = draw_agreement(ratings, kind, scale=None if kind == "categories" else scale)
    figures = {}
    if kind != "values":
        is_open = kind == "categories" or not scale
        points = sorted(np.unique(ratings.value)) if is_open else scale
        figures["alpha_nominal"] = alpha(ratings, "nominal", draws=draws)
        figures["ac1"] = gwet(ratings, scale=points, weights="identity", draws=draws)
        figures["agreement"] = percent_agreement(ratings, draws=draws)
    if kind == "points":
        figures["alpha_ordinal"] = alpha(ratings, "ordinal", draws=draws)
        figures["ac2"] = gwet(ratings, scale=points, weights="quadratic", draws=draws)
    if kind in ("points", "values"):
        figures["alpha_interval"] = alpha(ratings, "interval", draws=draws)
        figures["ICC(C,1)"] = icc(ratings, draws=draws)["ICC(C,1)"]
    return {"parts": dict(draws.parts)} | {
        name: {"value": figure.value, "low": figure.low, "high": figure.high}
        for name, figure in figures.items()
    }


def crossed_parts(differences):
    """Mean, standard error and degrees of freedom of a complete design, as the planner has them."""
    raters, items = differences.shape[-2:]
    mean, *squares = mean_squares(differences)
    variance, df = find_error(squares, raters=raters, items=items)
    return mean, np.sqrt(variance), df
