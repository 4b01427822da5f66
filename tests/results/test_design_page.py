"""The page of a study's design: what was chosen, planned and achieved, for all its members."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evalsite.annotation.models import Slot
from evalsite.jobs.models import Job
from evalsite.lib.clock import now
from evalsite.results.design import views
from evalsite.results.design.balance_count import newest_report, start_count
from evalsite.results.design.report import report_design
from evalsite.studies.models import Membership, Study
from tests.results.test_design_report import make_counted
from tests.site.test_staff_pages import HOSTILE, answer, member, sign_in, url
from tests.support.browsing import is_watched
from tests.support.factories import launch, make_study, make_user
from tests.support.queues import run_waiting_jobs
from tests.support.rounds import make_round

pytestmark = pytest.mark.django_db


def test_the_page_shows_planned_beside_achieved(staff_client):
    study = make_counted()

    page = staff_client.get(url("study-design", study))

    assert page.status_code == 200
    assert '<caption class="vh">System by side</caption>' in page.text
    assert '<th scope="rowgroup" rowspan="2" class="es-words">b</th>' in page.text
    assert "Largest difference of one system: planned 0, achieved 1." in page.text
    assert (
        "<h3>Answers per participant</h3> <span>2 participants: 1 to 2 answers each." in page.text
    )
    assert "“Achieved” counts the 3 answers so far," in page.text


def test_the_page_shows_how_many_items_of_each_system_have_how_many_answers(staff_client):
    study = launch(make_study(items=4, k=3))
    first, second, third, _ = study.items.main()
    for item, number in ((first, 3), (second, 3), (third, 1)):
        for _ in range(number):
            answer(study, item)

    page = staff_client.get(url("study-design", study)).text

    assert "<b>2 of 4 items have all 3 answers.</b>" in page
    assert (
        'aria-label="neural, 4 items: 1 with 0 answers, 1 with 1 answer, 2 with 3 answers"' in page
    )
    assert '<rect class="r3" x="50.00%" y="20%" width="50.00%" height="60%"/>' in page
    assert "<h3>Item by item</h3> <span>1 item has no answer yet.</span>" in page


def test_the_headline_says_whether_the_places_are_those_of_the_seed(staff_client):
    study = launch(make_study(items=2))
    draft = staff_client.get(url("study-design", make_study(items=2))).text
    planned = staff_client.get(url("study-design", study)).text
    Slot.objects.filter(pk=Slot.objects.filter(study=study).first().pk).update(pos=99)
    changed = staff_client.get(url("study-design", study)).text

    assert "<h1>How the work will be handed out</h1>" in draft
    assert "<h1>The design is as planned</h1>" in planned
    assert "<h1>1 place differs from the plan</h1>" in changed


def test_a_draft_shows_what_will_be_planned_and_how_many_people_it_takes(staff_client):
    study = make_study(items=4, k=3)

    page = staff_client.get(url("study-design", study))

    assert "There is nothing to count yet" in page.text
    assert "Every item gets 3 places, each for a different person." in page.text
    assert "The design can be finished: it takes 3 people or more." in page.text
    assert "<caption>" not in page.text


def test_a_design_that_cannot_be_finished_is_said_with_the_way_to_what_would_do(staff_client):
    study = make_study(items=10, k=3, set_size=2, max_sets=1)
    make_round(study, "panel", places=14)

    page = staff_client.get(url("study-design", study))

    assert "Invite at least 15 people." in page.text
    assert f'<a href="{url("study-launch", study)}">What would do instead</a>' in page.text


def test_a_study_without_items_says_what_to_do(staff_client):
    study = make_study(items=0)

    page = staff_client.get(url("study-design", study))

    assert "There are no items yet. Upload a batch under Items." in page.text


def test_a_launched_study_without_answers_says_that_there_are_none(staff_client):
    study = launch(make_study())

    page = staff_client.get(url("study-design", study))

    assert "There are no answers yet." in page.text
    assert "<td>nothing yet</td>" in page.text


@pytest.mark.parametrize("role", ["owner", "editor", "viewer"])
def test_every_member_sees_the_design_and_its_tab(role):
    study = launch(make_study())

    page = member(study, role).get(url("study-design", study))

    assert page.status_code == 200
    assert f'<a href="{url("study-design", study)}" aria-current="page">Design</a>' in page.text


def test_a_viewer_is_not_sent_to_a_page_that_is_closed_to_viewers():
    study = make_study(items=10, k=3, set_size=2, max_sets=1)
    make_round(study, "panel", places=14)
    viewer = make_user("viewer")
    Membership.objects.create(study=study, user=viewer, role="viewer")

    page = sign_in(viewer).get(url("study-design", study))

    assert "Invite at least 15 people." in page.text
    assert url("study-launch", study) not in page.text


def test_the_design_of_a_study_of_others_is_not_there():
    study = launch(make_study())

    assert sign_in(make_user("stranger")).get(url("study-design", study)).status_code == 404


def test_names_of_systems_are_shown_as_text(staff_client):
    study = make_counted()
    study.systems.filter(name="b").update(name=HOSTILE)

    page = staff_client.get(url("study-design", study))

    assert "<script>alert" not in page.text
    assert "{{ 7|add:7 }}" in page.text


def test_the_page_takes_as_many_queries_for_2_items_as_for_40(staff_client):
    counts = []
    for items in (2, 40):
        study = launch(make_study(items=items))
        with CaptureQueriesContext(connection) as queries:
            staff_client.get(url("study-design", study))
        counts.append(len(queries))

    assert counts[0] == counts[1] <= 14
    assert Study.objects.count() == 2


# --- studies that are too large to be counted on a page ----------------------------------------


@pytest.fixture
def large_study(monkeypatch) -> Study:
    """A study with more places than a page counts."""
    monkeypatch.setattr(views, "MOST_COUNTED", 3)
    return make_counted()


def test_a_large_study_is_counted_by_a_job_and_the_page_says_when(staff_client, large_study):
    before = staff_client.get(url("study-design", large_study))

    staff_client.post(url("study-design-count", large_study))
    during = staff_client.get(url("study-design", large_study))
    run_waiting_jobs()
    after = staff_client.get(url("study-design", large_study))

    assert "The study has 4 places: counting them takes a minute." in before.text
    assert "Largest differences" not in before.text
    assert "Counting. This page follows the count" in during.text
    assert is_watched(during)
    assert "What follows was counted on" in after.text
    assert "Largest difference of one system: planned 0, achieved 1." in after.text
    assert not is_watched(after)


def test_what_was_counted_by_a_job_is_what_a_page_counts(large_study):
    start_count(study=large_study, by=None)
    run_waiting_jobs()

    _, counted = newest_report(large_study)

    assert counted == report_design(large_study)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"state": "failed", "message": "Stopped by an error: OSError."}, "OSError"),
        (
            {"created_at": now() - timedelta(minutes=10)},
            "stopped responding",
        ),
    ],
)
def test_a_count_that_stopped_says_so_and_starts_again(staff_client, large_study, state, words):
    start_count(study=large_study, by=None)
    Job.objects.update(**state)

    page = staff_client.get(url("study-design", large_study))
    staff_client.post(url("study-design-count", large_study))
    run_waiting_jobs()

    assert words in page.text
    assert "Count</button>" in page.text
    assert newest_report(large_study) is not None


@pytest.mark.parametrize(("role", "status"), [("viewer", 302), ("", 404)])
def test_a_viewer_may_have_it_counted_and_a_stranger_may_not(role, status):
    study = launch(make_study())
    person = make_user("somebody")
    if role:
        Membership.objects.create(study=study, user=person, role=role)

    response = sign_in(person).post(url("study-design-count", study))

    assert response.status_code == status
    assert Job.objects.exists() == (status == 302)
