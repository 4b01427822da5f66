"""Several counts in one query, for pages that show many of them."""

from typing import Any

from django.db.models import Aggregate, Count, F, QuerySet, Subquery, Value
from django.db.models.functions import Concat


def count_together(
    by: tuple[QuerySet[Any], str] | None = None,
    **rows: QuerySet[Any] | tuple[QuerySet[Any], Any],
) -> dict[str, int]:
    """Count each of these sets of rows; of one with an expression, its different values.

    A subquery or an aggregate stands for the number that it returns. `by`: rows that are counted
    for each value of a field, under "field value".
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
                if isinstance(expression, Subquery | Aggregate)
                else Count(expression, distinct=expression != "pk")
            )
            .values_list("counted_as", "row_count")
        )
    if by is not None:
        grouped, field = by
        queries.append(
            grouped.order_by()
            .annotate(counted_as=Concat(Value(f"{field} "), F(field)))
            .values("counted_as")
            .annotate(row_count=Count("pk"))
            .values_list("counted_as", "row_count")
        )
    first, *rest = queries
    counts = dict(first.union(*rest, all=True) if rest else first)
    of_groups = {name: number for name, number in counts.items() if name not in rows}
    return {name: counts.get(name) or 0 for name in rows} | of_groups
