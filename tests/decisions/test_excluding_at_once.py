"""Two researchers who exclude the same people at one moment: one decision each, and no error."""

from functools import partial

import pytest
from django.db import connection  # noqa: F401 (only_postgresql asks it)

from evalsite.decisions.exclusions import exclude
from evalsite.decisions.models import Exclusion
from evalsite.people.models import Participant
from tests.support.factories import make_participant, make_study
from tests.support.races import Held, at_once, only_postgresql

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


def decide(me: Participant, reason: str) -> int:
    """How many exclusions this decision made."""
    return len(exclude(study=me.study, participants=[me], reason=reason, by=None))


def test_same_person_excluded_by_several_at_once_is_excluded_once():
    me = make_participant(make_study(items=1))

    made = at_once([partial(decide, me, f"Reason {number}") for number in range(4)])

    assert sorted(made) == [0, 0, 0, 1]
    assert Exclusion.objects.active().count() == 1


@only_postgresql
def test_second_decision_waits_for_the_first_and_then_sees_it():
    me = make_participant(make_study(items=1))
    race = Held(partial(decide, me, "First"), partial(decide, me, "Second"))

    made = race.run()

    assert race.has_waited
    assert made == (1, 0)
    assert Exclusion.objects.get().reason == "First"
