"""Staff pages of Set up: where it opens, and the pages of participants by themselves."""

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from evalsite.fieldwork.previews import is_preview, make_previews
from evalsite.fieldwork.setup import PAGE_NAMES, describe_setup
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import has_role, study_page

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
