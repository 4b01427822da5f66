"""What kind of disagreement there is: where the variation of ratings comes from.

Low agreement may be an offset of raters (a large share of raters), a narrow range of quality (a
small share of units) or noise (a large rest); each asks for another remedy.
"""

from typing import Any

from numpy.typing import ArrayLike

from evalsite.analysis.canonical_order import code, find_gap
from evalsite.analysis.components import TooLarge, find_components
from evalsite.analysis.figure import Figure, Reason, undefined

SHARES = ("share_of_units", "share_of_raters", "share_of_rest")
_METHOD = "share of the variance, REML with units and raters crossed"


def split_variance(
    *, unit: ArrayLike, rater: ArrayLike | None, value: ArrayLike
) -> dict[str, Figure]:  # fmt: skip
    """Return the shares of units, of raters and of the rest in the variance of ratings; they sum to
    1.

    Arguments as for `alpha`. A share of 0 is a valid answer. Without raters, units and the rest
    alone. Undefined: no_data, no_overlap, no_variation, incomplete (too large).
    """
    data = code(unit=unit, value=value, rater=rater)
    names = SHARES if rater is not None else (SHARES[0], SHARES[2])
    reason = find_gap(data)
    if reason is None:
        try:
            parts = find_components(data, with_rater=rater is not None)
        except TooLarge:
            reason = Reason.INCOMPLETE
    if reason:
        return {name: undefined(name, reason, method=_METHOD, n=data.counts()) for name in names}
    variance = dict(zip(SHARES, (parts.unit, parts.rater, parts.residual), strict=True))
    total = sum(variance.values())
    details: dict[str, Any] = {"interval": "none: see ICC(A,1) and ICC(C,1)"}
    return {
        name: Figure(name=name, method=_METHOD, value=variance[name] / total, n=data.counts(),
                     details=details | {"variance": variance[name]})
        for name in names
    }  # fmt: skip
