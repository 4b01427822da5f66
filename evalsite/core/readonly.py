"""Stock admin pages of data tables: to look at, for superusers, and never to change."""

from typing import Any

from django.contrib import admin
from django.http import Http404, HttpRequest


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows as they are. What changes them is the study's own pages."""

    actions = None
    list_per_page = 50
    show_full_result_count = False
    view_on_site = False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, pk: str) -> Any:
        # Django would redirect and name the id: that reveals which objects exist.
        raise Http404(f"No such {opts.verbose_name}.")
