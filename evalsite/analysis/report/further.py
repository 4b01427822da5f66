"""What a study would detect with more answers: the report's errors, for ratings still to come.

How well a difference is known depends on who rates what and on variances: the covariance of means,
its correction and its degrees of freedom (Kenward and Roger 1997) use no other values. So they can
be computed for planned ratings, with the variances that the report estimates from the existing
ones. For exactly the existing ratings, this gives the errors of the report.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from evalsite.analysis.families import find_family, get_numbers
from evalsite.analysis.figure import LEVEL
from evalsite.analysis.figure import REML as METHOD
from evalsite.analysis.intervals import describe_detectable
from evalsite.analysis.mixed import TooManyEffects, fit_reml
from evalsite.analysis.ratings import read_table
from evalsite.analysis.report.answers import Instrument, drop_ignored, read_ignored, split_parts

_MOST_ROWS = 60_000
# terms that can't be told from chance where each output has one rating
_OF_OUTPUTS = ("group:system", "input:system")

Criterion = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Reach:
    """The smallest difference found with 80% power in a planned comparison, after correction and
    without it, and the half-width of the widest 95% interval; in logarithms where `is_log`."""

    detectable: float | None
    alone: float | None
    half: float


def read_rated(paths: Mapping[str, Path], instrument: Instrument) -> dict[str, pd.DataFrame]:
    """Return by criterion the ratings that its part of the report "kept" was computed from."""
    table, criteria = split_parts(read_table(paths["ratings"]), instrument)
    kept = table.results()
    annotations = pd.read_csv(paths["annotations"], dtype=str, keep_default_na=False)
    rows = drop_ignored(kept, read_ignored(annotations, kept)).rows
    rated = {}
    for criterion in criteria:
        part = rows[rows.criterion == str(criterion["key"])]
        value = part.outcome if find_family(criterion).compares else part.value
        rated[str(criterion["key"])] = part[value.notna()]
    return rated


def list_planned(criterion: Criterion) -> list[Mapping[str, Any]]:
    """Return the pairs that p values are corrected for."""
    return [
        pair for pair in criterion["pairs"] if not pair["effect"]["details"].get("is_exploratory")
    ]


def count_tests(criterion: Criterion) -> int:
    """Return how many comparisons the correction of those that are planned covers."""
    return max((pair["effect"]["details"].get("family") or 1) for pair in list_planned(criterion))


def reach_now(criterion: Criterion) -> Reach | None:
    """Return what the existing ratings detect; None if errors aren't known."""
    details = [pair["effect"]["details"] for pair in list_planned(criterion)]
    errors = [(test["se"], test["df"]) for test in details if test.get("se") and test.get("df")]
    return _reach(criterion, errors) if errors else None


def can_project(criterion: Criterion, *, has_own_errors: bool) -> bool:
    """Return whether the criterion has a model to which ratings can be added."""
    model = criterion.get("model") or {}
    tested = {pair["effect"]["method"] for pair in list_planned(criterion)}
    return (
        bool(model.get("converged"))
        and "fallback" not in model
        and tested <= {METHOD}
        and not has_own_errors
    )


def is_merged(criterion: Criterion) -> bool:
    """Return whether the model can't tell outputs from chance, so that more ratings of an output
    seem to help more than they do."""
    return not any(term in criterion["model"]["terms"] for term in _OF_OUTPUTS)


def reach_with(criterion: Criterion, rows: pd.DataFrame) -> Reach | None:
    """Return what these ratings would detect; None if they are too many or can't show it."""
    if len(rows) > _MOST_ROWS:
        return None
    model = criterion["model"]
    layout = get_numbers(find_family(criterion)).lay_out(rows)
    try:
        fit = fit_reml(
            np.arange(len(rows)) % 2,  # errors don't depend on the values
            {name: layout.tables[name] for name in model["terms"]},
            system=layout.fixed,
            blocks=layout.blocks,
            known=(model["variances"], model["residual"]),
        )
    except (TooManyEffects, np.linalg.LinAlgError):
        return None
    errors = []
    for pair in list_planned(criterion):
        weights = layout.contrasts.get(frozenset((pair["system_1"], pair["system_2"])))
        if weights is None or fit.is_overcorrected(weights):
            return None
        errors.append(fit.contrast(weights)[1:])
    return _reach(criterion, errors)


def _reach(criterion: Criterion, errors: Iterable[tuple[float, float]]) -> Reach:
    """Return the largest values of the planned comparisons.

    Each is corrected by Bonferroni's method; Holm's finds slightly more.
    """
    tests = count_tests(criterion)
    sizes = [
        (
            _detect(criterion, se, df, tests),
            _detect(criterion, se, df, 1),
            float(stats.t.ppf((1 + LEVEL) / 2, df)) * se,
        )
        for se, df in errors
    ]
    corrected, alone, half = zip(*sizes, strict=True)
    return Reach(detectable=_find_largest(corrected), alone=_find_largest(alone), half=max(half))


def _find_largest(sizes: Iterable[float | None]) -> float | None:
    """Return the largest size; None if one is None, larger than any possible difference."""
    known = list(sizes)
    return None if None in known else max(size for size in known if size is not None)


def _detect(criterion: Criterion, se: float, df: float, tests: int) -> float | None:
    points = [answer["value"] for answer in criterion["answers"]]
    ends = points or criterion.get("range") or (0, inf)
    figure = describe_detectable(se=se, df=df, m=tests, n={})
    numbers = get_numbers(find_family(criterion))
    detected = numbers.keep_detectable(figure, max(ends) - min(ends))
    return None if detected is None else detected.value
