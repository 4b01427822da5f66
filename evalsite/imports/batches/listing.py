"""What a study's items page lists, in a number of queries that does not grow."""

from dataclasses import dataclass

from django.db.models import Count, Prefetch, QuerySet

from evalsite.protocol import Protocol
from evalsite.studies.models import Batch, Item, Output, Study

COUNTED = ("Rows", "Items", "Outputs", "Systems")


@dataclass(frozen=True)
class BatchSummary:
    batch: Batch
    items: int
    outputs: int
    systems: int

    @property
    def counts(self) -> list[tuple[str, str]]:
        """As a page shows them, each with the name of its column."""
        numbers = (self.batch.rows, self.items, self.outputs, self.systems)
        return [(name, f"{number:,}") for name, number in zip(COUNTED, numbers, strict=True)]


def summarise_batches(study: Study) -> list[BatchSummary]:
    """Every batch with the numbers of its items, outputs and systems."""
    uploaded = Item.objects.filter(study=study, batch__isnull=False).order_by()
    items = dict(uploaded.values("batch").annotate(n=Count("id")).values_list("batch", "n"))
    given = Output.objects.filter(study=study, item__batch__isnull=False).order_by()
    by_batch = given.values("item__batch").annotate(n=Count("id"), m=Count("system", distinct=True))
    outputs = {key: counts for key, *counts in by_batch.values_list("item__batch", "n", "m")}
    return [
        BatchSummary(
            batch,
            items.get(batch.pk, 0),
            *outputs.get(batch.pk, (0, 0)),
        )
        for batch in Batch.objects.filter(study=study).select_related("uploaded_by")
    ]


def list_items(study: Study) -> QuerySet[Item]:
    """The uploaded items in file order, each with its outputs and their systems."""
    outputs = Output.objects.select_related("system")
    return (
        Item.objects.filter(study=study, batch__isnull=False)
        .select_related("batch")
        .prefetch_related(Prefetch("outputs", queryset=outputs))
        .order_by("id")
    )


def list_inputs(item: Item, config: Protocol) -> list[str]:
    """The texts of its inputs in the order of the protocol, which JSON loses in PostgreSQL."""
    return [item.inputs[one.name] for one in config.inputs if one.name in item.inputs]
