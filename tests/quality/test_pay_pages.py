"""The pages on which pay is decided."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.lib.clock import now
from evalsite.quality.models import Approval
from evalsite.quality.pay import ask_for_review
from evalsite.studies.models import Study
from tests.quality.test_pay import BAD, LONG, begin, ids, reject_one, work
from tests.support.rounds import Person

pytestmark = pytest.mark.django_db


def decide(client: Client, study: Study, **sent: Any) -> Any:
    return client.post(reverse("admin:pay-decide", args=[study.pk]), sent)


def test_a_decision_is_shown_before_it_is_made(staff_client):
    recruitment = begin()
    work(recruitment, 0)
    work(recruitment, 1, BAD)
    study = recruitment.study
    good, bad = ids(study)

    shown = decide(staff_client, study, do="approve-passed")
    assert [row.pay_set.item_set.pk for row in shown.context["sets"]] == [good]
    assert not Approval.objects.exists()
    for _ in range(2):
        decide(staff_client, study, do="approve", set=good, confirmed="yes")
    asked = decide(staff_client, study, do="reject", set=bad)
    assert asked.status_code == 200
    refused = decide(staff_client, study, do="reject", set=bad, confirmed="yes", reason="checks")
    assert refused.status_code == 422
    sent = {"do": "reject", "set": bad, "confirmed": "yes", "reason": "checks", "message": LONG}
    decide(staff_client, study, **sent)

    states = dict(Approval.objects.values_list("item_set", "state"))
    assert states == {good: "approved", bad: "rejected"}
    for wrong in ({}, {"do": "x", "set": good}, {"do": "approve", "set": "x"}):
        assert decide(staff_client, study, **wrong).status_code == 302


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
    recruitment = begin()
    person = reject_one(recruitment)
    ask_for_review(me=person.me, number=1, text="Please look")
    address = reverse("admin:pay-review", args=[recruitment.study_id, Approval.objects.get().pk])
    pay = staff_client.get(reverse("admin:study-pay", args=[recruitment.study_id]))
    assert address in pay.text

    assert staff_client.post(address, {"answer": "approve"}).status_code == 422
    staff_client.post(address, {"answer": "approve", "text": "You are right."})

    assert Approval.objects.get().state == "approved"
    assert staff_client.get(address).status_code == 200
