"""Places for answers that were collected elsewhere.

Before the launch, the batches of such answers are opened for them: their places exist
as a launch would make them, and what is left of them is handed out after the launch.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models import Count

from evalsite.core.jobs.models import Job
from evalsite.handout.change_k import count_waiting
from evalsite.handout.models import Annotation, RatingsFile, Slot
from evalsite.handout.slots import Progress, make_slots
from evalsite.lib.clock import now
from evalsite.lib.seeds import arrange
from evalsite.people.models import Origin
from evalsite.studies.models import Batch, Item, Study

# with fewer items than this the places are looked up item by item
_FEW = 500
# the jobs that make and remove places
_BUSY = ("launch", "places")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceRequest:
    """An answer that needs a place: whose, of which item, with the outputs in which order."""

    participant_id: int
    item_id: int
    key: str
    order_shown: tuple[int, ...]


@dataclass(slots=True)
class _Free:
    """A free place of an item, and the order in which it shows the outputs."""

    pk: int
    arrangement: int


def check_at_rest(study: Study) -> Study:
    """Return the study's row, locked; ValidationError while its places are made or removed."""
    current = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if current.state == Study.State.ARCHIVED:
        raise ValidationError("This study is archived, so nothing is added to it or taken from it.")
    jobs = Job.objects.filter(study_id=study.pk, kind__in=_BUSY)
    if jobs.filter(state__in=[Job.State.WAITING, Job.State.RUNNING]).exists():
        raise ValidationError(
            "Places are being made or removed just now. Wait until that is done, then try again."
        )
    if not current.is_launched and current.version_id is not None:
        raise ValidationError(
            "The launch of this study has stopped in the middle. Start it again on the launch "
            "page; when that is done, try again."
        )
    return current


def count_free(study: Study, item_ids: Collection[int]) -> dict[int, int]:
    """Return how many more answers of each of these items would count."""
    free = Slot.objects.free().filter(study=study).order_by().values_list("item")
    if len(item_ids) < _FEW:
        free = free.filter(item__in=item_ids)
    counts = {item: n for item, n in free.annotate(n=Count("pk")).iterator()}
    if not study.is_launched:
        # of what is not open yet, all places are still to be made
        items = Item.objects.main().filter(study=study, batch__opened_at__isnull=True)
        counts |= dict.fromkeys(items.values_list("pk", flat=True).iterator(), study.k)
    return {item_id: counts.get(item_id, 0) for item_id in item_ids}


def make_places(study: Study, batches: Collection[UUID], progress: Progress) -> None:
    """Make the places of these batches' items; may be run again after a stop."""
    unopened = Batch.objects.filter(study=study, pk__in=batches, opened_at__isnull=True)
    if unopened and not study.is_launched:
        make_slots(study, unopened, progress)


def open_for_answers(study: Study, batches: Collection[UUID]) -> None:
    """Open these batches of a draft; inside a transaction."""
    if study.is_launched:
        return
    Batch.objects.filter(study=study, pk__in=batches, opened_at__isnull=True).update(
        opened_at=now()
    )
    # what an attempt that stopped has left of others
    _delete_places_of_unopened(study)


def close_unanswered(study: Study) -> None:
    """Close the batches of a draft that have no answer left; inside a transaction."""
    if study.is_launched:
        return
    answered = Annotation.objects.filter(study=study, origin=Origin.IMPORTED)
    opened = study.batches.filter(opened_at__isnull=False)
    opened.exclude(pk__in=answered.values("item__batch")).update(opened_at=None)
    _delete_places_of_unopened(study)


def _delete_places_of_unopened(study: Study) -> None:
    free = Slot.objects.free().filter(item__study=study, item__batch__opened_at__isnull=True)
    # free ones have no answers; Django would look for them row by row
    free._raw_delete(free.db)


def take_places(study: Study, answers: Sequence[PlaceRequest]) -> list[int | None]:
    """Fill a place with each answer and return them; None: its item has no free one.

    Those that come first take the places, each one that shows what was shown if there is one.
    Inside a transaction.
    """
    free = _lock_free(study, {answer.item_id for answer in answers})
    slot_ids: list[int | None] = []
    for answer in answers:
        places = free.get(answer.item_id, [])
        number = _choose(study, places, answer)
        slot_ids.append(None if number is None else places.pop(number).pk)
    taken = [
        (pk, answer.participant_id)
        for pk, answer in zip(slot_ids, answers, strict=True)
        if pk is not None
    ]
    _mark_done(taken)
    return slot_ids


def _choose(study: Study, places: Sequence[_Free], answer: PlaceRequest) -> int | None:
    """Return the number of the place that shows what was shown; else of the first, if any."""
    shown, size = list(answer.order_shown), len(answer.order_shown)
    for number, place in enumerate(places if shown else ()):
        if arrange(size, place.arrangement, study.seed, answer.key) == shown:
            return number
    return 0 if places else None


def _lock_free(study: Study, items: set[int]) -> dict[int, list[_Free]]:
    """Return the free places of these items, those made first at the beginning."""
    free = Slot.objects.free().filter(study=study)
    if len(items) < _FEW:
        free = free.filter(item__in=items)
    # in the order of the places, as by those who wait for one
    locked = free.select_for_update(of=("self",)).order_by("pos", "id")
    places: dict[int, list[_Free]] = defaultdict(list)
    for pk, item_id, arrangement in locked.values_list("pk", "item_id", "arrangement").iterator():
        if item_id in items:
            places[item_id].append(_Free(pk, arrangement))
    return places


def _mark_done(taken: Sequence[tuple[int, int]]) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "UPDATE annotation_slot SET state = 2, participant_id = taken.who "
                "FROM unnest(%s::bigint[], %s::bigint[]) AS taken (slot, who) "
                "WHERE id = taken.slot",
                [[pk for pk, _ in taken], [who for _, who in taken]],
            )
        else:
            cursor.executemany(
                "UPDATE annotation_slot SET state = 2, participant_id = %s WHERE id = %s",
                [(who, pk) for pk, who in taken],
            )


def free_places(file: RatingsFile) -> int:
    """Free the places of this file's answers, before these go; return how many.

    Inside a transaction.
    """
    answers = Annotation.objects.filter(ratings_file=file, slot__isnull=False)
    done = Slot.objects.done().filter(pk__in=answers.values("slot"))
    return done.update(state=Slot.State.FREE, participant=None, lease_until=None)


def fill_freed(study: Study) -> None:
    """Give surplus answers the free places of their items."""
    # the log records what made room
    count_waiting(study, lambda fit: None)
