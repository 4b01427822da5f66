"""Staff pages: trying a study, launching it, and steering it while it runs."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_POST, require_safe

from evalsite.annotation.pages.held_items import (
    held_items,
    list_shuffled_outputs,
    reason_in_words,
    release_item,
    reports_by_item,
)
from evalsite.annotation.running.crowd_views import crowd_views
from evalsite.annotation.running.earlier_studies_views import earlier_views
from evalsite.annotation.running.invite_page import show_invite  # noqa: F401 (a page by itself)
from evalsite.annotation.running.launch import (
    archive_study,
    pause_study,
    resume_study,
    unarchive_study,
)
from evalsite.annotation.running.panel_page import show_panel  # noqa: F401 (a page by itself)
from evalsite.annotation.running.pilot_views import pilot_views
from evalsite.annotation.running.places_views import places_views
from evalsite.annotation.running.quota_views import quota_views
from evalsite.annotation.running.read_views import show_read  # noqa: F401 (registers its page)
from evalsite.annotation.running.setup_views import setup_views
from evalsite.annotation.running.stop_views import stop_views
from evalsite.annotation.running.work_page import show_work  # noqa: F401 (a page by itself)
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.staff_pages import StudyView, find_home

PAGE = 50


# --- held items ---------------------------------------------------------------------


@require_safe
def show_held(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show what was reported and why, for a decision."""
    rows = Paginator(held_items(study), PAGE).get_page(request.GET.get("page"))
    columns, reports = study.config.columns, reports_by_item(rows)
    items = [
        (
            item,
            [
                (column.heading, item.inputs[column.name])
                for column in columns
                if column.name in item.inputs
            ],
            list_shuffled_outputs(study, item),
            [(reason_in_words(report), report) for report in reports[item.pk]],
        )
        for item in rows
    ]
    return TemplateResponse(request, "annotation/held.html", {"rows": rows, "held": items})


@require_POST
def release(request: HttpRequest, study: Study, item_id: int) -> HttpResponseBase:
    item = get_object_or_404(Item, study=study, pk=item_id)
    try:
        release_item(item=item, by=request.user)
    except ValidationError as error:
        _show_error(request, error)
    else:
        messages.success(request, f"Released: {item.key} is handed out again.")
    return redirect("admin:study-held", study.pk)


# --- what these pages share ---------------------------------------------------------


def _steer(service: Callable[..., Any], done: str = "") -> Callable[..., HttpResponseBase]:
    """Return a view that asks the service for one thing and says how it went."""

    @require_POST
    def view(request: HttpRequest, study: Study) -> HttpResponseBase:
        try:
            service(study=study, by=request.user)
        except ValidationError as error:
            _show_error(request, error)
        else:
            if done:
                messages.success(request, done)
        return redirect(f"admin:{find_home(study)}", study.pk)

    return view


def _show_error(request: HttpRequest, error: ValidationError) -> None:
    for problem in error.messages:
        messages.error(request, problem)


_EDITOR, _OWNER = Membership.Role.EDITOR, Membership.Role.OWNER

study_views = [
    *places_views,
    *earlier_views,
    *quota_views,
    *crowd_views,
    *setup_views,
    *pilot_views,
    *stop_views,
    StudyView(path="held/", name="study-held", view=show_held, role=_EDITOR, within="Overview"),
    StudyView(path="held/<int:item_id>/release/", name="item-release", view=release, role=_EDITOR),
    StudyView(
        path="pause/",
        name="study-pause",
        view=_steer(pause_study, "Paused."),
        role=_EDITOR,
    ),
    StudyView(
        path="resume/",
        name="study-resume",
        view=_steer(resume_study, "Resumed. New work is handed out again."),
        role=_EDITOR,
    ),
    StudyView(
        path="archive/",
        name="study-archive",
        view=_steer(archive_study, "Archived. It is listed among the archived studies."),
        role=_OWNER,
    ),
    StudyView(
        path="archive/undo/",
        name="study-unarchive",
        view=_steer(unarchive_study, "Restored. It is back among your studies."),
        role=_OWNER,
        is_reading=True,
    ),
]
