"""The page of text files whose numbers of lines differ, and what each answer stores."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect

from evalsite.data.models import Upload
from evalsite.studies.models import Batch, Output, Study
from tests.data.tables.test_missing_lines import GERMAN, SOURCES, leave_out
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, choose_files, find_faults_in_turn
from tests.support.factories import make_user
from tests.support.instruments import make_built_study

pytestmark = pytest.mark.django_db

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "getting_in"
START = reverse("admin:study-new")
TEXTS = {
    "source.en.txt": SOURCES,
    "reference.de.txt": [GERMAN[text] for text in SOURCES],
    "nmt-base.de.txt": [GERMAN[text].replace("die", "der") for text in SOURCES],
    "nmt-large.de.txt": [GERMAN[text] for text in leave_out(SOURCES, 23)],
}
GAP = "outputs_lines:nmt-large.de.txt"


def write(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def drop(client: Client, **changed: list[str]) -> Any:
    texts = TEXTS | {f"{name.replace('_', '-')}.de.txt": lines for name, lines in changed.items()}
    files = [SimpleUploadedFile(name, write(lines).encode()) for name, lines in texts.items()]
    return client.post(START, {"file": files}, follow=True)


def find(name: str) -> str:
    return reverse(f"admin:{name}", args=[Upload.objects.get().pk])


def send(client: Client, data: dict[str, Any]) -> Any:
    return client.post(find("new-upload-correct"), data, follow=True)


def read_title(page: Any) -> str:
    title = re.search("<h1>(.*?)</h1>", page.text, re.DOTALL)
    assert title
    return " ".join(re.sub("<[^>]*>", "", title[1]).split())


def test_page_says_which_file_lacks_a_line_and_where(staff_client: Client) -> None:
    page = drop(staff_client)

    assert read_title(page) == "nmt-large.de.txt has 59 lines, the other files have 60"
    assert "Probably line 23" in page.text
    table = page.text[page.text.index("Lines 22 to 24") : page.text.index("What to do")]
    assert table.count("<mark>") == 2
    assert table.count('class="flag"') == 1
    aside = page.text[page.text.index('id="others"') :]
    assert aside.count("60 lines, none empty") >= 3
    assert "--lines" not in page.text


def test_empty_line_is_an_output_that_people_see_as_missing(staff_client: Client) -> None:
    drop(staff_client)

    page = send(staff_client, {f"decision-{GAP}": "empty:23"})

    report = Upload.objects.get().report
    assert report["is_importable"]
    assert report["summary"]["groups"] == 60
    assert [note["code"] for note in report["import_notes"]] == ["outputs_lines"]
    # nothing else is asked of the empty output
    assert [decision["key"] for decision in report["decisions"]] == [GAP]
    assert read_title(page) == "60 items, 2 systems: right so far?"


def test_left_out_item_keeps_the_numbers_of_the_others(staff_client: Client) -> None:
    drop(staff_client)

    page = send(staff_client, {f"decision-{GAP}": "leave-out:23"})

    assert read_title(page) == "59 items, 2 systems: right so far?"
    again = staff_client.post(find("new-upload"), {f"decision-{GAP}": ""}, follow=True)
    assert read_title(again) == "nmt-large.de.txt has 59 lines, the other files have 60"


def test_corrected_file_comes_first_and_any_name_will_do(staff_client: Client) -> None:
    drop(staff_client)
    whole = write(TEXTS["nmt-base.de.txt"]).encode()

    page = send(
        staff_client,
        {
            f"decision-{GAP}": "", "replaces": "nmt-large.de.txt",
            "file": SimpleUploadedFile("mended.txt", whole),
        },
    )  # fmt: skip

    assert read_title(page) == "60 items, 2 systems: right so far?"
    assert Upload.objects.get().report["import_notes"] == []


def test_continue_without_file_or_answer_changes_nothing(staff_client: Client) -> None:
    drop(staff_client)

    page = send(staff_client, {f"decision-{GAP}": "", "replaces": "nmt-large.de.txt"})

    assert read_title(page) == "nmt-large.de.txt has 59 lines, the other files have 60"
    assert not Upload.objects.get().report["is_importable"]


def test_file_and_answer_may_be_sent_together(staff_client: Client) -> None:
    drop(staff_client, nmt_base=leave_out(TEXTS["nmt-base.de.txt"], 40))
    whole = write(TEXTS["reference.de.txt"]).encode()

    page = send(
        staff_client,
        {
            f"decision-{GAP}": "empty:23", "replaces": "nmt-base.de.txt",
            "file": SimpleUploadedFile("mended.txt", whole),
        },
    )  # fmt: skip

    assert read_title(page) == "60 items, 2 systems: right so far?"


def test_gap_without_a_place_can_only_be_corrected(staff_client: Client) -> None:
    texts = {"source.txt": ["Yes."] * 60, "a.txt": ["Ja."] * 60, "b.txt": ["Ja."] * 59}
    files = [SimpleUploadedFile(name, write(lines).encode()) for name, lines in texts.items()]

    page = staff_client.post(START, {"file": files}, follow=True)

    assert read_title(page) == "b.txt has 59 lines, the other files have 60"
    assert 'type="radio"' not in page.text
    assert 'type="file"' in page.text


def test_answer_is_stored_with_batch_and_report(tmp_path: Path) -> None:
    study = make_lines_study()
    paths = write_files(tmp_path)

    with pytest.raises(CommandError, match="has 59 lines"):
        call_command("import_batch", str(study.pk), *paths)
    call_command("import_batch", str(study.pk), *paths, "--lines", "nmt-large.de.txt:empty:23")

    batch = Batch.objects.get(study=study)
    assert [note["code"] for note in batch.import_notes] == ["outputs_lines"]
    assert "23" in batch.import_notes[0]["text"]
    empty = Output.objects.filter(item__study=study, text="")
    assert [(output.system.name, output.item.extra.get("item")) for output in empty] == [
        ("nmt-large", "23")
    ]


def test_command_names_the_options_that_answer(tmp_path: Path, capsys: Any) -> None:
    study = make_lines_study()

    with pytest.raises(CommandError):
        call_command("import_batch", str(study.pk), *write_files(tmp_path))

    told = capsys.readouterr().out
    assert "--lines nmt-large.de.txt:empty:23" in told
    assert "--lines nmt-large.de.txt:leave-out:23" in told


def make_lines_study() -> Study:
    return make_built_study(json.loads((FOLDER / "study_one.json").read_bytes()))


def write_files(folder: Path) -> list[str]:
    for name, lines in TEXTS.items():
        (folder / name).write_text(write(lines), encoding="utf-8")
    return [str(folder / name) for name in TEXTS]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("width", [1280, 360])
def test_page_of_a_missing_line_is_laid_out_as_drawn(
    page: Page, live_server: Any, tmp_path: Any, width: int
) -> None:
    watch = Watch(page)
    sign_in(page, live_server.url, make_user())
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{live_server.url}{START}")

    choose_files(page, write_files(tmp_path))

    expect(page.locator("h1")).to_contain_text("59 lines")
    boxes = {
        name: page.locator(place).bounding_box()
        for name, place in {
            "problem": ".problem", "table": "caption:has-text('Lines 22')",
            "what": "legend:has-text('What to do')", "file": "#id_file", "others": "#others",
        }.items()
    }  # fmt: skip
    assert all(boxes.values())
    tops = {name: box["y"] for name, box in boxes.items() if box}
    assert tops["problem"] < tops["table"] < tops["what"] < tops["file"]
    assert (tops["others"] < tops["what"]) == (width == 1280)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    number = page.locator(".blocks .flag").first.bounding_box()
    assert number
    # in a line of its own, however long the texts are
    assert number["height"] < 30
    rows = page.locator(".blocks tbody tr").first.locator("td")
    left, right = (rows.nth(number).bounding_box() for number in (0, 1))
    assert left
    assert right
    assert (right["x"] > left["x"]) == (width == 1280)
    assert find_faults_in_turn(page) == []
    page.set_viewport_size({"width": width, "height": 900})
    page.get_by_label("Put an empty line at 23").check()
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("h1")).to_contain_text("60 items, 2 systems")
    assert watch.found == []
