"""The list of studies: whose it shows, what is left to do, search and order."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.models import ExclusionRule
from evalsite.fieldwork.setup import describe_setup
from evalsite.lib.clock import now, standing_at
from evalsite.people.models import Expert, PersonalLink, Recruitment
from evalsite.results.models import Report
from evalsite.results.overview import studies
from evalsite.results.overview.headline import describe_moment
from evalsite.results.overview.pace import count_by_hour, forecast_end
from evalsite.results.progress import progress_of
from evalsite.studies.models import Item, Membership, Study
from tests.site.test_staff_browser import sign_in
from tests.site.test_staff_pages import answer
from tests.support.browsing import Watch, find_faults_in_turn, press_tab_to
from tests.support.factories import launch, make_study, make_user

pytestmark = pytest.mark.django_db

HOME = reverse("admin:index")


def make_live(title: str, **fields) -> Study:
    study = launch(make_study(items=1, title=title))
    Study.objects.filter(pk=study.pk).update(**fields)
    return Study.objects.get(pk=study.pk)


def titles(client, **query) -> list[str]:
    return [row.study.title for row in client.get(HOME, query).context["rows"]]


def tasks(client) -> dict[str, str]:
    return {row.study.title: row.task for row in client.get(HOME).context["rows"]}


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


@pytest.mark.both_databases
def test_newest_change_comes_first_whether_answer_or_deed(staff_client):
    for title in ("First", "Answered", "Changed", "Last"):
        make_live(title)
    hour = now() - timedelta(hours=1)
    AuditEntry.objects.update(created_at=hour)
    Study.objects.update(created_at=hour)
    changed, answered = Study.objects.get(title="Changed"), Study.objects.get(title="Answered")
    minute = timedelta(minutes=1)
    AuditEntry.objects.record("settings changed", by=None, study_id=changed.pk)
    AuditEntry.objects.filter(action="settings changed").update(created_at=now() - minute)
    answer(answered, answered.items.main()[0], submitted_at=now())
    Study.objects.filter(title="Last").update(created_at=hour + minute)
    AuditEntry.objects.filter(study_id=Study.objects.get(title="First").pk).delete()

    assert titles(staff_client) == ["Answered", "Changed", "Last", "First"]


@pytest.mark.both_databases
def test_row_says_what_is_left_to_do(staff_client):
    make_live("Paused", state="paused")
    make_live("New")
    halted = make_live("Halted")
    answer(halted, halted.items.main().first(), submitted_at=now() - timedelta(hours=25))
    full = make_live("Full", k=1)
    answer(full, full.items.main().first(), submitted_at=now())
    make_live("Ended", closes_at=now() - timedelta(hours=1))
    make_study(title="Draft")
    make_study(title="Empty", items=0, contact_email="")
    make_live("Closed", state="closed", closed_at=now())

    page = staff_client.get(HOME)

    assert tasks(staff_client) == {
        "Paused": "paused", "New": "", "Halted": "halted", "Full": "all-in", "Ended": "past-end",
        "Draft": "", "Empty": "missing", "Closed": "",
    }  # fmt: skip
    assert "5 studies need your attention" in page.text
    assert "2 things missing before launch" in page.text
    assert page.text.count("Ready to launch") == 1


def test_draft_lacks_as_much_as_its_launch_page_says(staff_client):
    study = make_study(items=0, organisation="", checks_per_person=1)
    large = make_study(items=4, checks_per_person=1)

    rows = {row.study.pk: row for row in staff_client.get(HOME).context["rows"]}

    for draft in (study, large):
        assert rows[draft.pk].missing == len(describe_setup(draft).problems)
    assert rows[study.pk].missing == 3


@pytest.mark.both_databases
def test_items_are_records_of_the_data(staff_client):
    study = make_study(items=4, protocol="fluency")
    for number, item in enumerate(study.items.main()):
        Item.objects.filter(pk=item.pk).update(extra={"item": f"record {number // 2}"})

    assert "2 items, 3 systems" in staff_client.get(HOME).text


def test_reported_item_needs_attention(staff_client):
    study = make_live("Held")
    Item.objects.filter(pk=study.items.main()[0].pk).update(held_at=now())

    page = staff_client.get(HOME).text

    assert "1 study needs your attention" in page
    assert "1 reported item" in page


def test_link_that_nobody_opened_for_days_needs_attention(staff_client):
    study = make_live("Invited")
    days = timedelta(days=4)
    round_ = Recruitment.objects.create(study=study, number=1, platform="experts")
    link = PersonalLink.objects.create(
        study=study, recruitment=round_, number=1, token_hash="0" * 64
    )
    Expert.objects.create(study=study, link=link, name="Ben Otte")
    assert tasks(staff_client) == {"Invited": ""}

    PersonalLink.objects.update(created_at=now() - days)
    assert tasks(staff_client) == {"Invited": ""}  # the link works since the launch only
    Study.objects.update(launched_at=now() - days)
    assert tasks(staff_client) == {"Invited": "unopened"}
    assert "Ben Otte" not in staff_client.get(HOME).text


@pytest.fixture
def at_half_past():
    """The pace is counted by the hour: just after a full one it can be too uneven to say."""
    with standing_at(now().replace(minute=30)):
        yield


@pytest.mark.both_databases
@pytest.mark.usefixtures("at_half_past")
def test_live_study_says_when_it_is_done_at_its_pace(staff_client):
    study = make_study(items=20, title="Going", k=1)
    launch(study)
    Study.objects.update(launched_at=now() - timedelta(hours=5))
    for number, item in enumerate(study.items.main()[:15]):
        answer(study, item, submitted_at=now() - timedelta(minutes=18 * number))

    (row,) = staff_client.get(HOME).context["rows"]
    progress = progress_of(study)
    forecast = forecast_end(
        count_by_hour(study), since=Study.objects.get().launched_at, now=now(),
        remaining=progress.target - progress.done,
    )  # fmt: skip

    assert row.done_by == describe_moment(forecast.likely, now())
    assert tasks(staff_client) == {"Going": ""}
    Study.objects.update(closes_at=now() + timedelta(minutes=5))
    assert tasks(staff_client) == {"Going": "slow"}


def test_closed_study_gives_its_result(staff_client):
    study = make_live("Closed", state="closed", closed_at=now())
    other = make_live("Not computed", state="closed", closed_at=now())
    hiding = make_live("Hidden", state="closed", closed_at=now(), hides_results=True)
    for closed in (study, hiding):
        Report.objects.create(
            study=closed, fingerprint="1", sha256="", content={},
            headline="tuned <b>leads</b> on 4 of 5 questions",
        )  # fmt: skip
    ExclusionRule.objects.create(study=hiding, position=1, conditions=[{"measure": "flags"}])

    page = staff_client.get(HOME).text

    assert page.count("tuned &lt;b&gt;leads&lt;/b&gt; on 4 of 5 questions") == 1
    assert page.count("See the results") == 2
    for closed in (study, other):
        assert f'href="{reverse("admin:study-results", args=[closed.pk])}"' in page


def test_drafts_and_closed_studies_need_no_attention(staff_client):
    make_study(title="Draft")
    make_live("Closed", state="closed", closed_at=now())

    page = staff_client.get(HOME)

    assert "No studies are running" in page.text
    assert titles(staff_client) == ["Closed", "Draft"]


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

    page = staff_client.get(HOME, {"q": "<b>zebra"}).text
    assert "0 studies for “&lt;b&gt;zebra”" in page
    assert "What do you want to evaluate?" not in page


def test_archived_studies_are_behind_a_link(staff_client):
    make_live("Archived", state="archived")
    make_study(title="Draft")

    assert titles(staff_client) == ["Draft"]
    assert titles(staff_client, archived="") == ["Archived"]
    assert 'href="?archived="' in staff_client.get(HOME).text


def test_more_studies_than_fit_are_on_further_pages(staff_client, monkeypatch):
    monkeypatch.setattr(studies, "PAGE", 3)
    for number in range(7):
        make_study(items=0, title=f"Draft {number}")

    assert [len(titles(staff_client, page=page)) for page in (1, 2, 3, 9)] == [3, 3, 1, 1]


@pytest.mark.one_case
@pytest.mark.parametrize("query", [{}, {"q": "study"}])
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


@pytest.mark.torture
@pytest.mark.django_db(transaction=True)
def test_list_is_accessible_fits_a_phone_and_is_searched_by_keyboard(page, live_server):
    user = make_user("jane")
    sign_in(page, live_server, user)
    watch = Watch(page)
    page.goto(f"{live_server}{HOME}")
    faults = find_faults_in_turn(page)
    make_study(title="Empty", items=0, by=user)
    make_study(title="A draft with a long title " * 4, by=user)
    for title, fields in {
        "Paused": {"state": "paused"},
        "W" * 110: {},
        "Closed": {"state": "closed", "closed_at": now()},
    }.items():
        make_live(title, **fields)
    Report.objects.create(
        study=Study.objects.get(title="Closed"), fingerprint="1", sha256="", content={},
        headline=f"{'s' * 120} leads on 4 of 5 questions",
    )  # fmt: skip

    page.goto(f"{live_server}{HOME}")
    faults += find_faults_in_turn(page)
    press_tab_to(page, "[type=search]")
    page.keyboard.type("paused")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=paused**")

    assert page.locator("main h1").inner_text() == "1 study for “paused”"
    assert faults == []
    assert watch.found == []
