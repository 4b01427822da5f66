"""Rows of participants.csv: one for each person who came, in that order."""

from collections.abc import Iterator
from typing import Any

from django.db.models import Count, QuerySet

from evalsite.annotation.bonus import find_earners
from evalsite.annotation.models import Annotation
from evalsite.exchange.tables import PAGE, Cells, find_exclusions, say, write_time
from evalsite.participants.models import ItemSet, Participant
from evalsite.studies.models import Item, Study

_FIELDS = (
    "id", "pseudonym", "origin", "is_pilot", "created_at", "consented_to", "is_eligible", "tries",
    "is_qualified", "withdrawn_at",
)  # fmt: skip


def read_participants(
    study: Study, *, with_pilot: bool = False
) -> Iterator[tuple[Cells, list[Cells]]]:
    """Rows of participants.csv. Inside a consistent cut, all of one moment."""
    earners = find_earners(study)
    excluded = find_exclusions(study)
    finished = _count_by_person(ItemSet.objects.filter(study=study, finished_at__isnull=False))
    given = Annotation.objects.filter(study=study, item__kind=Item.Kind.MAIN)
    answers = _count_by_person(given)
    people = Participant.objects.filter(study=study).order_by("id")
    if not with_pilot:
        people = people.filter(is_pilot=False)
    for one in people.values_list(*_FIELDS, named=True).iterator(chunk_size=PAGE):
        reasons = excluded.get(("participant", one.id), [])
        yield (
            {
                "study": str(study.pk),
                "participant": one.pseudonym,
                "origin": one.origin,
                "pilot": say(one.is_pilot),
                "arrived_at": write_time(one.created_at),
                "consent": say(bool(one.consented_to)),
                "eligible": _say_if_known(one.is_eligible),
                "tries": one.tries,
                "qualified": _say_if_known(one.is_qualified),
                "sets_finished": finished.get(one.id, 0),
                "answers": answers.get(one.id, 0),
                "bonus": say(one.id in earners),
                "withdrawn_at": one.withdrawn_at and write_time(one.withdrawn_at),
                "excluded": say(bool(reasons)),
                "exclusion_reason": "; ".join(reasons),
            },
            [{}],
        )


def count_participants(study: Study, *, with_pilot: bool = False) -> int:
    """How many rows participants.csv would have now."""
    people = Participant.objects.filter(study=study)
    return (people if with_pilot else people.filter(is_pilot=False)).count()


def _say_if_known(flag: bool | None) -> str | None:
    return None if flag is None else say(flag)


def _count_by_person(rows: QuerySet[Any]) -> dict[int, int]:
    counted = rows.order_by().values_list("participant").annotate(n=Count("pk"))
    return dict(counted)
