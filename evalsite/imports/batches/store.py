"""Checked items become a batch of the study: all of them, or none; and out of it again.

SQLite has one lock for all who write. Building rows while holding it kept people from saving for
seconds. So the rows wait in temporary tables of this connection, which take no lock, and one
statement for each table moves them, in half the time of inserting them one by one. PostgreSQL lets
others write meanwhile: it gets the rows as a stream (COPY), which takes a fraction of that time.
"""

from array import array
from collections.abc import Iterable
from itertools import islice
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.db.models import Max, Model, Q, QuerySet

from evalsite.annotation.models import Annotation, Draft, Slot
from evalsite.annotation.running.pilot import discard_pilots
from evalsite.audit.models import AuditEntry
from evalsite.imports.batches.items import CheckedItem, CheckedItems, Items
from evalsite.imports.bulk import copy_rows, quote_table
from evalsite.imports.core import HAS_CHANGED, HAS_FAULTS
from evalsite.imports.models import MetricFile, MetricScore, Upload
from evalsite.imports.uploads import clean_file_name
from evalsite.jobs.models import Job
from evalsite.lib.transactions import deferred_transaction
from evalsite.studies.item_numbers import keep_numbers
from evalsite.studies.models import Batch, Item, Output, Study, System
from evalsite.studies.services import number_items

_OPEN_JOB = (Job.State.WAITING, Job.State.RUNNING)
# what differs between the items of a batch
_FIELDS = (
    "key", "group", "cluster", "kind", "inputs", "extra", "gold",
    "shuffle_key", "group_shuffle_key",
)  # fmt: skip
_TEXTS = "key text, grp text, cluster text, kind text, inputs text, extra text, gold text"
_ITEM_TABLE = f"(no INTEGER PRIMARY KEY, {_TEXTS}, shuffle_key bigint, group_shuffle_key bigint)"
_OUTPUT_TABLE = "(item integer, position integer, system text, text text)"
_AT_ONCE, _COPIED_AT_ONCE = 500, 2_000  # items that are written at once


def find_same_file(study: Study, sha256: str) -> Batch | None:
    """Return the batch that this very file became earlier, if it did."""
    return Batch.objects.filter(study=study, sha256=sha256).first()


def import_batch(
    *,
    study: Study,
    checked: CheckedItems,
    file_name: str,
    sha256: str,
    by: Any,
    upload_key: UUID | None = None,
) -> Batch:
    """Import the file as a batch of the study; sent again, return the batch it became."""
    if same := find_same_file(study, sha256):
        return same
    if not checked.is_importable:
        raise ValidationError(HAS_FAULTS)
    # before the transaction, which holds SQLite's only writer lock
    with PreparedItems(study, checked.items) as items:
        try:
            return _store(
                items,
                Batch(
                    study=study,
                    file_name=clean_file_name(file_name),
                    sha256=sha256,
                    rows=checked.rows_taken,
                    import_notes=checked.import_notes,
                    uploaded_by=by if getattr(by, "is_authenticated", False) else None,
                ),
                by=by,
                upload_key=upload_key,
            )
        except IntegrityError:
            # the second of two clicks, or another file with the same ids, was quicker
            if same := find_same_file(study, sha256):
                return same
            raise ValidationError(HAS_CHANGED) from None


@transaction.atomic
def _store(items: "PreparedItems", batch: Batch, *, by: Any, upload_key: UUID | None) -> Batch:
    """Store the batch and all of its items, and record it in the log and the upload."""
    batch.save(force_insert=True)
    items.store(batch)
    # last, so that others who change the study wait only for a moment
    check_open_for_items(batch.study)
    if upload_key is not None:
        waiting = Upload.objects.filter(pk=upload_key, study=batch.study)
        if not waiting.update(batch=batch):
            raise ValidationError("This file was given up meanwhile, so nothing was imported.")
    AuditEntry.objects.record(
        "batch imported",
        by=by,
        study_id=batch.study_id,
        batch=str(batch.pk),
        rows=batch.rows,
        items=len(items.checked),
        sha256=batch.sha256,
    )
    return batch


def undo_batch(*, batch: Batch, by: Any) -> None:
    """The batch was never there, but for the log; refused once participants may have seen it.

    What pilots have answered goes with it: finding such faults is what they are for.
    """
    study = batch.study
    with transaction.atomic():
        check_open_for_items(study)
        pilots = discard_pilots(study)
        _check_unseen(batch)
        items = Item.objects.filter(batch=batch)
        counts = {"items": items.count(), "rows": batch.rows}
        keep_numbers(study, without=study.items.filter(Q(batch=batch) | Q(repeat_of__batch=batch)))
        # a pilot may have been shown some of them again
        Item.objects.filter(repeat_of__batch=batch).delete()
        # one statement a table: nothing else refers to items that nobody has seen; to collect
        # them one by one held the lock for twenty times as long
        outputs = Output.objects.filter(item__batch=batch)
        counts["scores"] = _drop_scores(study, outputs)
        outputs._raw_delete(outputs.db)
        items._raw_delete(items.db)
        AuditEntry.objects.record(
            "batch undone",
            by=by,
            study_id=study.pk,
            batch=str(batch.pk),
            sha256=batch.sha256,
            pilot_answers=pilots,
            **counts,
        )
        batch.delete()
        System.objects.filter(study=study, outputs__isnull=True).delete()


def _drop_scores(study: Study, outputs: QuerySet[Output]) -> int:
    """Remove what metrics said of these outputs; return how many scores were removed."""
    scores = MetricScore.objects.filter(output__in=outputs).order_by()
    gone = scores.count()
    scores._raw_delete(scores.db)
    MetricFile.objects.filter(study=study, scores__isnull=True).delete()
    return gone


def takes_items(study: Study) -> bool:
    """Whether batches may be added: until the study is closed. Later ones wait to be opened."""
    return not study.is_launched or study.state in (Study.State.LIVE, Study.State.PAUSED)


def check_open_for_items(study: Study) -> None:
    """Raise ValidationError if this study takes no further items; inside a transaction."""
    # no_key: adding a row that refers to the study, as each newcomer does, needn't wait
    current = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if not takes_items(current):
        raise ValidationError(
            "This study is closed, so it takes no further items. Make a new study for them."
        )
    if Job.objects.filter(study_id=study.pk, kind="launch", state__in=_OPEN_JOB).exists():
        raise ValidationError("This study is being launched just now, so its items are fixed.")


def _check_unseen(batch: Batch) -> None:
    if Batch.objects.filter(pk=batch.pk, opened_at__isnull=False).exists():
        raise ValidationError("This batch is open to participants. It can't be undone any more.")
    # a draft means that someone is looking at an item of the batch
    for model in (Slot, Annotation, Draft):
        if model.objects.filter(item__batch=batch).exists():
            raise ValidationError(
                "This batch can't be undone: people have worked on its items already."
            )


class PreparedItems:
    """Items of a file, made ready outside a transaction; what they took up is freed at the end."""

    def __init__(self, study: Study, checked: Items) -> None:
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
        """Store the items and their outputs; inside a transaction."""
        systems = _make_systems(self.study, self.checked.systems)
        if connection.vendor == "sqlite":
            _move_staged(batch, systems)
        else:
            _copy(batch, self.checked, systems)


def _make_systems(study: Study, names: Iterable[str]) -> dict[str, int]:
    """Create the systems of these names that are missing; return the ids of all."""
    System.objects.bulk_create(
        (System(study=study, name=name) for name in sorted(names)),
        # another file may bring the same at this moment
        ignore_conflicts=True,
    )
    return dict(System.objects.filter(study=study).values_list("name", "id"))


# --- SQLite: temporary tables ---------------------------------------------------------
# names of tables and columns come from the models, values go as parameters


def _stage(study: Study, checked: Items) -> None:
    """The rows wait in temporary tables, items numbered from 1."""
    with connection.cursor() as cursor, deferred_transaction():
        cursor.execute(f"CREATE TEMP TABLE staged_item {_ITEM_TABLE}")
        cursor.execute(f"CREATE TEMP TABLE staged_output {_OUTPUT_TABLE}")
        cursor.execute("CREATE TEMP TABLE staged_system (name text PRIMARY KEY, id integer)")
        marks = ", ".join(["%s"] * (1 + len(_FIELDS)))
        numbered = enumerate(checked, start=1)
        numbers_of = number_items(study)
        while some := list(islice(numbered, _AT_ONCE)):
            cursor.executemany(
                f"INSERT INTO temp.staged_item VALUES ({marks})",  # noqa: S608
                [
                    (number, *item.list_values(), *numbers_of(item.key, item.group))
                    for number, item in some
                ],
            )
            cursor.executemany(
                "INSERT INTO temp.staged_output VALUES (%s, %s, %s, %s)",
                [output for number, item in some for output in _list_outputs(number, item)],
            )


def _list_outputs(number: int, item: CheckedItem) -> list[tuple[int, int, str, str]]:
    """Number of the item, place from 0, system, text."""
    return [(number, place, one.system, one.text) for place, one in enumerate(item.outputs)]


def _move_staged(batch: Batch, systems: dict[str, int]) -> None:
    """The rows that wait are the batch's; inside a transaction."""
    # the lock keeps others from taking these ids
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


def _copy(batch: Batch, checked: Items, systems: dict[str, int]) -> None:
    """The items and their outputs are the batch's; inside a transaction."""
    numbers_of = number_items(batch.study)
    # as texts: to write them takes longer than all else of a row
    study_id, batch_id = str(batch.study_id), str(batch.pk)
    with connection.cursor() as cursor:
        ids = _take_ids(cursor, len(checked))
        columns = ", ".join(["id", "study_id", "batch_id", *map(_name_column, _FIELDS)])
        item_table = f"{quote_table(Item)} ({columns})"
        output_table = f"{quote_table(Output)} (study_id, item_id, system_id, position, text)"
        numbered = zip(ids, checked, strict=True)
        # some at a time: the items are made again in each pass
        while some := list(islice(numbered, _COPIED_AT_ONCE)):
            copy_rows(
                cursor,
                item_table,
                (
                    (pk, study_id, batch_id, *item.list_values(), *numbers_of(item.key, item.group))
                    for pk, item in some
                ),
            )
            copy_rows(
                cursor,
                output_table,
                (
                    (study_id, pk, systems[output.system], position, output.text)
                    for pk, item in some
                    for position, output in enumerate(item.outputs)
                ),
            )
        # the references are checked here, before any lock on the study, and not at its commit
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def _take_ids(cursor: Any, count: int) -> "array[int]":
    """Reserve this many new ids of items, in ascending order."""
    # in a separate statement: beside nextval the sequence would be looked up for every row
    cursor.execute("SELECT pg_get_serial_sequence(%s, 'id')", [quote_table(Item)])
    (sequence,) = cursor.fetchone()
    cursor.execute("SELECT nextval(%s::regclass) FROM generate_series(1, %s)", [sequence, count])
    return array("q", (row[0] for row in cursor.fetchall()))


# --- columns --------------------------------------------------------------------------


def _name_column(name: str) -> str:
    column = next(one.column for one in Item._meta.concrete_fields if one.name == name)
    return connection.ops.quote_name(str(column))


def _adapt(model: type[Model], attname: str, value: UUID) -> Any:
    """Return the value as the column of this name stores it."""
    field = next(one for one in model._meta.concrete_fields if one.attname == attname)
    return field.get_db_prep_save(value, connection)
