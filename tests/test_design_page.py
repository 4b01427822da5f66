"""The page of a study's design: what was chosen, planned and achieved, for all its members."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evalsite.studies.models import Membership, Study
from tests.factories import launch, make_study, make_user
from tests.test_design_report import make_counted
from tests.test_staff_pages import HOSTILE, member, sign_in, url

pytestmark = pytest.mark.django_db


def test_the_page_shows_planned_beside_achieved(staff_client):
    study = make_counted()

    page = staff_client.get(url("study-design", study))

    assert page.status_code == 200
    assert "<caption>System by side</caption>" in page.text
    assert '<th scope="rowgroup" rowspan="2" class="es-words">b</th>' in page.text
    assert "Largest difference of one system: planned 0, achieved 1." in page.text
    assert "Achieved: over the 3 answers that count so far;" in page.text


def test_a_draft_shows_what_will_be_planned_and_how_many_people_it_takes(staff_client):
    study = make_study(items=4, k=3)

    page = staff_client.get(url("study-design", study))

    assert "There is nothing to count yet" in page.text
    assert "Every item gets 3 places, each for a different person." in page.text
    assert "The design can be finished: it takes 3 people or more." in page.text
    assert "<caption>" not in page.text


def test_a_design_that_cannot_be_finished_is_said_with_the_way_to_what_would_do(staff_client):
    study = make_study(items=10, k=3, set_size=2, max_sets=1, expected_participants=14)

    page = staff_client.get(url("study-design", study))

    assert "Expect at least 15 people." in page.text
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
    study = make_study(items=10, k=3, set_size=2, max_sets=1, expected_participants=14)
    viewer = make_user("viewer")
    Membership.objects.create(study=study, user=viewer, role="viewer")

    page = sign_in(viewer).get(url("study-design", study))

    assert "Expect at least 15 people." in page.text
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

    assert counts[0] == counts[1] <= 35
    assert Study.objects.count() == 2
