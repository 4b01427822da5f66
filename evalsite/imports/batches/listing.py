"""What pages show of items: batches, items, and those of a file as people will see them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Prefetch, QuerySet
from django.template.loader import render_to_string

from evalsite.annotation.pages.view_models import view_item
from evalsite.lib.seeds import arrange, derive_number
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


# --- previews ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Preview:
    """A whole page of a participant, shown in a frame."""

    number: int
    html: str


def preview_items(study: Study, items: Sequence[Mapping[str, Any]]) -> list[Preview]:
    """Pages of the first items, made by the very templates that participants get: blind."""
    return [Preview(number, _render(study, item)) for number, item in enumerate(items, start=1)]


def _render(study: Study, item: Mapping[str, Any]) -> str:
    config, key = study.config, item["key"]
    texts = [text for _, text in item["outputs"]]
    arrangement = derive_number(study.seed, "preview", key)
    order = arrange(len(texts), arrangement, study.seed, key)
    view = view_item(
        config,
        inputs=item["inputs"],
        texts=[texts[position] for position in order],
        options=config.default_options | study.options,
        is_aided=study.is_aided,
    )
    return render_to_string(
        config.item_template,
        {
            "frame": "annotation/preview.html",
            "item": view,
            "layout": config.layout.style,
        },
    )
