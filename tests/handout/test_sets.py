"""Sets across lapsed leases, ended studies, drafts and reports: nothing is stuck or lost."""

from datetime import timedelta

import pytest
from django.test import Client

from evalsite.fieldwork.checklist import check_people, people_needed
from evalsite.handout.claims import claim_set, has_work
from evalsite.handout.models import Annotation, Draft, Rating, Revision, Slot
from evalsite.lib.clock import now, standing_at
from evalsite.participation.consent import withdraw
from evalsite.people.models import ItemSet
from evalsite.people.services import Withdrawn
from evalsite.studies.models import Item, Study
from tests.support.designs import make_designed, one_each
from tests.support.factories import answer_item, launch, make_annotator, make_learner, make_study
from tests.support.rounds import make_round
from tests.support.standing import give_standing
from tests.support.tabs import BOXES, SCORES, Tab, after_the_lease, make_live, open_tab

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


def save_draft_of(tab: Tab, **values: str) -> None:
    response = tab.client.post(f"{tab.home}draft/", {**tab.fields, **values})
    assert response.status_code == 200


def test_a_change_that_was_not_sent_is_saved_when_the_set_is_finished():
    tab = open_tab(make_live(items=1))
    tab.save(("10", "20", "30"))
    save_draft_of(tab.open(), **{BOXES[1]: "25"})

    tab.client.post(f"{tab.home}sets/1/review/")

    assert sorted(Rating.objects.values_list("value", flat=True)) == [10, 25, 30]
    assert Revision.objects.count() == 1
    assert ItemSet.objects.get().finished_at
    assert not Draft.objects.exists()


def test_a_change_that_is_no_answer_is_asked_for_before_the_set_is_finished():
    tab = open_tab(make_live(items=1))
    tab.save(("10", "20", "30"))
    save_draft_of(tab.open(), **{BOXES[1]: "2.5"})

    page = tab.client.post(f"{tab.home}sets/1/review/")

    assert [row.place for row, *_, is_wrong in page.context["rows"] if is_wrong] == [1]
    assert not page.context["is_complete"]
    assert f'<a class="btn main" href="{tab.address_of(1)}">Go to ' in page.content.decode()
    assert ItemSet.objects.get().finished_at is None
    assert sorted(Rating.objects.values_list("value", flat=True)) == [10, 20, 30]


def test_an_item_answered_in_an_earlier_set_is_answered_in_a_later_one_too():
    study = make_live(items=2, k=1, set_size=1)
    me, other = make_annotator(study), make_annotator(study)
    first = Tab(me).start()
    lost = first.item
    with after_the_lease(study):
        # somebody else gets it, and gives it back in turn; I get another set, with this item
        claim_set(other)
        Slot.objects.filter(item=lost).update(participant=None, lease_until=None, state=0)
        again = claim_set(me)
        first.save()

        step = first.client.get(first.home)

    assert lost.pk in again.item_ids
    assert step.headers["Location"].endswith("/sets/1/review/")


def test_places_keep_their_items_when_some_of_them_are_lost():
    study = make_live(items=3, k=1, set_size=3)
    me = make_annotator(study)
    tab = Tab(me).start()
    first, second, third = me.item_sets.get().item_ids
    with after_the_lease(study):
        Slot.objects.filter(item=first).update(
            participant=make_annotator(study), lease_until=now() + timedelta(hours=1)
        )
        Tab(me, tab.home).start()
        mine = me.item_sets.get()

        assert mine.item_ids == [first, second, third]
        assert mine.lost_ids == [first]
        assert tab.client.get(tab.address_of(1)).status_code == 302
        for place in (2, 3):
            tab.open(place).save()
        page = tab.client.get(f"{tab.home}sets/1/review/")

    assert page.context["is_complete"]
    assert [row.place for row, *_ in page.context["rows"]] == [2, 3]
    assert set(Annotation.objects.values_list("place", flat=True)) == {2, 3}


def test_a_set_that_was_filled_again_does_not_grow_by_what_was_lost():
    study = make_designed(one_each(1, "ab"), k=1, set_size=1, max_items=1, groups="once")
    me, second, third = (make_annotator(study) for _ in range(3))
    claim_set(me)
    claim_set(second)
    with after_the_lease(study):
        claim_set(third)
        withdraw(participant=second, is_kept=True)
        filled = claim_set(me)
        withdraw(participant=third, is_kept=True)

        again = claim_set(me)

    # not the other item of the group, though it is free now, and the cap is reached
    assert again.lost_ids == filled.lost_ids
    assert again.total == 1
    assert Slot.objects.leased().filter(participant=me).count() == 1


def test_a_late_answer_to_what_went_to_others_is_not_told_as_one_of_the_set():
    study = make_live(items=2, k=1, set_size=2)
    me = make_annotator(study)
    late = Tab(me).start()
    with after_the_lease(study):
        Slot.objects.filter(item=late.item).update(
            participant=make_annotator(study), lease_until=now() + timedelta(hours=1)
        )
        Tab(me, late.home).start()
        late.save()
        page = late.client.get(late.address_of(2))

    assert (page.context["progress"].done, page.context["progress"].total) == (0, 1)


def test_no_further_set_is_offered_of_a_lapsed_group_beyond_what_is_left():
    study = make_designed(one_each(1), k=1, set_size=3, groups="together")
    claim_set(make_annotator(study))
    me = make_annotator(study)
    with after_the_lease(study):
        study.max_items = 3
        assert has_work(me, study)
        study.max_items = 2
        assert not has_work(me, study)


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_bad_68_work_in_hand_may_be_finished_in_a_study_that_has_ended(state):
    study = make_live(items=2, k=1, set_size=2)
    tab = open_tab(study)
    Study.objects.update(state=state)
    tab.save()

    with after_the_lease(study):
        tab.client.post(f"{tab.home}start/")
        tab.open(2).save()
        tab.client.post(f"{tab.home}sets/1/review/")
        page = tab.client.get(tab.home, follow=True)

    assert page.context["code"]
    assert Annotation.objects.counted().count() == 2


def test_what_is_answered_in_a_closed_study_earns_its_code():
    study = make_live(items=2, k=1, set_size=2)
    tab = open_tab(study)
    tab.save()
    Slot.objects.leased().update(state=0, participant=None, lease_until=None)
    Study.objects.update(state="closed", closed_at=now())

    review = tab.client.get(tab.home, follow=True)
    tab.client.post(f"{tab.home}sets/1/review/")
    page = tab.client.get(tab.home, follow=True)

    assert review.context["is_complete"]
    assert page.context["code"]
    assert page.context["done"] == 1


def test_who_has_left_in_another_tab_stores_nothing_more():
    study = make_live(items=1)
    me = make_annotator(study)
    item = Item.objects.main().get()
    claim_set(me)
    withdraw(participant=me, is_kept=True)

    with pytest.raises(Withdrawn):
        answer_item(me, item)

    assert not Annotation.objects.exists()


def test_an_item_is_not_held_any_more_when_a_report_is_taken_back():
    study = make_live(items=1, k=3)
    people = [give_standing(make_annotator(study)) for _ in range(2)]
    item = Item.objects.main().get()
    sets = [claim_set(me) for me in people]
    for me, item_set in zip(people, sets, strict=True):
        answer_item(me, item, item_set=item_set, outcome="reported", reason="other", rows=())
    assert Item.objects.get(pk=item.pk).held_at

    answer_item(people[0], item, item_set=sets[0])

    assert Item.objects.get(pk=item.pk).held_at is None


def test_changing_an_answer_keeps_the_rest_of_the_set():
    study = make_live(items=3)
    tab = open_tab(study)
    tab.save()
    with standing_at(now() + timedelta(minutes=10)):
        save_draft_of(tab.open(), **{BOXES[0]: "71"})

        assert Slot.objects.leased().earliest("lease_until").lease_until > now() + timedelta(
            minutes=14
        )


def test_lapsed_places_of_items_one_has_answered_do_not_hide_the_others():
    study = make_live(items=12, k=1, set_size=6)
    me = make_annotator(study)
    first = claim_set(me)
    for item in Item.objects.filter(pk__in=first.item_ids):
        answer_item(me, item, item_set=first)
    ItemSet.objects.update(finished_at=now(), code="K7QF-3M2X")
    claim_set(make_annotator(study))  # the other six, which then lapse

    with after_the_lease(study):
        mine = claim_set(me)

    assert mine is not None
    assert len(mine.item_ids) >= 5


def test_who_agreed_to_another_text_is_asked_again_before_the_next_page():
    tab = open_tab()
    Study.objects.update(consent="Another text.", version=None, state="draft")

    assert tab.client.get(tab.address_of(1)).headers["Location"] == tab.home


def test_who_has_agreed_withdraws_instead_of_declining():
    tab = open_tab()

    tab.client.post(f"{tab.home}consent/", {"go": "decline"})

    assert tab.save().status_code == 302
    assert Annotation.objects.counted().count() == 1


def test_practice_cannot_be_skipped_by_its_last_item():
    study = make_live()
    me = make_learner(study)
    tab = Tab(me)
    tab.show(tab.client.get(f"{tab.home}practice/3/"))

    tab.client.post(
        f"{tab.home}practice/3/", {**tab.fields, **dict(zip(BOXES, SCORES, strict=True))}
    )

    assert tab.client.get(tab.home).headers["Location"].endswith("/practice/1/")


def test_a_report_keeps_when_the_item_was_shown():
    tab = open_tab()
    shown = tab.page.context["report_url"]
    page = Client().get(shown)

    with standing_at(now() + timedelta(seconds=40)):
        Client().post(shown, {"reason": "other", "state": page.context["state"]})

    report = Annotation.objects.get()
    assert (report.submitted_at - report.started_at).total_seconds() >= 39


def test_a_number_with_much_space_around_it_is_kept_as_it_was_typed():
    tab = open_tab()

    tab.save((" " * 60 + "70", "80", "90"))

    assert Rating.objects.order_by("value").first().text == " " * 60 + "70"
    assert tab.open().entered[0].strip() == "70"


def test_groups_that_are_met_once_are_dealt_one_item_at_a_time():
    study = make_study(items=6, k=1, set_size=6, groups="once")
    Item.objects.main().update(group="g1")
    Item.objects.filter(key__in=["item-001", "item-002"]).update(group="g2")
    launch(study)
    me = make_annotator(study)

    mine = claim_set(me)

    groups = list(Item.objects.filter(pk__in=mine.item_ids).values_list("group", flat=True))
    assert sorted(groups) == ["g1", "g2"]


def test_a_design_of_groups_met_once_needs_a_person_for_each_item_of_a_group_and_answer():
    study = make_study(items=6, k=2, groups="once")
    make_round(study, "panel", places=7)
    Item.objects.main().filter(key__in=["item-001", "item-002", "item-003", "item-004"]).update(
        group="g"
    )

    needed, _ = people_needed(study)

    assert needed == 8
    assert "7 people" in check_people(study).remark
