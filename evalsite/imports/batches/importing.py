"""Checked items become a batch of the study: all of them, or none."""

from hashlib import file_digest
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from evalsite.annotation.models import Annotation, Draft, Slot
from evalsite.annotation.pilot import discard_pilots
from evalsite.audit.models import AuditEntry
from evalsite.imports.batches.checking import Checked, check_file
from evalsite.imports.batches.storing import PreparedItems
from evalsite.imports.models import MetricFile, MetricScore, Upload
from evalsite.imports.uploads import clean_file_name
from evalsite.jobs.models import Job
from evalsite.studies.models import Batch, Item, Output, Study, System

_OPEN_JOB = (Job.State.WAITING, Job.State.RUNNING)


def find_same_file(study: Study, sha256: str) -> Batch | None:
    """The batch that this very file became earlier, if it did."""
    return Batch.objects.filter(study=study, sha256=sha256).first()


def import_batch(
    *,
    study: Study,
    checked: Checked,
    file_name: str,
    sha256: str,
    by: Any,
    upload_key: UUID | None = None,
) -> Batch:
    """The file is a batch of the study, once: sent again, the batch that stands is returned."""
    if same := find_same_file(study, sha256):
        return same
    if not checked.is_importable:
        raise ValidationError("The file has faults, so nothing was imported. Correct them first.")
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
                    uploaded_by=by if getattr(by, "is_authenticated", False) else None,
                ),
                by=by,
                upload_key=upload_key,
            )
        except IntegrityError:
            # the second of two clicks, or another file with the same ids, was quicker
            if same := find_same_file(study, sha256):
                return same
            raise ValidationError(
                "The study has changed since this file was checked. Look at the file again."
            ) from None


@transaction.atomic
def _store(items: PreparedItems, batch: Batch, *, by: Any, upload_key: UUID | None) -> Batch:
    """The batch and all of its items stand, and the log and the upload say so."""
    batch.save(force_insert=True)
    items.store(batch)
    # last: whoever else changes the study meanwhile waits for moments only
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


def import_file(
    *, study: Study, path: Path, by: Any, mapping: dict[str, str] | None = None
) -> Batch:
    """The file at this path is a batch of the study; ValidationError tells its faults."""
    sha256 = hash_file(path)
    if same := find_same_file(study, sha256):
        return same
    with path.open("rb") as source:
        checked = check_file(source, study=study, mapping=mapping)
    if checked.faults:
        raise ValidationError([str(fault) for fault in checked.faults])
    return import_batch(study=study, checked=checked, file_name=path.name, sha256=sha256, by=by)


def hash_file(path: Path) -> str:
    with path.open("rb") as source:
        return file_digest(source, "sha256").hexdigest()


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
        # a pilot may have been shown some of them again
        Item.objects.filter(repeat_of__batch=batch).delete()
        # one statement a table: nothing else refers to items that nobody has seen, and to collect
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
    """What metrics said of these outputs goes with them; returns how many scores went."""
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
    # no_key: whoever adds a row that refers to the study, as each newcomer does, need not wait
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
    # drafts go with their items, so whoever has one is looking at the batch
    for model in (Slot, Annotation, Draft):
        if model.objects.filter(item__batch=batch).exists():
            raise ValidationError(
                "Somebody has worked on items of this batch already. It can't be undone any more."
            )
