"""The cells that all rows of an annotation share, in whichever file they stand."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Count

from evalsite.annotation.models import Revision
from evalsite.exports.cells import Column
from evalsite.exports.queries import Answers
from evalsite.participants.models import Origin, Participant
from evalsite.quality.models import Exclusion
from evalsite.studies.models import Item, Study, StudyVersion

SHARED = (
    "study", "version", "batch", "item", "group", "cluster", "kind", "annotation", "participant",
    "person", "set", "place_in_group", "place_in_set", "trial", "repeat_of", "status", "origin",
    "aids", "device", "language", "excluded", "exclusion_reason", "revisions", "started_at",
    "submitted_at", "seconds", "active_seconds", "time_given",
)  # fmt: skip
_WHOLE = len("2026-11-21T12:30:00.000000Z")


class AnswerCells:
    """Puts together what the rows of annotations share. Annotations are shown to it once each."""

    def __init__(self, study: Study) -> None:
        self._study_id = str(study.pk)
        versions = StudyVersion.objects.filter(study=study).values_list("id", "number")
        # none: before the launch
        self._versions: dict[int | None, str] = {None: ""}
        self._versions |= {pk: str(number) for pk, number in versions}
        batches = study.batches.values_list("id", flat=True)
        # as either database writes a UUID, or none
        self._batches = {None: "", "": ""} | {
            text: str(one) for one in batches for text in (one.hex, str(one))
        }
        self._excluded = find_exclusions(study)
        groups = Item.objects.filter(study=study).order_by().values("group").annotate(n=Count("id"))
        # alone in its group an item is always in the first place: only others are counted
        self._groups = set(groups.filter(n__gt=1).values_list("group", flat=True))
        self._has_revisions = Revision.objects.filter(study=study).exists()
        people = Participant.objects.filter(study=study).order_by()
        self._pseudonyms = dict(people.values_list("id", "pseudonym"))
        self._simulated = set(people.filter(is_person=False).values_list("id", flat=True))
        self.pilots = set(people.filter(is_pilot=True).values_list("id", flat=True))
        repeats = Item.objects.filter(study=study, repeat_of__isnull=False).order_by()
        self._originals = dict(repeats.values_list("id", "repeat_of__key"))
        self._trials: dict[int, int] = {}
        self._places: dict[tuple[int, str], int] = {}

    def count(self, found: Answers) -> tuple[list[str], list[str]]:
        """Running numbers, counted over all annotations, also over those left out of the file."""
        trials = [_count_one(self._trials, who) for who in found.participant_id]
        if not self._groups:
            return trials, ["1"] * len(trials)
        keys = zip(found.participant_id, found.group, strict=True)
        places = [_count_one(self._places, key) if key[1] in self._groups else "1" for key in keys]
        return trials, places

    def find_reasons(self, found: Answers) -> list[Sequence[str]]:
        """Why each of them is left out of analysis, if it is."""
        if not self._excluded:
            return [()] * len(found.id)
        return [
            (
                *self._excluded.get(("participant", who), ()),
                *self._excluded.get(("annotation", one), ()),
            )
            for who, one in zip(found.participant_id, found.id, strict=True)
        ]

    def share(
        self,
        answers: Answers,
        trials: list[str],
        places: list[str],
        reasons: Sequence[Sequence[str]],
    ) -> list[Column]:
        """The columns of SHARED, in that order."""
        return [
            [self._study_id] * len(answers.id),
            [*map(self._versions.__getitem__, answers.version_id)],
            [*map(self._batches.__getitem__, answers.batch)],
            answers.item,
            answers.group,
            answers.cluster,
            answers.kind,
            _hyphenate(answers.key),
            [*map(self._pseudonyms.__getitem__, answers.participant_id)],
            ["no" if who in self._simulated else "yes" for who in answers.participant_id],
            ["" if number is None else str(number) for number in answers.item_set],
            places,
            [
                "" if number is None else str(place)
                for place, number in zip(answers.place, answers.item_set, strict=True)
            ],
            trials,
            [self._originals.get(one, "") for one in answers.item_id],
            answers.status,
            answers.origin,
            _say_all(answers.is_aided),
            answers.device,
            answers.language,
            _say_all(reasons),
            [*map("; ".join, reasons)],
            self._count_revisions(answers),
            *_tell_times(answers),
            ["" if spent is None else str(spent / 1000) for spent in answers.active_ms],
            answers.time_given,
        ]

    def _count_revisions(self, answers: Answers) -> list[str]:
        if not self._has_revisions or not answers.id:
            return ["0"] * len(answers.id)
        # of all studies: by its key the database would read all revisions of the study each time
        found = Revision.objects.filter(
            annotation_id__gte=answers.id[0], annotation_id__lte=answers.id[-1]
        ).order_by()
        counted = dict(found.values_list("annotation").annotate(n=Count("id")))
        return [str(counted.get(one, 0)) for one in answers.id]


def _count_one(counts: dict[Any, int], key: Any) -> str:
    counts[key] = count = counts.get(key, 0) + 1
    return str(count)


def _hyphenate(keys: Column) -> Column:
    """SQLite keeps a UUID as 32 digits."""
    if not keys or len(keys[0]) != 32:
        return keys
    return [f"{key[:8]}-{key[8:12]}-{key[12:16]}-{key[16:20]}-{key[20:]}" for key in keys]


def _say_all(flags: Sequence[Any]) -> Column:
    return ["yes" if flag else "no" for flag in flags]


def _tell_times(answers: Answers) -> tuple[Column, Column, Column]:
    """When the annotations were begun and saved, and the seconds between."""
    begun, saved = (
        [one if len(one) == _WHOLE else _complete(one) for one in column]
        for column in (answers.started_at, answers.submitted_at)
    )
    read = datetime.fromisoformat
    moments = zip(map(read, begun), map(read, saved), strict=True)
    spent = [str((end - begin).total_seconds()) for begin, end in moments]
    if Origin.IMPORTED not in answers.origin:
        return begun, saved, spent
    # what the file says stands in time_given; when it was imported is no fact of the rating
    is_ours = [origin != Origin.IMPORTED for origin in answers.origin]
    begun, saved, spent = (
        [cell if one else "" for cell, one in zip(column, is_ours, strict=True)]
        for column in (begun, saved, spent)
    )
    return begun, saved, spent


def _complete(moment: str) -> str:
    """To the millionth, which SQLite leaves out where it is 0."""
    return f"{moment[:-1]}.000000Z"


def find_exclusions(study: Study) -> dict[tuple[str, int], list[str]]:
    """Reasons of the standing exclusions, by what they leave out."""
    found: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    standing = Exclusion.objects.standing().filter(study=study).order_by("id")
    for participant, annotation, reason in standing.values_list(
        "participant_id", "annotation_id", "reason"
    ):
        key = ("participant", participant) if participant else ("annotation", annotation)
        found[key].append(reason)
    # a plain dict: looking up the others must not add a list for each annotation
    return dict(found)
