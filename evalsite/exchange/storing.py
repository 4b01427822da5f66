"""Checked items put into the database, prepared so that nobody waits long for it.

SQLite has one lock for all who write. Building rows while holding it kept people from saving for
seconds. So there the rows wait in temporary tables of this connection, which take no lock, and one
statement for each table moves them, in half the time of inserting them one by one.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from django.db import connection
from django.db.models import Max, Model

from evalsite.exchange.values import CheckedItem
from evalsite.studies.models import Batch, Item, Output, Study, System
from evalsite.studies.services import item_keys

_CHUNK = 5_000
_PER_ITEM = ("id", "batch_id")  # known only once the batch stands


class PreparedItems:
    """Items of a file, made ready outside a transaction; what they took up is freed at the end."""

    def __init__(self, study: Study, checked: Sequence[CheckedItem]) -> None:
        self.study = study
        self.checked = checked
        self.is_staged = connection.vendor == "sqlite"
        self.items: list[Item] = []

    def __enter__(self) -> "PreparedItems":
        if self.is_staged:
            _stage(self.study, self.checked)
        else:
            self.items = [_build_item(self.study, item) for item in self.checked]
        return self

    def __exit__(self, *error: object) -> None:
        if self.is_staged:
            _drop_staged()

    def store(self, batch: Batch) -> None:
        """The items stand in the batch, with their outputs; inside a transaction."""
        names = sorted({output.system for item in self.checked for output in item.outputs})
        systems = _make_systems(self.study, names)
        if self.is_staged:
            _move_staged(self.study, batch)
        else:
            self._create(batch, systems)

    def _create(self, batch: Batch, systems: dict[str, int]) -> None:
        for item in self.items:
            item.batch_id = batch.pk
        pairs = zip(self.items, self.checked, strict=True)
        while chunk := list(islice(pairs, _CHUNK)):
            Item.objects.bulk_create([item for item, _ in chunk])
            Output.objects.bulk_create(
                Output(
                    study_id=self.study.pk,
                    item_id=item.pk,
                    system_id=systems[output.system],
                    position=position,
                    text=output.text,
                )
                for item, checked in chunk
                for position, output in enumerate(checked.outputs)
            )


def _build_item(study: Study, item: CheckedItem) -> Item:
    return Item(
        study_id=study.pk,  # ids, not objects: half the time of making a row
        kind=item.kind,
        cluster=item.cluster,
        inputs=item.inputs,
        extra=item.extra,
        gold=item.gold,
        **item_keys(study, key=item.key, group=item.group),
    )


def _make_systems(study: Study, names: list[str]) -> dict[str, int]:
    """Ids of these systems by name; those that were missing stand now."""
    standing = System.objects.filter(study=study)
    known = {system.name for system in standing}
    System.objects.bulk_create(
        System(study=study, name=name) for name in names if name not in known
    )
    return dict(standing.values_list("name", "pk"))


# --- temporary tables ---------------------------------------------------------------
# names of tables and columns come from the models, values go as parameters


def _stage(study: Study, checked: Sequence[CheckedItem]) -> None:
    """The rows wait in temporary tables, items numbered from 1."""
    _drop_staged()
    columns = _name_columns()
    marks = ", ".join(["%s"] * (1 + len(_list_fields())))
    with connection.cursor() as cursor, _one_go():
        cursor.execute(f"CREATE TEMP TABLE staged_item (no INTEGER PRIMARY KEY, {columns})")
        cursor.execute("CREATE TEMP TABLE staged_output (item, system, position, text)")
        cursor.executemany(
            f"INSERT INTO temp.staged_item VALUES ({marks})",  # noqa: S608
            _number_items(study, checked),  # type: ignore[arg-type]
        )
        cursor.executemany(
            "INSERT INTO temp.staged_output VALUES (%s, %s, %s, %s)",
            _number_outputs(checked),  # type: ignore[arg-type]
        )


def _move_staged(study: Study, batch: Batch) -> None:
    """The rows that wait are the batch's; inside a transaction."""
    # the lock is held, so nobody else takes these ids
    last = Item.objects.aggregate(last=Max("id"))["last"] or 0
    columns = _name_columns()
    study_id = _adapt(Output, "study_id", study.pk)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {_quote(Item)} (id, batch_id, {columns}) "  # noqa: S608
            f"SELECT %s + no, %s, {columns} FROM temp.staged_item ORDER BY no",
            [last, _adapt(Item, "batch_id", batch.pk)],
        )
        cursor.execute(
            f"INSERT INTO {_quote(Output)} (study_id, item_id, system_id, position, text) "  # noqa: S608
            "SELECT %s, %s + staged.item, named.id, staged.position, staged.text "
            # CROSS: in the order of the file, each system found by its index
            f"FROM temp.staged_output AS staged CROSS JOIN {_quote(System)} AS named "
            "WHERE named.study_id = %s AND named.name = staged.system ORDER BY staged.rowid",
            [study_id, last, study_id],
        )


def _drop_staged() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS temp.staged_item")
        cursor.execute("DROP TABLE IF EXISTS temp.staged_output")


@contextmanager
def _one_go() -> Iterator[None]:
    """What is written to temporary tables is written at once, without the lock of the database."""
    if connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:
        # not atomic(), which begins IMMEDIATE here
        cursor.execute("BEGIN DEFERRED")
        try:
            yield
        except BaseException:
            cursor.execute("ROLLBACK")
            raise
        cursor.execute("COMMIT")


def _number_items(study: Study, checked: Sequence[CheckedItem]) -> Iterator[tuple[Any, ...]]:
    fields = _list_fields()
    for number, item in enumerate(checked, start=1):
        row = _build_item(study, item)
        values = (
            field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields
        )
        yield number, *values


def _number_outputs(checked: Sequence[CheckedItem]) -> Iterator[tuple[int, str, int, str]]:
    for number, item in enumerate(checked, start=1):
        for position, output in enumerate(item.outputs):
            yield number, output.system, position, output.text


def _list_fields() -> list[Any]:
    return [field for field in Item._meta.concrete_fields if field.attname not in _PER_ITEM]


def _name_columns() -> str:
    return ", ".join(connection.ops.quote_name(field.column) for field in _list_fields())


def _quote(model: type[Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)


def _adapt(model: type[Model], attname: str, value: Any) -> Any:
    """The value as the column of this name stores it."""
    field = next(one for one in model._meta.concrete_fields if one.attname == attname)
    return field.get_db_prep_save(value, connection)
