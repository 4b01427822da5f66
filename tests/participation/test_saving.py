"""What becomes of a submission: saved once and whole, or refused with everything kept."""

import logging

import pytest
from django.core import signing

from evalsite.handout.models import Annotation, Rating, Slot
from evalsite.participation.screens import load_screen
from evalsite.participation.shown_screens import as_shown
from tests.support.factories import make_annotator
from tests.support.tabs import BOXES, SCORES, make_live, open_tab, refused, snapshot, what_became

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


# --- what is saved ------------------------------------------------------------------


def test_an_answer_is_stored_whole_with_the_slot_that_it_fills():
    tab = open_tab()
    slot = Slot.objects.get(participant=tab.me, item=tab.item)

    response = tab.save(device="wide-landscape", client_ms="5000", active_ms="4000")

    assert what_became(response) == "saved"
    annotation = Annotation.objects.get()
    slot.refresh_from_db()
    assert (annotation.slot, slot.state) == (slot, Slot.State.DONE)
    assert (annotation.status, annotation.outcome, annotation.origin) == ("counted", "rated", "own")
    assert annotation.version == tab.me.study.version
    assert annotation.item_set == tab.me.item_sets.get()
    assert (annotation.device, annotation.client_ms) == ("wide-landscape", 5000)
    assert annotation.started_at <= annotation.submitted_at
    # scores stand with the outputs that stood above their boxes
    shown = [annotation.item.outputs.get(position=place) for place in annotation.order_shown]
    by_output = {rating.output: rating for rating in annotation.ratings.all()}
    assert [by_output[output].value for output in shown] == [70, 80, 90]
    assert [by_output[output].text for output in shown] == ["70", "80", "90"]


def test_what_was_typed_is_kept_beside_the_number():
    tab = open_tab()

    tab.save((" 70 ", "80", "90"))

    assert {rating.value for rating in Rating.objects.all()} == {70, 80, 90}
    assert Rating.objects.get(value=70).text.strip() == "70"


def test_browser_times_that_make_no_sense_are_left_out():
    tab = open_tab()

    response = tab.save(client_ms="-5", active_ms="9" * 30, device="<b>")

    assert what_became(response) == "saved"
    annotation = Annotation.objects.get()
    assert (annotation.client_ms, annotation.active_ms, annotation.device) == (None, None, "")


# --- what is refused, with everything kept --------------------------------------------


def test_bad_44_a_missing_score_is_named_and_the_others_are_kept():
    tab = open_tab()

    page = refused(tab, tab.save(("70", "", "90")))

    assert page.entered == ("70", "", "90")
    assert page.page.context["errors"] == [(BOXES[1], "Enter a score for utterance 2")]
    assert "Not saved: 1 answer is missing" in page.page.content.decode()
    assert what_became(page.save(("70", "85", "90"))) == "saved"


def test_bad_44_a_box_that_is_not_sent_at_all_is_a_missing_score():
    tab = open_tab()
    sent = {**tab.fields, BOXES[0]: "70", BOXES[1]: "80", "go": "next"}
    del sent[BOXES[2]]

    page = refused(tab, tab.client.post(tab.address_of(1), sent))

    assert [name for name, _ in page.page.context["errors"]] == [BOXES[2]]
    assert page.entered == ("70", "80", "")


def test_wrong_answer_to_the_state_of_a_practice_item_is_no_page_of_a_set():
    tab = open_tab()
    practice = tab.me.study.items.practice().first()
    state = as_shown(tab.me, load_screen(tab.me, practice, None)).sign()

    response = tab.post({"state": state, BOXES[0]: "70"})

    assert response.status_code == 404
    assert not Annotation.objects.exists()


def test_bad_45_one_box_sent_with_two_values_is_refused():
    tab = open_tab()

    page = refused(tab, tab.post({BOXES[0]: ["70", "75"], BOXES[1]: "80", BOXES[2]: "90"}))

    assert [name for name, _ in page.page.context["errors"]] == [BOXES[0]]
    assert page.entered[1:] == ("80", "90")
    assert page.entered[0] in ("70", "75")


def test_one_box_sent_twice_with_the_same_value_is_one_answer():
    tab = open_tab()

    response = tab.post({BOXES[0]: ["70", "70"], BOXES[1]: "80", BOXES[2]: "90"})

    assert what_became(response) == "saved"


def test_bad_46_fields_that_nobody_asked_for_change_nothing(caplog):
    study = make_live()
    other = make_annotator(study)
    tab = open_tab(study)
    extra = {"is_admin": "1", "status": "pilot", "participant": str(other.pk), "slot": "1"}

    with caplog.at_level(logging.DEBUG, logger="evalsite"):
        response = tab.save(**extra, outcome="reported", origin="imported", value="1", key="1")

    assert what_became(response) == "saved"
    annotation = Annotation.objects.get()
    assert (annotation.participant, annotation.status) == (tab.me, "counted")
    assert (annotation.outcome, annotation.origin) == ("rated", "own")
    assert "is_admin" in caplog.text


NASTY = [
    *("0", "-5", "1.5", "1e3", "007", "1,000", "NaN", "½", "٧٠", "1000000", "9" * 5000),
    *("<script>alert(1)</script>", '"><b>', "{{7*7}}", "%s", "\u202e70", "a\x00b", "\ud7ff", "😀"),
    *(" ", "\n", "' OR 1=1 --", "\\", "70\r\n80"),
]


def test_whatever_is_typed_is_answered_with_the_form_and_all_that_was_entered():
    tab = open_tab()

    for typed in NASTY:
        page = refused(tab, tab.save((typed, "80", "90")))
        assert page.entered[1:] == ("80", "90")
        kept = typed.replace("\x00", "")[:5000]
        assert page.entered[0].split() == kept.split()
        assert "<script>alert" not in page.page.content.decode()


@pytest.mark.one_case
@pytest.mark.both_databases
@pytest.mark.parametrize(
    "sent",
    [b"", b"state=%ff%fe", b"&&&=&=", b"informativeness-1=%00", b"a=1&" * 900, b"\xff\xfe\x00"],
)
def test_whatever_bytes_are_posted_nothing_breaks_and_nothing_is_stored(sent):
    tab = open_tab()
    before = snapshot()

    for address in (tab.address_of(1), f"{tab.home}draft/", f"{tab.address_of(1)}report/"):
        response = tab.client.post(address, sent, content_type="application/x-www-form-urlencoded")
        assert response.status_code in (400, 404, 422)

    assert snapshot() == before


@pytest.mark.one_case
@pytest.mark.parametrize("path", ["0/", "4/", f"{10**30}/", "1/report/", "0/report/"])
def test_places_that_the_set_does_not_have_open_nothing(path):
    tab = open_tab()

    for number in (0, 2, 10**30):
        assert tab.client.get(f"{tab.home}sets/{number}/items/{path}").status_code == 404
        assert tab.client.get(f"{tab.home}sets/{number}/review/").status_code == 404


# --- whose answer it is -----------------------------------------------------------------


def test_bad_51_another_persons_page_saves_nothing(caplog):
    study = make_live()
    mine, theirs = open_tab(study), open_tab(study)
    before = snapshot()

    for path in ("sets/1/items/1/", "draft/", "practice/1/"):
        sent = dict(zip(BOXES, SCORES, strict=True)) | {"state": theirs.fields["state"]}
        response = mine.client.post(f"{mine.home}{path}", sent | {"go": "next"})
        assert response.status_code in ((404,) if path[0] != "p" else (302, 404))

    assert snapshot() == before
    assert "someone else" in caplog.text
    assert what_became(theirs.save()) == "saved"


def test_bad_51_another_persons_page_of_a_finished_set_says_nothing_either():
    study = make_live()
    mine, theirs = open_tab(study), open_tab(study)
    state = theirs.fields["state"]
    theirs.finish()
    before = snapshot()

    assert mine.save(state=state).status_code == 404

    assert snapshot() == before


# the form of version 0.1
FORGED = [1, 2, 3, 0, None, 1, 1, 2, None, 0, 1795262400123]


def test_bad_52_a_state_that_was_not_signed_here_saves_nothing():
    tab = open_tab()
    state = tab.fields["state"]
    body, _, signature = state.rpartition(":")
    forged = [
        *("", "x", ":", "::", "é:ü:ß", "\x00", state[:-1], state[1:], f"{body}:", f":{signature}"),
        *(f"{body}x:{signature}", state.upper(), state * 2, "A" * 100_000, body),
        *(signing.dumps(FORGED, salt="another salt"), signing.dumps(FORGED), signing.dumps("x")),
        *(signing.dumps(FORGED, salt="evalsite.handout.shown", key="another key"),),
        signing.Signer(salt="another salt").sign(body),
    ]
    before = snapshot()

    for text in forged:
        assert tab.save(state=text).status_code == 404, text[:80]

    assert snapshot() == before


def test_bad_52_a_state_of_another_study_saves_nothing():
    tab, elsewhere = open_tab(), open_tab()
    before = snapshot()

    assert tab.save(state=elsewhere.fields["state"]).status_code == 404

    assert snapshot() == before
