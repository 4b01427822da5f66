"""A study made of a file that was uploaded before there was one: all of it, once, or nothing."""

from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import job_kind, report_progress, start_job
from evalsite.data.importing import Report, Source, Tell, aim_at_instrument
from evalsite.data.items.columns import INPUT
from evalsite.data.items.importer import ITEMS
from evalsite.data.items.items import CheckedItems
from evalsite.data.models import Upload
from evalsite.data.tables.reader import FileMapping
from evalsite.data.uploads import (
    check_for,
    forget_bytes,
    import_upload,
    insist_on_bytes,
    insist_on_checked_bytes,
    is_imported,
    is_large,
    read_report,
)
from evalsite.handout.models import Annotation
from evalsite.instruments.installed import get_protocol
from evalsite.people.models import Consent
from evalsite.studies.models import InstrumentVersion, Study
from evalsite.studies.services import create_study
from evalsite.studies.version_cache import read_built

_GONE = "This file was given up meanwhile. Upload it again."


def create_study_from(
    upload: Upload, *, by: Any, inputs: Mapping[str, str], **fields: Any
) -> Study | None:
    """Make a study of this file, with these fields of `create_study`; None while a job makes it.

    `inputs` name those of the file by the names that the instrument has for them; others become
    metadata. Asked again, return the same study. ValidationError with the faults of the file, which
    then waits as before, and no study is made.
    """
    if upload.study is not None:
        return upload.study
    insist_on_bytes(upload)
    if not is_large(upload):
        return _create(upload, by=by, inputs=inputs, fields=fields)
    if version := fields.pop("instrument", None):
        fields["instrument"] = str(version.pk)
    kind = str(ITEMS.create_kind)
    start_job(
        kind, study_id=None, by=by, subject=str(upload.pk), inputs=inputs, fields=fields,
        mapping=upload.mapping.model_dump(mode="json"),
    )  # fmt: skip
    return None


def map_inputs(report: Report, inputs: Mapping[str, str]) -> dict[str, str]:
    """Return the mapping of the file with the names that its inputs have in an instrument."""
    names = {name: new for new, name in inputs.items()}
    columns = {
        input_column["column"]: names.get(input_column["name"], "")
        for input_column in report.summary["inputs"]
    }
    return {
        column: columns.get(column, "") if name == INPUT else name
        for column, name in report.mapping.items()
    }


def _create(
    upload: Upload,
    *,
    by: Any,
    inputs: Mapping[str, str],
    fields: Mapping[str, Any],
    tell: Tell | None = None,
) -> Study:
    version: InstrumentVersion | None = fields.get("instrument")
    instrument = get_protocol(fields["protocol"]) if version is None else read_built(version.pk, "")
    report = read_report(upload)
    if report is None:
        raise ValidationError("This file isn't checked yet. Look at it, then create the study.")
    mapping = upload.mapping.change(fields=map_inputs(report, inputs))
    insist_on_checked_bytes(upload)
    # before anything is stored: to read the file takes longer
    checked: CheckedItems = check_for(
        aim_at_instrument(instrument, upload.seed), upload, mapping=mapping, tell=tell
    )
    if not checked.is_importable:
        raise ValidationError([str(fault) for fault in checked.faults], code="faults")
    # at once if the file is short; of a long one a job goes on if its worker is killed
    with transaction.atomic() if tell is None else nullcontext():
        study = _attach(upload, mapping, by=by, fields=fields)
        if study is None:
            return _find_study(upload)
        source = Source(
            study=study,
            file_name=upload.file_name,
            sha256=upload.sha256,
            options=mapping.options,
            upload_key=upload.pk,
        )
        ITEMS.store(checked, source, by=by, tell=tell)
    forget_bytes(upload)
    return study


def _attach(
    upload: Upload, mapping: FileMapping, *, by: Any, fields: Mapping[str, Any]
) -> Study | None:
    """Make the study that the file then belongs to; None if another click was quicker."""
    try:
        with transaction.atomic():
            study = create_study(by=by, seed=upload.seed, **fields)
            waiting = Upload.objects.filter(pk=upload.pk, study=None)
            if not waiting.update(study=study, mapping=mapping):
                raise _NotTheFirst
            # the pages of the study show how far it is
            jobs = Job.objects.filter(kind=ITEMS.create_kind, subject=str(upload.pk))
            jobs.filter(study_id=None).update(study_id=study.pk)
    except _NotTheFirst:
        return None
    return study


class _NotTheFirst(Exception):
    """Another click was quicker, or the file was given up."""


def _find_study(upload: Upload) -> Study:
    current = Upload.objects.select_related("study").filter(pk=upload.pk).first()
    if current is None or current.study is None:
        raise ValidationError(_GONE)
    return current.study


@job_kind(ITEMS.create_kind)
def _run_create(job: Job) -> dict[str, Any]:
    upload = Upload.objects.select_related("study").filter(pk=job.subject).first()
    if upload is None:
        raise ValidationError(_GONE)
    try:
        return {"study": str(_finish(job, upload).pk)}
    except ValidationError:
        _take_back(job)
        raise


def _finish(job: Job, upload: Upload) -> Study:
    """Make the study with all of its items, or go on where an earlier worker was killed."""
    tell = partial(report_progress, job)
    if upload.study is None:
        insist_on_bytes(upload)
        fields = dict(job.params["fields"])
        if key := fields.get("instrument"):
            fields["instrument"] = InstrumentVersion.objects.get(pk=key)
        inputs = job.params["inputs"]
        return _create(upload, by=job.started_by, inputs=inputs, fields=fields, tell=tell)
    if not is_imported(upload):
        import_upload(upload, by=job.started_by, tell=tell)
    return upload.study


@transaction.atomic
def _take_back(job: Job) -> None:
    """The study was never there, but for the log; its file waits as before."""
    upload = Upload.objects.select_related("study").filter(pk=job.subject, batch=None).first()
    if upload is None or upload.study is None:
        return
    mapping = FileMapping.model_validate(job.params["mapping"])
    Upload.objects.filter(pk=upload.pk).update(study=None, mapping=mapping)
    Job.objects.filter(pk=job.pk).update(study_id=None)
    remove_study(upload.study, by=job.started_by)


def remove_study(current: Study, *, by: Any) -> None:
    """Delete a draft without items; inside a transaction."""
    # without batches these are answers of pilots to practice items; they protect what they name
    Annotation.objects.filter(study=current).delete()
    Consent.objects.filter(study=current).delete()
    Study.objects.filter(pk=current.pk).update(version=None)
    Job.objects.filter(study_id=current.pk).delete()
    AuditEntry.objects.record(
        "study deleted",
        by=by,
        study_id=current.pk,
        title=current.title,
        protocol=current.protocol,
    )
    Study.objects.get(pk=current.pk).delete()
