"""Work that ends for our reasons is paid in full; for somebody's conduct, by the item."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.pay import PaySet, approve_sets, describe_sets, list_payable
from evalsite.decisions.pay_files import write_files
from evalsite.fieldwork.launch import close_study
from evalsite.handout.models import Slot
from evalsite.studies.models import Study
from tests.decisions.test_pay import begin
from tests.support.annotators import read_fields
from tests.support.factories import make_user
from tests.support.invariants import check_invariants
from tests.support.rounds import Person, codes_of
from tests.support.tabs import after_the_lease

pytestmark = pytest.mark.django_db


def stop(client: Client, person: Person, **sent: Any) -> Any:
    address = reverse("admin:people-stop", args=[person.me.study_id])
    words = {"kind": "ours", "reason": "Cut off", "message": ""}
    return client.post(address, {"p": person.me.pseudonym, **words, **sent})


def due(study: Study) -> list[PaySet]:
    return describe_sets(study, list_payable(study))


@pytest.mark.one_case
@pytest.mark.parametrize("items", [0, 2])
def test_for_our_reason_the_completed_code_and_the_full_reward_are_given(staff_client, items):
    recruitment = begin(checks=0)
    person = Person(recruitment).enter()
    if items:
        person.rate(most=items)

    for _ in range(2):
        stop(staff_client, person, message="Some <b>texts</b> were cut off.")

    page = person.open()
    assert page.redirect_chain[-1][0] == f"{person.home}stopped/"
    assert codes_of(recruitment)["completed"] in page.text
    assert "Some &lt;b&gt;texts" in page.text
    assert "paid in full" in page.text
    assert not Slot.objects.leased().exists()
    [one] = due(recruitment.study)
    assert (one.amount, one.is_submission) == (Decimal("2.10"), True)
    assert AuditEntry.objects.filter(action="person stopped").count() == 1
    check_invariants(recruitment.study)
    approve_sets(study=recruitment.study, set_ids=[one.item_set.pk], by=make_user())
    assert [file.key for file in write_files(recruitment)] == ["approve"]
    # coming back with the same id leads to the same page
    assert Person(recruitment).start().where() == "stopped/"


def test_for_conduct_there_is_no_code_and_pay_by_the_item(staff_client):
    recruitment = begin(checks=0)
    person = Person(recruitment).enter().rate(most=1)

    stop(staff_client, person, kind="conduct")

    page = person.open()
    assert codes_of(recruitment)["completed"] not in page.text
    [one] = due(recruitment.study)
    assert (one.amount, one.is_bonus) == (Decimal("0.53"), True)
    assert person.client.post(f"{person.home}start/").status_code == 302
    assert not Slot.objects.leased().exists()
    check_invariants(recruitment.study)


def test_an_answer_sent_after_that_is_kept(staff_client):
    recruitment = begin(checks=0)
    person = Person(recruitment).enter()
    person.client.post(f"{person.home}instructions/")
    page = person.client.get(f"{person.home}sets/1/items/1/")
    stop(staff_client, person)

    fields = read_fields(page.text) | {f"informativeness-{n}": "90" for n in (1, 2, 3)}
    person.client.post(f"{person.home}sets/1/items/1/", fields | {"go": "next"})

    assert person.me.annotations.count() == 1
    check_invariants(recruitment.study)


@pytest.mark.one_case
@pytest.mark.parametrize("sent", [{"kind": ""}, {"kind": "x"}, {"reason": ""}])
def test_stopping_takes_a_kind_and_a_reason(staff_client, sent):
    person = Person(begin(checks=0)).enter()

    assert stop(staff_client, person, **sent).status_code == 422

    assert person.me.stopped_at is None


@pytest.mark.one_case
@pytest.mark.parametrize("key", ["prolific", "open_link"])
def test_whose_place_ended_with_the_study_gets_the_code_by_asking(key):
    recruitment = begin(key, checks=0)
    person = Person(recruitment).enter()
    person.client.post(f"{person.home}instructions/")
    close_study(study=recruitment.study, by=make_user())
    recruitment.study.refresh_from_db()
    # who still holds their items may finish them
    assert person.where() == "sets/1/items/1/"

    with after_the_lease(recruitment.study):
        Slot.objects.leased().update(state=0, participant=None, lease_until=None)
        page = person.open()
        assert "Show my code" in page.text
        assert person.visit.outcome == ""
        for _ in range(2):
            person.client.post(f"{person.home}closed/")
        page = person.open()

        assert page.redirect_chain[-1][0] == f"{person.home}stopped/"
        code = codes_of(recruitment).get("completed") or person.me.item_sets.get().code
        assert code
        assert code in page.text
        assert [one.amount for one in due(recruitment.study)] == [Decimal("2.10")]
    check_invariants(recruitment.study)


def test_people_without_a_place_get_no_code_from_a_closed_study():
    recruitment = begin(checks=0)
    person = Person(recruitment).start().choose("agree")
    close_study(study=recruitment.study, by=make_user())

    person.client.post(f"{person.home}closed/")

    assert "Show my code" not in person.open().text
    assert codes_of(recruitment)["completed"] not in person.open().text
    assert person.me.stopped_at is None
