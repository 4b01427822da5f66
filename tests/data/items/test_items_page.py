"""The page of a study's items: what it counts, finds, renames, and how much it asks for."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from playwright.sync_api import Page

from evalsite.studies.models import Membership, Study, System
from tests.data.items.test_upload_pages import address
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, find_faults_in_turn
from tests.support.factories import launch, make_study, make_user
from tests.support.imported import write_csv

pytestmark = pytest.mark.django_db


def add(client: Client, study: Study, rows: list[dict[str, str]]) -> None:
    client.post(address("upload-new", study), {"pasted": write_csv(rows)})
    upload = study.uploads.latest("created_at")
    client.post(address("upload-import", study, upload.pk))
    assert study.batches.filter(sha256=upload.sha256).exists(), upload.report


def make_rows(column: str, systems: str, items: range = range(1, 4)) -> list[dict[str, str]]:
    return [
        {
            "item": f"m{number}",
            column: f"Input {number} of all.",
            "system": system,
            "output": f"Text {number} by someone else in {len(system)} words.",
        }
        for number in items
        for system in systems.split()
    ]


def read(client: Client, study: Study, search: str = "") -> Any:
    return client.get(address("batch-list", study), {"q": search} if search else {})


def read_title(page: Any) -> str:
    found = re.search("<h1>(.*?)</h1>", page.text, re.DOTALL)
    assert found
    return " ".join(found[1].split())


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("protocol", "column", "systems", "title", "unit"),
    [
        # one output at a time, pairs of them, and all at once
        ("rrgen", "review", "alpha beta", "3 items, 2 systems: 6 outputs to rate", "output"),
        ("pairwise", "prompt", "alpha beta", "3 items, 2 systems: 6 outputs to rate", "item"),
        ("pairwise", "prompt", "alpha beta gamma", "3 items, 3 systems: 9 outputs to rate", "pair"),
        ("magnitude", "mr", "alpha beta gamma", "3 items, 3 systems: 9 outputs to rate", "item"),
    ],
)
def test_item_is_the_record_whatever_people_see_at_once(
    staff_client: Client, protocol: str, column: str, systems: str, title: str, unit: str
) -> None:
    study = make_study(items=0, protocol=protocol)

    add(staff_client, study, make_rows(column, systems))
    page = read(staff_client, study)

    assert read_title(page) == title
    assert "1 to 3 of 3" in page.text
    frame = page.context["frame"]
    assert (frame.facts[1], frame.unit) == (title.split(":")[0], unit)
    assert frame.setup.entries["batch-list"].value == "3"
    launch = staff_client.get(address("study-launch", study)).text
    screens = {"output": 6, "pair": 9, "item": 3}[unit]
    assert f"<dt>{unit.capitalize()}s</dt><dd>{screens} × {study.k}</dd>" in launch
    rows = page.context["records"]
    assert [record.name for record, *_ in rows] == ["m1", "m2", "m3"]
    assert {len(texts) for *_, texts in rows} == {len(systems.split())}
    assert all(text for *_, texts in rows for text in texts)


def test_outputs_of_a_later_system_stand_in_the_row_of_their_item(staff_client: Client) -> None:
    study = make_study(items=0, protocol="rrgen")
    add(staff_client, study, make_rows("review", "alpha beta"))

    add(staff_client, study, make_rows("review", "gamma", range(1, 3)))
    page = read(staff_client, study)

    assert read_title(page) == "3 items, 3 systems: 8 outputs to rate"
    texts = [texts for *_, texts in page.context["records"]]
    assert [text is None for text in texts[2]] == [False, False, True]


@pytest.mark.both_databases
@pytest.mark.parametrize("protocol", ["rrgen", "magnitude"])
@pytest.mark.parametrize(
    ("search", "names"),
    [("Input 2", ["m2"]), ("text 3 BY", ["m3"]), ("m1", ["m1"]), ("größer", ["m4"]), ("%", [])],
)
def test_items_are_found_by_id_input_and_output(
    staff_client: Client, protocol: str, search: str, names: list[str]
) -> None:
    study = make_study(items=0, protocol=protocol)
    column = study.config.columns[0].name
    rows = make_rows(column, "alpha beta gamma")
    rows += [row | {"item": "m4", column: "Etwas Größer."} for row in rows[:3]]
    add(staff_client, study, rows)

    page = read(staff_client, study, search.replace("größer", "Größer"))

    assert [record.name for record, *_ in page.context["records"]] == names
    assert all(text for *_, texts in page.context["records"] for text in texts)


def test_conversation_in_json_is_listed_as_its_turns(staff_client: Client) -> None:
    study = make_study(protocol="fluency", items=0)
    turns = [{"role": "user", "content": "Is it open?"}, {"role": "assistant", "content": "Yes."}]
    rows = make_rows("dialogue", "alpha beta", range(1, 2))
    add(staff_client, study, [row | {"dialogue": json.dumps(turns)} for row in rows])

    page = read(staff_client, study)

    assert [texts for _, texts, _ in page.context["records"]] == [
        ["user: Is it open?\nassistant: Yes."]
    ]


def test_items_are_listed_ten_at_a_time(staff_client: Client) -> None:
    study = make_study(items=0, protocol="rrgen")
    add(staff_client, study, make_rows("review", "alpha beta", range(1, 26)))

    page = staff_client.get(address("batch-list", study), {"page": "3"})

    assert "21 to 25 of 25" in page.text
    assert [record.name for record, *_ in page.context["records"]] == [
        f"m{number}" for number in range(21, 26)
    ]


def test_columns_are_the_inputs_that_items_have_and_the_systems(staff_client: Client) -> None:
    study = make_study(items=0)
    add(staff_client, study, make_rows("mr", "alpha beta gamma"))

    page = read(staff_client, study)

    heads = re.findall(r'<th scope="col">(?:<bdi>)?([^<]+)', page.text.partition("wide2")[2])
    assert heads[:5] == ["Item", "Meaning representation", "alpha", "beta", "gamma"]


# --- names of systems -------------------------------------------------------------------


@pytest.fixture
def study(staff_client: Client) -> Study:
    study = make_study(items=0)
    add(staff_client, study, make_rows("mr", "alpha beta gamma"))
    return study


def rename(client: Client, study: Study, **names: str) -> Any:
    pks = dict(study.systems.values_list("name", "pk"))
    data = {f"system-{pks[before]}": after for before, after in names.items()}
    return client.post(address("systems-rename", study), data, follow=True)


def list_names(study: Study) -> list[str]:
    return list(System.objects.filter(study=study).order_by("pk").values_list("name", flat=True))


def test_systems_of_a_draft_are_renamed(staff_client: Client, study: Study) -> None:
    page = rename(staff_client, study, alpha="first", gamma="third")

    assert list_names(study) == ["first", "beta", "third"]
    assert 'value="first"' in page.text


@pytest.mark.parametrize("name", ["beta", "BETA", "tie", "", "x" * 201])
def test_name_that_cannot_be_used_leaves_all_names(
    staff_client: Client, study: Study, name: str
) -> None:
    page = rename(staff_client, study, gamma="third", alpha=name)

    assert list_names(study) == ["alpha", "beta", "gamma"]
    assert 'class="note problem"' in page.text


def test_after_the_launch_names_are_no_fields_and_each_has_a_page(
    staff_client: Client,
) -> None:
    study = launch(make_study(items=2))

    page = read(staff_client, study)
    rename(staff_client, study, baseline="first")

    system = study.systems.get(name="baseline") if "baseline" in list_names(study) else None
    assert "Save the names" not in page.text
    assert reverse("admin:system-rename", args=[study.pk, study.systems.first().pk]) in page.text
    # who launched it owns it, and may rename it on the record
    assert system is None


def test_viewer_renames_nothing(study: Study) -> None:
    viewer = make_user("viewer")
    Membership.objects.create(study=study, user=viewer, role=Membership.Role.VIEWER)
    client = Client()
    client.force_login(viewer)

    page = read(client, study)

    assert "Save the names" not in page.text
    assert rename(client, study, alpha="first").status_code == 403
    assert list_names(study) == ["alpha", "beta", "gamma"]


# --- how much it asks for ---------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["rrgen", "magnitude"])
def test_number_of_queries_is_the_same_for_many_items(staff_client: Client, protocol: str) -> None:
    def count(items: int) -> int:
        study = make_study(items=0, protocol=protocol)
        column = study.config.columns[0].name
        add(staff_client, study, make_rows(column, "alpha beta gamma", range(1, items)))
        with CaptureQueriesContext(connection) as queries:
            assert read(staff_client, study).status_code == 200
        return len(queries)

    assert count(3) == count(60) <= 20


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("width", [1280, 390])
def test_page_of_items_is_accessible_and_scrolls_only_its_table(
    page: Page, live_server: Any, width: int, add_batch: Callable[..., Any]
) -> None:
    watch = Watch(page)
    user = make_user()
    study = make_study(items=0, by=user)
    add_batch(study, items=12)
    sign_in(page, live_server.url, user)
    page.set_viewport_size({"width": width, "height": 900})

    page.goto(f"{live_server.url}{address('batch-list', study)}")

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    texts = page.locator("table.wide2 td.t").all()
    assert min(text.bounding_box()["width"] for text in texts) > 100  # type: ignore[index]
    assert find_faults_in_turn(page) == []
    assert watch.found == []
