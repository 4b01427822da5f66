"""The list of studies: whose it shows, what needs attention, search, filters and order."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.lib.clock import now
from evalsite.studies.models import Item, Membership, Study
from tests.site.test_staff_pages import answer
from tests.support.factories import launch, make_study, make_user

pytestmark = pytest.mark.django_db

HOME = reverse("admin:index")


def make_live(title: str, **fields) -> Study:
    study = launch(make_study(items=1, title=title))
    Study.objects.filter(pk=study.pk).update(**fields)
    return Study.objects.get(pk=study.pk)


def titles(client, **query) -> list[str]:
    sections = client.get(HOME, query).context["list"].sections
    return [row.study.title for _, rows, _ in sections for row in rows]


def flags(client) -> dict[str, str]:
    sections = client.get(HOME).context["list"].sections
    return {row.study.title: row.flag for _, rows, _ in sections for row in rows}


def test_list_holds_only_the_studies_of_this_person(staff_client):
    make_study(title="Mine")
    make_study(title="Theirs", by=make_user("stranger"))

    assert titles(staff_client) == ["Mine"]


def test_list_says_how_far_each_study_is(staff_client):
    study = make_study(items=2)
    answer(study, study.items.main().first())
    answer(study, study.items.main().first(), status="surplus")

    assert "1 of 6 answers" in staff_client.get(HOME).text


def test_empty_list_says_what_to_do(staff_client):
    page = staff_client.get(HOME)

    assert "What do you want to evaluate?" in page.text
    assert f'action="{reverse("admin:study-new")}" enctype="multipart/form-data"' in page.text


def test_studies_that_need_attention_come_first(staff_client):
    quiet = make_live("Paused", state="paused")
    make_live("New")
    halted = make_live("Halted")
    answer(halted, halted.items.main().first(), submitted_at=now() - timedelta(hours=25))
    full = make_live("Full", k=1)
    answer(full, full.items.main().first(), submitted_at=now())
    make_live("Newest")
    ended = make_live("Ended", closes_at=now() - timedelta(hours=1))

    page = staff_client.get(HOME)

    assert titles(staff_client) == ["Ended", "Full", "Halted", "Paused", "Newest", "New"]
    assert flags(staff_client) == {
        ended.title: "past-end",
        full.title: "all-in",
        halted.title: "halted",
        quiet.title: "paused",
        "New": "",
        "Newest": "",
    }
    assert "4 studies need your attention" in page.text
    assert "1 answer came in during the last 24 hours" in page.text


def test_reported_item_needs_attention(staff_client):
    study = make_live("Held")
    Item.objects.filter(pk=study.items.main()[0].pk).update(held_at=now())

    page = staff_client.get(HOME).text

    assert "1 study needs your attention" in page
    assert "1 reported item" in page


def test_drafts_and_closed_studies_need_no_attention(staff_client):
    make_study(title="Draft")
    make_live("Closed", state="closed", closed_at=now())

    page = staff_client.get(HOME)

    assert "No studies are running" in page.text
    assert titles(staff_client) == ["Draft", "Closed"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("hotel", ["Hotel reviews"]),
        ("PRIYA", ["Hotel reviews"]),
        ("informativeness", ["Hotel reviews", "Restaurants"]),
        ("nothing of that name", []),
    ],
)
def test_search_finds_titles_protocols_and_people(staff_client, query, found):
    make_study(title="Restaurants")
    hotel = make_study(title="Hotel reviews")
    Membership.objects.create(study=hotel, user=make_user("priya"), role="viewer")

    assert sorted(titles(staff_client, q=query)) == found


def test_search_that_finds_nothing_says_so(staff_client):
    make_study(title="Restaurants")

    assert "No study has “zebra”" in staff_client.get(HOME, {"q": "zebra"}).text


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("state", "found"),
    [
        ("", ["Live", "Draft", "Closed"]),
        ("running", ["Live"]),
        ("drafts", ["Draft"]),
        ("closed", ["Closed"]),
        ("archived", ["Archived"]),
        ("no such", ["Live", "Draft", "Closed"]),
    ],
)
def test_filter_shows_studies_of_one_state(staff_client, state, found):
    make_live("Archived", state="archived")
    make_live("Closed", state="closed")
    make_study(title="Draft")
    make_live("Live")

    assert titles(staff_client, state=state) == found
    assert titles(staff_client, archived="") == ["Archived"]


def test_studies_are_sorted_by_title_or_latest_answer(staff_client):
    for title, hours in (("B", 1), ("A", 3), ("C", 2)):
        study = make_live(title)
        answer(study, study.items.main()[0], submitted_at=now() - timedelta(hours=hours))

    assert titles(staff_client, by="title") == ["A", "B", "C"]
    assert titles(staff_client, by="latest") == ["B", "C", "A"]


def test_more_drafts_than_fit_are_behind_a_link(staff_client):
    for number in range(7):
        make_study(items=0, title=f"Draft {number}")

    assert len(titles(staff_client)) == 5
    assert "All 7 drafts" in staff_client.get(HOME).text
    assert len(titles(staff_client, state="drafts")) == 7


@pytest.mark.one_case
@pytest.mark.parametrize("query", [{}, {"state": "drafts"}, {"q": "study", "by": "latest"}])
def test_list_of_many_studies_takes_the_queries_of_few(staff_client, query):
    for number in range(2):
        make_study(items=1, title=f"Study {number}")
    make_live("Study that is live")
    staff_client.get(HOME)
    counts = []
    for more in (0, 30):
        for number in range(more):
            make_study(items=0, title=f"Study, more {number}")
        with CaptureQueriesContext(connection) as captured:
            staff_client.get(HOME, query)
        counts.append(len(captured))

    assert counts[0] == counts[1]
    assert counts[1] <= 14
