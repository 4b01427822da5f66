"""The check of the instructions, and confirming one's age: asked only where the study wants it."""

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.fieldwork.checklist import check_launch
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Slot
from evalsite.people.models import Answer, Consent, Participant, Visit
from evalsite.people.services import mark_instructions_read, record_consent
from evalsite.studies.instructions_check_views import list_check
from evalsite.studies.models import Study
from tests.support.annotators import read_fields
from tests.support.arriving import P, V, W, join, prolific
from tests.support.factories import launch, make_participant, make_study, mint_link

pytestmark = pytest.mark.django_db


def make_live(**fields) -> Study:
    fields = {"protocol": "fluency", "set_size": 1, "k": 9, "is_check_on": True} | fields
    return launch(make_study(items=2, **fields))


class Reader:
    """Somebody with a place who has just read the instructions."""

    def __init__(self, study: Study, home: str = "") -> None:
        self.me = study.participants.get() if home else make_participant(study)
        self.home = home or mint_link(self.me)
        self.client = Client()
        record_consent(participant=self.me, is_given=True)
        self.me.study = study
        claim_set(self.me)
        mark_instructions_read(participant=self.me)

    def where(self) -> str:
        page = self.client.get(self.home, follow=True)
        return page.redirect_chain[-1][0].removeprefix(self.home)

    def answer(self, *, right: int, attempt: int = 1):
        """So many answers are right, the others wrong."""
        data = {"attempt": str(attempt)}
        for number, question in enumerate(self.me.study.config.comprehension, start=1):
            place = question.choices.index(question.right)
            wrong = (place + 1) % len(question.choices)
            data[f"question-{number}"] = str(1 + (place if number <= right else wrong))
        response = self.client.post(f"{self.home}check/", data)
        self.me.refresh_from_db()
        return response


def test_check_is_off_unless_the_study_asks_for_it():
    one = Reader(make_live(is_check_on=False))

    assert one.where() == "practice/1/"
    assert one.client.get(f"{one.home}check/").status_code == 302


def test_check_follows_the_instructions_and_comes_before_practice():
    one = Reader(make_live())

    assert one.where() == "check/"
    one.answer(right=5)
    assert (one.where(), one.me.is_checked, one.me.check_tries) == ("practice/1/", True, 1)


def test_second_try_keeps_what_was_right_and_explains_what_was_wrong():
    one = Reader(make_live())

    one.answer(right=4)
    page = one.client.get(f"{one.home}check/")

    assert one.me.is_checked is None
    assert page.text.count(" checked") == 4
    assert one.me.study.config.comprehension[4].why[:20] in page.text
    one.answer(right=5, attempt=2)
    assert (one.where(), one.me.is_checked) == ("practice/1/", True)


def test_second_miss_ends_the_study_and_frees_the_place():
    one = Reader(make_live())

    for attempt in (1, 2):
        one.answer(right=4, attempt=attempt)

    assert (one.me.is_checked, one.me.check_tries) == (False, 2)
    assert not Slot.objects.leased().exists()
    assert one.where() == "check/missed/"
    one.answer(right=5, attempt=3)
    one.client.post(f"{one.home}start/")
    assert one.me.is_checked is False
    assert not Slot.objects.leased().exists()


def test_try_that_is_sent_again_counts_once():
    one = Reader(make_live())

    for _ in range(3):
        one.answer(right=4)

    assert (one.me.is_checked, one.me.check_tries) == (None, 1)
    assert Answer.objects.count() == 5


def test_question_without_an_answer_is_asked_again_and_uses_no_try():
    one = Reader(make_live())

    page = one.client.post(f"{one.home}check/", {"attempt": "1", "question-1": "1"})

    assert page.status_code == 422
    assert Participant.objects.get().check_tries == 0


def test_people_of_a_platform_leave_with_its_code_on_every_return():
    study = make_live()
    recruitment = study.recruitments.create(number=1, platform="prolific", is_on=True)
    for outcome, code in (("completed", "DDDDDDDD"), ("failed_check", "FFFFFFFF")):
        recruitment.codes.create(outcome=outcome, code=code)
    one = Reader(study, join(study, prolific(P, V)))

    for attempt in (1, 2):
        one.answer(right=0, attempt=attempt)
    pages = [
        Client().get(one.home, follow=True),
        Client().get(join(study, prolific(P, W)), follow=True),
    ]

    assert set(Visit.objects.values_list("outcome", flat=True)) == {"failed_check"}
    for page in pages:
        assert "FFFFFFFF" in page.text
        assert "DDDDDDDD" not in page.text


def test_launch_is_refused_if_the_qualification_would_ask_the_same():
    study = make_study(protocol="fluency", is_check_on=True, is_qualification_on=True)
    study.items.practice().update(gold={"why": "x"})

    problems = [one.problem for one in check_launch(study) if "same questions" in one.problem]

    assert len(problems) == 1


@pytest.mark.slow
def test_launch_is_refused_while_the_check_asks_fewer_than_two_questions(staff_client, researcher):
    study = make_study(protocol="fluency", is_check_on=True, by=researcher)
    questions = list_check(study)

    met = {}
    for number in (0, 1, 2):
        study.questions = {"check": questions[:number]}
        study.save(update_fields=["questions"])
        study = Study.objects.get(pk=study.pk)
        met[number] = all(one.is_met for one in check_launch(study) if "check of" in one.label)
    page = staff_client.get(reverse("admin:study-questions", args=[study.pk]))

    assert met == {0: False, 1: False, 2: True}
    assert page.status_code == 200


@pytest.mark.torture
@pytest.mark.slow
def test_simulated_people_answer_the_check():
    study = make_live(minimum_age=18, is_demo=True)

    list(simulate_crowd(study, participants=2, seed="a"))

    # most answer rightly, and nobody is left in between
    assert not Participant.objects.filter(is_checked__isnull=True).exists()


# --- age --------------------------------------------------------------------------------


def agree(study: Study, **entries: str):
    home = mint_link(make_participant(study))
    fields = read_fields(Client().get(f"{home}consent/").text)
    return Client().post(f"{home}consent/", fields | entries)


def test_nobody_takes_part_who_has_not_confirmed_their_age():
    study = make_live(minimum_age=18)

    page = agree(study, go="agree", age="")

    assert page.status_code == 422
    assert "Confirm that you are 18 or older." in page.text
    assert "I’m 18 or older." in page.text
    assert not Consent.objects.exists()
    assert agree(study, go="agree", age="yes").status_code == 302
    assert Consent.objects.get().is_given


def test_declining_asks_no_age_and_no_age_is_asked_where_none_is_set():
    assert agree(make_live(minimum_age=18), go="decline").status_code == 302
    assert agree(make_live(), go="agree").status_code == 302


# --- the study's own questions --------------------------------------------------------------------

OWN = {
    "question": "Who rates?", "choices": "You\nA program", "right": "You", "why": "You rate.",
}  # fmt: skip


def save_question(client, study: Study, number: int, **changes: str):
    address = reverse("admin:check-question", args=[study.pk, number])
    response = client.post(address, {**OWN, "revision": study.revision, **changes})
    study.refresh_from_db()
    return response


def test_questions_of_the_check_are_edited_without_code_and_frozen_at_launch(
    staff_client, researcher
):
    study = make_study(protocol="fluency", items=2, is_check_on=True, by=researcher)
    assert len(study.config.comprehension) == 5
    save_question(staff_client, study, 6)  # five at most
    assert study.questions == {}
    save_question(staff_client, study, 2, do="remove")
    first = study.revision

    for _ in range(2):  # sent twice, it is one question
        assert save_question(staff_client, study, 5, revision=first).status_code == 302
    assert save_question(staff_client, study, 1, question="Who?").status_code == 302
    assert save_question(staff_client, study, 1, revision=first).status_code == 409
    refused = [
        save_question(staff_client, study, 1, **wrong).status_code
        for wrong in ({"choices": "You"}, {"choices": "You\nYou"}, {"right": "Nobody"}, {"why": ""})
    ]
    save_question(staff_client, study, 2, do="remove")

    assert refused == [422] * 4
    asked = [one.question for one in study.config.comprehension]
    assert (asked[0], asked[-1], len(asked)) == ("Who?", "Who rates?", 4)
    launched = launch(study)
    save_question(staff_client, launched, 1, question="Changed?")
    assert [one.question for one in launched.config.comprehension] == asked
    reader = Reader(launched)
    reader.answer(right=len(asked))
    assert reader.me.is_checked


def test_protocols_own_check_comes_back(staff_client, researcher):
    study = make_study(protocol="fluency", items=2, by=researcher)
    before = study.config.comprehension
    save_question(staff_client, study, 1, question="Who?")
    address = reverse("admin:study-questions", args=[study.pk])

    staff_client.post(address, {"do": "reset-check", "revision": study.revision})

    study.refresh_from_db()
    assert study.questions == {}
    assert study.config.comprehension == before
