"""Find rows that break a promise, and describe them in words."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import islice
from typing import Any

from django.db.models import Count, QuerySet

from evalsite.core.jobs.models import Job
from evalsite.handout.models import Annotation, Slot
from evalsite.lib.prepared import Prepared
from evalsite.studies.models import Study

MOST_EXAMPLES = 20
# the jobs that make and remove places
PLACE_JOBS = ("launch", "places")
# makes them too, in a study that was not launched yet
IMPORT_JOB = "import ratings"

Finder = Callable[[Any], Iterable[str]]

RESTORE = (
    "Something other than Evalsite has changed the database, or Evalsite has a fault. Stop the "
    "web server and the job worker, keep a copy of the present database, and restore the "
    "newest backup in which fsck finds nothing. If the fault comes back, report it with these "
    "lines."
)


@dataclass(frozen=True, kw_only=True)
class Check:
    """One promise: what rows that break it are called, how they are found, and what to do then."""

    wrong: str
    todo: str
    find: Finder

    @property
    def key(self) -> str:
        return self.find.__name__


@dataclass(frozen=True, kw_only=True)
class Breach:
    """Rows that break one promise: how many, and the first of them in words."""

    check: Check
    count: int
    examples: tuple[str, ...]

    @property
    def more(self) -> int:
        return self.count - len(self.examples)

    def __str__(self) -> str:
        rest = f", and {self.more:,} more" if self.more else ""
        return f"{self.check.wrong} ({self.count:,}): {'; '.join(self.examples)}{rest}"


def checks_in(*finders: tuple[str, Finder], todo: str = RESTORE) -> tuple[Check, ...]:
    return tuple(Check(wrong=wrong, find=find, todo=todo) for wrong, find in finders)


def run_checks(checks: Sequence[Check], scope: Study | None) -> list[Breach]:
    """Return what these checks find, twice: work that is being done meanwhile is no breach.

    Each question to the database sees one moment. Where a check asks several, people may save
    between them; findings are checked a second time, and reported only if found both times.
    """
    breaches = []
    for check in checks:
        first = _find(check, scope)
        second = _find(check, scope) if first else None
        if (
            first
            and second
            and (first.count > MOST_EXAMPLES or set(first.examples) & set(second.examples))
        ):
            breaches.append(second)
    return breaches


def _find(check: Check, scope: Study | None) -> Breach | None:
    rows = iter(check.find(scope))
    examples = tuple(islice(rows, MOST_EXAMPLES))
    if not examples:
        return None
    return Breach(check=check, count=len(examples) + sum(1 for _ in rows), examples=examples)


def is_in_progress(study: Study) -> bool:
    """Return whether places are being made or removed, or that has stopped and is to go on."""
    kinds = [*PLACE_JOBS, IMPORT_JOB]
    newest = {}
    for job in Job.objects.filter(study_id=study.pk, kind__in=kinds).order_by("created_at"):
        newest[job.kind] = job
    if not study.is_launched and ("launch" in newest or _is_unfinished(newest.get(IMPORT_JOB))):
        return True
    return _is_unfinished(newest.get("places"))


def _is_unfinished(job: Job | None) -> bool:
    return job is not None and job.state != Job.State.DONE


# --- rows in words ------------------------------------------------------------------------------


_PLACE = ("pk", "no", "item__key")
ANSWER = ("pk", "participant__pseudonym", "item__key")


def name_places(slots: QuerySet[Slot]) -> Iterator[str]:
    rows = slots.order_by("pk").values_list(*_PLACE).iterator()
    return (_name_place(*row) for row in rows)


def name_answers(annotations: QuerySet[Annotation]) -> Iterator[str]:
    rows = annotations.order_by("pk").values_list(*ANSWER).iterator()
    return (name_answer(*row) for row in rows)


def named(name: Callable[..., str]) -> Callable[[Callable[[Any], QuerySet[Any, Any]]], Finder]:
    """Name the rows that a function finds in a study by their values.

    The query is built once, so it may depend on nothing but the study's id.
    """

    def decorate(find: Callable[[Any], QuerySet[Any, Any]]) -> Finder:
        query: Prepared[Any] = Prepared(find)

        @wraps(find)
        def name_all(study: Study) -> Iterable[str]:
            return (name(*row) for row in query.all(study.pk))

        return name_all

    return decorate


def name_rows(
    find: Callable[[Any], QuerySet[Any]], columns: Sequence[str], name: Callable[..., str]
) -> Finder:
    """Name the wrong rows of a study by these columns, in the order in which they were stored."""

    @wraps(find)
    def find_columns(study_id: Any) -> QuerySet[Any, Any]:
        return find(study_id).order_by("pk").values_list(*columns)

    return named(name)(find_columns)


def names_places(find: Callable[[Any], QuerySet[Slot]]) -> Finder:
    return name_rows(find, _PLACE, _name_place)


def names_answers(find: Callable[[Any], QuerySet[Annotation]]) -> Finder:
    return name_rows(find, ANSWER, name_answer)


def _name_place(pk: int, number: int, item: str) -> str:
    return f"place {pk} (number {number} of item {item})"


def name_answer(pk: int, pseudonym: str, item: str) -> str:
    return f"answer {pk} of {pseudonym} to item {item}"


def find_twice(rows: QuerySet[Any], *columns: str) -> QuerySet[Any, Any]:
    """Count what answers hold more than once, by these columns."""
    counted = rows.order_by().values(*columns).annotate(n=Count("pk"))
    return counted.filter(n__gt=1).order_by("annotation")
