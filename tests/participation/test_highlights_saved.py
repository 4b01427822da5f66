"""Highlights through the rating page: stored, changed, drafted and given back."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.models import Annotation, Draft, Rating, Revision
from evalsite.instruments.answer import AnswerRow
from evalsite.participation.consent import withdraw
from evalsite.participation.highlights import MISFIT
from evalsite.studies.models import Item
from tests.support.factories import launch, make_study
from tests.support.marking import (
    ANSWERS,
    CONFIG,
    HEBREW,
    SIGNS,
    TEXT,
    make_marking_study,
    marked_in,
)
from tests.support.qualifying import Candidate
from tests.support.tabs import Tab, open_tab, what_became

MOST_QUERIES = 14


@pytest.fixture
def study(db):
    return make_marking_study(TEXT, SIGNS.replace(" and", "\r\nand"), HEBREW)


@pytest.fixture
def tab(study) -> Tab:
    return open_tab(study)


def text_of(tab: Tab) -> str:
    return tab.item.outputs.get().text


def save(tab: Tab, *passages: str, **changes: str):
    """What the server answers to an answer with these passages marked."""
    address = tab.address_of(tab.page.context["place"])
    return tab.client.post(address, fill_in(tab, *passages) | changes)


def fill_in(tab: Tab, *passages: str) -> dict[str, str]:
    """The form with every question answered and these passages marked, as a script posts it."""
    shown = text_of(tab).replace("\r\n", "\n")
    entries = [[shown.index(one), shown.index(one) + len(one), one] for one in passages]
    marks = {"highlights": json.dumps(entries)}
    return {"state": tab.fields["state"], "go": "next", **marks, **ANSWERS}


def words_of(tab: Tab, first: int = 0, last: int = 1) -> str:
    return " ".join(text_of(tab).split()[first : last + 1])


def test_highlights_are_stored_with_the_answer(tab):
    first, second = words_of(tab, 0, 0), words_of(tab, 2, 3)

    assert what_became(save(tab, second, first)) == "saved"

    annotation = Annotation.objects.get()
    assert marked_in(annotation) == [first, second]
    assert {one.study_id for one in Rating.objects.marks()} == {annotation.study_id}


def test_an_answer_without_highlights_is_whole(tab):
    assert what_became(save(tab)) == "saved"
    assert not Rating.objects.marks().exists()


def test_the_same_highlights_again_change_nothing(tab):
    word = words_of(tab, 0, 0)
    save(tab, word)

    assert what_became(save(tab, word)) == "already"
    assert not Revision.objects.exists()


def test_other_highlights_are_a_change_and_the_earlier_ones_are_kept(tab):
    first, second = words_of(tab, 0, 0), words_of(tab, 2, 2)
    output = tab.item.outputs.get()
    save(tab, first)

    assert what_became(save(tab, second)) == "replaced"
    assert what_became(save(tab)) == "replaced"

    assert not Rating.objects.marks().exists()
    kept = [
        [row for row in revision.list_rows() if row.criterion == "highlights"]
        for revision in Revision.objects.all()
    ]
    start = output.text.index(second)
    mark = AnswerRow(output.item_id, output.pk, "highlights")
    assert kept == [
        [mark._replace(text=first, start=0, end=len(first))],
        [mark._replace(text=second, start=start, end=start + len(second))],
    ]


def test_an_answered_page_shows_its_highlights_again(tab):
    passage = words_of(tab)
    save(tab, passage)

    tab.open(1)

    marks = tab.page.context["item"].outputs[0].marks
    assert [one.text for one in marks.segments if one.is_marked] == [passage]
    assert marks.passages == passage
    assert json.loads(tab.fields["highlights"]) == [[0, len(passage), passage]]
    assert f"<mark>{passage}</mark>" in tab.page.content.decode()


def test_bad_48_a_misfit_is_refused_and_all_else_stays(tab):
    word = words_of(tab, 0, 0)
    entries = json.dumps([[0, len(word), word], [0, 10_000, word]])

    response = save(tab, highlights=entries, fluency="4")
    html = response.content.decode()

    assert response.status_code == 422
    assert not Annotation.objects.exists()
    assert html.count(MISFIT.replace("'", "&#x27;")) == 2
    assert f"<mark>{word}</mark>" in html
    assert all(question.value for question in response.context["item"].questions)
    # what is left is right, so that saving again is enough
    tab.show(response)
    again = tab.client.post(tab.address_of(1), {**tab.fields, **ANSWERS, "go": "next"})
    assert what_became(again) == "saved"
    assert marked_in(Annotation.objects.get()) == [word]


@pytest.mark.parametrize("name", ["highlights", "passages"])
def test_bad_45_highlights_sent_twice_with_different_values_are_refused(tab, name):
    twice = {"highlights": ["[]"], name: ["[]", "[[]]"]}
    data = {"state": tab.fields["state"], "go": "next", **ANSWERS, **twice}

    response = tab.client.post(tab.address_of(1), data)

    assert response.status_code == 422
    assert response.content.decode().count("was sent twice") == 2


def test_lines_without_scripts_are_stored_and_a_wrong_one_stays_in_the_box(tab):
    words = words_of(tab, 0, 0)

    refused = save(tab, passages=f"{words}\r\nnowhere")
    box = refused.context["item"].outputs[0].marks.passages
    assert refused.status_code == 422
    assert box.splitlines() == [words, "nowhere"]

    assert what_became(save(tab, passages=words)) == "saved"
    assert marked_in(Annotation.objects.get()) == [words]


def test_a_draft_keeps_the_highlights(tab):
    word = words_of(tab, 0, 0)
    posted = json.dumps([[0, len(word), word]])
    data = {"state": tab.fields["state"], "highlights": posted, **ANSWERS}

    tab.client.post(f"{tab.home}draft/", data)
    tab.open(1)

    assert Draft.objects.get().values["highlights"] == posted
    assert f"<mark>{word}</mark>" in tab.page.content.decode()


def test_highlights_that_were_entered_but_not_sent_are_saved_as_the_set_is_finished(tab):
    for place in (1, 2, 3):
        tab.open(place)
        save(tab)
    tab.open(1)
    tab.client.post(f"{tab.home}draft/", fill_in(tab, words_of(tab, 0, 0)))

    tab.client.post(f"{tab.home}sets/1/review/")

    assert tab.me.item_sets.get().finished_at
    assert [one.text for one in Rating.objects.marks()] == [words_of(tab, 0, 0)]


def test_finishing_a_set_leaves_highlights_as_they_were(tab):
    for place in (1, 2, 3):
        tab.open(place)
        data = fill_in(tab, words_of(tab, 0, 0))
        tab.client.post(tab.address_of(place), data)
        tab.client.post(f"{tab.home}draft/", data)

    tab.client.post(f"{tab.home}sets/1/review/")

    assert tab.me.item_sets.get().finished_at
    assert Rating.objects.marks().count() == 3
    assert not Revision.objects.exists()


def test_going_back_keeps_the_highlights(tab):
    save(tab)
    tab.open(2)
    word = words_of(tab, 0, 0)
    save(tab, word, go="back")

    tab.open(2)

    assert f"<mark>{word}</mark>" in tab.page.content.decode()


def test_a_draft_that_does_not_fit_is_no_error(tab):
    data = {"state": tab.fields["state"], "highlights": "[" * 10_000}

    assert tab.client.post(f"{tab.home}draft/", data).status_code == 200
    assert tab.open(1).page.status_code == 200


@pytest.mark.both_databases
def test_answers_that_are_deleted_leave_no_passage(tab):
    word = words_of(tab, 0, 0)
    save(tab, word)

    withdraw(participant=tab.me, is_kept=False)

    assert not Rating.objects.marks().exists()


def test_a_test_offers_nothing_to_mark_and_takes_nothing(db):
    study = launch(make_study(protocol="rrgen", is_qualification_on=True))
    one = Candidate(study)
    one.client.post(f"{one.home}qualification/")
    page = one.get("qualification/1/")
    html = page.content.decode()
    assert 'name="highlights"' not in html
    assert "highlight.js" not in html

    data = {"state": page.context["state"], "go": "next", **ANSWERS, "highlights": '[[0,1,"x"]]'}
    one.client.post(f"{one.home}qualification/1/", data)

    assert Annotation.objects.filter(item__kind=Item.Kind.PRACTICE).exists()
    assert not Rating.objects.marks().exists()


def test_saving_with_highlights_stays_within_the_queries_of_a_save(tab):
    word = words_of(tab, 0, 0)
    save(tab, word)
    tab.open(2)
    data = fill_in(tab, words_of(tab, 0, 0))

    with CaptureQueriesContext(connection) as queries:
        response = tab.client.post(tab.address_of(2), data, follow=True)

    asked = [
        query["sql"]
        for query in queries
        if not query["sql"].startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE"))
    ]
    assert response.status_code == 200
    assert Rating.objects.marks().count() == 2
    assert len(asked) <= MOST_QUERIES, "\n".join(asked)


def test_the_box_for_passages_has_its_words_and_its_hint(tab):
    html = tab.page.content.decode()

    assert "Copy passages here, one per line" in html
    assert CONFIG.highlight in html
    assert "go into the text to highlight passages" in html


@pytest.mark.torture
@pytest.mark.slow
def test_simulated_visitors_mark_passages_through_the_page(study):
    study.is_demo = True
    study.save()

    for _ in simulate_crowd(study, participants=3, seed="marks"):
        pass

    assert any(marked_in(annotation) for annotation in Annotation.objects.all())
