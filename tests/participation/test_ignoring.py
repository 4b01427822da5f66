"""Ignoring an item on its own page: what it covers, what becomes of scores, what is refused."""

from datetime import timedelta

import pytest

from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation, Draft, Rating, Revision, Slot
from evalsite.lib.clock import now, standing_at
from evalsite.participation import ignore_views
from evalsite.participation.consent import withdraw
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.models import Study
from tests.support.factories import make_annotator, make_learner, mint_link
from tests.support.ignoring import GROUP, ITEM, SCORES, Reader, make_reviews, open_reader
from tests.support.tabs import open_tab, snapshot

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


def outcomes(**fields) -> list[tuple[int, str, str, str]]:
    """Place, outcome, reason and status of each answer."""
    found = Annotation.objects.filter(**fields).order_by("place")
    return list(found.values_list("place", "outcome", "reason", "status"))


def rated_values(place: int) -> list[tuple[str, int]]:
    found = Rating.objects.filter(annotation__place=place)
    return sorted(found.values_list("criterion", "value"))


def answers_and_history() -> list[list[dict]]:
    return [list(model.objects.order_by("pk").values()) for model in (Annotation, Revision)]


def leave_for(study: Study, reader: Reader, *places: int) -> None:
    """The items at these places have gone to others, after the reader's lease has ended."""
    item_set = reader.me.item_sets.get()
    items = [item_set.item_ids[place - 1] for place in places]
    other = make_annotator(study)
    until = now() + timedelta(hours=1)
    Slot.objects.filter(item__in=items).update(participant=other, lease_until=until)
    item_set.lost_ids = items
    item_set.save()


# --- the way there ------------------------------------------------------------------------


def test_rating_page_offers_to_ignore_and_shows_the_note_in_full():
    html = open_reader().page.text

    assert 'id="ignore"' in html
    assert "Ignore this example…" in html
    assert "<strong>* NOTE</strong>: if the REVIEW text does not contain any" in html
    assert "<dt><kbd>i</kbd></dt>" in html


def test_page_to_ignore_shows_note_texts_and_reasons_with_what_they_cover():
    reader = open_reader()
    item = reader.page.context["item"]

    html = reader.go_to_ignore().page.text

    assert "the example should be ignored completely." in html
    assert item.inputs[0].value in html
    assert item.outputs[0].text in html
    assert "no semantically important information in the review" in html
    assert "covers all 3 responses" in html
    assert "unsuitable given the review" in html
    assert " checked" not in html
    assert 'name="relevance"' not in html


def test_a_protocol_without_ignoring_has_no_such_page():
    tab = open_tab()

    assert tab.client.get(f"{tab.address_of(1)}ignore/").status_code == 404
    assert 'id="ignore"' not in tab.page.text


def test_instructions_and_practice_offer_no_ignoring():
    study = make_reviews()
    home = mint_link(make_learner(study))
    client = Reader(make_annotator(study)).client

    for page in ("instructions/", "practice/1/"):
        html = client.get(f"{home}{page}").text
        assert 'id="ignore"' not in html
        assert "ignore/" not in html


# --- what is covered ----------------------------------------------------------------------


def test_an_ignored_response_is_saved_without_scores_and_fills_its_place():
    reader = open_reader()

    response = reader.ignore(1, ITEM)

    assert response.headers["Location"] == f"{reader.address_of(2)}?was=ignored&undo=1"
    assert outcomes() == [(1, "ignored", "response", "counted")]
    assert not Rating.objects.exists()
    assert Slot.objects.done().get().item == reader.item_at(1)


def test_a_review_without_information_is_ignored_with_all_its_responses():
    reader = open_reader()

    response = reader.ignore(2, GROUP)

    assert response.headers["Location"] == f"{reader.address_of(4)}?was=ignored&undo=2"
    assert outcomes() == [(place, "ignored", "review", "counted") for place in (1, 2, 3)]
    assert {reader.item_at(place).group for place in (1, 2, 3)} == {reader.item_at(2).group}
    shown = Annotation.objects.values_list("order_shown", "item_set__number", "origin")
    assert set(map(str, shown)) == {"([0], 1, 'own')"}


def test_scores_given_before_go_to_the_history_and_out_of_the_results():
    reader = open_reader()
    reader.rate(1)
    first = Annotation.objects.get()

    reader.ignore(2, GROUP)

    assert outcomes()[0] == (1, "ignored", "review", "counted")
    assert not Rating.objects.exists()
    revision = Revision.objects.get()
    assert (revision.annotation, revision.submitted_at) == (first, first.submitted_at)
    kept = {row.criterion: str(row.value) for row in revision.list_rows()}
    assert kept == SCORES


def test_ignoring_goes_on_to_the_next_place_that_wants_an_answer():
    reader = open_reader()
    reader.rate(4)
    reader.rate(5)

    response = reader.ignore(1, GROUP)

    assert response.headers["Location"].startswith(f"{reader.address_of(6)}?")


def test_ignoring_the_last_review_goes_on_to_the_review_page_with_undo():
    reader = open_reader()

    response = reader.ignore(4, GROUP)
    page = reader.client.get(response.headers["Location"])

    assert response.headers["Location"].startswith(f"{reader.home}sets/1/review/?")
    assert f'action="{reader.address_of(4)}ignore/undo/"' in page.text
    assert page.context["table"].outcomes["ignored"] == 3
    assert (page.context["answered"], page.context["total"]) == (3, 6)


def test_a_break_that_is_due_is_taken_after_a_whole_review_was_ignored(monkeypatch):
    monkeypatch.setattr(ignore_views, "BREAK_EVERY", 2)
    reader = open_reader()

    response = reader.ignore(1, GROUP)
    page = reader.client.get(response.headers["Location"])

    assert response.headers["Location"].startswith(f"{reader.home}sets/1/break/4/?")
    assert f'action="{reader.address_of(1)}ignore/undo/"' in page.text


def test_a_response_that_went_to_somebody_else_is_not_ignored_for_them():
    study = make_reviews()
    reader = open_reader(study)
    leave_for(study, reader, 2)

    reader.open(1)
    html = reader.go_to_ignore().page.text
    reader.send_ignoring(1, GROUP)

    assert "covers all 2 responses" in html
    assert [place for place, *_ in outcomes()] == [1, 3]


def test_a_report_stands_when_its_review_is_ignored():
    reader = open_reader()
    reader.open(2)
    said = {"state": reader.page.context["state"], "reason": "missing"}
    reader.client.post(f"{reader.address_of(2)}report/", said)

    reader.ignore(1, GROUP)

    assert [outcome for _, outcome, *_ in outcomes()] == ["ignored", "reported", "ignored"]


def test_who_answers_late_may_still_ignore():
    study = make_reviews()
    reader = open_reader(study)
    reader.open(1).go_to_ignore()

    with standing_at(now() + timedelta(minutes=study.lease_minutes + 1)):
        for other in (make_annotator(study), make_annotator(study)):
            claim_set(other)
        response = reader.send_ignoring(1, ITEM)

    assert response.status_code == 302
    assert outcomes() == [(1, "ignored", "response", "surplus")]


def test_a_pilot_participant_ignores_too_and_takes_no_place():
    study = make_reviews()
    reader = Reader(make_annotator(study, is_pilot=True)).start()

    reader.ignore(1, GROUP)

    assert outcomes() == [(place, "ignored", "review", "pilot") for place in (1, 2, 3)]
    assert not Slot.objects.done().exists()
    reader.undo(1)
    assert outcomes() == []


# --- sent twice, late, or by somebody else ------------------------------------------------------


def test_ignoring_sent_twice_is_ignored_once():
    reader = open_reader()
    reader.rate(1)
    reader.open(1).go_to_ignore()
    first = reader.send_ignoring(1, GROUP)
    before = answers_and_history()

    again = reader.send_ignoring(1, GROUP)

    assert again.headers["Location"] == first.headers["Location"]
    assert answers_and_history() == before


def test_looking_at_the_page_to_ignore_changes_nothing():
    reader = open_reader()
    before = snapshot()

    reader.go_to_ignore().go_to_ignore(2)

    assert snapshot() == before


@pytest.mark.parametrize("state", ["nonsense", ""])
def test_ignoring_without_what_was_shown_is_refused_or_read_from_the_place(state):
    reader = open_reader()

    data = {"state": state, "ignore": ITEM}
    response = reader.client.post(f"{reader.address_of(1)}ignore/", data)

    assert response.status_code == (404 if state else 302)
    assert Annotation.objects.exists() == (not state)


def test_bad_51_ignoring_with_the_page_of_somebody_else_or_of_another_place_changes_nothing():
    study = make_reviews(k=2)
    reader, other = open_reader(study), open_reader(study)
    foreign = other.open(1).page.context["state"]
    elsewhere = reader.open(2).page.context["state"]
    before = snapshot()

    for state in (foreign, elsewhere):
        data = {"state": state, "ignore": ITEM}
        assert reader.client.post(f"{reader.address_of(1)}ignore/", data).status_code == 404

    assert snapshot() == before


def test_a_finished_set_is_final_for_ignoring_and_for_undo():
    reader = open_reader(reviews=1)
    reader.ignore(1, GROUP)
    reader.open(1).go_to_ignore()
    reader.finish()
    before = snapshot()

    answers = [reader.send_ignoring(1, ITEM), reader.undo(1)]

    assert [one.headers["Location"] for one in answers] == [f"{reader.home}finish/?was=final"] * 2
    assert snapshot() == before
    assert ItemSet.objects.get().finished_at is not None


def test_who_has_withdrawn_ignores_nothing_and_undoes_nothing():
    reader = open_reader()
    reader.ignore(1, ITEM)
    reader.open(2).go_to_ignore()
    withdraw(participant=Participant.objects.get(), is_kept=True)
    before = snapshot()

    answers = [reader.send_ignoring(2, ITEM), reader.undo(1)]

    assert {one.headers["Location"] for one in answers} == {f"{reader.home}withdrawn/"}
    assert snapshot() == before


@pytest.mark.one_case
@pytest.mark.parametrize("reason", ["", "boredom", "review\x00"])
def test_a_reason_that_the_protocol_does_not_have_is_refused(reason):
    reader = open_reader()
    reader.go_to_ignore()

    response = reader.send_ignoring(1, reason)

    assert response.status_code == 422
    assert response.context["error"] in response.text
    assert "<title>Error: " in response.text
    assert not Annotation.objects.exists()


# --- either scores or ignoring -------------------------------------------------------------------


def test_bad_47_scores_sent_together_with_ignoring_are_refused_and_stay_in_view():
    reader = open_reader()
    before = snapshot()

    response = reader.send(1, **SCORES, ignore=ITEM)

    assert response.status_code == 422
    assert "Save the scores, or ignore the example without scores" in response.text
    assert '<a href="#ignore">' in response.text
    assert 'id="relevance-4" name="relevance" value="4" data-key="4" checked' in response.text
    assert snapshot() == before


def test_bad_47_ignoring_sent_together_with_scores_is_refused():
    reader = open_reader()
    reader.go_to_ignore()
    before = snapshot()

    response = reader.send_ignoring(1, ITEM, relevance="4")

    assert response.status_code == 422
    assert "Save the scores, or ignore the example without scores" in response.text
    assert snapshot() == before


def test_bad_47_accept_and_reject_together_are_refused():
    reader = open_reader()

    response = reader.send(1, **{**SCORES, "decision": ["1", "0"]})

    assert response.status_code == 422
    assert "sent twice with different values" in response.text
    assert not Annotation.objects.exists()


def test_bad_47_two_reasons_together_are_refused():
    reader = open_reader()
    reader.go_to_ignore()

    assert reader.send_ignoring(1, [ITEM, GROUP]).status_code == 422
    assert not Annotation.objects.exists()


def test_bad_47_ignoring_needs_no_scores_and_scores_need_accept_or_reject():
    reader = open_reader()

    refused = reader.send(1, **{**SCORES, "decision": ""})

    assert refused.status_code == 422
    assert "Choose accept or reject for this response" in refused.text
    assert reader.ignore(1, ITEM).status_code == 302


# --- an ignored item again ------------------------------------------------------------------------


def test_an_ignored_item_opened_again_says_so_and_has_empty_open_boxes():
    reader = open_reader()
    reader.rate(1)
    reader.ignore(1, ITEM)

    html = reader.open(1).page.text

    assert "You ignored this example: unsuitable given the review." in html
    assert f'action="{reader.address_of(1)}ignore/undo/"' in html
    assert " checked" not in html
    assert " disabled" not in html


def test_the_next_page_says_ignored_and_offers_undo_until_it_is_undone():
    reader = open_reader()
    following = reader.ignore(1, ITEM).headers["Location"]

    page = reader.client.get(following)

    assert page.text.count("is ignored") == 1
    assert "Item 1 is ignored." in page.text
    assert '<button class="plainbtn" id="undo" form="undo-ignoring">Undo</button>' in page.text
    reader.undo(1)
    assert "is ignored" not in reader.client.get(following).text


def test_the_next_page_says_which_items_are_ignored_with_a_review():
    reader = open_reader()
    following = reader.ignore(2, GROUP).headers["Location"]

    page = reader.client.get(following)

    assert page.text.count("are ignored") == 1
    assert "Items 1 to 3 are ignored." in page.text


@pytest.mark.one_case
@pytest.mark.parametrize("place", ["", "0", "7", "2", "x", "1" * 50])
def test_an_address_that_names_no_ignored_place_offers_no_undo(place):
    reader = open_reader()
    reader.ignore(1, ITEM)

    page = reader.client.get(f"{reader.address_of(2)}?was=ignored&undo={place}")

    assert page.status_code == 200
    assert "ignore/undo/" not in page.text


def test_scores_given_after_all_replace_the_ignoring():
    reader = open_reader()
    reader.ignore(1, GROUP)

    response = reader.rate(1)

    assert "?was=changed" in response.headers["Location"]
    assert [outcome for _, outcome, *_ in outcomes()] == ["rated", "ignored", "ignored"]
    assert len(rated_values(1)) == 5
    assert Revision.objects.get().state["outcome"] == "ignored"


def test_scores_entered_on_an_ignored_item_and_not_sent_go_when_it_is_ignored_again():
    reader = open_reader(reviews=1)
    reader.ignore(1, GROUP)
    fields = {"state": reader.open(1).page.context["state"], "relevance": "4"}
    reader.client.post(f"{reader.home}draft/", fields)
    stuck = reader.client.get(f"{reader.home}sets/1/review/")

    reader.ignore(1, GROUP)

    assert stuck.context["is_complete"] is False
    assert not Draft.objects.exists()
    assert "/finish/" in reader.finish().redirect_chain[-1][0]


def test_an_ignored_set_is_complete_and_is_finished_like_any_other():
    reader = open_reader()
    reader.ignore(1, GROUP)
    reader.ignore(4, GROUP)

    page = reader.finish()

    assert "All 6 answers are saved" in page.text or page.context["done"] == 6
    assert ItemSet.objects.get().code
