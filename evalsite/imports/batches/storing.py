"""Checked items put into the database, so that nobody waits long for it.

SQLite has one lock for all who write. Building rows while holding it kept people from saving for
seconds. So the rows wait in temporary tables of this connection, which take no lock, and one
statement for each table moves them, in half the time of inserting them one by one. PostgreSQL lets
others write meanwhile: it gets the rows as a stream (COPY), which takes a fraction of that time.
"""

from array import array
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Max, Model

from evalsite.imports.batches.shelf import Shelf, StoredItem
from evalsite.imports.bulk import copy_rows, quote_table
from evalsite.lib.transactions import deferred_transaction
from evalsite.studies.models import Batch, Item, Output, Study, System
from evalsite.studies.services import number_items

# what differs between the items of a batch
_FIELDS = (
    "key", "group", "cluster", "kind", "inputs", "extra", "gold",
    "shuffle_key", "group_shuffle_key",
)  # fmt: skip
_TEXTS = "key text, grp text, cluster text, kind text, inputs text, extra text, gold text"
_ITEM_TABLE = f"(no INTEGER PRIMARY KEY, {_TEXTS}, shuffle_key bigint, group_shuffle_key bigint)"
_OUTPUT_TABLE = "(item integer, position integer, system text, text text)"
ListedItem = tuple[int, str, str, str, str, str, str, str, int, int]


class PreparedItems:
    """Items of a file, made ready outside a transaction; what they took up is freed at the end."""

    def __init__(self, study: Study, checked: Shelf) -> None:
        self.study = study
        self.checked = checked

    def __enter__(self) -> "PreparedItems":
        if connection.vendor == "sqlite":
            _drop_staged()
            _stage(self.study, self.checked)
        return self

    def __exit__(self, *error: object) -> None:
        if connection.vendor == "sqlite" and not connection.needs_rollback:
            _drop_staged()

    def store(self, batch: Batch) -> None:
        """The items stand in the batch, with their outputs; inside a transaction."""
        systems = _make_systems(self.study, self.checked.systems)
        if connection.vendor == "sqlite":
            _move_staged(batch, systems)
        else:
            _copy(batch, self.checked, systems)


def _make_systems(study: Study, names: Iterable[str]) -> dict[str, int]:
    """The systems of these names stand; their ids."""
    System.objects.bulk_create(
        (System(study=study, name=name) for name in sorted(names)),
        # another file may bring the same at this moment
        ignore_conflicts=True,
    )
    return dict(System.objects.filter(study=study).values_list("name", "id"))


def _list_items(study: Study, items: Iterable[StoredItem]) -> Iterator[ListedItem]:
    numbers_of = number_items(study)
    for item in items:
        yield *item, *numbers_of(item[1], item[2])


# --- SQLite: temporary tables ---------------------------------------------------------
# names of tables and columns come from the models, values go as parameters


def _stage(study: Study, checked: Shelf) -> None:
    """The rows wait in temporary tables, items numbered from 1."""
    with connection.cursor() as cursor, deferred_transaction():
        cursor.execute(f"CREATE TEMP TABLE staged_item {_ITEM_TABLE}")
        cursor.execute(f"CREATE TEMP TABLE staged_output {_OUTPUT_TABLE}")
        cursor.execute("CREATE TEMP TABLE staged_system (name text PRIMARY KEY, id integer)")
        marks = ", ".join(["%s"] * (1 + len(_FIELDS)))
        for items, outputs in checked.stored_stretches():
            cursor.executemany(
                f"INSERT INTO temp.staged_item VALUES ({marks})",  # noqa: S608
                _list_items(study, items),  # type: ignore[arg-type]
            )
            cursor.executemany("INSERT INTO temp.staged_output VALUES (%s, %s, %s, %s)", outputs)


def _move_staged(batch: Batch, systems: dict[str, int]) -> None:
    """The rows that wait are the batch's; inside a transaction."""
    # the lock is held, so nobody else takes these ids
    last = Item.objects.aggregate(last=Max("id"))["last"] or 0
    columns = ", ".join(_name_column(field) for field in _FIELDS)
    staged = ", ".join("grp" if name == "group" else name for name in _FIELDS)
    study_id = _adapt(Output, "study_id", batch.study_id)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {quote_table(Item)} (id, study_id, batch_id, {columns}) "  # noqa: S608
            f"SELECT {last} + no, %s, %s, {staged} FROM temp.staged_item ORDER BY no",
            [study_id, _adapt(Item, "batch_id", batch.pk)],
        )
        cursor.executemany("INSERT INTO temp.staged_system VALUES (%s, %s)", [*systems.items()])
        cursor.execute(
            f"INSERT INTO {quote_table(Output)} (study_id, item_id, system_id, position, text) "  # noqa: S608
            f"SELECT %s, {last} + output.item, named.id, output.position, output.text "
            # CROSS: in the order of the file, each system found by its index
            "FROM temp.staged_output AS output CROSS JOIN temp.staged_system AS named "
            "WHERE named.name = output.system ORDER BY output.rowid",
            [study_id],
        )


def _drop_staged() -> None:
    with connection.cursor() as cursor:
        for name in ("staged_item", "staged_output", "staged_system"):
            cursor.execute(f"DROP TABLE IF EXISTS temp.{name}")


# --- PostgreSQL: a stream -------------------------------------------------------------


def _copy(batch: Batch, checked: Shelf, systems: dict[str, int]) -> None:
    """The items and their outputs are the batch's; inside a transaction."""
    items = _list_items(batch.study, checked.stored_items())
    # as texts: to write them takes longer than all else of a row
    study_id, batch_id = str(batch.study_id), str(batch.pk)
    with connection.cursor() as cursor:
        ids = _take_ids(cursor, len(checked))
        columns = ", ".join(["id", "study_id", "batch_id", *map(_name_column, _FIELDS)])
        copy_rows(
            cursor,
            f"{quote_table(Item)} ({columns})",
            ((ids[item[0] - 1], study_id, batch_id, *item[1:]) for item in items),
        )
        copy_rows(
            cursor,
            f"{quote_table(Output)} (study_id, item_id, system_id, position, text)",
            (
                (study_id, ids[number - 1], systems[system], position, text)
                for number, position, system, text in checked.stored_outputs()
            ),
        )
        # the references are checked here, before any lock on the study, and not at its commit
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def _take_ids(cursor: Any, count: int) -> "array[int]":
    """So many new ids of items, in ascending order, which nobody else will get."""
    # in a statement of its own: beside nextval the sequence would be looked up for every row
    cursor.execute("SELECT pg_get_serial_sequence(%s, 'id')", [quote_table(Item)])
    (sequence,) = cursor.fetchone()
    cursor.execute("SELECT nextval(%s::regclass) FROM generate_series(1, %s)", [sequence, count])
    return array("q", (row[0] for row in cursor.fetchall()))


# --- columns --------------------------------------------------------------------------


def _name_column(name: str) -> str:
    column = next(one.column for one in Item._meta.concrete_fields if one.name == name)
    return connection.ops.quote_name(str(column))


def _adapt(model: type[Model], attname: str, value: UUID) -> Any:
    """The value as the column of this name stores it."""
    field = next(one for one in model._meta.concrete_fields if one.attname == attname)
    return field.get_db_prep_save(value, connection)
