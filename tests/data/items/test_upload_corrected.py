"""Files with faults, on the way to the file without: where they stand, and where that one goes."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from evalsite.data.models import Upload
from evalsite.studies.models import Batch, Study
from tests.support.uploads import GOOD, study

__all__ = ["study"]  # a fixture

pytestmark = pytest.mark.django_db

FAULTY = GOOD.replace("Two.", "")
RATINGS = "participant,item,system,criterion,value\nw1,nowhere,alpha,informativeness,80\n"
FOLD = "Uploads with faults, or imported already"


def send(
    client: Client, study: Study, content: str, name: str = "one.csv", purpose: str = "items"
) -> str:
    """The page that a file leads to."""
    file = SimpleUploadedFile(name, content.encode())
    address = reverse("admin:upload-new", args=[study.pk])
    data = {"file": file, "pasted": "", "purpose": purpose}
    return client.post(address, data, follow=True).text


def listed(client: Client, study: Study) -> str:
    return client.get(reverse("admin:batch-list", args=[study.pk])).text


def map_columns(client: Client, study: Study, *fields: str) -> str:
    """The page after the columns of the newest file were mapped to these fields."""
    upload = study.uploads.latest("created_at")
    address = reverse("admin:upload-preview", args=[study.pk, upload.pk])
    data = {f"column-{number}": field for number, field in enumerate(fields)}
    return client.post(address, data, follow=True).text


def do_import(client: Client, study: Study) -> Any:
    upload = study.uploads.latest("created_at")
    return client.post(reverse("admin:upload-import", args=[study.pk, upload.pk]))


@pytest.mark.slow
def test_files_with_faults_are_folded_below_the_form(staff_client: Client, study: Study) -> None:
    send(staff_client, study, FAULTY, "first.csv")
    send(staff_client, study, FAULTY.replace("One.", "Uno."), "second.csv")
    send(staff_client, study, GOOD, "third.csv")

    page = listed(staff_client, study)

    order = ["Waiting uploads</h2>", "third.csv", f"{FOLD} (2)", "first.csv"]
    assert sorted(order, key=page.index) == order
    assert page.index("second.csv") > page.index(FOLD)


def test_nothing_waits_where_all_was_imported_or_has_faults(
    staff_client: Client, study: Study
) -> None:
    send(staff_client, study, GOOD)
    do_import(staff_client, study)
    send(staff_client, study, GOOD, "again.csv")

    page = listed(staff_client, study)

    assert "Waiting uploads" not in page
    assert page.index("is in the study already: 0 new items.") > page.index(f"{FOLD} (1)")


def test_page_of_faults_takes_the_corrected_file(staff_client: Client, study: Study) -> None:
    page = send(staff_client, study, FAULTY)

    form = page[page.index("Upload a corrected file</h2>") :]
    upload = Upload.objects.get()
    correct = reverse("admin:upload-correct", args=[study.pk, upload.pk])
    assert f'action="{correct}"' in form
    assert 'type="file"' in form
    file = SimpleUploadedFile("two.csv", GOOD.encode())
    assert "Import 1 item" in staff_client.post(correct, {"file": file}, follow=True).text
    assert not Upload.objects.filter(pk=upload.pk).exists()
    do_import(staff_client, study)
    assert Batch.objects.get(study=study).rows == 3


def test_corrected_file_keeps_what_was_chosen_for_its_columns(
    staff_client: Client, study: Study
) -> None:
    send(staff_client, study, ODD.replace("Two.", ""))
    map_columns(staff_client, study, *FIELDS)
    correct = reverse("admin:upload-correct", args=[study.pk, Upload.objects.get().pk])

    file = SimpleUploadedFile("two.csv", ODD.encode())
    page = staff_client.post(correct, {"file": file}, follow=True).text

    assert "Import 1 item" in page


@pytest.mark.parametrize(
    ("name", "replaces", "lines"),
    [("b.txt", "", 2), ("mended.txt", "b.txt", 2), ("mended.txt", "", 1), ("b.txt", "x.txt", 1)],
)
def test_corrected_file_takes_the_place_of_one_of_several(
    staff_client: Client, study: Study, name: str, replaces: str, lines: int
) -> None:
    texts = {"source.txt": "name[A]\nname[B]\n", "a.txt": "One.\nTwo.\n", "b.txt": "Three.\n"}
    files = [SimpleUploadedFile(path, text.encode()) for path, text in texts.items()]
    staff_client.post(reverse("admin:upload-new", args=[study.pk]), {"file": files})
    upload = Upload.objects.get()
    correct = reverse("admin:upload-correct", args=[study.pk, upload.pk])

    data = {"file": SimpleUploadedFile(name, b"Three.\nFour.\n"), "replaces": replaces}
    staff_client.post(correct, data)

    report = Upload.objects.get().report
    sizes = {file["name"]: file["size"] for file in report["files"]}
    assert sizes["b.txt"].startswith(f"{lines} line")
    assert sizes["a.txt"] == "2 lines, none empty"
    assert (upload.pk == Upload.objects.get().pk) == (lines == 1)


def test_file_without_faults_or_that_is_known_asks_for_no_other(
    staff_client: Client, study: Study
) -> None:
    pages = [send(staff_client, study, GOOD)]
    do_import(staff_client, study)
    pages.append(send(staff_client, study, GOOD))

    assert not any("Upload a corrected file" in page for page in pages)


def test_page_of_faults_in_ratings_takes_the_corrected_file(
    staff_client: Client, study: Study
) -> None:
    send(staff_client, study, GOOD)
    do_import(staff_client, study)

    faults = send(staff_client, study, RATINGS, purpose="ratings")

    assert "There is no item “nowhere”" in faults
    waiting = Upload.objects.get(purpose="ratings")
    correct = reverse("admin:upload-correct", args=[study.pk, waiting.pk])
    assert f'action="{correct}"' in faults


# --- the mapping --------------------------------------------------------------------------

ODD = GOOD.replace("item,mr,system,output", "nr,facts,maker,said")
FIELDS = ("item", "mr", "system", "output")
TOLD = "so they are read as you chose there"


def test_corrected_file_with_the_same_columns_is_mapped_as_before(
    staff_client: Client, study: Study
) -> None:
    send(staff_client, study, ODD.replace("Two.", ""), "odd.csv")
    map_columns(staff_client, study, *FIELDS)

    page = send(staff_client, study, ODD, "mended.csv")

    assert "Import 1 item" in page
    assert f"<bdi>odd.csv</bdi>, {TOLD}" in page


def test_mapping_that_is_changed_by_hand_is_no_longer_that_of_the_file_before(
    staff_client: Client, study: Study
) -> None:
    send(staff_client, study, ODD, "odd.csv")
    map_columns(staff_client, study, *FIELDS)
    send(staff_client, study, ODD.replace("Two.", "Due."))

    page = map_columns(staff_client, study, "item", "mr", "system", "")

    assert TOLD not in page
    assert "Which column holds the outputs?" in page


def test_file_of_other_columns_is_mapped_by_their_names(staff_client: Client, study: Study) -> None:
    send(staff_client, study, ODD)
    map_columns(staff_client, study, *FIELDS)

    page = send(staff_client, study, GOOD)

    assert "Import 1 item" in page
    assert TOLD not in page
