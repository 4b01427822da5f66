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
from xlsxwriter import Workbook

from evalsite.core.jobs.models import Job
from evalsite.data.importing import Source
from evalsite.data.metrics.importer import METRICS
from evalsite.data.models import MetricFile, MetricScore, Upload
from evalsite.studies.models import Membership, Study
from tests.support.checking import check_scores
from tests.support.factories import make_user
from tests.support.queues import run_waiting_jobs

pytestmark = pytest.mark.django_db

LONG = "item,system,metric,value\nitem-001,neural,BLEU,0.5\nitem-001,template,BLEU,0.25\n"


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=2)


def address(name: str, study: Study, *parts: Any) -> str:
    return reverse(f"admin:{name}", args=[study.pk, *parts])


def upload(client: Client, study: Study, text: str) -> Upload:
    file = SimpleUploadedFile("bleu.csv", text.encode())
    response = client.post(address("upload-new", study), {"file": file, "purpose": "metrics"})
    assert response.status_code == 302, response.content.decode()
    return Upload.objects.latest("created_at")


def show(client: Client, study: Study, waiting: Upload) -> str:
    return client.get(address("upload-preview", study, waiting.pk), follow=True).content.decode()


def press_import(client: Client, study: Study, waiting: Upload) -> str:
    response = client.post(address("upload-import", study, waiting.pk), follow=True)
    return response.content.decode()


def send(client: Client, study: Study, text: str) -> str:
    return press_import(client, study, upload(client, study, text))


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
            source = Source(study=study, file_name="twin.csv", sha256=digest)
            METRICS.store(checked=checked, source=source, by=None)
        return execute(sql, *rest)

    with connection.execute_wrapper(watch):
        yield


def test_a_file_is_looked_at_then_stored_and_the_page_says_what_is_missing(
    staff_client: Client, study: Study
) -> None:
    waiting = upload(staff_client, study, LONG)

    preview = show(staff_client, study, waiting)
    assert not MetricScore.objects.exists()
    page = press_import(staff_client, study, waiting)

    assert "2 scores of 2 outputs" in preview
    assert "Import 2 scores" in preview
    assert "Imported 2 scores of 2 outputs." in page
    assert "2 of 6" in page
    assert MetricFile.objects.get().uploaded_by == User.objects.get(username="jane")
    assert not waiting.path.exists()


def test_an_upload_is_in_the_place_where_its_file_was_dropped(
    staff_client: Client, study: Study
) -> None:
    waiting = upload(staff_client, study, "item,system,metric,value\n")

    of_items = staff_client.get(address("upload-new", study)).context["frame"]
    of_scores = staff_client.get(address("upload-preview", study, waiting.pk)).context["frame"]

    assert (of_items.place, of_items.tab) == ("Set up", "Items")
    assert (of_scores.place, of_scores.tab) == ("Results", "Judges & metrics")


def test_faults_are_shown_and_nothing_is_stored(staff_client: Client, study: Study) -> None:
    waiting = upload(staff_client, study, LONG + "item-002,neural,BLEU,nan\n")

    page = show(staff_client, study, waiting)
    press_import(staff_client, study, waiting)

    assert 'data-code="score_invalid"' in page
    assert "line 4 (record 3), value" in page
    assert not MetricScore.objects.exists()


def test_columns_are_mapped_on_the_page_and_remembered(staff_client: Client, study: Study) -> None:
    text = "n,sys,judge\nitem-001,{},0.5\n"
    first = upload(staff_client, study, text.format("neural"))
    assert 'data-code="column_missing"' in show(staff_client, study, first)
    fields = {"column-0": "item", "column-1": "system", "column-2": "score_of_this_metric"}
    staff_client.post(address("upload-preview", study, first.pk), fields)

    press_import(staff_client, study, first)
    page = send(staff_client, study, text.format("template"))

    assert "Imported 1 score of 1 output." in page
    assert set(MetricScore.objects.values_list("metric", flat=True)) == {"judge"}
    assert MetricScore.objects.count() == 2


def test_the_same_file_again_brings_nothing_new(staff_client: Client, study: Study) -> None:
    send(staff_client, study, LONG)

    page = send(staff_client, study, LONG)

    assert "This file was already uploaded: 0 new scores." in page
    assert MetricScore.objects.count() == 2


def test_the_later_of_two_clicks_brings_nothing_new(staff_client: Client, study: Study) -> None:
    waiting = upload(staff_client, study, LONG)

    with other_click(study, LONG):
        press_import(staff_client, study, waiting)

    assert MetricFile.objects.get().file_name == "twin.csv"
    assert MetricScore.objects.count() == 2


def test_the_later_of_two_jobs_brings_nothing_new(
    staff_client: Client, study: Study, settings: Any
) -> None:
    settings.UPLOAD_JOB_BYTES = 10
    waiting = [upload(staff_client, study, LONG), upload(staff_client, study, LONG)]
    run_waiting_jobs()
    for each in waiting:
        press_import(staff_client, study, each)

    run_waiting_jobs()

    jobs = Job.objects.filter(kind="import metrics")
    assert {job.state for job in jobs} == {"done"}
    assert {job.result["record"] for job in jobs} == {str(MetricFile.objects.get().pk)}
    assert MetricScore.objects.count() == 2


def test_an_empty_page_says_what_a_file_looks_like(staff_client: Client, study: Study) -> None:
    page = staff_client.get(address("results-judges", study)).content.decode()
    template = staff_client.get(address("metrics-template", study))

    assert "No judge or metric yet" in page
    assert address("metrics-template", study) in page
    lines = template.content.decode().splitlines()
    assert lines[:2] == ["item,system,metric,value", "item-001,baseline,,"]
    assert len(lines) == 7


def test_the_scores_that_are_missing_can_be_filled_in(staff_client: Client, study: Study) -> None:
    send(staff_client, study, LONG)

    text = staff_client.get(address("metrics-missing", study)).content.decode()
    lines = text.splitlines()
    filled = "\n".join([lines[0], *(f"{line}1" for line in lines[1:])])
    page = send(staff_client, study, filled)

    assert lines[1] == "item-001,baseline,BLEU,"
    assert len(lines) == 5
    assert "6 of 6" in page


def test_a_file_is_taken_back_after_a_question(staff_client: Client, study: Study) -> None:
    send(staff_client, study, LONG)
    file = MetricFile.objects.get()

    question = staff_client.get(
        address("results-file-undo-confirm", study, file.pk)
    ).content.decode()
    assert "Its 2 scores leave the study." in question
    page = staff_client.post(address("results-file-undo", study, file.pk), follow=True)

    assert "bleu.csv is gone." in page.content.decode()
    assert not MetricScore.objects.exists()


def test_a_large_file_is_checked_and_stored_by_jobs(
    staff_client: Client, study: Study, settings: Any
) -> None:
    settings.UPLOAD_JOB_BYTES = 10
    waiting = upload(staff_client, study, LONG)
    assert "Checking bleu.csv" in show(staff_client, study, waiting)
    run_waiting_jobs()
    assert "Import 2 scores" in show(staff_client, study, waiting)

    assert "Importing bleu.csv" in press_import(staff_client, study, waiting)
    assert not MetricScore.objects.exists()
    run_waiting_jobs()

    assert MetricScore.objects.count() == 2
    # the page of the upload leads to the list
    assert "2 of 6" in show(staff_client, study, waiting)
    assert not waiting.path.exists()


def test_a_file_that_waits_is_listed_until_it_is_cancelled(
    staff_client: Client, study: Study
) -> None:
    waiting = upload(staff_client, study, LONG)
    before = staff_client.get(address("results-judges", study)).content.decode()

    staff_client.post(address("upload-cancel", study, waiting.pk))
    after = staff_client.get(address("results-judges", study)).content.decode()

    assert ["waits for you to import it" in page for page in (before, after)] == [True, False]
    assert not Upload.objects.exists()


def test_a_workbook_is_read(study: Study) -> None:
    buffer = BytesIO()
    with Workbook(buffer) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["item", "system", "BLEU"])
        sheet.write_row(1, 0, ["item-001", "neural", 0.1])
        sheet.write_row(2, 0, ["item-002", "neural", 7])

    checked = check_scores(buffer, study=study)

    assert [score.value for score in checked.scores] == [0.1, 7.0]


def test_a_viewer_sees_and_changes_nothing(client: Client, study: Study) -> None:
    Membership.objects.create(study=study, user=make_user("vera"), role=Membership.Role.VIEWER)
    client.force_login(User.objects.get(username="vera"))

    page = client.get(address("results-judges", study))

    assert page.status_code == 200
    assert "An editor of the study can upload a file." in page.content.decode()
    file = SimpleUploadedFile("bleu.csv", LONG.encode())
    assert (
        client.post(address("upload-new", study), {"file": file, "purpose": "metrics"}).status_code
        == 403
    )
    assert not MetricScore.objects.exists()


def test_a_stranger_finds_no_page(client: Client, study: Study) -> None:
    client.force_login(make_user("stan"))

    assert client.get(address("results-judges", study)).status_code == 404


@pytest.mark.slow
def test_the_page_asks_as_often_for_many_files_as_for_few(
    staff_client: Client, study: Study, django_assert_max_num_queries: Any
) -> None:
    for number in range(2):
        send(staff_client, study, f"item,system,m{number}\nitem-001,neural,1\n")

    for more in (0, 40):
        output = MetricScore.objects.earliest("pk").output
        files = MetricFile.objects.bulk_create(
            MetricFile(study=study, file_name="x.csv", sha256=f"{number:064}")
            for number in range(more)
        )
        MetricScore.objects.bulk_create(
            MetricScore(file=file, output=output, metric=f"x{number}", value=1)
            for number, file in enumerate(files)
        )
        with django_assert_max_num_queries(17):
            staff_client.get(address("results-judges", study))


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
        "2 scores of 2 outputs by BLEU, no faults. Nothing was imported: this was a check.",
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


# --- rows with faults ---------------------------------------------------------------------

FAULTY = (
    "item,system,BLEU,chrF\n"
    "item-001,neural,0.5,50\n"
    "item-001,template,0.25,half\n"
    "item-009,neural,0.75,60\n"
)


def leave_out(client: Client, study: Study, waiting: Upload) -> None:
    decision = {"decision-leave_out_faulty": "True"}
    client.post(address("upload-preview", study, waiting.pk), decision)


def test_rows_with_faults_are_left_out_once_somebody_has_decided_so(
    staff_client: Client, study: Study
) -> None:
    waiting = upload(staff_client, study, FAULTY)
    page = show(staff_client, study, waiting)
    leave_out(staff_client, study, waiting)
    press_import(staff_client, study, waiting)

    assert "2 rows have faults" in page
    assert "Leave out 2 rows" in page
    # of a row with one fault nothing is stored, good scores neither
    stored = MetricScore.objects.order_by("metric").values_list("metric", "value")
    assert [*stored] == [("BLEU", 0.5), ("chrF", 50.0)]
    (note,) = MetricFile.objects.get().import_notes
    assert note["text"] == "2 faulty rows were left out."
    assert [code for *_, code in note["rows"]] == ["score_invalid", "item_unknown"]


def test_rows_are_left_out_by_the_command_too(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(FAULTY, encoding="utf-8")

    with pytest.raises(CommandError):
        call_command("import_metrics", str(study.pk), str(path))
    call_command("import_metrics", str(study.pk), str(path), "--leave-out-faulty")

    assert MetricScore.objects.count() == 2


def test_a_file_of_nothing_but_faulty_rows_is_still_refused(
    staff_client: Client, study: Study
) -> None:
    waiting = upload(staff_client, study, "item,system,BLEU\nitem-009,neural,0.5\n")
    leave_out(staff_client, study, waiting)

    assert 'data-code="nothing_left"' in show(staff_client, study, waiting)
    press_import(staff_client, study, waiting)
    assert not MetricFile.objects.exists()
