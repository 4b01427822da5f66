"""Files of ratings that wait, and the jobs at work on them, are found again after leaving."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from evalsite.core.jobs.models import Job
from evalsite.data.models import Upload
from evalsite.data.ratings.importer import RATINGS
from evalsite.data.uploads import keep_upload
from evalsite.studies.models import Membership, Study
from tests.data.ratings.test_ratings_pages import address, upload
from tests.support.factories import make_user
from tests.support.imported import load, rows_for
from tests.support.queues import run_waiting_jobs
from tests.support.uploads import GOOD

pytestmark = pytest.mark.django_db

ELSEWHERE = "An upload is being processed there."


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=2, k=2)


def list_ratings(client: Client, study: Study) -> str:
    response = client.get(address("ratings-list", study))
    assert response.status_code == 200
    return response.content.decode()


def list_items(client: Client, study: Study) -> str:
    return client.get(address("batch-list", study)).content.decode()


def test_file_of_ratings_that_waits_is_listed_until_it_is_cancelled(
    staff_client: Client, study: Study
) -> None:
    waiting = upload(staff_client, study, rows_for(study))
    preview = address("upload-preview", study, waiting.pk)
    cancel = address("upload-cancel", study, waiting.pk)

    page, items = list_ratings(staff_client, study), list_items(staff_client, study)
    staff_client.post(cancel)
    after = list_ratings(staff_client, study) + list_items(staff_client, study)

    assert "waits for you to import it. It is kept until" in page
    assert f'href="{preview}"' in page
    assert f'action="{cancel}"' in page
    assert ELSEWHERE in items
    assert "waits for you to import it" not in items
    assert "Waiting uploads" not in after
    assert ELSEWHERE not in after


def test_checking_and_importing_ratings_are_watched_where_ratings_are_listed(
    staff_client: Client, study: Study, settings: Any
) -> None:
    settings.UPLOAD_JOB_BYTES = 0
    waiting = upload(staff_client, study, rows_for(study))
    checking = list_ratings(staff_client, study)
    run_waiting_jobs()
    checked = list_ratings(staff_client, study)
    staff_client.post(address("upload-import", study, waiting.pk), {"has_persons": "yes"})
    importing = list_ratings(staff_client, study)
    run_waiting_jobs()
    imported = list_ratings(staff_client, study)

    assert "Checking ratings.csv:" in checking
    assert "waits for you to import it" in checked
    assert "Importing ratings.csv:" in importing
    assert "Waiting uploads" not in imported
    assert ELSEWHERE not in list_items(staff_client, study)


@pytest.mark.parametrize("kind", [RATINGS.check_kind, RATINGS.import_kind])
def test_stopped_job_of_ratings_is_listed_and_starts_again(
    staff_client: Client, study: Study, kind: str
) -> None:
    waiting = upload(staff_client, study, rows_for(study))
    job = Job.objects.create(
        study_id=study.pk,
        kind=kind,
        subject=str(waiting.pk),
        state=Job.State.FAILED,
        message="The disk is full.",
    )

    page = list_ratings(staff_client, study)
    back = address("ratings-list", study)
    response = staff_client.post(address("job-restart", study, job.pk), {"next": back})

    assert "ratings.csv stopped." in page
    assert "The disk is full." in page
    assert address("job-restart", study, job.pk) in page
    assert response["Location"] == back
    again = Job.objects.get(kind=kind, state=Job.State.WAITING)
    assert again.subject == str(waiting.pk)


def test_large_file_of_ratings_with_faults_is_listed_as_such(
    staff_client: Client, study: Study, settings: Any
) -> None:
    settings.UPLOAD_JOB_BYTES = 0
    upload(staff_client, study, [row | {"system": "none"} for row in rows_for(study)])
    run_waiting_jobs()

    assert "has faults. Nothing was imported." in list_ratings(staff_client, study)


def test_ratings_that_are_in_the_study_are_listed_as_such(
    staff_client: Client, study: Study
) -> None:
    load(study, rows_for(study))
    upload(staff_client, study, rows_for(study))

    assert "is in the study already: 0 new answers." in list_ratings(staff_client, study)


def test_undoing_ratings_is_told_where_items_are_listed(staff_client: Client, study: Study) -> None:
    file = load(study, rows_for(study))
    before = list_items(staff_client, study)
    Job.objects.create(study_id=study.pk, kind=RATINGS.undo_kind, subject=str(file.pk))

    assert ELSEWHERE not in before
    assert ELSEWHERE in list_items(staff_client, study)


def test_viewers_see_no_files_that_wait(staff_client: Client, study: Study) -> None:
    upload(staff_client, study, rows_for(study))
    viewer = make_user("viewer")
    Membership.objects.create(study=study, user=viewer, role=Membership.Role.VIEWER)
    client = Client()
    client.force_login(viewer, backend="django.contrib.auth.backends.ModelBackend")

    assert "Waiting uploads" not in list_ratings(client, study)


@pytest.mark.one_case
@pytest.mark.parametrize("name", ["ratings-list", "batch-list"])
def test_number_of_queries_is_the_same_for_many_waiting_ratings(
    staff_client: Client, study: Study, name: str, settings: Any
) -> None:
    settings.UPLOAD_STUDY_FILES = 100

    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert staff_client.get(address(name, study)).status_code == 200
        return len(queries)

    def wait() -> None:
        waiting = keep_upload(study=study, file_name="a.csv", chunks=[GOOD.encode()], by=None)
        Upload.objects.filter(pk=waiting.pk).update(purpose=Upload.Purpose.RATINGS)
        Job.objects.create(study_id=study.pk, kind=RATINGS.check_kind, subject=str(waiting.pk))

    for _ in range(2):
        wait()
    few = count()
    for _ in range(20):
        wait()

    assert count() == few
