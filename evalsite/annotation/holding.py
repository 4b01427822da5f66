"""Items that wait for the researcher because people reported them."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Prefetch, QuerySet

from evalsite.annotation.forms import ReportForm
from evalsite.annotation.models import Annotation
from evalsite.audit.models import AuditEntry
from evalsite.studies.models import Item, Study

_REASONS = dict(ReportForm.REASONS)


def held_items(study: Study) -> QuerySet[Item]:
    """The items that nobody gets, longest held first, with their outputs and `reports`."""
    reported = Annotation.objects.filter(
        outcome=Annotation.Outcome.REPORTED, status=Annotation.Status.SURPLUS
    )
    reports = Prefetch("annotations", reported.select_related("participant"), to_attr="reports")
    held = Item.objects.filter(study=study, held_at__isnull=False).order_by("held_at", "id")
    return held.select_related("batch").prefetch_related("outputs__system", reports)


def reason_in_words(report: Annotation) -> str:
    """What is wrong, as the person chose it."""
    return _REASONS.get(report.reason, report.reason)


@transaction.atomic
def release_item(*, item: Item, by: Any) -> None:
    """The item is handed out again; its reports stay, and one more holds it again."""
    held = Item.objects.filter(pk=item.pk, held_at__isnull=False)
    if not held.update(held_at=None):
        raise ValidationError(f"The item {item.key} is not held any more. Nothing was changed.")
    AuditEntry.objects.record("item released", by=by, study_id=item.study_id, item=item.key)
