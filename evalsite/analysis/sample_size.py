"""How much of what a study needs: the items, and the price, to find a difference of a given size.

By the closed form of the crossed test (see planning): a first answer at once, to be confirmed by
`planning.plan`, which draws studies on the scale as shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from evalsite.analysis.planning import Design, Parts, smallest_difference

MOST_ITEMS = 5000


@dataclass(frozen=True, kw_only=True)
class Need:
    """The items that raters of a number need; `items` None: no number of items is enough.

    `ratings` counts all outputs of both systems; `cost` is for all of them, None without a price.
    """

    raters: int
    per_output: int | None
    items: int | None = None
    ratings: int | None = None
    cost: float | None = None
    detects: float | None = None


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


def list_needs(
    parts: Parts,
    *,
    difference: float,
    raters: Sequence[int],
    per_output: Sequence[int | None] = (None,),
    power: float = 0.8,
    price_per_rating: float | None = None,
    systems: int = 2,
) -> list[Need]:
    """The items, ratings and cost for each number of raters and of ratings for an output.

    `per_output` above the number of raters is left out; None: every rater sees every item.
    """
    found = []
    for people in raters:
        for k in per_output:
            if k is not None and k > people:
                continue
            items = items_needed(
                parts, difference=difference, raters=people, per_output=k, power=power
            )
            if items is None:
                found.append(Need(raters=people, per_output=k))
                continue
            design = Design(items=items, raters=people, per_output=k)
            ratings = items * design.ratings_per_output * systems
            price = None if price_per_rating is None else ratings * price_per_rating
            found.append(
                Need(
                    raters=people,
                    per_output=k,
                    items=items,
                    ratings=ratings,
                    cost=price,
                    detects=smallest_difference(parts, design, power=power),
                )
            )
    return found
