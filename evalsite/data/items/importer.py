"""Items of a file: what a check finds in them, and the batch that they become."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import STALE_AFTER, Job
from evalsite.core.jobs.schedule import scheduled
from evalsite.data.importing import (
    HAS_CHANGED,
    HAS_FAULTS,
    Field,
    Importer,
    Source,
    Target,
    Tell,
    describe_personal,
    import_path,
    insert_rows,
    is_personal,
    make_open_instrument,
)
from evalsite.data.items.choices import PAIRED, SOURCE_ID, find_former_names
from evalsite.data.items.columns import (
    INPUT,
    OF_SYSTEM,
    check_mapping,
    describe_kept,
    guess_mapping,
    is_numbered,
    is_per_output,
    is_reference,
    list_fields,
    make_plan,
    name_inputs,
)
from evalsite.data.items.item_builder import ItemBuilder
from evalsite.data.items.items import CheckedItem, CheckedItems, CheckedOutput, Items
from evalsite.data.items.open_inputs import (
    find_kind,
    guess_open,
    list_inputs,
    list_output_cells,
    summarise_open,
)
from evalsite.data.models import MetricFile, MetricScore, Upload
from evalsite.data.tables.files import clean_file_name
from evalsite.data.tables.reader import NAMES, SYSTEM_NAMES, FileMapping
from evalsite.data.tables.table import FIRST, JOIN, Fault, Remark, Row, Table
from evalsite.data.uploads import register
from evalsite.fieldwork.pilot import discard_pilots
from evalsite.handout.models import Annotation, Draft, Slot
from evalsite.lib.clock import now
from evalsite.lib.deadlocks import in_transaction
from evalsite.people.recruiting import set_default_checks
from evalsite.studies.items import count_words, keep_numbers, number_items
from evalsite.studies.models import Batch, Item, Output, Study, System
from evalsite.studies.summary_lines import count_of

EXAMPLES = 5  # items that a page shows as people will see them


class ItemImporter(Importer):
    """Items with their outputs, as a batch."""

    purpose = Upload.Purpose.ITEMS
    check_kind, import_kind, undo_kind = "check upload", "import batch", "undo batch"
    create_kind = "create study of upload"
    record = Batch
    link = "batch"
    checked = CheckedItems

    def list_fields(self, target: Target, mapping: Mapping[str, str]) -> list[Field]:
        fields = list_fields(target.instrument, mapping)
        if target.is_open:
            fields.insert(2, Field(INPUT, "Input, by its own name", "This item", "", True))
        return fields

    def guess(self, header: Sequence[str], target: Target) -> dict[str, str]:
        if target.is_open:
            return guess_open(header, [], {})
        return guess_mapping(header, target.instrument)

    def guess_from_rows(
        self,
        header: Sequence[str],
        target: Target,
        rows: Sequence[Sequence[str]],
        chosen: Mapping[str, str],
    ) -> dict[str, str]:
        if target.is_open:
            return guess_open(header, rows, chosen)
        return guess_mapping(header, target.instrument, rows, chosen)

    def settle(self, guess: Mapping[str, str], chosen: Mapping[str, str]) -> dict[str, str]:
        fields = set(chosen.values())
        # any number of columns may be outputs of systems
        once = {
            column: field for column, field in chosen.items() if field not in (OF_SYSTEM, INPUT)
        }
        guess = super().settle(guess, once)
        if OF_SYSTEM in fields:
            fields = set(filter(is_per_output, guess.values()))
        elif any(is_per_output(field) for field in fields):
            fields = {OF_SYSTEM, *filter(is_numbered, guess.values())}
        else:
            return guess
        return {column: "" if field in fields else field for column, field in guess.items()}

    def get_merging(self, field: str, target: Target) -> str:
        if field in name_inputs(target.instrument):
            return JOIN
        return FIRST if field in ("item", "group", "cluster", "system", "output") else ""

    def map_inputs(self, columns: Collection[str], target: Target) -> dict[str, str]:
        return dict.fromkeys(columns, INPUT) if target.is_open else {}

    def complete(self, target: Target, checked: CheckedItems, rows: Sequence[Row]) -> Target:
        if not target.is_open:
            return target
        cells = [row.cells for row in rows]
        checked.inputs = list_inputs(checked, cells)
        if find_kind(list_output_cells(checked.mapping, cells)) == "conversation":
            checked.output_kind = "conversation"
        inputs = [*checked.inputs.values()]
        return replace(target, instrument=make_open_instrument(inputs, checked.output_kind))

    def map_systems(self, columns: Collection[str]) -> dict[str, str]:
        return dict.fromkeys(columns, OF_SYSTEM)

    def describe_columns(self, checked: CheckedItems, rows: Sequence[Row]) -> dict[str, str]:
        # what lacks columns lists all there are
        if not any(fault.code == "column_missing" for fault in checked.faults):
            checked.kept = describe_kept(checked.mapping, [row.cells for row in rows])
        return {
            column: note
            for number, column in enumerate(checked.header)
            if (
                note := _describe_column(
                    column,
                    checked.mapping[column],
                    [row.cells[number] for row in rows if number < len(row.cells)],
                )
            )
        }

    def check_mapping(self, checked: CheckedItems, target: Target, table: Table) -> list[Fault]:
        return check_mapping(checked, target.instrument, table)

    def make_reader(
        self, checked: CheckedItems, target: Target, options: Mapping[str, Any]
    ) -> "ItemReader":
        return ItemReader(checked, target, options)

    def check_columns(self, checked: CheckedItems) -> list[Remark]:
        kept = [column for column, field in checked.mapping.items() if not field]
        sentence = describe_personal(kept)
        return [Remark("personal_columns", sentence)] if sentence else []

    def summarise(self, checked: CheckedItems, target: Target) -> dict[str, Any]:
        in_file = {new: old for old, new in checked.renamed.items()}
        counts = checked.items.of_systems
        summary: dict[str, Any] = {
            "left_out": checked.left_out,
            "drawn_of": checked.drawn_of,
            "paired": find_note(checked.import_notes, PAIRED),
            "items": len(checked.items),
            "outputs": checked.outputs,
            "systems": len(checked.systems),
            "records": checked.items.records,
            # what the file calls each system, its name here, and how many outputs it has
            "names": [[in_file.get(name, name), name, counts[name]] for name in counts],
            "first_items": [
                *islice(_group_records(checked.items), 0 if target.is_open else EXAMPLES)
            ],
            # the first items: key, whether it is one output of several, inputs, systems and texts
            "examples": [
                {
                    "key": item.key,
                    "is_part": item.is_part,
                    "inputs": item.inputs,
                    "outputs": [[output.system, output.text] for output in item.outputs],
                }
                for item in checked.items[: 0 if target.is_open else EXAMPLES]
            ],
        }
        return summary | (summarise_open(checked) if target.is_open else {})

    def write_head(self, checked: CheckedItems) -> dict[str, Any]:
        return {
            "rows": checked.rows,
            "left_out": checked.left_out,
            "import_notes": checked.import_notes,
            "items": len(checked.items),
            "outputs": checked.outputs,
            "systems": checked.systems,
        }

    def write_rows(self, checked: CheckedItems) -> Iterator[Any]:
        for item in checked.items:
            outputs = [(output.system, output.text) for output in item.outputs]
            yield (
                item.key, item.group, item.line, item.record, outputs, item.inputs, item.kind,
                item.cluster, item.extra, item.gold,
            )  # fmt: skip

    def read_kept(
        self, head: Mapping[str, Any], read_rows: Callable[[], Iterator[Any]]
    ) -> CheckedItems:
        def read_items() -> Iterator[CheckedItem]:
            for key, group, line, record, outputs, *rest in read_rows():
                texts = tuple(CheckedOutput(*output) for output in outputs)
                yield CheckedItem(key, group, line, record, texts, *rest)

        return CheckedItems(
            rows=head["rows"],
            left_out=head["left_out"],
            import_notes=head["import_notes"],
            items=Items(
                read_items,
                count=head["items"],
                outputs=head["outputs"],
                systems=head["systems"],
            ),
        )

    def store(
        self, checked: CheckedItems, source: Source, *, by: Any, tell: Tell | None = None
    ) -> Batch:
        return import_batch(
            study=source.study,
            checked=checked,
            file_name=source.file_name,
            sha256=source.sha256,
            by=by,
            upload_key=source.upload_key,
            tell=tell,
        )

    def undo(self, record: Batch, *, by: Any) -> None:
        undo_batch(batch=record, by=by)


def _group_records(items: Iterable[CheckedItem]) -> Iterator[dict[str, Any]]:
    """Yield what the file has as one item, whatever people see of it at once."""
    key = attrgetter("record_key")
    for name, parts in groupby(items, key):
        first, *more = parts
        outputs = {output.system: output.text for item in (first, *more) for output in item.outputs}
        yield {
            "key": first.extra.get(SOURCE_ID, name),
            "line": first.line,
            "inputs": first.inputs,
            "outputs": [*map(list, outputs.items())],
        }


def find_note(notes: Sequence[Mapping[str, Any]], code: str) -> str:
    """Return the text of the note with this code; "" if there is none."""
    return next((str(note["text"]) for note in notes if note["code"] == code), "")


def _describe_column(column: str, field: str, cells: Sequence[str]) -> str:
    """Return what the first cells of a column contain, and what is asked about it."""
    filled = [cell for cell in cells if cell.strip()]
    if not field and is_reference(column):
        return "Is this a reference or a system? If a system wrote it, choose that here."
    if not filled:
        return "Empty in the first rows" if cells else ""
    if field == "" and is_personal(column):
        return "Looks personal"
    return ""


class ItemReader:
    """Puts the rows of a file together to items."""

    def __init__(self, checked: CheckedItems, target: Target, options: Mapping[str, Any]) -> None:
        self._checked = checked
        chosen = options.get(SYSTEM_NAMES) or {}
        former = {} if target.is_draft else find_former_names(target.study)
        self._former = {old: name for old, name in former.items() if old not in chosen}
        names = self._former | chosen
        plan = make_plan(checked, target.instrument)
        self._builder = ItemBuilder(target, checked.header, plan, {**options, SYSTEM_NAMES: names})
        checked.renamed = self._builder.splitter.renamed
        self._builder.empty.reasons = {
            (item, names.get(system, system)): reason
            for (item, system), reason in checked.failures.items()
        }
        self.add: Callable[[Row], None] = self._builder.add
        if plan.is_named_by_file and checked.system_name not in (options.get(NAMES) or {}).values():
            self._builder.remarks.tell(
                "system_named",
                f"These outputs will be called “{checked.system_name}”, after the file. Rename "
                f"them, or give the name with the file (alpha={checked.file_name})",
            )
        if sentence := describe_personal(plan.extra):
            self._builder.remarks.tell("personal_columns", sentence)

    def close(self) -> None:
        self._checked.faults += self._builder.faults
        self._checked.left_out = self._builder.left_out
        self._checked.remarks = self._builder.remarks.listed()

    def finish(self) -> None:
        checked, known = self._checked, len(self._builder.faults)
        checked.items = self._builder.finish()
        checked.drawn_of = self._builder.part.drawn_of
        checked.left_out = self._builder.left_out
        checked.notes |= self._describe_values()
        checked.decisions += self._builder.list_decisions()
        checked.import_notes += self._builder.list_notes()
        checked.faults += self._builder.faults[known:]
        if not checked.items and not checked.faults:
            message = (
                "Every row was left out, so there is nothing to import. Add rows of your own items."
            )
            if self._builder.has_joined:
                message = "The study has all of these outputs already. There is nothing to import."
            checked.faults.append(Fault("nothing_left", message))
        for old, new in checked.renamed.items():
            if old in self._former:
                self._builder.remarks.tell(
                    "system_renamed",
                    f"“{old}” was renamed to “{new}” in this study, so its outputs are counted as "
                    f"those of “{new}”. If another system wrote them, give that one another name",
                )
        checked.remarks = self._builder.remarks.listed()

    def _describe_values(self) -> dict[str, str]:
        """Return how many items and systems there are, beside the columns that name them."""
        columns = {field: column for column, field in self._checked.mapping.items()}
        notes = {}
        if "item" in columns:
            count = self._builder.count_items()
            notes[columns["item"]] = f"{count:,} different value{'' if count == 1 else 's'}"
        if "system" in columns:
            count = self._builder.count_systems()
            notes[columns["system"]] = (
                f"{count_of(count, 'system')}, never shown to people who rate"
            )
        return notes


ITEMS = register(ItemImporter())


def import_file(
    *,
    study: Study,
    path: Path,
    by: Any,
    mapping: FileMapping | None = None,
) -> Batch:
    """Import the file at this path as a batch. Raise ValidationError with its faults."""
    batch: Batch = import_path(ITEMS, study=study, path=path, by=by, mapping=mapping)
    return batch


# --- storing ----------------------------------------------------------------------------

# SQLite has one lock for all who write, so items are stored in short transactions, while nothing
# shows the batch (`Batch.stored_at`); one update shows all of them. An undo is the same update
# backwards. What a killed process leaves behind is deleted by the worker, or by the next import.


_OPEN_JOB = (Job.State.WAITING, Job.State.RUNNING)
# of a transaction: items, and characters, so that long texts don't fill the memory
_ITEMS_AT_ONCE, _CHARACTERS_AT_ONCE = 500, 4_000_000
_ITEM_FIELDS = (
    "study", "batch", "key", "group", "cluster", "kind", "inputs", "extra", "gold",
    "shuffle_key", "group_shuffle_key",
)  # fmt: skip
_OUTPUT_FIELDS = ("study", "item", "system", "position", "text")


class _Overtaken(Exception):
    """Another import of the same file has begun, and this one stops."""


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
    tell: Tell | None = None,
) -> Batch:
    """Import the file as a batch of the study; sent again, return the batch it became.

    `tell` hears how many items of how many are stored.
    """
    if earlier := find_same_file(study, sha256):
        return earlier
    if not checked.is_importable:
        raise ValidationError(HAS_FAULTS)
    # an earlier import of this file broke off, or is the first of two clicks and stops now
    _give_up(Batch.all_objects.filter(study=study, sha256=sha256))
    _delete_remains(Batch.all_objects.filter(study=study))
    batch = Batch(
        study=study,
        file_name=clean_file_name(file_name),
        sha256=sha256,
        rows=checked.rows_taken,
        stored_at=None,
        written_at=now(),
        import_notes=checked.import_notes,
        uploaded_by=by if getattr(by, "is_authenticated", False) else None,
    )
    is_short = len(checked.items) <= _ITEMS_AT_ONCE
    try:
        # a short file in one transaction, for which the second of two clicks waits
        with transaction.atomic() if is_short else nullcontext():
            _write(batch, checked, tell)
            return _show(batch, checked, by=by, upload_key=upload_key)
    except (IntegrityError, _Overtaken):
        # the other of two clicks, or another file with the same ids, was quicker
        _clear(batch)
        if earlier := find_same_file(study, sha256):
            return earlier
        raise ValidationError(HAS_CHANGED) from None
    except BaseException:
        _clear(batch)
        raise


def _write(batch: Batch, checked: CheckedItems, tell: Tell | None) -> None:
    """Store all items, which nothing shows yet."""
    stored, total = 0, len(checked.items)
    with transaction.atomic():
        _lock(batch.study_id)
        batch.save(force_insert=True)
        systems = _make_systems(batch.study, checked.systems)
    numbers_of = number_items(batch.study)
    whose = (batch.study_id.hex, batch.pk.hex)
    for items in _list_portions(checked.items):
        with transaction.atomic():
            _sign(batch, written_at=now())
            ids = insert_rows(
                Item,
                _ITEM_FIELDS,
                [
                    (*whose, *item.list_values(), *numbers_of(item.key, item.group))
                    for item in items
                ],
            )
            outputs = (
                (whose[0], pk, systems[output.system], position, output.text)
                for pk, item in zip(ids, items, strict=True)
                for position, output in enumerate(item.outputs)
            )
            insert_rows(Output, _OUTPUT_FIELDS, outputs)
        stored += len(items)
        if tell is not None:
            tell(stored, total)


def _list_portions(items: Iterable[CheckedItem]) -> Iterator[list[CheckedItem]]:
    """Yield the items of one transaction after another."""
    portion: list[CheckedItem] = []
    characters = 0
    for item in items:
        portion.append(item)
        characters += sum(len(output.text) for output in item.outputs)
        characters += sum(map(len, item.inputs.values()))
        if len(portion) == _ITEMS_AT_ONCE or characters > _CHARACTERS_AT_ONCE:
            yield portion
            portion, characters = [], 0
    if portion:
        yield portion


def _make_systems(study: Study, names: Iterable[str]) -> dict[str, int]:
    """Create the systems of these names that are missing; return the ids of all."""
    System.all_objects.bulk_create(
        (System(study=study, name=name, is_stored=False) for name in sorted(names)),
        # another file may bring the same at this moment
        ignore_conflicts=True,
    )
    return dict(System.all_objects.filter(study=study).values_list("name", "id"))


def _sign(batch: Batch, **values: datetime | None) -> None:
    """Note that the import is still alive, unless it was given up meanwhile."""
    mine = Batch.all_objects.filter(pk=batch.pk, stored_at=None, written_at__isnull=False)
    if not mine.update(**values):
        raise _Overtaken


@transaction.atomic
def _show(batch: Batch, checked: CheckedItems, *, by: Any, upload_key: UUID | None) -> Batch:
    """From here on the study has these items; it is recorded in the log and the upload."""
    study = batch.study
    check_open_for_items(study)
    batch.stored_at = batch.uploaded_at = now()
    batch.written_at = None
    _sign(batch, stored_at=batch.stored_at, uploaded_at=batch.uploaded_at, written_at=None)
    is_of_batch = Exists(Output.objects.filter(system=OuterRef("pk"), item__batch=batch))
    System.all_objects.filter(is_of_batch, study=study, is_stored=False).update(is_stored=True)
    if upload_key is not None:
        waiting = Upload.objects.filter(pk=upload_key, study=study)
        if not waiting.update(batch=batch):
            raise ValidationError("This file was given up meanwhile, so nothing was imported.")
    AuditEntry.objects.record(
        "batch imported",
        by=by,
        study_id=batch.study_id,
        batch=str(batch.pk),
        rows=batch.rows,
        items=len(checked.items),
        sha256=batch.sha256,
    )
    count_words(study)
    set_default_checks(study, by=by)
    return batch


def undo_batch(*, batch: Batch, by: Any) -> None:
    """The batch was never there, but for the log; refused once participants may have seen it.

    What pilots have answered goes with it: finding such faults is what they are for.
    """
    in_transaction(partial(_hide, batch, by=by))
    _delete_remains(Batch.all_objects.filter(study=batch.study_id))


def _hide(batch: Batch, *, by: Any) -> None:
    """From here on the study doesn't have these items."""
    study = batch.study
    check_open_for_items(study)
    if not Batch.objects.filter(pk=batch.pk).exists():
        return  # undone already
    pilots = discard_pilots(study)
    _check_unseen(batch)
    items = Item.objects.filter(batch=batch)
    counts = {"items": items.count(), "rows": batch.rows}
    keep_numbers(study, without=study.items.filter(Q(batch=batch) | Q(repeat_of__batch=batch)))
    # a pilot may have been shown some of them again
    Item.objects.filter(repeat_of__batch=batch).delete()
    counts["scores"] = MetricScore.objects.filter(output__item__batch=batch).count()
    Batch.objects.filter(pk=batch.pk).update(stored_at=None)
    is_shown = Exists(Output.objects.stored().filter(system=OuterRef("pk")))
    System.objects.filter(~is_shown, study=study).update(is_stored=False)
    count_words(study)
    AuditEntry.objects.record(
        "batch undone",
        by=by,
        study_id=study.pk,
        batch=str(batch.pk),
        sha256=batch.sha256,
        pilot_answers=pilots,
        **counts,
    )


def takes_items(study: Study) -> bool:
    """Whether batches may be added: until the study is closed. Later ones wait to be opened."""
    return study.state in (Study.State.DRAFT, Study.State.LIVE, Study.State.PAUSED)


def check_open_for_items(study: Study) -> None:
    """Raise ValidationError if this study takes no further items; inside a transaction."""
    current = _lock(study.pk)
    if not takes_items(current):
        raise ValidationError(
            f"This study is {current.state}, so it takes no further items. Make a new study for "
            "them."
        )
    if Job.objects.filter(study_id=study.pk, kind="launch", state__in=_OPEN_JOB).exists():
        raise ValidationError("This study is being launched just now, so its items are fixed.")


def _check_unseen(batch: Batch) -> None:
    if Batch.objects.filter(pk=batch.pk, opened_at__isnull=False).exists():
        raise ValidationError("This batch is open to people. It can't be undone any more.")
    # a draft means that someone is looking at an item of the batch
    for model in (Slot, Annotation, Draft):
        if model.objects.filter(item__batch=batch).exists():
            raise ValidationError(
                "This batch can't be undone: people have worked on its items already."
            )


# --- what is left --------------------------------------------------------------------------


@scheduled("Delete items of undone batches, and of imports that broke off", is_deleting=True)
def prune_batches() -> None:
    """Delete items that nothing shows and no import is writing, in short transactions."""
    _delete_remains(Batch.all_objects.all())


def _delete_remains(batches: QuerySet[Batch]) -> None:
    batches = batches.filter(stored_at=None)
    _give_up(batches.filter(written_at__lt=now() - STALE_AFTER))
    for batch in batches.filter(written_at=None):
        _delete(batch)


def _give_up(batches: QuerySet[Batch]) -> None:
    """Whatever is writing these batches stops at its next transaction."""
    batches = batches.filter(stored_at=None, written_at__isnull=False)
    for batch in batches.select_related("study"):
        with transaction.atomic():
            _lock(batch.study_id)
            written = batches.filter(pk=batch.pk)
            if list(written.select_for_update()):  # else its import has ended meanwhile
                keep_numbers(batch.study, without=Item.all_objects.filter(batch=batch))
                written.update(written_at=None)


def _clear(batch: Batch) -> None:
    """Delete what a refused import has stored; if the database is gone, the worker does."""
    with suppress(DatabaseError):
        _give_up(Batch.all_objects.filter(pk=batch.pk))
        for left in Batch.all_objects.filter(pk=batch.pk, stored_at=None):
            _delete(left)


def _delete(batch: Batch) -> None:
    while in_transaction(partial(_delete_portion, batch)):
        pass


def _delete_portion(batch: Batch) -> bool:
    """Delete some of its items, or at last the batch; return whether there may be more."""
    # one at a time: the worker may be at it, too
    _lock(batch.study_id)
    if not Batch.all_objects.filter(pk=batch.pk, stored_at=None).exists():
        return False
    items = Item.all_objects.filter(batch=batch).order_by("id").values_list("pk", flat=True)
    if ids := list(items[:_ITEMS_AT_ONCE]):
        # nothing else refers to items that nobody has seen; to collect them one by one held the
        # lock for twenty times as long
        scores = MetricScore.all_objects.filter(output__item__in=ids).order_by()
        scores._raw_delete(scores.db)
        outputs = Output.objects.filter(item__in=ids).order_by()
        outputs._raw_delete(outputs.db)
        rows = Item.all_objects.filter(pk__in=ids).order_by()
        rows._raw_delete(rows.db)
        return True
    Batch.all_objects.filter(pk=batch.pk).delete()
    MetricFile.objects.filter(study=batch.study_id, scores__isnull=True).delete()
    if not Batch.all_objects.filter(study=batch.study_id, written_at__isnull=False).exists():
        # another import might need them for its first items
        unused = System.all_objects.filter(study=batch.study_id, is_stored=False)
        unused.filter(outputs__isnull=True).delete()
    return False


def _lock(study_id: UUID) -> Study:
    # no_key: adding a row that refers to the study, as each newcomer does, needn't wait
    return Study.objects.select_for_update(no_key=True).get(pk=study_id)
