"""Changing how many people with an answer may have a place."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from evalsite.core.audit.models import AuditEntry
from evalsite.instruments.schema import EntryQuestion
from evalsite.people.models import Quota
from evalsite.studies.models import Study


def list_quota_questions(study: Study) -> list[EntryQuestion]:
    """Return the questions of which people choose one answer, with those that let them take part.

    Only these may have quotas.
    """
    eligibility = study.config.eligibility
    if eligibility is None:
        return []
    questions = []
    for question in eligibility.questions:
        if question.asks_for == "choice":
            rule = eligibility.find_rule(question.key)
            allowed = [
                choice
                for choice in question.choices
                if rule is None or question.allows(rule, choice.value)
            ]
            questions.append(question.model_copy(update={"choices": allowed}))
    return questions


@transaction.atomic
def change_quotas(*, study: Study, people: Mapping[tuple[str, str], int | None], by: Any) -> None:
    """Set the quotas of these answers, by question and answer; None: no limit."""
    Study.objects.select_for_update(no_key=True).only("pk").get(pk=study.pk)
    questions = list_quota_questions(study)
    known = {(question.key, choice.value) for question in questions for choice in question.choices}
    if set(people) - known:
        raise ValidationError("The questions have changed. Reload the page.", code="unknown_answer")
    stored = {(quota.question, quota.value): quota.people for quota in study.quotas.all()}
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
