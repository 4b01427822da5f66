"""The staff page of a study's design."""

from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_POST, require_safe

from evalsite.annotation.models import Slot
from evalsite.annotation.running.checklist import check_people
from evalsite.jobs.live_page import keep_watching
from evalsite.jobs.models import Job
from evalsite.results.design.balance_count import newest_count, newest_report, start_count
from evalsite.results.design.report import begin_report, report_design
from evalsite.results.design.wording import promise_design
from evalsite.results.overview.item_strip import draw_strip
from evalsite.results.progress import count_edge
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import StudyView, has_role, study_url
from evalsite.studies.summary_lines import count_of

# with more places than this, a job counts: a page would take seconds
MOST_COUNTED = 10_000


@require_safe
def show_design(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show how work is handed out, and how even that is; before the launch, how it will be."""
    places = Slot.objects.filter(study=study)
    if count_edge(study).target > MOST_COUNTED and (number := places.count()) > MOST_COUNTED:
        context = _describe_large(study, number)
    else:
        context = {"report": (report := report_design(study))}
        if not report.has_places:
            context |= _describe_draft(request, study)
    if context["report"].has_places:
        context["strip"] = draw_strip(study, count_edge(study).items)
    response = TemplateResponse(request, "results/design.html", context)
    return keep_watching(response, context.get("job"))


def _describe_draft(request: HttpRequest, study: Study) -> dict[str, Any]:
    may_launch = has_role(request, study, Membership.Role.EDITOR)
    return {
        "has_items": count_edge(study).items > 0,
        "promises": promise_design(study),
        "people": check_people(study),
        "launch_url": study_url("study-launch", study) if may_launch else "",
    }


def _describe_large(study: Study, places: int) -> dict[str, Any]:
    """Return the last count, and whether another is running."""
    job, found = newest_count(study), newest_report(study)
    report = begin_report(study, has_places=True)
    if found is not None:
        report.take_counts(found[1])
    return {
        "report": report,
        "places": count_of(places, "place"),
        "counted_at": None if found is None else found[0].finished_at,
        "job": job,
        "is_counting": job is not None and job.is_open and not job.is_stale,
        "stopped": job if job is not None and _has_stopped(job) else None,
    }


def _has_stopped(job: Job) -> bool:
    return job.is_stale or job.state == Job.State.FAILED


@require_POST
def count_design(request: HttpRequest, study: Study) -> HttpResponseBase:
    start_count(study=study, by=request.user)
    return redirect("admin:study-design", study.pk)


design_views = [
    StudyView(
        path="results/balance/",
        name="study-design",
        view=show_design,
        place="Results",
        tab="Balance",
        order=72,
    ),
    StudyView(
        path="results/balance/count/", name="study-design-count", view=count_design, is_reading=True
    ),
]
