"""Rows of participants.csv: one for each person who came, in that order."""

from collections.abc import Iterator
from typing import Any

from django.db.models import Count, QuerySet

from evalsite.annotation.bonus import find_earners
from evalsite.annotation.models import Annotation
from evalsite.exports.answer_cells import find_exclusions
from evalsite.exports.cells import PAGE, Source, make_pages, say, write_time
from evalsite.exports.people_columns import PARTICIPANTS
from evalsite.exports.selection import Selection
from evalsite.participants.models import ItemSet, Origin
from evalsite.studies.models import Item, Study

_FIELDS = (
    "id", "pseudonym", "origin", "is_pilot", "created_at", "consented_to", "is_eligible", "tries",
    "is_qualified", "withdrawn_at", "is_person",
)  # fmt: skip


def read_participants(study: Study, selection: Selection | None = None) -> Source:
    """Rows of participants.csv. Inside a consistent cut, all of one moment."""
    names = tuple(column.name for column in PARTICIPANTS)
    return Source(names, (), make_pages(_read(study, selection or Selection()), PAGE))


def _read(study: Study, selection: Selection) -> Iterator[list[str]]:
    earners = find_earners(study)
    excluded = find_exclusions(study)
    finished = _count_by_person(ItemSet.objects.filter(study=study, finished_at__isnull=False))
    given = Annotation.objects.agreed().filter(study=study, item__kind=Item.Kind.MAIN)
    answers = _count_by_person(given)
    people = selection.find_participants(study).order_by("id")
    for one in people.values_list(*_FIELDS, named=True).iterator(chunk_size=PAGE):
        reasons = excluded.get(("participant", one.id), [])
        cells = {
            "study": str(study.pk),
            "participant": one.pseudonym,
            "person": say(one.is_person),
            "origin": one.origin,
            "pilot": say(one.is_pilot),
            # when others were imported is no fact of theirs
            "arrived_at": "" if one.origin == Origin.IMPORTED else write_time(one.created_at),
            "consent": "" if one.origin == Origin.IMPORTED else say(one.consented_to),
            "eligible": _say_if_known(one.is_eligible),
            "tries": str(one.tries),
            "qualified": _say_if_known(one.is_qualified),
            "sets_finished": str(finished.get(one.id, 0)),
            "answers": str(answers.get(one.id, 0)),
            "bonus": "" if one.origin == Origin.IMPORTED else say(one.id in earners),
            "withdrawn_at": "" if one.withdrawn_at is None else write_time(one.withdrawn_at),
            "excluded": say(reasons),
            "exclusion_reason": "; ".join(reasons),
        }
        yield [cells[column.name] for column in PARTICIPANTS]


def _say_if_known(flag: bool | None) -> str:
    return "" if flag is None else say(flag)


def _count_by_person(rows: QuerySet[Any]) -> dict[int, int]:
    counted = rows.order_by().values_list("participant").annotate(n=Count("pk"))
    return dict(counted)
