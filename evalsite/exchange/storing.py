"""Checked items put into the database, prepared so that nobody waits long for it.

SQLite has one lock for all who write. Building rows through the ORM while holding it kept people
from saving for seconds, so there the rows are made ready before and go in by plain inserts.
"""

from collections.abc import Iterable, Iterator, Sequence
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
    """Items of a file, as far as they can be made ready outside a transaction."""

    def __init__(self, study: Study, checked: Sequence[CheckedItem]) -> None:
        self.study = study
        self.checked = checked
        self.is_plain = connection.vendor == "sqlite"
        self.items = [] if self.is_plain else [_build_item(study, item) for item in checked]
        self.rows = (
            [_prepare(_build_item(study, item)) for item in checked] if self.is_plain else []
        )

    def store(self, batch: Batch) -> None:
        """The items stand in the batch, with their outputs; inside a transaction."""
        names = sorted({output.system for item in self.checked for output in item.outputs})
        systems = _make_systems(self.study, names)
        if self.is_plain:
            self._insert(batch, systems)
        else:
            self._create(batch, systems)

    def _create(self, batch: Batch, systems: dict[str, int]) -> None:
        for item in self.items:
            item.batch_id = batch.pk
        pairs = zip(self.items, self.checked, strict=True)
        while chunk := list(islice(pairs, _CHUNK)):
            Item.objects.bulk_create([item for item, _ in chunk])
            ids = (item.pk for item, _ in chunk)
            rows = _list_outputs(ids, [checked for _, checked in chunk], systems)
            Output.objects.bulk_create(
                Output(study_id=self.study.pk, **dict(zip(_OUTPUT, row, strict=True)))
                for row in rows
            )

    def _insert(self, batch: Batch, systems: dict[str, int]) -> None:
        # the lock is held, so nobody else takes these ids
        last = Item.objects.aggregate(last=Max("id"))["last"] or 0
        ids = range(last + 1, last + 1 + len(self.rows))
        own = _adapt(Item, "batch_id", batch.pk)
        fields = [*_PER_ITEM, *(field.attname for field in _list_fields())]
        _insert_rows(
            Item, fields, ((pk, own, *row) for pk, row in zip(ids, self.rows, strict=True))
        )
        study = _adapt(Output, "study_id", self.study.pk)
        outputs = _list_outputs(ids, self.checked, systems)
        _insert_rows(Output, ["study_id", *_OUTPUT], ((study, *row) for row in outputs))


_OUTPUT = ("item_id", "system_id", "position", "text")


def _list_outputs(
    ids: Iterable[int], items: Sequence[CheckedItem], systems: dict[str, int]
) -> Iterator[tuple[int, int, int, str]]:
    """The values of `_OUTPUT` for every output of these items."""
    for pk, item in zip(ids, items, strict=True):
        for position, output in enumerate(item.outputs):
            yield pk, systems[output.system], position, output.text


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


# --- plain inserts ------------------------------------------------------------------


def _list_fields() -> list[Any]:
    return [field for field in Item._meta.concrete_fields if field.attname not in _PER_ITEM]


def _prepare(item: Item) -> tuple[Any, ...]:
    return tuple(
        field.get_db_prep_save(getattr(item, field.attname), connection) for field in _list_fields()
    )


def _adapt(model: type[Model], attname: str, value: Any) -> Any:
    """The value as the column of this name stores it."""
    field = next(one for one in model._meta.concrete_fields if one.attname == attname)
    return field.get_db_prep_save(value, connection)


def _insert_rows(
    model: type[Model], attnames: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> None:
    columns = {field.attname: str(field.column) for field in model._meta.concrete_fields}
    quote = connection.ops.quote_name
    names = ", ".join(quote(columns[name]) for name in attnames)
    marks = ", ".join(["%s"] * len(attnames))
    table = quote(model._meta.db_table)
    with connection.cursor() as cursor:
        # names of tables and columns come from the models, values go as parameters
        statement = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608
        cursor.executemany(statement, rows)  # type: ignore[arg-type]
