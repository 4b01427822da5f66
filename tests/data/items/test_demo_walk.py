"""Every demo study can be tried to the code, beside its simulated crowd."""

from random import Random

import pytest
from django.test import Client

from evalsite.data.demo import SETS_KEPT, add_demo_crowds, make_demo_studies
from evalsite.fieldwork.simulation import Crowd, Visitor
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Slot
from evalsite.lib.clock import now
from evalsite.people.models import Origin, Participant
from evalsite.studies.models import Study
from evalsite.studies.set_size import mains_per_set
from tests.support.factories import make_annotator, make_user, mint_link

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class Walker(Visitor):
    """Somebody who tries a demo: they know the right answers, and stop after one set."""

    def __init__(self, study: Study) -> None:
        super().__init__(Crowd(study, "walk"), Random("walk"), now(), latest=now())
        self.sets_wanted = 1

    def _walks_away(self, address: str) -> bool:
        return False

    def _answers_rightly(self) -> bool:
        return True


def take_part_at_once(visitor: Visitor, *, is_pilot: bool) -> Participant:
    """Fill as many sets as this visitor wants, without their pages."""
    study = visitor.study
    me = make_annotator(study, origin=Origin.SIMULATED)
    while item_set := claim_set(me):
        Slot.objects.filter(participant=me).update(state=Slot.State.DONE, lease_until=None)
        item_set.finished_at = now()
        item_set.save()
        if not visitor._wants_more():
            break
    return me


def walk_all(filled: list[tuple[Study, int]]) -> None:
    for study, people in filled:
        assert people >= 2, study.title
        me = Walker(study).take_part(is_pilot=False)
        [item_set] = me.item_sets.all()
        assert item_set.code, study.title
        assert item_set.code in Client().get(f"{mint_link(me)}finish/").text, study.title
        study.refresh_from_db()
        for _ in range(SETS_KEPT - 1):
            another = claim_set(make_annotator(study))
            assert another is not None, study.title
            mains = study.items.main().filter(pk__in=another.item_ids).count()
            assert mains == mains_per_set(study), study.title


def make_demos() -> list[Study]:
    made, failed = make_demo_studies(by=make_user())
    assert failed == []
    assert len(made) == 6
    return made


@pytest.mark.torture
def test_each_demo_has_ten_sets_beside_its_crowd_and_is_walked_to_the_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_demos()
    with monkeypatch.context() as patched:
        patched.setattr(Visitor, "take_part", take_part_at_once)
        filled, failed = add_demo_crowds()

    assert failed == []
    walk_all(filled)


@pytest.mark.torture
def test_each_demo_is_walked_to_the_code_beside_a_crowd_that_went_through_its_pages() -> None:
    make_demos()

    filled, failed = add_demo_crowds()

    assert failed == []
    walk_all(filled)
