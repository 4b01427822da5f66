"""Bad input, file by file: each is refused or taken as its code says, and never half stored."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from evalsite.data.importing import aim_at_nothing, aim_at_study, check_source, describe
from evalsite.data.items.importer import ITEMS
from evalsite.data.models import Upload
from evalsite.data.tables.reader import FileMapping
from evalsite.studies.models import Batch, Item, Output, Study
from tests.support.hostile_files import HostileFile, list_text_files, list_workbooks
from tests.support.queues import run_waiting_jobs

pytestmark = pytest.mark.django_db

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "batches" / "faulty"
CASES: dict[str, dict[str, Any]] = json.loads((FOLDER / "cases.json").read_text(encoding="utf-8"))
HOSTILE = [*list_text_files(), *list_workbooks()]
# the numbers of the list that aren't files: of sizes, names, and uploads that break off
ELSEWHERE = {17, 27, 28, 29, 34, 37, 38, 80}


@pytest.fixture
def study(make_study: Any) -> Study:
    return make_study(protocol="magnitude", items=0)


def read_case(name: str) -> io.BytesIO:
    return io.BytesIO((FOLDER / name).read_bytes())


def check(study: Study, source: Any, options: dict[str, Any] | None = None) -> Any:
    return check_source(
        ITEMS, source, target=aim_at_study(study), mapping=FileMapping.read({}, options or {})
    )


@pytest.mark.torture
def test_no_file_breaks_a_check_without_an_instrument() -> None:
    target = aim_at_nothing("seed")
    files = [*(read_case(name) for name in CASES), *(io.BytesIO(file.make()) for file in HOSTILE)]

    for source in files:
        checked = check_source(ITEMS, source, target=target)
        report = describe(ITEMS, checked, target)

        assert report.is_importable or report.fault_count
        assert report.fault_count or report.summary["groups"]


def test_every_number_of_the_list_has_its_files() -> None:
    numbers = {int(name[:2]) for name in CASES if name[:2].isdigit()}

    assert numbers | ELSEWHERE >= {*range(1, 39), *range(74, 81), 85, 86}
    assert {path.name for path in FOLDER.iterdir()} == {
        *CASES, "cases.json", "make.py", "__pycache__",
    } - ({"__pycache__"} if not (FOLDER / "__pycache__").exists() else set())  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_file_is_refused_or_taken_with_its_codes(study: Study, name: str) -> None:
    expected = CASES[name]

    checked = check(study, read_case(name), expected.get("options"))

    found = {fault.code for fault in checked.faults}
    assert found == set(expected.get("faults", [])), [str(fault) for fault in checked.faults]
    assert {remark.code for remark in checked.remarks} >= set(expected.get("warnings", []))
    if "encoding" in expected:
        assert checked.encoding.casefold().startswith(expected["encoding"])
    if "place" in expected:
        assert [checked.faults[0].line, checked.faults[0].record] == expected["place"]
    if "items" in expected:
        assert [item.key for item in checked.items] == expected["items"]
    if "text" in expected:
        assert expected["text"] in {
            output.text for item in checked.items for output in item.outputs
        }


def upload(client: Any, study: Study, name: str, data: bytes, options: Any = None) -> Upload | None:
    """Send the file as the page does; no answer of the site may be a 5xx."""
    address = reverse("admin:upload-new", args=[study.pk])
    response = client.post(address, {"file": SimpleUploadedFile(name, data), "pasted": ""})
    assert response.status_code in (302, 413, 422), name
    found = Upload.objects.filter(study=study, batch=None).first()
    for key, value in (options or {}).items():
        assert found is not None
        decide = reverse("admin:upload-preview", args=[study.pk, found.pk])
        client.post(decide, {f"decision-{key}": str(value)})
    return found


def try_to_import(client: Any, study: Study, file: Upload) -> int:
    """Look at the preview, press Import, and count the batches. Large files are read by jobs."""
    run_waiting_jobs()
    for step in ("upload-preview", "upload-faults"):
        page = client.get(reverse(f"admin:{step}", args=[study.pk, file.pk]))
        assert page.status_code in (200, 404)
    client.post(reverse("admin:upload-import", args=[study.pk, file.pk]))
    run_waiting_jobs()
    return Batch.objects.filter(study=study).count()


NUMBERS = sorted({name.split(".")[0] for name in CASES})


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS[::8])
def test_the_page_stores_all_of_a_file_or_nothing(
    study: Study, staff_client: Any, number: str
) -> None:
    """Of each eighth number, the first file that is refused, or the first where all are taken.

    What is refused is the same on the page as above, where all files are.
    """
    files = list_files(number)

    check_page(
        study, staff_client, next((one for one in files if "faults" in CASES[one]), files[0])
    )


@pytest.mark.both_databases
@pytest.mark.parametrize("name", ["03-utf-16-be-without-mark.csv", "08-nul.csv"])
def test_what_the_page_keeps_of_a_file_with_nul_can_be_stored(
    study: Study, staff_client: Any, name: str
) -> None:
    check_page(study, staff_client, name)


@pytest.mark.torture
@pytest.mark.parametrize("number", NUMBERS)
def test_the_page_stores_all_of_any_file_or_nothing(
    study: Study, staff_client: Any, number: str
) -> None:
    for name in list_files(number):
        check_page(study, staff_client, name)


def list_files(number: str) -> list[str]:
    return [name for name in CASES if name.split(".")[0] == number]


def check_page(study: Study, client: Any, name: str) -> None:
    """Upload the file and press Import; then take away what was stored."""
    expected = CASES[name]
    file = upload(client, study, name, read_case(name).getvalue(), expected.get("options"))
    # an empty file is refused by the form
    batches = try_to_import(client, study, file) if file else 0

    is_refused = "faults" in expected
    assert batches == (0 if is_refused else 1), name
    assert Item.objects.filter(batch__study=study).exists() == (not is_refused)
    Output.objects.filter(item__batch__study=study).delete()
    Item.objects.filter(batch__study=study).delete()
    Upload.objects.filter(study=study).delete()
    Batch.objects.filter(study=study).delete()


@pytest.mark.slow
@pytest.mark.parametrize("file", HOSTILE, ids=lambda file: file.name)
def test_a_hostile_file_is_refused_or_taken_with_its_code(study: Study, file: HostileFile) -> None:
    checked = check(study, io.BytesIO(file.make()))

    code = checked.faults[0].code if checked.faults else ""
    assert code == file.code, [str(fault)[:200] for fault in checked.faults]


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.each_once(of=lambda file: {file.code, Path(file.name).suffix})
@pytest.mark.parametrize("file", HOSTILE, ids=lambda file: file.name)
def test_a_hostile_file_leaves_all_or_nothing_when_it_is_sent_to_the_page(
    study: Study, staff_client: Any, file: HostileFile
) -> None:
    data = file.make()

    kept = upload(staff_client, study, file.name, data)

    if kept is not None and len(data) < 1_000_000:
        batches = try_to_import(staff_client, study, kept)
        assert batches == (0 if file.code else 1)
