"""Making slots: k places for each item, in layers, as the plan of the study's seed has them.

What was opened to participants together is planned together: an *opening* is all batches with the
same `opened_at`. Its slots follow one another layer by layer, without gaps.
"""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import Max, QuerySet

from evalsite.handout.models import Slot
from evalsite.handout.slot_plan import Entry, Place, plan_layers
from evalsite.lib.seeds import derive_number
from evalsite.studies.models import Batch, Item, Study, System
from evalsite.studies.versions import name_first

CHUNK = 10_000
Progress = Callable[[int, int], None]


class PlannedSlot(NamedTuple):
    """A slot as the seed has it. `rank`: its place in the queue, from 0 in each layer.

    Items of a group that stays together have the same rank, as their slots have the same pos.
    """

    item_id: int
    no: int
    rank: int
    arrangement: int


class _OtherPlan(Exception):
    """Raise if slots of an unopened launch don't belong to this plan."""


@dataclass
class _Opening:
    """Batches that are planned together, with the layers of their plan, one after another."""

    batch_ids: list[Any]
    is_open: bool
    layers: Iterator[Iterator[Place]]

    def count_items(self, study: Study) -> int:
        return Item.objects.main().filter(study=study, batch__in=self.batch_ids).count()

    def slots(self, study: Study, **where: Any) -> QuerySet[Slot]:
        return Slot.objects.filter(study=study, item__batch__in=self.batch_ids, **where)


def make_slots(
    study: Study, batches: Iterable[Batch], progress: Progress = lambda done, total: None
) -> int:
    """Make the slots of each main item of these batches; return how many slots they have.

    In layers: every item once in a seeded order, then again in another. May be run again after
    a stop in the middle, or with a greater k: existing slots are left alone.
    """
    batches = list(batches)
    try:
        _make_missing(study, batches, progress)
    except _OtherPlan:
        # a launch was stopped, and then the batches were changed: nothing has been dealt
        unopened = [batch for batch in batches if batch.opened_at is None]
        slots = Slot.objects.free().filter(study=study, item__batch__in=unopened)
        while chunk := list(slots.values_list("pk", flat=True)[:CHUNK]):
            Slot.objects.filter(pk__in=chunk).delete()
        _make_missing(study, batches, progress)
    _refresh_statistics()
    return Slot.objects.filter(study=study, item__batch__in=batches).count()


def _make_missing(study: Study, batches: list[Batch], progress: Progress) -> None:
    openings = list(_find_openings(study, batches, study.k))
    items = [opening.count_items(study) for opening in openings]
    total = sum(items) * study.k
    done = 0
    # planned as before, so that the others keep their order, but without places
    withdrawn = set(study.items.filter(kind=Item.Kind.WITHDRAWN).values_list("pk", flat=True))
    for no in range(study.k):
        for opening, of_opening in zip(openings, items, strict=True):
            planned = _number(next(opening.layers), no)
            slots = [slot for slot in planned if slot.item_id not in withdrawn]
            if not slots:
                continue
            if opening.is_open and opening.slots(study, no=no).count() == of_opening:
                done += of_opening
                continue
            base = _find_base(study, opening, no, slots)
            # the last place goes with the first, so that no one else begins in between
            last = [slot for slot in slots if slot.rank == slots[-1].rank]
            for chunk in _in_chunks(slots):
                base = _insert(study, base, chunk + last)
                done, last = done + len(chunk), []
                progress(done, total)


def _in_chunks(slots: list[PlannedSlot]) -> Iterator[list[PlannedSlot]]:
    """Yield some CHUNK slots at a time, never a part of what shares a place: people are working."""
    start = 0
    while start < len(slots):
        end = start + CHUNK
        while end < len(slots) and slots[end].rank == slots[end - 1].rank:
            end += 1
        yield slots[start:end]
        start = end


def _number(places: Iterable[Place], no: int) -> Iterator[PlannedSlot]:
    for rank, place in enumerate(places):
        for item_id, arrangement in place:
            yield PlannedSlot(item_id, no, rank, arrangement)


def _find_base(study: Study, opening: _Opening, no: int, slots: list[PlannedSlot]) -> int | None:
    """Return the pos of the layer's first place, from the slots that exist; None if none do.

    What has been opened stays, even if it was planned otherwise.
    """
    existing = opening.slots(study, no=no)
    if not existing.exists():
        return None
    planned = {slot.item_id: slot for slot in slots}
    rows = list(existing.values_list("item_id", "pos", "arrangement"))
    bases = {pos - planned[item_id].rank for item_id, pos, _ in rows}
    is_same = all(planned[item_id].arrangement == arrangement for item_id, _, arrangement in rows)
    if len(bases) == 1 and is_same:
        return bases.pop()
    if not opening.is_open:
        raise _OtherPlan
    return None


def _insert(study: Study, base: int | None, slots: list[PlannedSlot]) -> int:
    """Create these slots in one short transaction; return the pos of the layer's first place."""
    with transaction.atomic():
        if base is None:
            # two jobs at once would begin at the same place
            Study.objects.select_for_update(no_key=True).get(pk=study.pk)
            top = Slot.objects.filter(study=study).aggregate(top=Max("pos"))["top"]
            base = 0 if top is None else top + 1
        rows = [(slot.item_id, slot.no, base + slot.rank, slot.arrangement) for slot in slots]
        study_id = Study._meta.pk.get_db_prep_value(study.pk, connection)
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute(
                    f"{_INSERT} SELECT %s, item, no, pos, arrangement, 0 "  # noqa: S608
                    "FROM unnest(%s::bigint[], %s::int[], %s::bigint[], %s::int[]) "
                    "AS planned (item, no, pos, arrangement) ON CONFLICT DO NOTHING",
                    [study_id, *map(list, zip(*rows, strict=True))],
                )
            else:
                cursor.executemany(
                    f"{_INSERT} VALUES (%s, %s, %s, %s, %s, 0) ON CONFLICT DO NOTHING",
                    [(study_id, *row) for row in rows],
                )
    return base


_INSERT = "INSERT INTO annotation_slot (study_id, item_id, no, pos, arrangement, state)"


def _refresh_statistics() -> None:
    """Make PostgreSQL plan by how many rows there are now, not by what it last counted.

    It counts again within minutes by itself. Until then a table that was empty a moment ago
    passes for empty, and a claim that reads it row by row for each row takes minutes.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE annotation_slot, studies_item")


# --- the plan of a study ----------------------------------------------------------------


def _find_openings(
    study: Study,
    batches: Iterable[Batch],
    layers: int,
    systems: Mapping[int, str] | None = None,
) -> Iterator[_Opening]:
    """Return what was opened together, in that order; what isn't open yet comes last."""
    ranks = _rank_systems(study, systems)
    dated = sorted(batches, key=lambda batch: (batch.opened_at is None, batch.opened_at or 0))
    for opened_at, together in groupby(dated, key=lambda batch: batch.opened_at):
        batch_ids = [batch.pk for batch in together]
        plan = plan_layers(
            _read_entries(study, batch_ids, ranks),
            seed=study.seed,
            layers=layers,
            is_together=study.groups == Study.Groups.TOGETHER,
            is_given=study.config.layout.is_given,
        )
        yield _Opening(batch_ids, opened_at is not None, plan)


def _read_entries(study: Study, batch_ids: list[Any], ranks: Mapping[Any, int]) -> Iterator[Entry]:
    """Return what a plan must know of each main item of these batches; no texts."""
    items = Item.objects.planned().filter(study=study, batch__in=batch_ids)
    columns = ("id", "shuffle_key", "group_shuffle_key", "group", "cluster")
    # a row for each output; an item without any has one, too
    rows = items.order_by("id", "outputs__position").values_list(
        *columns, "outputs__pk", "outputs__system"
    )
    # most items show the same systems: these are kept once, since a plan holds all items
    known: dict[tuple[int, ...], tuple[int, ...]] = {}
    for (item_id, key, number, group, cluster), outputs in groupby(
        rows.iterator(CHUNK), key=itemgetter(0, 1, 2, 3, 4)
    ):
        shown = tuple(ranks[system_id] for *_, output_id, system_id in outputs if output_id)
        yield Entry(item_id, key, (number, group), known.setdefault(shown, shown), cluster)


def _rank_systems(study: Study, systems: Mapping[int, str] | None = None) -> dict[Any, int]:
    """Return each system's place in the order given by the study's seed; none is first.

    By the names that systems had first: a new name changes no plan.
    """
    if systems is None:
        systems = dict(System.objects.filter(study=study).values_list("pk", name_first()))
    seeded = sorted(
        systems, key=lambda pk: (derive_number(study.seed, "system", systems[pk]), systems[pk])
    )
    return {None: 0, **{pk: rank for rank, pk in enumerate(seeded, start=1)}}


def planned_slots(study: Study, batches: Iterable[Batch] | None = None) -> Iterator[PlannedSlot]:
    """Yield every slot that the seed gives the main items of these batches, as they are dealt.

    Of all batches that are open where none are named; layer after layer of each opening. To
    compare with rows: `arrangement` is to be equal, and the row's pos less the lowest of its layer
    (same `no`, same `Batch.opened_at`) is to be `rank`. `count_strays` does so.
    """
    if batches is None:
        batches = study.batches.filter(opened_at__isnull=False)
    for opening in _find_openings(study, batches, study.k):
        for no, places in enumerate(opening.layers):
            yield from _number(places, no)


def plan_arrangements(study: Study, layers: int) -> list[dict[int, int]]:
    """Return how each open item is shown in so many layers after the k of the study."""
    opened = study.batches.filter(opened_at__isnull=False)
    arrangements: list[dict[int, int]] = [{} for _ in range(layers)]
    for opening in _find_openings(study, opened, study.k + layers):
        for no, places in enumerate(opening.layers):
            if no >= study.k:
                arrangements[no - study.k].update(pair for place in places for pair in place)
    return arrangements


def count_strays(study: Study, systems: Mapping[int, str] | None = None) -> int:
    """Count the slots of the first k layers that differ from what the seed gives.

    `systems`: the names that they had first, where these are known.
    """
    opened = study.batches.filter(opened_at__isnull=False)
    return sum(
        _count_in_opening(opening, study)
        for opening in _find_openings(study, opened, study.k, systems)
    )


def _count_in_opening(opening: _Opening, study: Study) -> int:
    slots = opening.slots(study, no__lt=study.k).order_by("no", "item_id")
    rows = slots.values_list("no", "item_id", "pos", "arrangement").iterator(CHUNK)
    layers = groupby(rows, key=itemgetter(0))
    strays = 0
    layer, stored = next(layers, _NO_SLOTS)
    for no in range(study.k):
        is_there = layer == no
        strays += _count_strays(next(opening.layers), stored if is_there else ())
        if is_there:
            layer, stored = next(layers, _NO_SLOTS)
    return strays


_NO_SLOTS: tuple[int, Iterator[tuple[int, ...]]] = (-1, iter(()))


def _count_strays(places: Iterable[Place], slots: Iterable[tuple[int, ...]]) -> int:
    """Count with a few bytes for each slot: there may be a hundred thousand in a layer."""
    item_ids, starts, arrangements = array("q"), array("q"), array("l")
    for _, item_id, pos, arrangement in slots:
        item_ids.append(item_id)
        starts.append(pos)
        arrangements.append(arrangement)
    # where the layer begins, by each slot; nowhere if it is shown in another way
    bases = array("q", [_NOWHERE]) * len(item_ids)
    for rank, place in enumerate(places):
        for item_id, arrangement in place:
            at = bisect_left(item_ids, item_id)
            is_there = at < len(item_ids) and item_ids[at] == item_id
            if is_there and arrangement == arrangements[at]:
                bases[at] = starts[at] - rank
    good = Counter(bases)
    del good[_NOWHERE]
    return len(item_ids) - max(good.values(), default=0)


_NOWHERE = -(2**63)
