"""Checked answers become part of a study: all of them, or none; and out of it again.

In one transaction, unlike items: an answer takes a place, which no one else may be given
meanwhile, and counts from that moment on, in the progress of the study and in each quota.
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection

from evalsite.core.audit.models import AuditEntry
from evalsite.data.importing import HAS_CHANGED, HAS_FAULTS, Source, insert_rows
from evalsite.data.models import Upload
from evalsite.data.ratings.answers import CheckedAnswer, CheckedRatings
from evalsite.data.ratings.columns import shorten
from evalsite.data.ratings.items import CHUNK, PLATFORM, in_chunks
from evalsite.data.tables.files import clean_file_name
from evalsite.decisions.models import Exclusion
from evalsite.handout.imported_slots import (
    PlaceRequest,
    check_at_rest,
    close_unanswered,
    fill_freed,
    free_places,
    make_places,
    open_for_answers,
    take_places,
)
from evalsite.handout.models import Annotation, Rating, RatingsFile, Revision
from evalsite.handout.slots import Progress
from evalsite.lib.clock import now
from evalsite.lib.deadlocks import in_transaction
from evalsite.people.models import Origin, Participant, ParticipantIdentity
from evalsite.studies.models import Study


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
    if earlier := find_same_ratings(study, source.sha256):
        return earlier
    if not checked.is_importable:
        raise ValidationError(HAS_FAULTS)
    if not study.is_launched:
        # in short transactions, as by a launch; their batches open with the answers
        in_transaction(partial(check_at_rest, study))
        make_places(study, checked.batches, progress)
    try:
        return in_transaction(partial(_store, checked, source, by=by))
    except IntegrityError:
        # the second of two clicks, or another file with these answers, was quicker
        if earlier := find_same_ratings(study, source.sha256):
            return earlier
        raise ValidationError(HAS_CHANGED) from None


def _store(checked: CheckedRatings, source: Source, *, by: Any) -> RatingsFile:
    """Store everything, with the log and the upload; inside a transaction."""
    study = check_at_rest(source.study)
    if earlier := find_same_ratings(study, source.sha256):
        return earlier
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
    counted = _insert_answers(file, checked.answers, people)
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
    for chunk in in_chunks(names):
        identities = ParticipantIdentity.objects.filter(
            study=study, platform=PLATFORM, outside_id__in=chunk
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
            ParticipantIdentity(
                study=study, participant=participant, platform=PLATFORM, outside_id=name
            )
            for name, participant in zip(new, people, strict=True)
        ],
        batch_size=CHUNK,
    )
    return known | {
        name: participant.pk for name, participant in zip(new, people, strict=True)
    }, len(new)


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
    for chunk in in_chunks(people):
        idle = Participant.objects.filter(
            pk__in=chunk, origin=Origin.IMPORTED, annotations__isnull=True
        )
        gone += len(ids := list(idle.values_list("pk", flat=True)))
        Participant.objects.filter(pk__in=ids).delete()
    return gone


# --- rows -----------------------------------------------------------------------------

_ANSWER_FIELDS = (
    "key", "item", "participant", "slot", "status", "order_shown", "note", "time_given",
)  # fmt: skip
_RATING_FIELDS = (
    "study", "annotation", "criterion", "output", "value", "file_row", "part", "text", "detail",
    "start", "end",
)  # fmt: skip


def _insert_answers(
    file: RatingsFile, answers: Sequence[CheckedAnswer], people: Mapping[str, int]
) -> int:
    """Store the answers as this file's and return how many count; inside a transaction."""
    requests = [
        PlaceRequest(
            participant_id=people[answer.participant],
            item_id=answer.item.pk,
            key=answer.item.key,
            order_shown=answer.order_shown,
        )
        for answer in answers
    ]
    slots = take_places(file.study, requests)
    # what is the same for all answers
    moment = now()
    usual = Annotation(
        study=file.study, ratings_file=file, origin=Origin.IMPORTED, started_at=moment,
        submitted_at=moment,
    )  # fmt: skip
    known = ("id", *_ANSWER_FIELDS)
    fields = [field for field in Annotation._meta.concrete_fields if field.name not in known]
    usual_values = [
        field.get_db_prep_save(getattr(usual, field.attname), connection) for field in fields
    ]
    ids = insert_rows(
        Annotation,
        (*_ANSWER_FIELDS, *(field.name for field in fields)),
        (
            (
                uuid4().hex, answer.item.pk, people[answer.participant], slot,
                str(Annotation.Status.SURPLUS if slot is None else Annotation.Status.COUNTED),
                json.dumps(answer.order_shown), answer.note, answer.time, *usual_values,
            )
            for answer, slot in zip(answers, slots, strict=True)
        ),
    )  # fmt: skip
    ratings = [
        (pk, rating)
        for pk, answer in zip(ids, answers, strict=True)
        for rating in answer.ratings.values()
    ]
    # in the order of the file
    ratings.sort(key=lambda pair: pair[1].record)
    study_id = file.study_id.hex
    insert_rows(
        Rating,
        _RATING_FIELDS,
        (
            (
                study_id, pk, row.criterion, row.output, row.value, record, row.part, row.text,
                None if row.detail is None else json.dumps(row.detail), row.start, row.end,
            )
            for pk, (row, _line, record) in ratings
        ),
    )  # fmt: skip
    return sum(slot is not None for slot in slots)
