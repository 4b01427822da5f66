"""Checked scores become part of a study: all of them, or none; and out of it again."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection

from evalsite.audit.models import AuditEntry
from evalsite.imports.bulk import copy_rows, quote_table
from evalsite.imports.metrics.checking import CheckedScores, Score
from evalsite.imports.models import MetricFile, MetricScore
from evalsite.imports.uploads import clean_file_name
from evalsite.lib.deadlocks import in_transaction
from evalsite.studies.models import Study

_CHANGED = "The study has changed since this file was checked. Upload it again."


def find_same_scores(study: Study, sha256: str) -> MetricFile | None:
    """The very same file, if it was uploaded earlier."""
    return MetricFile.objects.filter(study=study, sha256=sha256).first()


def store_scores(
    *, study: Study, checked: CheckedScores, file_name: str, sha256: str, by: Any
) -> MetricFile:
    """The scores are the study's, once: sent again, the file that stands is returned."""
    if checked.faults:
        raise ValidationError([str(fault) for fault in checked.faults])
    try:
        return in_transaction(partial(_store, study, checked, file_name, sha256, by=by))
    except IntegrityError:
        # the second of two clicks was later, or an output of this file is gone
        if same := find_same_scores(study, sha256):
            return same
        raise ValidationError(_CHANGED) from None


def _store(
    study: Study, checked: CheckedScores, file_name: str, sha256: str, *, by: Any
) -> MetricFile:
    _insist_on_life(study)
    if same := find_same_scores(study, sha256):
        return same
    file = MetricFile.objects.create(
        study=study,
        file_name=clean_file_name(file_name),
        sha256=sha256,
        uploaded_by=by if getattr(by, "is_authenticated", False) else None,
    )
    insert_scores(file, checked.scores)
    AuditEntry.objects.record(
        "metrics uploaded",
        by=by,
        study_id=study.pk,
        file=str(file.pk),
        file_name=file.file_name,
        sha256=sha256,
        metrics=checked.metrics,
        scores=len(checked.scores),
    )
    return file


def insert_scores(file: MetricFile, scores: Sequence[Score]) -> None:
    """The scores stand as this file's. Rows, not objects: a hundred thousand take a second."""
    table = f"{quote_table(MetricScore)} (file_id, output_id, metric, value)"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            copy_rows(cursor, table, _list_rows(str(file.pk), scores))
            return
        cursor.executemany(
            f"INSERT INTO {table} VALUES (%s, %s, %s, %s)",  # noqa: S608 (our own names)
            _list_rows(file.pk.hex, scores),  # type: ignore[arg-type]
        )


def _list_rows(key: str, scores: Sequence[Score]) -> Iterator[tuple[object, ...]]:
    for score in scores:
        yield key, score.output_id, score.metric, score.value


def take_back_scores(*, file: MetricFile, by: Any) -> int:
    """The file was never uploaded, but for the log; returns how many scores went."""
    return in_transaction(partial(_delete, file, by=by))


def _delete(file: MetricFile, *, by: Any) -> int:
    _insist_on_life(file.study)
    scores = MetricScore.objects.filter(file=file).order_by()
    gone = scores.count()
    # nothing refers to them
    scores._raw_delete(scores.db)
    AuditEntry.objects.record(
        "metrics taken back",
        by=by,
        study_id=file.study_id,
        file=str(file.pk),
        file_name=file.file_name,
        sha256=file.sha256,
        scores=gone,
    )
    file.delete()
    return gone


def _insist_on_life(study: Study) -> None:
    """The study is locked; ValidationError of an archived one."""
    current = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if current.state == Study.State.ARCHIVED:
        raise ValidationError("This study is archived, so nothing is added to it or taken from it.")
