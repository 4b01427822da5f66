"""Changing how many people with an answer may have a place."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from evalsite.audit.models import AuditEntry
from evalsite.participants.models import Quota
from evalsite.protocol import EntryQuestion
from evalsite.protocol.entry_questions import Rule, allows
from evalsite.studies.models import Study


def list_quota_questions(study: Study) -> list[EntryQuestion]:
    """Return the questions of which people choose one answer, with those that let them take part.

    Only these may have quotas.
    """
    eligibility = study.config.eligibility
    if eligibility is None:
        return []
    accept = {} if isinstance(eligibility.accept, str) else eligibility.accept
    return [
        replace(one, choices=tuple(_list_allowed(one, accept.get(one.key))))
        for one in eligibility.questions
        if one.asks_for == "choice"
    ]


def _list_allowed(question: EntryQuestion, rule: Rule | None) -> Iterator[tuple[str, str]]:
    for value, label in question.choices:
        if rule is None or allows(question, rule, value):
            yield value, label


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
