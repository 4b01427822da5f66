"""Who may take part: asked openly, and a slip of the pen refuses nobody."""

import pytest

from evalsite.participants.models import Participant
from evalsite.participants.services import record_consent
from tests.support.factories import make_participant
from tests.support.tabs import Tab, make_live

pytestmark = pytest.mark.django_db


def answer(language: str, variety: str):
    me = make_participant(make_live())
    record_consent(participant=me, is_given=True)
    tab = Tab(me)
    said = {"first_language": language, "variety": variety}
    return tab, tab.client.post(f"{tab.home}questions/", said)


@pytest.mark.parametrize(
    ("language", "variety"), [("Englsh", "british"), ("Inglés", "american"), ("English", "none")]
)
def test_answers_that_contradict_one_another_are_asked_about_again(language, variety):
    _, page = answer(language, variety)

    assert page.status_code == 422
    assert [name for name, _ in page.context["error_list"]] == ["first_language"]
    assert f'value="{language}"' in page.content.decode()
    assert Participant.objects.get().is_eligible is None


@pytest.mark.parametrize(("language", "variety"), [("Polish", "none"), ("English", "other")])
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
