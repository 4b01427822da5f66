"""A closed study made of ratings that somebody has already: all of it, once, or nothing."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from io import BytesIO
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import job_kind, report_progress, start_job
from evalsite.data.importing import (
    HAS_FAULTS,
    Importer,
    Source,
    aim_at_nothing,
    aim_at_study,
    check_source,
    get_limits,
)
from evalsite.data.items.choices import SOURCE_ID
from evalsite.data.items.columns import EMPTY_FLAG
from evalsite.data.items.importer import ITEMS
from evalsite.data.items.items import CheckedItems
from evalsite.data.models import Upload
from evalsite.data.ratings.bare_errors import BareErrors
from evalsite.data.ratings.bare_file import ONLY_QUESTION, TIE, BareFile, read_bare_file
from evalsite.data.ratings.columns import shorten
from evalsite.data.ratings.importer import RATINGS
from evalsite.data.tables.mqm import SOURCE
from evalsite.data.tables.reader import FileMapping
from evalsite.data.uploads import (
    check_for,
    drop_upload,
    forget_bytes,
    insist_on_bytes,
    insist_on_checked_bytes,
    is_large,
    replace_nul,
)
from evalsite.fieldwork.launch import close_as_collected
from evalsite.instruments.schema import FORMAT
from evalsite.lib.clock import now
from evalsite.lib.csv_writer import write_rows
from evalsite.studies.instruments import adopt_instrument, read_foreign
from evalsite.studies.models import Study
from evalsite.studies.services import create_study

READ_KIND, CREATE_KIND = "read ratings", "create study of ratings"
_GONE = "This file was given up meanwhile. Upload it again."
# among the decisions of a mapping: the file of the texts
TEXTS = "texts"
_MOST_FAULTS = 5
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
    upload.report, upload.checked_at = replace_nul(_read(upload).describe()), now()
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


def find_ratings(upload: Upload) -> BareFile | None:
    """Return the ratings in a file that was taken for outputs; None if it is large or has none."""
    if is_large(upload):
        return None
    with upload.path.open("rb") as source:
        bare = read_bare_file(source, file_name=upload.file_name, mapping=FileMapping())
    return bare if bare.ratings and not bare.faults else None


def _read(upload: Upload) -> BareFile:
    with upload.path.open("rb") as source:
        return read_bare_file(source, file_name=upload.file_name, mapping=upload.mapping)


# --- texts --------------------------------------------------------------------------------


@dataclass
class Texts:
    """The texts of what was rated, by the ids of items and the names of systems in their file.

    `inputs`: label and kind of each, by name.
    """

    inputs: dict[str, tuple[str, str]] = field(default_factory=dict)
    output_kind: str = "text"
    outputs: dict[tuple[str, str], str] = field(default_factory=dict)
    items: dict[str, dict[str, str]] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=dict)

    def find(self, item: str, system: str) -> tuple[str, list[str]]:
        """Return the output, "" if there is none, and the inputs of its item."""
        inputs = self.items.get(item, {})
        return self.outputs.get((item, system), ""), [inputs.get(name, "") for name in self.inputs]


def find_texts(upload: Upload) -> Upload | None:
    """Return the file of texts that belongs to this file of ratings, while it waits."""
    key = upload.mapping.decisions.get(TEXTS)
    texts = Upload.objects.filter(pk=key, study=None, created_by=upload.created_by_id).first()
    return texts if texts is not None and texts.path.exists() else None


def take_texts(errors: BareErrors) -> Texts:
    """Return the texts of a file of errors, which has them all."""
    items = {item: {SOURCE: text} for item, text in errors.sources.items()}
    inputs = {SOURCE: (SOURCE.capitalize(), "text")}
    return Texts(inputs, outputs=errors.outputs, items=items, clusters=errors.clusters)


def read_texts(upload: Upload, bare: BareFile) -> Texts:
    """Read a file of items; ValidationError says what is wrong with it."""
    checked: CheckedItems = check_for(aim_at_nothing(upload.seed), upload, mapping=upload.mapping)
    if not checked.is_importable:
        faults = [f"{upload.file_name}, {fault}" for fault in checked.faults[:_MOST_FAULTS]]
        raise ValidationError(faults, code="texts_faulty")
    texts = Texts(
        {column.name: (column.label, column.kind) for column in checked.inputs.values()},
        checked.output_kind,
    )
    for item in checked.items:
        for name in {str(item.extra.get(SOURCE_ID) or item.record_key), item.record_key}:
            texts.items[name] = item.inputs
            texts.outputs |= {(name, output.system): output.text for output in item.outputs}
    rated = {(rating.item, system) for rating in bare.ratings
             for system in rating.sides or (rating.system,)}  # fmt: skip
    if not rated & texts.outputs.keys():
        first, system = next(iter(rated))
        known, name = next(iter(texts.outputs))
        raise ValidationError(
            f"None of the outputs that were rated is in {upload.file_name}. The ratings are of "
            f"items such as “{shorten(first)}” by “{shorten(system)}”, the texts of “"
            f"{shorten(known)}” by “{shorten(name)}”. Use the same ids and names.",
            code="texts_of_others",
        )
    return texts


# --- the study ----------------------------------------------------------------------------


def create_study_of_ratings(
    upload: Upload, *, by: Any, title: str, has_persons: bool
) -> Study | None:
    """Make a closed study of this file; None while a job makes it.

    Asked again, return the same study. ValidationError with the faults of the file, which then
    waits as before, and no study is made.
    """
    # another click may have been quicker since the page was opened
    upload = Upload.objects.select_related("study").filter(pk=upload.pk).first() or upload
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
    try:
        insist_on_checked_bytes(upload)
        bare = _read(upload)
    except FileNotFoundError:
        # the other of two clicks has just finished
        return _find_study(upload)
    if bare.faults:
        raise ValidationError([message for _code, message in bare.faults], code="faults")
    beside = find_texts(upload)
    if bare.errors is not None:
        texts = take_texts(bare.errors)
    else:
        texts = Texts() if beside is None else read_texts(beside, bare)
    data = derive_instrument(bare, texts, title=title, file_name=upload.file_name)
    content = read_foreign(data)
    try:
        with transaction.atomic():
            study = create_study(
                title=title, by=by, instrument=adopt_instrument(data=content, by=by),
                seed=upload.seed, k=_count_most(bare),
            )  # fmt: skip
            if not Upload.objects.filter(pk=upload.pk, study=None).update(study=study):
                raise _NotTheFirst
            source = Source(
                study=study, file_name=upload.file_name, sha256=upload.sha256,
                options={"has_persons": has_persons, "keeps_incomplete": True},
                upload_key=upload.pk,
            )  # fmt: skip
            _store(study, bare, texts, source, by)
            close_as_collected(study=study, by=by)
    except _NotTheFirst:
        return _find_study(upload)
    forget_bytes(upload)
    if beside is not None:
        drop_upload(beside)
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
    answers = {
        (rating.participant, rating.item, _name_output(bare, rating)) for rating in bare.ratings
    }
    return max(Counter((item, output) for _person, item, output in answers).values())


def _name_output(bare: BareFile, rating: Any) -> str:
    """Return the system whose output is an item of its own; "" if an item has a pair."""
    return "" if _compares(bare) else rating.system


def _compares(bare: BareFile) -> bool:
    return any(question.compares for question in bare.questions.values())


def _store(study: Study, bare: BareFile, texts: "Texts", source: Source, by: Any) -> None:
    has_clusters = ["cluster"] if texts.clusters else []
    fields = dict.fromkeys(["item", *has_clusters, "system", "output", EMPTY_FLAG])
    names = {name: f"input_{number}" for number, name in enumerate(texts.inputs)}
    header = [*fields, *names.values()]
    items = write_rows([header, *_list_outputs(bare, texts)])
    mapping = {**{name: name for name in fields}, **{at: name for name, at in names.items()}}
    digest = sha256(items.encode()).hexdigest()
    _import(ITEMS, replace(source, sha256=digest, options={}, upload_key=None), items, mapping, by)
    header = [*_FIELDS, "note", *_MORE]
    ratings = write_rows([header, *_list_ratings(bare)])
    _import(RATINGS, source, ratings, {name: name for name in header}, by)


def _import(importer: Importer, source: Source, text: str, fields: dict[str, str], by: Any) -> None:
    """Import rows that were made of the file as if they were a file of their own."""
    checked = check_source(
        importer, BytesIO(text.encode()), target=aim_at_study(source.study),
        mapping=FileMapping.read(fields, source.options), limits=get_limits(is_lifted=True),
    )  # fmt: skip
    if not checked.is_importable:
        faults = [str(fault) for fault in checked.faults]
        raise ValidationError(faults or [HAS_FAULTS], code="faults")
    importer.store(checked, source, by=by)


def _list_outputs(bare: BareFile, texts: "Texts") -> Iterator[Sequence[str]]:
    """Yield the outputs that were rated, with their texts or marked as empty."""
    outputs = {
        (rating.item, system): None
        for rating in bare.ratings
        for system in (rating.sides or (rating.system,))
    }
    for item, system in outputs:
        text, inputs = texts.find(item, system)
        cluster = [texts.clusters[item]] if texts.clusters else []
        yield item, *cluster, system, text, "" if text else "yes", *inputs


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


def derive_instrument(
    bare: BareFile, texts: Texts, *, title: str, file_name: str
) -> dict[str, Any]:
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
            "inputs": [
                {"name": name, "label": label, "kind": kind, "required": False}
                for name, (label, kind) in texts.inputs.items()
            ],
            "outputs": {"kind": texts.output_kind, "least": number, "most": number},
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
