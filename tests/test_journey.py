"""The way of one annotator, page by page, through the real templates."""

import pytest

from evalsite.annotation.dealing import make_slots
from evalsite.annotation.models import Annotation, Rating, Slot
from evalsite.annotation.simulation import simulate_crowd
from evalsite.studies.models import Study
from evalsite.studies.versions import make_version
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def launch(study: Study) -> Study:
    version = make_version(study, by=None)
    make_slots(study, study.batches.all())
    Study.objects.filter(pk=study.pk).update(state="live", version=version)
    study.refresh_from_db()
    return study


def test_simulated_crowd_fills_every_slot_exactly_once():
    study = launch(make_study(items=12, is_demo=True, set_size=5))
    Study.objects.filter(pk=study.pk).update(launched_at=study.created_at)
    study.refresh_from_db()

    people = list(simulate_crowd(study, participants=12, seed="1"))

    assert len(people) == 12
    counted = Annotation.objects.filter(study=study).counted()
    assert counted.count() == Slot.objects.filter(study=study).done().count() == 36
    assert Rating.objects.filter(annotation__in=counted).count() == 108
