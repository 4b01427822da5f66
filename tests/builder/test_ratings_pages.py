"""Pages that lead from ratings to their results."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page

from evalsite.data.models import Upload
from evalsite.results.models import Report
from evalsite.studies.models import Output, Study
from tests.data.ratings.test_bare_ratings import GERMAN, HEADER, RATED, TEXTS_OF_RATED
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, choose_files, find_faults_in_all_looks, find_overflow
from tests.support.factories import make_user
from tests.support.queues import run_waiting_jobs

pytestmark = pytest.mark.django_db

START = reverse("admin:new-ratings")


@pytest.fixture(autouse=True)
def data_dir(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    return tmp_path


def drop(client: Client, content: bytes | str, name: str = "ratings.csv") -> Any:
    content = content.encode() if isinstance(content, str) else content
    return client.post(START, {"file": [SimpleUploadedFile(name, content)]}, follow=True)


def find(name: str) -> str:
    return reverse(f"admin:{name}", args=[Upload.objects.get(purpose="ratings").pk])


def list_uses(page: Any) -> dict[str, str]:
    reading = page.context["reading"]
    return {f"use_{number}": column["use"] for number, column in enumerate(reading.columns)}


def test_file_leads_to_results_of_a_closed_study(staff_client: Client) -> None:
    page = drop(staff_client, GERMAN.read_bytes(), "bewertungen.csv")
    assert "507 ratings by 3 people of 2 systems" in page.text
    assert not Study.objects.exists()

    post = {**list_uses(page), "title": "Bewertungen", "persons": "yes"}
    results = staff_client.post(find("new-ratings-create"), post, follow=True)

    study = Study.objects.get()
    assert results.redirect_chain[-1][0] == reverse("admin:study-results", args=[study.pk])
    assert (study.state, study.title) == (Study.State.CLOSED, "Bewertungen")
    run_waiting_jobs()
    assert Report.objects.filter(study=study).exists()
    again = staff_client.post(find("new-ratings-create"), post)
    assert again["Location"] == reverse("admin:study-results", args=[study.pk])
    assert Study.objects.count() == 1


@pytest.mark.parametrize(
    "name",
    [
        "study-results",
        "batch-list",
        "study-overview",
        "study-people",
        "study-export",
        "ratings-list",
    ],
)
def test_pages_of_the_study_bear_outputs_without_texts(staff_client: Client, name: str) -> None:
    page = drop(staff_client, RATED)
    post = {**list_uses(page), "title": "R", "persons": "yes"}
    staff_client.post(find("new-ratings-create"), post)
    run_waiting_jobs()

    address = reverse(f"admin:{name}", args=[Study.objects.get().pk])
    assert staff_client.get(address, follow=True).status_code == 200


def test_what_a_column_holds_can_be_changed_and_is_kept(staff_client: Client) -> None:
    page = drop(staff_client, RATED)
    uses = list_uses(page)
    number = [*uses.values()].index("scale")

    post = {**uses, f"use_{number}": "number", "title": "Mine", "persons": "no"}
    page = staff_client.post(find("new-ratings-file"), post, follow=True)

    assert list_uses(page)[f"use_{number}"] == "number"
    assert page.context["form"]["title"].value() == "Mine"
    assert page.context["form"]["persons"].value() == "no"
    post = {**list_uses(page), f"use_{number}": ""}
    page = staff_client.post(find("new-ratings-file"), post, follow=True)
    assert "no_ratings" in [code for code, _ in page.context["report"]["faults"]]


def test_who_rated_has_to_be_said(staff_client: Client) -> None:
    page = drop(staff_client, RATED)

    response = staff_client.post(find("new-ratings-create"), {**list_uses(page), "title": "R"})

    assert response.status_code == 422
    assert response.context["form"].has_error("persons")
    assert not Study.objects.exists()


def test_outputs_among_ratings_lead_to_the_page_of_outputs(staff_client: Client) -> None:
    page = drop(
        staff_client,
        "id,source,system,translation\n1,Der Hund schläft heute.,x,The dog sleeps on the sofa.\n",
    )
    assert find("new-ratings-outputs") in page.text

    page = staff_client.post(find("new-ratings-outputs"), follow=True)

    upload = Upload.objects.get()
    assert upload.purpose == Upload.Purpose.ITEMS
    assert page.redirect_chain[-1][0] == reverse("admin:new-upload", args=[upload.pk])
    assert "1 item" in page.text


def drop_among_outputs(client: Client, content: bytes | str) -> Any:
    content = content.encode() if isinstance(content, str) else content
    file = SimpleUploadedFile("file.csv", content)
    return client.post(reverse("admin:study-new"), {"file": [file]}, follow=True)


WITH_TEXTS = "rater;segment;system;score;source;translation\n" + "".join(
    f"r{rater};{item};{system};{rater + item};Der Zug {item} fällt aus.;{system} {item} is late.\n"
    for rater in (1, 2)
    for item in (1, 2)
    for system in "AB"
)


@pytest.mark.parametrize(
    ("content", "ratings", "people"),
    [(GERMAN.read_bytes(), 507, 3), (RATED, None, None), (WITH_TEXTS, 8, 2)],
)
def test_ratings_among_outputs_lead_to_the_page_of_ratings(
    staff_client: Client, content: bytes | str, ratings: int | None, people: int | None
) -> None:
    page = drop_among_outputs(staff_client, content)
    upload = Upload.objects.get()
    address = reverse("admin:new-upload-ratings", args=[upload.pk])
    assert address in page.text
    found = page.context["ratings"]
    if ratings:
        assert (len(found.ratings), len(found.people)) == (ratings, people)

    page = staff_client.post(address, follow=True)

    upload.refresh_from_db()
    assert upload.purpose == Upload.Purpose.RATINGS
    assert page.redirect_chain[-1][0] == reverse("admin:new-ratings-file", args=[upload.pk])
    assert page.context["report"]["ratings"] == len(found.ratings)
    # a second press changes nothing
    again = staff_client.post(address)
    assert again["Location"] == reverse("admin:new-ratings-file", args=[upload.pk])
    assert not Study.objects.exists()


def test_page_says_that_a_file_looks_like_ratings_instead_of_its_fault(
    staff_client: Client,
) -> None:
    page = drop_among_outputs(staff_client, GERMAN.read_bytes())
    title = page.text[page.text.index("<h1>") : page.text.index("</h1>")]
    assert "This looks like ratings: 507 ratings by 3 people of 2 systems" in title
    assert "<title>Error" not in page.text

    # it can be used as outputs, too: what is said of its ratings stands beside them
    page = drop_among_outputs(staff_client, WITH_TEXTS)
    assert "looks like ratings" not in page.text[: page.text.index("</h1>")]


def test_outputs_are_not_taken_for_ratings(staff_client: Client) -> None:
    page = drop_among_outputs(staff_client, TEXTS_OF_RATED)

    assert page.context["ratings"] is None
    assert '/ratings/"' not in page.text


def test_nobody_else_makes_ratings_of_a_file(staff_client: Client) -> None:
    drop_among_outputs(staff_client, RATED)
    other = Client()
    other.force_login(make_user("eve"))

    address = reverse("admin:new-upload-ratings", args=[Upload.objects.get().pk])

    assert other.post(address)["Location"] == reverse("admin:study-new")
    assert Upload.objects.get().purpose == Upload.Purpose.ITEMS


def test_texts_are_kept_until_the_results_are_seen(staff_client: Client) -> None:
    page = drop(staff_client, RATED)
    texts = SimpleUploadedFile("texts.csv", TEXTS_OF_RATED.encode())
    post = {**list_uses(page), "title": "R", "persons": "yes"}

    page = staff_client.post(find("new-ratings-file"), {**post, "texts": texts}, follow=True)
    assert page.context["texts"].file_name == "texts.csv"
    staff_client.post(find("new-ratings-create"), post)

    assert Output.objects.exclude(text="").count() == 3


def test_nobody_else_sees_the_file(staff_client: Client) -> None:
    drop(staff_client, RATED)
    other = Client()
    other.force_login(make_user("eve"))

    for name in ("new-ratings-create", "new-ratings-outputs", "new-ratings-file"):
        assert other.post(find(name))["Location"] == reverse("admin:study-new")
    assert other.get(find("new-ratings-file"))["Location"] == reverse("admin:study-new")
    assert Upload.objects.get().purpose == "ratings"


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize(
    "name",
    ["new-upload", "new-upload-continue", "new-upload-correct", "new-upload-faults",
     "new-instrument", "new-all", "new-from"],
)  # fmt: skip
def test_pages_of_outputs_take_no_file_of_ratings(
    staff_client: Client, name: str, method: str
) -> None:
    drop(staff_client, RATED)
    upload = Upload.objects.get()
    is_aim = name in ("new-all", "new-from")
    address = f"{reverse(f'admin:{name}')}?upload={upload.pk}" if is_aim else find(name)

    status = getattr(staff_client, method)(address).status_code

    assert status in (200, 302, 404, 405, 422)
    assert staff_client.get(find("new-ratings-file")).status_code == 200
    assert not Study.objects.exists()


def test_file_of_ratings_is_given_up(staff_client: Client) -> None:
    drop(staff_client, RATED)

    staff_client.post(find("new-upload-cancel"))

    assert not Upload.objects.exists()


def test_file_that_changed_since_it_was_shown_makes_no_study(staff_client: Client) -> None:
    page = drop(staff_client, RATED)
    upload = Upload.objects.get()
    upload.path.write_bytes(RATED.replace("1", "2").encode())

    post = {**list_uses(page), "title": "Changed", "persons": "yes"}
    answer = staff_client.post(find("new-ratings-create"), post)

    assert answer.status_code == 422
    codes = [error.code for error in answer.context["form"].non_field_errors().as_data()]
    assert codes == ["file_changed"]
    assert not Study.objects.exists()


def test_a_file_that_waits_is_found_again(staff_client: Client) -> None:
    drop(staff_client, RATED)

    assert find("new-ratings-file") in staff_client.get(reverse("admin:study-new")).text
    assert staff_client.get(find("new-upload"))["Location"] == find("new-ratings-file")


@pytest.mark.django_db(transaction=True)
def test_walk_to_results_has_no_fault_at_any_width(page: Page, live_server: Any) -> None:
    sign_in(page, live_server, make_user())
    watch = Watch(page)
    page.goto(f"{live_server}{reverse('admin:study-new')}")
    page.get_by_role("link", name="Upload ratings").click()
    assert find_faults_in_all_looks(page) == []

    choose_files(page, GERMAN)
    page.wait_for_selector("h1:has-text('507 ratings by 3 people')")
    assert find_faults_in_all_looks(page) == []
    page.set_viewport_size({"width": 360, "height": 800})
    assert find_overflow(page, 360) == []
    page.set_viewport_size({"width": 1280, "height": 900})
    # takes effect at once
    with page.expect_navigation():
        page.get_by_label("Bemerkung holds").select_option("")
    page.wait_for_function("document.activeElement?.ariaLabel === 'Bemerkung holds'")
    assert page.get_by_label("Bemerkung holds").input_value() == ""

    page.get_by_label("Yes, a single person").check()
    page.get_by_role("button", name="See the results").click()
    page.wait_for_url("**/results/")
    assert Study.objects.get().state == Study.State.CLOSED
    assert watch.found == []


@pytest.mark.django_db(transaction=True)
def test_faulty_file_has_no_fault_in_its_page(page: Page, live_server: Any) -> None:
    sign_in(page, live_server, make_user())
    page.goto(f"{live_server}{START}")
    choose_files(
        page,
        {"name": "r.csv", "mimeType": "text/csv", "buffer": f"{HEADER}p,a,x,4\np,a,x,5\n".encode()},
    )

    page.wait_for_selector("[data-code=rating_twice]")
    assert find_faults_in_all_looks(page) == []
