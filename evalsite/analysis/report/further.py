"""What a study detects if more is answered: the report's own errors, for ratings not yet given.

How well a difference is known depends on who rates what, and on variances: the covariance of means,
its correction and its degrees of freedom (Kenward and Roger 1997) hold no other value. So they are
computed for ratings that are only planned, with the variances that the report found in those that
are there. For exactly those this gives the report's own errors.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from evalsite.analysis.detectable import describe_detectable
from evalsite.analysis.effects_in_blocks import TooManyEffects
from evalsite.analysis.families import find_family, get_numbers
from evalsite.analysis.figure import LEVEL
from evalsite.analysis.reml import METHOD, fit_reml
from evalsite.analysis.report.answer_parts import Instrument, split_parts
from evalsite.analysis.report.ignored import drop_ignored, read_ignored
from evalsite.analysis.table import read_table

_MOST_ROWS = 60_000
# what can't be told from chance where each output has one rating
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
    """Of each criterion who rated what, as its part of the report "kept" was computed from."""
    table, criteria = split_parts(read_table(paths["ratings"]), instrument)
    kept = table.results()
    annotations = pd.read_csv(paths["annotations"], dtype=str, keep_default_na=False)
    rows = drop_ignored(kept, read_ignored(annotations, kept)).rows
    found = {}
    for one in criteria:
        own = rows[rows.criterion == str(one["key"])]
        value = own.outcome if find_family(one).compares else own.value
        found[str(one["key"])] = own[value.notna()]
    return found


def list_planned(criterion: Criterion) -> list[Mapping[str, Any]]:
    """Return the pairs that p values are corrected for."""
    return [one for one in criterion["pairs"] if not one["effect"]["details"].get("is_exploratory")]


def reach_now(criterion: Criterion) -> Reach | None:
    """What the ratings that are there detect; None where errors aren't known."""
    details = [one["effect"]["details"] for one in list_planned(criterion)]
    known = [(one["se"], one["df"]) for one in details if one.get("se") and one.get("df")]
    return _reach(criterion, known) if known else None


def can_project(criterion: Criterion, *, has_own_errors: bool) -> bool:
    """Whether the criterion has a model that further ratings can be put into."""
    model = criterion.get("model") or {}
    tested = {one["effect"]["method"] for one in list_planned(criterion)}
    return (
        bool(model.get("converged"))
        and "fallback" not in model
        and tested <= {METHOD}
        and not has_own_errors
    )


def is_merged(criterion: Criterion) -> bool:
    """Whether outputs can't be told from chance, so that more ratings of one seem to help more."""
    return not any(one in criterion["model"]["terms"] for one in _OF_OUTPUTS)


def reach_with(criterion: Criterion, rows: pd.DataFrame) -> Reach | None:
    """What these ratings would detect; None where they are too many, or can't tell."""
    if len(rows) > _MOST_ROWS:
        return None
    model = criterion["model"]
    layout = get_numbers(find_family(criterion)).lay_out(rows)
    try:
        fit = fit_reml(
            np.arange(len(rows)) % 2,  # any values
            {name: layout.tables[name] for name in model["terms"]},
            system=layout.fixed,
            blocks=layout.blocks,
            known=(model["variances"], model["residual"]),
        )
    except (TooManyEffects, np.linalg.LinAlgError):
        return None
    errors = []
    for one in list_planned(criterion):
        weights = layout.contrasts.get(frozenset((one["system_1"], one["system_2"])))
        if weights is None or fit.is_overcorrected(weights):
            return None
        errors.append(fit.contrast(weights)[1:])
    return _reach(criterion, errors)


def _reach(criterion: Criterion, errors: Iterable[tuple[float, float]]) -> Reach:
    """The largest of the planned comparisons. After correction: each at its share of the level
    (Bonferroni), of which Holm's correction finds a little more."""
    tests = max((one["effect"]["details"].get("family") or 1) for one in list_planned(criterion))
    found = [
        (
            _detect(criterion, se, df, tests),
            _detect(criterion, se, df, 1),
            float(stats.t.ppf((1 + LEVEL) / 2, df)) * se,
        )
        for se, df in errors
    ]
    corrected, alone, half = zip(*found, strict=True)
    return Reach(detectable=_find_largest(corrected), alone=_find_largest(alone), half=max(half))


def _find_largest(sizes: Iterable[float | None]) -> float | None:
    """The largest; None if one is larger than there can be."""
    known = list(sizes)
    return None if None in known else max(one for one in known if one is not None)


def _detect(criterion: Criterion, se: float, df: float, tests: int) -> float | None:
    points = [one["value"] for one in criterion["answers"]] or criterion.get("range") or (0, inf)
    figure = describe_detectable(se=se, df=df, m=tests, n={})
    numbers = get_numbers(find_family(criterion))
    found = numbers.keep_detectable(figure, max(points) - min(points))
    return None if found is None else found.value
