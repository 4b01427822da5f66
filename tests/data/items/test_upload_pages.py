"""Pages of items and uploads: who may open them, and what they show and store."""

import csv
import io
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from evalsite.data.models import MetricFile, MetricScore, Upload
from evalsite.data.uploads import keep_upload
from evalsite.studies.models import Batch, Item, Output, Study
from tests.support.factories import launch
from tests.support.uploads import GOOD

HOSTILE = "<script>alert(1)</script>{{7*7}}</iframe>"


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=0)


def address(name: str, study: Study, *parts: Any) -> str:
    return reverse(f"admin:{name}", args=[study.pk, *parts])


def send(client: Client, study: Study, content: str = GOOD, name: str = "rankme.csv") -> Any:
    file = SimpleUploadedFile(name, content.encode())
    return client.post(address("upload-new", study), {"file": file, "pasted": ""}, follow=True)


def press_import(client: Client, study: Study, upload: Upload) -> Any:
    return client.post(address("upload-import", study, upload.pk), follow=True)


# --- uploading ------------------------------------------------------------------------


def test_file_is_shown_before_anything_is_stored(staff_client: Client, study: Study) -> None:
    page = send(staff_client, study).content.decode()

    assert "1 item, 3 systems: right so far?" in page
    assert "Import 1 item" in page
    assert not Batch.objects.exists()
    assert not Item.objects.filter(batch__isnull=False).exists()


def test_uploads_that_wait_stand_before_the_box(staff_client: Client, study: Study) -> None:
    send(staff_client, study)

    page = staff_client.get(address("batch-list", study)).content.decode()

    headings = ["Waiting uploads</h2>", "Drop your outputs here"]
    assert sorted(headings, key=page.index) == headings
    assert "Under way" not in page


def test_large_numbers_are_written_with_separators(staff_client: Client, study: Study) -> None:
    rows = [f"m{n},name[{n}],{system},Text {n}." for n in range(400) for system in "abc"]
    page = send(staff_client, study, "\n".join(["item,mr,system,output", *rows])).content.decode()

    after = press_import(staff_client, study, Upload.objects.get()).content.decode()

    assert "400 items, 3 systems: right so far?" in page
    assert "Import 400 items" in page
    assert 'data-th="Rows">1,200<' in after
    assert "400 items, 3 systems: 1,200 outputs to rate" in after
    assert "1 to 10 of 400" in after


def test_preview_of_one_item_says_so_in_the_singular(staff_client: Client, study: Study) -> None:
    assert "The first page, without the names" in send(staff_client, study).content.decode()


def test_import_stores_the_batch_and_forgets_the_file(staff_client: Client, study: Study) -> None:
    send(staff_client, study)
    upload = Upload.objects.get()

    page = press_import(staff_client, study, upload).content.decode()

    assert "Imported 3 rows as 1 item." in page
    assert "rankme.csv" in page
    assert "1 item, 3 systems: 3 outputs to rate" in page
    assert page.count('data-th="Outputs">1<') == 3
    assert Batch.objects.get().items.count() == 1  # type: ignore[attr-defined]
    assert not upload.path.exists()


@pytest.mark.both_databases
def test_bad_38_second_press_of_import_adds_nothing(staff_client: Client, study: Study) -> None:
    send(staff_client, study)
    upload = Upload.objects.get()
    press_import(staff_client, study, upload)

    page = press_import(staff_client, study, upload).content.decode()

    assert "already uploaded: 0 new" in page
    assert Batch.objects.count() == 1


def test_bad_17_same_file_again_is_said_to_be_there(staff_client: Client, study: Study) -> None:
    send(staff_client, study)
    press_import(staff_client, study, Upload.objects.get())

    page = send(staff_client, study, name="again.csv").content.decode()

    assert "0 new items" in page
    assert "Import 1 item" not in page
    assert "is in the study already, from" not in page
    listed = staff_client.get(address("batch-list", study)).content.decode()
    assert "is in the study already: 0 new items." in listed
    assert "has faults" not in listed


def test_file_with_faults_has_no_import_button_and_forcing_it_stores_nothing(
    staff_client: Client, study: Study
) -> None:
    page = send(staff_client, study, GOOD.replace("Two.", "")).content.decode()

    forced = press_import(staff_client, study, Upload.objects.get()).content.decode()

    assert "line 3 (record 2)" in page
    assert "Import 1 item" not in page
    assert "The file has faults, so nothing was imported" in forced
    assert not Batch.objects.exists()


def test_first_100_faults_stand_on_the_page_and_all_in_the_csv(
    staff_client: Client, study: Study
) -> None:
    rows = "".join(f"={n},name[A],alpha,Text.\n" for n in range(150))
    page = send(staff_client, study, f"{GOOD}{rows}").content.decode()

    listed = staff_client.get(address("upload-faults", study, Upload.objects.get().pk))

    found = list(csv.DictReader(io.StringIO(listed.content.decode())))
    assert page.count('<li data-code="id_invalid">') == 100
    assert "50 more are in the CSV" in page
    assert len(found) == 150
    assert found[0]["line"] == "5"
    assert found[0]["record"] == "4"
    assert listed["Content-Disposition"] == 'attachment; filename="faults.csv"'


def test_mapping_can_be_corrected_on_the_page(staff_client: Client, study: Study) -> None:
    send(staff_client, study, GOOD.replace("output", "words"))
    upload = Upload.objects.get()

    page = staff_client.post(
        address("upload-preview", study, upload.pk),
        {"column-0": "item", "column-1": "mr", "column-2": "system", "column-3": "output"},
        follow=True,
    ).content.decode()

    assert "Import 1 item" in page


def test_mapping_to_what_is_no_field_is_refused(staff_client: Client, study: Study) -> None:
    send(staff_client, study)
    upload = Upload.objects.get()

    page = staff_client.post(
        address("upload-preview", study, upload.pk), {"column-0": "id; drop"}, follow=True
    ).content.decode()

    assert "Choose one of the listed fields" in page
    assert "Import 1 item" in page


@pytest.mark.django_db(transaction=True)
def test_cancelled_upload_leaves_nothing(staff_client: Client, study: Study) -> None:
    send(staff_client, study)
    upload = Upload.objects.get()

    staff_client.post(address("upload-cancel", study, upload.pk))

    assert not upload.path.exists()
    assert not Upload.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_upload_nobody_decided_on_for_a_day_is_gone_with_the_next(study: Study) -> None:
    old = keep_upload(study=study, file_name="old.csv", chunks=[b"x"], by=None)

    with time_machine.travel(timezone.now() + timedelta(days=2)):
        keep_upload(study=study, file_name="new.csv", chunks=[b"x"], by=None)

    assert not old.path.exists()
    assert [upload.file_name for upload in Upload.objects.all()] == ["new.csv"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["upload-import", "upload-cancel"])
def test_upload_nobody_decided_on_is_gone_with_the_next_decision(
    staff_client: Client, study: Study, name: str
) -> None:
    old = keep_upload(study=study, file_name="old.csv", chunks=[b"x"], by=None)
    young = keep_upload(study=study, file_name="young.csv", chunks=[GOOD.encode()], by=None)
    long_ago = timezone.now() - timedelta(days=2)
    Upload.objects.filter(pk=old.pk).update(created_at=long_ago)

    staff_client.get(address("batch-list", study))
    is_kept = old.path.exists()  # looking at pages changes nothing
    staff_client.post(address(name, study, young.pk))

    assert is_kept
    assert not old.path.exists()
    assert not Upload.objects.filter(pk=old.pk).exists()


def test_bad_38_aborted_upload_leaves_no_bytes(study: Study) -> None:
    def break_off() -> Any:
        yield b"half"
        raise ConnectionError

    folder = settings.DATA_DIR / "uploads"
    before = set(folder.iterdir()) if folder.exists() else set()

    with pytest.raises(ConnectionError):
        keep_upload(study=study, file_name="a.csv", chunks=break_off(), by=None)

    assert set(folder.iterdir()) == before
    assert not Upload.objects.exists()


def test_bad_29_file_over_the_limit_is_refused_with_the_limit(
    staff_client: Client, study: Study, settings: Any
) -> None:
    settings.UPLOAD_MAX_BYTES = 1024 * 1024

    response = send(staff_client, study, "x" * (1024 * 1024 + 1))

    assert response.status_code == 413
    assert "at most 1 MB are taken" in response.content.decode()
    assert not Upload.objects.exists()


@pytest.mark.parametrize("both", [True, False])
def test_upload_needs_a_file_or_rows_and_not_both(
    staff_client: Client, study: Study, both: bool
) -> None:
    data: dict[str, Any] = {"pasted": GOOD if both else "  "}
    if both:
        data["file"] = SimpleUploadedFile("a.csv", GOOD.encode())

    response = staff_client.post(address("upload-new", study), data)

    assert response.status_code == 422
    assert "Choose a file, or paste rows" in response.content.decode()


def test_pasted_rows_are_read_like_a_file(staff_client: Client, study: Study) -> None:
    pasted = GOOD.replace("One.", '"One\nand more"').replace("\n", "\r\n")

    staff_client.post(address("upload-new", study), {"pasted": pasted})
    press_import(staff_client, study, Upload.objects.get())

    outputs = Batch.objects.get().items.get().outputs.all()  # type: ignore[attr-defined]
    assert [output.text for output in outputs] == ["One\nand more", "Two.", "Three."]


def test_empty_file_is_refused_with_a_sentence(staff_client: Client, study: Study) -> None:
    response = send(staff_client, study, "")

    assert response.status_code == 422
    assert "empty" in response.content.decode()


# --- what is shown ----------------------------------------------------------------------


def test_preview_is_the_participants_page_and_blind(staff_client: Client, study: Study) -> None:
    content = GOOD.replace("alpha", "sys-one").replace("beta", "sys-two").replace("gamma", "sys-3")
    response = send(staff_client, study, content.replace("m1", "key-17"))

    (preview,) = response.context["previews"]

    assert "evalsite.css" in preview.html
    assert all(text in preview.html for text in ("name[A]", "One.", "Two.", "Three."))
    assert not any(word in preview.html for word in ("sys-", "key-17", "rankme"))
    # no scripts, no forms; of this origin, or the server's headers keep the stylesheet from it
    assert ' sandbox="allow-same-origin" ' in response.content.decode()


def test_bad_22_hostile_texts_are_shown_literally_on_every_page(
    staff_client: Client, study: Study
) -> None:
    content = GOOD.replace("One.", HOSTILE).replace("name[A]", HOSTILE).replace("alpha", HOSTILE)
    shown = send(staff_client, study, f"{content}", name=f"{HOSTILE}.csv")
    listed = press_import(staff_client, study, Upload.objects.get())
    broken = send(staff_client, study, content.replace("m1,", f"{HOSTILE},"))

    for response in (shown, listed, broken):
        page = response.content.decode()
        assert response.status_code == 200
        assert "<script>alert" not in page
        assert "{{7*7}}" in page
        assert "</iframe>{" not in page


def test_empty_study_says_what_to_do(staff_client: Client, study: Study) -> None:
    page = staff_client.get(address("batch-list", study)).content.decode()

    assert "No items yet</h1>" in page
    assert "25 MB, 200,000 rows, 200 columns" in page


def test_template_of_the_protocol_can_be_uploaded(staff_client: Client, study: Study) -> None:
    template = staff_client.get(address("batch-template", study))

    page = send(staff_client, study, template.content.decode()).content.decode()

    assert "Import 1 item" in page


def test_number_of_queries_is_the_same_for_many_items(
    staff_client: Client, make_study: Callable[..., Any], add_batch: Callable[..., Any]
) -> None:
    few, many = make_study(items=2), make_study(items=200)
    for number in range(1, 10):
        add_batch(many, items=1, first=number * 1000)

    def count(study: Study) -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert staff_client.get(address("batch-list", study)).status_code == 200
        return len(queries)

    assert count(few) == count(many) <= 20


# --- undo and launched studies ------------------------------------------------------------


def test_undo_asks_and_then_removes_the_batch(
    staff_client: Client, make_study: Callable[..., Any]
) -> None:
    study = make_study(items=2)
    batch = Batch.objects.get()

    asked = staff_client.get(address("batch-undo-confirm", study, batch.pk)).content.decode()
    staff_client.post(address("batch-undo", study, batch.pk))

    assert "Its 2 items leave the study, with all outputs. The file" in asked
    assert not Batch.objects.exists()


def test_undo_says_that_scores_of_metrics_go_with_a_batch(
    staff_client: Client, make_study: Callable[..., Any]
) -> None:
    study = make_study(items=1)
    file = MetricFile.objects.create(study=study, file_name="bleu.csv", sha256="1")
    output = Output.objects.filter(item__batch__study=study).first()
    MetricScore.objects.create(file=file, output=output, metric="BLEU", value=1)

    page = staff_client.get(address("batch-undo-confirm", study, Batch.objects.get().pk))

    assert (
        "Its 1 item leaves the study, with all outputs and the 1 score that metrics gave them."
    ) in page.content.decode()


def test_inputs_are_listed_in_the_order_of_the_protocol(
    staff_client: Client, make_study: Callable[..., Any]
) -> None:
    study = make_study(items=1)
    Item.objects.filter(study=study).update(
        inputs={
            "standard_score": "54321",
            "standard_utterance": "The standard.",
            "mr": "name[Aromi]",
        }
    )

    page = staff_client.get(address("batch-list", study)).content.decode()

    places = [page.index(text) for text in ("name[Aromi]", "The standard.", "54321")]
    assert places == sorted(places)


def test_closed_study_offers_no_upload(
    staff_client: Client, make_study: Callable[..., Any]
) -> None:
    study = launch(make_study(items=1))
    Study.objects.update(state="closed", closed_at=timezone.now())

    page = staff_client.get(address("batch-list", study)).content.decode()

    assert "takes no further items" in page
    assert "Look at the file" not in page
    assert "Undo…" not in page


def test_rows_that_stay_out_are_not_counted_as_imported(staff_client: Client, study: Study) -> None:
    lines = GOOD.splitlines()
    made = [f"m1 (repeat 2-1){line[2:]},repeat,m1" for line in lines[1:]]
    content = [f"{lines[0]},kind,repeat_of", *[f"{line},main," for line in lines[1:]], *made]

    looked_at = send(staff_client, study, "\n".join(content)).content.decode()
    done = press_import(staff_client, study, Upload.objects.get()).content.decode()

    assert "3 of 6 rows." in looked_at
    assert "Import 1 item" in looked_at
    assert "Imported 3 rows as 1 item." in done
    assert Batch.objects.get().rows == 3


@pytest.mark.parametrize("outputs", [1, 2])
def test_item_is_the_record_also_where_each_output_is_rated_alone(
    staff_client: Client, make_study: Callable[..., Any], outputs: int
) -> None:
    study = make_study(items=0, protocol="rrgen")
    rows = "".join(f"r{n},Nice app,s{m},Thanks {m}\n" for n in (1, 2) for m in range(outputs))

    page = send(staff_client, study, f"item,review,system,output\n{rows}").content.decode()

    assert f"2 items, {outputs} system{'s'[: outputs - 1]}: right so far?" in page
    assert "Import 2 items" in page


def test_with_items_the_page_leads_on_to_what_is_lacking_or_to_the_launch(
    staff_client: Client, make_study: Callable[..., Any]
) -> None:
    study = make_study(items=0)

    def go_on() -> list[str]:
        page = staff_client.get(address("batch-list", study)).content.decode()
        return re.findall(r'href="([^"]+)">Continue to ', page)

    without = go_on()
    press_import(staff_client, study, keep_upload(
        study=study, file_name="a.csv", chunks=[GOOD.encode()], by=None
    ))  # fmt: skip
    ready = go_on()
    Study.objects.filter(pk=study.pk).update(consent="[what it is about]")

    assert without == []
    assert ready == [address("study-launch", study)]
    assert go_on() == [address("setup-read", study)]
    launch(study)
    assert go_on() == []
