"""The page on which an owner asks for more or fewer answers per item."""

import pytest
from django.urls import reverse

from evalsite.fieldwork.launch import close_study
from evalsite.studies.models import Membership, Study
from tests.handout.test_changing_k import answer_all, change, places_of
from tests.support.factories import make_user
from tests.support.queues import run_waiting_jobs
from tests.support.tabs import make_live

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


def url(name: str, study: Study) -> str:
    return reverse(f"admin:{name}", args=[study.pk])


def test_page_says_what_would_happen_before_it_does(staff_client):
    study = make_live(items=2, k=3)
    answer_all(study, people=2)

    page = staff_client.get(url("study-answers", study), {"k": 1}).text

    assert "2 free places will be taken away." in page
    assert "2 answers will become surplus: the newest of each item first." in page
    assert "1 answer per item instead of 3?" in page
    assert "Ask for 1 answer per item" in page
    study.refresh_from_db()
    assert study.k == 3


def test_page_says_how_many_people_more_answers_take(staff_client):
    study = make_live(items=2, k=1)

    page = staff_client.get(url("study-answers", study), {"k": 4}).text

    assert "6 places come after the existing ones." in page
    assert "It then takes 4 people or more." in page
    assert "4 answers per item instead of 1?" in page


def test_button_changes_k_and_says_so(staff_client):
    study = make_live(items=2, k=1)
    data = {"k": "2", "revision": study.revision}

    page = staff_client.post(url("study-answers-change", study), data, follow=True)
    run_waiting_jobs()

    assert "asks for 2 answers per item from now on, as version 2 says" in page.text
    assert places_of(study) == {2}


def test_page_that_is_older_than_the_last_change_changes_nothing(staff_client):
    study = make_live(items=2, k=1)
    old = {"k": "2", "revision": study.revision}
    change(study, 3)

    page = staff_client.post(url("study-answers-change", study), old, follow=True)

    assert "Changed by jane at" in page.text
    assert places_of(study) == {3}


@pytest.mark.one_case
@pytest.mark.parametrize("k", ["", "0", "1001", "two", "2.5", "-3"])
def test_number_that_is_none_is_refused_on_the_page(staff_client, k):
    study = make_live(items=1)

    page = staff_client.get(url("study-answers", study), {"k": k})
    posted = staff_client.post(
        url("study-answers-change", study), {"k": k, "revision": study.revision}, follow=True
    )

    assert page.status_code == 422
    assert "Enter " in page.text
    assert "Ask for" not in page.text
    assert "Nothing was changed" in posted.text


def test_closed_study_offers_no_other_number(staff_client):
    study = make_live(items=1)
    close_study(study=study, by=study.memberships.get().user)

    assert "so this stays as it is" in staff_client.get(url("study-answers", study)).text
    assert url("study-answers", study) not in staff_client.get(url("study-overview", study)).text


def test_viewer_neither_sees_nor_presses_it(client):
    study = make_live(items=1)
    viewer = make_user("viewer")
    Membership.objects.create(study=study, user=viewer, role=Membership.Role.VIEWER)
    client.force_login(viewer, backend="django.contrib.auth.backends.ModelBackend")

    assert url("study-answers", study) not in client.get(url("study-overview", study)).text
    assert client.get(url("study-answers", study)).status_code == 403
    data = {"k": "2", "revision": study.revision}
    assert client.post(url("study-answers-change", study), data).status_code == 403
