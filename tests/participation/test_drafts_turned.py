"""A draft comes back only onto the page it was written on: the same outputs in the same places."""

import pytest

from evalsite.handout.claims import claim_set
from evalsite.handout.models import Draft, Slot
from tests.support.factories import make_annotator
from tests.support.tabs import BOXES, after_the_lease, make_live, open_tab

pytestmark = pytest.mark.django_db


def write_and_lose_the_place(study):
    """A tab with scores and a note that were not sent, whose place is somebody else's now."""
    tab = open_tab(study)
    tab.post({BOXES[0]: "70", "note": "hard", "go": "back"})
    return tab


def test_scores_do_not_come_back_onto_other_outputs():
    study = make_live(items=1, k=2)
    tab = write_and_lose_the_place(study)

    with after_the_lease(study):
        claim_set(make_annotator(study))
        claim_set(tab.me)
        tab.open()

    assert Slot.objects.get(participant=tab.me).no == 1
    assert tab.entered == ("", "", "")
    assert Draft.objects.get().values[BOXES[0]] == "70"


def test_scores_come_back_when_the_same_place_does():
    study = make_live(items=1, k=2)
    tab = write_and_lose_the_place(study)

    with after_the_lease(study):
        Slot.objects.update(state=0, participant=None, lease_until=None)
        claim_set(tab.me)
        tab.open()

    assert Slot.objects.get(participant=tab.me).no == 0
    assert tab.entered == ("70", "", "")
