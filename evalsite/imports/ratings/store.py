"""Checked answers become part of a study: all of them, or none; and out of it again.

As with items, rows wait in temporary tables, and one statement for each table moves them, so that
nobody waits long. An answer's place and its participant are known only during the move.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any
from uuid import uuid4

from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection
from django.db.models import Max

from evalsite.annotation.allocation.imported_slots import (
    PlaceRequest,
    check_at_rest,
    close_unanswered,
    fill_freed,
    free_places,
    make_places,
    open_for_answers,
    take_places,
)
from evalsite.annotation.allocation.slots import Progress
from evalsite.annotation.models import Annotation, Rating, RatingsFile, Revision
from evalsite.audit.models import AuditEntry
from evalsite.imports.bulk import insert_rows, quote_table
from evalsite.imports.core import HAS_CHANGED, HAS_FAULTS, Source
from evalsite.imports.models import Upload
from evalsite.imports.ratings.answers import CheckedAnswer, CheckedRatings
from evalsite.imports.ratings.columns import shorten
from evalsite.imports.ratings.items import CHUNK, PLATFORM, in_chunks
from evalsite.imports.uploads import clean_file_name
from evalsite.lib.clock import now
from evalsite.lib.deadlocks import in_transaction
from evalsite.lib.transactions import deferred_transaction
from evalsite.participants.models import Origin, Participant, ParticipantIdentity
from evalsite.quality.models import Exclusion
from evalsite.studies.models import Study

_TABLES = ("staged_answer", "staged_rating", "staged_person", "staged_place")
_ANSWER = "key text, item bigint, person integer, shown text, note text, given text"
_RATING = (
    "(answer integer, criterion text, output bigint, value text, record integer, part text, "
    "words text, detail text)"
)


def find_same_ratings(study: Study, sha256: str) -> RatingsFile | None:
    """Return the very same file, if it was imported earlier."""
    return RatingsFile.objects.filter(study=study, sha256=sha256).first()


def import_ratings(
    *,
    checked: CheckedRatings,
    source: Source,
    by: Any,
    progress: Progress = lambda done, total: None,
) -> RatingsFile:
    """Store the answers once; sent again, return the file that exists.

    They fill free places of their items in the order of the file; those beyond are surplus.
    """
    study = source.study
    if same := find_same_ratings(study, source.sha256):
        return same
    if not checked.is_importable:
        raise ValidationError(HAS_FAULTS)
    if not study.is_launched:
        # in short transactions, as by a launch; their batches open with the answers
        in_transaction(partial(check_at_rest, study))
        make_places(study, checked.batches, progress)
    try:
        # before the transaction, which holds SQLite's only writer lock
        with PreparedAnswers(study, checked.answers, checked.participants) as answers:
            return in_transaction(partial(_store, checked, answers, source, by=by))
    except IntegrityError:
        # the second of two clicks, or another file with these answers, was quicker
        if same := find_same_ratings(study, source.sha256):
            return same
        raise ValidationError(HAS_CHANGED) from None


def _store(
    checked: CheckedRatings, answers: "PreparedAnswers", source: Source, *, by: Any
) -> RatingsFile:
    """Store everything, with the log and the upload; inside a transaction."""
    study = check_at_rest(source.study)
    if same := find_same_ratings(study, source.sha256):
        return same
    file = RatingsFile.objects.create(
        study=study,
        file_name=clean_file_name(source.file_name),
        sha256=source.sha256,
        rows=checked.rows,
        has_persons=source.options["has_persons"],
        import_notes=checked.import_notes,
        uploaded_by=by if getattr(by, "is_authenticated", False) else None,
    )
    open_for_answers(study, checked.batches)
    people, newcomers = _find_people(study, checked.participants, has_persons=file.has_persons)
    counted = answers.store(file, people)
    if source.upload_key is not None:
        Upload.objects.filter(pk=source.upload_key, study=study).update(ratings_file=file)
    AuditEntry.objects.record(
        "ratings imported",
        by=by,
        study_id=study.pk,
        file=str(file.pk),
        sha256=file.sha256,
        rows=file.rows,
        has_persons=file.has_persons,
        participants=len(people),
        new_participants=newcomers,
        ratings=checked.ratings,
        counted=counted,
        surplus=len(checked.answers) - counted,
    )
    return file


def count_answers(file: RatingsFile) -> dict[str, int]:
    """Return how many answers of this file count, and how many are surplus."""
    answers = Annotation.objects.filter(ratings_file=file)
    counted = answers.counted().count()
    return {"counted": counted, "surplus": answers.count() - counted}


# --- people -------------------------------------------------------------------------


def _find_people(
    study: Study, names: Sequence[str], *, has_persons: bool
) -> tuple[dict[str, int], int]:
    """Return the participant of each name in the file, and how many of them are new."""
    known: dict[str, int] = {}
    for some in in_chunks(names):
        identities = ParticipantIdentity.objects.filter(
            study=study, platform=PLATFORM, outside_id__in=some
        )
        for name, pk, is_person in identities.values_list(
            "outside_id", "participant", "participant__is_person"
        ):
            if is_person != has_persons:
                raise ValidationError(
                    f"“{shorten(name)}” is in this study already, imported as "
                    f"{'one person' if is_person else 'no single person'}. Say the same of this "
                    "file, or undo the other one."
                )
            known[name] = pk
    new = [name for name in names if name not in known]
    people = Participant.objects.bulk_create(
        [Participant(study=study, origin=Origin.IMPORTED, is_person=has_persons) for _ in new],
        batch_size=CHUNK,
    )
    ParticipantIdentity.objects.bulk_create(
        [
            ParticipantIdentity(study=study, participant=one, platform=PLATFORM, outside_id=name)
            for name, one in zip(new, people, strict=True)
        ],
        batch_size=CHUNK,
    )
    return known | {name: one.pk for name, one in zip(new, people, strict=True)}, len(new)


# --- undo ---------------------------------------------------------------------------


def undo_ratings(*, file: RatingsFile, by: Any) -> int:
    """Remove what the file brought, except for the log entry; return how many answers went.

    Its places are free again, for people and for answers that wait for one. A participant who has
    answers of another file stays.
    """
    study = file.study
    answers = in_transaction(partial(_delete, file, by=by))
    if study.is_launched:
        fill_freed(study)
    return answers


def _delete(file: RatingsFile, *, by: Any) -> int:
    study = check_at_rest(file.study)
    answers = Annotation.objects.filter(ratings_file=file).order_by()
    people = set(answers.values_list("participant", flat=True))
    gone, freed = answers.count(), free_places(file)
    for model in (Rating, Revision, Exclusion):
        model.objects.filter(annotation__ratings_file=file).delete()
    # nothing refers to them any more; Django would look for it row by row
    answers._raw_delete(answers.db)
    left = _delete_idle(people)
    close_unanswered(study)
    AuditEntry.objects.record(
        "ratings undone",
        by=by,
        study_id=study.pk,
        file=str(file.pk),
        sha256=file.sha256,
        answers=gone,
        freed=freed,
        participants=left,
    )
    file.delete()
    return gone


def _delete_idle(people: set[int]) -> int:
    """Participants of an import who have no answer left are gone; returns how many were."""
    gone = 0
    for some in in_chunks(people):
        idle = Participant.objects.filter(
            pk__in=some, origin=Origin.IMPORTED, annotations__isnull=True
        )
        gone += len(ids := list(idle.values_list("pk", flat=True)))
        Participant.objects.filter(pk__in=ids).delete()
    return gone


# --- preparing ----------------------------------------------------------------------


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
        _stage(_list_answers(self.answers, self.names), _list_ratings(self.answers))
        return self

    def __exit__(self, *error: object) -> None:
        if not connection.needs_rollback and connection.is_usable():
            _drop_staged()

    def store(self, file: RatingsFile, people: Mapping[str, int]) -> int:
        """Store them as this file's and return how many count; inside a transaction."""
        wanted = [
            PlaceRequest(
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
    """Return the answers, numbered from 1, each with the number of its participant."""
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
    """Return the ratings, each with the number of its answer; output 0 is none."""
    for number, answer in enumerate(answers, start=1):
        for row, _line, record in answer.ratings.values():
            yield (
                number, row.criterion, row.output or 0, "" if row.value is None else str(row.value),
                record, row.part, row.text, "" if row.detail is None else json.dumps(row.detail),
            )  # fmt: skip


# --- temporary tables -----------------------------------------------------------------
# names of tables and columns come from the models, values go as parameters


def _stage(answers: Iterable[tuple[object, ...]], ratings: Iterable[tuple[object, ...]]) -> None:
    """The rows wait; on PostgreSQL the answers have the ids that they will have."""
    is_sqlite, first = connection.vendor == "sqlite", "no integer PRIMARY KEY"
    with connection.cursor() as cursor, deferred_transaction() if is_sqlite else nullcontext():
        if not is_sqlite:
            cursor.execute("SELECT pg_get_serial_sequence(%s, 'id')", [quote_table(Annotation)])
            first = f"id bigint DEFAULT nextval('{cursor.fetchone()[0]}'), {first}"
        cursor.execute(f"CREATE TEMP TABLE staged_answer ({first}, {_ANSWER})")
        cursor.execute(f"CREATE TEMP TABLE staged_rating {_RATING}")
        for table in ("staged_person", "staged_place"):
            cursor.execute(f"CREATE TEMP TABLE {table} (no integer PRIMARY KEY, id bigint)")
        insert_rows("staged_answer (no, key, item, person, shown, note, given)", 7, answers)
        insert_rows("staged_rating", 8, ratings)
        if not is_sqlite:
            cursor.execute("ANALYZE staged_answer, staged_rating")


def _drop_staged() -> None:
    schema = "temp" if connection.vendor == "sqlite" else "pg_temp"
    with connection.cursor() as cursor:
        for table in _TABLES:
            cursor.execute(f"DROP TABLE IF EXISTS {schema}.{table}")


def _fill(table: str, rows: Iterable[tuple[int, int]]) -> None:
    """Put these pairs into the table in place of others."""
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {table}")  # noqa: S608
    insert_rows(table, 2, rows)


# --- moving ---------------------------------------------------------------------------


def _move(study: Study, file: RatingsFile) -> None:
    """The rows that wait are the study's, in the order of the file."""
    is_sqlite = connection.vendor == "sqlite"
    # the lock keeps others from taking these ids; PostgreSQL has given them out already
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
        cast = "" if is_sqlite else "::jsonb"
        joined = "" if is_sqlite else "JOIN staged_answer AS answer ON answer.no = rating.answer "
        cursor.execute(
            f"INSERT INTO {quote_table(Rating)} "  # noqa: S608
            "(study_id, annotation_id, criterion, output_id, value, file_row, part, text, detail) "
            f"SELECT %s, {of_answer}, rating.criterion, NULLIF(rating.output, 0), "
            "CAST(NULLIF(rating.value, '') AS double precision), rating.record, rating.part, "
            f"rating.words, NULLIF(rating.detail, ''){cast} "
            f"FROM staged_rating AS rating {joined}"
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
    """Return the value of this field as its column stores it."""
    field = next(one for one in Annotation._meta.concrete_fields if one.name == name)
    return field.get_db_prep_save(getattr(row, field.attname), connection)
