"""Ignoring, scoring and undoing at the same moment: one answer stands, and nothing is lost."""

from functools import partial

import pytest

from evalsite.handout.models import Annotation, Draft, Rating, Revision, Slot
from tests.support.annotators import read_fields
from tests.support.ignoring import GROUP, ITEM, SCORES, make_reviews, open_reader
from tests.support.invariants import check_invariants
from tests.support.races import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


def test_one_tab_ignores_and_another_saves_scores_and_one_answer_stands():
    study = make_reviews(reviews=1)
    saving = open_reader(study)
    ignoring = saving.duplicate().go_to_ignore()

    answers = at_once(
        [partial(saving.send, 1, **SCORES), partial(ignoring.send_ignoring, 1, ITEM)],
    )

    assert [answer.status_code for answer in answers] == [302, 302]
    annotation = Annotation.objects.get()
    before = Revision.objects.get().state["outcome"]
    assert {annotation.outcome, before} == {"rated", "ignored"}
    assert Rating.objects.count() == (5 if annotation.outcome == "rated" else 0)
    check_invariants(study)


@pytest.mark.slow
def test_one_review_ignored_in_ten_tabs_at_once_is_ignored_once():
    study = make_reviews(reviews=1)
    reader = open_reader(study)
    tabs = [reader.duplicate().open(1 + number % 3).go_to_ignore() for number in range(10)]

    answers = at_once(
        [partial(tab.send_ignoring, 1 + number % 3, GROUP) for number, tab in enumerate(tabs)]
    )

    assert {answer.status_code for answer in answers} == {302}
    assert list(Annotation.objects.values_list("outcome", "reason")) == [("ignored", "review")] * 3
    assert not Revision.objects.exists()
    check_invariants(study)


@pytest.mark.torture
def test_undo_in_ten_tabs_at_once_undoes_once():
    study = make_reviews(reviews=1)
    reader = open_reader(study)
    reader.rate(1)
    reader.ignore(1, GROUP)
    tabs = [reader.duplicate() for _ in range(10)]

    at_once([partial(tab.undo, 1) for tab in tabs])

    assert list(Annotation.objects.values_list("outcome", flat=True)) == ["rated"]
    assert Revision.objects.count() == 2
    assert Slot.objects.leased().count() == 2
    check_invariants(study)


@pytest.mark.torture
@pytest.mark.slow
def test_ignoring_scoring_and_undoing_of_several_people_at_once_keep_every_promise():
    study = make_reviews(reviews=1, k=4)
    readers = [open_reader(study) for _ in range(4)]
    acts = []
    for reader in readers:
        saving, ignoring, undoing = (reader.duplicate() for _ in range(3))
        acts += [
            partial(saving.send, 1, **SCORES),
            partial(ignoring.go_to_ignore().send_ignoring, 1, GROUP),
            partial(undoing.undo, 1),
        ]

    answers = at_once(acts)

    assert {answer.status_code for answer in answers} == {302}
    check_invariants(study)


def test_a_draft_of_a_page_that_was_left_for_ignoring_changes_nothing_when_it_arrives_late():
    reader = open_reader(reviews=1)
    late = read_fields(reader.page.text) | SCORES
    reader.ignore(1, ITEM)

    response = reader.client.post(f"{reader.home}draft/", late)

    assert response.status_code == 200
    assert not Draft.objects.exists()
    assert reader.open(1).page.context["ignored"]["is_here"]
