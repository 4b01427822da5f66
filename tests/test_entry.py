"""The entry questions: the box and the server agree on how long an answer may be."""

import re

import pytest
from django.test import Client

from evalsite.participants.services import record_consent
from tests.factories import make_participant, mint_link
from tests.tabs import make_live


@pytest.fixture
def questions(db) -> str:
    """The address of the entry questions of somebody who has just agreed."""
    me = make_participant(make_live())
    record_consent(participant=me, is_given=True)
    return f"{mint_link(me)}questions/"


def longest_in(page: str) -> int:
    return int(re.search(r'name="first_language"[^>]* maxlength="(\d+)"', page)[1])


@pytest.mark.parametrize(("too_many", "status"), [(0, 302), (1, 422)])
def test_an_answer_that_fits_the_box_is_taken_and_a_longer_one_is_not(questions, too_many, status):
    longest = longest_in(Client().get(questions).text)

    answers = {"first_language": "x" * (longest + too_many), "variety": "none"}

    assert Client().post(questions, answers).status_code == status
