"""Keeping an uploaded file until it is imported or given up."""

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, Any
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from evalsite.data.tables import parquet
from evalsite.data.tables.files import clean_file_name
from evalsite.imports.models import Upload
from evalsite.jobs.models import Job
from evalsite.jobs.schedule import HOURLY, scheduled
from evalsite.lib.clock import now
from evalsite.lib.limited import measure_unpacked
from evalsite.studies.models import Study

KEEP_FOR = timedelta(days=1)
# a file with faults: long enough to look at them, or to map its columns
KEEP_REFUSED_FOR = timedelta(hours=1)
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


# --- without a study ------------------------------------------------------------------


def open_upload(key: UUID, *, by: Any) -> Upload | None:
    """Return this person's file that has no study yet, or has become one; None for anyone else.

    It is kept for a day after it was last opened.
    """
    uploads = Upload.objects.filter(pk=key, created_by=by).select_related("study")
    upload = uploads.first()
    moment = now()
    if upload is not None and upload.study_id is None and find_kept_until(upload) <= moment:
        # the next clean-up deletes it
        return None
    # noted once an hour: looking at a page seldom writes
    if upload is not None and upload.looked_at < moment - _NOTED_EVERY:
        uploads.filter(study=None).update(looked_at=moment)
        upload.looked_at = moment
    return upload


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


def has_faults(upload: Upload) -> bool:
    """The last check found some; a small file of ratings is checked whenever it is shown."""
    report = upload.report if upload.checked_at else {}
    return bool(report.get("fault_count") or report.get("faults"))


def find_kept_until(upload: Upload) -> datetime:
    """When its bytes go, unless a job needs them then."""
    if upload.study_id is None:
        return upload.looked_at + KEEP_FOR
    longest = upload.created_at + KEEP_FOR
    if upload.batch_id or upload.ratings_file_id:
        return longest
    if upload.checked_at and has_faults(upload):
        return min(longest, upload.checked_at + KEEP_REFUSED_FOR)
    return longest


@scheduled("Delete files that were uploaded and not imported", every=HOURLY, is_deleting=True)
def prune_uploads() -> None:
    """Remove uploads that were not imported in time, except files that an open job needs.

    Called by what changes uploads or batches, and by the worker.
    """
    moment = now()
    busy = _find_busy()
    for upload in Upload.objects.filter(created_at__lt=moment - KEEP_REFUSED_FOR):
        if str(upload.pk) in busy or find_kept_until(upload) > moment:
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
    if row is not None and str(row.pk) not in _find_busy() and find_kept_until(row) <= now():
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


# --- several files as one ---------------------------------------------------------------


_EARLIEST = (1980, 1, 1, 0, 0, 0)


def pack_files(files: Iterable[tuple[str, Callable[[], IO[bytes]]]]) -> IO[bytes]:
    """Return an open zip of these files; ValidationError if two have one name."""
    ordered = sorted(files, key=lambda one: one[0])
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
    first, *others = sorted(names)
    folders = {name.partition("/")[0] if "/" in name else "" for name in (first, *others)}
    if folders != {""} and len(folders) == 1:
        number = len(others) + 1
        return f"{folders.pop()} ({number:,} {'file' if number == 1 else 'files'})"
    if not others:
        return first
    return f"{first} and {others[0] if len(others) == 1 else f'{len(others)} more'}"
