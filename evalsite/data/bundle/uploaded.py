"""Bundles that people upload: kept for some days, checked and imported, outside web requests."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import Q, QuerySet

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.schedule import HOURLY, scheduled
from evalsite.core.jobs.services import job_kind, report_progress, start_job
from evalsite.data.bundle.format import BUILT
from evalsite.data.bundle.read import BadBundle
from evalsite.data.bundle.restore import find_protocol, restore_bundle
from evalsite.data.bundle.verify import verify_bundle
from evalsite.lib.old_files import delete_older
from evalsite.studies.models import Study

CHECK, IMPORT = "bundle check", "bundle import"
KEPT_DAYS = 7
# of one person; older ones make room for new ones
MOST_KEPT = 5
_MOST_LISTED = 50
_LONGEST_NAME = 120
_GONE = "This file isn’t kept any more. Upload it again."


def keep_bundle(file: UploadedFile, *, by: Any) -> Job:
    """Keep a file, and start its check.

    ValidationError if another bundle of this person is still waiting or being checked.
    """
    _insist_on_none_waiting(by)
    bundle_id = uuid4()
    path = _path_of(bundle_id.hex)
    path.parent.mkdir(parents=True, exist_ok=True)
    for job in list_checks(by)[MOST_KEPT - 1 :]:
        remove_bundle(job)
    part = path.with_suffix(".part")
    try:
        with part.open("wb") as target:
            for chunk in file.chunks():
                target.write(chunk)
        part.rename(path)
        name = (file.name or "bundle.zip")[-_LONGEST_NAME:]
        with transaction.atomic():
            # one at a time: two uploads at once must not both be the only one
            people = get_user_model().objects.select_for_update(no_key=True)
            list(people.filter(pk=by.pk).values("pk"))
            _insist_on_none_waiting(by)
            return start_job(
                CHECK, study_id=None, by=by, subject=bundle_id.hex, name=name, size=file.size
            )
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        part.unlink(missing_ok=True)


def _insist_on_none_waiting(user: Any) -> None:
    if any(job.is_open and not job.is_stale for job in _jobs_of(user, CHECK)):
        raise ValidationError(
            "Another of your bundles is still being checked. Wait until that is done, then upload "
            "this one.",
            code="bundle_waits",
        )


def list_checks(user: Any) -> list[Job]:
    """Return the last check of each bundle that this person uploaded and that is still kept."""
    latest: dict[str, Job] = {}
    for job in _jobs_of(user, CHECK):
        latest.setdefault(job.subject, job)
    return [job for job in latest.values() if is_kept(job)]


def find_check(user: Any, bundle_id: UUID) -> Job | None:
    return _jobs_of(user, CHECK).filter(subject=bundle_id.hex).first()


def list_imports(user: Any, bundle_id: UUID) -> list[Job]:
    """Return the imports of a bundle, newest first."""
    return list(_jobs_of(user, IMPORT).filter(subject=bundle_id.hex))


def is_kept(check: Job) -> bool:
    return _path_of(check.subject).exists()


def remove_bundle(check: Job) -> None:
    """Delete the file; what was imported of it stays."""
    _path_of(check.subject).unlink(missing_ok=True)


def is_here(result: dict[str, Any]) -> bool:
    """Tell whether this site has the study of a bundle, by what its check found."""
    condition = Q(pk=result["study"]) | Q(batches__in=result["batches"])
    return Study.objects.filter(condition).exists()


@transaction.atomic
def start_import(check: Job, *, by: Any, has_data: bool) -> Job:
    """Start the import of a bundle that was checked, or return one that is under way."""
    Job.objects.select_for_update().get(pk=check.pk)
    imports = Job.objects.filter(kind=IMPORT, subject=check.subject, params__has_data=has_data)
    if running := next((job for job in imports if job.is_open), None):
        return running
    is_copy = is_here(check.result)
    new_id = str(uuid4())
    return start_job(
        IMPORT,
        study_id=None,
        by=by,
        subject=check.subject,
        has_data=has_data,
        is_copy=is_copy,
        new_id=new_id,
        made_id=new_id if is_copy or not has_data else check.result["study"],
    )


def _jobs_of(user: Any, kind: str) -> QuerySet[Job]:
    return Job.objects.filter(kind=kind, started_by=user, study_id=None).order_by("-created_at")


def _path_of(subject: str) -> Path:
    return settings.DATA_DIR / "uploaded-bundles" / f"{UUID(subject).hex}.zip"


# --- jobs ---------------------------------------------------------------------------


@job_kind(CHECK)
def run_check(job: Job) -> dict[str, Any]:
    """Check everything about a bundle, and keep what it says of itself."""
    try:
        with _path_of(job.subject).open("rb") as file:
            report = verify_bundle(file, lambda done, of: report_progress(job, done, of))
    except FileNotFoundError:
        raise ValidationError(_GONE) from None
    faults = [str(fault) for fault in report.faults]
    facts = {} if faults else _describe(report.about)
    return {
        "checks": report.checks,
        "remarks": report.remarks,
        "faults": faults[:_MOST_LISTED],
        "more_faults": max(0, len(faults) - _MOST_LISTED),
        **facts,
    }


def _describe(about: dict[str, Any]) -> dict[str, Any]:
    """Return what a sound bundle holds, and whether this site can use it."""
    plain, problem, title = about["study"], "", ""
    try:
        title = find_protocol(plain).title
    except (ValidationError, BadBundle) as error:
        problem = " ".join(getattr(error, "messages", [str(error)]))
    return {
        "problem": problem,
        "study": plain["id"],
        "batches": [batch["id"] for batch in plain["batches"]],
        "title": plain["title"],
        "language": plain["language"],
        "protocol": plain["protocol"],
        "built": plain[BUILT],
        "instrument": title,
        "systems": len(plain["systems"]),
        "software": about["software"],
        "has_data": about["has_data"],
        "counts": about["counts"],
    }


@job_kind(IMPORT)
def run_import(job: Job) -> dict[str, Any]:
    """Make a study of a bundle: as it was, or a draft of the same design."""
    owner = job.started_by
    if owner is None or not (owner.is_active and owner.is_staff):
        raise ValidationError("The person who started this import no longer has an account here.")
    has_data, new_id = job.params["has_data"], UUID(job.params["new_id"])
    # an import that was interrupted at its end has made its study
    mine = Study.objects.filter(memberships__user=owner)
    if made := mine.filter(pk=job.params["made_id"]).first():
        return {"study": str(made.pk), "title": made.title, "remarks": []}
    try:
        with _path_of(job.subject).open("rb") as file:
            restored = restore_bundle(
                file=file, owner=owner, by=owner, has_data=has_data,
                is_copy=job.params["is_copy"], new_id=new_id,
            )  # fmt: skip
    except FileNotFoundError:
        raise ValidationError(_GONE) from None
    study = restored.study
    return {"study": str(study.pk), "title": study.title, "remarks": restored.remarks}


@scheduled("Delete bundles that were uploaded", every=HOURLY, is_deleting=True)
def delete_uploaded_bundles() -> str:
    """Delete files that were uploaded longer ago than such files are kept."""
    folder = settings.DATA_DIR / "uploaded-bundles"
    deleted = delete_older(folder.glob("*"), timedelta(days=KEPT_DAYS))
    return f"{deleted} deleted" if deleted else ""
