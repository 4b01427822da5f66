"""The page of raters: agreement, who is far from the others, and which flags can be raised."""

from collections.abc import Mapping, Sequence
from math import inf
from statistics import median
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from evalsite.analysis.figure import write_coefficient
from evalsite.analysis.thresholds import count_needed_for_same
from evalsite.core.jobs.live_page import keep_watching
from evalsite.decisions.frozen_plans import is_hidden
from evalsite.decisions.person_measures import Measures
from evalsite.lib.words import count_of
from evalsite.results.document.blocks import Document
from evalsite.results.document.charts import make_axis
from evalsite.results.document.figures import write_number
from evalsite.results.document.html import render_html, write_html_table
from evalsite.results.navigation import find_question_url
from evalsite.results.people.flags import describe_unseen, list_copies
from evalsite.results.people.work import Work, read_work
from evalsite.results.people.work_flags import list_rules, write_seconds
from evalsite.results.progress import count_edge
from evalsite.results.report.files import make_source
from evalsite.results.report.newest import open_results
from evalsite.results.report.sections.people import (
    head_agreement,
    list_further_of_people,
    list_rates_higher,
    tabulate_agreements,
)
from evalsite.studies.models import Membership, Study
from evalsite.studies.set_size import mains_per_set
from evalsite.studies.staff_pages import has_role, may_edit, study_page

# --- whom each flag can reach: a flag needs answers, and people give only so many

# outputs that two people share before their answers can look copied
_SHARED = 8
_CODES = ("too_fast", "same_answer", "disagrees", "failed_checks")


def list_reach(
    study: Study, work: Work, copied: Mapping[str, Any], *, items: int
) -> list[dict[str, Any]]:
    """List the flags: each with its rule, whom it can reach, what it needs, and how many have it.

    Answers to come count while people can still answer; `items`: how many a person can meet.
    """
    people = list(work.people.values())
    most = _count_most(study, items)
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


def count_to_meet(study: Study) -> int:
    """Return how many items a person can meet: none once the study or the work is over."""
    edge = count_edge(study)
    if study.has_ended or edge.done >= edge.target:
        return 0
    return edge.records if study.groups == Study.Groups.ONCE else edge.items


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
    can_fire, least = f"none of {count_of(number, 'pair')}", f"{_SHARED}"
    most_shared = copied.get("most_shared") or 0
    if not copied.get("can_be_seen"):
        # so many answers may all be equal by chance
        least = f"more than {most_shared:,}" if most_shared >= _SHARED else least
    else:
        compared = copied.get("pairs_compared", number)
        can_fire = f"{compared:,} of {count_of(number, 'pair')}"
    return {
        "label": "Copied answers",
        "rule": "two people give the same answers more often than their use of the scale explains",
        "can_fire": can_fire if copied else "not computed yet",
        "needs": f"needs {least} shared outputs",
        "flagged": len(pairs),
    }


# --- the page

# people who are shown: those who agree least, and those who agree most
_LEAST, _MOST = 4, 2


@study_page("results/raters/", name="results-raters", place="Results", tab="Raters", order=72)
@require_safe
def show_raters(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show how far people agree, who stands apart, and whom the flags can reach."""
    newest = open_results(study, request.user)
    # the plan that this has read already
    work = read_work(study, plan=getattr(study, "analysis_plan", None))
    report = newest.report
    is_blind = is_hidden(study)
    copied = report.content["kept"]["copied"] if report else {}
    flagged, to_meet = set(work.flags), count_to_meet(study)
    context: dict[str, Any] = {
        "newest": newest,
        "report": report,
        "can_compute": has_role(request, study, Membership.Role.EDITOR),
        "can_exclude": may_edit(request, study),
        "total": len(work.people),
        "flagged": len(flagged),
        "flagged_excluded": len(flagged & work.excluded),
        "first": work.people[work.to_review[0]].pseudonym if work.to_review else "",
        "reach": list_reach(study, work, copied, items=to_meet),
        "has_more": bool(to_meet),
        "load": _describe_load(work),
        "copies": list_copies(report),
        "unseen": describe_unseen(report),
    }
    higher: dict[str, float] = {}
    if report is not None:
        source = make_source(study, report, has_notes=False)
        higher = list_rates_higher(source)
        table = tabulate_agreements(
            source, lambda key: find_question_url(study, key, is_hidden=is_blind)
        )
        further = Document("", list(list_further_of_people(source, is_blind=is_blind)))
        context |= {
            "agreement": head_agreement(source),
            "agreements": table and write_html_table(table),
            "further": render_html(further, is_folded=True),
        }
    context["apart"] = _list_apart(study, work, higher)
    return keep_watching(TemplateResponse(request, "results/raters.html", context), newest.job)


def _describe_load(work: Work) -> str:
    """Return how many answers people gave: "11 to 55"."""
    answers = [person.answers for person in work.people.values()]
    if not answers:
        return ""
    low, high = min(answers), max(answers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _list_apart(study: Study, work: Work, higher: dict[str, float]) -> dict[str, Any] | None:
    """Return who agrees least and most with the others, and where each is drawn."""
    known = sorted(
        (
            (person.agreement, pk)
            for pk, person in work.people.items()
            if person.agreement is not None
        ),
    )
    if len(known) < 2:
        return None
    shown = known if len(known) <= _LEAST + _MOST else [*known[:_LEAST], *known[-_MOST:]]
    middle = median(value for value, _ in known)
    axis = make_axis([*(value for value, _ in shown), middle, 0.0], is_bounded=True)
    rows = []
    for value, pk in shown:
        person = work.people[pk]
        is_out = pk in work.excluded
        rows.append(
            {
                "pseudonym": person.pseudonym,
                "answers": person.answers,
                "seconds": "" if person.seconds is None else write_seconds(person.seconds),
                "agreement": write_coefficient(value),
                "place": axis.place(value),
                "shape": "ring2" if is_out else "hot" if pk in work.flags else "dot",
                "higher": _write_higher(higher.get(person.pseudonym)),
                "flags": [flag.label for flag in work.flags.get(pk, ())],
                "is_excluded": is_out,
            }
        )
    return {
        "rows": rows,
        "axis": axis,
        "median": write_coefficient(middle),
        "middle": axis.place(middle),
        "has_higher": any(row["higher"] for row in rows),
    }


def _write_higher(value: float | None) -> str:
    if value is None:
        return ""
    text = write_number(value, "points")
    return text if text.startswith("−") else f"+{text}"
