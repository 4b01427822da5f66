"""Which refusals of the database mean a lost race, and which are shown at once."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from evalsite.handout.models import Annotation, Slot
from evalsite.lib.clock import now
from evalsite.lib.integrity import is_violation
from evalsite.people.models import Participant
from evalsite.studies.models import Item, Study
from tests.support.factories import answer_item, launch, make_annotator, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

KEY, PLACE, PERSON = (
    "one_annotation_per_key",
    "one_annotation_per_slot",
    "one_annotation_of_an_item_per_participant",
)


@pytest.fixture
def study() -> Study:
    return launch(make_study(items=2, k=2, set_size=2))


def take_place(me: Participant, item: Item) -> Slot:
    slot = Slot.objects.free().filter(item=item).first()
    assert slot is not None
    slot.state, slot.participant, slot.lease_until = Slot.State.LEASED, me, now()
    slot.save()
    return slot


def store(standing: Annotation, **other: Any) -> None:
    """A copy of the annotation that shares with it what is not named."""
    copied = Annotation.objects.get(pk=standing.pk)
    copied.pk, copied._state.adding = None, True
    for name, value in other.items():
        setattr(copied, name, value)
    with transaction.atomic():
        copied.save()


@pytest.mark.parametrize("name", [KEY, PLACE, PERSON])
def test_constraint_is_known_by_its_name_on_both_databases(study: Study, name: str) -> None:
    me, other = make_annotator(study), make_annotator(study)
    item = study.items.main()[0]
    take_place(me, item)
    answer_item(me, item)
    standing = Annotation.objects.get()
    shared = {
        KEY: {"participant": other, "status": "surplus", "slot": None},
        PLACE: {"participant": other, "key": uuid4()},
        PERSON: {"key": uuid4(), "status": "surplus", "slot": None},
    }

    with pytest.raises(IntegrityError) as refused:
        store(standing, **shared[name])

    assert is_violation(refused.value, Annotation, name)
    assert not is_violation(refused.value, Annotation, *({KEY, PLACE, PERSON} - {name}))
    assert not is_violation(refused.value, Slot, "one_slot_of_an_item_per_participant")


def test_place_of_an_item_that_somebody_has_already_is_known_by_its_name(study: Study) -> None:
    me, item = make_annotator(study), study.items.main()[0]
    take_place(me, item)

    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        take_place(me, item)

    assert is_violation(refused.value, Slot, "one_slot_of_an_item_per_participant")


def test_refusal_that_is_no_lost_race_is_shown_at_once(study: Study) -> None:
    me, item = make_annotator(study), study.items.main()[0]
    take_place(me, item)

    with pytest.raises(IntegrityError), CaptureQueriesContext(connection) as captured:
        answer_item(me, item, client_ms=-1)

    tried = [query["sql"] for query in captured if 'INTO "annotation_annotation"' in query["sql"]]
    assert len(tried) == 1
    assert not Annotation.objects.exists()
    assert Slot.objects.leased().count() == 1
