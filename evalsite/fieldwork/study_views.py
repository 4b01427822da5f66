"""Staff pages: items that are held, and a study that is paused, archived or brought back."""

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

from evalsite.fieldwork import (  # noqa: F401 (pages that register themselves)
    crowd_views,
    earlier_studies_views,
    invite_page,
    made_check_views,
    panel_page,
    pilot_views,
    places_views,
    quota_views,
    read_views,
    setup_views,
    work_page,
)
from evalsite.fieldwork.launch import (
    archive_study,
    pause_study,
    resume_study,
    unarchive_study,
)
from evalsite.participation.held_items import (
    held_items,
    list_shuffled_outputs,
    reason_in_words,
    release_item,
    reports_by_item,
)
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.staff_pages import find_home, study_page

PAGE = 50
_EDITOR, _OWNER = Membership.Role.EDITOR, Membership.Role.OWNER


# --- held items ---------------------------------------------------------------------


@study_page("held/", name="study-held", role=_EDITOR, within="Overview")
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
    return TemplateResponse(request, "fieldwork/held.html", {"rows": rows, "held": items})


@study_page("held/<int:item_id>/release/", name="item-release", role=_EDITOR)
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


# --- from one state to another --------------------------------------------------------------


@study_page("pause/", name="study-pause", role=_EDITOR)
@require_POST
def pause(request: HttpRequest, study: Study) -> HttpResponseBase:
    return _steer(request, study, pause_study, "Paused.")


@study_page("resume/", name="study-resume", role=_EDITOR)
@require_POST
def resume(request: HttpRequest, study: Study) -> HttpResponseBase:
    return _steer(request, study, resume_study, "Resumed. New work is handed out again.")


@study_page("archive/", name="study-archive", role=_OWNER)
@require_POST
def archive(request: HttpRequest, study: Study) -> HttpResponseBase:
    done = "Archived. It is listed among the archived studies."
    return _steer(request, study, archive_study, done)


@study_page("archive/undo/", name="study-unarchive", role=_OWNER, is_reading=True)
@require_POST
def unarchive(request: HttpRequest, study: Study) -> HttpResponseBase:
    return _steer(request, study, unarchive_study, "Restored. It is back among your studies.")


def _steer(
    request: HttpRequest, study: Study, service: Callable[..., Any], done: str
) -> HttpResponseBase:
    try:
        service(study=study, by=request.user)
    except ValidationError as error:
        _show_error(request, error)
    else:
        messages.success(request, done)
    return redirect(f"admin:{find_home(study)}", study.pk)


def _show_error(request: HttpRequest, error: ValidationError) -> None:
    for problem in error.messages:
        messages.error(request, problem)
