"""Large files are checked, imported and undone by jobs: watched, left, killed and started again."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import restart_job
from evalsite.data import uploads
from evalsite.data.items.importer import ITEMS
from evalsite.data.models import Upload
from evalsite.data.uploads import begin_import, keep_upload
from evalsite.studies.models import Batch, Item, Study
from tests.core.jobs.test_jobs import in_ten_minutes
from tests.data.items.test_upload_pages import address, press_import
from tests.support.browsing import is_watched
from tests.support.factories import make_study, make_user
from tests.support.queues import run_waiting_jobs
from tests.support.uploads import GOOD

ROOT = Path(__file__).resolve().parents[3]

# A worker that is killed (kill -9) when it has stored all items, or when the batch just stands.
DYING_WORKER = """
import os, signal, sys
import django
django.setup()
from django.core.management import call_command
from evalsite.data import uploads
from evalsite.data.items import importer
def die(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "in the middle of the transaction":
    type(importer.AuditEntry.objects).record = die
else:
    steps.forget_bytes = die
call_command("db_worker", "--batch")
"""


@pytest.fixture(autouse=True)
def every_file_is_large(settings: Any) -> None:
    settings.UPLOAD_JOB_BYTES = 0


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=0)


def send(client: Client, study: Study, content: str = GOOD) -> str:
    """The page that follows an upload."""
    file = SimpleUploadedFile("rankme.csv", content.encode())
    response = client.post(address("upload-new", study), {"file": file, "pasted": ""}, follow=True)
    return response.content.decode()


def look(client: Client, study: Study) -> Any:
    return client.get(address("upload-preview", study, Upload.objects.get().pk))


def test_large_file_is_checked_by_a_job_and_its_page_can_be_left(
    staff_client: Client, study: Study
) -> None:
    page = send(staff_client, study)
    waiting = look(staff_client, study)
    listed = staff_client.get(address("batch-list", study)).content.decode()
    run_waiting_jobs()
    checked = look(staff_client, study)

    assert "Checking rankme.csv:" in page
    assert "Import 1 item" not in page
    assert is_watched(waiting)
    assert "Checking rankme.csv:" in listed
    assert "Import 1 item" in checked.content.decode()
    assert not is_watched(checked)


def test_checked_file_is_not_read_again_to_show_it(
    staff_client: Client, study: Study, monkeypatch: Any
) -> None:
    send(staff_client, study)
    run_waiting_jobs()
    monkeypatch.setattr(uploads, "check_source", None)

    page = look(staff_client, study).content.decode()

    assert "1 item, 3 systems: right so far?" in page
    assert "name[A]" in page  # the first item as annotators see it


def test_large_file_is_imported_by_a_job(staff_client: Client, study: Study) -> None:
    send(staff_client, study)
    run_waiting_jobs()
    upload = Upload.objects.get()

    page = press_import(staff_client, study, upload).content.decode()
    pressed_again = press_import(staff_client, study, upload).content.decode()
    run_waiting_jobs()

    assert "Importing rankme.csv:" in page
    assert "Importing rankme.csv:" in pressed_again
    assert Batch.objects.get().items.count() == 1  # type: ignore[attr-defined]
    assert not upload.path.exists()
    assert look(staff_client, study)["Location"] == address("batch-list", study)


def test_faults_of_a_large_file_stand_on_its_page_and_in_the_csv(
    staff_client: Client, study: Study
) -> None:
    send(staff_client, study, GOOD.replace("Two.", ""))
    run_waiting_jobs()

    page = look(staff_client, study).content.decode()
    faults = staff_client.get(address("upload-faults", study, Upload.objects.get().pk))

    assert "line 3 (record 2)" in page
    assert "Import 1 item" not in page
    assert faults.content.decode().splitlines()[1].startswith('3,2,output,"The output is empty')


def test_new_mapping_is_checked_by_another_job(staff_client: Client, study: Study) -> None:
    send(staff_client, study, GOOD.replace("output", "words"))
    run_waiting_jobs()
    upload = Upload.objects.get()
    mapping = {"column-0": "item", "column-1": "mr", "column-2": "system", "column-3": "output"}

    page = staff_client.post(address("upload-preview", study, upload.pk), mapping, follow=True)
    run_waiting_jobs()

    assert "Checking rankme.csv:" in page.content.decode()
    assert "Import 1 item" in look(staff_client, study).content.decode()


def test_file_given_up_while_its_import_waits_is_not_imported(
    staff_client: Client, study: Study
) -> None:
    send(staff_client, study)
    run_waiting_jobs()
    upload = Upload.objects.get()
    press_import(staff_client, study, upload)

    staff_client.post(address("upload-cancel", study, upload.pk))
    run_waiting_jobs()

    assert not Batch.objects.exists()
    assert "given up meanwhile" in Job.objects.get(kind="import batch").message


@pytest.mark.both_databases
def test_ids_taken_since_the_check_are_told_on_the_page(staff_client: Client, study: Study) -> None:
    send(staff_client, study)
    run_waiting_jobs()
    upload = Upload.objects.get()
    press_import(staff_client, study, upload)
    other = GOOD.replace("One.", "Other.").encode()
    first = keep_upload(study=study, file_name="first.csv", chunks=[other], by=None)
    uploads.import_upload(first, by=None)

    run_waiting_jobs()
    page = staff_client.get(address("upload-preview", study, upload.pk)).content.decode()

    assert "The file has faults, so nothing was imported." in page
    assert 'data-code="output_differs"' in page
    assert "Start again" in page
    assert Batch.objects.count() == 1


@pytest.mark.torture
@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "moment", ["in the middle of the transaction", "when the batch just stands"]
)
def test_import_whose_worker_is_killed_can_be_finished(moment: str, database_url: str) -> None:
    study = make_study(items=0)
    upload = keep_upload(study=study, file_name="a.csv", chunks=[GOOD.encode()], by=None)
    begin_import(upload, by=make_user())

    done = subprocess.run(
        [sys.executable, "-c", DYING_WORKER, moment],
        cwd=ROOT,
        env=os.environ
        | {"DJANGO_SETTINGS_MODULE": "tests.settings", "EVALSITE_DATABASE": database_url},
        capture_output=True,
        text=True,
        check=False,
    )
    stands_already = Batch.objects.exists()
    job = in_ten_minutes(Job.objects.get(kind="import batch"))
    restart_job(job, by=make_user())
    run_waiting_jobs()

    assert done.returncode == -signal.SIGKILL, done.stderr
    assert stands_already == (moment == "when the batch just stands")
    assert job.is_stale
    assert Batch.objects.get().items.count() == 1  # type: ignore[attr-defined]
    assert Item.objects.filter(batch__isnull=False).count() == 1
    assert not upload.path.exists()


def test_large_batch_is_undone_by_a_job(
    staff_client: Client, study: Study, monkeypatch: Any
) -> None:
    monkeypatch.setattr(ITEMS, "rows_undone_at_once", 2)
    upload = keep_upload(study=study, file_name="a.csv", chunks=[GOOD.encode()], by=None)
    batch = uploads.import_upload(upload, by=None)

    page = staff_client.post(address("batch-undo", study, batch.pk), follow=True)
    run_waiting_jobs()
    after = staff_client.get(address("batch-list", study))

    assert "Removing a.csv:" in page.content.decode()
    assert Job.objects.get(kind="undo batch").state == Job.State.DONE
    assert not Batch.objects.exists()
    assert "Removing a.csv" not in after.content.decode()


def test_number_of_queries_is_the_same_for_many_waiting_files(
    staff_client: Client, study: Study, settings: Any
) -> None:
    settings.UPLOAD_STUDY_FILES = 100

    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert staff_client.get(address("batch-list", study)).status_code == 200
        return len(queries)

    def wait() -> None:
        upload = keep_upload(study=study, file_name="a.csv", chunks=[GOOD.encode()], by=None)
        Job.objects.create(study_id=study.pk, kind="check upload", subject=str(upload.pk))

    for _ in range(2):
        wait()
    few = count()
    for _ in range(20):
        wait()

    assert count() == few
