"""Reports hold an item once their authors have standing: people who only report take nothing."""

from functools import partial

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.data.fsck import find_breaches
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation
from evalsite.lib.clock import now
from evalsite.participation.consent import erase_answers
from evalsite.participation.held_items import most_held, release_item
from evalsite.people.models import Participant
from evalsite.studies.models import Item, Study
from tests.support.annotators import read_fields
from tests.support.factories import (
    answer_item,
    launch,
    make_annotator,
    make_participant,
    make_study,
    make_user,
    mint_link,
)
from tests.support.races import at_once
from tests.support.soak import serve_ordinary_requests
from tests.support.standing import give_standing, report_item
from tests.support.tabs import make_live, open_tab

pytestmark = pytest.mark.django_db

COMPLETE = "all the answers it needs"


def report_everything(study: Study, places: int) -> Participant:
    """Somebody reports each item of a set through the pages, and finishes it."""
    me = make_annotator(study)
    client, home = Client(), mint_link(me)
    client.post(f"{home}start/")
    for place in range(1, places + 1):
        address = f"{home}sets/1/items/{place}/report/"
        page = client.get(address)
        if page.status_code == 200:
            # the fields hold the last reason of the form
            client.post(address, read_fields(page.content.decode()))
    client.post(f"{home}sets/1/review/")
    return me


def count_held(study: Study) -> int:
    return Item.objects.filter(study=study, held_at__isnull=False).count()


def report_twice(study: Study, item: Item) -> list[Participant]:
    people = [give_standing(make_annotator(study)) for _ in range(2)]
    for me in people:
        report_item(me, item)
    return people


@pytest.mark.slow
@pytest.mark.usefixtures("promises")
def test_bad_98_four_people_who_report_everything_hold_no_item_and_stop_no_study():
    serve_ordinary_requests()
    study = launch(make_study(items=24, k=3, set_size=12))
    for _ in range(4):
        report_everything(study, 12)

    assert Annotation.objects.filter(outcome="reported").count() == 48
    assert count_held(study) == 0
    page = Client().get(f"/join/{study.pk}/")
    assert page.context["is_free"]
    assert COMPLETE not in page.text
    assert claim_set(make_annotator(study)).total == 12


def test_people_who_report_everything_get_their_set_finished_as_before():
    study = launch(make_study(items=24, k=3, set_size=12))

    me = report_everything(study, 12)

    assert me.item_sets.get().finished_at is not None


def test_a_study_whose_items_are_all_held_offers_no_place():
    study = launch(make_study(items=24, k=3, set_size=12))
    Item.objects.filter(study=study).update(held_at="2026-11-01T00:00:00Z")

    assert not Client().get(f"/join/{study.pk}/").context["is_free"]


# --- standing ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "reports", "is_held"), [(2, 1, False), (3, 1, True), (3, 3, False), (4, 3, True)]
)
def test_a_report_counts_after_three_answers_and_while_answers_outnumber_reports(
    answers, reports, is_held
):
    study = make_live(items=6, k=6)
    item, *others = study.items.main()
    for _ in range(2):
        me = give_standing(make_annotator(study), answers)
        for reported in (item, *others[: reports - 1]):
            report_item(me, reported)

    assert (count_held(study) > 0) == is_held
    item.refresh_from_db()
    assert (item.held_at is not None) == is_held


def test_what_an_earlier_version_held_by_two_reports_breaks_no_promise():
    study = make_live(items=6, k=6)
    item = study.items.main()[0]
    for _ in range(2):
        report_item(make_annotator(study), item)
    Item.objects.filter(pk=item.pk).update(held_at=now())

    assert find_breaches(study) == []


@pytest.mark.both_databases
def test_a_saved_answer_lets_earlier_reports_count():
    study = make_live(items=6, k=6)
    item, first, *_rest = study.items.main()
    people = [give_standing(make_annotator(study), 2) for _ in range(2)]
    for me in people:
        report_item(me, item)
    assert count_held(study) == 0

    for me in people:
        answer_item(me, first)

    assert [held.key for held in Item.objects.filter(held_at__isnull=False)] == [item.key]


def test_a_report_too_many_lets_all_of_its_author_count_no_more():
    study = make_live(items=6, k=6)
    item, *others = study.items.main()
    me, _other = report_twice(study, item)
    assert count_held(study) == 1

    for reported in others[:3]:
        report_item(me, reported)

    assert count_held(study) == 0


def test_an_item_that_is_skipped_or_reported_is_no_answer():
    study = make_live(items=8, k=6, content_warning="War")
    item, *others = study.items.main()
    for _ in range(2):
        me = make_annotator(study)
        report_item(me, item)
        for skipped in others[:5]:
            answer_item(me, skipped, outcome="skipped", rows=())

    assert count_held(study) == 0


def test_answers_that_are_erased_give_no_standing():
    study = make_live(items=6, k=6)
    item = study.items.main().first()
    me, _other = report_twice(study, item)

    erase_answers(me)

    assert count_held(study) == 0


def test_an_answer_that_is_changed_into_a_report_is_judged_like_one():
    study = make_live(items=6, k=6)
    item, first, *_rest = study.items.main()
    people = [make_annotator(study) for _ in range(2)]
    for me in people:
        give_standing(me, 1)
        item_set = claim_set(me)
        for answered in (item, first):
            answer_item(me, answered, item_set=item_set)
        report_item(me, item, item_set=item_set)
    assert count_held(study) == 0

    for me in people:
        answer_item(me, study.items.main()[2])

    assert count_held(study) == 1


def test_a_person_who_never_reported_saves_without_asking_about_reports():
    counts = []
    for has_reports in (False, True):
        study = make_live(items=6, k=6)
        if has_reports:
            report_twice(study, study.items.main().first())
        tab = open_tab(study)
        item = tab.item
        with CaptureQueriesContext(connection) as queries:
            answer_item(tab.me, item)
        counts.append(len(queries))

    assert counts[0] == counts[1]


# --- the share --------------------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.parametrize(("items", "most"), [(12, 3), (30, 3), (40, 4)])
def test_reports_hold_a_tenth_of_the_items_and_at_least_three(items, most):
    study = make_live(items=items, k=2, set_size=6)
    people = [give_standing(make_annotator(study), 9) for _ in range(2)]
    for item in study.items.main()[:6]:
        for me in people:
            report_item(me, item)

    assert most_held(study) == most
    assert count_held(study) == most


def test_the_overview_counts_items_above_the_share_and_they_are_handed_out(staff_client):
    study = make_live(items=12, k=4, set_size=12)
    people = [give_standing(make_annotator(study), 9) for _ in range(2)]
    for item in study.items.main()[:5]:
        for me in people:
            report_item(me, item)

    page = staff_client.get(reverse("admin:study-overview", args=[study.pk]))

    (task,) = [task for task in page.context["tasks"] if task.key == "held"]
    assert (task.count, task.items) == (3, 2)
    assert "2 more items have two reports" in page.text
    assert claim_set(make_annotator(study)).total == 9


def test_an_item_that_had_to_wait_is_held_once_another_is_released():
    study = make_live(items=12, k=4, set_size=6)
    people = [give_standing(make_annotator(study), 9) for _ in range(2)]
    for item in study.items.main()[:4]:
        for me in people:
            report_item(me, item)
    first = Item.objects.filter(held_at__isnull=False).first()

    release_item(item=first, by=make_user())

    first.refresh_from_db()
    assert first.held_at is None
    assert count_held(study) == 3


@pytest.mark.torture
@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_people_who_report_at_once_hold_no_more_than_the_share():
    study = make_live(items=12, k=6, set_size=6)
    items = list(study.items.main()[:8])
    for item in items:
        report_item(give_standing(make_annotator(study)), item)
    people = [give_standing(make_annotator(study)) for _ in items]

    at_once([partial(report_item, *pair) for pair in zip(people, items, strict=True)])

    assert count_held(study) == 3


# --- pay --------------------------------------------------------------------------------


def test_people_with_more_reports_than_answers_are_paid_but_not_approved_with_all(staff_client):
    study = launch(make_study(items=24, k=3, set_size=4, pay_per_set=1))
    reporter = report_everything(study, 4)
    worker = open_tab(study)
    worker.finish()
    make_participant(study)

    pay = staff_client.get(reverse("admin:study-pay", args=[study.pk]))
    chosen = staff_client.get(
        reverse("admin:pay-decide", args=[study.pk]), {"do": "approve-passed"}
    )

    rows = {row.pay_set.item_set.participant_id: row.pay_set for row in pay.context["sets"]}
    assert {pk: row.is_mostly_reports for pk, row in rows.items()} == {
        reporter.pk: True,
        worker.me.pk: False,
    }
    assert rows[reporter.pk].worth == rows[worker.me.pk].worth == 1
    assert pay.text.count("Mostly reports") == 1
    approved = [row.pay_set.item_set.participant_id for row in chosen.context["sets"]]
    assert approved == [worker.me.pk]
