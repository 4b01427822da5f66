"""What is sent late, again, or differently: nothing is lost and nothing is stored twice."""

from datetime import timedelta

import pytest
from django.test import Client

from evalsite.handout.models import Annotation, Draft, Rating, Revision, Slot
from evalsite.lib.clock import now
from evalsite.lib.seeds import arrange
from evalsite.participation.saving import Saved
from evalsite.participation.screens import load_screen
from evalsite.people.models import Participant
from evalsite.studies.models import Item, Study
from tests.support.tabs import (
    BOXES,
    SCORES,
    Tab,
    after_the_lease,
    make_live,
    open_tab,
    snapshot,
    what_became,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


# --- late answers ---------------------------------------------------------------------------


def test_bad_53_a_late_answer_counts_while_its_place_is_free():
    study = make_live(items=1, k=1)
    tab = open_tab(study)

    with after_the_lease(study):
        Slot.objects.update(state=0, participant=None, lease_until=None)
        response = tab.save()

    assert what_became(response) == "saved"
    assert Annotation.objects.get().status == "counted"


def test_bad_53_a_late_answer_counts_in_the_place_that_is_still_kept():
    study = make_live(items=2, k=1)
    tab = open_tab(study)

    with after_the_lease(study):
        response = tab.save()
        page = tab.client.get(response.headers["Location"])

    assert Annotation.objects.get().status == "counted"
    assert page.context["status"] == "Item 1 saved."
    # the rest of the set is kept again, as after any first answer
    assert Slot.objects.leased().get().lease_until > now() + timedelta(
        minutes=study.lease_minutes + 15
    )


def test_bad_53_a_late_answer_takes_another_free_place_of_its_item():
    study = make_live(items=1, k=2)
    tab = open_tab(study)

    with after_the_lease(study):
        other = open_tab(study)
        response = tab.save()

    assert Slot.objects.get(participant=other.me).no == 0
    assert what_became(response) == "saved"
    annotation = Annotation.objects.get()
    assert (annotation.status, annotation.slot.no) == ("counted", 1)


def test_a_late_answer_takes_the_free_place_that_shows_the_outputs_in_the_same_order():
    study = make_live(items=1, k=4)
    tab = open_tab(study)
    shown = Slot.objects.leased().get().arrangement
    Slot.objects.filter(no=3).update(arrangement=shown)

    with after_the_lease(study):
        open_tab(study)
        tab.save()

    slot = Annotation.objects.get().slot
    assert (slot.no, slot.arrangement) == (3, shown)


def test_bad_53_a_late_answer_for_a_place_that_somebody_else_has_is_kept_as_surplus():
    study = make_live(items=1, k=1)
    tab = open_tab(study)

    with after_the_lease(study):
        other = open_tab(study)
        response = tab.save()

        assert what_became(response) == "saved"
        assert tab.client.get(response.headers["Location"], follow=True).status_code == 200
        assert what_became(other.save()) == "saved"

    assert [a.status for a in Annotation.objects.all()] == ["surplus", "counted"]
    assert Rating.objects.count() == 6


def test_bad_53_a_late_answer_for_a_complete_item_is_kept_as_surplus():
    study = make_live(items=1, k=1)
    tab = open_tab(study)

    with after_the_lease(study):
        open_tab(study).finish()
        response = tab.save()

    assert what_became(response) == "saved"
    assert Annotation.objects.get(participant=tab.me).status == "surplus"
    assert Slot.objects.get().participant != tab.me


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_a_late_answer_to_a_study_that_has_ended_is_still_taken(state):
    study = make_live()
    tab = open_tab(study)
    Study.objects.filter(pk=study.pk).update(state=state)

    response = tab.save()

    assert what_became(response) == "saved"
    assert tab.client.get(response.headers["Location"]).status_code == 200
    assert Annotation.objects.get().status == "counted"


def test_who_was_stopped_may_still_send_what_was_on_the_screen():
    tab = open_tab()
    Participant.objects.update(stopped_at=now())

    assert what_became(tab.save()) == "saved"


def test_a_lapsed_place_is_offered_again_and_taken_by_a_post_alone():
    study = make_live()
    tab = open_tab(study)

    with after_the_lease(study):
        page = tab.open(1).page
        assert "Continue" in page.content.decode()
        assert not Slot.objects.filter(lease_until__gt=now()).exists()
        again = tab.start()

    assert again.page.context["place"] == 1


# --- sent more than once ----------------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("times", [2, 10, 100])
def test_bad_54_an_answer_sent_many_times_is_stored_once(times):
    tab = open_tab()

    became = [what_became(tab.save()) for _ in range(times)]

    assert became == ["saved"] + ["already"] * (times - 1)
    assert (Annotation.objects.count(), Rating.objects.count()) == (1, 3)
    assert Revision.objects.count() == 0
    page = tab.open(2).client.get(f"{tab.address_of(2)}?was=already")
    assert page.context["status"] == "Already saved"


def test_bad_54_the_same_answer_sent_after_the_set_is_finished_is_a_success():
    tab = open_tab()
    early = tab.duplicate()
    tab.finish()
    before = snapshot()

    assert what_became(early.save()) == "already"

    assert snapshot() == before


def test_bad_55_another_answer_replaces_the_first_while_the_set_is_open():
    tab = open_tab()
    tab.save()
    first = Annotation.objects.get()

    response = tab.save(("71", "80", "90"))

    assert what_became(response) == "replaced"
    annotation = Annotation.objects.get()
    assert annotation.pk == first.pk
    assert sorted(rating.value for rating in annotation.ratings.all()) == [71, 80, 90]
    revision = Revision.objects.get()
    assert sorted(row.value for row in revision.list_rows()) == [70, 80, 90]
    assert revision.submitted_at == first.submitted_at < annotation.submitted_at
    page = tab.client.get(response.headers["Location"])
    assert page.context["notice"] == Saved.REPLACED.value


def test_bad_55_an_invalid_change_leaves_the_answer_as_it_was():
    tab = open_tab()
    tab.save()
    before = snapshot()

    response = tab.save(("0", "80", "90"))

    assert response.status_code == 422
    assert snapshot() == before


def test_bad_55_another_answer_after_the_set_is_finished_is_not_stored():
    tab = open_tab()
    early = tab.duplicate()
    tab.finish()
    before = snapshot()

    response = early.save(("1", "2", "3"))

    assert what_became(response) == "final"
    assert snapshot() == before
    page = tab.client.get(response.headers["Location"], follow=True)
    assert "This answer is final, so nothing was changed." in page.content.decode()


def test_bad_56_back_keeps_what_was_entered_and_comes_back_to_it():
    tab = open_tab()
    tab.save()
    tab.open(2)

    response = tab.post({BOXES[0]: "5", "go": "back"}, to=tab.address_of(2))

    assert response.headers["Location"] == f"{tab.address_of(1)}"
    assert tab.open(1).entered == SCORES
    assert tab.open(2).entered == ("5", "", "")
    assert Annotation.objects.count() == 1


def test_bad_56_the_page_behind_the_back_button_saves_the_same_answer():
    tab = open_tab()
    behind = tab.duplicate()
    tab.save()
    tab.open(2)

    assert what_became(behind.save()) == "already"
    assert what_became(behind.save(("60", "80", "90"))) == "replaced"
    assert Annotation.objects.count() == 1


def test_page_of_an_answer_that_was_taken_back_since_saves_in_the_order_that_it_shows():
    tab = open_tab(items=1, k=1)
    own = load_screen(tab.me, Item.objects.main().get(), None).order
    other = next(number for number in range(3) if arrange(3, number) != own)
    Slot.objects.update(arrangement=other)
    tab.open().save()
    answered = Annotation.objects.get()
    tab.open()

    # as when ignoring is undone in another tab
    answered.delete()
    Slot.objects.update(state=Slot.State.LEASED, lease_until=now() + timedelta(hours=1))
    tab.save()

    again = Annotation.objects.get()
    assert again.order_shown == answered.order_shown
    scores = {one.output.position: one.text for one in again.ratings.all()}
    assert tuple(scores[position] for position in answered.order_shown) == SCORES


def test_bad_56_reloading_after_a_save_sends_nothing_again():
    tab = open_tab()
    after = tab.save().headers["Location"]
    before = snapshot()

    pages = [tab.client.get(after) for _ in range(3)]

    assert {page.status_code for page in pages} == {200}
    assert snapshot() == before


def test_bad_56_two_tabs_show_the_same_item_and_save_one_row():
    study = make_live()
    first = open_tab(study)
    second = Tab(first.me, first.home).start()

    assert second.item == first.item
    assert what_became(first.save()) == "saved"
    assert what_became(second.save()) == "already"
    assert first.me.item_sets.count() == 1
    assert Annotation.objects.count() == 1


def test_bad_56_a_restored_session_without_anything_but_the_link_goes_on():
    tab = open_tab()
    tab.save()

    page = Client().get(tab.home, follow=True)

    assert page.redirect_chain[-1][0] == tab.address_of(2)


def test_bad_56_no_rating_page_is_kept_by_a_browser():
    tab = open_tab()
    tab.save(("", "", ""))

    for page in (tab.open(1).page, tab.save(("", "", "")), tab.save()):
        assert "no-store" in page.headers["Cache-Control"]
        assert page.headers["Referrer-Policy"] == "no-referrer"
        assert not page.cookies


# --- drafts ------------------------------------------------------------------------------------


def test_a_draft_comes_back_with_the_page_and_counts_for_nothing():
    tab = open_tab()

    response = tab.post({BOXES[1]: "12"}, to=f"{tab.home}draft/")

    assert response.status_code == 200
    assert tab.open(1).entered == ("", "12", "")
    assert not Annotation.objects.exists()


def test_a_draft_of_a_place_that_somebody_else_has_says_so():
    study = make_live(items=1, k=1)
    tab = open_tab(study)

    with after_the_lease(study):
        open_tab(study)
        response = tab.post({BOXES[1]: "12"}, to=f"{tab.home}draft/")

    assert response.status_code == 409
    assert Draft.objects.get().values[BOXES[1]] == "12"


def test_drafts_are_gone_when_the_set_is_finished():
    tab = open_tab()
    tab.post({BOXES[1]: "12"}, to=f"{tab.home}draft/")

    tab.finish()

    assert not Draft.objects.exists()
