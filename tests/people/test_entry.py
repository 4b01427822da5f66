"""Who may take part: asked openly, decided once."""

import pytest

from evalsite.people.models import Participant
from evalsite.people.services import record_consent
from tests.support.factories import make_participant
from tests.support.tabs import Tab, make_live

pytestmark = pytest.mark.django_db


def answer(language: str, variety: str):
    me = make_participant(make_live())
    record_consent(participant=me, is_given=True)
    tab = Tab(me)
    said = {"first_language": language, "variety": variety}
    return tab, tab.client.post(f"{tab.home}questions/", said)


@pytest.mark.parametrize(("language", "variety"), [("", "british"), ("Inglés", "american")])
def test_only_answers_that_are_offered_decide(language, variety):
    _, page = answer(language, variety)

    assert page.status_code == 422
    assert [name for name, _ in page.context["error_list"]] == ["first_language"]
    assert Participant.objects.get().is_eligible is None


def test_pages_before_the_decision_do_not_name_the_condition():
    tab, page = answer("", "")
    landing = tab.client.get(f"/join/{tab.me.study_id}/")

    for shown in (page, landing, tab.client.get(f"{tab.home}questions/")):
        assert "native speakers" not in shown.text.lower()


def test_the_summary_of_problems_names_each_question_and_the_question_only_what_to_do():
    _, page = answer("", "")

    asked = "What is your first language?"
    assert f"Choose an answer to “{asked}”</a>" in page.text
    assert f"{asked} Choose an answer" not in page.text
    assert "</span>Choose an answer</p>" in page.text


@pytest.mark.parametrize(
    ("language", "variety"), [("Polish", "none"), ("English", "other"), ("English", "none")]
)
def test_who_may_not_take_part_is_told_so_and_stays_so(language, variety):
    tab, page = answer(language, variety)

    assert page.status_code == 302
    assert Participant.objects.get().is_eligible is False
    assert tab.client.get(tab.home).headers["Location"].endswith("/not-eligible/")
    said = {"first_language": "English", "variety": "british"}
    tab.client.post(f"{tab.home}questions/", said)
    assert Participant.objects.get().is_eligible is False


def test_native_speakers_go_on_to_the_instructions():
    tab, _ = answer("English", "american")

    assert tab.client.get(tab.home).headers["Location"].endswith("/instructions/")
