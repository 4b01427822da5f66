"""Files of metric scores from upload to storing: at once where they are small, else in a job."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Count

from evalsite.exports.exporting import write_rows
from evalsite.imports.core import hash_file
from evalsite.imports.metrics.checking import CheckedScores, check_scores
from evalsite.imports.metrics.storing import find_same_scores, store_scores
from evalsite.imports.models import MetricFile, MetricScore, Upload
from evalsite.imports.tables.table import Limits
from evalsite.imports.uploads import drop_upload, insist_on_bytes, is_large
from evalsite.jobs.models import Job
from evalsite.jobs.services import job_kind, start_job
from evalsite.studies.models import Item, Output, Study

IMPORT = "import metrics"
_FAULTS_TOLD = 20


@dataclass(frozen=True)
class Taken:
    """What became of an upload: its file, or the job at work on it, or its faults."""

    file: MetricFile | None = None
    checked: CheckedScores | None = None
    job: Job | None = None
    is_known: bool = False


def take_in(upload: Upload, *, by: Any) -> Taken:
    """The scores are stored; or a job that does it is under way, where that takes long."""
    if same := find_same_scores(upload.study, upload.sha256):
        drop_upload(upload)
        return Taken(file=same, is_known=True)
    if is_large(upload):
        job = start_job(IMPORT, study_id=upload.study_id, by=by, subject=str(upload.pk))
        return Taken(job=job)
    try:
        checked = _check(upload)
        if checked.faults and (same := find_same_scores(upload.study, upload.sha256)):
            # the first of two clicks was quicker: its own scores are the faults
            return Taken(file=same, is_known=True)
        file = None if checked.faults else _store(upload, checked, by=by)
    finally:
        drop_upload(upload)
    return Taken(file=file, checked=checked)


def _check(upload: Upload) -> CheckedScores:
    with upload.path.open("rb") as source:
        return check_scores(source, study=upload.study)


def _store(upload: Upload, checked: CheckedScores, *, by: Any) -> MetricFile:
    return store_scores(
        study=upload.study,
        checked=checked,
        file_name=upload.file_name,
        sha256=upload.sha256,
        by=by,
    )


@job_kind(IMPORT)
def run_import(job: Job) -> dict[str, Any]:
    """The scores are stored, once; ValidationError tells the first faults."""
    upload = Upload.objects.select_related("study").filter(pk=job.subject).first()
    if upload is None:
        raise ValidationError("The file is gone. Upload it again.")
    insist_on_bytes(upload)
    checked = _check(upload)
    if checked.faults and (same := find_same_scores(upload.study, upload.sha256)):
        # of another job, or of this one before it was killed
        drop_upload(upload)
        return {"file": str(same.pk), "scores": 0}
    if checked.faults:
        told = [str(fault) for fault in checked.faults[:_FAULTS_TOLD]]
        if (more := len(checked.faults) - len(told)) > 0:
            told.append(f"And {more:,} more.")
        raise ValidationError([f"{upload.file_name} has faults: nothing was stored.", *told])
    file = _store(upload, checked, by=job.started_by)
    drop_upload(upload)
    return {"file": str(file.pk), "scores": len(checked.scores)}


def import_metrics_file(
    *, study: Study, path: Path, by: Any, is_check: bool = False
) -> tuple[MetricFile | None, CheckedScores | None]:
    """The file at this path is the study's, or only looked at; ValidationError tells its faults.

    Without what was checked, it is a file that stood here already.
    """
    sha256 = hash_file(path)
    if same := find_same_scores(study, sha256):
        return same, None
    with path.open("rb") as source:
        checked = check_scores(source, study=study, limits=Limits.of_command())
    if checked.faults and (same := find_same_scores(study, sha256)):
        return same, None
    if checked.faults:
        raise ValidationError([str(fault) for fault in checked.faults])
    if is_check:
        return None, checked
    file = store_scores(study=study, checked=checked, file_name=path.name, sha256=sha256, by=by)
    return file, checked


# --- what stands --------------------------------------------------------------------


@dataclass(frozen=True)
class Coverage:
    """How many of the study's outputs have a score of a metric."""

    metric: str
    outputs: int
    of: int

    @property
    def missing(self) -> int:
        return max(self.of - self.outputs, 0)


def list_files(study: Study) -> list[tuple[MetricFile, list[Coverage]]]:
    """Every file with its metrics, in a number of queries that does not grow."""
    total = find_outputs(study).count()
    of_file: dict[Any, list[Coverage]] = {}
    counted = MetricScore.objects.filter(file__study=study).order_by("metric")
    for file_id, metric, number in counted.values_list("file", "metric").annotate(n=Count("pk")):
        of_file.setdefault(file_id, []).append(Coverage(metric, number, total))
    files = MetricFile.objects.filter(study=study).select_related("uploaded_by")
    return [(file, of_file.get(file.pk, [])) for file in files]


def sum_up(files: list[tuple[MetricFile, list[Coverage]]]) -> list[Coverage]:
    """By metric, whichever files its scores are from."""
    found: dict[str, Coverage] = {}
    for _, parts in files:
        for one in parts:
            before = found.get(one.metric)
            outputs = one.outputs + (before.outputs if before else 0)
            found[one.metric] = Coverage(one.metric, outputs, one.of)
    return sorted(found.values(), key=lambda one: one.metric)


def find_outputs(study: Study) -> Any:
    """The outputs that a metric can score: those of results."""
    return Output.objects.filter(item__study=study, item__kind=Item.Kind.MAIN)


def write_template(study: Study, *, only_missing: bool = False) -> str:
    """A file to fill in: a row for each output; or for each score that is missing."""
    rows = _list_missing(study) if only_missing else _list_empty(study)
    return write_rows([("item", "system", "metric", "value"), *rows])


def _list_empty(study: Study) -> Iterator[tuple[str, ...]]:
    for _, item, system in _list_outputs(study):
        yield item, system, "", ""


def _list_missing(study: Study) -> Iterator[tuple[str, ...]]:
    scores = MetricScore.objects.filter(file__study=study).order_by()
    known = set(scores.values_list("output_id", "metric").iterator())
    metrics = sorted({metric for _, metric in known})
    for pk, item, system in _list_outputs(study):
        yield from ((item, system, one, "") for one in metrics if (pk, one) not in known)


def _list_outputs(study: Study) -> Iterator[tuple[int, str, str]]:
    outputs = find_outputs(study).order_by("item_id", "position")
    rows = outputs.values_list("pk", "item__key", "system__name").iterator()
    return ((pk, key, system or "") for pk, key, system in rows)
