"""Quotas: so many people with an answer have a place, however many arrive at once."""

from collections import Counter
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.handout.models import Slot
from evalsite.handout.quotas import count_holders
from evalsite.lib.clock import now, standing_at
from evalsite.people.models import Answer, ItemSet, Participant, Quota, Visit
from evalsite.people.services import record_consent
from evalsite.studies.models import Study
from tests.support.arriving import P, V, W, join, prolific
from tests.support.factories import launch, make_participant, make_study, mint_link
from tests.support.invariants import check_invariants
from tests.support.races import at_once

pytestmark = pytest.mark.django_db

CHOICES = [{"value": one, "label": one} for one in ("woman", "man", "neither")]
GENDER = {"key": "gender", "label": "Are you a woman or a man?", "choices": CHOICES}
ENTRY = {"questions": [GENDER], "rule": "", "refusal": "Other people, please.", "accept": {}}


def make_live(quotas: dict[str, int], *, items: int = 4, k: int = 60, **fields) -> Study:
    """A live study with enough places for everyone, and these quotas."""
    fields = {"set_size": 1, "protocol": "fluency", "questions": {"entry": ENTRY}} | fields
    study = launch(make_study(items=items, k=k, **fields))
    for value, people in quotas.items():
        Quota.objects.create(study=study, question="gender", value=value, people=people)
    return study


class Newcomer:
    """Somebody who has agreed, and is about to say who they are."""

    def __init__(self, study: Study, value: str) -> None:
        self.me = make_participant(study)
        record_consent(participant=self.me, is_given=True)
        self.home, self.value = mint_link(self.me), value

    def answer(self):
        return Client().post(f"{self.home}questions/", {"gender": self.value})

    def last_page(self):
        return Client().get(self.home, follow=True)

    def holds(self) -> int:
        return Slot.objects.leased().filter(participant=self.me).count()


def answer_one_by_one(study: Study, *values: str) -> list[Newcomer]:
    people = [Newcomer(study, value) for value in values]
    for one in people:
        one.answer()
    return people


def test_full_quota_refuses_that_answer_and_no_other():
    study = make_live({"woman": 2, "man": 1})

    people = answer_one_by_one(study, "woman", "man", "woman", "woman", "man", "neither")

    assert [one.holds() for one in people] == [1, 1, 1, 0, 0, 1]
    refused = Participant.objects.filter(refused_for="quota")
    assert {one.pk for one in refused} == {people[3].me.pk, people[4].me.pk}
    assert set(refused.values_list("is_eligible", flat=True)) == {False}
    page = people[3].last_page().text
    assert "enough people from your group" in page
    assert "Other people, please." not in page
    assert count_holders(study) == {
        ("gender", "woman"): 2, ("gender", "man"): 1, ("gender", "neither"): 1
    }  # fmt: skip


def test_quota_of_nobody_refuses_the_first():
    [one] = answer_one_by_one(make_live({"man": 0}), "man")

    assert one.holds() == 0


def test_decision_about_a_quota_stands_when_it_has_room_again():
    study = make_live({"man": 1})
    _, second = answer_one_by_one(study, "man", "man")
    Quota.objects.update(people=9)

    second.answer()
    Client().post(f"{second.home}start/")

    assert second.holds() == 0
    assert "enough people" in second.last_page().text


def test_person_who_leaves_without_an_answer_makes_room_and_one_who_comes_back_may_find_none():
    study = make_live({"man": 1})
    [first] = answer_one_by_one(study, "man")

    with standing_at(now() + timedelta(minutes=31)):
        [second] = answer_one_by_one(study, "man")
        Client().post(f"{first.home}start/")

        assert (first.holds(), second.holds()) == (0, 1)
        assert count_holders(study) == {("gender", "man"): 1}


def test_person_who_finished_counts_for_good():
    study = make_live({"man": 1})
    answer_one_by_one(study, "man")
    ItemSet.objects.update(finished_at=now(), reserved_until=None)
    Slot.objects.leased().update(state=Slot.State.DONE, lease_until=None)

    with standing_at(now() + timedelta(days=9)):
        [second] = answer_one_by_one(study, "man")

        assert second.holds() == 0


@pytest.mark.one_case
@pytest.mark.parametrize("state", ["paused", "closed"])
def test_nobody_gets_a_place_while_the_study_is_not_open(state):
    study = make_live({"man": 1})
    people = [Newcomer(study, "man") for _ in range(2)]
    Study.objects.filter(pk=study.pk).update(state=state)

    for one in people:
        one.answer()

    assert [one.holds() for one in people] == [0, 0]
    assert not count_holders(study)
    # the study goes on: the quota has kept its place, for whoever takes it first
    Study.objects.filter(pk=study.pk).update(state="live")
    for one in people:
        Client().post(f"{one.home}start/")
    assert [one.holds() for one in people] == [1, 0]


@pytest.mark.torture
@pytest.mark.slow
@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_of_fifty_people_who_answer_at_once_as_many_have_a_place_as_the_quota_says():
    study = make_live({"woman": 3, "man": 2})
    people = [Newcomer(study, value) for value in ["woman", "man", "woman", "man", "neither"] * 10]

    at_once([one.answer for one in people])

    placed = Counter(one.value for one in people if one.holds())
    assert placed == {"woman": 3, "man": 2, "neither": 10}
    assert Participant.objects.filter(refused_for="quota").count() == 35
    assert Answer.objects.count() == 50
    check_invariants(study)


@pytest.mark.slow
@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_quota_and_places_that_are_short_at_once_are_both_exact():
    study = make_live({"woman": 20}, items=1, k=3)
    people = [Newcomer(study, "woman") for _ in range(30)]

    at_once([one.answer for one in people])

    assert sum(one.holds() for one in people) == 3
    check_invariants(study)


def test_people_of_a_platform_are_screened_out_with_its_code_and_never_the_completed_one():
    study = make_live({"man": 0})
    recruitment = study.recruitments.create(number=1, platform="prolific", is_on=True)
    for outcome, code in (("completed", "DDDDDDDD"), ("screened_out", "SSSSSSSS")):
        recruitment.codes.create(outcome=outcome, code=code)
    home = join(study, prolific(P, V))
    record_consent(participant=Participant.objects.get(), is_given=True)

    Client().post(f"{home}questions/", {"gender": "man"})
    pages = [
        Client().get(home, follow=True),
        Client().get(join(study, prolific(P, W)), follow=True),
    ]

    assert set(Visit.objects.values_list("outcome", flat=True)) == {"screened_out"}
    for page in pages:
        assert "SSSSSSSS" in page.text
        assert "DDDDDDDD" not in page.text


# --- the researcher's page --------------------------------------------------------------


def post_quotas(client, study: Study, **people: str):
    return client.post(reverse("admin:study-quotas", args=[study.pk]), people)


def test_quotas_are_set_and_taken_back_while_the_study_runs(staff_client, researcher):
    study = make_live({}, by=researcher)

    for _ in range(2):
        post_quotas(staff_client, study, **{"gender-1": "40", "gender-2": "0"})

    assert list(study.quotas.values_list("value", "people")) == [("woman", 40), ("man", 0)]
    assert AuditEntry.objects.filter(action="quotas changed").count() == 1
    post_quotas(staff_client, study, **{"gender-1": "", "gender-2": "7"})
    assert list(study.quotas.values_list("value", "people")) == [("man", 7)]


def test_quotas_are_offered_for_the_answers_that_let_people_take_part(staff_client, researcher):
    study = make_study(by=researcher)

    page = staff_client.get(reverse("admin:study-quotas", args=[study.pk])).text

    assert "English" in page
    assert "Bengali" not in page
    assert "British English" in page
    assert "Irish English" not in page


@pytest.mark.one_case
@pytest.mark.parametrize("people", ["-1", "x", "1.5", "9999999", "1e3"])
def test_number_that_is_no_number_of_people_is_refused_and_stays_on_the_page(
    staff_client, researcher, people
):
    study = make_live({}, by=researcher)

    page = post_quotas(staff_client, study, **{"gender-1": people, "gender-2": "5"})

    assert page.status_code == 422
    assert not study.quotas.exists()
    assert f'value="{people}"' in page.text
