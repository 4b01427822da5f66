"""Several counts in one query, for pages that show many of them."""

from typing import Any

from django.db.models import Count, QuerySet, Subquery, Value


def count_together(**rows: QuerySet[Any] | tuple[QuerySet[Any], Any]) -> dict[str, int]:
    """Count each of these sets of rows; of one with an expression, its different values.

    A subquery stands for the number that it returns.
    """
    queries = []
    for name, counted in rows.items():
        queryset, expression = counted if isinstance(counted, tuple) else (counted, "pk")
        queries.append(
            queryset.order_by()
            .annotate(counted_as=Value(name))
            .values("counted_as")
            .annotate(
                row_count=expression
                if isinstance(expression, Subquery)
                else Count(expression, distinct=expression != "pk")
            )
            .values_list("counted_as", "row_count")
        )
    first, *rest = queries
    counts = dict(first.union(*rest, all=True) if rest else first)
    return {name: counts.get(name, 0) for name in rows}
