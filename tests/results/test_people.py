"""The list of people: a researcher finds somebody by what they were given."""

import pytest
from django.urls import reverse

from evalsite.decisions.models import PeopleFigures
from evalsite.lib.clock import now
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.models import Study
from tests.support.factories import (
    answer_item,
    launch,
    make_annotator,
    make_participant,
    make_study,
    set_completion,
)


def url(study: Study) -> str:
    return reverse("admin:study-people", args=[study.pk])


def finish_set(me: Participant, code: str) -> ItemSet:
    return ItemSet.objects.create(
        study=me.study, participant=me, number=1, code=code, finished_at=now()
    )


def found(client, study: Study, search: str) -> list[str]:
    page = client.get(url(study), {"q": search})
    return [person.participant.pseudonym for person in page.context["people"]]


def test_code_pseudonym_and_receipt_each_find_their_person(staff_client):
    study = make_study(items=1)
    me, other = make_participant(study), make_participant(study)
    finish_set(me, "K7QF-3M2X")
    finish_set(other, "AAAA-BBBB")

    for search in (" k7qf-3m2x ", me.pseudonym, me.receipt):
        assert found(staff_client, study, search) == [me.pseudonym]


def test_code_that_was_never_given_finds_nobody(staff_client):
    study = make_study(items=1)
    finish_set(make_participant(make_study(items=1, title="Another")), "K7QF-3M2X")

    page = staff_client.get(url(study), {"q": "K7QF-3M2X"})

    assert "0 people found" in page.text
    assert page.context["people"] == []


def test_row_tells_code_answers_receipt_and_state(staff_client):
    study = launch(make_study(items=2))
    me = make_annotator(study)
    finish_set(me, "K7QF-3M2X")
    answer_item(me, study.items.main().first())
    answer_item(me, study.items.practice().first())

    [person] = staff_client.get(url(study)).context["people"]

    assert (person.state, person.answers) == ("finished", 1)
    assert [code for _, code in person.finished] == ["K7QF-3M2X"]


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({}, "in progress"),
        ({"stopped_at": now()}, "stopped"),
        ({"withdrawn_at": now(), "stopped_at": now()}, "withdrawn"),
        ({"is_pilot": True}, "pilot, in progress"),
    ],
)
def test_state_says_where_somebody_stands(staff_client, fields, state):
    study = make_study(items=1)
    me = make_participant(study, **fields)
    ItemSet.objects.create(study=study, participant=me, number=1)

    [person] = staff_client.get(url(study)).context["people"]

    assert person.state == state


def test_fixed_code_finds_all_who_finished_and_says_that_it_is_shared(staff_client):
    study = make_study(items=1)
    set_completion(study, code="DONE-1")
    me = make_participant(study)
    finish_set(me, "K7QF-3M2X")
    make_participant(study)

    page = staff_client.get(url(study), {"q": "done-1"})
    other = staff_client.get(url(study), {"q": me.pseudonym})

    assert [person.participant for person in page.context["people"]] == [me]
    assert page.context["shared_codes"] == ["DONE-1"]
    assert other.context["shared_codes"] == []


def test_broken_search_and_page_are_answered(staff_client):
    study = make_study(items=1)

    page = staff_client.get(url(study), {"q": "\0<b>%_" * 900, "page": "-7"})

    assert page.status_code == 200
    assert "<b>%_" not in page.text


def test_list_of_many_people_takes_the_queries_of_a_few(
    staff_client, django_assert_max_num_queries
):
    study = make_study(items=1)
    finish_set(make_participant(study), "AAAA-0001")
    with django_assert_max_num_queries(14) as few:
        staff_client.get(url(study))
    for number in range(205):
        finish_set(make_participant(study), f"BBBB-{number:04}")

    with django_assert_max_num_queries(len(few.captured_queries)):
        page = staff_client.get(url(study))

    assert len(page.context["people"]) == 200
    assert len(staff_client.get(url(study), {"page": 2}).context["people"]) == 6


def test_list_is_sorted_by_a_figure_and_people_without_it_are_last(staff_client):
    study = make_study(items=1)
    first, second, third = (make_participant(study) for _ in range(3))
    figures = {first: {"seconds": 30, "answers": 4}, second: {"seconds": 10, "answers": 9}}
    PeopleFigures.objects.create(
        study=study,
        measured_at=now(),
        seconds=0,
        people={me.pk: {"pseudonym": me.pseudonym, **row} for me, row in figures.items()},
    )

    listed = {
        sort: [
            person.participant
            for person in staff_client.get(url(study), {"sort": sort}).context["people"]
        ]
        for sort in ("", "seconds", "-seconds", "-answers", "nothing")
    }

    assert listed == {
        "": [third, second, first],
        "seconds": [second, first, third],
        "-seconds": [first, second, third],
        "-answers": [second, first, third],
        "nothing": [third, second, first],
    }
    page = staff_client.get(url(study), {"sort": "-seconds"}).text
    assert 'aria-sort="descending"><a href="?sort=seconds#everyone">Median' in page
