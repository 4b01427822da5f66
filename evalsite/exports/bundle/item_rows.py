"""Items of a bundle as rows: with their outputs, in their order, and found again by their key."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from evalsite.exports.bundle.layout import ITEM_FIELDS, ITEM_ROWS
from evalsite.exports.bundle.opening import Bundle
from evalsite.exports.bundle.shapes import in_pages, read_fields
from evalsite.studies.models import Item, Output, Study, System
from evalsite.studies.services import item_keys

Plain = dict[str, Any]


class ItemRows:
    """Stores systems, items and outputs, and tells the ids that they have here."""

    def __init__(
        self, bundle: Bundle, study: Study, plain: Plain, batches: Mapping[str, UUID]
    ) -> None:
        self.bundle = bundle
        self.study = study
        self.batches = batches
        self.ids: dict[str, int] = {}
        # of each item, in the order of their positions
        self.outputs: dict[str, list[int]] = {}
        made = [System(study=study, name=name) for name in plain["systems"]]
        System.objects.bulk_create(made)
        self.systems: dict[str | None, int | None] = {None: None}
        self.systems.update((system.name, system.pk) for system in made)

    def store(self, *, has_data: bool) -> None:
        """All items stand; without data none that came to be during the work."""
        for page in in_pages(self.bundle.read_rows(ITEM_ROWS)):
            # a repeat may follow its original in the same page
            for kept in (
                [row for row in page if row["kind"] != Item.Kind.REPEAT],
                [row for row in page if row["kind"] == Item.Kind.REPEAT and has_data],
            ):
                self._store(kept, has_data=has_data)

    def _store(self, page: list[Plain], *, has_data: bool) -> None:
        items = [self._build(row, has_data=has_data) for row in page]
        Item.objects.bulk_create(items)
        outputs = [
            Output(
                study_id=self.study.pk,
                item_id=item.pk,
                system_id=self.systems[one["system"]],
                position=position,
                text=one["text"],
            )
            for item, row in zip(items, page, strict=True)
            for position, one in enumerate(row["outputs"])
        ]
        Output.objects.bulk_create(outputs)
        for item in items:
            self.ids[item.key] = item.pk
            self.outputs[item.key] = []
        for output, key in zip(
            outputs, (row["key"] for row in page for _ in row["outputs"]), strict=True
        ):
            self.outputs[key].append(output.pk)

    def _build(self, row: Plain, *, has_data: bool) -> Item:
        values = read_fields(Item, ITEM_FIELDS, row)
        if not has_data:
            values["held_at"] = values["released_at"] = None
        return Item(
            study_id=self.study.pk,
            batch_id=None if row["batch"] is None else self.batches[row["batch"]],
            repeat_of_id=None if row["repeat_of"] is None else self.ids[row["repeat_of"]],
            **values | item_keys(self.study, key=row["key"], group=row["group"]),
        )
