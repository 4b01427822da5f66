"""What the documents of a study are filled in from; everything is known before any result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalsite.annotation.pages.sets import BREAK_EVERY
from evalsite.instruments.schema import EntryQuestion
from evalsite.participants.models import Participant, Recruitment
from evalsite.quality.exclusions import count_reasons
from evalsite.quality.pay import is_paid
from evalsite.results.analysis_plan.stored import describe_plan
from evalsite.results.analysis_plan.wording import describe_rules
from evalsite.studies.consent_sentences import MOST_IDENTITY_DAYS
from evalsite.studies.models import Item, Study
from evalsite.studies.questions import list_background
from evalsite.studies.summary_lines import (
    count_groups,
    estimate_work,
    format_money,
    minutes_per_set,
)
from evalsite.studies.versions import get_identity_days, shown_content


@dataclass(frozen=True, kw_only=True)
class Round:
    """How people are recruited in one round, and what they get."""

    platform: str
    places: int | None
    pay: str
    minutes: int
    refuses_phones: bool


def collect_context(study: Study) -> dict[str, Any]:
    """Return what the templates of documents read."""
    content, config = shown_content(study), study.config
    mains = Item.objects.main().filter(study=study)
    items = mains.count()
    people = Participant.objects.filter(study=study, is_pilot=False)
    recruitments = list(study.recruitments.all())
    eligibility = config.eligibility if study.is_eligibility_on else None
    rounds = [_describe_round(study, one) for one in recruitments]
    return {
        "study": study,
        "is_paid": study.pay_per_set is not None or any(one.pay for one in rounds),
        "config": config,
        "texts": content["texts"],
        "settings": content["settings"],
        "facts": {"has_practice": bool(config.practice) and content["settings"]["is_practice_on"]},
        "criteria": config.criteria,
        "items": items,
        "inputs": mains.order_by().values("group").distinct().count(),
        "systems": study.systems.count(),
        "work": estimate_work(study, items, count_groups(study, mains)) if items else None,
        "minutes": minutes_per_set(study),
        "break_every": BREAK_EVERY,
        "eligibility": eligibility,
        "questions": list(map(_describe_question, eligibility.questions if eligibility else ())),
        "background": list(map(_describe_question, list_background(study))),
        "rounds": rounds,
        "identity_days": get_identity_days(content),
        "most_identity_days": MOST_IDENTITY_DAYS,
        "has_ids": any(one.adapter.person for one in recruitments),
        "has_experts": study.experts.exists(),
        "people": people.count(),
        "withdrawn": people.filter(withdrawn_at__isnull=False).count(),
        "rule": describe_rules(describe_plan(study)),
        "exclusions": count_reasons(study),
        "refusals": _list_refusals(study, recruitments) if is_paid(study) else None,
    }


def _list_refusals(study: Study, recruitments: Sequence[Recruitment]) -> list[str]:
    """Return what a set may be rejected for: the reasons that its platforms accept."""
    has_checks = study.items.filter(kind=Item.Kind.ATTENTION).exists()
    labels = {
        reason.key: reason.label[0].lower() + reason.label[1:].replace(": ", ", ")
        for one in recruitments or [Recruitment.objects.open_link(study)]
        for reason in one.adapter.reasons
        if has_checks or not reason.failed_checks
    }
    return list(labels.values())


def _describe_question(question: EntryQuestion) -> tuple[str, list[str]]:
    """Return a question about people and its choices."""
    return question.label, [choice.label for choice in question.choices]


def _describe_round(study: Study, recruitment: Any) -> Round:
    pay = study.pay_per_set
    return Round(
        platform=recruitment.adapter.label,
        places=recruitment.places,
        pay="" if pay is None else format_money(pay, study.currency),
        minutes=minutes_per_set(study),
        refuses_phones=recruitment.refuses_phones,
    )
