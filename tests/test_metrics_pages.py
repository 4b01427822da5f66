"""The staff page of metric scores: uploading, what is missing, taking back, and who may."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from evalsite.imports.metrics.checking import check_scores
from evalsite.imports.metrics.storing import store_scores
from evalsite.imports.models import MetricFile, MetricScore, Upload
from evalsite.jobs.models import Job
from evalsite.studies.models import Membership, Study
from tests.browsing import is_watched
from tests.factories import make_user
from tests.queues import run_waiting_jobs
from tests.sheets import write_workbook

pytestmark = pytest.mark.django_db

LONG = "item,system,metric,value\nitem-001,neural,BLEU,0.5\nitem-001,template,BLEU,0.25\n"


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=2)


def address(name: str, study: Study, *parts: Any) -> str:
    return reverse(f"admin:{name}", args=[study.pk, *parts])


def send(client: Client, study: Study, text: str) -> Any:
    file = SimpleUploadedFile("bleu.csv", text.encode())
    return client.post(address("metrics-new", study), {"file": file}, follow=True)


@contextmanager
def other_click(study: Study, text: str) -> Iterator[None]:
    """The same file is stored after one looked for it, and before one looks at its scores."""
    data = text.encode()
    checked = check_scores(BytesIO(data), study=study)
    done: list[object] = []

    def watch(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if not done and MetricScore._meta.db_table in sql:
            done.append(sql)
            digest = sha256(data).hexdigest()
            store_scores(study=study, checked=checked, file_name="twin.csv", sha256=digest, by=None)
        return execute(sql, *rest)

    with connection.execute_wrapper(watch):
        yield


def test_a_file_is_stored_and_the_page_says_what_is_missing(
    staff_client: Client, study: Study
) -> None:
    page = send(staff_client, study, LONG).content.decode()

    assert "2 scores of 2 outputs stored." in page
    assert "bleu.csv" in page
    assert "2 of 6" in page
    assert MetricFile.objects.get().uploaded_by == User.objects.get(username="jane")
    assert not Upload.objects.exists()


def test_faults_are_told_and_nothing_is_stored(staff_client: Client, study: Study) -> None:
    response = send(staff_client, study, LONG + "item-002,neural,BLEU,nan\n")

    assert response.status_code == 422
    page = response.content.decode()
    assert "line 4 (record 3), value" in page
    assert "“nan” is no number. Leave the cell empty" in page
    assert not MetricScore.objects.exists()
    assert not Upload.objects.exists()


def test_the_same_file_again_brings_nothing_new(staff_client: Client, study: Study) -> None:
    send(staff_client, study, LONG)

    page = send(staff_client, study, LONG).content.decode()

    assert "This file is here already, as bleu.csv: 0 new scores." in page
    assert "If scores of it went with a batch, take it back first" in page
    assert MetricScore.objects.count() == 2


def test_the_later_of_two_clicks_brings_nothing_new(staff_client: Client, study: Study) -> None:
    with other_click(study, LONG):
        page = send(staff_client, study, LONG).content.decode()

    assert "This file is here already, as twin.csv: 0 new scores." in page
    assert MetricScore.objects.count() == 2
    assert not Upload.objects.exists()


def test_the_later_of_two_jobs_brings_nothing_new(
    staff_client: Client, study: Study, settings: Any
) -> None:
    settings.UPLOAD_JOB_BYTES = 10
    send(staff_client, study, LONG)
    send(staff_client, study, LONG)

    run_waiting_jobs()

    jobs = Job.objects.order_by("created_at")
    assert [(job.state, job.result["scores"]) for job in jobs] == [("done", 2), ("done", 0)]
    assert MetricScore.objects.count() == 2
    assert not Upload.objects.exists()


def test_a_page_with_a_form_does_not_change_by_itself(
    client: Client, staff_client: Client, study: Study, settings: Any
) -> None:
    Membership.objects.create(study=study, user=make_user("vera"), role=Membership.Role.VIEWER)
    client.force_login(User.objects.get(username="vera"))
    settings.UPLOAD_JOB_BYTES = 10
    send(staff_client, study, LONG)

    editor = staff_client.get(address("metrics-list", study))
    viewer = client.get(address("metrics-list", study))

    assert "Storing scores" in editor.content.decode()
    assert [is_watched(one) for one in (editor, viewer)] == [False, True]


def test_an_empty_page_says_what_a_file_looks_like(staff_client: Client, study: Study) -> None:
    page = staff_client.get(address("metrics-list", study)).content.decode()
    template = staff_client.get(address("metrics-template", study))

    assert "None yet." in page
    assert address("metrics-template", study) in page
    lines = template.content.decode().splitlines()
    assert lines[:2] == ["item,system,metric,value", "item-001,baseline,,"]
    assert len(lines) == 7


def test_the_scores_that_are_missing_can_be_filled_in(staff_client: Client, study: Study) -> None:
    send(staff_client, study, LONG)

    text = staff_client.get(address("metrics-missing", study)).content.decode()
    lines = text.splitlines()
    filled = "\n".join([lines[0], *(f"{line}1" for line in lines[1:])])
    page = send(staff_client, study, filled).content.decode()

    assert lines[1] == "item-001,baseline,BLEU,"
    assert len(lines) == 5
    assert "6 of 6" in page


def test_a_file_is_taken_back_after_a_question(staff_client: Client, study: Study) -> None:
    send(staff_client, study, LONG)
    file = MetricFile.objects.get()

    question = staff_client.get(address("metrics-undo-confirm", study, file.pk)).content.decode()
    assert "Its 2 scores leave the study." in question
    page = staff_client.post(address("metrics-undo", study, file.pk), follow=True)

    assert "bleu.csv is gone: 2 scores." in page.content.decode()
    assert not MetricScore.objects.exists()


def test_a_large_file_is_stored_by_a_job(staff_client: Client, study: Study, settings: Any) -> None:
    settings.UPLOAD_JOB_BYTES = 10

    page = send(staff_client, study, LONG).content.decode()
    assert "Storing scores" in page
    assert not MetricScore.objects.exists()
    run_waiting_jobs()

    assert MetricScore.objects.count() == 2
    assert Job.objects.get().state == Job.State.DONE
    assert not Upload.objects.exists()


def test_the_faults_of_a_large_file_stand_on_the_page(
    staff_client: Client, study: Study, settings: Any
) -> None:
    settings.UPLOAD_JOB_BYTES = 10
    send(staff_client, study, LONG + "item-009,neural,BLEU,1\n")
    run_waiting_jobs()

    page = staff_client.get(address("metrics-list", study)).content.decode()

    assert "bleu.csv has faults: nothing was stored." in page
    assert "There is no item “item-009” in this study." in page


def test_a_large_file_with_faults_is_looked_at_again_once_they_are_gone(
    staff_client: Client, study: Study, settings: Any, add_batch: Callable[..., Any]
) -> None:
    settings.UPLOAD_JOB_BYTES = 10
    send(staff_client, study, LONG + "item-003,neural,BLEU,1\n")
    run_waiting_jobs()
    add_batch(study, items=1, first=3)

    back = address("metrics-list", study)
    staff_client.post(address("job-restart", study, Job.objects.get().pk), {"next": back})
    run_waiting_jobs()

    assert MetricScore.objects.count() == 3
    assert "Storing scores" not in staff_client.get(back).content.decode()


def test_a_job_that_stopped_is_not_told_of_once_other_scores_came(
    staff_client: Client, study: Study, settings: Any
) -> None:
    settings.UPLOAD_JOB_BYTES = 10
    send(staff_client, study, LONG + "item-009,neural,BLEU,1\n")
    run_waiting_jobs()
    settings.UPLOAD_JOB_BYTES = 1_000_000

    page = send(staff_client, study, LONG).content.decode()

    assert "has faults" not in page


def test_a_workbook_is_read(staff_client: Client, study: Study) -> None:
    rows = [("item", "system", "BLEU"), ("item-001", "neural", 0.1), ("item-002", "neural", 7)]
    file = SimpleUploadedFile("bleu.xlsx", write_workbook(rows))

    staff_client.post(address("metrics-new", study), {"file": file})

    assert set(MetricScore.objects.values_list("value", flat=True)) == {0.1, 7.0}


def test_a_viewer_sees_and_changes_nothing(client: Client, study: Study) -> None:
    Membership.objects.create(study=study, user=make_user("vera"), role=Membership.Role.VIEWER)
    client.force_login(User.objects.get(username="vera"))

    page = client.get(address("metrics-list", study))

    assert page.status_code == 200
    assert "An editor of the study can upload a file." in page.content.decode()
    assert send(client, study, LONG).status_code == 403
    assert not MetricScore.objects.exists()


def test_a_stranger_finds_no_page(client: Client, study: Study) -> None:
    client.force_login(make_user("stan"))

    assert client.get(address("metrics-list", study)).status_code == 404


@pytest.mark.parametrize("number", [2, 40])
def test_the_page_asks_as_often_for_many_files_as_for_few(
    staff_client: Client, study: Study, number: int, django_assert_max_num_queries: Any
) -> None:
    for one in range(number):
        send(staff_client, study, f"item,system,m{one}\nitem-001,neural,1\n")

    with django_assert_max_num_queries(17):
        staff_client.get(address("metrics-list", study))


def test_the_command_stores_or_only_looks(
    study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bleu.csv"
    path.write_text(LONG)

    call_command("import_metrics", str(study.pk), str(path), "--check")
    assert not MetricScore.objects.exists()
    call_command("import_metrics", str(study.pk), str(path))
    call_command("import_metrics", str(study.pk), str(path))

    assert capsys.readouterr().out.splitlines() == [
        "2 scores of 2 outputs by BLEU, no faults. Nothing was stored: this was a check.",
        "Stored 2 scores of 2 outputs by BLEU.",
        "Already uploaded as bleu.csv, 0 new. If scores of it went with a batch, take it back "
        "first, then upload it again.",
    ]
    assert MetricScore.objects.count() == 2


def test_the_command_knows_a_file_that_was_uploaded_while_it_looked(
    study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bleu.csv"
    path.write_text(LONG)

    with other_click(study, LONG):
        call_command("import_metrics", study.title, str(path))

    assert capsys.readouterr().out.startswith("Already uploaded as twin.csv, 0 new.")
    assert MetricScore.objects.count() == 2


def test_the_command_tells_every_fault(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "bleu.csv"
    path.write_text(LONG + "item-002,neural,BLEU,inf\nitem-007,neural,BLEU,1\n")

    with pytest.raises(CommandError, match=r"line 4(?s:.*)line 5"):
        call_command("import_metrics", str(study.pk), str(path))
