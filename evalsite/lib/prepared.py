"""Queries of the busiest pages, whose SQL is built once instead of at each run.

To build the SQL of a queryset takes Django many times as long as it takes the database to answer:
docs/decisions/0003-prepared-queries.md has the figures. The querysets stay Django's own; what is
the same at each run is kept, for each connection, and a run fills in its values. Private parts of
Django are used here and nowhere else: a compiler's `klass_info` and converters,
`get_related_populators`, and the `_state` of a row.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.base import ModelState
from django.db.models.query import ModelIterable, get_related_populators
from django.db.transaction import TransactionManagementError

from evalsite.lib.clock import standing_at

Row = TypeVar("Row")
_LARGEST = 2**63 - 1
_KEPT = "evalsite_prepared"
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


class Blank(models.Expression):
    """The place of a value that each run fills in."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def resolve_expression(self, *arguments: Any, **options: Any) -> "Blank":
        return self

    def get_group_by_cols(self) -> list[Any]:
        return []  # as of any value

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        return "%s", (self,)


class Prepared(Generic[Row]):
    """A queryset of rows, or of `values_list`, built by a function whose parameters a run fills in.

    Each value is a whole number, a text, a UUID or a moment; TypeError for any other, and for a
    function that builds something else each time, for instance from `now()`: only what was built
    first is kept. A function may take any number of values, for `in`; the SQL is kept for each
    number.
    """

    def __init__(self, build: Callable[..., models.QuerySet[Any, Row]]) -> None:
        self.build = build

    def one(self, *values: Any) -> Row | None:
        """Return the row of a query that can find one at most, or None."""
        return next(self._run(values), None)

    def all(self, *values: Any) -> list[Row]:
        return list(self._run(values))

    def _run(self, values: tuple[Any, ...]) -> Iterator[Row]:
        for value in values:
            if not isinstance(value, int | str | UUID | datetime):
                raise TypeError(f"A prepared query can't carry a {type(value).__name__}.")
            if isinstance(value, int) and abs(value) > _LARGEST:
                # no column holds it, and SQLite refuses to compare it
                return iter(())
        connection = connections["default"]
        kept = connection.__dict__.setdefault(_KEPT, {})
        key = self, len(values)
        if key not in kept:
            kept[key] = self._prepare(len(values), connection)
        return iter(()) if kept[key] is None else kept[key].rows(values)

    def _prepare(self, count: int, connection: BaseDatabaseWrapper) -> "_Select | None":
        """Return the query for so many values; None if it can't find anything."""

        def make() -> _Select:
            return _Select(self.build(*map(Blank, range(count))), connection)

        try:
            with standing_at(_LONG_AGO):
                first = make()
            second = make()
        except EmptyResultSet:
            return None
        if (first.sql, first.parameters) != (second.sql, second.parameters):
            raise TypeError("A prepared query must be the same each time it is built.")
        return second


class PreparedInsert:
    """An INSERT of rows of one model, in one statement, without signals."""

    def __init__(self, model: type[models.Model]) -> None:
        self.model = model
        self.fields = [field for field in model._meta.concrete_fields if not field.generated]
        self.fields = [field for field in self.fields if not field.primary_key]

    def run(self, rows: Sequence[models.Model]) -> None:
        """Insert these rows, and set their primary keys."""
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


class _Rows:
    """Makes rows as a model's `from_db` does, without `__init__` and its signals.

    Those take several times as long as all else that is done for a row, and none of our models has
    an `__init__` or a listener.
    """

    def __init__(self, model: type[models.Model]) -> None:
        self.model = model

    def from_db(self, alias: str, names: Sequence[str], columns: Sequence[Any]) -> models.Model:
        row = self.model.__new__(self.model)
        row._state = ModelState()
        row._state.adding, row._state.db = False, alias
        # what wasn't asked for is read when it is used, as after `defer`
        row.__dict__.update(zip(names, columns, strict=True))
        return row


def _use_rows(populators: Iterable[Any]) -> None:
    """Let related rows be made in the same way, at every depth."""
    for populator in populators:
        populator.model_cls = _Rows(populator.model_cls)
        _use_rows(populator.related_populators)


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
        self.make = _Rows(self.model).from_db
        first, last = info["select_fields"][0], info["select_fields"][-1]
        self.span = slice(first, last + 1)
        self.names = [column.target.attname for column, *_ in select[self.span]]
        # the stubs know a later Django, which wants an argument more; a test reads related rows
        self.annotated = dict(self.compiler.annotation_col_map or {})
        self.populators = get_related_populators(info, select, connection.alias)  # type: ignore[call-arg]
        _use_rows(self.populators)

    def rows(self, values: tuple[Any, ...]) -> Iterator[Any]:
        if self.is_locking and not self.connection.in_atomic_block:
            raise TransactionManagementError("Rows are locked inside a transaction only.")
        with self.connection.cursor() as cursor:
            cursor.execute(self.sql, _fill(self.parameters, values, self.connection))
            rows = cursor.fetchall()
        if self.converters:
            rows = self.compiler.apply_converters(rows, self.converters)
        if self.model is None:
            yield from map(tuple, rows)
            return
        for columns in rows:
            row = self.make(self.connection.alias, self.names, columns[self.span])
            for populator in self.populators:
                populator.populate(columns, row)
            for name, place in self.annotated.items():
                setattr(row, name, columns[place])
            yield row


def _fill(parameters: Any, values: tuple[Any, ...], connection: BaseDatabaseWrapper) -> list[Any]:
    """Return what is sent for each parameter, in the form that the database takes."""
    has_uuid = connection.features.has_native_uuid_field
    filled = [
        values[parameter.number] if isinstance(parameter, Blank) else parameter
        for parameter in parameters
    ]
    for place, value in enumerate(filled):
        if isinstance(value, UUID) and not has_uuid:
            filled[place] = value.hex
        elif isinstance(value, datetime):
            filled[place] = connection.ops.adapt_datetimefield_value(value)
    return filled
