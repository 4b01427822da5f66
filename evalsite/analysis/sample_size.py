"""How much of what a study needs: the items, and the price, to find a difference of a given size.

By the closed form of the crossed test (see planning): a first answer at once, to be confirmed by
`planning.plan`, which draws studies on the scale as shown.
"""

from evalsite.analysis.planning import Design, Parts, smallest_difference

MOST_ITEMS = 5000


def items_needed(
    parts: Parts,
    *,
    difference: float,
    raters: int,
    per_output: int | None = None,
    power: float = 0.8,
) -> int | None:
    """The fewest items with which `raters` find the difference with this power.

    None where MOST_ITEMS are not enough: raters who differ in which system they like set a limit
    that only more raters move. ValueError: no difference, or fewer than two raters.
    """
    if not difference or raters < 2:
        raise ValueError("Give a difference that is not 0, and two raters or more.")

    def finds(items: int) -> bool:
        design = Design(items=items, raters=raters, per_output=per_output)
        return smallest_difference(parts, design, power=power) <= abs(difference)

    low, high = 2, 4
    while not finds(high):
        low, high = high, high * 2
        if high > MOST_ITEMS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if finds(middle) else (middle, high)
    return low if low == 2 and finds(low) else high
