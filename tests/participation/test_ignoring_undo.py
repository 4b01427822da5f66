"""Undo: what was ignored is as it was before, whatever that was, and nothing is lost on the way."""

from datetime import timedelta

import pytest

from evalsite.core.audit.models import AuditEntry
from evalsite.handout.models import Annotation, Draft, Rating, Revision, Slot
from evalsite.lib.clock import now, standing_at
from evalsite.participation.ignored_items import undo_ignoring
from evalsite.studies.models import Study
from tests.support.ignoring import GROUP, ITEM, SCORES, make_reviews, open_reader
from tests.support.tabs import snapshot

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


def outcomes() -> list[tuple[int, str, str]]:
    found = Annotation.objects.order_by("place")
    return list(found.values_list("place", "outcome", "reason"))


def values_of(place: int) -> dict[str, str]:
    found = Rating.objects.filter(annotation__place=place)
    return {criterion: str(value) for criterion, value in found.values_list("criterion", "value")}


def test_undo_where_nothing_stood_gives_the_place_back_to_this_person():
    reader = open_reader()
    reader.ignore(1, ITEM)

    response = reader.undo(1)

    assert response.headers["Location"] == f"{reader.address_of(1)}?was=undone"
    assert not Annotation.objects.exists()
    slot = Slot.objects.get(item=reader.item_at(1))
    assert (slot.state, slot.participant) == (Slot.State.LEASED, reader.me)
    assert slot.lease_until > now()
    page = reader.client.get(response.headers["Location"])
    assert page.context["notice"] == "Undone: this example is no longer ignored"
    assert "You ignored this example" not in page.text


def test_undo_holds_a_place_as_long_as_the_rest_of_its_set():
    reader = open_reader()
    reader.ignore(1, ITEM)
    ends = now() + timedelta(minutes=4)
    Slot.objects.leased().filter(participant=reader.me).update(lease_until=ends)

    undo_ignoring(
        participant=reader.me,
        item_set=reader.me.item_sets.get(),
        item_id=reader.item_at(1).pk,
    )

    assert Slot.objects.get(item=reader.item_at(1)).lease_until == ends


def test_undo_where_nothing_stood_is_in_the_log_with_who_what_why_and_when():
    reader = open_reader()
    reader.ignore(1, ITEM)
    ignored = Annotation.objects.get()

    reader.undo(1)

    entry = AuditEntry.objects.get(action="ignore undone")
    assert entry.study_id == reader.me.study_id
    assert entry.detail.pop("undone_at") > entry.detail["ignored_at"]
    assert entry.detail == {
        "who": reader.me.pseudonym,
        "item": reader.item_at(1).key,
        "reason": "response",
        "ignored_at": ignored.submitted_at.isoformat(),
    }


def test_undo_brings_back_the_scores_that_stood_before_and_keeps_the_ignoring_in_the_history():
    reader = open_reader()
    reader.rate(1)
    rated_at = Annotation.objects.get().submitted_at
    reader.ignore(1, ITEM)

    reader.undo(1)

    annotation = Annotation.objects.get()
    assert (annotation.outcome, annotation.reason, annotation.status) == ("rated", "", "counted")
    assert annotation.submitted_at == rated_at
    assert values_of(1) == SCORES
    history = [revision.state["outcome"] for revision in Revision.objects.all()]
    assert history == ["rated", "ignored"]
    assert 'id="relevance-4" name="relevance" value="4" data-key="4" checked' in (
        reader.open(1).page.text
    )


def test_undo_brings_back_marked_passages_too():
    reader = open_reader()
    marks = '[[0, 5, "Reply"]]'
    reader.rate(1, highlights=marks)
    before = list(Annotation.objects.get().ratings.marks().values_list("start", "end", "text"))
    reader.ignore(1, ITEM)
    assert not Annotation.objects.get().ratings.marks().exists()

    reader.undo(1)

    after = list(Annotation.objects.get().ratings.marks().values_list("start", "end", "text"))
    assert after == before == [(0, 5, "Reply")]


@pytest.mark.one_case
@pytest.mark.parametrize("place", [1, 2, 3])
def test_undo_at_any_response_takes_back_all_that_was_ignored_with_it(place):
    reader = open_reader()
    reader.rate(3)
    reader.ignore(1, GROUP)

    reader.undo(place)

    assert outcomes() == [(3, "rated", "")]
    assert values_of(3) == SCORES
    assert Slot.objects.leased().count() == 5


def test_undo_leaves_alone_what_was_ignored_for_another_reason_or_scored_since():
    reader = open_reader()
    reader.ignore(1, GROUP)
    reader.rate(2)
    reader.ignore(3, ITEM)

    reader.undo(1)

    assert outcomes() == [(2, "rated", ""), (3, "ignored", "response")]


def test_undo_of_a_review_brings_back_that_one_response_was_ignored_before():
    reader = open_reader()
    reader.ignore(2, ITEM)
    reader.ignore(1, GROUP)

    reader.undo(1)
    assert outcomes() == [(2, "ignored", "response")]

    reader.undo(2)
    assert outcomes() == []


@pytest.mark.torture
def test_ignored_and_undone_again_and_again_the_first_scores_stand():
    reader = open_reader()
    reader.rate(1)

    for reason in (ITEM, GROUP, ITEM):
        reader.ignore(1, reason)
        reader.undo(1)

    assert outcomes() == [(1, "rated", "")]
    assert values_of(1) == SCORES
    assert Revision.objects.count() == 6


def test_undo_after_a_change_of_mind_brings_back_the_newest_scores():
    reader = open_reader()
    reader.ignore(1, ITEM)
    reader.rate(1)
    reader.rate(1, fluency="1")
    reader.ignore(1, ITEM)

    reader.undo(1)

    assert values_of(1) == {**SCORES, "fluency": "1"}


def test_undo_of_an_ignored_report_is_a_report_again_and_holds_no_place():
    reader = open_reader()
    reader.open(1)
    said = {"state": reader.page.context["state"], "reason": "missing", "note": "Where is it?"}
    reader.client.post(f"{reader.address_of(1)}report/", said)
    reader.ignore(1, ITEM)
    assert Annotation.objects.get().status == "counted"

    reader.undo(1)

    annotation = Annotation.objects.get()
    assert (annotation.outcome, annotation.reason, annotation.note, annotation.status) == (
        *("reported", "missing", "Where is it?", "surplus"),
    )
    assert Slot.objects.get(item=annotation.item).state == Slot.State.FREE


def test_undo_sent_twice_is_undone_once():
    reader = open_reader()
    reader.rate(2)
    reader.ignore(1, GROUP)
    reader.undo(1)
    before = snapshot()

    again = reader.undo(1)

    assert again.headers["Location"] == f"{reader.address_of(1)}"
    assert snapshot() == before
    assert AuditEntry.objects.filter(action="ignore undone").count() == 2


def test_undo_where_nothing_is_ignored_changes_nothing():
    reader = open_reader()
    reader.rate(1)
    before = snapshot()

    reader.undo(1)
    reader.undo(2)

    assert snapshot() == before


def test_undo_is_a_post_of_an_own_open_place_alone():
    reader = open_reader()
    reader.ignore(1, ITEM)
    stranger = open_reader(reader.me.study)

    assert reader.client.get(f"{reader.address_of(1)}ignore/undo/").status_code == 405
    assert reader.undo(99).status_code == 404
    assert stranger.client.post(f"{stranger.home}sets/2/items/1/ignore/undo/").status_code == 404
    assert outcomes() == [(1, "ignored", "response")]


def test_what_was_entered_before_ignoring_is_in_the_boxes_after_undo():
    reader = open_reader()
    fields = {"state": reader.page.context["state"], "relevance": "4"}
    reader.client.post(f"{reader.home}draft/", fields)
    reader.ignore(1, ITEM)

    reader.undo(1)

    assert Draft.objects.count() == 1
    assert reader.open(1).page.text.count(" checked") == 1


@pytest.mark.one_case
@pytest.mark.parametrize("state", ["paused", "closed"])
def test_undo_in_a_study_that_has_ended_leaves_the_place_to_be_answered(state):
    reader = open_reader(reviews=1)
    reader.ignore(1, GROUP)
    Study.objects.update(state=state)

    reader.undo(1)

    assert [reader.rate(place).status_code for place in (1, 2, 3)] == [302, 302, 302]
    assert {status for status in Annotation.objects.values_list("status", flat=True)} == {"counted"}


def test_undo_of_what_nobody_needed_any_more_leaves_nothing_of_it():
    study = make_reviews(reviews=1, responses=1)
    reader = open_reader(study)
    reader.open(1).go_to_ignore()
    with standing_at(now() + timedelta(minutes=study.lease_minutes + 1)):
        other = open_reader(study)
        other.rate(1)
        reader.send_ignoring(1, ITEM)
        assert Annotation.objects.get(participant=reader.me).status == "surplus"

        response = reader.undo(1)
        page = reader.client.get(response.headers["Location"])

    assert not Annotation.objects.filter(participant=reader.me).exists()
    assert page.status_code == 200
    assert Slot.objects.get().participant == other.me


def test_undo_that_comes_at_the_moment_of_finishing_changes_nothing():
    reader = open_reader(reviews=1)
    reader.ignore(1, GROUP)
    item_set = reader.me.item_sets.get()
    reader.finish()
    before = snapshot()

    # the page asked before the set was finished
    undone = undo_ignoring(participant=reader.me, item_set=item_set, item_id=reader.item_at(1).pk)

    assert undone == 0
    assert snapshot() == before
