"""Tests of yes/no outcomes: McNemar, Cochran's Q, and a share with Wilson's interval."""

from typing import Any

import numpy as np
from scipy import stats

from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined

_WILSON = "wilson"
_MCNEMAR = "mcnemar"
_COCHRAN = "cochran_q"


def wilson_share(hits: int, total: int, *, name: str = "share", level: float = LEVEL) -> Figure:
    """Return the share of `hits` in `total` with Wilson's interval."""
    n = {"answers": total, "hits": hits}
    if not total:
        return undefined(name, Reason.NO_DATA, method=_WILSON, n=n)
    interval = stats.binomtest(hits, total).proportion_ci(level, method="wilson")
    return Figure(
        name=name,
        method=_WILSON,
        value=hits / total,
        low=float(interval.low),
        high=float(interval.high),
        level=level,
        n=n,
        details={"interval": "wilson"},
    )


def mcnemar(first: Any, second: Any) -> Figure:
    """Return the risk difference, second minus first, with McNemar's tests on the same items.

    `first`, `second`: 0 or 1 (items,), such as majorities. p is exact (binomial); chi2 and chi2_p
    are the form without continuity correction. No discordant item: p = 1.
    """
    a, b = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    up, down = int((~a & b).sum()), int((a & ~b).sum())
    n = {"items": len(a), "first_no_second_yes": up, "first_yes_second_no": down}
    if not len(a):
        return undefined("risk_difference", Reason.NO_DATA, method=_MCNEMAR, n=n)
    details: dict[str, Any] = {"interval": "test"}
    if not up + down:
        details |= {"p": 1.0, "note": str(Reason.NO_DIFFERENCE)}
    else:
        chi2 = (up - down) ** 2 / (up + down)
        details |= {"p": float(stats.binomtest(up, up + down).pvalue)}
        details |= {"chi2": chi2, "chi2_p": float(stats.chi2.sf(chi2, 1))}
    return Figure(
        name="risk_difference", method=_MCNEMAR, value=(up - down) / len(a), n=n, details=details
    )


def cochran_q(table: Any) -> Figure:
    """Compute Cochran's Q of 0/1 answers: items in rows, three or more systems in columns."""
    x = np.asarray(table, dtype=np.float64)
    if x.ndim != 2 or not x.size:
        return undefined("cochran_q", Reason.NO_DATA, method=_COCHRAN)
    x = x[~np.isnan(x).any(axis=1)]
    items, systems = x.shape
    n = {"items": items, "systems": systems}
    if systems < 2 or not items:
        return undefined("cochran_q", Reason.TOO_FEW, method=_COCHRAN, n=n)
    by_item, by_system = x.sum(axis=1), x.sum(axis=0)
    below = systems * by_item.sum() - (by_item**2).sum()
    if below == 0:
        return undefined("cochran_q", Reason.NO_VARIATION, method=_COCHRAN, n=n)
    spread = systems * (by_system**2).sum() - by_system.sum() ** 2
    q, df = float((systems - 1) * spread / below), systems - 1
    details = {"df": df, "p": float(stats.chi2.sf(q, df)), "interval": "test"}
    return Figure(name="cochran_q", method=_COCHRAN, value=q, n=n, details=details)
