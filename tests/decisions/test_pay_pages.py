"""The pages on which pay is decided."""

import csv
import io
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.decisions.models import Approval
from evalsite.decisions.pay import add_bonus, approve_sets, ask_for_review, mark_paid
from evalsite.lib.clock import now
from evalsite.studies.models import Study
from tests.decisions.test_pay import BAD, LONG, begin, files_of, ids, reject_one, work
from tests.support.factories import make_study, make_user
from tests.support.rounds import Person

pytestmark = pytest.mark.django_db


def foresee(client: Client, study: Study, **asked: Any) -> Any:
    """What the page says that would be decided; it can be reloaded."""
    return client.get(reverse("admin:pay-decide", args=[study.pk]), asked, follow=True)


def decide(client: Client, study: Study, **sent: Any) -> Any:
    return client.post(reverse("admin:pay-decide", args=[study.pk]), sent, follow=True)


def url_of_pay(study: Study) -> str:
    return reverse("admin:study-pay", args=[study.pk])


def test_a_decision_is_shown_before_it_is_made(staff_client):
    recruitment = begin(set_size=8, items=16)
    work(recruitment, 0)
    work(recruitment, 1, BAD)
    study = recruitment.study
    good, bad = ids(study)

    shown = foresee(staff_client, study, do="approve-passed")
    assert [row.pay_set.item_set.pk for row in shown.context["sets"]] == [good]
    assert not Approval.objects.exists()
    for _ in range(2):
        decide(staff_client, study, do="approve", set=good)
    assert foresee(staff_client, study, do="reject", set=bad).status_code == 200
    refused = decide(staff_client, study, do="reject", set=bad, reason="checks")
    assert refused.status_code == 422
    sent = {"do": "reject", "set": bad, "reason": "checks", "message": LONG}
    decide(staff_client, study, **sent)

    states = dict(Approval.objects.values_list("item_set", "state"))
    assert states == {good: "approved", bad: "rejected"}
    for wrong in ({}, {"do": "x", "set": good}, {"do": "approve", "set": "x"}):
        assert decide(staff_client, study, **wrong).redirect_chain[-1][0] == url_of_pay(study)


def test_what_was_marked_as_paid_by_mistake_is_to_be_paid_again(staff_client):
    recruitment = begin()
    work(recruitment)
    study = recruitment.study
    [pk] = ids(study)
    approve_sets(study=study, set_ids=[pk], by=make_user())
    add_bonus(study=study, set_ids=[pk], amount=Decimal(1), by=make_user())
    mark_paid(study=study, set_ids=[pk], bonus_ids=[pk], by=make_user())
    assert not {"approve", "bonus"} & set(files_of(recruitment))

    shown = foresee(staff_client, study, do="unmark", set=pk)
    assert Approval.objects.get().state == "paid"
    # sent twice, it is taken back once
    for _ in range(2):
        decide(staff_client, study, do="unmark", set=pk)

    assert [row.pay_set.item_set.pk for row in shown.context["sets"]] == [pk]
    approval = Approval.objects.get()
    assert (approval.state, approval.marked_at, approval.bonus_marked_at) == (
        "approved",
        None,
        None,
    )
    assert {"approve", "bonus"} <= set(files_of(recruitment))


@pytest.mark.one_case
@pytest.mark.parametrize(("key", "is_by_hand"), [("open_link", True), ("prolific", False)])
def test_a_bonus_that_no_text_names_is_marked_with_its_set(staff_client, key, is_by_hand):
    recruitment = begin(key, checks=0)
    work(recruitment)
    study = recruitment.study
    [pk] = ids(study)
    approve_sets(study=study, set_ids=[pk], by=make_user())
    add_bonus(study=study, set_ids=[pk], amount=Decimal(1), by=make_user())

    shown = foresee(staff_client, study, do="mark", set=pk)
    decide(staff_client, study, do="mark", set=pk)

    assert shown.context["amount"] == ("£3.10" if is_by_hand else "£2.10")
    approval = Approval.objects.get()
    assert (approval.state, approval.bonus_marked_at is not None) == ("paid", is_by_hand)


def test_all_pay_is_downloaded_as_a_table_without_identities(staff_client):
    recruitment = begin()
    first, second = work(recruitment, 0), work(recruitment, 1, BAD)
    study = recruitment.study
    pk, _ = ids(study)
    approve_sets(study=study, set_ids=[pk], by=make_user())
    add_bonus(study=study, set_ids=[pk], amount=Decimal(1), by=make_user())
    mark_paid(study=study, set_ids=[pk], by=make_user())

    text = staff_client.get(reverse("admin:pay-table", args=[study.pk])).text

    paid, waiting = csv.DictReader(io.StringIO(text))
    assert [one["participant"] for one in (paid, waiting)] == [
        first.me.pseudonym,
        second.me.pseudonym,
    ]
    assert (paid["state"], paid["amount"], paid["bonus"], paid["currency"]) == (
        "paid", "2.10", "1.00", "GBP",
    )  # fmt: skip
    assert paid["paid_at"]
    assert not paid["bonus_paid_at"]
    assert (waiting["state"], waiting["attention_failed"]) == (
        "waiting",
        waiting["attention_asked"],
    )
    assert first.query["PROLIFIC_PID"] not in text


def test_only_decisions_that_fit_the_listed_sets_are_offered(staff_client):
    recruitment = begin()
    person = work(recruitment, 0, BAD)
    study = recruitment.study
    address = reverse("admin:study-pay", args=[study.pk])
    page = reverse("admin:study-person", args=[study.pk, person.me.pseudonym])
    waiting = [staff_client.get(one).context for one in (address, page)]

    passed = foresee(staff_client, study, do="approve-passed")
    approve_sets(study=study, set_ids=ids(study), by=make_user())
    approved = [staff_client.get(one).context for one in (address, page)]

    assert passed.redirect_chain[-1] == (f"{address}?state=waiting", 302)
    assert (waiting[0]["acts"], waiting[1]["pay_acts"]) == (
        ["approve", "reject", "bonus"],
        ["approve", "reject"],
    )
    assert (approved[0]["acts"], approved[1]["pay_acts"]) == (["bonus", "mark"], [])


def test_the_page_takes_as_many_queries_for_two_sets_as_for_twenty(
    staff_client, django_assert_num_queries
):
    recruitment = begin("open_link")
    study = recruitment.study
    address = reverse("admin:study-pay", args=[study.pk])
    work(recruitment)
    staff_client.get(address)
    with CaptureQueriesContext(connection) as few:
        staff_client.get(address)
    asked = len(few)
    assert asked <= 14
    me = Person(recruitment).enter().finish().me
    for number in range(2, 20):
        me.item_sets.create(study=study, number=number, finished_at=now(), code="x")

    with django_assert_num_queries(asked):
        staff_client.get(address)


def test_a_review_is_answered_on_its_page(staff_client):
    recruitment = begin(set_size=8, items=16)
    person = reject_one(recruitment)
    ask_for_review(participant=person.me, number=1, text="Please look")
    address = reverse("admin:pay-review", args=[recruitment.study_id, Approval.objects.get().pk])
    pay = staff_client.get(reverse("admin:study-pay", args=[recruitment.study_id]))
    assert address in pay.text

    assert staff_client.post(address, {"answer": "approve"}).status_code == 422
    staff_client.post(address, {"answer": "approve", "text": "You are right."})

    assert Approval.objects.get().state == "approved"
    assert staff_client.get(address).status_code == 200


@pytest.mark.django_db
def test_a_study_without_pay_has_no_page_of_pay(staff_client, researcher):
    study = make_study(by=researcher)

    response = staff_client.get(reverse("admin:study-pay", args=[study.pk]))

    assert (response.status_code, response.url) == (
        302, reverse("admin:study-people", args=[study.pk]),
    )  # fmt: skip
