"""What a qualification asks of newcomers, and what it takes to pass."""

from dataclasses import dataclass
from math import ceil
from typing import Any

from django.db.models import Count

from evalsite.studies.gold import count_asked, find_gold
from evalsite.studies.models import Item, Study

TRIES = 2


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A qualification in numbers: screens or questions, what is compared, what must agree."""

    screens: int
    asked: int
    needed: int
    is_on_instructions: bool

    def is_passed_by(self, met: int) -> bool:
        return met >= self.needed


def list_qualifying(study: Study) -> list[Item]:
    """Return the items that a qualification asks: practice items with gold, in their order."""
    practice = Item.objects.practice().filter(study=study).annotate(output_count=Count("outputs"))
    return [item for item in practice if find_gold(study.config, item.gold)]


def plan_qualification(study: Study) -> Plan | None:
    """Plan items with gold, or else questions on the instructions; None: nothing can be asked."""
    items = list_qualifying(study)
    asked = sum(_count_parts(study, items))
    questions = 0 if asked else len(study.config.comprehension)
    if not asked and not questions:
        return None
    return Plan(
        screens=questions or len(items),
        asked=asked or questions,
        needed=needed_of(study, asked or questions),
        is_on_instructions=bool(questions),
    )


def needed_of(study: Study, asked: int) -> int:
    """Return how many of these must be met for the study's pass mark."""
    return max(1, ceil(asked * study.pass_mark / 100))


def _count_parts(study: Study, items: list[Any]) -> list[int]:
    """Return how many things the gold of each item asks."""
    config = study.config
    options = config.default_options | study.options
    return [
        sum(
            count_asked(
                criterion,
                item.gold[criterion.key],
                item.output_count,
                config.standard_score(options, item.inputs),
            )
            for criterion in find_gold(config, item.gold)
        )
        for item in items
    ]
