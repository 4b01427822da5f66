"""Comparisons tested and corrected in one step, as a report of one criterion has them."""

import numpy as np

from evalsite.analysis.compare import find_differences
from evalsite.analysis.pairs import find_pair_tests
from evalsite.analysis.planning import find_error, mean_squares


def compare_systems(data, *, correction="holm", others=(), **options):
    """Every pair of systems, or every system against a baseline."""
    return find_differences(data, **options).correct(correction, others)


def compare_pairs(data, *, correction="holm", others=(), **options):
    """All figures of preferences on one criterion."""
    return find_pair_tests(data, **options).correct(correction, others)


def crossed_parts(differences):
    """Mean, standard error and degrees of freedom of a complete design, as the planner has them."""
    raters, items = differences.shape[-2:]
    mean, *squares = mean_squares(differences)
    variance, df = find_error(*squares, raters=raters, items=items)
    return mean, np.sqrt(variance), df
