"""The way of one annotator, page by page, through the real templates."""

import pytest

from evalsite.annotation.models import Annotation, Rating, Slot
from evalsite.annotation.simulation import simulate_crowd
from tests.factories import launch, make_study

pytestmark = pytest.mark.django_db


def test_simulated_crowd_fills_every_slot_exactly_once():
    study = launch(make_study(items=12, is_demo=True, set_size=5))

    people = list(simulate_crowd(study, participants=12, seed="1"))

    assert len(people) == 12
    counted = Annotation.objects.filter(study=study).counted()
    assert counted.count() == Slot.objects.filter(study=study).done().count() == 36
    assert Rating.objects.filter(annotation__in=counted).count() == 108
