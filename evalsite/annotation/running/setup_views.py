"""Staff pages of Set up: what people read, work and quality, and the launch checklist."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_POST, require_safe

from evalsite.accounts.time_zones import zone_of
from evalsite.annotation.running.checklist import WORTH_A_LOOK, check_people, check_reading_time
from evalsite.annotation.running.launch import describe_frozen, launch_study, newest_launch
from evalsite.annotation.running.made_check_views import made_check_views
from evalsite.annotation.running.previews import is_preview, make_previews
from evalsite.annotation.running.setup import PAGE_NAMES, describe_dates, describe_setup
from evalsite.jobs.live_page import keep_watching
from evalsite.studies.models import Membership, Study
from evalsite.studies.setting_changes import describe_last_change
from evalsite.studies.staff_pages import StudyView, has_role, study_page, study_url

MOST_LISTED = 100
_EDITOR = Membership.Role.EDITOR


@study_page("set-up/", name="study-setup")
@require_safe
def open_setup(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Lead to the first page that blocks the launch, otherwise to the items."""
    blocking = (
        name
        for name, entry in describe_setup(study).entries.items()
        if entry.is_blocking and has_role(request, study, _EDITOR)
    )
    return redirect(f"admin:{next(blocking, PAGE_NAMES['items'])}", study.pk)


@study_page("set-up/preview/<slug:key>/", name="setup-preview", role=_EDITOR)
@require_safe
def show_preview(request: HttpRequest, study: Study, key: str) -> HttpResponseBase:
    """Show a page of participants by itself, as it is saved."""
    previews = make_previews(study, [key]) if is_preview(key) else []
    if not previews:
        raise Http404("There is no such page yet.")
    return HttpResponse(previews[0].html)


# --- the launch -------------------------------------------------------------------------


@study_page("launch/", name="study-launch", role=_EDITOR, tab="Launch")
@require_safe
def show_launch(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show the checklist; once launched is pressed, how far the job is."""
    if study.is_launched:
        return redirect("admin:study-overview", study.pk)
    job = newest_launch(study)
    setup = describe_setup(study)
    worth = [check_people(study, setup.work), check_reading_time(study)]
    worth += [check(study) for check in WORTH_A_LOOK]
    remarks = [*setup.remarks, *(check for check in worth if check.remark)]
    response = TemplateResponse(
        request,
        "studies/launch.html",
        {
            "job": job,
            "can_restart": job is not None and (not job.is_open or job.is_stale),
            "setup": setup,
            "dates": describe_dates(study, zone_of(request.user)),
            "problems": [(one, study_url(one.url_name, study)) for one in setup.problems],
            "remarks": [(one, study_url(one.url_name, study)) for one in remarks],
            "looks": len(remarks) + (not setup.counts.pilots),
            "is_owner": has_role(request, study, Membership.Role.OWNER),
            "frozen": describe_frozen(study),
        },
    )
    return keep_watching(response, job)


@study_page("launch/start/", name="study-launch-start", role=Membership.Role.OWNER)
@require_POST
def start_launch(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Launch the study as the person saw it on the checklist."""
    try:
        if request.POST.get("revision", str(study.revision)) != str(study.revision):
            raise ValidationError(
                f"{describe_last_change(study, request.user)} Look at the list again."
            )
        seen = request.POST.getlist("seen") if "revision" in request.POST else None
        launch_study(study=study, by=request.user, seen=seen)
    except ValidationError as error:
        for problem in error.messages:
            messages.error(request, problem)
    return redirect("admin:study-launch", study.pk)


setup_views: list[StudyView] = [*made_check_views]
