"""The staff page that plans a study: how many inputs, participants and ratings it needs."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.jobs.live_page import keep_watching
from evalsite.jobs.models import Job
from evalsite.lib.csv_writer import write_rows
from evalsite.quality.frozen_plans import is_hidden
from evalsite.results.models import Report
from evalsite.results.power.design_search import KIND, start_plan
from evalsite.results.power.finished_plan import describe_size, list_plan, show_plan
from evalsite.results.power.forms import PlannerForm, list_criteria, show_choice
from evalsite.results.power.kept_plan import choose_row, describe_kept, keep_plan
from evalsite.results.power.own_study import describe_detected, find_projection, list_projected
from evalsite.results.progress import count_edge
from evalsite.results.report.computation import newest_analysis, newest_report
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import StudyView, has_role
from evalsite.studies.summary_lines import name_of_file


# --- the page -------------------------------------------------------------------------
@require_http_methods(["GET", "HEAD", "POST"])
def show_planner(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show what was planned last, or the plan that the address names, and the form for another."""
    may_plan = has_role(request, study, Membership.Role.EDITOR)
    if request.method == "POST" and not may_plan:
        raise PermissionDenied
    job = _find_plan(request, study)
    initial = None if job is None else show_choice(job.params)
    posted = request.POST if request.method == "POST" else None
    report = newest_report(study)
    form = None
    if list_criteria(study):
        form = PlannerForm(posted, study=study, report=report, initial=initial)
    if posted is not None and form is not None and form.is_valid():
        started = start_plan(study=study, choice=form.choice, by=request.user)
        return redirect(f"{reverse('admin:study-planner', args=[study.pk])}?plan={started.pk}#plan")
    return _answer(request, study, report, form if may_plan else None, job)


def _answer(
    request: HttpRequest,
    study: Study,
    report: Report | None,
    form: PlannerForm | None,
    job: Job | None,
) -> HttpResponseBase:
    has_errors = form is not None and bool(form.errors)
    is_planning = job is not None and job.is_open and not job.is_stale and not has_errors
    computing = newest_analysis(study)
    is_computing = computing is not None and computing.is_open and not computing.is_stale
    kept = describe_kept(study)
    context: dict[str, Any] = {
        **_describe_own(request, study, report, computing),
        "is_computing": is_computing,
        "computing": computing,
        "form": form,
        "has_errors": has_errors,
        "can_be_planned": bool(list_criteria(study)),
        "job": job,
        "is_planning": is_planning,
        "plan": show_plan(study, job) if job is not None and job.state == Job.State.DONE else None,
        "kept": kept,
        "kept_at": datetime.fromisoformat(kept["at"]) if kept else None,
    }
    response = TemplateResponse(
        request, "results/planner.html", context, status=422 if has_errors else 200
    )
    # no words are lost: the form is hidden meanwhile
    return keep_watching(response, job, computing)


def _describe_own(
    request: HttpRequest, study: Study, report: Report | None, computing: Job | None
) -> dict[str, Any]:
    """Return what this study itself detects, once it is launched and compares systems."""
    edge, projection = count_edge(study), find_projection(study, report, computing)
    criteria = list_projected(report, projection) if report and projection else []
    is_compared = edge.systems > 1 and (study.is_launched or edge.done > 0)
    if projection is not None and not criteria:
        is_compared = False
    asked = request.GET.get("criterion", "")
    keys = [one["key"] for one in criteria]
    detected = None
    if report and projection and keys:
        key = asked if asked in keys else keys[0]
        detected = describe_detected(study, report, projection, key, edge)
    return {
        "edge": edge,
        "report": report,
        "is_compared": is_compared,
        "criteria": criteria,
        "detected": detected,
        "has_answers": edge.done > 0,
        "can_restart": has_role(request, study, Membership.Role.EDITOR),
        "is_hidden": is_hidden(study),
    }


def _find_plan(request: HttpRequest, study: Study) -> Job | None:
    """Return the plan that the address names, if it is this study's; the newest otherwise."""
    plans = Job.objects.filter(study_id=study.pk, kind=KIND)
    try:
        named = plans.filter(pk=UUID(request.GET.get("plan", ""))).first()
    except ValueError:
        named = None
    return named or plans.first()


@require_safe
def send_plan(request: HttpRequest, study: Study, job_id: UUID) -> HttpResponseBase:
    """Send the designs of a plan with every digit, as CSV."""
    job = get_object_or_404(
        Job, pk=job_id, study_id=study.pk, kind=KIND, state=Job.State.DONE
    )  # fmt: skip
    content = write_rows(list_plan(study, job))
    response = HttpResponse(content, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name_of_file(study, "plan.csv")}"'
    return response


@require_POST
def keep_design(request: HttpRequest, study: Study, job_id: UUID) -> HttpResponseBase:
    """Keep a design of a plan as the size that the study was planned for."""
    job = get_object_or_404(
        Job, pk=job_id, study_id=study.pk, kind=KIND, state=Job.State.DONE
    )  # fmt: skip
    try:
        row = choose_row(job, request.POST.get("design", ""))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        keep_plan(study=study, content=describe_size(study, job.params, row), by=request.user)
        messages.success(request, "Kept. Reports and the datasheet print this plan with its time.")
    return redirect(f"{reverse('admin:study-planner', args=[study.pk])}?plan={job.pk}#plan")


planner_views = [
    StudyView(
        path="results/power/",
        name="study-planner",
        view=show_planner,
        place="Results",
        tab="Precision and power",
        order=74,
        is_reading=True,
    ),
    StudyView(
        path="results/power/<uuid:job_id>/keep/",
        name="study-plan-keep",
        view=keep_design,
        role=Membership.Role.EDITOR,
        within="Precision and power",
    ),
    StudyView(path="results/power/<uuid:job_id>/plan.csv", name="study-plan-data", view=send_plan),
]
