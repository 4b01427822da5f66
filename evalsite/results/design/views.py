"""The page of a study's design: was it balanced, how precise is it, and what next?"""

from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from evalsite.core.jobs.live_page import keep_watching
from evalsite.core.jobs.models import Job
from evalsite.decisions.frozen_plans import is_hidden
from evalsite.fieldwork.checklist import check_people
from evalsite.handout.models import Slot
from evalsite.results.design.precision import (
    describe_notes,
    find_projection,
    list_options,
    list_precision,
    list_questions,
    say_reach,
)
from evalsite.results.design.report import (
    Report,
    describe_design,
    describe_missing,
    head_design,
    list_balance,
    list_other_tables,
    promise_design,
    report_design,
)
from evalsite.results.document.blocks import Document, Table
from evalsite.results.document.html import render_html
from evalsite.results.progress import Edge, count_edge
from evalsite.results.report.computation import KIND
from evalsite.results.report.files import make_source
from evalsite.results.report.newest import Newest, open_results
from evalsite.results.report.sections.findings import FEW_ANSWERS
from evalsite.results.report.sections.further import list_together
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import has_role, study_page, study_url
from evalsite.studies.summary_lines import name_unit

# with more places than this, they are counted with the results: a page would take seconds
MOST_COUNTED = 10_000


@study_page("results/design/", name="results-design", place="Results", tab="Design", order=74)
@require_safe
def show_design(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show what was planned beside what was reached; before the launch, what will be planned."""
    edge = count_edge(study)
    can_edit = has_role(request, study, Membership.Role.EDITOR)
    if edge.done < FEW_ANSWERS:
        context = _describe_few(study, edge, can_edit=can_edit)
        return TemplateResponse(request, "results/design.html", context)
    newest = open_results(study, request.user)
    context = {
        "newest": newest,
        "can_compute": can_edit,
        "facts": describe_design(study),
        **_describe_counted(study, newest),
        **_describe_precision(request, study, newest, edge),
    }
    response = TemplateResponse(request, "results/design.html", context)
    return keep_watching(response, newest.job)


def _describe_few(study: Study, edge: Edge, *, can_edit: bool) -> dict[str, Any]:
    """Return the design before there are results: counted now, or what the launch will plan."""
    facts = describe_design(study)
    # with answers there are places: also in a draft, of which they were imported
    is_empty = study.launched_at is None and not edge.done
    if is_empty and not Slot.objects.filter(study=study).exists():
        return {
            "is_draft": True,
            "has_items": edge.items > 0,
            "promises": promise_design(study),
            "people": check_people(study),
            "launch_url": study_url("study-launch", study) if can_edit else "",
            "facts": facts,
        }
    if edge.target > MOST_COUNTED:
        return {"facts": facts, "is_large": True}
    return {"facts": facts, **_describe_balance(study, report_design(study))}


def _describe_counted(study: Study, newest: Newest) -> dict[str, Any]:
    """Return the balance as it was counted with the last results."""
    job = newest.job
    if job is None or job.state != Job.State.DONE:
        job = Job.objects.filter(study_id=study.pk, kind=KIND, state=Job.State.DONE).first()
    counted = {} if job is None else job.result.get("design") or {}
    if not counted or job is None:
        return {}
    return {"counted_at": job.finished_at, **_describe_balance(study, Report.of_dict(counted))}


def _describe_balance(study: Study, report: Report) -> dict[str, Any]:
    is_complete = study.has_ended or report.answers >= count_edge(study).target
    return {
        "title": head_design(report, is_complete=is_complete),
        "replay": report.replay if report.strays else "",
        "answers": report.answers,
        "balance": list_balance(report, name_unit(study)),
        "tables": list_other_tables(report),
        "left_out": report.left_out,
    }


def _describe_precision(
    request: HttpRequest, study: Study, newest: Newest, edge: Edge
) -> dict[str, Any]:
    """Return what is detected now and with further answers, and what is missing."""
    report = newest.report
    if report is None:
        return {}
    context: dict[str, Any] = {
        # by system, so it waits for the results
        "missing": not report.content.get("is_hidden")
        and describe_missing(report.content["kept"]["criteria"]),
        "collected": _list_collected(study, newest),
        "kept_plan": getattr(study, "size_plan", None),
        "is_hidden": is_hidden(study),
    }
    projection = find_projection(study, report, newest.job)
    questions = list_questions(report, projection) if projection else []
    if not questions or projection is None:
        return context | {"is_projected": projection is not None}
    asked = request.GET.get("question", "")
    question = next((entry for entry in questions if entry.stored["key"] == asked), questions[0])
    options = list_options(study, question, projection)
    precision = list_precision(study, questions)
    return context | {
        "precision": precision,
        "wider": next((row["label"] for row in precision if row["is_wider"]), ""),
        "has_planned": any(row["planned"] for row in precision),
        "smallest": next((row["smallest"] for row in precision if row["smallest"]), ""),
        "reach": say_reach(study, question, edge.target),
        "question": question,
        "questions": [(entry.stored["key"], entry.stored["label"]) for entry in questions],
        "options": options,
        "has_cost": any(row["cost"] for row in options),
        "notes": describe_notes(study, report, question, projection, edge.target),
    }


def _list_collected(study: Study, newest: Newest) -> str:
    """Return the figures of the design as it was collected, as a table."""
    if newest.report is None:
        return ""
    source = make_source(study, newest.report, has_notes=False)
    tables = [
        block
        for block in list_together(source)
        if isinstance(block, Table) and block.name in ("design", "places")
    ]
    return render_html(Document("", tables))
