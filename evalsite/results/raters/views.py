"""The page of raters: agreement, who is far from the others, and which flags can be raised."""

from statistics import median
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from evalsite.analysis.figure import write_coefficient
from evalsite.jobs.live_page import keep_watching
from evalsite.quality.frozen_plans import is_hidden
from evalsite.results.document.axis import make_axis
from evalsite.results.document.blocks import Document
from evalsite.results.document.figures import write_number
from evalsite.results.document.html import render_html, write_html_table
from evalsite.results.navigation import find_question_url
from evalsite.results.people.flags import describe_unseen, list_copies
from evalsite.results.people.work import Work, read_work
from evalsite.results.people.work_flags import write_seconds
from evalsite.results.progress import count_edge
from evalsite.results.raters.flag_reach import list_reach
from evalsite.results.report.newest import open_results
from evalsite.results.report.sections.raters_page import (
    head_agreement,
    list_further_of_people,
    list_rates_higher,
    tabulate_agreements,
)
from evalsite.results.report.study_facts import make_source
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import has_role, may_edit, study_page

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
    flagged = set(work.flags)
    context: dict[str, Any] = {
        "newest": newest,
        "report": report,
        "can_compute": has_role(request, study, Membership.Role.EDITOR),
        "can_exclude": may_edit(request, study),
        "total": len(work.people),
        "flagged": len(flagged),
        "flagged_excluded": len(flagged & work.excluded),
        "first": work.people[work.to_review[0]].pseudonym if work.to_review else "",
        "reach": list_reach(study, work, copied, items=count_edge(study).items),
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
