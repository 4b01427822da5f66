"""Typed ids: off at first, marked, and never a way into what somebody else has started."""

from functools import partial

import pytest
from django.test import Client

from evalsite.people.models import Participant, Visit
from tests.support.annotators import read_fields
from tests.support.arriving import NOTHING, count_made
from tests.support.factories import mint_link
from tests.support.races import at_once
from tests.support.rounds import Person, list_ids, make_round
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db


def begin(*, is_on: bool = True):
    return make_round(make_live(), "prolific", takes_typed_ids=is_on)


def address_of(recruitment) -> str:
    return f"/join/{recruitment.study_id}/{recruitment.number}/"


def type_id(recruitment, text: str, client: Client | None = None):
    return (client or Client()).post(address_of(recruitment), {"typed": text})


def test_without_an_id_people_may_type_it_only_where_the_round_says_so():
    for is_on in (False, True):
        recruitment = begin(is_on=is_on)

        page = Client().get(address_of(recruitment))

        assert (page.status_code, 'name="typed"' in page.text) == (400, is_on)
        typed = type_id(recruitment, list_ids(recruitment.adapter, recruitment)[0])
        assert (">Start<" in typed.text) == is_on
    assert count_made() == NOTHING


def test_a_new_typed_id_starts_once_and_is_marked():
    recruitment = begin()
    pid = list_ids(recruitment.adapter, recruitment)[0]
    page = type_id(recruitment, f" {pid.upper()} ")
    fields = read_fields(page.text)
    assert count_made() == NOTHING

    homes = {Client().post(address_of(recruitment), fields).headers["Location"] for _ in range(3)}

    assert len(homes) == 1
    visit = Visit.objects.get()
    assert (visit.person_id, visit.visit_id, visit.flags) == (pid, "", ["typed"])
    assert Client().get(homes.pop(), follow=True).status_code == 200


def test_a_typed_id_never_opens_what_somebody_has_started():
    recruitment = begin()
    person = Person(recruitment).enter()
    before = count_made()

    page = type_id(recruitment, person.visit.person_id)

    assert page.status_code == 400
    assert ">Start<" not in page.text
    assert "already started with this ID" in page.text
    assert mint_link(person.me) not in page.text
    # nor one that was typed before somebody started with it
    other = list_ids(recruitment.adapter, recruitment)[1]
    early = read_fields(type_id(recruitment, other).text)
    Person(recruitment, 1).start()
    late = Client().post(address_of(recruitment), early)
    assert "already started with this ID" in late.text
    assert Participant.objects.count() == 2
    assert before != NOTHING


def test_the_platforms_link_opens_what_was_started_with_a_typed_id():
    recruitment = begin()
    pid = list_ids(recruitment.adapter, recruitment)[0]
    fields = read_fields(type_id(recruitment, pid).text)
    Client().post(address_of(recruitment), fields)

    person = Person(recruitment).start()

    assert Participant.objects.get() == person.me


@pytest.mark.parametrize("text", ["", "  ", "me@example.org", "x" * 24, "a" * 23, "{{%PID%}}"])
def test_what_is_no_id_is_refused_and_can_be_corrected(text):
    page = type_id(begin(), text)

    assert page.status_code == 400
    assert 'name="typed"' in page.text
    assert count_made() == NOTHING


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_two_people_who_type_one_id_at_once_are_one_person_and_one_refusal():
    recruitment = begin()
    pid = list_ids(recruitment.adapter, recruitment)[0]
    forms = [read_fields(type_id(recruitment, pid).text) for _ in range(2)]

    answers = at_once([partial(Client().post, address_of(recruitment), fields) for fields in forms])

    assert sorted(answer.status_code for answer in answers) == [302, 400]
    assert Participant.objects.count() == 1
