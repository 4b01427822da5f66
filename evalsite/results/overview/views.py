"""Staff pages: the overview of a study, and how far each of its items is."""

from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from evalsite.core.accounts.time_zones import zone_of
from evalsite.core.jobs.live_page import keep_watching
from evalsite.fieldwork.launch import newest_launch
from evalsite.fieldwork.live_changes import unfinished_places
from evalsite.fieldwork.places_views import describe_places
from evalsite.lib.clock import now
from evalsite.people.models import Recruitment
from evalsite.results.overview.activity_log import list_events, list_remarks
from evalsite.results.overview.attention import Reader, list_tasks
from evalsite.results.overview.headline import choose_headline, describe_day, describe_moment
from evalsite.results.overview.invited import list_invited
from evalsite.results.overview.item_strip import draw_strip
from evalsite.results.overview.pace import (
    Forecast,
    count_by_hour,
    draw_bars,
    draw_curve,
    forecast_end,
)
from evalsite.results.progress import (
    Progress,
    activity_of,
    count_edge,
    items_by_progress,
    median_seconds,
    progress_by_system,
    progress_of,
    read_latest,
)
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.set_size import items_per_set
from evalsite.studies.staff_pages import has_role, may_edit, may_see_identities, study_page
from evalsite.studies.summary_lines import format_money

SHOWN_PEOPLE = 20
PAGE = 50


@study_page("overview/", name="study-overview", place="Overview", tab="Overview", order=10)
@require_safe
def show_overview(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show how the study goes: what is counted, and what needs attention."""
    is_draft = study.version_id is None and not count_edge(study).done
    if is_draft and not unfinished_places(study).exists():
        raise Http404("A draft has no overview.")
    reader = Reader(
        can_edit=has_role(request, study, Membership.Role.EDITOR),
        is_owner=has_role(request, study, Membership.Role.OWNER),
        sees_identities=may_see_identities(request, study),
    )
    with timezone.override(zone_of(request.user)):
        context = _describe(study, reader)
    if context["activity"].has_work:
        context |= describe_places(study)
    if any(task.key == "invite" for task in context["tasks"]):
        context["has_link"] = Recruitment.objects.open_link(study).is_on
    join_url = reverse("study-join", args=[study.pk])
    context |= {"join_url": request.build_absolute_uri(join_url), "can_steer": reader.can_edit}
    response = TemplateResponse(request, "results/overview.html", context)
    return keep_watching(response, context.get("places"), context["launch"])


def _describe(study: Study, reader: Reader) -> dict[str, Any]:
    moment, activity = now(), activity_of(study, has_others=False)
    progress = progress_of(study)
    counts = count_by_hour(study) if progress.last_at is not None else []
    forecast = _forecast(study, progress, counts, moment)
    collected = sum(answers for _, answers in counts)
    latest = read_latest(study) if collected else []
    seconds = median_seconds(latest)
    people = (
        list_invited(
            study, moment, sees_identities=reader.sees_identities, is_owner=reader.is_owner
        )
        if activity.has_invited and study.is_launched
        else []
    )
    names = {person.pseudonym: person.name for person in people}
    is_blind = activity.plan is not None and activity.plan.hides
    is_launching = study.version_id is not None and not study.is_launched
    return {
        "progress": progress,
        "activity": activity,
        "headline": choose_headline(study, progress, forecast, people, moment),
        "tasks": list_tasks(study, progress, activity, people, reader),
        "people": people[:SHOWN_PEOPLE],
        "invited": len(people),
        "begun": sum(person.state not in ("unopened", "opened") for person in people),
        "finished": sum(person.state == "done" for person in people),
        "people_names": names,
        "remarks": list_remarks(study, latest, names, moment, is_blind=is_blind),
        "forecast": forecast,
        "done_by": describe_day(forecast.likely, moment) if forecast else "",
        "early": describe_moment(forecast.early, moment) if forecast else "",
        "late": describe_moment(forecast.late, moment) if forecast else "",
        "spent": _cost(study, activity.finished_sets),
        "planned": _cost(study, activity.needed_sets),
        "seconds": seconds,
        "hourly": _hourly(study, seconds),
        "curve": draw_curve(
            counts,
            before=progress.done - collected,
            target=progress.target,
            moment=moment,
            forecast=forecast,
        ),
        "bars": None if study.has_ended else draw_bars(counts, moment),
        "strip": draw_strip(study, count_edge(study).items) if study.is_launched else None,
        "events": list_events(study, moment),
        "launch": newest_launch(study) if is_launching else None,
        "as_of": moment,
        "is_live": study.state in (Study.State.LIVE, Study.State.PAUSED),
    }


def _forecast(
    study: Study, progress: Progress, counts: list[tuple[datetime, int]], moment: datetime
) -> Forecast | None:
    """Forecast the end of a live study that still needs answers."""
    remaining = progress.target - progress.done
    if study.state != Study.State.LIVE or remaining <= 0 or study.launched_at is None:
        return None
    return forecast_end(counts, since=study.launched_at, now=moment, remaining=remaining)


def _cost(study: Study, sets: int) -> str:
    pay = study.pay_per_set
    return "" if pay is None else format_money(pay * sets, study.currency)


def _hourly(study: Study, seconds: int | None) -> str:
    """Return what an hour pays at this median time per item."""
    if study.pay_per_set is None or not seconds:
        return ""
    hours = Decimal(seconds * items_per_set(study)) / 3600
    return format_money(study.pay_per_set / hours, study.currency)


# --- all items ------------------------------------------------------------------------------


@study_page("overview/items/", name="study-progress", within="Overview")
@require_safe
def show_progress(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show the answers of each item and system, those with the fewest first."""
    batches = list(study.batches.all())
    batch_id = _chosen_batch(request, {batch.pk for batch in batches})
    activity = activity_of(study)
    return TemplateResponse(
        request,
        "results/progress.html",
        {
            "progress": progress_of(study),
            "activity": activity,
            "systems": progress_by_system(study),
            "can_rename": may_edit(request, study)
            and has_role(request, study, Membership.Role.OWNER),
            "withdrawn": study.items.filter(kind=Item.Kind.WITHDRAWN),
            "batches": batches,
            "batch_id": batch_id,
            "items": Paginator(items_by_progress(study, batch_id), PAGE).get_page(
                request.GET.get("page")
            ),
        },
    )


def _chosen_batch(request: HttpRequest, known: set[UUID]) -> UUID | None:
    """Return the batch to show the items of, if the address names one of this study's."""
    try:
        chosen = UUID(request.GET.get("batch", ""))
    except ValueError:
        return None
    return chosen if chosen in known else None
