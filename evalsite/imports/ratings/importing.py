"""Checked answers become part of a study: all of them, or none; and out of it again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError

from evalsite.annotation.models import Annotation, Highlight, Rating, RatingsFile, Revision
from evalsite.annotation.slots import Progress
from evalsite.annotation.taking import (
    check_at_rest,
    close_unanswered,
    fill_freed,
    free_places,
    make_places,
    open_for_answers,
)
from evalsite.audit.models import AuditEntry
from evalsite.imports.models import Upload
from evalsite.imports.ratings.checking import CheckedRatings
from evalsite.imports.ratings.finding import IMPORT
from evalsite.imports.ratings.rows import shorten
from evalsite.imports.ratings.storing import PreparedAnswers
from evalsite.imports.uploads import clean_file_name
from evalsite.lib.deadlocks import in_transaction
from evalsite.participants.models import Origin, Participant, ParticipantIdentity
from evalsite.quality.models import Exclusion
from evalsite.studies.models import Study

_CHUNK = 2_000
_CHANGED = "The study has changed since this file was checked. Look at the file again."


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where answers come from: a file, and whether each of its participants is one person."""

    file_name: str
    sha256: str
    has_persons: bool
    upload_key: UUID | None = None


def find_same_ratings(study: Study, sha256: str) -> RatingsFile | None:
    """The very same file, if it was imported earlier."""
    return RatingsFile.objects.filter(study=study, sha256=sha256).first()


def import_ratings(
    *,
    study: Study,
    checked: CheckedRatings,
    source: Source,
    by: Any,
    progress: Progress = lambda done, total: None,
) -> RatingsFile:
    """The answers are the study's, once: sent again, the file that stands is returned.

    They fill free places of their items in the order of the file; those beyond are surplus.
    """
    if same := find_same_ratings(study, source.sha256):
        return same
    if not checked.is_importable:
        raise ValidationError("The file has faults, so nothing was imported. Correct them first.")
    if not study.is_launched:
        # in short transactions, as by a launch; their batches open with the answers
        in_transaction(partial(check_at_rest, study))
        make_places(study, checked.batches, progress)
    try:
        # before the transaction, which holds SQLite's only writer lock
        with PreparedAnswers(study, checked.answers, checked.participants) as answers:
            return in_transaction(partial(_store, study, checked, answers, source, by=by))
    except IntegrityError:
        # the second of two clicks, or another file with these answers, was quicker
        if same := find_same_ratings(study, source.sha256):
            return same
        raise ValidationError(_CHANGED) from None


def _store(
    study: Study, checked: CheckedRatings, answers: PreparedAnswers, source: Source, *, by: Any
) -> RatingsFile:
    """Everything stands, and the log and the upload say so; inside a transaction."""
    current = check_at_rest(study)
    if same := find_same_ratings(study, source.sha256):
        return same
    file = RatingsFile.objects.create(
        study=study,
        file_name=clean_file_name(source.file_name),
        sha256=source.sha256,
        rows=checked.rows,
        has_persons=source.has_persons,
        uploaded_by=by if getattr(by, "is_authenticated", False) else None,
    )
    open_for_answers(current, checked.batches)
    people, newcomers = _find_people(current, checked.participants, has_persons=file.has_persons)
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


# --- people -------------------------------------------------------------------------


def _find_people(
    study: Study, names: Sequence[str], *, has_persons: bool
) -> tuple[dict[str, int], int]:
    """The participant of each name in the file, and how many of them are new."""
    known: dict[str, int] = {}
    for some in _in_chunks(names):
        identities = ParticipantIdentity.objects.filter(
            study=study, platform=IMPORT, outside_id__in=some
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
        batch_size=_CHUNK,
    )
    ParticipantIdentity.objects.bulk_create(
        [
            ParticipantIdentity(study=study, participant=one, platform=IMPORT, outside_id=name)
            for name, one in zip(new, people, strict=True)
        ],
        batch_size=_CHUNK,
    )
    return known | {name: one.pk for name, one in zip(new, people, strict=True)}, len(new)


# --- undo ---------------------------------------------------------------------------


def undo_ratings(*, file: RatingsFile, by: Any) -> int:
    """The file was never imported, but for the log; returns how many answers went.

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
    for model in (Rating, Highlight, Revision, Exclusion):
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
    for some in _in_chunks(people):
        idle = Participant.objects.filter(
            pk__in=some, origin=Origin.IMPORTED, annotations__isnull=True
        )
        gone += len(ids := list(idle.values_list("pk", flat=True)))
        Participant.objects.filter(pk__in=ids).delete()
    return gone


def _in_chunks(things: Any) -> Iterator[list[Any]]:
    rest = iter(things)
    while some := list(islice(rest, _CHUNK)):
        yield some
