"""The staff pages of ratings collected elsewhere: looking, mapping, importing, undoing."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from evalsite.core.jobs.models import Job
from evalsite.data.models import Upload
from evalsite.data.ratings.importer import RATINGS
from evalsite.handout.models import Annotation, RatingsFile
from evalsite.people.models import Participant
from evalsite.studies.models import Membership, Study
from tests.support.browsing import is_watched
from tests.support.factories import launch, make_user
from tests.support.imported import load, rows_for, write_csv
from tests.support.queues import run_waiting_jobs

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=2, k=2)


def address(name: str, study: Study, *parts: Any) -> str:
    return reverse(f"admin:{name}", args=[study.pk, *parts])


def upload(client: Client, study: Study, rows: Any) -> Upload:
    text = rows if isinstance(rows, str) else write_csv(rows)
    file = SimpleUploadedFile("ratings.csv", text.encode())
    response = client.post(address("upload-new", study), {"file": file, "purpose": "ratings"})
    assert response.status_code == 302, response.content.decode()
    return Upload.objects.latest("created_at")


def show(client: Client, study: Study, waiting: Upload) -> str:
    response = client.get(address("upload-preview", study, waiting.pk))
    assert response.status_code == 200
    return response.content.decode()


def press_import(client: Client, study: Study, waiting: Upload, persons: str = "yes") -> Any:
    data = {"has_persons": persons} if persons else {}
    return client.post(address("upload-import", study, waiting.pk), data, follow=True)


def test_a_file_is_looked_at_and_imported(staff_client: Client, study: Study) -> None:
    waiting = upload(staff_client, study, rows_for(study, ["w1", "w2", "w3"]))

    page = show(staff_client, study, waiting)

    assert "18 ratings by 3 people of 2 items" in page
    assert "2 answers find no free place and will be surplus" in page
    assert "With 3 answers per item all of them would count" in page
    assert not Annotation.objects.exists()
    done = press_import(staff_client, study, waiting).content.decode()
    assert "Imported 18 rows: 4 counted answers, 2 surplus." in done
    assert Annotation.objects.count() == 6
    waiting.refresh_from_db()
    assert waiting.ratings_file == RatingsFile.objects.get()
    assert not waiting.path.exists()
    assert RatingsFile.objects.get().uploaded_by == User.objects.get(username="jane")


def test_nothing_is_chosen_beforehand_and_nothing_imported_without_a_choice(
    staff_client: Client, study: Study
) -> None:
    waiting = upload(staff_client, study, rows_for(study))

    page = show(staff_client, study, waiting)
    response = press_import(staff_client, study, waiting, persons="")

    assert "checked" not in page.partition("Is each participant")[2].partition("</fieldset>")[0]
    assert response.status_code == 422
    assert "Say whether each participant of this file is one person." in response.content.decode()
    assert not RatingsFile.objects.exists()


@pytest.mark.parametrize(("answer", "is_person"), [("yes", True), ("no", False)])
def test_the_declaration_stands_with_file_and_participants(
    staff_client: Client, study: Study, answer: str, is_person: bool
) -> None:
    waiting = upload(staff_client, study, rows_for(study))

    press_import(staff_client, study, waiting, persons=answer)

    assert RatingsFile.objects.get().has_persons is is_person
    assert Participant.objects.get(study=study).is_person is is_person


@pytest.mark.slow
def test_faults_leave_no_button_and_can_be_downloaded(staff_client: Client, study: Study) -> None:
    rows = rows_for(study, [f"w{number}" for number in range(60)])
    for number, row in enumerate(rows[::3]):
        row["system"] = f"=1+{number}"
    waiting = upload(staff_client, study, rows)

    page = show(staff_client, study, waiting)
    faults = staff_client.get(address("upload-faults", study, waiting.pk)).content.decode()

    assert "120 faults, so nothing can be used yet" in page
    assert "20 more are in the CSV." in page
    assert "Import 120" not in page
    assert "<title>Error:" in page
    assert len(faults.splitlines()) == 121
    press_import(staff_client, study, waiting)
    assert not RatingsFile.objects.exists()


@pytest.mark.slow
def test_columns_are_mapped_and_incomplete_answers_allowed(
    staff_client: Client, study: Study
) -> None:
    rows = [{"who": row.pop("participant"), **row} for row in rows_for(study)[:-1]]
    waiting = upload(staff_client, study, rows)
    assert "Column “participant” (who rated) is missing" in show(staff_client, study, waiting)
    fields = ["participant", "item", "criterion", "system", "value", "place"]
    data = {f"column-{number}": field for number, field in enumerate(fields)}
    where = address("upload-preview", study, waiting.pk)

    staff_client.post(where, data)
    assert "did not rate all of item item-002" in show(staff_client, study, waiting)
    staff_client.post(where, data | {"keeps_incomplete": "True"})

    page = show(staff_client, study, waiting)
    assert "5 ratings by 1 person of 2 items" in page
    assert "Not everything was rated (1 found)." in page
    press_import(staff_client, study, waiting)
    assert Annotation.objects.count() == 2


def test_the_preview_tells_encoding_and_delimiter(staff_client: Client, study: Study) -> None:
    text = write_csv(rows_for(study))

    good = show(staff_client, study, upload(staff_client, study, text))
    faulty = show(staff_client, study, upload(staff_client, study, text.replace("baseline", "x")))

    for page in (good, faulty):
        read = page.partition("How the file was read</h2>")[2]
        assert "<dd>UTF-8</dd>" in read
        assert '<option value="comma" selected>' in read
        assert "<dd>6<small>" in read


def test_a_cancel_button_stands_beside_import(staff_client: Client, study: Study) -> None:
    waiting = upload(staff_client, study, rows_for(study))

    page = show(staff_client, study, waiting)

    beside = page.partition("Import 2 answers</button>")[2].partition("</p>")[0]
    assert f'formaction="{address("upload-cancel", study, waiting.pk)}"' in beside
    assert page.count(">Cancel</button>") == 1


def test_the_page_says_whether_an_import_opens_batches_or_has(
    staff_client: Client, study: Study
) -> None:
    def tell() -> str:
        return staff_client.get(address("ratings-list", study)).content.decode()

    before = tell()
    file = load(study, rows_for(study))
    RatingsFile.objects.filter(pk=file.pk).update(rows=8904)
    after = tell()

    assert "The import opens the batches of these items" in before
    assert "The import opens the batches" not in after
    assert "Its batches are open, since ratings were imported" in after
    assert '<td data-label="Rows">8,904</td>' in after


def test_the_same_file_again_is_known(staff_client: Client, study: Study) -> None:
    rows = rows_for(study)
    load(study, rows)

    waiting = upload(staff_client, study, rows)

    assert "is in the study already" in show(staff_client, study, waiting)
    done = press_import(staff_client, study, waiting).content.decode()
    assert "This file was already uploaded: 0 new answers." in done
    assert RatingsFile.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_cancelled_files_are_gone(staff_client: Client, study: Study) -> None:
    waiting = upload(staff_client, study, rows_for(study))

    staff_client.post(address("upload-cancel", study, waiting.pk))

    assert not Upload.objects.exists()
    assert not waiting.path.exists()


def test_an_import_is_undone_after_a_question(staff_client: Client, study: Study) -> None:
    file = load(study, rows_for(study))
    question = staff_client.get(address("ratings-undo-confirm", study, file.pk)).content.decode()

    done = staff_client.post(address("ratings-undo", study, file.pk), follow=True)

    assert "2 answers that count and 0 surplus leave the study" in question
    assert "The answers of ratings.csv are gone." in done.content.decode()
    assert not Annotation.objects.exists()
    again = staff_client.post(address("ratings-undo", study, file.pk), follow=True)
    assert "That file is gone already." in again.content.decode()


# --- in a job -------------------------------------------------------------------------------


def test_large_files_are_checked_imported_and_undone_in_jobs(
    staff_client: Client, study: Study, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.UPLOAD_JOB_BYTES = 10
    monkeypatch.setattr(RATINGS, "rows_stored_at_once", 3)
    monkeypatch.setattr(RATINGS, "rows_undone_at_once", 3)
    waiting = upload(staff_client, study, rows_for(study))
    response = staff_client.get(address("upload-preview", study, waiting.pk))
    assert (is_watched(response), b"Import 2 answers" in response.content) == (True, False)

    run_waiting_jobs()
    assert "6 ratings by 1 person" in show(staff_client, study, waiting)
    press_import(staff_client, study, waiting)
    assert not RatingsFile.objects.exists()
    run_waiting_jobs()

    file = RatingsFile.objects.get()
    assert Annotation.objects.counted().count() == 2
    assert Job.objects.get(kind="import ratings").result == {"record": str(file.pk)}
    response = staff_client.get(address("upload-preview", study, waiting.pk))
    assert response["Location"] == address("ratings-list", study)
    page = staff_client.post(address("ratings-undo", study, file.pk), follow=True)
    assert "Undoing the import" in page.content.decode()
    run_waiting_jobs()
    assert not RatingsFile.objects.exists()


@pytest.mark.both_databases
def test_an_import_that_was_killed_goes_on_and_counts_once(
    staff_client: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RATINGS, "rows_stored_at_once", 3)
    monkeypatch.setattr(RATINGS, "rows_undone_at_once", 3)
    waiting = upload(staff_client, study, rows_for(study))

    def break_off(*args: Any, **kwargs: Any) -> None:
        raise ConnectionError

    with monkeypatch.context() as broken:
        broken.setattr("evalsite.data.ratings.store.insert_rows", break_off)
        press_import(staff_client, study, waiting)
        with pytest.raises(ConnectionError):
            run_waiting_jobs()
    assert not RatingsFile.objects.exists()
    assert not Participant.objects.filter(study=study).exists()
    assert "stopped" in show(staff_client, study, waiting)

    job = Job.objects.get(kind="import ratings")
    staff_client.post(address("job-restart", study, job.pk))
    run_waiting_jobs()

    assert Annotation.objects.counted().count() == 2
    assert RatingsFile.objects.count() == 1


# --- who, and what other pages say ----------------------------------------------------------


def test_viewers_look_and_change_nothing(study: Study) -> None:
    file = load(study, rows_for(study))
    viewer = make_user("viewer")
    Membership.objects.create(study=study, user=viewer, role=Membership.Role.VIEWER)
    client = Client()
    client.force_login(viewer, backend="django.contrib.auth.backends.ModelBackend")

    page = client.get(address("ratings-list", study))

    assert page.status_code == 200
    assert b"ratings.csv" in page.content
    assert b"Undo" not in page.content
    assert client.post(address("upload-new", study), {"purpose": "ratings"}).status_code == 403
    assert client.post(address("ratings-undo", study, file.pk)).status_code == 403
    assert RatingsFile.objects.exists()


def test_a_file_of_another_study_is_not_found(
    staff_client: Client, study: Study, make_study: Callable[..., Any]
) -> None:
    other = make_study(items=1, title="Another")
    file = load(study, rows_for(study))
    waiting = upload(staff_client, study, rows_for(study, ["w2"]))

    assert staff_client.get(address("ratings-undo-confirm", other, file.pk)).status_code == 404
    assert staff_client.get(address("upload-preview", other, waiting.pk)).status_code == 404


@pytest.mark.one_case
@pytest.mark.parametrize("name", ["study-overview", "study-progress", "study-export"])
def test_pages_say_what_was_imported(staff_client: Client, study: Study, name: str) -> None:
    load(study, rows_for(study))

    page = staff_client.get(address(name, study)).content.decode()

    assert "2 answers were imported from ratings.csv on " in page


def test_pages_of_imported_people_open_for_nobody(staff_client: Client, study: Study) -> None:
    load(study, rows_for(study))
    launch(study)

    page = staff_client.get(address("study-people", study)).content.decode()

    assert "Imported" in page
    assert not Participant.objects.get(study=study).links.exists()


def test_a_study_without_items_asks_for_its_batch_first(
    staff_client: Client, make_study: Callable[..., Any]
) -> None:
    page = staff_client.get(address("ratings-list", make_study(items=0))).content.decode()

    assert "Upload the batch that they are about first" in page


def test_the_list_takes_as_many_queries_for_many_files_as_for_one(
    staff_client: Client, study: Study, django_assert_max_num_queries: Any
) -> None:
    for number in range(5):
        load(study, rows_for(study, [f"w{number}"]))

    with django_assert_max_num_queries(20):
        staff_client.get(address("ratings-list", study))


def test_page_with_a_form_does_not_change_by_itself(
    staff_client: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RATINGS, "rows_stored_at_once", 3)
    monkeypatch.setattr(RATINGS, "rows_undone_at_once", 3)
    file = load(study, rows_for(study))
    staff_client.post(address("ratings-undo", study, file.pk))

    page = staff_client.get(address("ratings-list", study))

    assert "Undoing the import" in page.content.decode()
    assert not is_watched(page)
