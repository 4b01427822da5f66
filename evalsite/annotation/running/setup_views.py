"""Staff pages of Set up: what people read, work and quality, and the launch checklist."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.accounts.time_zones import zone_of
from evalsite.annotation.running.checklist import check_people, check_reading_time
from evalsite.annotation.running.launch import describe_frozen, launch_study, newest_launch
from evalsite.annotation.running.made_check_views import made_check_views
from evalsite.annotation.running.made_checks import list_made, list_uploaded
from evalsite.annotation.running.previews import is_preview, make_previews
from evalsite.annotation.running.setup import PAGE_NAMES, describe_dates, describe_setup
from evalsite.annotation.running.setup_page import (
    choose_status,
    describe_page,
    make_form,
    save_settings,
)
from evalsite.jobs.live_page import keep_watching
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.setting_changes import describe_last_change
from evalsite.studies.settings import PAGES
from evalsite.studies.setup_forms import QualityForm
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


@study_page(
    "set-up/quality/",
    name="setup-quality",
    role=_EDITOR,
    place="Set up",
    tab=PAGES["quality"],
    order=34,
)
@require_http_methods(["GET", "HEAD", "POST"])
def show_quality(request: HttpRequest, study: Study) -> HttpResponseBase:
    form = make_form(QualityForm, request, study)
    saved = save_settings(request, form)
    if saved is not None:
        return saved
    context = describe_page(study, form) | {"checks": _list_checks(study)}
    status = choose_status(context)
    return TemplateResponse(request, "studies/setup_quality.html", context, status=status)


def _list_checks(study: Study) -> list[tuple[Item, list[tuple[str, str]], bool]]:
    """Return each check with its right answers, and whether it was made here."""
    criteria = study.config.criteria
    made = [(item, True) for item in list_made(study)[:MOST_LISTED]]
    uploaded = [(item, False) for item in list_uploaded(study)[:MOST_LISTED]]
    return [
        (
            item,
            [(one.label, item.gold[one.key]) for one in criteria if item.gold.get(one.key)],
            is_made,
        )
        for item, is_made in [*made, *uploaded]
    ]


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
