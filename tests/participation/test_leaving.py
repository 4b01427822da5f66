"""Reports, withdrawals and pilots: whose place is free then, and what is kept."""

from uuid import uuid4

import pytest
from django.test import Client

from evalsite.handout.models import Annotation, Rating, Revision, Slot
from evalsite.studies.models import Item
from tests.support.factories import make_annotator
from tests.support.standing import give_standing
from tests.support.tabs import Tab, make_live, open_tab, snapshot, what_became

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


# --- problem reports -----------------------------------------------------------------------------


def report(tab: Tab, place: int = 1, **said: str):
    sent = {"reason": "missing", "note": "The second utterance is empty."} | said
    return tab.client.post(f"{tab.address_of(place)}report/", sent)


def test_a_report_frees_the_place_and_counts_as_done_for_who_reports():
    tab = open_tab()
    item = tab.item

    assert what_became(report(tab)) == ""

    annotation = Annotation.objects.get()
    assert (annotation.outcome, annotation.status, annotation.slot) == ("reported", "surplus", None)
    assert annotation.reason == "missing"
    assert Slot.objects.free().filter(item=item).count() == 3
    assert Client().get(tab.home, follow=True).redirect_chain[-1][0] == tab.address_of(2)


def test_a_report_sent_twice_is_one_report():
    tab = open_tab()
    item = tab.item

    report(tab)
    report(tab)

    item.refresh_from_db()
    assert Annotation.objects.count() == 1
    assert item.held_at is None


def test_the_second_report_holds_the_item_for_the_researcher():
    study = make_live(items=1)
    first, second = open_tab(study), open_tab(study)
    for tab in (first, second):
        give_standing(tab.me)

    report(first)
    report(second)

    assert Item.objects.main().get().held_at is not None
    newcomer = Tab(make_annotator(study)).start()
    assert newcomer.page.redirect_chain[-1][0] == f"{newcomer.home}no-work/?taken"


def test_reports_of_a_pilot_hold_nothing():
    study = make_live(items=1)
    for _ in range(2):
        report(Tab(make_annotator(study, is_pilot=True)).start())

    assert Annotation.objects.filter(outcome="reported", status="pilot").count() == 2
    assert Item.objects.main().get().held_at is None


def test_a_rating_in_place_of_a_report_counts_again():
    tab = open_tab()
    report(tab)

    response = tab.open(1).save()

    assert what_became(response) == "changed"
    annotation = Annotation.objects.get()
    assert (annotation.outcome, annotation.status) == ("rated", "counted")
    assert annotation.slot.state == Slot.State.DONE
    assert Revision.objects.get().state["outcome"] == "reported"


def test_a_report_in_place_of_a_rating_frees_its_place():
    tab = open_tab()
    tab.save()

    report(tab)

    annotation = Annotation.objects.get()
    assert (annotation.outcome, annotation.status, annotation.slot) == ("reported", "surplus", None)
    assert not Slot.objects.done().exists()
    assert not annotation.ratings.exists()


@pytest.mark.one_case
@pytest.mark.parametrize("said", [{"reason": ""}, {"reason": "x"}, {"note": "a\x00b"}])
def test_a_report_without_a_known_reason_is_asked_for_again(said):
    tab = open_tab()

    response = report(tab, **said)

    assert response.status_code == 422
    assert not Annotation.objects.exists()


# --- withdrawal ----------------------------------------------------------------------------------


def test_who_withdraws_and_keeps_the_answers_frees_only_what_is_not_done():
    tab = open_tab()
    tab.save()

    response = tab.client.post(f"{tab.home}withdraw/", {"keep": "keep"}, follow=True)

    assert response.status_code == 200
    assert Annotation.objects.get().status == "counted"
    assert Slot.objects.leased().count() == 0
    assert Slot.objects.done().count() == 1


@pytest.mark.both_databases
def test_who_withdraws_and_deletes_leaves_a_mark_and_frees_every_place():
    study = make_live(items=3, k=1)
    tab = open_tab(study)
    tab.finish()

    tab.client.post(f"{tab.home}withdraw/", {"keep": "delete"})

    assert {annotation.status for annotation in Annotation.objects.all()} == {"withdrawn"}
    assert not Rating.objects.exists()
    assert Slot.objects.free().count() == 3
    # k is reached again by somebody else
    open_tab(study).finish()
    assert Annotation.objects.counted().count() == 3


def test_what_arrives_after_a_withdrawal_is_not_stored():
    tab = open_tab()
    tab.client.post(f"{tab.home}withdraw/", {"keep": "keep"})
    before = snapshot()

    response = tab.save()

    assert response.headers["Location"] == f"{tab.home}withdrawn/"
    assert snapshot() == before


def test_a_withdrawal_needs_its_choice():
    tab = open_tab()

    assert tab.client.post(f"{tab.home}withdraw/", {}).status_code == 422

    assert Slot.objects.leased().exists()


# --- pilots ---------------------------------------------------------------------------------------


def test_a_pilots_answers_touch_no_slot():
    study = make_live()
    tab = Tab(make_annotator(study, is_pilot=True)).start()

    tab.finish()

    assert {annotation.status for annotation in Annotation.objects.all()} == {"pilot"}
    assert Slot.objects.free().count() == 9


def test_a_page_that_does_not_exist_leads_its_owner_back():
    tab = open_tab()

    page = tab.client.get(tab.address_of(99))

    assert page.status_code == 404
    assert f'href="{tab.home}">Continue with the study' in page.content.decode()


def test_a_link_of_nobody_opens_nothing():
    open_tab()
    before = snapshot()

    for token in ("x", uuid4().hex, "a" * 10_000, "%00", "..%2f", "%ff"):
        for path in ("", "start/", "sets/1/items/1/", "draft/", "withdraw/"):
            assert Client().post(f"/p/{token}/{path}").status_code in (404, 405)

    assert snapshot() == before
