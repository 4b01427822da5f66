"""A study that a crowd has rated already: as many ratings as are asked for, in a few statements."""

from datetime import datetime, timedelta
from uuid import uuid4

from django.db import connection

from evalsite.handout.models import Annotation, Rating, Slot
from evalsite.lib.clock import now
from evalsite.people.models import ItemSet
from evalsite.people.random_codes import make_completion_code
from evalsite.studies.models import Output, Study
from tests.bench.study import SET_SIZE, make_live_study
from tests.support.factories import make_annotator

_PER_PERSON = 300
_PER_ANNOTATION = 3
_K = 3
_CHUNK = 20_000
_DAYS = timedelta(days=10)
_PACE = timedelta(seconds=20)
_VALUE = "1 + (one.id * 7 + output.id * 13) %% 400"


def make_crowded_study(items: int, *, people: int, each: int) -> Study:
    """A live study on which so many people have given so many answers each, over ten days."""
    study = make_live_study(items)
    slots = list(Slot.objects.filter(study=study, no=0).order_by("id")[: people * each])
    began = now() - _DAYS
    for start in range(0, len(slots), each):
        moment = began + start / len(slots) * (_DAYS - each * _PACE)
        _answer(study, slots[start : start + each], moment)
    _rate_all(study)
    return study


def make_rated_study(ratings: int) -> Study:
    """A live study whose items all have their k annotations, three ratings each."""
    study = make_live_study(-(-ratings // (_PER_ANNOTATION * _K)))
    for number in range(_K):
        # nobody answers an item twice
        slots = Slot.objects.filter(study=study, no=number).order_by("id")
        while free := list(slots.free()[:_CHUNK]):
            for start in range(0, len(free), _PER_PERSON):
                _answer(study, free[start : start + _PER_PERSON], now())
    _rate_all(study)
    return study


def _answer(study: Study, slots: list[Slot], moment: datetime) -> None:
    """One person has answered all of these, in sets, from this moment on."""
    me = make_annotator(study)
    version = study.versions.last()
    sets = ItemSet.objects.bulk_create(
        ItemSet(
            study=study,
            participant=me,
            number=number + 1,
            item_ids=[slot.item_id for slot in slots[start : start + SET_SIZE]],
            code=make_completion_code(),
            finished_at=moment,
        )
        for number, start in enumerate(range(0, len(slots), SET_SIZE))
    )
    Slot.objects.filter(pk__in=[slot.pk for slot in slots]).update(
        state=Slot.State.DONE, participant=me, lease_until=None
    )
    Annotation.objects.bulk_create(
        Annotation(
            study=study,
            item_id=slot.item_id,
            participant=me,
            slot=slot,
            item_set=sets[number // SET_SIZE],
            place=number % SET_SIZE + 1,
            key=uuid4(),
            status=Annotation.Status.COUNTED,
            version=version,
            order_shown=[(slot.arrangement + turn) % 3 for turn in range(3)],
            device="wide-landscape",
            language="en-GB",
            started_at=moment + number * _PACE,
            submitted_at=moment + (number + 1) * _PACE,
            active_ms=1000 + number,
        )
        for number, slot in enumerate(slots)
    )


def _rate_all(study: Study) -> None:
    """Each annotation has a score for each of its outputs."""
    names = {
        model: connection.ops.quote_name(model._meta.db_table)
        for model in (Annotation, Output, Rating)
    }
    study_id = Annotation._meta.get_field("study").get_db_prep_value(study.pk, connection)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {names[Rating]} "  # noqa: S608 (names of tables)
            "(study_id, annotation_id, criterion, output_id, value, text) "
            "SELECT one.study_id, one.id, 'informativeness', output.id, "
            f"{_VALUE}, CAST({_VALUE} AS text) "
            f"FROM {names[Annotation]} AS one "
            f"JOIN {names[Output]} AS output ON output.item_id = one.item_id "
            "WHERE one.study_id = %s ORDER BY one.id, output.position",
            [study_id],
        )
        if connection.vendor == "postgresql":
            cursor.execute("ANALYZE")
