"""What surrounds each page of a study: five places, their tabs, the menu, and old addresses."""

from datetime import UTC, datetime

import pytest

from evalsite.admin import collect_study_views
from evalsite.core.accounts.models import Profile
from evalsite.decisions.models import AnalysisPlan, Exclusion
from evalsite.results.progress import count_edge
from evalsite.studies.models import Study
from evalsite.studies.settings import PAGES
from evalsite.studies.staff_pages import PLACES
from tests.site.test_staff_pages import ROLES, answer, member, url
from tests.support.factories import launch, make_participant, make_study
from tests.support.imported import load, rows_for


def test_tabs_show_only_what_one_may_open(db):
    study = make_study()

    page = member(study, "viewer").get(url("study-setup", study), follow=True)

    assert [tab.label for tab in page.context["frame"].tabs] == ["Items", "Plan"]
    assert url("study-launch", study) not in page.text


def test_draft_has_two_places_and_five_pages_of_set_up(staff_client):
    study = make_study()

    page = staff_client.get(url("study-setup", study), follow=True)

    frame = page.context["frame"]
    assert [place.label for place in frame.places] == ["Set up", "Invite"]
    assert [tab.label for tab in frame.tabs] == list(PAGES.values())
    assert {staff_client.get(place.url, follow=True).status_code for place in frame.places} == {200}


def test_imported_answers_give_a_draft_all_its_places(staff_client):
    study = make_study(items=2)
    load(study, rows_for(study, ["w1"], study.items.main()))

    page = staff_client.get(url("study-results", study))

    assert [place.label for place in page.context["frame"].places] == list(PLACES)


@pytest.mark.parametrize("role", ["owner", "editor", "viewer"])
def test_five_places_lead_to_pages_one_may_open(db, role):
    study = launch(make_study())
    client = member(study, role)

    places = client.get(url("study-overview", study)).context["frame"].places

    assert [place.label for place in places] == list(PLACES)
    assert {client.get(place.url).status_code for place in places} == {200}


def test_every_tab_has_a_place_and_every_other_page_a_tab():
    views = collect_study_views()
    tabs = {page.tab for page in views if page.place} | {page.name for page in views if page.place}

    assert {page.place for page in views if page.place} == set(PLACES)
    assert {page.within for page in views if page.within} <= tabs | {"Team"}


def test_set_up_says_its_values_and_what_blocks_the_launch_until_then(staff_client):
    study = make_study(items=2, consent="[all]", pay_per_set="1.50")
    opened = staff_client.get(url("study-setup", study))
    draft = staff_client.get(url("setup-work", study))
    Study.objects.update(consent="Agree?")
    launch(study)

    live = staff_client.get(url("setup-work", study))

    entries = {tab.label: tab.entry for tab in draft.context["frame"].tabs}
    assert opened.url == url("setup-read", study)
    assert [label for label, entry in entries.items() if entry.is_blocking] == ["What people read"]
    values = {label: entry.value for label, entry in entries.items()}
    shown = {"Items": "2", "Work": "£4.50", "Quality": "none", "Plan": "none"}
    assert {label: values[label] for label in shown} == shown
    assert 'Launch… <span class="count">1<span' in draft.text
    assert live.context["frame"].setup is None
    assert not any(tab.entry.is_blocking for tab in live.context["frame"].tabs)
    assert staff_client.get(url("study-setup", study)).url == url("batch-list", study)


def test_a_plan_is_said_beside_its_name(staff_client):
    study = make_study(items=2)
    AnalysisPlan.objects.create(study=study, smallest=1)
    without = staff_client.get(url("setup-work", study)).context["frame"].setup.entries
    AnalysisPlan.objects.update(exclusion_rule="Whoever is fast.")

    written = staff_client.get(url("setup-work", study)).context["frame"].setup.entries

    assert without["setup-plan"].value == "none"
    assert written["setup-plan"].value == "written"
    AnalysisPlan.objects.update(hypotheses=[{"criterion": "informativeness"}])
    asked = staff_client.get(url("setup-work", study)).context["frame"].setup.entries
    assert asked["setup-plan"].value == "1 question"


def test_value_that_nobody_chose_is_followed_by_default(staff_client):
    study = make_study(items=2)

    before = staff_client.get(url("setup-work", study)).text
    Study.objects.update(k=5)
    after = staff_client.get(url("setup-work", study)).text

    assert f"<small>{study.config.design.k} answers each, default</small>" in before
    assert "<small>5 answers each</small>" in after


@pytest.mark.one_case
@pytest.mark.parametrize("name", ["study-launch", "setup-work", "setup-read", "setup-quality"])
def test_page_of_set_up_takes_few_queries_however_many_items(
    staff_client, django_assert_max_num_queries, name
):
    counts = []
    for items in (2, 60):
        study = make_study(items=items, groups="once", is_qualification_on=True)
        with django_assert_max_num_queries(15) as queries:
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
        page = member(study, role).get(url("setup-plan", study)).text
        offered = (*names, "study-unarchive")
        given[role] = {name for name in offered if f'"{url(name, study)}"' in page}

    assert given == {"owner": owner, "editor": editor, "viewer": set()}


def test_header_counts_in_one_query(staff_client, django_assert_num_queries):
    study = launch(make_study(items=2))
    answer(study, study.items.main().first())

    with django_assert_num_queries(1):
        edge = count_edge(study)

    assert (edge.done, edge.target, edge.items, edge.systems) == (1, 6, 2, 3)
    assert edge.records == 2


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
