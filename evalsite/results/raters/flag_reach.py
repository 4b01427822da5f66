"""Whom each flag can reach: a flag needs answers, and people give only so many."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from evalsite.analysis.thresholds import count_needed_for_same
from evalsite.lib.words import count_of
from evalsite.quality.person_measures import Measures
from evalsite.results.people.work import Work
from evalsite.results.people.work_flags import list_rules
from evalsite.studies.models import Study
from evalsite.studies.set_size import mains_per_set

# outputs that two people share before their answers can look copied
_SHARED = 8
_CODES = ("too_fast", "same_answer", "disagrees", "failed_checks")


def list_reach(
    study: Study, work: Work, copied: Mapping[str, Any], *, items: int
) -> list[dict[str, Any]]:
    """List the flags: each with its rule, whom it can reach, what it needs, and how many have it.

    Answers to come count while people can still answer.
    """
    people = list(work.people.values())
    most = 0 if study.has_ended else _count_most(study, items)
    rows = []
    for code, (label, rule) in zip(_CODES, list_rules(work.limits), strict=True):
        needs = [_find_need(code, person, work) for person in people]
        reached = sum(
            _reaches(code, person, need, study, most)
            for person, need in zip(people, needs, strict=True)
        )
        known = [int(need) for need in needs if need < inf]
        rows.append(
            {
                "label": label,
                "rule": rule,
                "can_fire": f"{reached:,} of {count_of(len(people), 'person', 'people')}",
                "needs": _write_needs(code, known, work),
                "flagged": sum(
                    any(flag.code == code for flag in flags) for flags in work.flags.values()
                ),
            }
        )
    rows.append(_describe_copies(copied))
    return rows


def _count_most(study: Study, items: int) -> int:
    """Return how many items a person can answer at most."""
    most = [items]
    if study.max_items is not None:
        most.append(study.max_items)
    if study.max_sets is not None:
        most.append(study.max_sets * mains_per_set(study))
    return min(most)


def _find_need(code: str, person: Measures, work: Work) -> float:
    """Return from how many answers (or checks) on this person can be flagged."""
    limits = work.limits
    if code == "too_fast":
        return limits.floor_pages if person.pages else limits.speed_answers_alone
    if code == "same_answer":
        return count_needed_for_same(person.uses, limits)
    if code == "disagrees":
        has_scores = any(entry.agreement is not None for entry in work.people.values())
        return limits.rho_few_ratings if has_scores else inf
    return limits.attention_checks


def _reaches(code: str, person: Measures, need: float, study: Study, most: int) -> bool:
    if code == "failed_checks":
        to_come = study.checks_per_person if most else 0
        return max(person.attention, to_come) >= need
    return max(person.answers, most) >= need


def _write_needs(code: str, needs: Sequence[int], work: Work) -> str:
    if not needs:
        return "needs scores" if code == "disagrees" else ""
    low, high = min(needs), max(needs)
    if code == "failed_checks":
        return f"needs {count_of(low, 'attention check')}"
    return f"needs {count_of(high, 'answer') if low == high else f'{low} to {high} answers'}"


def _describe_copies(copied: Mapping[str, Any]) -> dict[str, Any]:
    raters, pairs = copied.get("raters", 0), copied.get("pairs", ())
    number = raters * (raters - 1) // 2
    can_fire = f"none of {count_of(number, 'pair')}"
    if copied.get("can_be_seen"):
        compared = copied.get("pairs_compared", number)
        can_fire = f"{compared:,} of {count_of(number, 'pair')}"
    return {
        "label": "Copied answers",
        "rule": "two people give the same answers more often than their use of the scale explains",
        "can_fire": can_fire if copied else "not computed yet",
        "needs": f"needs {_SHARED} shared outputs",
        "flagged": len(pairs),
    }
