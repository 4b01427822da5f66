"""The figures of a pair as a reader sees them: from one side, within what is possible."""

from dataclasses import replace

from evalsite.analysis.figure import Figure, Reason, undefined

_SHARES = frozenset(
    {
        "superiority", "win_share", "win_share_ties_half", "win_share_without_ties", "sign_test",
        "sign_test_of_majorities", "sign_within",
    }
)  # fmt: skip
_LOST = {"wins": "losses", "losses": "wins"}


def turn_figure(figure: Figure) -> Figure:
    """Return the figure from the side of the pair's other system.

    A ratio is inverted, a share becomes 1 minus the share, a sum of ranks that of the other sign;
    everything else changes its sign.
    """
    details = {
        key: -value if key in ("t", "z", "d") else value for key, value in figure.details.items()
    }
    for end, other in (("d_low", "d_high"), ("d_high", "d_low")):
        if (reached := figure.details.get(other)) is not None:
            details[end] = -reached

    def turn(value: float | None) -> float | None:
        if value is None:
            return None
        if figure.name in ("ratio", "ratio_of_geometric_means"):
            return 1 / value
        if figure.name in _SHARES:
            return 1 - value
        if figure.name == "wilcoxon":
            return float(figure.details.get("sum_of_ranks", 0.0)) - value
        return 0.0 - value

    return replace(
        figure,
        value=turn(figure.value),
        low=turn(figure.high),
        high=turn(figure.low),
        n={_LOST.get(unit, unit): number for unit, number in figure.n.items()},
        details=details,
    )


def keep_possible(figure: Figure, least: float, most: float) -> Figure:
    """Return the figure with an interval that holds only possible values.

    It is undefined if its value is impossible, as a model without ends can yield from few ratings.
    An end beyond `least` or `most` is cut there, which loses no possible value. An interval of all
    possible values, or of none, says nothing and is dropped as too_few.
    """
    slack = 1e-9 * max(1.0, abs(figure.value or 0.0))
    if figure.value is not None and not least - slack <= figure.value <= most + slack:
        return undefined(figure.name, Reason.TOO_FEW, method=figure.method, n=figure.n)
    if figure.low is None or figure.high is None:
        return figure
    if least <= figure.low and figure.high <= most:
        return figure
    details = dict(figure.details)
    is_all = figure.low <= least and most <= figure.high
    if is_all or figure.high <= least or most <= figure.low:
        details["interval"] = str(Reason.TOO_FEW)
        return replace(figure, low=None, high=None, details=details)
    details["interval"] = f"{details.get('interval', '')}+cut"
    return replace(figure, low=max(least, figure.low), high=min(most, figure.high), details=details)


def keep_detectable(figure: Figure | None, most: float) -> Figure | None:
    """Return the smallest difference that the design detects; too_few if it isn't possible."""
    if figure is None or figure.value is None:
        return figure
    if figure.value > most:
        return replace(figure, value=None, reason=Reason.TOO_FEW, low=None, high=None)
    high = None if figure.high is None else min(figure.high, most)
    return replace(figure, high=high)
