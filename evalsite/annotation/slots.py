"""Making slots: k places for each item, in layers, in a seeded order."""

from collections.abc import Callable, Iterable
from typing import Any

from django.db import connection
from django.db.models import Max

from evalsite.annotation.models import Slot
from evalsite.lib.seeds import SHUFFLE_PRIME, derive_number
from evalsite.studies.models import Batch, Item, Study

CHUNK = 20_000


def make_slots(
    study: Study,
    batches: Iterable[Batch],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Each main item of these batches has k slots; returns how many slots they have.

    In layers: every item once in a seeded order, then again in another. May be run again after
    a stop in the middle: what stands already is left as it is.
    """
    ids = [batch.pk for batch in batches]
    items = Item.objects.main().filter(study=study, batch__in=ids).order_by("id")
    # Only the ids of chunk borders are kept, so memory stays flat at any size.
    all_ids = list(items.values_list("id", flat=True).iterator())
    base = _first_free_layer(study, ids)
    total = len(all_ids) * study.k
    done = 0
    for no in range(study.k):
        for start in range(0, len(all_ids), CHUNK):
            chunk = all_ids[start : start + CHUNK]
            _insert_layer(study, ids, no, base, first=chunk[0], last=chunk[-1])
            done += len(chunk)
            progress(done, total)
    _refresh_statistics()
    return Slot.objects.filter(study=study, item__batch__in=ids).count()


def _refresh_statistics() -> None:
    """PostgreSQL plans by how many rows there are now, not by what it last counted.

    It counts again within minutes by itself. Until then a table that was empty a moment ago
    passes for empty, and a claim that reads it row by row for each row takes minutes.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE annotation_slot, studies_item")


def _first_free_layer(study: Study, batch_ids: list[Any]) -> int:
    """Where layers of these batches begin: after every layer that other batches have."""
    others = Slot.objects.filter(study=study).exclude(item__batch__in=batch_ids)
    top = others.aggregate(top=Max("pos"))["top"]
    return 0 if top is None else (top // SHUFFLE_PRIME + 1) * SHUFFLE_PRIME


def _insert_layer(
    study: Study, batch_ids: list[Any], no: int, base: int, *, first: int, last: int
) -> None:
    """One layer of slots for one chunk of items, in one short statement.

    The order is item key x factor + shift modulo a prime: another shuffle for each layer, and
    never two items at one place. Items that stay together get their group's key.
    """
    key = "group_shuffle_key" if study.groups == Study.Groups.TOGETHER else "shuffle_key"
    factor = 1 + derive_number(study.seed, "factor", base, no) % (2**22 - 1)
    shift = derive_number(study.seed, "shift", base, no)
    prepare = Item._meta.get_field("batch").target_field.get_db_prep_value
    marks = ", ".join(["%s"] * len(batch_ids))
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO annotation_slot (study_id, item_id, no, pos, arrangement, state) "  # noqa: S608 (names only)
            f"SELECT study_id, id, %s, %s + ({key} * %s + %s) %% %s, %s, 0 FROM studies_item "
            f"WHERE id BETWEEN %s AND %s AND kind = 'main' AND batch_id IN ({marks}) "
            f"ON CONFLICT DO NOTHING",
            [
                no,
                base + no * SHUFFLE_PRIME,
                factor,
                shift,
                SHUFFLE_PRIME,
                no,
                first,
                last,
                *(prepare(batch_id, connection) for batch_id in batch_ids),
            ],
        )
