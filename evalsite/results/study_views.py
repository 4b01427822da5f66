"""Staff pages: the overview of a study, and its progress by item and system."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from evalsite.annotation.running.kept_places import IDLE_MINUTES, Holder, count_places, list_holders
from evalsite.annotation.running.launch import count_held
from evalsite.annotation.running.places_views import describe_places
from evalsite.jobs.live_page import keep_watching
from evalsite.lib.clock import now
from evalsite.participants.joins import count_recent_joins
from evalsite.quality.top_up import find_shortage
from evalsite.results.analysis_plan.views import plan_views
from evalsite.results.design.views import design_views
from evalsite.results.exclusions.views import exclusion_views
from evalsite.results.next_steps import next_steps
from evalsite.results.people.views import people_views
from evalsite.results.power.views import planner_views
from evalsite.results.progress import (
    Activity,
    activity_of,
    items_by_progress,
    median_seconds,
    progress_by_system,
    progress_of,
)
from evalsite.results.replication.views import repeating_views
from evalsite.results.report.computation import newest_report
from evalsite.results.report.sections import glance_at
from evalsite.results.report.views import report_views, result_views
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import StudyView, has_role, study_url
from evalsite.studies.summary_lines import count_of, format_money

PAGE = 50
# so many people who join in so short a time may be a script
BURST, BURST_WINDOW = 30, timedelta(minutes=10)


@require_safe
def show_overview(request: HttpRequest, study: Study) -> HttpResponseBase:
    progress = progress_of(study)
    activity = activity_of(study, progress)
    return TemplateResponse(
        request,
        "results/overview.html",
        {
            "progress": progress,
            "activity": activity,
            "facts_now": _facts(study, activity),
            "burst": _count_burst(study),
            # a running or archived study has no button that these would bar
            "held": count_held(study) if study.state == Study.State.CLOSED else None,
            **_results_so_far(study),
            "steps": [
                (step, url)
                for step in next_steps(study, progress, activity)
                if has_role(request, study, step.role) and (url := study_url(step.url_name, study))
            ],
        },
    )


def _count_burst(study: Study) -> int:
    """Return how many people joined in the last minutes if those are many; 0 otherwise."""
    joined = count_recent_joins(study, BURST_WINDOW) if study.state == Study.State.LIVE else 0
    return joined if joined >= BURST else 0


def _results_so_far(study: Study) -> dict[str, Any]:
    """Return the newest report at a glance, if one was computed."""
    report = newest_report(study)
    if report is None:
        return {}
    return {"report": report, "so_far": glance_at(report)}


def _facts(study: Study, activity: Activity) -> list[tuple[str, str]]:
    """Return the small facts under the bar; only those that mean something yet."""
    facts = [
        ("Finished sets", f"{activity.finished_sets:,} of {activity.needed_sets:,}"),
        ("Active now", count_of(activity.active, "person", "people")),
        (
            "Stopped early",
            f"{activity.stopped:,} of {count_of(activity.people, 'person', 'people')}",
        ),
        ("Problem reports", f"{activity.reports:,}"),
    ]
    if (seconds := median_seconds(study)) is not None:
        facts.insert(2, ("Median time", f"{seconds:,} s an item"))
    if study.pay_per_set is not None:
        spent = format_money(study.pay_per_set * activity.finished_sets, study.currency)
        planned = format_money(study.pay_per_set * activity.needed_sets, study.currency)
        facts.append(("Cost so far", f"{spent} of {planned}"))
    return facts


@require_safe
def show_monitor(request: HttpRequest, study: Study) -> HttpResponseBase:
    batches = list(study.batches.all())
    batch_id = _chosen_batch(request, {batch.pk for batch in batches})
    items = items_by_progress(study, batch_id)
    progress = progress_of(study)
    activity = activity_of(study, progress)
    can_steer = has_role(request, study, Membership.Role.EDITOR)
    places = describe_places(study)
    idle = _list_idle(request, study)
    response = TemplateResponse(
        request,
        "results/monitor.html",
        {
            "progress": progress,
            "activity": activity,
            "can_steer": can_steer,
            "shortage": find_shortage(study),
            **places,
            "held_url": study_url("study-held", study) if activity.held and can_steer else "",
            "idle": idle,
            "idle_places": count_places(idle),
            "idle_minutes": IDLE_MINUTES,
            "systems": progress_by_system(study),
            "batches": batches,
            "batch_id": batch_id,
            "items": Paginator(items, PAGE).get_page(request.GET.get("page")),
        },
    )
    return keep_watching(response, places.get("places"))


def _list_idle(request: HttpRequest, study: Study) -> list[Holder]:
    """Return who holds places and has gone quiet, for those who may take these back."""
    if not study.is_launched or not has_role(request, study, Membership.Role.EDITOR):
        return []
    return list_holders(study, before=now() - timedelta(minutes=IDLE_MINUTES))


def _chosen_batch(request: HttpRequest, known: set[UUID]) -> UUID | None:
    """Return the batch to show the items of, if the address names one of this study's."""
    try:
        chosen = UUID(request.GET.get("batch", ""))
    except ValueError:
        return None
    return chosen if chosen in known else None


study_views = [
    StudyView(
        path="overview/",
        name="study-overview",
        view=show_overview,
        place="Overview",
        tab="Overview",
        order=10,
    ),
    StudyView(
        path="monitor/",
        name="study-monitor",
        view=show_monitor,
        place="Overview",
        tab="Monitor",
        order=11,
    ),
    *design_views,
    *result_views,
    *plan_views,
    *planner_views,
    *report_views,
    *repeating_views,
    *people_views,
    *exclusion_views,
]
