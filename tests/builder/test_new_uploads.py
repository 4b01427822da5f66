"""Pages that begin a study with files: what they show, keep, and refuse."""

import json
import re
from collections import Counter
from datetime import timedelta
from io import BytesIO
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from evalsite.builder.gallery import read_gallery
from evalsite.data import uploads
from evalsite.data.importing import aim_at_instrument, check_source
from evalsite.data.items.choices import RANDOM_PART
from evalsite.data.items.columns import INPUT, OF_SYSTEM
from evalsite.data.items.importer import ITEMS
from evalsite.data.models import Upload
from evalsite.data.tables.reader import FileMapping
from evalsite.instruments.checks import read_instrument
from evalsite.lib.clock import now
from evalsite.studies.models import Study
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import (
    Watch,
    choose_files,
    find_faults_in_all_looks,
    find_faults_in_turn,
    press_tab_to,
)
from tests.support.factories import make_user
from tests.support.queues import run_waiting_jobs
from tests.support.uploads import GOOD

pytestmark = pytest.mark.django_db

START = reverse("admin:study-new")
TEXTS = {
    "source.de.txt": "Der Zug hält.\nBitte warten.\n",
    "reference.en.txt": "The train stops.\nPlease wait.\n",
    "nmt-base.en.txt": "The train holds.\nPlease wait.\n",
    "nmt-large.en.txt": "The train is stopping.\nPlease wait.\n",
}
NESTED = (
    '{"qid": "7", "question": "How long?", "answers": '
    '[{"model": "a", "text": "Six weeks."}, {"model": "b", "text": "6 weeks"}]}\n'
    '{"qid": "8", "question": "How much?", "answers": '
    '[{"model": "a", "text": "Nothing."}, {"model": "b", "text": "0 euros"}]}\n'
)


def drop(client: Client, texts: dict[str, str]) -> Any:
    files = [SimpleUploadedFile(name, text.encode()) for name, text in texts.items()]
    return client.post(START, {"file": files}, follow=True)


def find(name: str, upload: Upload | None = None) -> str:
    return reverse(f"admin:{name}", args=[(upload or Upload.objects.get()).pk])


def read_title(page: Any) -> str:
    found = re.search("<h1>(.*?)</h1>", page.text, re.DOTALL)
    assert found
    return " ".join(re.sub("<[^>]*>", "", found[1]).split())


def test_files_are_shown_as_items_before_there_is_a_study(staff_client: Client) -> None:
    page = drop(staff_client, TEXTS)

    assert read_title(page) == "2 items, 2 systems: right so far?"
    assert 'value="nmt-base"' in page.text
    assert "Der Zug hält." in page.text
    assert "The train stops." in page.text
    assert '<p class="label"><bdi>source</bdi></p>' in page.text
    assert not Study.objects.exists()


def test_studies_page_of_a_newcomer_takes_files_and_lists_those_dropped(
    staff_client: Client,
) -> None:
    drop(staff_client, TEXTS)

    page = staff_client.get(reverse("admin:index")).text
    searched = staff_client.get(reverse("admin:index"), {"q": "nothing"}).text

    assert f'action="{START}" enctype="multipart/form-data"' in page
    assert f'href="{find("new-upload")}"' in page
    assert "multipart/form-data" not in searched


def test_page_of_faults_leaves_out_what_only_the_command_takes(staff_client: Client) -> None:
    page = drop(staff_client, {"a.csv": "item,mr,system\nm1,x,a\nm2,y,b\n"}).text
    faults = staff_client.get(find("new-upload-faults"))

    assert re.findall(r'data-code="(\w+)"', page) == ["column_missing"]
    assert "--map" not in page
    assert "--map" in b"".join(faults).decode()


def test_item_is_the_record_of_the_file_with_all_of_its_outputs(staff_client: Client) -> None:
    page = drop(staff_client, {"answers.jsonl": NESTED})
    second = staff_client.get(f"{find('new-upload')}?item=2")

    assert read_title(page) == "2 items, 2 systems: right so far?"
    assert "becomes item 1 of 2" in page.text
    assert "<mark>&quot;question&quot;</mark>" in page.text
    assert "&quot;qid&quot;</mark>" not in page.text
    assert "Six weeks." in page.text
    assert "becomes item 2 of 2" in second.text
    assert "0 euros" in second.text


def test_tool_is_named_and_its_columns_are_behind_one_fold(
    staff_client: Client, fixtures_of_tools: dict[str, str]
) -> None:
    page = drop(staff_client, fixtures_of_tools)

    assert read_title(page).startswith("promptfoo results: ")
    assert "<b>All " in page.text
    assert "What each" not in page.text


@pytest.mark.parametrize(
    "header",
    [
        "Lfd. Nr.;uuid;Quelltext;Modell A v1.2 (Ausgabe);Modell B (Ausgabe);Referenz;Bemerkung",
        "Nr;Kennung;Eingabe;gpt-4o;llama-3.1-8b;Referenztext;Kommentar",
    ],
)
def test_german_names_of_columns_leave_the_outputs_to_the_systems(
    staff_client: Client, header: str
) -> None:
    rows = (
        f"{n};a{n}-77;Der Zug {n} fällt heute aus.;Train {n} is cancelled today.;"
        f"The train {n} fails today.;Today’s train {n} is cancelled.;"
        for n in range(1, 4)
    )

    page = drop(staff_client, {"umfrage.csv": "\n".join([header, *rows])})

    report = page.context["report"]
    columns = header.split(";")
    assert report.faults == []
    assert [name for name, field in report.mapping.items() if field == OF_SYSTEM] == columns[3:5]
    assert report.mapping[columns[2]] == INPUT


@pytest.fixture
def fixtures_of_tools() -> dict[str, str]:
    results = [
        {
            "provider": {"id": name, "label": name},
            "prompt": {"raw": f"Question {number}?", "label": "p"},
            "vars": {"q": f"{number}"},
            "testIdx": number,
            "promptIdx": 0,
            "response": {"output": f"Answer {number} of {name}"},
            "success": True,
            "score": 1,
        }
        for number in range(3)
        for name in ("alpha", "beta")
    ]
    whole = {"evalId": "e", "results": {"version": 3, "results": results}, "config": {}}
    return {"results.json": json.dumps(whole)}


def test_systems_are_renamed_from_the_start(staff_client: Client) -> None:
    drop(staff_client, {"a.csv": GOOD})

    page = staff_client.post(find("new-upload"), {"name-1": "second"}, follow=True)

    assert (
        '<bdi>beta</bdi></th><td data-th="Name here"><input type="text" name="name-1"' in page.text
    )
    assert 'aria-label="Name of beta" dir="auto"' in page.text
    assert Upload.objects.get().report["summary"]["names"] == [
        ["alpha", "alpha", 1], ["beta", "second", 1], ["gamma", "gamma", 1],
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["alpha", "ALPHA", "tie"])
def test_name_that_systems_cannot_have_is_refused_and_changes_nothing(
    staff_client: Client, name: str
) -> None:
    drop(staff_client, {"a.csv": GOOD})

    page = staff_client.post(find("new-upload"), {"name-1": name}, follow=True)

    assert 'class="note problem"' in page.text
    assert Upload.objects.get().mapping.options == {}


def test_system_of_a_file_is_renamed_beside_it(staff_client: Client) -> None:
    drop(staff_client, TEXTS)
    files = [file["name"] for file in Upload.objects.get().report["files"]]

    number = files.index("nmt-base.en.txt")
    staff_client.post(find("new-upload"), {f"system-{number}": "base"})

    assert Upload.objects.get().report["summary"]["system_names"] == ["base", "nmt-large"]


def test_continue_leads_to_the_instrument_once_nothing_is_open(staff_client: Client) -> None:
    drop(staff_client, {"a.csv": GOOD})

    response = staff_client.post(find("new-upload-continue"))
    changed = staff_client.post(find("new-upload-continue"), {"name-0": "first"})

    assert response["Location"] == find("new-instrument")
    # without scripts: what was changed is looked at first
    assert changed["Location"] == find("new-upload")


def test_continue_with_faults_stays(staff_client: Client) -> None:
    drop(staff_client, {"a.csv": GOOD.replace("m1", "=m1", 1)})

    assert staff_client.post(find("new-upload-continue"))["Location"] == find("new-upload")


def test_faults_are_named_with_the_lines_around_them(staff_client: Client) -> None:
    page = drop(staff_client, {"a.csv": GOOD.replace("m1", "=m1", 1)})

    assert read_title(page).startswith("Line 2 (record 1), item: ")
    assert 'data-code="id_invalid"' in page.text
    shown = re.findall(r'<th scope="row"[^>]*>(?:<span class="flag">)?(\d+)', page.text)
    assert shown == ["1", "2", "3"]
    assert "<mark>=m1,name[A],alpha,One.</mark>" in page.text
    listed = staff_client.get(find("new-upload-faults"))
    assert listed["Content-Disposition"] == 'attachment; filename="faults.csv"'


def test_corrected_file_takes_the_place_of_the_faulty_one(staff_client: Client) -> None:
    drop(staff_client, TEXTS | {"nmt-base.en.txt": "The train holds.\n"})
    file = SimpleUploadedFile("nmt-base.en.txt", TEXTS["nmt-base.en.txt"].encode())

    page = staff_client.post(find("new-upload-correct"), {"file": file}, follow=True)

    assert read_title(page) == "2 items, 2 systems: right so far?"
    assert Upload.objects.count() == 1


@pytest.mark.parametrize(
    "paths", ["[" * 100_000, "9" * 5_000, "{", '["\\ud800", "../../x"]', "[NaN]"]
)
def test_names_of_a_folder_that_no_browser_sends_are_refused_or_cleaned(
    staff_client: Client, paths: str
) -> None:
    file = SimpleUploadedFile("a.csv", GOOD.encode())

    response = staff_client.post(START, {"file": file, "paths": paths})

    assert response.status_code in (302, 422)
    for upload in Upload.objects.all():
        assert ".." not in upload.file_name


def test_open_decision_is_a_choice_on_the_page(staff_client: Client) -> None:
    page = drop(staff_client, {"a.csv": GOOD.replace("Two.", "")})

    assert read_title(page) == "One thing to decide before a.csv can be used"
    assert "Your file leaves" in page.text
    staff_client.post(find("new-upload"), {"decision-empty_outputs": "show"})
    assert Upload.objects.get().report["is_importable"]
    staff_client.post(find("new-upload"), {"decision-empty_outputs": ""})
    assert not Upload.objects.get().report["is_importable"]


def test_separator_is_what_the_person_says(staff_client: Client) -> None:
    drop(staff_client, {"a.csv": "a;b;c,d\n1;2;3,4\n"})
    assert Upload.objects.get().report["header"] == ["a", "b", "c,d"]

    staff_client.post(find("new-upload"), {"separator": "comma"})

    assert Upload.objects.get().report["header"] == ["a;b;c", "d"]


def test_left_out_column_is_in_no_line_that_is_shown(staff_client: Client) -> None:
    drop(
        staff_client, {"a.csv": GOOD.replace("output", "output,mail").replace(".\n", ".,x@y.org\n")}
    )
    assert "x@y.org" in str(Upload.objects.get().report)

    page = staff_client.post(find("new-upload"), {"column-4": "-"}, follow=True)

    assert "x@y.org" not in str(Upload.objects.get().report)
    assert "1 column: <bdi>mail</bdi>" in page.text


def test_reload_and_back_show_the_same_file_and_two_tabs_have_two(staff_client: Client) -> None:
    drop(staff_client, {"a.csv": GOOD})
    first = find("new-upload")
    drop(staff_client, {"b.csv": GOOD.replace("gamma", "delta")})

    page = staff_client.get(first)
    again = staff_client.get(first)
    start = staff_client.get(START)

    assert page.text.count("gamma") == again.text.count("gamma") > 0
    assert "delta" not in page.text
    assert first in start.text


@pytest.mark.django_db(transaction=True)
def test_expired_upload_says_so_and_leads_back(staff_client: Client) -> None:
    drop(staff_client, {"a.csv": GOOD})
    address = find("new-upload")

    with time_machine.travel(now() + timedelta(days=3)):
        Upload.objects.get().path.unlink()
        page = staff_client.get(address, follow=True)

    assert page.redirect_chain == [(START, 302)]
    assert "This upload has expired" in page.text


@pytest.mark.django_db(transaction=True)
def test_upload_is_kept_a_day_after_it_was_last_opened_whether_or_not_a_worker_runs(
    staff_client: Client,
) -> None:
    drop(staff_client, {"a.csv": GOOD})
    address, start = find("new-upload"), now()
    hours = {}

    for hour in (23, 46, 71):
        with time_machine.travel(start + timedelta(hours=hour)):
            hours[hour] = staff_client.get(address).status_code

    assert hours == {23: 200, 46: 200, 71: 302}
    assert Upload.objects.get().path.exists()


@pytest.mark.django_db(transaction=True)
def test_upload_that_is_opened_while_old_ones_are_deleted_stays(
    staff_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop(staff_client, {"a.csv": GOOD})
    drop_unless_busy = uploads._drop_unless_busy

    def open_before(upload: Upload) -> None:
        Upload.objects.update(looked_at=now())
        drop_unless_busy(upload)

    monkeypatch.setattr(uploads, "_drop_unless_busy", open_before)
    with time_machine.travel(now() + timedelta(hours=25)):
        uploads.prune_uploads()

    assert Upload.objects.exists()


@pytest.mark.parametrize(
    "name", ["new-upload", "new-upload-continue", "new-upload-correct", "new-upload-faults"]
)
def test_upload_of_somebody_else_is_not_shown(staff_client: Client, name: str) -> None:
    drop(staff_client, {"a.csv": GOOD})
    address = find(name)
    other = Client()
    other.force_login(make_user("nobody"))
    is_page = name in ("new-upload", "new-upload-faults")

    response = other.get(address) if is_page else other.post(address)

    assert response.status_code == (404 if name == "new-upload-faults" else 302)
    assert name == "new-upload-faults" or response["Location"] == START


def test_unknown_upload_leads_back(staff_client: Client) -> None:
    response = staff_client.get(reverse("admin:new-upload", args=[uuid4()]))

    assert response["Location"] == START


@pytest.mark.parametrize(("data", "status"), [({"pasted": " "}, 422), ({"pasted": GOOD}, 302)])
def test_rows_are_pasted_and_nothing_is_refused(
    staff_client: Client, data: dict[str, str], status: int
) -> None:
    response = staff_client.post(START, data)

    assert response.status_code == status
    assert Upload.objects.exists() == (status == 302)


def test_cancelled_upload_is_gone(staff_client: Client) -> None:
    drop(staff_client, {"a.csv": GOOD})

    assert staff_client.post(find("new-upload-cancel"))["Location"] == START
    assert not Upload.objects.exists()


def test_large_file_is_looked_at_by_a_job(staff_client: Client, settings: Any) -> None:
    settings.UPLOAD_JOB_BYTES = 0

    page = drop(staff_client, {"a.csv": GOOD})
    run_waiting_jobs()

    assert "Checking a.csv" in page.text
    assert "1 item, 3 systems" in read_title(staff_client.get(find("new-upload")))


# --- in a browser -----------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("width", [1280, 390])
def test_outputs_and_item_stand_beside_each_other_or_below(
    page: Page, live_server: Any, tmp_path: Any, width: int
) -> None:
    watch = Watch(page)
    sign_in(page, live_server.url, make_user())
    page.set_viewport_size({"width": width, "height": 900})
    (tmp_path / "answers.jsonl").write_text(NESTED)
    page.goto(f"{live_server.url}{START}")
    assert find_faults_in_turn(page) == []
    page.set_viewport_size({"width": width, "height": 900})

    choose_files(page, tmp_path / "answers.jsonl")

    line = page.locator("#row").bounding_box()
    item = page.locator("#item").bounding_box()
    assert line
    assert item
    assert (abs(line["y"] - item["y"]) < 20) == (width == 1280)
    assert (item["x"] > line["x"] + 300) == (width == 1280)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    fields = page.locator("#map ~ table select").all()
    assert [field.bounding_box()["width"] > 100 for field in fields] == [True] * 3  # type: ignore[index]
    assert find_faults_in_turn(page) == []
    assert watch.found == []


@pytest.mark.django_db(transaction=True)
def test_name_is_changed_by_keyboard_and_kept(page: Page, live_server: Any, tmp_path: Any) -> None:
    sign_in(page, live_server.url, make_user())
    (tmp_path / "a.csv").write_text(GOOD)
    page.goto(f"{live_server.url}{START}")
    choose_files(page, tmp_path / "a.csv")

    press_tab_to(page, "#id_name-1")
    page.keyboard.press("Control+a")
    page.keyboard.type("second")
    with page.expect_navigation():
        page.keyboard.press("Enter")

    expect(page.locator("#id_name-1")).to_have_value("second")
    expect(page.locator(".panel")).to_contain_text("second")


@pytest.mark.django_db(transaction=True)
def test_without_scripts_buttons_send_files_and_changes(
    browser: Browser, live_server: Any, tmp_path: Any
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    sign_in(page, live_server.url, make_user())
    (tmp_path / "a.csv").write_text(GOOD)
    page.goto(f"{live_server.url}{START}")
    page.set_input_files("#id_file", tmp_path / "a.csv")
    page.click("button:text-is('Continue')")

    page.fill("#id_name-0", "first")
    page.click("button:text-is('Continue')")

    expect(page.locator("#id_name-0")).to_have_value("first")
    expect(page.locator(".panel")).to_contain_text("first")
    context.close()


# --- a random part ---------------------------------------------------------------------


def write_groups(groups: int, header: str = "id,source,system,output") -> str:
    rows = (
        f"q{number},Question {number}?,{system},Answer {number} of {system}"
        for number in range(groups)
        for system in "ab"
    )
    return "\n".join([header, *rows, ""])


def check_part(content: str, seed: str, number: int) -> list[str]:
    """Return the input of each item of a random part of the file, each once."""
    checked = check_source(
        ITEMS,
        BytesIO(content.encode()),
        target=aim_at_instrument(read_instrument(read_gallery()["quality"]), seed),
        mapping=FileMapping.read({"id": "item"}, {RANDOM_PART: number}),
    )
    assert not checked.faults
    return [*dict.fromkeys(item.extra["source"] for item in checked.items)]


def create(client: Client, upload: Upload, instrument: str) -> Study:
    sent = {"title": "A part", "instrument": f"gallery:{instrument}",
            f"gallery-{instrument}-added": "source"}  # fmt: skip
    client.post(reverse("admin:new-instrument", args=[upload.pk]), sent)
    return Study.objects.get()


@pytest.mark.parametrize("instrument", ["quality", "which_is_better"])
def test_people_rate_a_random_part_with_all_outputs_of_each_input(
    staff_client: Client, instrument: str
) -> None:
    drop(staff_client, {"all.csv": write_groups(30)})
    upload = Upload.objects.get()

    page = staff_client.post(find("new-upload"), {"random_part": "6"}, follow=True)

    assert read_title(page) == "6 of 30 items, 2 systems: right so far?"
    study = create(staff_client, upload, instrument)
    drawn = Counter(item.inputs["source"] for item in study.items.main())
    assert len(drawn) == 6
    # not simply the first
    assert set(drawn) != {f"Question {number}?" for number in range(6)}
    assert set(drawn.values()) == ({2} if instrument == "quality" else {1})
    # what the page showed is what the study has
    shown = {example["inputs"]["source"] for example in page.context["report"].summary["examples"]}
    assert shown <= set(drawn)
    (note,) = study.batches.get().import_notes
    assert note["code"] == "random_part"
    assert {"6", "30", "24", study.seed} <= set(re.findall(r"\w+", note["text"]))


def test_part_is_another_for_another_seed_and_the_same_for_the_same() -> None:
    content = write_groups(40)

    first, again, other = (check_part(content, seed, 10) for seed in ("1a", "1a", "2b"))

    assert len(first) == len(other) == 10
    assert first == again != other


def test_part_has_as_many_of_each_talk_as_can_be_and_all_practice() -> None:
    sizes = {"t1": 2, "t2": 9, "t3": 9}
    rows = ["p,Before,a,y,practice,"]
    rows += [
        f"{talk}-{number},{talk}-{number},{system},Answer,main,{talk}"
        for talk, size in sizes.items()
        for number in range(size)
        for system in "ab"
    ]

    drawn = check_part("\n".join(["id,source,system,output,kind,cluster", *rows]), "7c", 12)

    assert Counter(source.partition("-")[0] for source in drawn) == {
        "t1": 2, "t2": 5, "t3": 5, "Before": 1,
    }  # fmt: skip


@pytest.mark.parametrize(("number", "expected"), [("", 3), ("3", 3), ("7", 3), ("0", 3), ("x", 3)])
def test_no_part_is_drawn_of_no_fewer_items(
    staff_client: Client, number: str, expected: int
) -> None:
    drop(staff_client, {"all.csv": write_groups(3)})

    page = staff_client.post(find("new-upload"), {"random_part": number}, follow=True)

    assert read_title(page) == f"{expected} items, 2 systems: right so far?"
    assert page.context["report"].import_notes == []
    # what can't be used is said
    assert bool(list(page.context["messages"])) == (number in ("0", "x"))


def test_part_is_given_up_by_emptying_the_field(staff_client: Client) -> None:
    drop(staff_client, {"all.csv": write_groups(3)})
    staff_client.post(find("new-upload"), {"random_part": "2"})

    page = staff_client.post(find("new-upload"), {"random_part": ""}, follow=True)

    assert read_title(page) == "3 items, 2 systems: right so far?"


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
@pytest.mark.parametrize("has_scripts", [True, False])
def test_part_is_chosen_by_keyboard_on_an_accessible_page(
    browser: Browser, live_server: Any, tmp_path: Any, has_scripts: bool
) -> None:
    context = browser.new_context(java_script_enabled=has_scripts)
    page = context.new_page()
    sign_in(page, live_server.url, make_user())
    (tmp_path / "a.csv").write_text(write_groups(8))
    page.goto(f"{live_server.url}{START}")
    page.set_input_files("#id_file", tmp_path / "a.csv")
    if not has_scripts:
        page.click("button:text-is('Continue')")
    page.wait_for_selector("h1:has-text('8 items')")

    press_tab_to(page, "summary:has-text('People rate all 8')", most=80)
    page.keyboard.press("Enter")
    faults = find_faults_in_all_looks(page) if has_scripts else []
    press_tab_to(page, "#id_random_part")
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('3 of 8 items')")

    assert faults == []
    context.close()
