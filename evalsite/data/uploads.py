"""An uploaded file on its way: kept, checked, imported, undone or given up."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import timedelta
from functools import partial
from hashlib import sha256
from hmac import compare_digest
from itertools import chain, islice
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, Any, TypeVar
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils.crypto import salted_hmac

from evalsite import __version__
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.schedule import HOURLY, scheduled
from evalsite.core.jobs.services import job_kind, report_progress, start_job
from evalsite.data.importing import (
    HAS_CHANGED,
    HAS_FAULTS,
    Checked,
    Importer,
    Report,
    Source,
    Target,
    Tell,
    aim_at_upload,
    check_source,
    describe,
    list_faults,
    read_header,
)
from evalsite.data.models import KEEP_FOR, KEEP_REFUSED_FOR, Upload
from evalsite.data.tables import parquet
from evalsite.data.tables.files import clean_file_name
from evalsite.data.tables.reader import FileMapping
from evalsite.lib.clock import now
from evalsite.lib.limited import measure_unpacked
from evalsite.studies.models import Batch, Study

_NOTED_EVERY = timedelta(hours=1)
_MEGABYTE = 1024 * 1024
_UNPACKED = 6


def keep_upload(
    *,
    study: Study | None,
    file_name: str,
    chunks: Iterable[bytes],
    by: Any,
    purpose: str = Upload.Purpose.ITEMS,
) -> Upload:
    """Keep the bytes on disk under a random name; nothing in the study changes.

    Without a study the file belongs to this person, who may make a study of it. ValidationError if
    too many files wait already, in this study or of this person.
    """
    prune_uploads()
    by = by if getattr(by, "is_authenticated", False) else None
    if study is None and by is None:
        raise ValueError("A file belongs to a study or to a person.")
    check_quota(study=study, by=by)
    upload = Upload(
        study=study,
        purpose=purpose,
        file_name=clean_file_name(file_name),
        created_by=by,
    )
    upload.path.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    try:
        with upload.path.open("xb") as file:
            for chunk in chunks:
                size += len(chunk)
                _check_size(size)
                digest.update(chunk)
                file.write(chunk)
        upload.sha256, upload.size = digest.hexdigest(), size
        with transaction.atomic():
            # one at a time: two uploads at once must not both take the last place
            if study is not None:
                studies = Study.objects.select_for_update(no_key=True)
                list(studies.filter(pk=study.pk).values("pk"))
            if by is not None:
                people = get_user_model().objects.select_for_update(no_key=True)
                list(people.filter(pk=by.pk).values("pk"))
            check_quota(study=study, by=by, size=size)
            upload.save(force_insert=True)
    except BaseException:
        # refused, or the connection broke off: no bytes are left lying about
        upload.path.unlink(missing_ok=True)
        raise
    return upload


def insist_on_bytes(upload: Upload) -> None:
    """ValidationError if the file isn't where a job looks for it."""
    if not upload.path.exists():
        raise ValidationError(
            "The job worker doesn't find this file. Upload it again. If that doesn't help, ask "
            "your administrator: the web server and the worker must use the same folder "
            "EVALSITE_DATA_DIR, also when they run on different machines.",
            code="no_bytes",
        )


def insist_on_checked_bytes(upload: Upload) -> None:
    """Raise ValidationError if the file isn't the one that came: nobody has seen its contents."""
    with upload.path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() == upload.sha256:
            return
    raise ValidationError(
        "This file has changed on the server since it was checked. Upload it again.",
        code="file_changed",
    )


# --- several files as one ---------------------------------------------------------------


_EARLIEST = (1980, 1, 1, 0, 0, 0)


def pack_files(files: Iterable[tuple[str, Callable[[], IO[bytes]]]]) -> IO[bytes]:
    """Return an open zip of these files; ValidationError if two have one name."""
    ordered = sorted(files, key=lambda file: file[0])
    names = [name for name, _ in ordered]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise ValidationError(f"Two files are called {twice}. Rename one of them.")
    target = TemporaryFile()  # noqa: SIM115 (the caller closes it)
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name, open_file in ordered:
            with open_file() as source, archive.open(ZipInfo(name, _EARLIEST), "w") as entry:
                copyfileobj(source, entry)
    target.seek(0)
    return target


def replace_file(path: Path, name: str, open_file: Callable[[], IO[bytes]]) -> IO[bytes]:
    """Return the zip at this path with another file under one of its names."""
    with ZipFile(path) as archive:
        files = [
            (entry, open_file if entry == name else partial(archive.open, entry))
            for entry in archive.namelist()
        ]
        return pack_files(files)


def name_files(names: Iterable[str]) -> str:
    """Name several files in a few words; those of one folder by its name."""
    first, *other_names = sorted(names)
    folders = {name.partition("/")[0] if "/" in name else "" for name in (first, *other_names)}
    if folders != {""} and len(folders) == 1:
        number = len(other_names) + 1
        return f"{folders.pop()} ({number:,} {'file' if number == 1 else 'files'})"
    if not other_names:
        return first
    return f"{first} and {other_names[0] if len(other_names) == 1 else f'{len(other_names)} more'}"


# --- without a study ------------------------------------------------------------------


def open_upload(key: UUID, *, by: Any) -> Upload | None:
    """Return this person's file that has no study yet, or has become one; None for anyone else.

    It is kept for a day after it was last opened.
    """
    uploads = Upload.objects.filter(pk=key, created_by=by).select_related("study")
    upload = uploads.first()
    moment = now()
    if upload is not None and upload.study_id is None and upload.kept_until <= moment:
        # the next clean-up deletes it
        return None
    # noted once an hour: looking at a page seldom writes
    if upload is not None and upload.looked_at < moment - _NOTED_EVERY:
        uploads.filter(study=None).update(looked_at=moment)
        upload.looked_at = moment
    return upload


# --- kinds of files ---------------------------------------------------------------------


AnyImporter = TypeVar("AnyImporter", bound=Importer)
# by purpose; filled when the apps are ready
IMPORTERS: dict[str, Importer] = {}


def register(importer: AnyImporter) -> AnyImporter:
    """Uploads of its purpose are handled by this importer, and its jobs have a worker."""
    IMPORTERS[importer.purpose] = importer
    job_kind(importer.check_kind)(_run_check)
    job_kind(importer.import_kind)(_run_import)
    job_kind(importer.undo_kind)(partial(_run_undo, importer))
    return importer


def importer_of(upload: Upload) -> Importer:
    return IMPORTERS[upload.purpose]


# --- checking ---------------------------------------------------------------------------


def read_report(upload: Upload) -> Report | None:
    """Return what the last check found; None before the first, or after one of another version."""
    names = {field.name for field in fields(Report)}
    return Report(**upload.report) if upload.report.keys() == names else None


def find_report(upload: Upload) -> Report | None:
    """What the file contains: as it was checked, or looked at here and now if it is small."""
    report, importer = read_report(upload), importer_of(upload)
    if report is not None and importer.is_current(report, upload.study):
        return report
    if is_large(upload):
        return report
    return describe(importer, read_upload(upload), aim_at_upload(upload))


def begin_check(upload: Upload, *, by: Any) -> None:
    """The file is checked, or a job that checks it waits."""
    if is_large(upload):
        upload.report, upload.checked_at = {}, None
        upload.save(update_fields=["report", "checked_at"])
        kind = importer_of(upload).check_kind
        start_job(kind, study_id=upload.study_id, by=by, subject=str(upload.pk))
    else:
        check_upload(upload)


def check_upload(upload: Upload, *, tell: Tell | None = None) -> Any:
    """Check the file, and keep what was found with it."""
    if not upload.mapping.fields:
        _remember_mapping(upload)
    importer = importer_of(upload)
    # before the check, during which the study may change
    basis = find_basis(upload)
    checked = read_upload(upload, tell=tell)
    if proposed := {d.key: d.proposed for d in checked.decisions if d.proposed and not d.is_made}:
        # the page lets the reader choose otherwise
        decisions = {**proposed, **upload.mapping.decisions}
        upload.mapping = upload.mapping.change(decisions=decisions)
        Upload.objects.filter(pk=upload.pk).update(mapping=upload.mapping)
        basis = find_basis(upload)
        checked = read_upload(upload, tell=tell)
    # replaced, not written over: a backup may be reading the earlier list
    part = upload.faults_path.with_suffix(".part")
    part.write_bytes(list_faults(checked.faults).encode())
    part.replace(upload.faults_path)
    upload.report = replace_nul(asdict(describe(importer, checked, aim_at_upload(upload))))
    keep_check(upload, importer, checked, basis)
    upload.checked_at = now()
    # not save(): a file that was given up meanwhile stays away
    kept = Upload.objects.filter(pk=upload.pk)
    if not kept.update(report=upload.report, checked_at=upload.checked_at):
        forget_bytes(upload)
    return checked


def replace_nul(plain: Any) -> Any:
    """Return plain data with U+FFFD for each NUL, which PostgreSQL doesn't store in JSON."""
    if isinstance(plain, str):
        return plain.replace("\0", "\ufffd")
    if isinstance(plain, dict):
        return {replace_nul(key): replace_nul(value) for key, value in plain.items()}
    return [replace_nul(part) for part in plain] if isinstance(plain, list | tuple) else plain


def _remember_mapping(upload: Upload) -> None:
    """Reuse the mapping of an earlier file for columns with the same names."""
    uploads = Upload.objects.filter(study=upload.study_id, purpose=upload.purpose)
    if upload.study_id is None:
        uploads = uploads.filter(created_by=upload.created_by_id)
    uploads = uploads.exclude(pk=upload.pk).defer("report").order_by("-created_at")
    earlier = [other for other in uploads if other.mapping.fields]
    if not earlier:
        return
    importer = importer_of(upload)
    header = set(
        read_header(
            importer,
            upload.path,
            target=aim_at_upload(upload),
            file_name=upload.file_name,
            mapping=upload.mapping,
        )
    )
    if alike := next((other for other in earlier if other.mapping.fields.keys() == header), None):
        upload.mapping = upload.mapping.change(
            fields=alike.mapping.fields, copied_from=alike.file_name
        )
        Upload.objects.filter(pk=upload.pk).update(mapping=upload.mapping)


def read_upload(upload: Upload, *, tell: Tell | None = None) -> Any:
    """Return what the file contains; `tell` hears how many rows of about how many were read."""
    return check_for(aim_at_upload(upload), upload, mapping=upload.mapping, tell=tell)


def check_for(
    target: Target, upload: Upload, *, mapping: FileMapping, tell: Tell | None = None
) -> Any:
    """Return what the file contains for this target, under this mapping."""
    with upload.path.open("rb") as source:

        def count(rows: int) -> None:
            if tell is not None:
                read = max(1, source.tell())
                tell(rows, max(rows, round(rows * upload.size / read)))

        return check_source(
            importer_of(upload),
            source,
            target=target,
            mapping=mapping,
            tell=count,
            file_name=upload.file_name,
        )


def _run_check(job: Job) -> dict[str, Any]:
    upload = _find_upload(job)
    if not is_imported(upload):
        check_upload(upload, tell=partial(report_progress, job))
    return {}


# --- checks that are kept ---------------------------------------------------------------


def find_basis(upload: Upload) -> str:
    """Return a hash of all that a check of this file depends on: it holds while that is equal."""
    parts: list[Any] = [__version__, upload.sha256, upload.mapping.model_dump(mode="json")]
    if upload.study_id is not None:
        study = Study.objects.get(pk=upload.study_id)
        batches = Batch.objects.filter(study=study).order_by("pk")
        parts += [
            study.config.model_dump_json(),
            [study.seed, study.state, study.groups, study.item_order, study.checks_per_person],
            [[str(pk), rows] for pk, rows in batches.values_list("pk", "rows")],
            study.changes.aggregate(last=Max("pk"))["last"],
            list(study.systems.values_list("name", flat=True)),
        ]
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def keep_check(upload: Upload, importer: Importer, checked: Checked, basis: str) -> None:
    """Write the checked values beside the file, if they may be imported."""
    head = importer.write_head(checked) if checked.is_importable else None
    if head is None:
        upload.checked_path.unlink(missing_ok=True)
        return
    part, signature = upload.checked_path.with_suffix(".part"), _sign(upload)
    with part.open("wb") as file:
        # its place: what comes after it is known at the end
        file.write(f"{signature.hexdigest()}\n".encode())
        for row in chain([{"basis": basis, **head}], importer.write_rows(checked)):
            line = f"{json.dumps(row)}\n".encode()
            signature.update(line)
            file.write(line)
        file.seek(0)
        file.write(signature.hexdigest().encode())
    # replaced, not written over: an import may be reading the earlier one
    part.replace(upload.checked_path)


def find_kept_check(upload: Upload, importer: Importer) -> Any | None:
    """Return the checked values that are kept, if nothing that they depend on has changed.

    None also if the file was cut off or changed on the disk: it is then checked again.
    """
    signature = _sign(upload)
    try:
        with upload.checked_path.open("rb") as file:
            signed, first = file.readline(), file.readline()
            for line in chain([first], file):
                signature.update(line)
    except FileNotFoundError:
        return None
    if not compare_digest(signed, f"{signature.hexdigest()}\n".encode()):
        return None
    head = json.loads(first)
    if head["basis"] != find_basis(upload):
        return None

    def read_rows() -> Iterator[Any]:
        with upload.checked_path.open(encoding="ascii") as file:
            yield from map(json.loads, islice(file, 2, None))

    return importer.read_kept(head, read_rows)


def _sign(upload: Upload) -> Any:
    """Return the signature of this upload's checked values, before the first of them."""
    return salted_hmac("checked values", str(upload.pk), algorithm="sha256")


# --- importing --------------------------------------------------------------------------


def is_imported(upload: Upload) -> bool:
    return bool(upload.batch_id or upload.ratings_file_id or upload.is_imported)


def begin_import(upload: Upload, *, by: Any) -> Any | None:
    """Import the file once; None while a job that imports it waits or runs."""
    importer = importer_of(upload)
    report, most = read_report(upload), importer.rows_stored_at_once
    is_long = most is not None and report is not None and report.rows > most
    if not is_long and not is_large(upload):
        return import_upload(upload, by=by)
    start_job(importer.import_kind, study_id=upload.study_id, by=by, subject=str(upload.pk))
    return None


def import_upload(upload: Upload, *, by: Any, tell: Tell | None = None) -> Any:
    """Import the file as it was checked, or as checked again for a changed study; delete it."""
    importer, confirmed, study = importer_of(upload), read_report(upload), upload.study
    if study is None:
        raise ValidationError("This file has no study yet. Create a study of it.")
    record = importer.find_same(study, upload.sha256)
    if record is None:
        checked = find_kept_check(upload, importer)
        if checked is None:
            insist_on_checked_bytes(upload)
            checked = check_upload(upload, tell=tell)
        if not checked.is_importable:
            # the first of two clicks may have been quicker: its own scores are the faults
            record = importer.find_same(study, upload.sha256)
            if record is None:
                raise ValidationError(HAS_FAULTS)
            _finish(upload)
            return record
        if confirmed is not None and confirmed.import_notes != checked.import_notes:
            # other rows would be left out than those that were listed
            raise ValidationError(HAS_CHANGED)
        source = Source(
            study=study,
            file_name=upload.file_name,
            sha256=upload.sha256,
            options=upload.mapping.options,
            upload_key=upload.pk,
        )
        record = importer.store(checked, source, by=by, tell=tell)
    _finish(upload)
    return record


def _finish(upload: Upload) -> None:
    """The bytes are gone; the row stays, with what was said of its columns."""
    if not importer_of(upload).link:
        upload.is_imported = True
        Upload.objects.filter(pk=upload.pk).update(is_imported=True)
    forget_bytes(upload)


def _run_import(job: Job) -> dict[str, Any]:
    upload = _find_upload(job)
    link = importer_of(upload).link
    # again after a kill: an earlier import is found by the file's hash
    record = getattr(upload, link) if link else None
    if record is None:
        record = import_upload(upload, by=job.started_by, tell=partial(report_progress, job))
    else:
        _finish(upload)
    return {"record": str(record.pk)}


def _find_upload(job: Job) -> Upload:
    uploads = Upload.objects.select_related("study", "batch", "ratings_file")
    upload = uploads.filter(study=job.study_id, pk=job.subject).first()
    if upload is None:
        raise ValidationError("This file was given up meanwhile. Upload it again.")
    if not is_imported(upload):
        insist_on_bytes(upload)
    return upload


# --- undoing ----------------------------------------------------------------------------


def begin_undo(importer: Importer, record: Any, *, by: Any) -> bool:
    """Return whether it is gone already; otherwise a job that removes it waits or runs."""
    if importer.count_rows(record) <= importer.rows_undone_at_once:
        importer.undo(record, by=by)
        return True
    start_job(importer.undo_kind, study_id=record.study_id, by=by, subject=str(record.pk))
    return False


def _run_undo(importer: Importer, job: Job) -> dict[str, Any]:
    records = importer.record._default_manager.filter(study__pk=str(job.study_id))
    record = records.filter(pk=job.subject).first()
    if record is not None:  # else it is gone already
        importer.undo(record, by=job.started_by)
    return {}


# --- files that wait for a decision, and their jobs --------------------------------------


@dataclass(frozen=True)
class Waiting:
    """A file that was uploaded and neither imported nor given up."""

    upload: Upload
    job: Job | None
    title: str
    # the very same file was imported earlier
    is_known: bool

    @property
    def unit(self) -> str:
        """Return what the job counts: rows while it reads the file, then what it stores."""
        is_check = self.job is None or self.job.kind == importer_of(self.upload).check_kind
        return "items" if self.upload.purpose == Upload.Purpose.ITEMS and not is_check else "rows"

    @property
    def is_spent(self) -> bool:
        """It can't be imported: it has faults, or is in the study already."""
        return self.job is None and (self.is_known or self.upload.has_faults)


@dataclass(frozen=True)
class Undoing:
    """A job that undoes an import, if it is running or has stopped."""

    job: Job
    record: Any
    title: str


def find_job(upload: Upload) -> Job | None:
    """Return the open job of this file, or the one that stopped and wasn't followed by a check."""
    jobs = Job.objects.filter(
        study_id=upload.study_id, kind__in=_kinds(importer_of(upload)), subject=str(upload.pk)
    )
    return _unless_over(jobs.order_by("created_at").last(), upload)


def name_job(job: Job, upload: Upload) -> str:
    """Describe what the job does."""
    is_check = job.kind == importer_of(upload).check_kind
    return f"{'Checking' if is_check else 'Importing'} {upload.file_name}"


def find_uploads(study: Study) -> list[Upload]:
    """Return the files that were neither imported nor discarded, newest first."""
    uploads = Upload.objects.filter(study=study, batch__isnull=True, ratings_file__isnull=True)
    return [upload for upload in uploads if upload.path.exists()]


def find_jobs(study: Study) -> list[Job]:
    """Return the jobs on files of the study, for the lists below, the oldest first."""
    kinds = [
        kind for importer in IMPORTERS.values() for kind in (*_kinds(importer), importer.undo_kind)
    ]
    return list(Job.objects.filter(study_id=study.pk, kind__in=kinds).order_by("created_at"))


def list_waiting(
    study: Study,
    purpose: str,
    uploads: list[Upload],
    jobs: list[Job],
    known: set[str] | None = None,
) -> list[Waiting]:
    """List the files with this purpose; `known`: hashes of those imported, if they were read."""
    uploads = [upload for upload in uploads if upload.purpose == purpose]
    if not uploads:
        return []
    importer = IMPORTERS[purpose]
    newest = {job.subject: job for job in jobs if job.kind in _kinds(importer)}
    if known is None:
        records = importer.record._default_manager.filter(study=study)
        known = set(records.values_list("sha256", flat=True))
    files = []
    for upload in uploads:
        job = _unless_over(newest.get(str(upload.pk)), upload)
        title = name_job(job, upload) if job else ""
        files.append(Waiting(upload, job, title, is_known=upload.sha256 in known))
    return files


def split_spent(waiting: list[Waiting]) -> dict[str, list[Waiting]]:
    """Split the files into those that need a decision, above the form, and the rest, below it."""
    return {
        "waiting": [file for file in waiting if not file.is_spent],
        "spent": [file for file in waiting if file.is_spent],
    }


def list_undoings(study: Study, importer: Importer, jobs: list[Job]) -> list[Undoing]:
    """List the jobs that undo an import, if they are running or have stopped."""
    jobs = [job for job in jobs if job.kind == importer.undo_kind]
    newest = {job.subject: job for job in jobs if job.state != Job.State.DONE}
    records = importer.record._default_manager.filter(study=study)
    imported: dict[Any, Any] = records.in_bulk(list(newest)) if newest else {}
    return [
        Undoing(newest[str(file.pk)], file, f"Removing {file.file_name}")
        for file in imported.values()
    ]


def is_under_way(study: Study, purpose: str, uploads: list[Upload], jobs: list[Job]) -> bool:
    """Whether a file of this purpose waits, or one is being imported or undone, or that stopped."""
    if any(upload.purpose == purpose for upload in uploads):
        return True
    return purpose in IMPORTERS and bool(list_undoings(study, IMPORTERS[purpose], jobs))


def _kinds(importer: Importer) -> list[str]:
    return [*filter(None, (importer.check_kind, importer.import_kind, importer.create_kind))]


def _unless_over(job: Job | None, upload: Upload) -> Job | None:
    if job is None or job.state == Job.State.DONE:
        return None
    is_answered = bool(
        job.finished_at and upload.checked_at and upload.checked_at > job.finished_at
    )
    return None if is_answered else job


# --- how much may wait ----------------------------------------------------------------


def list_waiting_uploads(uploads: QuerySet[Upload]) -> list[Upload]:
    """Return those that were neither imported nor given up, and whose bytes take up room."""
    waiting = uploads.filter(batch__isnull=True, ratings_file__isnull=True)
    return [upload for upload in waiting.defer("report") if upload.path.exists()]


def check_quota(*, study: Study | None, by: Any, size: int = 0) -> None:
    """ValidationError if one more file of this size is too much, saying what to do."""
    if study is not None:
        _check_room(
            list_waiting_uploads(Upload.objects.filter(study=study)),
            size=size,
            files=settings.UPLOAD_STUDY_FILES,
            room=settings.UPLOAD_STUDY_BYTES,
            whose="in this study",
            advice="Import or cancel one of them on the page it was uploaded to (Items or Ratings)",
        )
    if by is None:
        return
    waiting = list_waiting_uploads(Upload.objects.filter(created_by=by).select_related("study"))
    titles = {upload.study.title if upload.study else "New study" for upload in waiting}
    places = ", ".join(f"“{title}”" for title in sorted(titles)[:5])
    _check_room(
        waiting,
        size=size,
        files=settings.UPLOAD_PERSON_FILES,
        room=settings.UPLOAD_PERSON_BYTES,
        whose="of yours",
        advice=f"Import or cancel one of them, in {places}",
    )


def _check_room(
    waiting: list[Upload], *, size: int, files: int, room: int, whose: str, advice: str
) -> None:
    advice = f"{advice}, then upload this file again."
    if len(waiting) >= files:
        raise ValidationError(
            f"{len(waiting)} files {whose} wait to be imported, and {files} may. {advice}",
            code="too_many_waiting",
        )
    taken = sum(upload.size for upload in waiting) + size
    if taken > room:
        raise ValidationError(
            f"With this file, the files {whose} that wait to be imported take up "
            f"{taken / _MEGABYTE:.1f} MB, and {room / _MEGABYTE:.0f} MB may. {advice}",
            code="too_much_waiting",
        )


# --- giving up ------------------------------------------------------------------------


def drop_upload(upload: Upload) -> None:
    """The file is given up: row and bytes are gone, the bytes only once the row is for certain."""
    with transaction.atomic():
        # a copy: delete() takes the number away from the row
        transaction.on_commit(partial(forget_bytes, Upload(pk=upload.pk)))
        upload.delete()


def forget_bytes(upload: Upload) -> None:
    """The file was imported: its bytes are gone, the row says what became of it."""
    upload.path.unlink(missing_ok=True)
    upload.faults_path.unlink(missing_ok=True)
    upload.checked_path.unlink(missing_ok=True)


def is_large(upload: Upload) -> bool:
    """Return whether the file is too large to be read while a page waits."""
    if upload.size > settings.UPLOAD_JOB_BYTES:
        return True
    with upload.path.open("rb") as file:
        head = file.read(4)
        if head == b"PK\x03\x04":
            return measure_unpacked(file) > settings.UPLOAD_JOB_BYTES
        # several times as large inside, but only reading it shows how much
        is_packed = head == parquet.MAGIC or head.startswith(b"\x1f\x8b")
    return upload.size * (_UNPACKED if is_packed else 1) > settings.UPLOAD_JOB_BYTES


@scheduled("Delete files that were uploaded and not imported", every=HOURLY, is_deleting=True)
def prune_uploads() -> None:
    """Remove uploads that were not imported in time, except files that an open job needs.

    Called by what changes uploads or batches, and by the worker.
    """
    moment = now()
    busy = _find_busy()
    for upload in Upload.objects.filter(created_at__lt=moment - KEEP_REFUSED_FOR):
        if str(upload.pk) in busy or upload.kept_until > moment:
            continue
        if upload.created_at < moment - KEEP_FOR:
            _drop_unless_busy(upload)
        else:
            forget_bytes(upload)  # the row keeps what was said of its columns
    _remove_strays()


def _find_busy() -> set[str]:
    states = [Job.State.WAITING, Job.State.RUNNING]
    return set(Job.objects.filter(state__in=states).values_list("subject", flat=True))


@transaction.atomic
def _drop_unless_busy(upload: Upload) -> None:
    # a job may have been started since, or its person may have opened it
    row = Upload.objects.select_for_update(of=("self",)).filter(pk=upload.pk).first()
    if row is not None and str(row.pk) not in _find_busy() and row.kept_until <= now():
        drop_upload(row)


def _remove_strays() -> None:
    """Remove bytes without a row: left by a process that was killed in between."""
    folder, oldest = settings.DATA_DIR / "uploads", (now() - KEEP_FOR).timestamp()
    old = []
    for path in folder.iterdir() if folder.exists() else ():
        with suppress(FileNotFoundError):  # another process removed it first
            if path.stat().st_mtime < oldest:
                old.append(path)
    known = {str(pk) for pk in Upload.objects.values_list("pk", flat=True)} if old else set()
    for path in old:
        if path.name.partition(".")[0] not in known:
            path.unlink(missing_ok=True)


def _check_size(size: int) -> None:
    limit = settings.UPLOAD_MAX_BYTES
    if size > limit:
        raise ValidationError(
            f"The file is larger than {limit / 1024 / 1024:.0f} MB. Split it and upload the parts "
            "one after another.",
            code="too_large",
        )
