"""A closed study made of ratings that somebody has already: all of it, once, or nothing."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from io import BytesIO
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from evalsite.annotation.running.launch import close_as_collected
from evalsite.data.tables.mapping import FileMapping
from evalsite.imports.batches.columns import EMPTY_FLAG
from evalsite.imports.batches.importer import ITEMS
from evalsite.imports.core import HAS_FAULTS, Importer, Source, check_source, get_limits
from evalsite.imports.models import Upload
from evalsite.imports.ratings.bare_file import ONLY_QUESTION, TIE, BareFile, read_bare_file
from evalsite.imports.ratings.importer import RATINGS
from evalsite.imports.target import aim_at_study
from evalsite.imports.uploads import forget_bytes, insist_on_bytes, is_large
from evalsite.instruments.schema import FORMAT
from evalsite.jobs.models import Job
from evalsite.jobs.services import job_kind, report_progress, start_job
from evalsite.lib.clock import now
from evalsite.lib.csv_writer import write_rows
from evalsite.studies.instruments import adopt_instrument, read_foreign
from evalsite.studies.models import Study
from evalsite.studies.services import create_study

READ_KIND, CREATE_KIND = "read ratings", "create study of ratings"
# what apps above this one do with the study, and who made it
WHEN_MADE: list[Callable[..., object]] = []
_GONE = "This file was given up meanwhile. Upload it again."
_FIELDS = ("participant", "item", "system", "criterion", "value", "preferred")
# what may stand beside a rating, as in our own files
_MORE = ("place", "shown_first", "order_shown", "submitted_at", "time_given", "kind", "status",
         "origin", "person", "excluded")  # fmt: skip


# --- looking at the file ------------------------------------------------------------------


def begin_reading(upload: Upload, *, by: Any) -> None:
    """The file is read, or a job that reads it waits."""
    if is_large(upload):
        Upload.objects.filter(pk=upload.pk).update(report={}, checked_at=None)
        start_job(READ_KIND, study_id=None, by=by, subject=str(upload.pk))
    else:
        keep_reading(upload)


def keep_reading(upload: Upload) -> None:
    """Read the file, and keep with it what a page shows."""
    upload.report, upload.checked_at = _read(upload).describe(), now()
    kept = Upload.objects.filter(pk=upload.pk)
    kept.update(report=upload.report, checked_at=upload.checked_at)


def find_reading_job(upload: Upload) -> Job | None:
    """Return the newest job of this file, unless it is done or was followed by a reading."""
    jobs = Job.objects.filter(study_id=None, kind__in=(READ_KIND, CREATE_KIND))
    job = jobs.filter(subject=str(upload.pk)).order_by("created_at").last()
    if job is None or job.state == Job.State.DONE:
        return None
    is_over = job.finished_at and upload.checked_at and upload.checked_at > job.finished_at
    return None if is_over else job


def _read(upload: Upload) -> BareFile:
    with upload.path.open("rb") as source:
        return read_bare_file(source, file_name=upload.file_name, mapping=upload.mapping)


# --- the study ----------------------------------------------------------------------------


def create_study_of_ratings(
    upload: Upload, *, by: Any, title: str, has_persons: bool
) -> Study | None:
    """Make a closed study of this file; None while a job makes it.

    Asked again, return the same study. ValidationError with the faults of the file, which then
    waits as before, and no study is made.
    """
    if upload.study is not None:
        return upload.study
    insist_on_bytes(upload)
    if not is_large(upload):
        return _create(upload, by=by, title=title, has_persons=has_persons)
    start_job(
        CREATE_KIND, study_id=None, by=by, subject=str(upload.pk), title=title,
        has_persons=has_persons,
    )  # fmt: skip
    return None


def _create(upload: Upload, *, by: Any, title: str, has_persons: bool) -> Study:
    bare = _read(upload)
    if bare.faults:
        raise ValidationError([message for _code, message in bare.faults], code="faults")
    content = read_foreign(derive_instrument(bare, title=title, file_name=upload.file_name))
    try:
        with transaction.atomic():
            study = create_study(
                title=title, by=by, instrument=adopt_instrument(data=content, by=by),
                seed=upload.seed, k=_count_most(bare),
            )  # fmt: skip
            if not Upload.objects.filter(pk=upload.pk, study=None).update(study=study):
                raise _NotTheFirst
            _store(study, bare, upload, by=by, has_persons=has_persons)
            close_as_collected(study=study, by=by)
            for act in WHEN_MADE:
                act(study=study, by=by)
    except _NotTheFirst:
        return _find_study(upload)
    forget_bytes(upload)
    return study


class _NotTheFirst(Exception):
    """Another click was quicker, or the file was given up."""


def _find_study(upload: Upload) -> Study:
    current = Upload.objects.select_related("study").filter(pk=upload.pk).first()
    if current is None or current.study is None:
        raise ValidationError(_GONE)
    return current.study


def _count_most(bare: BareFile) -> int:
    """Return the most answers that there are to an item: so many are then counted."""
    answers = {(one.participant, one.item, _name_output(bare, one)) for one in bare.ratings}
    return max(Counter((item, output) for _person, item, output in answers).values())


def _name_output(bare: BareFile, rating: Any) -> str:
    """Return the system whose output is an item of its own; "" if an item has a pair."""
    return "" if _compares(bare) else rating.system


def _compares(bare: BareFile) -> bool:
    return any(question.compares for question in bare.questions.values())


def _store(study: Study, bare: BareFile, upload: Upload, *, by: Any, has_persons: bool) -> None:
    items = write_rows([("item", "system", "output", EMPTY_FLAG), *_list_outputs(bare)])
    _import(ITEMS, study, upload, items, by=by, decisions={})
    ratings = write_rows([(*_FIELDS, "note", *_MORE), *_list_ratings(bare)])
    decisions = {"has_persons": has_persons, "keeps_incomplete": True}
    _import(RATINGS, study, upload, ratings, by=by, decisions=decisions)


def _import(
    importer: Importer,
    study: Study,
    upload: Upload,
    text: str,
    *,
    by: Any,
    decisions: Mapping[str, bool],
) -> None:
    content, mapping = text.encode(), FileMapping(decisions=dict(decisions))
    checked = check_source(
        importer, BytesIO(content), target=aim_at_study(study), mapping=mapping,
        limits=get_limits(is_lifted=True),
    )  # fmt: skip
    if not checked.is_importable:
        faults = [str(fault) for fault in checked.faults]
        raise ValidationError(faults or [HAS_FAULTS], code="faults")
    is_file = importer is RATINGS
    source = Source(
        study=study,
        file_name=upload.file_name,
        sha256=upload.sha256 if is_file else sha256(content).hexdigest(),
        options=mapping.options,
        upload_key=upload.pk if is_file else None,
    )
    importer.store(checked, source, by=by)


def _list_outputs(bare: BareFile) -> Iterator[Sequence[str]]:
    """Yield the outputs that were rated, without their texts."""
    outputs = {
        (rating.item, system): None
        for rating in bare.ratings
        for system in (rating.sides or (rating.system,))
    }
    for item, system in outputs:
        yield item, system, "", "yes"


def _list_ratings(bare: BareFile) -> Iterator[Sequence[str]]:
    notes: dict[tuple[str, ...], dict[str, None]] = {}
    for rating in bare.ratings:
        key = rating.participant, rating.item, _name_output(bare, rating)
        note = rating.fields.get("note", "")
        notes.setdefault(key, {}).update({note: None} if note else {})
    for rating in bare.ratings:
        question = bare.questions[rating.question]
        key = rating.participant, rating.item, _name_output(bare, rating)
        yield (
            rating.participant,
            rating.item,
            rating.system,
            question.key,
            "" if question.compares else question.write(rating.value),
            rating.value if question.compares else "",
            # an answer has one note
            "\n".join(notes[key]),
            *(rating.fields.get(name, "") for name in _MORE),
        )


# --- the instrument -----------------------------------------------------------------------


def derive_instrument(bare: BareFile, *, title: str, file_name: str) -> dict[str, Any]:
    """Return the instrument that the columns show, as a file has it."""
    compares = _compares(bare)
    number = 2 if compares else 1
    return {
        "format": FORMAT,
        "key": "collected_elsewhere",
        "version": 1,
        "language": "en",
        "title": title,
        "summary": "Questions of ratings that were collected elsewhere.",
        "source": {
            "cite": f"Derived from the columns of {file_name}.",
            "licence": "none",
            "exact": "Names of the questions and their values.",
            "ours": "Everything else. How people were asked isn’t known here.",
        },
        "instructions": "These ratings were collected elsewhere. What people were told isn’t known "
        "here.",
        "item": {
            "inputs": [],
            "outputs": {"kind": "text", "least": number, "most": number},
            "output_name": "Output",
        },
        "layout": {
            "outputs": "pair" if compares else "one",
            "questions": "below",
            **({"letters": ["A", "B"]} if compares else {}),
        },
        "criteria": [_derive_question(question) for question in bare.questions.values()],
        "design": {"k": 1, "set_size": 20, "groups": "free"},
    }


def _derive_question(question: Any) -> dict[str, Any]:
    label = "Rating" if question.name == ONLY_QUESTION else question.name
    asked = {"key": question.key, "label": label, "question": label}
    if not question.compares:
        return asked | {"per": "output", "scale": question.scale}
    points = ((-1, "A is better"), (0, "Equally good"), (1, "B is better"))
    scale = {
        "kind": "preference",
        "points": [
            {"value": value, "label": words}
            for value, words in points
            if value or TIE in question.values
        ],
    }
    return asked | {"per": "item", "scale": scale}


# --- jobs ---------------------------------------------------------------------------------


@job_kind(READ_KIND)
def _run_reading(job: Job) -> dict[str, Any]:
    upload = _find_upload(job)
    insist_on_bytes(upload)
    report_progress(job, 0, 1)
    keep_reading(upload)
    return {}


@job_kind(CREATE_KIND)
def _run_create(job: Job) -> dict[str, Any]:
    upload = _find_upload(job)
    study = upload.study
    if study is None:
        insist_on_bytes(upload)
        study = _create(upload, by=job.started_by, **job.params)
    return {"study": str(study.pk)}


def _find_upload(job: Job) -> Upload:
    upload = Upload.objects.select_related("study").filter(pk=job.subject).first()
    if upload is None:
        raise ValidationError(_GONE)
    return upload
