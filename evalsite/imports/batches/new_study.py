"""A study made of a file that was uploaded before there was one: all of it, once, or nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from django.core.exceptions import ValidationError
from django.db import transaction

from evalsite.imports.batches.columns import INPUT, rows_are_items
from evalsite.imports.batches.importer import ITEMS
from evalsite.imports.batches.items import CheckedItems
from evalsite.imports.columns import fold
from evalsite.imports.core import Report, Source, Tell
from evalsite.imports.models import Upload
from evalsite.imports.steps import check_for, read_report
from evalsite.imports.target import aim_at_instrument
from evalsite.imports.uploads import forget_bytes, insist_on_bytes, is_large
from evalsite.instruments.installed import get_protocol
from evalsite.instruments.schema import Instrument
from evalsite.jobs.models import Job
from evalsite.jobs.services import job_kind, report_progress, start_job
from evalsite.studies.models import InstrumentVersion, Study
from evalsite.studies.services import create_study
from evalsite.studies.version_cache import read_built

# the input that takes the only text left over
_PROMPT = "prompt"
_GONE = "This file was given up meanwhile. Upload it again."


# --- whether an instrument fits -----------------------------------------------------------


@dataclass
class Fit:
    """How the inputs of a file fit an instrument."""

    # by column of the file: the instrument's input, and by what it was found
    inputs: dict[str, tuple[str, Literal["name", "alias", "only"]]] = field(default_factory=dict)
    # required inputs that no column has
    missing: list[str] = field(default_factory=list)
    # what else keeps the file out, as a sentence
    problem: str = ""

    @property
    def is_good(self) -> bool:
        return not self.missing and not self.problem


def find_fit(report: Report, instrument: Instrument) -> Fit:
    """Find the instrument's inputs in a file that was checked without an instrument."""
    fit = Fit(problem=_find_problem(report, instrument))
    free = {one["column"]: one["name"] for one in report.summary["inputs"]}
    inputs = {one.name: one for one in instrument.columns}
    for how in ("name", "alias"):
        for name, one in [*inputs.items()]:
            names = [fold(name)] if how == "name" else [*map(fold, one.aliases)]
            column = next((c for c in free if {fold(c), free[c]} & {*names}), None)
            if column is not None:
                fit.inputs[column] = (name, how)
                del free[column], inputs[name]
    if len(free) == 1 and _PROMPT in inputs:
        fit.inputs[next(iter(free))] = (_PROMPT, "only")
        del inputs[_PROMPT]
    fit.missing = [name for name, one in inputs.items() if one.required]
    return fit


def _find_problem(report: Report, instrument: Instrument) -> str:
    outputs, summary = instrument.item.outputs, report.summary
    if outputs.least > summary["systems"]:
        return f"It compares {outputs.least} systems, and the file has {summary['systems']}."
    if summary["has_ids"] or rows_are_items(instrument, report.mapping.values()):
        return ""
    return (
        "It shows several outputs of an input at once, and no column says which belong together. "
        "Choose the column with the id of the input."
    )


def map_inputs(report: Report, instrument: Instrument) -> dict[str, str]:
    """Return the mapping of the file for this instrument; inputs that it lacks become metadata."""
    inputs = find_fit(report, instrument).inputs
    return {
        column: inputs.get(column, ("", ""))[0] if name == INPUT else name
        for column, name in report.mapping.items()
    }


# --- making it ----------------------------------------------------------------------------


def create_study_from(upload: Upload, *, by: Any, **fields: Any) -> Study | None:
    """Make a study of this file, with these fields of `create_study`; None while a job makes it.

    Asked again, return the same study. ValidationError with the faults of the file, which then
    waits as before, and no study is made.
    """
    if upload.study is not None:
        return upload.study
    insist_on_bytes(upload)
    if not is_large(upload):
        return _create(upload, by=by, fields=fields)
    if version := fields.pop("instrument", None):
        fields["instrument"] = str(version.pk)
    kind = str(ITEMS.create_kind)
    start_job(kind, study_id=None, by=by, subject=str(upload.pk), fields=fields)
    return None


def _create(
    upload: Upload, *, by: Any, fields: Mapping[str, Any], tell: Tell | None = None
) -> Study:
    version: InstrumentVersion | None = fields.get("instrument")
    instrument = get_protocol(fields["protocol"]) if version is None else read_built(version.pk, "")
    report = read_report(upload)
    if report is None:
        raise ValidationError("This file isn't checked yet. Look at it, then create the study.")
    mapping = map_inputs(report, instrument)
    # before the transaction: to read the file takes longer than to store it
    checked: CheckedItems = check_for(
        aim_at_instrument(instrument, upload.seed), upload, mapping=mapping, tell=tell
    )
    if not checked.is_importable:
        raise ValidationError([str(fault) for fault in checked.faults], code="faults")
    try:
        with transaction.atomic():
            study = create_study(by=by, seed=upload.seed, **fields)
            waiting = Upload.objects.filter(pk=upload.pk, study=None)
            if not waiting.update(study=study, mapping=mapping):
                raise _NotTheFirst
            source = Source(
                study=study,
                file_name=upload.file_name,
                sha256=upload.sha256,
                options=upload.options,
                upload_key=upload.pk,
            )
            ITEMS.store(checked, source, by=by)
    except _NotTheFirst:
        current = Upload.objects.select_related("study").filter(pk=upload.pk).first()
        if current is None or current.study is None:
            raise ValidationError(_GONE) from None
        return current.study
    forget_bytes(upload)
    return study


class _NotTheFirst(Exception):
    """Another click was quicker, or the file was given up."""


@job_kind(ITEMS.create_kind)
def _run_create(job: Job) -> dict[str, Any]:
    upload = Upload.objects.select_related("study").filter(pk=job.subject).first()
    if upload is None:
        raise ValidationError(_GONE)
    if upload.study is not None:
        return {"study": str(upload.study.pk)}
    insist_on_bytes(upload)
    fields = dict(job.params["fields"])
    if key := fields.get("instrument"):
        fields["instrument"] = InstrumentVersion.objects.get(pk=key)
    tell = partial(report_progress, job)
    study = _create(upload, by=job.started_by, fields=fields, tell=tell)
    return {"study": str(study.pk)}
