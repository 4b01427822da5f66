"""Files that wait take up no more room than they may, and go in time; a full disk is said."""

import errno
import io
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from evalsite.core.jobs import services
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job, start_job
from evalsite.core.outage import is_outage
from evalsite.data.models import Upload
from evalsite.data.tables.reader import open_table
from evalsite.data.tables.table import Limits, Refused
from evalsite.data.uploads import check_quota, keep_upload, prune_uploads
from evalsite.lib.clock import now
from evalsite.studies.models import Study
from tests.data.items.test_upload_pages import address
from tests.support.queues import run_waiting_jobs
from tests.support.uploads import GOOD

BAD = "item,system\n1,\n"


@pytest.fixture(autouse=True)
def data_dir(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=0)


def keep(study: Study, *, size: int = 1, by: Any = None) -> Upload:
    return keep_upload(study=study, file_name="a.csv", chunks=[b"x" * size], by=by)


def send(client: Client, study: Study, content: str, purpose: str = "items") -> Any:
    file = SimpleUploadedFile("a.csv", content.encode())
    return client.post(
        address("upload-new", study), {"file": file, "pasted": "", "purpose": purpose}
    )


# --- quotas -----------------------------------------------------------------------


@pytest.mark.both_databases
@pytest.mark.parametrize("purpose", ["items", "ratings", "metrics"])
def test_study_with_too_many_waiting_files_takes_no_other(
    staff_client: Client, study: Study, settings: Any, purpose: str, data_dir: Path
) -> None:
    settings.UPLOAD_STUDY_FILES = 1
    keep(study)

    response = send(staff_client, study, GOOD, purpose)

    assert response.status_code == 422
    assert "Import or cancel one of them" in response.text
    assert Upload.objects.count() == 1
    assert len(list((data_dir / "uploads").iterdir())) == 1


@pytest.mark.django_db(transaction=True)
def test_cancelled_file_makes_room(staff_client: Client, study: Study, settings: Any) -> None:
    settings.UPLOAD_STUDY_FILES = 1
    first = keep(study)

    staff_client.post(address("upload-cancel", study, first.pk))

    assert send(staff_client, study, GOOD).status_code == 302


@pytest.mark.parametrize("size", [100, 101])
def test_waiting_files_of_a_study_have_so_many_bytes_at_most(
    study: Study, settings: Any, size: int, data_dir: Path
) -> None:
    settings.UPLOAD_STUDY_BYTES = 150
    keep(study, size=50)

    if size == 100:
        keep(study, size=size)
    else:
        with pytest.raises(ValidationError) as caught:
            keep(study, size=size)
        assert caught.value.code == "too_much_waiting"
        assert len(list((data_dir / "uploads").iterdir())) == 1


def test_person_has_so_many_waiting_files_in_all_studies_together(
    make_study: Callable[..., Any], researcher: Any, settings: Any
) -> None:
    settings.UPLOAD_PERSON_FILES = 2
    one, two = make_study(title="One", by=researcher), make_study(title="Two", by=researcher)
    keep(one, by=researcher)
    keep(two, by=researcher)

    with pytest.raises(ValidationError, match="“One”, “Two”") as caught:
        keep(one, by=researcher)
    keep(one)

    assert caught.value.code == "too_many_waiting"


def test_imported_file_takes_no_place(staff_client: Client, study: Study, settings: Any) -> None:
    settings.UPLOAD_STUDY_FILES = 1
    send(staff_client, study, GOOD)
    staff_client.post(address("upload-import", study, Upload.objects.get().pk))

    check_quota(study=study, by=None)

    assert study.batches.exists()


# --- in time ----------------------------------------------------------------------


def test_refused_file_goes_after_an_hour_and_what_was_said_of_it_stays(
    staff_client: Client, study: Study
) -> None:
    send(staff_client, study, BAD)
    refused = Upload.objects.get()
    send(staff_client, study, GOOD)
    good = Upload.objects.exclude(pk=refused.pk).get()

    with time_machine.travel(now() + timedelta(minutes=61)):
        prune_uploads()

    assert not refused.path.exists()
    assert not refused.faults_path.exists()
    assert good.path.exists()
    assert Upload.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_file_that_an_open_job_needs_is_kept_until_the_job_is_over(study: Study) -> None:
    upload = keep_upload(study=study, file_name="a.csv", chunks=[GOOD.encode()], by=None)
    start_job("check upload", study_id=study.pk, by=None, subject=str(upload.pk))

    with time_machine.travel(now() + timedelta(days=2)):
        prune_uploads()
        was_kept = upload.path.exists()
        run_waiting_jobs()
        prune_uploads()

    assert was_kept
    assert Job.objects.get().state == "done"
    assert not upload.path.exists()
    assert not Upload.objects.exists()


@pytest.mark.both_databases
def test_bytes_go_only_when_the_row_is_gone_for_certain(
    study: Study, django_capture_on_commit_callbacks: Any
) -> None:
    upload = keep(study)
    later = now().timestamp() + 3 * 24 * 60 * 60
    os.utime(upload.path, (later, later))

    with (
        time_machine.travel(now() + timedelta(days=2)),
        django_capture_on_commit_callbacks() as callbacks,
    ):
        prune_uploads()

    assert not Upload.objects.exists()
    assert upload.path.exists()
    for callback in callbacks:
        callback()
    assert not upload.path.exists()


def test_bytes_without_a_row_go_after_a_day(study: Study, data_dir: Path) -> None:
    known = keep(study)
    stray = data_dir / "uploads" / "0b6b4c62-0000-4000-8000-000000000000.faults.csv"
    young = data_dir / "uploads" / "0b6b4c62-0000-4000-8000-000000000001"
    for path in (stray, young):
        path.touch()
    old = now().timestamp() - 2 * 24 * 60 * 60
    for path in (stray, known.path):
        os.utime(path, (old, old))

    prune_uploads()

    assert [stray.exists(), young.exists(), known.path.exists()] == [False, True, True]


@pytest.mark.django_db(transaction=True)
def test_scores_with_faults_go_after_an_hour(
    staff_client: Client, study: Study, settings: Any, data_dir: Path
) -> None:
    settings.UPLOAD_JOB_BYTES = 0
    send(staff_client, study, "item,system,metric,value\n1,a,b,c\n", "metrics")
    run_waiting_jobs()

    with time_machine.travel(now() + timedelta(minutes=61)):
        prune_uploads()

    assert Job.objects.get().state == "done"
    assert not list((data_dir / "uploads").iterdir())


def test_worker_with_another_folder_says_so(study: Study) -> None:
    upload = keep_upload(study=study, file_name="a.csv", chunks=[GOOD.encode()], by=None)
    job = start_job("check upload", study_id=study.pk, by=None, subject=str(upload.pk))
    upload.path.unlink()

    assert "EVALSITE_DATA_DIR" in run_job(job).message


# --- a full disk ------------------------------------------------------------------

ROOM = 16 * 1024 * 1024


@contextmanager
def little_room() -> Iterator[None]:
    """No file of this process may become larger, as on a disk that is nearly full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("purpose", ["items", "ratings", "metrics"])
def test_bad_72_upload_to_a_full_disk_is_not_stored_yet(
    staff_client: Client, study: Study, purpose: str
) -> None:
    staff_client.raise_request_exception = False

    with little_room():
        response = send(staff_client, study, "x" * (ROOM + 1), purpose)

    assert response.status_code == 503
    assert int(response.headers["Retry-After"]) > 0
    assert not Upload.objects.exists()


def test_upload_that_finds_no_room_leaves_no_bytes(study: Study, data_dir: Path) -> None:
    with little_room(), pytest.raises(OSError, match="large") as caught:
        keep(study, size=ROOM + 1)

    assert is_outage(caught.value)
    assert not list((data_dir / "uploads").iterdir())
    assert not Upload.objects.exists()


@pytest.mark.django_db
def test_job_that_finds_no_room_says_so_and_leaves_no_half_file(
    monkeypatch: pytest.MonkeyPatch, data_dir: Path
) -> None:
    def write(job: Job) -> dict[str, Any]:
        with (data_dir / "part").open("wb") as file:
            file.write(b"x" * (ROOM + 1))
        return {}

    monkeypatch.setitem(services._KINDS, "write", write)
    job = start_job("write", study_id=None, by=None)

    with little_room(), pytest.raises(OSError, match="large"):
        run_job(job)

    job.refresh_from_db()
    assert (job.state, job.message) == ("failed", services._FULL_DISK)


@pytest.mark.parametrize(
    ("number", "is_disk"),
    [
        (errno.ENOSPC, True),
        (errno.EDQUOT, True),
        (errno.EROFS, True),
        (errno.ENOENT, False),
        (errno.ECONNRESET, False),
    ],
)
def test_disk_that_takes_nothing_is_an_outage_and_other_errors_are_ours(
    number: int, is_disk: bool
) -> None:
    error = OSError(number, os.strerror(number))
    later = ValueError("Can't close the file while it is being written")
    later.__context__ = error

    assert [is_outage(error), is_outage(later)] == [is_disk, is_disk]


# --- nothing but line breaks ------------------------------------------------------


@pytest.mark.parametrize("start", ["", "item,system\n1,a\n"])
def test_file_of_line_breaks_is_refused_after_as_many_as_it_may_have_rows(start: str) -> None:
    source = io.BytesIO(start.encode() + b"\n" * 1_000)

    with pytest.raises(Refused, match="empty lines") as caught:
        list(open_table(source, limits=Limits(rows=100)).rows)

    assert 100 < caught.value.fault.line < 110
