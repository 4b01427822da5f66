"""Files of scores and of labels: stored once and as a whole, or taken back, with a log entry."""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.db.models import QuerySet

from evalsite.audit.models import AuditEntry
from evalsite.data.tables.files import clean_file_name
from evalsite.imports.core import HAS_CHANGED, HAS_FAULTS, Checked, Importer, Source
from evalsite.imports.models import JudgeFile, MetricFile
from evalsite.lib.deadlocks import in_transaction
from evalsite.studies.models import Study

WholeFile = JudgeFile | MetricFile


def store_once(
    importer: Importer,
    checked: Checked,
    source: Source,
    store_rows: Callable[[Any], None],
    *,
    by: Any,
) -> Any:
    """Store a checked file in one transaction; sent again, return the file that exists.

    `store_rows` stores the rows of the new file, and records that it was uploaded.
    """
    if same := importer.find_same(source.study, source.sha256):
        return same
    if not checked.is_importable:
        raise ValidationError(HAS_FAULTS)

    def store() -> Any:
        _insist_on_life(source.study)
        if same := importer.find_same(source.study, source.sha256):
            return same
        file = importer.record._default_manager.create(
            study=source.study,
            file_name=clean_file_name(source.file_name),
            sha256=source.sha256,
            import_notes=checked.import_notes,
            uploaded_by=by if getattr(by, "is_authenticated", False) else None,
        )
        store_rows(file)
        return file

    try:
        return in_transaction(store)
    except IntegrityError:
        # the second of two clicks was later, or what the rows refer to has changed meanwhile
        if same := importer.find_same(source.study, source.sha256):
            return same
        raise ValidationError(HAS_CHANGED) from None


def delete_with_rows(
    file: WholeFile, rows: QuerySet[Any], *, counted: str, action: str, by: Any
) -> None:
    """Delete a file and its rows, to which nothing refers, within a transaction.

    `counted`: the word under which the log says how many rows there were.
    """
    _insist_on_life(file.study)
    record_file(action, file, by=by, **{counted: rows.count()})
    rows._raw_delete(rows.db)
    file.delete()


def record_file(action: str, file: WholeFile, *, by: Any, **detail: Any) -> None:
    """Write into the log what was done with a file."""
    AuditEntry.objects.record(
        action,
        by=by,
        study_id=file.study_id,
        file=str(file.pk),
        file_name=file.file_name,
        sha256=file.sha256,
        **detail,
    )


def _insist_on_life(study: Study) -> None:
    """Lock the study; ValidationError of an archived one."""
    current = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if current.state == Study.State.ARCHIVED:
        raise ValidationError("This study is archived, so nothing is added to it or taken from it.")
