"""The classic tests of decisions: what most raters decided, by input and system.

They see less of the design than the crossed test: raters count only through their majority.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evalsite.analysis.binary_tests import cochran_q, mcnemar
from evalsite.analysis.figure import Figure

_ON_MAJORITIES = "on what most raters decided of each input"
_HALF = 0.5


def compare_majorities(*, group: ArrayLike, system: ArrayLike, value: ArrayLike) -> Figure | None:
    """McNemar's exact test of two systems, Cochran's Q of three or more; None of fewer.

    Arrays of length n: inputs, systems, and 0 or 1. Only inputs with a majority for every system
    count; `n` says how many do not, since as many said yes as no or a system is missing. Of two
    systems the figure names the one with more majorities first.
    """
    wide, left_out = _tabulate(group, system, value)
    names = list(wide.columns)
    if len(names) < 2:
        return None
    if len(names) > 2:
        figure = cochran_q(wide.to_numpy())
        return _describe(figure, "cochran_q", dict(figure.n) | left_out)
    first, second = sorted(names, key=lambda name: (-float(wide[name].sum()), name))
    figure = mcnemar(wide[second], wide[first])
    n = {
        "items": figure.n["items"],
        "yes_of_first_only": figure.n["first_no_second_yes"],
        "yes_of_second_only": figure.n["first_yes_second_no"],
    }
    return _describe(figure, f"mcnemar, {first} : {second}", n | left_out)


def _tabulate(
    group: ArrayLike, system: ArrayLike, value: ArrayLike
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Majorities, inputs by systems, of the complete rows, and how many rows are not."""
    rows = pd.DataFrame(
        {
            "group": np.asarray(group).astype(str),
            "system": np.asarray(system).astype(str),
            "value": np.asarray(value, dtype=float),
        }
    )
    by = rows.groupby(["group", "system"]).value
    share = by.mean().unstack()
    has_all, is_tied = share.notna().all(axis=1), (share == _HALF).any(axis=1)
    left_out = {
        "inputs_tied": int((has_all & is_tied).sum()),
        "inputs_incomplete": int((~has_all).sum()),
    }
    return (share[has_all & ~is_tied] > _HALF).astype(float), left_out


def _describe(figure: Figure, name: str, n: dict[str, int]) -> Figure:
    return replace(figure, name=name, method=f"{figure.method}, {_ON_MAJORITIES}", n=n)
