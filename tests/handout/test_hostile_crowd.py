"""A crowd of which a tenth is hostile works beside an honest one, which doesn't notice."""

import pytest

from evalsite.handout.models import Annotation
from evalsite.studies.models import Item, Study
from tests.support.networks import Visitor, make_crowded
from tests.support.soak import serve_ordinary_requests

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.usefixtures("promises")]

SET_SIZE = 6


@pytest.fixture(autouse=True)
def _limits(settings) -> None:
    settings.JOINS_PER_ADDRESS, settings.JOINS_PER_STUDY = 60, 1_000
    settings.SAVES_A_MINUTE, settings.DRAFTS_A_MINUTE = 60, 60


def act_hostile(study: Study, number: int) -> None:
    """By turns: reports all of a set, takes places and leaves, or answers once before that.

    From three networks.
    """
    visitor = Visitor(study, f"198.51.{number % 3}.9")
    visitor.take_place()
    if visitor.item_set is None:
        return
    visitor.read_instructions()
    if number % 3 == 0:
        visitor.report(range(1, SET_SIZE + 1))
    elif number % 3 == 1:
        visitor.answer([1])


def act_honest(study: Study, number: int) -> Visitor:
    """Takes a set, answers it and finishes it, from a network of their own."""
    visitor = Visitor(study, f"203.0.{number // 250}.{number % 250}")
    response = visitor.take_place()
    assert response.status_code == 302, "no place for an honest person"
    assert visitor.item_set.total == SET_SIZE
    visitor.read_instructions()
    visitor.answer(range(1, SET_SIZE + 1))
    assert visitor.post(f"{visitor.home}sets/1/review/").status_code == 302
    assert visitor.item_set.finished_at is not None
    return visitor


def work(people: int, *, hostile: int) -> list[Visitor]:
    """So many honest people have finished a set each, with hostile people between them."""
    study = make_crowded(items=people * SET_SIZE // 2 + 60, k=3, set_size=SET_SIZE)
    honest = []
    for number in range(people):
        honest.append(act_honest(study, number))
        if hostile and number % (people // hostile) == 0:
            act_hostile(study, number // (people // hostile))
    assert Item.objects.filter(study=study, held_at__isnull=False).count() == 0
    counted = Annotation.objects.counted().filter(study=study)
    mine = counted.filter(participant__in=[visitor.me.pk for visitor in honest])
    assert mine.count() == people * SET_SIZE
    return honest


def compare_crowds(people: int) -> None:
    alone = sum(visitor.requests for visitor in work(people, hostile=0))
    beside = sum(visitor.requests for visitor in work(people, hostile=people // 10))

    assert beside <= 1.2 * alone


@pytest.mark.torture
def test_honest_people_finish_beside_a_hostile_tenth():
    serve_ordinary_requests()

    compare_crowds(20)


@pytest.mark.torture
@pytest.mark.both_databases
def test_two_hundred_honest_people_finish_beside_a_hostile_tenth():
    compare_crowds(200)


def act_in_bulk(study: Study, hostile: int) -> None:
    for number in range(hostile):
        act_hostile(study, number)


@pytest.mark.torture
def test_honest_people_find_places_after_all_hostile_people_came_first():
    study = make_crowded(items=100, k=3, set_size=SET_SIZE)
    act_in_bulk(study, 36)

    for number in range(5):
        act_honest(study, number)
    assert Item.objects.filter(study=study, held_at__isnull=False).count() == 0
