"""Queries of the busiest pages, whose SQL is built once instead of at each run.

To build the SQL of a queryset takes Django many times as long as it takes the database to answer:
0.6 ms against 0.05 ms for one slot with its item. The querysets stay Django's own; what is the
same at each run is kept, for each connection, and a run fills in its values.
"""

from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.query import ModelIterable, get_related_populators
from django.db.models.sql.subqueries import UpdateQuery
from django.db.transaction import TransactionManagementError

Row = TypeVar("Row")
_LARGEST = 2**63 - 1
_KEPT = "evalsite_prepared"


class Blank(models.Expression):
    """The place of a value that each run fills in."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def resolve_expression(self, *arguments: Any, **options: Any) -> "Blank":
        return self

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        return "%s", (self,)


class Prepared(Generic[Row]):
    """A queryset of rows, or of `values_list`, built by a function whose parameters a run fills in.

    Each value is a whole number, a text or a UUID. A function may take any number of them, for
    `in`; the SQL is kept for each number.
    """

    def __init__(self, build: Callable[..., models.QuerySet[Any, Row]]) -> None:
        self.build = build

    def one(self, *values: Any) -> Row | None:
        """The row of a query that can find one at most, or None."""
        return next(self._run(values), None)

    def all(self, *values: Any) -> list[Row]:
        return list(self._run(values))

    def _run(self, values: tuple[Any, ...]) -> Iterator[Row]:
        if any(isinstance(value, int) and abs(value) > _LARGEST for value in values):
            # no column holds it, and SQLite refuses to compare it
            return iter(())
        connection = connections["default"]
        kept = connection.__dict__.setdefault(_KEPT, {})
        key = self, len(values)
        if key not in kept:
            kept[key] = _Select(self.build(*map(Blank, _names(values))), connection)
        return kept[key].rows(dict(zip(_names(values), values, strict=True)))


class PreparedUpdate:
    """An UPDATE of the rows of such a queryset; a value may be a `Blank` too."""

    def __init__(self, build: Callable[..., models.QuerySet[Any]], **changes: Any) -> None:
        self.build = build
        self.changes = changes
        blanks = [change.name for change in changes.values() if isinstance(change, Blank)]
        self.names = list(dict.fromkeys([*signature(build).parameters, *blanks]))

    def run(self, *values: Any) -> int:
        """The changes stand; returns in how many rows."""
        connection = connections["default"]
        kept = connection.__dict__.setdefault(_KEPT, {})
        if self not in kept:
            kept[self] = self._prepare(connection)
        sql, parameters = kept[self]
        with connection.cursor() as cursor:
            given = dict(zip(self.names, values, strict=True))
            cursor.execute(sql, _fill(parameters, given, connection))
            return int(cursor.rowcount)

    def _prepare(self, connection: BaseDatabaseWrapper) -> tuple[str, tuple[Any, ...]]:
        blanks = map(Blank, signature(self.build).parameters)
        query: Any = self.build(*blanks).query.chain(UpdateQuery)
        query.add_update_values(self.changes)
        return query.get_compiler(connection=connection).as_sql()


class PreparedInsert:
    """An INSERT of rows of one model, in one statement, without signals."""

    def __init__(self, model: type[models.Model]) -> None:
        self.model = model
        self.fields = [field for field in model._meta.concrete_fields if not field.generated]
        self.fields = [field for field in self.fields if not field.primary_key]

    def run(self, rows: Sequence[models.Model]) -> None:
        """These rows are in the database, and know their primary keys."""
        connection = connections["default"]
        if not rows:
            return
        values = [
            field.get_db_prep_save(field.pre_save(row, add=True), connection)
            for row in rows
            for field in self.fields
        ]
        with connection.cursor() as cursor:
            cursor.execute(self._sql(len(rows), connection), values)
            keys = cursor.fetchall()
        for row, (key,) in zip(rows, keys, strict=True):
            row.pk = key
            row._state.adding, row._state.db = False, connection.alias

    def _sql(self, count: int, connection: BaseDatabaseWrapper) -> str:
        name: Any = connection.ops.quote_name
        kept = connection.__dict__.setdefault(_KEPT, {})
        if (self, count) not in kept:
            columns = ", ".join(name(field.column) for field in self.fields)
            places = "(" + ", ".join(["%s"] * len(self.fields)) + ")"
            kept[self, count] = (
                f"INSERT INTO {name(self.model._meta.db_table)} ({columns}) "  # noqa: S608 (names only)
                f"VALUES {', '.join([places] * count)} RETURNING {name(self.model._meta.pk.column)}"
            )
        return str(kept[self, count])


class _Select:
    """One SELECT of one connection, and how its columns become rows."""

    def __init__(
        self, queryset: models.QuerySet[Any, Any], connection: BaseDatabaseWrapper
    ) -> None:
        self.connection = connection
        self.is_locking = queryset.query.select_for_update
        self.compiler = queryset.query.get_compiler(connection=connection)
        self.sql, self.parameters = self.compiler.as_sql()
        select, info = self.compiler.select, self.compiler.klass_info
        self.converters = self.compiler.get_converters([column for column, *_ in select])
        # no model: single columns were asked for
        self.model = info["model"] if queryset._iterable_class is ModelIterable else None
        if self.model is None:
            return
        first, last = info["select_fields"][0], info["select_fields"][-1]
        self.own = slice(first, last + 1)
        self.names = [column.target.attname for column, *_ in select[self.own]]
        # the stubs know a later Django, which wants an argument more; a test reads related rows
        self.populators = get_related_populators(info, select, connection.alias)  # type: ignore[call-arg]

    def rows(self, values: dict[str, Any]) -> Iterator[Any]:
        if self.is_locking and not self.connection.in_atomic_block:
            raise TransactionManagementError("Rows are locked inside a transaction only.")
        with self.connection.cursor() as cursor:
            cursor.execute(self.sql, _fill(self.parameters, values, self.connection))
            found = cursor.fetchall()
        if self.converters:
            found = self.compiler.apply_converters(found, self.converters)
        if self.model is None:
            yield from map(tuple, found)
            return
        for columns in found:
            row = self.model.from_db(self.connection.alias, self.names, columns[self.own])
            for populator in self.populators:
                populator.populate(columns, row)
            yield row


def _names(values: tuple[Any, ...]) -> list[str]:
    return [f"value {number}" for number in range(len(values))]


def _fill(parameters: Any, values: dict[str, Any], connection: BaseDatabaseWrapper) -> list[Any]:
    has_uuid = connection.features.has_native_uuid_field
    filled = [values[one.name] if isinstance(one, Blank) else one for one in parameters]
    return [one.hex if isinstance(one, UUID) and not has_uuid else one for one in filled]
