"""The staff page that plans a study: how many inputs, people and ratings it needs."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.core.jobs.live_page import keep_watching
from evalsite.core.jobs.models import Job
from evalsite.lib.csv_writer import write_rows
from evalsite.results.analysis_plan.stored import describe_kept, keep_plan
from evalsite.results.power.design_search import KIND, start_plan
from evalsite.results.power.finished_plan import describe_size, list_plan, show_plan
from evalsite.results.power.forms import DesignForm, PlannerForm, list_criteria, show_choice
from evalsite.results.report.computation import newest_report
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import has_role, study_page
from evalsite.studies.summary_lines import name_of_file


@study_page("setup/planner/", name="study-planner", within="setup-plan", is_reading=True)
@require_http_methods(["GET", "HEAD", "POST"])
def show_planner(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show what was planned last, or the plan that the address names, and the form for another."""
    may_plan = has_role(request, study, Membership.Role.EDITOR)
    if request.method == "POST" and not may_plan:
        raise PermissionDenied
    job = _find_plan(request, study)
    form = None
    if may_plan and list_criteria(study):
        form = PlannerForm(
            request.POST if request.method == "POST" else None,
            study=study,
            report=newest_report(study),
            initial=None if job is None else show_choice(job.params),
        )
    if form is not None and form.is_bound and form.is_valid():
        started = start_plan(study=study, choice=form.choice, by=request.user)
        return redirect(f"{reverse('admin:study-planner', args=[study.pk])}?plan={started.pk}#plan")
    has_errors = form is not None and bool(form.errors)
    context: dict[str, Any] = {
        "form": form,
        "has_errors": has_errors,
        "can_be_planned": bool(list_criteria(study)),
        "job": job,
        "is_planning": job is not None and job.is_open and not job.is_stale and not has_errors,
        "plan": show_plan(study, job) if job is not None and job.state == Job.State.DONE else None,
        "kept": describe_kept(study),
    }
    response = TemplateResponse(
        request, "results/planner.html", context, status=422 if has_errors else 200
    )
    # no words are lost: the form is hidden meanwhile
    return keep_watching(response, job)


def _find_plan(request: HttpRequest, study: Study) -> Job | None:
    """Return the plan that the address names, if it is this study's; the newest otherwise."""
    plans = Job.objects.filter(study_id=study.pk, kind=KIND)
    try:
        named = plans.filter(pk=UUID(request.GET.get("plan", ""))).first()
    except ValueError:
        named = None
    return named or plans.first()


@study_page("setup/planner/<uuid:job_id>/plan.csv", name="study-plan-data", within="setup-plan")
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


@study_page(
    "setup/planner/<uuid:job_id>/keep/",
    name="study-plan-keep",
    role=Membership.Role.EDITOR,
    within="setup-plan",
)
@require_POST
def keep_design(request: HttpRequest, study: Study, job_id: UUID) -> HttpResponseBase:
    """Keep a design of a plan as the size that the study was planned for."""
    job = get_object_or_404(
        Job, pk=job_id, study_id=study.pk, kind=KIND, state=Job.State.DONE
    )  # fmt: skip
    form = DesignForm(request.POST, rows=job.result["rows"])
    if not form.is_valid():
        messages.error(request, " ".join(map(str, form.errors["design"])))
    else:
        row = form.cleaned_data["design"]
        keep_plan(study=study, content=describe_size(study, job.params, row), by=request.user)
        messages.success(request, "Kept. Reports and the datasheet print this plan with its time.")
    return redirect(f"{reverse('admin:study-planner', args=[study.pk])}?plan={job.pk}#plan")
