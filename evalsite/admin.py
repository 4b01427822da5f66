"""The admin site: the composition root of staff pages."""

from importlib import import_module
from typing import Any

from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse

from evalsite.studies.pages import StudyView, get_study, has_role

APPS_WITH_PAGES = ("results", "exchange", "quality", "annotation", "participants", "studies")


def collect_study_views() -> list[StudyView]:
    """Every page that the apps export for a study, in the order of the navigation."""
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


class EvalsiteAdminSite(AdminSite):
    site_header = site_title = "Evalsite"
    index_title = "Studies"
    enable_nav_sidebar = False

    def get_urls(self) -> list[URLResolver | URLPattern]:
        pages = [
            path(
                f"studies/<uuid:study_id>/{page.path}",
                self.admin_view(self._serve(page)),
                name=page.name,
            )
            for page in collect_study_views()
        ]
        return [*pages, *super().get_urls()]

    def _serve(self, page: StudyView) -> Any:
        """The page as a view: 404 for a study one may not see, 403 for a role that is too low."""

        def view(request: HttpRequest, study_id: object, **captured: Any) -> HttpResponseBase:
            study = get_study(request, study_id)
            if not has_role(request, study, page.role):
                raise PermissionDenied
            response = page.view(request, study, **captured)
            if isinstance(response, TemplateResponse):
                response.context_data = {
                    **self.each_context(request),
                    "study": study,
                    "tabs": self._tabs(study, page),
                    **(response.context_data or {}),
                }
            return response

        return view

    def _tabs(self, study: Any, current: StudyView) -> list[dict[str, Any]]:
        return [
            {
                "label": page.tab,
                "url": reverse(f"admin:{page.name}", args=[study.pk]),
                "is_current": page.name == current.name or page.tab == current.tab,
            }
            for page in collect_study_views()
            if page.tab
        ]
