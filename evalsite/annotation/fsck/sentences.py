"""Describe rows in words, for the person who has to look at them."""

from collections.abc import Iterator

from django.db.models import QuerySet

from evalsite.annotation.models import Annotation, Slot


def name_places(slots: QuerySet[Slot]) -> Iterator[str]:
    rows = slots.order_by("pk").values_list("pk", "no", "item__key")
    for pk, no, key in rows.iterator():
        yield f"place {pk} (number {no} of item {key})"


def name_answers(annotations: QuerySet[Annotation]) -> Iterator[str]:
    rows = annotations.order_by("pk").values_list("pk", "participant__pseudonym", "item__key")
    for pk, pseudonym, key in rows.iterator():
        yield f"answer {pk} of {pseudonym} to item {key}"
