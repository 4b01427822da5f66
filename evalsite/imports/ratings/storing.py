"""Checked answers put into the database, prepared so that nobody waits long for it.

As with items, rows wait in temporary tables, and one statement for each table moves them. What a
place shows and who an answer is of are known only while they move.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

from django.db import connection
from django.db.models import Max

from evalsite.annotation.models import Annotation, Rating, RatingsFile
from evalsite.annotation.taking import Wanted, take_places
from evalsite.imports.bulk import copy_rows, quote_table
from evalsite.imports.ratings.values import CheckedAnswer
from evalsite.lib.clock import now
from evalsite.lib.transactions import deferred_transaction
from evalsite.participants.models import Origin
from evalsite.studies.models import Study

_TABLES = ("staged_answer", "staged_rating", "staged_person", "staged_place")
_ANSWER = "key text, item bigint, person integer, shown text, note text, given text"
_RATING = (
    "(answer integer, criterion text, output bigint, value integer, typed text, record integer)"
)


class PreparedAnswers:
    """Answers of a file, made ready outside a transaction; what it took up is freed at the end."""

    def __init__(
        self, study: Study, answers: Sequence[CheckedAnswer], names: Sequence[str]
    ) -> None:
        self.study = study
        self.answers = answers
        self.names = names

    def __enter__(self) -> "PreparedAnswers":
        _drop_staged()
        stage = _stage_on_sqlite if connection.vendor == "sqlite" else _stage_on_postgresql
        stage(_list_answers(self.answers, self.names), _list_ratings(self.answers))
        return self

    def __exit__(self, *error: object) -> None:
        if not connection.needs_rollback and connection.is_usable():
            _drop_staged()

    def store(self, file: RatingsFile, people: Mapping[str, int]) -> int:
        """They stand in the study as this file's; returns how many count. Inside a transaction."""
        wanted = [
            Wanted(
                participant_id=people[answer.participant],
                item_id=answer.item.pk,
                key=answer.item.key,
                order_shown=answer.order_shown,
            )
            for answer in self.answers
        ]
        slots = take_places(self.study, wanted)
        _fill("staged_person", enumerate(people[name] for name in self.names))
        _fill(
            "staged_place",
            ((number, slot) for number, slot in enumerate(slots, start=1) if slot is not None),
        )
        _move(self.study, file)
        return sum(slot is not None for slot in slots)


# --- rows -----------------------------------------------------------------------------


def _list_answers(
    answers: Sequence[CheckedAnswer], names: Sequence[str]
) -> Iterator[tuple[object, ...]]:
    """The answers, numbered from 1, each with the number of its participant."""
    numbers = {name: number for number, name in enumerate(names)}
    is_sqlite = connection.vendor == "sqlite"
    for number, answer in enumerate(answers, start=1):
        key = uuid4()
        yield (
            number, key.hex if is_sqlite else str(key), answer.item.pk,
            numbers[answer.participant], json.dumps(list(answer.order_shown)), answer.note,
            answer.time,
        )  # fmt: skip


def _list_ratings(answers: Sequence[CheckedAnswer]) -> Iterator[tuple[object, ...]]:
    """The ratings, each with the number of its answer; output 0 is none."""
    for number, answer in enumerate(answers, start=1):
        for one in answer.ratings.values():
            yield (
                number, one.criterion, one.output_id or 0, one.value, one.typed, one.record,
            )  # fmt: skip


# --- temporary tables -----------------------------------------------------------------
# names of tables and columns come from the models, values go as parameters


def _stage_on_sqlite(
    answers: Iterable[tuple[object, ...]], ratings: Iterable[tuple[object, ...]]
) -> None:
    with connection.cursor() as cursor, deferred_transaction():
        _create_tables(cursor, "no INTEGER PRIMARY KEY")
        cursor.executemany(
            "INSERT INTO temp.staged_answer VALUES (%s, %s, %s, %s, %s, %s, %s)",
            answers,  # type: ignore[arg-type]
        )
        cursor.executemany(
            "INSERT INTO temp.staged_rating VALUES (%s, %s, %s, %s, %s, %s)",
            ratings,  # type: ignore[arg-type]
        )


def _stage_on_postgresql(
    answers: Iterable[tuple[object, ...]], ratings: Iterable[tuple[object, ...]]
) -> None:
    """The answers have the ids that they will have."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_serial_sequence(%s, 'id')", [quote_table(Annotation)])
        sequence = cursor.fetchone()[0]
        _create_tables(cursor, f"id bigint DEFAULT nextval('{sequence}'), no integer PRIMARY KEY")
        copy_rows(cursor, "staged_answer (no, key, item, person, shown, note, given)", answers)
        copy_rows(cursor, "staged_rating", ratings)
        cursor.execute("ANALYZE staged_answer, staged_rating")


def _create_tables(cursor: Any, first: str) -> None:
    cursor.execute(f"CREATE TEMP TABLE staged_answer ({first}, {_ANSWER})")
    cursor.execute(f"CREATE TEMP TABLE staged_rating {_RATING}")
    cursor.execute("CREATE TEMP TABLE staged_person (no integer PRIMARY KEY, id bigint)")
    cursor.execute("CREATE TEMP TABLE staged_place (no integer PRIMARY KEY, id bigint)")


def _drop_staged() -> None:
    schema = "temp" if connection.vendor == "sqlite" else "pg_temp"
    with connection.cursor() as cursor:
        for table in _TABLES:
            cursor.execute(f"DROP TABLE IF EXISTS {schema}.{table}")


def _fill(table: str, rows: Iterable[tuple[int, int]]) -> None:
    """These pairs stand in the table, and nothing else does."""
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {table}")  # noqa: S608
        if connection.vendor == "sqlite":
            cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s)", rows)  # type: ignore[arg-type] # noqa: S608
        else:
            copy_rows(cursor, table, rows)


# --- moving ---------------------------------------------------------------------------


def _move(study: Study, file: RatingsFile) -> None:
    """The rows that wait are the study's, in the order of the file."""
    is_sqlite = connection.vendor == "sqlite"
    # the lock is held, so nobody else takes these ids; PostgreSQL has given them out already
    last = Annotation.objects.aggregate(last=Max("id"))["last"] or 0 if is_sqlite else 0
    new_id = f"{last} + answer.no" if is_sqlite else "answer.id"
    columns, values, given = _plan_annotation(study, file, new_id)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {quote_table(Annotation)} ({columns}) SELECT {values} "  # noqa: S608
            "FROM staged_answer AS answer "
            "JOIN staged_person AS person ON person.no = answer.person "
            "LEFT JOIN staged_place AS place ON place.no = answer.no ORDER BY answer.no",
            given,
        )
        of_answer = f"{last} + rating.answer" if is_sqlite else "answer.id"
        joined = "" if is_sqlite else "JOIN staged_answer AS answer ON answer.no = rating.answer "
        cursor.execute(
            f"INSERT INTO {quote_table(Rating)} "  # noqa: S608
            "(study_id, annotation_id, criterion, output_id, value, value_typed, file_row) "
            f"SELECT %s, {of_answer}, rating.criterion, NULLIF(rating.output, 0), rating.value, "
            f"rating.typed, rating.record FROM staged_rating AS rating {joined}"
            "ORDER BY rating.record",
            [_adapt(Annotation(study=study), "study")],
        )


def _plan_annotation(study: Study, file: RatingsFile, new_id: str) -> tuple[str, str, list[Any]]:
    """Columns of an annotation, where the value of each comes from, and those equal for all."""
    moment = now()
    same = Annotation(
        study=study, ratings_file=file, origin=Origin.IMPORTED, started_at=moment,
        submitted_at=moment,
    )  # fmt: skip
    is_sqlite = connection.vendor == "sqlite"
    own = {
        "id": new_id,
        "key": "answer.key" if is_sqlite else "answer.key::uuid",
        "item": "answer.item",
        "participant": "person.id",
        "slot": "place.id",
        "status": "CASE WHEN place.id IS NULL THEN 'surplus' ELSE 'counted' END",
        "order_shown": "answer.shown" if is_sqlite else "answer.shown::jsonb",
        "note": "answer.note",
        "time_given": "answer.given",
    }
    fields = Annotation._meta.concrete_fields
    values = [own.get(field.name, "%s") for field in fields]
    given = [_adapt(same, field.name) for field in fields if field.name not in own]
    columns = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
    return columns, ", ".join(values), given


def _adapt(row: Annotation, name: str) -> Any:
    """The value of this field as its column stores it."""
    field = next(one for one in Annotation._meta.concrete_fields if one.name == name)
    return field.get_db_prep_save(getattr(row, field.attname), connection)
