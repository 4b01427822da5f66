"""The way of one annotator, page by page, through the real templates."""

import pytest
from django.test import Client

from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation, Rating, Slot
from evalsite.instruments.installed import installed_protocols
from evalsite.studies.setting_changes import change_settings
from tests.support.factories import launch, make_annotator, make_study, make_user, mint_link

pytestmark = pytest.mark.django_db

CHANGED = "These instructions have changed since you read them."


@pytest.mark.torture
@pytest.mark.slow
@pytest.mark.both_databases
def test_simulated_crowd_fills_every_slot_exactly_once():
    study = launch(make_study(items=12, is_demo=True, set_size=5))

    people = list(simulate_crowd(study, participants=12, seed="1"))

    # who comes later finds no free place
    assert len(people) < 12
    counted = Annotation.objects.filter(study=study).counted()
    assert counted.count() == Slot.objects.filter(study=study).done().count() == 36
    assert Rating.objects.filter(annotation__in=counted).count() == 108


@pytest.mark.one_case
@pytest.mark.parametrize("protocol", sorted(installed_protocols()))
def test_who_returns_to_changed_instructions_is_told_and_reads_them_again(protocol):
    study = launch(make_study(protocol=protocol))
    me = make_annotator(study)
    claim_set(me)
    home, client = mint_link(me), Client()
    assert client.get(home).headers["Location"].endswith("/sets/1/items/1/")

    change_settings(
        study=study,
        values={"instructions": f"New from today.\n\n{study.config.instructions}"},
        revision=study.revision,
        by=make_user(),
        is_new_version=True,
    )

    page = client.get(home, follow=True)
    assert page.redirect_chain[-1][0].endswith("/instructions/")
    assert CHANGED in page.text
    assert "New from today." in page.text
    client.post(page.redirect_chain[-1][0])
    assert client.get(home).headers["Location"].endswith("/sets/1/items/1/")
    again = client.get(page.redirect_chain[-1][0])
    assert CHANGED not in again.text
