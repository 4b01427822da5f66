"""Several counts in one query, for pages that show many of them."""

from typing import Any

from django.db.models import Count, QuerySet, Value


def count_together(**rows: QuerySet[Any] | tuple[QuerySet[Any], Any]) -> dict[str, int]:
    """Count each of these sets of rows; of one with an expression, its different values."""
    counts = [
        one.order_by()
        .annotate(counted_as=Value(name))
        .values("counted_as")
        .annotate(row_count=Count(what, distinct=what != "pk"))
        .values_list("counted_as", "row_count")
        for name, (one, what) in (
            (name, one if isinstance(one, tuple) else (one, "pk")) for name, one in rows.items()
        )
    ]
    first, *others = counts
    found = dict(first.union(*others, all=True) if others else first)
    return {name: found.get(name, 0) for name in rows}
