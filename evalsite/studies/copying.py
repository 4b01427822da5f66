"""A new draft of a study: its instrument, texts and settings, perhaps its items, no answers."""

from typing import Any

from django.db import transaction

from evalsite.core.audit.models import AuditEntry
from evalsite.studies.items import count_words, number_items
from evalsite.studies.models import Batch, Item, Output, Study, System
from evalsite.studies.services import create_study
from evalsite.studies.settings import SETTINGS

_AT_A_TIME = 1000
# what belongs to one launch
_LEFT_OUT = {
    "title", "description", "withdrawable_until", "opens_at", "closes_at", "closes_when_full",
    "pay_target", "authors", "licence", "homepage",
}  # fmt: skip
_STAYING = (Item.Kind.REPEAT, Item.Kind.WITHDRAWN)


@transaction.atomic
def copy_study(
    *, study: Study, title: str, with_items: bool, by: Any, k: int | None = None
) -> Study:
    """Make a draft like this study, with a seed of its own, owned by who makes it.

    `k`: of a repeat that asks for another number of answers to each item.
    """
    values = {name: getattr(study, name) for name in {"questions", *SETTINGS} - _LEFT_OUT}
    values |= {} if k is None else {"k": k}
    copy = create_study(
        protocol=study.protocol,
        instrument=study.instrument,
        title=title,
        by=by,
        options=study.options,
        **values,
    )
    if with_items:
        _copy_items(study, copy)
        count_words(copy)
    AuditEntry.objects.record(
        "study copied", by=by, study_id=copy.pk, original=str(study.pk), with_items=with_items
    )
    return copy


def _copy_items(study: Study, copy: Study) -> None:
    """Copy batches with their items; repeats are made again, and what was withdrawn isn't."""
    systems = {
        system.pk: System.objects.create(study=copy, name=system.name)
        for system in study.systems.order_by("pk")
    }
    numbers = number_items(copy)
    for batch in study.batches.order_by("uploaded_at", "pk"):
        mine = Batch.objects.create(
            study=copy, file_name=batch.file_name, sha256=batch.sha256, rows=batch.rows,
            uploaded_by=batch.uploaded_by, import_notes=batch.import_notes,
        )  # fmt: skip
        items = list(batch.items.exclude(kind__in=_STAYING).order_by("pk"))
        for start in range(0, len(items), _AT_A_TIME):
            _copy_page(items[start : start + _AT_A_TIME], copy, mine, systems, numbers)


def _copy_page(
    items: list[Item], copy: Study, batch: Batch, systems: dict[int, System], numbers: Any
) -> None:
    made = {}
    for item in items:
        shuffle_key, group_shuffle_key = numbers(item.key, item.group)
        made[item.pk] = Item(
            study=copy, batch=batch, key=item.key, group=item.group, cluster=item.cluster,
            kind=item.kind, inputs=item.inputs, extra=item.extra, gold=item.gold,
            shuffle_key=shuffle_key, group_shuffle_key=group_shuffle_key,
        )  # fmt: skip
    Item.objects.bulk_create(made.values())
    Output.objects.bulk_create(
        Output(
            study=copy,
            item=made[output.item_id],
            system=systems[output.system_id] if output.system_id else None,
            position=output.position,
            text=output.text,
        )
        for output in Output.objects.filter(item__in=items).order_by("item_id", "position")
    )
