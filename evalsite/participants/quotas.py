"""Changing how many people with an answer may have a place."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from evalsite.audit.models import AuditEntry
from evalsite.participants.models import Quota
from evalsite.protocol import EntryQuestion
from evalsite.studies.models import Study


def list_quota_questions(study: Study) -> list[EntryQuestion]:
    """Return the questions that may have quotas: of these, people choose one answer."""
    eligibility = study.config.eligibility
    asked = eligibility.questions if eligibility else ()
    return [one for one in asked if one.asks_for == "choice"]


@transaction.atomic
def change_quotas(*, study: Study, people: Mapping[tuple[str, str], int | None], by: Any) -> None:
    """Set the quotas of these answers, by question and answer; None: no limit."""
    Study.objects.select_for_update(no_key=True).only("pk").get(pk=study.pk)
    known = {(one.key, value) for one in list_quota_questions(study) for value, _ in one.choices}
    if set(people) - known:
        raise ValidationError("The questions have changed. Reload the page.", code="unknown_answer")
    stored = {(one.question, one.value): one.people for one in study.quotas.all()}
    changed = {key: limit for key, limit in people.items() if stored.get(key) != limit}
    for (question, value), limit in changed.items():
        if limit is None:
            study.quotas.filter(question=question, value=value).delete()
        else:
            Quota.objects.update_or_create(
                study=study, question=question, value=value, defaults={"people": limit}
            )
    if changed:
        AuditEntry.objects.record("quotas changed", by=by, study_id=study.pk, answers=len(changed))
