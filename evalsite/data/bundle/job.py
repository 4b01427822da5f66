"""Packing outside web requests: one archive for each wish, kept for some days.

Equal contents are one file. The bundles of a study count in its quota: older ones make room.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any
from uuid import UUID

from django.conf import settings

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.schedule import HOURLY, scheduled
from evalsite.core.jobs.services import job_kind, report_progress, start_job
from evalsite.data.bundle.anonymous import write_anonymous
from evalsite.data.bundle.format import REPORT_SOURCES, Contents
from evalsite.data.bundle.public import PageOptions, write_public_page, zip_folder
from evalsite.data.bundle.write import Packed, measure, select_answers, write_bundle
from evalsite.data.files.dataset import DatasetOptions
from evalsite.data.files.jobs import delete_taken_back, is_taken_back
from evalsite.data.files.services import has_simulated
from evalsite.data.models import Upload
from evalsite.lib.old_files import delete_older
from evalsite.studies.models import Study
from evalsite.studies.summary_lines import name_of_file, name_start

KIND = "bundle"
KEPT_DAYS = 7
ANONYMOUS, PAGE, DATASET = "anonymous", "public page", "dataset"
# names of files, by what is in them
_FILES = {
    "data": "bundle",
    "data and free text": "bundle_with_comments",
    "data to publish": "bundle_to_publish",
    "design": "bundle_design",
    ANONYMOUS: "bundle_anonymous",
    PAGE: "public",
    DATASET: "dataset",
}


def start_packing(
    study: Study, contents: Contents, *, by: Any, words: Mapping[str, str] | None = None,
    page: PageOptions | None = None,
) -> Job:  # fmt: skip
    """Start a job that packs the study, or return the open one that packs the same.

    `words`: those that an anonymous archive replaces, with what it says instead. `page`: what the
    public page holds, which is then packed.
    """
    return start_job(
        KIND,
        study_id=study.pk,
        by=by,
        subject=PAGE if page else _name_contents(contents),
        has_data=contents.has_data,
        has_free_text=contents.has_free_text,
        has_entry_answers=contents.has_entry_answers,
        is_public=contents.is_public,
        words=dict(words or {}),
        page=page.model_dump() if page else None,
    )


def start_dataset(study: Study, options: DatasetOptions, *, by: Any) -> Job:
    """Start a job that packs a dataset of the study, or return the open one."""
    return start_job(
        KIND,
        study_id=study.pk,
        by=by,
        subject=DATASET,
        has_data=True,
        has_free_text=options.has_comments,
        has_entry_answers=False,
        is_public=True,
        dataset=options.model_dump(),
    )


def _name_contents(contents: Contents) -> str:
    if not contents.has_data:
        return "design"
    if contents.is_anonymous:
        return ANONYMOUS
    if contents.is_public:
        return "data to publish"
    named = "data and free text" if contents.has_free_text else "data"
    return named if contents.has_entry_answers else f"{named}, no entry answers"


def has_data(job: Job) -> bool:
    """Return whether the archive that this job makes has answers."""
    return bool(job.params["has_data"])


def has_entry_answers(job: Job) -> bool:
    """Return whether the archive that this job makes has answers to entry questions."""
    # every bundle with data had them before they could be left out
    return job.params["has_data"] and job.params.get("has_entry_answers", True)


def find_written(job: Job) -> Path | None:
    """Return the archive that this job made, while it is on the disk."""
    path = _path_of(job.result.get("file", job.pk))
    return path if job.state == Job.State.DONE and path.exists() else None


def find_file(job: Job) -> Path | None:
    """Return the archive that this job made, while it is kept."""
    path = find_written(job)
    return None if path is None or (has_data(job) and is_taken_back(job)) else path


def list_kept(jobs: Sequence[Job]) -> list[Job]:
    """Return the jobs whose archives are kept, each archive once; the order stays."""
    kept: dict[Path, Job] = {}
    for job in jobs:
        if path := find_file(job):
            kept.setdefault(path, job)
    return list(kept.values())


def name_download(study: Study, job: Job) -> str:
    """Return a name for the download: the study's, with "simulated" if any row is."""
    return _name_file(study, job.subject, is_simulated=bool(job.result.get("is_simulated")))


def name_bundle(study: Study, contents: Contents) -> str:
    """Return the name that a download of these contents would have now."""
    is_simulated = _is_simulated(study, contents)
    return _name_file(study, _name_contents(contents), is_simulated=is_simulated)


def _is_simulated(study: Study, contents: Contents) -> bool:
    return contents.has_data and has_simulated(study, select_answers(study, contents))


def _name_file(study: Study, subject: str, *, is_simulated: bool) -> str:
    named, _, lack = subject.partition(", ")
    file = f"{_FILES[named]}{lack and '_'}{lack.replace(' ', '_')}.zip"
    name = name_of_file(study, file, is_simulated=is_simulated)
    return f"study{name.removeprefix(name_start(study))}" if subject == ANONYMOUS else name


def _path_of(job_id: UUID | str) -> Path:
    return settings.DATA_DIR / "bundles" / f"{job_id}.zip"


@job_kind(KIND)
def run_packing(job: Job) -> dict[str, Any]:
    """Write the archive to the server's disk, unless one with these contents is there."""
    contents = Contents(
        has_data=job.params["has_data"],
        has_free_text=job.params["has_free_text"] and job.params["has_data"],
        has_entry_answers=has_entry_answers(job),
        is_public=job.params.get("is_public", False),
    )
    words = job.params.get("words", {})
    study = Study.objects.get(pk=str(job.study_id))
    path = _path_of(job.pk)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    try:
        with part.open("w+b") as target:
            facts = {}
            if words:
                made = write_anonymous(study.pk, contents, words, target)
                packed, facts = (
                    made.packed,
                    {"replaced": made.list_replaced(words), "left": made.left},
                )
            elif page := job.params.get("page"):
                packed = _write_page(study, contents, PageOptions(**page), target)
            elif options := job.params.get("dataset"):
                packed, facts = _write_dataset(study, DatasetOptions(**options), target)
            else:
                packed = write_bundle(
                    study.pk,
                    contents,
                    target,
                    lambda done, total: report_progress(job, done, total),
                )
        earlier = _find_equal(study, packed.sha256)
        if earlier is None:
            part.rename(path)
    finally:
        part.unlink(missing_ok=True)
    _make_room(study, keep=path if earlier is None else _path_of(earlier))
    return {
        **({} if earlier is None else {"file": earlier}),
        "rows": packed.ratings,
        "files": packed.files,
        "size": packed.size,
        "sha256": packed.sha256,
        "is_simulated": _is_simulated(study, contents),
        **facts,
    }


def _write_page(
    study: Study, contents: Contents, options: PageOptions, target: IO[bytes]
) -> Packed:  # fmt: skip
    """Write the public page of the study as an archive of one folder."""
    with (
        TemporaryFile(dir=settings.DATA_DIR) as bundle,
        TemporaryDirectory(dir=settings.DATA_DIR, prefix="tmp-public-") as path,
    ):
        packed = write_bundle(study.pk, contents, bundle)
        folder = Path(path) / name_of_file(study, "public")
        write_public_page(bundle, options, folder)
        zip_folder(folder, target)
        files = sum(made.is_file() for made in folder.rglob("*"))
    return measure(target, files=files, ratings=packed.ratings)


def _write_dataset(
    study: Study, options: DatasetOptions, target: IO[bytes]
) -> tuple[Packed, dict[str, Any]]:
    """Write a dataset of the study as an archive of one folder."""
    with TemporaryDirectory(dir=settings.DATA_DIR, prefix="tmp-dataset-") as path:
        folder = Path(path) / name_of_file(study, "dataset")
        folder.mkdir()
        for source in REPORT_SOURCES:
            made = source.write_dataset(study, options, folder)
        zip_folder(folder, target)
        files = sum(written.is_file() for written in folder.rglob("*"))
    packed = measure(target, files=files, ratings=sum(made.rows.values()))
    return packed, {"tables": len(made.rows), "is_simulated": made.is_simulated}


def _find_equal(study: Study, sha256: str) -> str | None:
    """Return the name of the file that holds these very bytes, if this study has one."""
    for job in Job.objects.filter(study_id=study.pk, kind=KIND, result__sha256=sha256):
        if path := find_file(job):
            with suppress(FileNotFoundError):  # deleted just now, because of its age
                # kept for as long as one that is made now
                os.utime(path)
                return path.stem
    return None


def _make_room(study: Study, *, keep: Path) -> None:
    """Delete this study's oldest archives until its files fit its quota; keep this one."""
    jobs = Job.objects.filter(study_id=study.pk, kind=KIND, state=Job.State.DONE)
    waiting = Upload.objects.filter(study=study, batch=None, ratings_file=None)
    sizes = [upload.size for upload in waiting if upload.path.exists()]
    files, room = len(sizes), sum(sizes)
    newest_first = [keep, *(path for job in jobs if (path := find_file(job)) and path != keep)]
    for path in dict.fromkeys(newest_first):
        with suppress(FileNotFoundError):  # deleted just now, because of its age
            files, room = files + 1, room + path.stat().st_size
        is_too_much = files > settings.UPLOAD_STUDY_FILES or room > settings.UPLOAD_STUDY_BYTES
        if is_too_much and path != keep:
            path.unlink(missing_ok=True)


@scheduled("Delete bundles that were made", every=HOURLY, is_deleting=True)
def delete_old_bundles() -> str:
    """Delete archives that are older than they are kept or hold what was taken back, and parts."""
    folder = settings.DATA_DIR / "bundles"
    deleted = delete_older(folder.glob("*"), timedelta(days=KEPT_DAYS))
    deleted += delete_taken_back(KIND, lambda job: find_written(job) if has_data(job) else None)
    return f"{deleted} deleted" if deleted else ""
