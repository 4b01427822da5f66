"""Rows inserted as values: objects of models would take several times as long."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from django.db import connection
from django.db.models import Model

_AT_ONCE = 500  # rows of a statement


def insert_rows(
    model: type[Model], names: Sequence[str], rows: Iterable[Sequence[Any]]
) -> list[int]:
    """Insert values of these fields as the database takes them; return the ids in order.

    JSON comes as text, and a UUID as its `hex`, which both databases read.
    """
    quote = connection.ops.quote_name
    fields = {field.name: field for field in model._meta.concrete_fields}
    columns = ", ".join(quote(str(fields[name].column)) for name in names)
    head = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES "  # noqa: S608 (names)
    marks = f"({', '.join(['%s'] * len(names))})"
    ids: list[int] = []
    rest = iter(rows)
    with connection.cursor() as cursor:
        while page := list(islice(rest, _AT_ONCE)):
            statement = f"{head}{', '.join([marks] * len(page))} RETURNING id"
            cursor.execute(statement, [value for row in page for value in row])
            # in the order of the rows: both databases number them as they come
            ids += sorted(pk for (pk,) in cursor.fetchall())
    return ids
