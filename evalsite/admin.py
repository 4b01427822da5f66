"""The admin site: the composition root of staff pages."""

from functools import wraps
from importlib import import_module
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.forms import UsernameField
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.forms import TextInput
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse

from evalsite.studies.models import Study
from evalsite.studies.staff_pages import StudyView, get_study, held_rank, is_enough
from evalsite.studies.summary_lines import describe_study, name_of_protocol

APPS_WITH_PAGES = (
    "results", "imports", "exports", "quality", "annotation", "participants", "studies",
)  # fmt: skip
PAGE = 50
MACHINERY = ("axes", "django_tasks_database")
ARCHIVED = (
    "This study is archived, so nothing was changed. An owner can bring it back under Sharing."
)


def collect_study_views() -> list[StudyView]:
    """Return every page that the apps export for a study, in the order of the navigation."""
    found: list[StudyView] = []
    for app in APPS_WITH_PAGES:
        try:
            module = import_module(f"evalsite.{app}.study_views")
        except ModuleNotFoundError as error:
            if error.name != f"evalsite.{app}.study_views":
                raise
            continue
        found += module.study_views
    return sorted(found, key=lambda page: page.order)


class SignInForm(AdminAuthenticationForm):
    """Django's form, refusing a name that is longer than any: its own only says so in the page."""

    username = UsernameField(max_length=150, widget=TextInput(attrs={"autofocus": True}))


class EvalsiteAdminSite(AdminSite):
    login_form = SignInForm
    site_header = site_title = "Evalsite"
    site_url = None  # participants have links; there is no other site
    index_title = "Studies"
    enable_nav_sidebar = False

    def get_urls(self) -> list[URLResolver | URLPattern]:
        from evalsite.studies.study_views import new_study  # noqa: PLC0415 (needs the URLs)

        pages = [
            path(
                f"studies/<uuid:study_id>/{page.path}",
                self.admin_view(self._serve(page)),
                name=page.name,
            )
            for page in collect_study_views()
        ]
        new = path("studies/new/", self.admin_view(self._frame(new_study)), name="study-new")
        return [new, *pages, *super().get_urls()]

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """The view for staff; of Django's pages about one row, a 404 for those who may not see it.

        Django's own answers differ by whether the row exists.
        """
        owner = getattr(view, "__self__", None)
        if not isinstance(owner, ModelAdmin):
            return super().admin_view(view, cacheable)

        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **captured: Any) -> HttpResponseBase:
            if captured and not owner.has_view_permission(request):
                raise Http404
            return view(request, *args, **captured)

        return super().admin_view(guarded, cacheable)

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """The studies of this person with their progress, those put away on a list of their own.

        For superusers also the records.
        """
        from evalsite.results.progress import outline_progress  # noqa: PLC0415 (needs the models)

        visible = Study.objects.visible_to(request.user)
        archived = visible.filter(state=Study.State.ARCHIVED)
        is_archive = "archived" in request.GET
        shown = archived if is_archive else visible.exclude(state=Study.State.ARCHIVED)
        rows = Paginator(shown, PAGE).get_page(request.GET.get("page"))
        progress = outline_progress(list(rows))
        context = {
            **self.each_context(request),
            "title": "Archived studies" if is_archive else self.index_title,
            "rows": rows,
            "is_archive": is_archive,
            "archived": archived.count(),
            "studies": [
                (study, name_of_protocol(study.protocol), progress[study.pk]) for study in rows
            ],
            "app_list": self._records(request) if request.user.is_superuser else [],
            **(extra_context or {}),
        }
        request.current_app = self.name
        return TemplateResponse(request, "admin/index.html", context)

    def _records(self, request: HttpRequest) -> list[dict[str, Any]]:
        """Return the tables to link to; those of the machinery keep their addresses, unlinked."""
        return [app for app in self.get_app_list(request) if app["app_label"] not in MACHINERY]

    def _frame(self, page: Any) -> Any:
        """Return the page with what the admin's own frame needs."""

        def view(request: HttpRequest) -> HttpResponseBase:
            response = page(request)
            if isinstance(response, TemplateResponse):
                response.context_data = {
                    **self.each_context(request),
                    **(response.context_data or {}),
                }
            return response

        return view

    def _serve(self, page: StudyView) -> Any:
        """The page as a view: 404 for a study one may not see, 403 for a role that is too low."""

        def view(request: HttpRequest, study_id: UUID, **captured: Any) -> HttpResponseBase:
            study = get_study(request, study_id)
            rank = held_rank(request, study)
            if not is_enough(rank, page.role):
                raise PermissionDenied
            if study.state == Study.State.ARCHIVED and not (page.is_reading or is_safe(request)):
                messages.error(request, ARCHIVED)
                return redirect("admin:study-overview", study.pk)
            response = page.view(request, study, **captured)
            if isinstance(response, TemplateResponse):
                response.context_data = {
                    **self.each_context(request),
                    "study": study,
                    "facts": describe_study(study),
                    "tabs": self._tabs(study, page, rank),
                    **(response.context_data or {}),
                }
            return response

        return view

    def _tabs(self, study: Study, current: StudyView, rank: int) -> list[dict[str, Any]]:
        """Return the study's navigation: only the pages that this person may open."""
        return [
            {
                "label": page.tab,
                "url": reverse(f"admin:{page.name}", args=[study.pk]),
                "is_current": page.tab == (current.tab or current.within),
            }
            for page in collect_study_views()
            if page.tab and page.is_shown(study) and is_enough(rank, page.role)
        ]


def is_safe(request: HttpRequest) -> bool:
    """Return whether the request only asks for something."""
    return request.method in ("GET", "HEAD")
