"""What was changed after the launch: how it was before, and what reports say of it."""

from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Subquery, TextField
from django.db.models.functions import Coalesce

from evalsite.studies.models import Change, Study


def name_first() -> Coalesce:
    """Return the name that a system had first, as a column of a query of systems."""
    renamed = Change.objects.filter(
        study=OuterRef("study"), system=OuterRef("pk"), kind=Change.Kind.RENAMED
    )
    first = Subquery(renamed.order_by("at", "id").values("before")[:1])
    return Coalesce(first, "name", output_field=TextField())


def find_former_names(study: Study, *, at: datetime | None = None) -> dict[int, str]:
    """Return the name that each renamed system had at that moment, or had first."""
    renamed = Change.objects.filter(study=study, kind=Change.Kind.RENAMED)
    if at is not None:
        renamed = renamed.filter(at__gt=at)
    # the earliest comes last
    return dict(renamed.order_by("-at", "-id").values_list("system", "before"))


def find_former_texts(study: Study, *, at: datetime) -> dict[tuple[int, int | None], str]:
    """Return the text that each output corrected since then had, by its item and position."""
    corrected = Change.objects.filter(
        study=study, kind=Change.Kind.CORRECTED, instead_of=None, at__gt=at
    )
    rows = corrected.order_by("-at", "-id").values_list("item", "position", "before")
    return {(item, position): text for item, position, text in rows}


def list_in_force(study: Study) -> list[Change]:
    """Return the changes that hold now: without what was put back, or replaced by a corrected text.

    In the order in which they were made.
    """
    changes = list(study.changes.select_related("item", "instead_of"))
    coming = (Change.Kind.WITHDRAWN, Change.Kind.PUT_BACK)
    last = {change.item_id: change for change in changes if change.kind in coming}
    replaced = {change.instead_of_id for change in changes if change.instead_of_id}
    return [
        change
        for change in changes
        if change.kind in (Change.Kind.RENAMED, Change.Kind.CORRECTED)
        or (
            change.kind == Change.Kind.WITHDRAWN
            and last[change.item_id] is change
            and change.item_id not in replaced
        )
    ]


def describe_in_force(study: Study) -> list[dict[str, Any]]:
    """Return the same as plain data, for reports."""
    return [
        {
            "kind": change.kind,
            "item": change.item.key if change.item else "",
            "output": None if change.position is None else change.position + 1,
            "before": change.before,
            "after": change.after,
            "reason": change.reason,
            "answers": change.answers,
            "at": change.at.isoformat(),
        }
        for change in list_in_force(study)
    ]
