"""What surrounds each page of a study: five places, their tabs, the menu, and old addresses."""

from datetime import UTC, datetime

import pytest

from evalsite.accounts.models import Profile
from evalsite.admin import collect_study_views
from evalsite.quality.models import Exclusion
from evalsite.results.progress import count_edge
from evalsite.studies.models import Study
from evalsite.studies.staff_pages import PLACES
from tests.site.test_staff_pages import ROLES, answer, member, url
from tests.support.factories import launch, make_participant, make_study


def test_tabs_show_only_what_one_may_open(db):
    study = make_study()

    page = member(study, "viewer").get(url("study-overview", study))

    labels = [tab.label for tab in page.context["frame"].tabs]
    assert "Overview" in labels
    assert not {"Basics", "Pilot", "Launch"} & set(labels)


@pytest.mark.parametrize("role", ["owner", "editor", "viewer"])
def test_five_places_lead_to_pages_one_may_open(db, role):
    study = make_study()
    client = member(study, role)

    places = client.get(url("study-overview", study)).context["frame"].places

    assert [place.label for place in places] == list(PLACES)
    assert {client.get(place.url).status_code for place in places} == {200}


def test_every_tab_has_a_place_and_every_other_page_a_tab():
    views = collect_study_views()
    tabs = {page.tab: page.place for page in views if page.tab}

    assert set(tabs.values()) == set(PLACES)
    assert {page.within for page in views if page.within} <= set(tabs)


def test_navigation_of_set_up_says_what_is_ready_until_the_launch(staff_client):
    study = make_study(items=2, consent="[all]", pay_per_set="1.50")
    draft = staff_client.get(url("setup-work", study))
    Study.objects.update(consent="Agree?")
    launch(study)

    live = staff_client.get(url("setup-work", study))

    marks = {tab.label: tab.mark for tab in draft.context["frame"].tabs if tab.mark}
    lacking = [label for label, mark in marks.items() if not mark.is_ready]
    assert lacking == ["First page and consent"]
    assert (marks["Items"].value, marks["Work and pay"].value) == ("2", "£4.50")
    assert "Before launch: 7 of 8 ready" in draft.text
    assert live.context["frame"].setup is None


@pytest.mark.one_case
@pytest.mark.parametrize("name", ["study-launch", "setup-work", "setup-first-page", "setup-checks"])
def test_page_of_set_up_takes_few_queries_however_many_items(
    staff_client, django_assert_max_num_queries, name
):
    counts = []
    for items in (2, 60):
        study = make_study(items=items, groups="once", is_qualification_on=True)
        with django_assert_max_num_queries(14) as queries:
            staff_client.get(url(name, study))
        counts.append(len(queries))

    assert counts[0] == counts[1]


@pytest.mark.parametrize("old", ["settings/", "monitor/", "export/codebook.csv"])
def test_addresses_of_earlier_versions_lead_nowhere(staff_client, old):
    study = make_study()

    assert staff_client.get(f"/admin/studies/{study.pk}/{old}").status_code == 404


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("state", "editor", "owner"),
    [
        ("live", {"study-pause"}, {"study-pause", "study-close-confirm"}),
        ("paused", {"study-resume"}, {"study-resume", "study-close-confirm"}),
        ("closed", set(), {"study-archive"}),
        ("archived", set(), {"study-unarchive"}),
    ],
)
def test_menu_of_the_header_changes_the_state(db, state, editor, owner):
    study = launch(make_study())
    Study.objects.update(state=state)
    names = ("study-pause", "study-resume", "study-close-confirm", "study-archive")

    given = {}
    for role in ROLES:
        page = member(study, role).get(url("study-analysis-plan", study)).text
        offered = (*names, "study-unarchive")
        given[role] = {name for name in offered if f'"{url(name, study)}"' in page}

    assert given == {"owner": owner, "editor": editor, "viewer": set()}


def test_header_counts_in_one_query(staff_client, django_assert_num_queries):
    study = launch(make_study(items=2))
    answer(study, study.items.main().first())

    with django_assert_num_queries(1):
        edge = count_edge(study)

    assert (edge.done, edge.target, edge.items, edge.systems) == (1, 6, 2, 3)


def test_draft_has_no_progress_edge(staff_client):
    study = make_study(items=2)

    draft = staff_client.get(url("study-team", study)).text
    launch(study)

    assert 'class="bar"' not in draft
    assert 'class="bar" value="0" max="6"' in staff_client.get(url("study-team", study)).text


def test_every_time_of_day_is_in_the_time_zone_of_the_reader(staff_client, researcher):
    moment = datetime(2026, 7, 1, 2, 30, tzinfo=UTC)
    Profile.objects.create(user=researcher, time_zone="America/New_York")
    study = launch(make_study(items=2))
    me = make_participant(study)
    Exclusion.objects.create(study=study, participant=me, reason="Too fast")
    Exclusion.objects.update(decided_at=moment)
    Study.objects.update(state="closed", closed_at=moment)

    exclusions = staff_client.get(url("study-exclusions", study)).text
    overview = staff_client.get(url("study-overview", study))

    assert "30 Jun 2026, 22:30" in exclusions
    assert "closed 30 June 2026, 22:30 America/New York time" in exclusions
    assert "Times are in America/New York time" in exclusions
    assert "UTC" not in exclusions + overview.text
    assert overview.context["headline"].moment == "30 June"
