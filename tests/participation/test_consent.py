"""Consent is asked of every post that stores an answer, whatever page it comes from."""

import pytest
from django.test import Client

from evalsite.data.fsck import find_breaches
from evalsite.handout.models import Annotation, Draft, Rating, Slot
from evalsite.participation.saving import Submission, submit_annotation
from evalsite.people.models import Answer, Consent, Participant
from evalsite.people.services import consent_hash
from evalsite.studies.models import Item, Study
from evalsite.studies.versions import make_version
from tests.support.annotators import read_fields
from tests.support.factories import make_annotator, make_participant, mint_link
from tests.support.tabs import BOXES, Tab, make_live, open_tab, what_became

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]

NEW_TEXT = "We also publish your scores."


def change_text(study: Study, text: str = NEW_TEXT) -> Study:
    study = Study.objects.get(pk=study.pk)
    study.consent = text
    study.save()
    make_version(study, by=None)
    return study


def answer_consent(tab: Tab, go: str):
    page = tab.client.get(f"{tab.home}consent/")
    said = {"go": "decline"} if go == "decline" else {"go": "agree", "agree": "yes"}
    return tab.client.post(f"{tab.home}consent/", read_fields(page.text) | said)


def decline_new_text(tab: Tab) -> Study:
    study = change_text(tab.me.study)
    answer_consent(tab, "decline")
    return study


def states_of(study: Study) -> dict[int, int]:
    """How many slots are in each state."""
    counts: dict[int, int] = {}
    for state in Slot.objects.filter(study=study).values_list("state", flat=True):
        counts[state] = counts.get(state, 0) + 1
    return counts


# --- declined -------------------------------------------------------------------------


def test_declining_frees_all_places_at_once_and_forgets_drafts():
    tab = open_tab()
    tab.post({BOXES[0]: "70"}, to=f"{tab.home}draft/")

    decline_new_text(tab)

    assert not Slot.objects.leased().exists()
    assert not Draft.objects.exists()


def test_bad_82_an_answer_sent_after_declining_is_withdrawn_and_says_nothing():
    tab = open_tab()
    study = decline_new_text(tab)

    response = tab.save(note="a comment")

    assert response.headers["Location"] == f"{tab.home}declined/?was=unused"
    annotation = Annotation.objects.get()
    assert (annotation.status, annotation.slot, annotation.note) == ("withdrawn", None, "")
    assert not Rating.objects.exists()
    assert states_of(study) == {Slot.State.FREE: Slot.objects.count()}
    assert "isn’t used" in tab.client.get(response.headers["Location"]).text


def test_an_answer_sent_twice_after_declining_is_one_row():
    tab = open_tab()
    decline_new_text(tab)

    assert tab.save().headers == tab.save().headers
    assert Annotation.objects.get().status == "withdrawn"


def test_a_post_after_declining_changes_no_earlier_answer():
    tab = open_tab()
    tab.save()
    page = tab.open()
    before = list(Rating.objects.order_by("pk").values())

    decline_new_text(tab)
    response = page.save(("1", "2", "3"))

    assert what_became(response) == "unused"
    assert Annotation.objects.get().status == "counted"
    assert list(Rating.objects.order_by("pk").values()) == before


@pytest.mark.one_case
@pytest.mark.parametrize("path", ["draft/", "sets/1/items/1/", "sets/1/items/1/report/"])
def test_no_page_that_was_open_stores_what_was_entered_after_declining(path):
    tab = open_tab()
    decline_new_text(tab)

    for go in ("next", "back", "place-2"):
        sent = {**dict.fromkeys(BOXES, "70"), "go": go, "reason": "other", "note": "a note"}
        response = tab.post(sent, to=f"{tab.home}{path}")
        assert response.status_code in (302, 403)

    assert not Draft.objects.exists()
    assert not Rating.objects.exists()
    assert set(Annotation.objects.values_list("status", "slot", "note")) <= {
        ("withdrawn", None, "")
    }


def test_who_declined_finishes_no_set_and_leaves_no_feedback():
    tab = open_tab()
    tab.finish()
    tab.start()
    decline_new_text(tab)

    for path in ("sets/1/review/", "finish/", "start/", "instructions/", "practice/1/"):
        response = tab.client.post(f"{tab.home}{path}", {"comment": "a comment"})
        assert response.status_code == 302, path

    assert not Answer.objects.exists()


def test_who_declined_a_new_text_still_has_the_code_they_earned():
    tab = open_tab()
    tab.finish()
    decline_new_text(tab)

    page = tab.client.get(f"{tab.home}declined/")

    assert tab.me.item_sets.get().code in page.text
    assert f"{tab.home}withdraw/" in page.text


def test_who_changes_their_mind_answers_the_item_anew_and_it_counts():
    tab = open_tab()
    decline_new_text(tab)
    tab.save()

    answer_consent(tab, "agree")
    assert not Annotation.objects.exists()
    tab.start()

    assert what_became(tab.save()) == "saved"
    assert Annotation.objects.get().status == "counted"


# --- a changed text -------------------------------------------------------------------


def test_bad_82_an_answer_sent_under_a_changed_text_waits_and_its_place_is_kept():
    tab = open_tab()
    slot = Slot.objects.get(participant=tab.me, item=tab.item)
    shown = tab.me.study.version
    change_text(tab.me.study)

    response = tab.save()

    assert response.headers["Location"] == f"{tab.home}consent/?was=awaiting"
    assert "counts once you agree" in tab.client.get(response.headers["Location"]).text
    annotation = Annotation.objects.get()
    assert (annotation.status, annotation.slot, annotation.awaits_consent) == (
        "surplus",
        None,
        True,
    )
    assert annotation.version == shown
    before, slot_now = slot.lease_until, Slot.objects.get(pk=slot.pk)
    assert (slot_now.state, slot_now.lease_until) == (Slot.State.LEASED, before)


def test_answers_that_wait_count_on_agreement_in_the_slots_they_were_given_for():
    tab = open_tab(k=1)
    slot = Slot.objects.get(participant=tab.me, item=tab.item)
    study = change_text(tab.me.study)
    tab.save()

    answer_consent(tab, "agree")

    annotation = Annotation.objects.get()
    assert (annotation.status, annotation.slot, annotation.awaits_consent) == (
        "counted",
        slot,
        False,
    )
    assert annotation.ratings.count() == len(BOXES)
    assert find_breaches(Study.objects.get(pk=study.pk)) == []
    tab.start()
    assert tab.page.context["place"] == 2


def test_an_answer_whose_place_went_to_somebody_else_stays_surplus_on_agreement():
    tab = open_tab(k=1)
    study = change_text(tab.me.study)
    tab.save()
    taken = Slot.objects.filter(participant=tab.me, item=tab.me.annotations.get().item)
    taken.update(state=Slot.State.LEASED, participant=make_annotator(study))

    answer_consent(tab, "agree")

    annotation = Annotation.objects.get()
    assert (annotation.status, annotation.awaits_consent) == ("surplus", False)
    assert Slot.objects.done().count() == 0


def test_answers_that_wait_are_withdrawn_when_the_new_text_is_declined():
    tab = open_tab()
    change_text(tab.me.study)
    tab.save()

    answer_consent(tab, "decline")

    assert Annotation.objects.get().status == "withdrawn"
    assert not Rating.objects.exists()
    assert not Slot.objects.leased().exists()


def test_answers_given_under_a_text_that_was_agreed_to_stay_counted_and_unchanged():
    tab = open_tab()
    tab.save()
    page = tab.open()
    change_text(tab.me.study)

    response = page.save(("1", "2", "3"))

    assert what_became(response) == "unchanged"
    assert Annotation.objects.get().status == "counted"
    assert {rating.value for rating in Rating.objects.all()} == {70, 80, 90}
    # what was entered comes back as a change to send, once the text is agreed to
    answer_consent(tab, "agree")
    assert tab.open().entered == ("1", "2", "3")


def test_an_answer_that_waits_can_be_sent_again_and_changed():
    tab = open_tab()
    change_text(tab.me.study)
    tab.save()

    assert what_became(tab.save()) == "awaiting"
    assert what_became(tab.save(("1", "2", "3"))) == "awaiting"
    assert {rating.value for rating in Rating.objects.all()} == {1, 2, 3}


def test_a_draft_under_a_changed_text_is_kept_and_renews_no_place():
    tab = open_tab()
    slot = Slot.objects.get(participant=tab.me, item=tab.item)
    change_text(tab.me.study)

    tab.post({BOXES[0]: "70"}, to=f"{tab.home}draft/")

    assert Draft.objects.get().values[BOXES[0]] == "70"
    assert Slot.objects.get(pk=slot.pk).lease_until == slot.lease_until


def test_pilots_are_asked_too_and_never_count():
    study = make_live()
    tab = Tab(make_annotator(study, is_pilot=True)).start()
    change_text(study)

    assert what_became(tab.save()) == "awaiting"
    assert Annotation.objects.get().status == "pilot"
    answer_consent(tab, "decline")
    assert Annotation.objects.get().status == "withdrawn"


def report_under_changed_text() -> Tab:
    tab = open_tab()
    change_text(tab.me.study)
    me = Participant.objects.get(pk=tab.me.pk)
    submit_annotation(
        participant=me,
        submission=Submission(item=tab.item, outcome="reported", reason="other", note="mine"),
    )
    return tab


def test_a_report_under_a_changed_text_frees_its_place_only_on_agreement():
    tab = report_under_changed_text()
    place = Slot.objects.filter(participant=tab.me, item=tab.item)
    assert place.exists()

    answer_consent(tab, "agree")

    assert not place.exists()
    assert Annotation.objects.get().outcome == "reported"


def test_a_report_under_a_text_that_is_then_declined_is_withdrawn_without_its_words():
    tab = report_under_changed_text()

    answer_consent(tab, "decline")

    report = Annotation.objects.get()
    assert (report.status, report.note, report.awaits_consent) == ("withdrawn", "", False)


def test_an_answer_to_a_check_waits_for_consent_too():
    tab = open_tab()
    Item.objects.filter(pk=tab.item.pk).update(kind=Item.Kind.GOLD)
    Slot.objects.filter(item=tab.item).delete()
    change_text(tab.me.study)
    me, item = Participant.objects.get(pk=tab.me.pk), Item.objects.get(pk=tab.item.pk)
    submit_annotation(participant=me, submission=Submission(item=item, note="mine"))
    assert Annotation.objects.get().awaits_consent

    answer_consent(tab, "decline")

    answer = Annotation.objects.get()
    assert (answer.status, answer.note) == ("withdrawn", "")


# --- the consent page -------------------------------------------------------------------


def test_nobody_agrees_to_a_text_that_they_were_not_shown():
    study = make_live()
    me = make_annotator(study)
    client = Tab(me, mint_link(me)).client
    home = mint_link(me)
    study = change_text(study)
    sent = {"agree": "yes", "go": "agree", "text": consent_hash(study)}
    change_text(study, "We also sell your scores.")

    page = client.post(f"{home}consent/", sent)

    assert page.status_code == 422
    assert "sell your scores" in page.text
    assert not Consent.objects.filter(text_sha256=sent["text"]).exists()


def test_nobody_agrees_by_a_post_that_does_not_say_which_text_was_shown():
    me = make_participant(make_live())
    client, home = Client(), mint_link(me)

    page = client.post(f"{home}consent/", {"agree": "yes", "go": "agree"})

    assert page.status_code == 422
    assert read_fields(page.text)["text"] == consent_hash(me.study)
    assert not Consent.objects.exists()
    sent = read_fields(page.text) | {"agree": "yes", "go": "agree"}
    assert client.post(f"{home}consent/", sent).status_code == 302
    assert Consent.objects.get().is_given


def test_declining_needs_no_proof_of_what_was_shown():
    me = make_participant(make_live())

    Client().post(f"{mint_link(me)}consent/", {"go": "decline"})

    assert not Consent.objects.get().is_given
