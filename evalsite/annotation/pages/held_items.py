"""Items held for the researcher after two reports, and their release."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from evalsite.annotation.models import Annotation
from evalsite.annotation.pages.forms import ReportForm
from evalsite.audit.models import AuditEntry
from evalsite.lib.clock import now
from evalsite.lib.seeds import make_random
from evalsite.studies.models import Item, Study

# reports that hold an item for the researcher
REPORTS_TO_HOLD = 2
_REASONS = dict(ReportForm.REASONS)


def held_items(study: Study) -> QuerySet[Item]:
    """Return the held items, the longest held first."""
    held = Item.objects.filter(study=study, held_at__isnull=False).order_by("held_at", "id")
    return held.prefetch_related("outputs")


def list_shuffled_outputs(study: Study, item: Item) -> list[str]:
    """Return the texts of an item's outputs, in an order that doesn't tell their systems."""
    outputs = list(item.outputs.all())
    make_random(study.seed, "held", item.key).shuffle(outputs)
    return [output.text for output in outputs]


def reports_by_item(items: Iterable[Item]) -> dict[int, list[Annotation]]:
    """Return the open reports by item id, the earliest first."""
    found: dict[int, list[Annotation]] = defaultdict(list)
    reports = Annotation.objects.reports().filter(item__in=list(items))
    for report in reports.select_related("participant"):
        found[report.item_id].append(report)
    return found


def reason_in_words(report: Annotation) -> str:
    """What is wrong, as the person chose it."""
    return name_reason(report.reason)


def name_reason(reason: str) -> str:
    return str(_REASONS.get(reason, reason))


@transaction.atomic
def release_item(*, item: Item, by: Any) -> None:
    """The item is handed out again; its reports stay, and only two further ones hold it again."""
    held = Item.objects.filter(pk=item.pk, held_at__isnull=False)
    if not held.update(held_at=None, released_at=now()):
        raise ValidationError(f"The item {item.key} is not held any more. Nothing was changed.")
    AuditEntry.objects.record("item released", by=by, study_id=item.study_id, item=item.key)


def hold_or_release(item: Item) -> None:
    """Hold the item if it has two open reports, and release it if it has not any more.

    Reports that were looked at before the item was released don't count towards the two.
    """
    # two reports at once would each count only their own
    locked = Item.objects.select_for_update(no_key=True).get(pk=item.pk)
    reports = Annotation.objects.reports().filter(item=item)
    if locked.released_at is not None:
        reports = reports.filter(submitted_at__gt=locked.released_at)
    is_held = reports.count() >= REPORTS_TO_HOLD
    if is_held != (locked.held_at is not None):
        locked.held_at = now() if is_held else None
        locked.save(update_fields=["held_at"])
