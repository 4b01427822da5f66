"""Who is at work in a study just now: nobody who has nothing left to do."""

import pytest

from evalsite.fieldwork.launch import pause_study
from evalsite.results.progress import activity_of
from evalsite.studies.models import Study
from tests.support.factories import make_user
from tests.support.tabs import make_live, open_tab

pytestmark = pytest.mark.django_db


def count_active(study: Study) -> int:
    study.refresh_from_db()
    return activity_of(study).active


@pytest.mark.both_databases
def test_people_who_have_finished_all_there_is_are_not_active():
    study = make_live(items=2, k=1)
    tab = open_tab(study)
    tab.open(1).save()
    assert count_active(study) == 1

    tab.finish()

    assert count_active(study) == 0


def test_people_who_have_finished_as_many_sets_as_they_may_are_not_active():
    study = make_live(items=4, set_size=2, max_sets=2)
    tab = open_tab(study)
    tab.finish()
    assert count_active(study) == 1

    Study.objects.update(max_sets=1)

    assert count_active(study) == 0


def test_in_a_paused_study_only_people_with_a_set_in_hand_are_active():
    study = make_live(items=4, set_size=2)
    open_tab(study).finish()
    open_tab(study).open(1).save()
    assert count_active(study) == 2

    pause_study(study=study, by=make_user())

    assert count_active(study) == 1
