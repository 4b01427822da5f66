"""Keeping an uploaded file until it is imported or given up."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError

from evalsite.exchange.models import Upload
from evalsite.lib.clock import now
from evalsite.studies.models import Study

KEEP_FOR = timedelta(days=1)
_MAX_NAME = 200
_UNPACKED = 6


def keep_upload(
    *,
    study: Study,
    file_name: str,
    chunks: Iterable[bytes],
    by: Any,
    purpose: str = Upload.Purpose.ITEMS,
) -> Upload:
    """The bytes wait on disk under a random name; nothing of the study has changed."""
    prune_uploads()
    upload = Upload(
        study=study,
        purpose=purpose,
        file_name=clean_file_name(file_name),
        created_by=by if getattr(by, "is_authenticated", False) else None,
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
        upload.save(force_insert=True)
    except BaseException:
        # refused, or the connection broke off: no bytes are left lying about
        upload.path.unlink(missing_ok=True)
        raise
    return upload


def drop_upload(upload: Upload) -> None:
    """The file is given up: row and bytes are gone."""
    forget_bytes(upload)
    upload.delete()


def forget_bytes(upload: Upload) -> None:
    """The file was imported: its bytes are gone, the row says what became of it."""
    upload.path.unlink(missing_ok=True)
    upload.faults_path.unlink(missing_ok=True)


def is_large(upload: Upload) -> bool:
    """Whether reading it takes too long for a page: told by its size, before it is read."""
    with upload.path.open("rb") as file:
        is_packed = file.read(4) == b"PK\x03\x04"  # a workbook: several times as large inside
    return upload.size * (_UNPACKED if is_packed else 1) > settings.UPLOAD_JOB_BYTES


def prune_uploads() -> None:
    """What nobody decided on for a day is gone. Called by what changes uploads or batches."""
    for upload in Upload.objects.filter(created_at__lt=now() - KEEP_FOR):
        drop_upload(upload)


def clean_file_name(name: str) -> str:
    """A name to show to staff: no folders, no signs that cannot be seen, at most 200 letters."""
    base = re.split(r"[/\\]", name)[-1]
    seen = "".join(
        sign for sign in base if unicodedata.category(sign)[0] not in "CZ" or sign == " "
    )
    return seen.strip(" .")[-_MAX_NAME:] or "batch.csv"


def _check_size(size: int) -> None:
    limit = settings.UPLOAD_MAX_BYTES
    if size > limit:
        raise ValidationError(
            f"The file is larger than {limit / 1024 / 1024:.0f} MB. Split it and upload the parts "
            "one after the other.",
            code="too_large",
        )
