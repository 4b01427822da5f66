"""The project as Django sees it: its checks and its admin site."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class EvalsiteConfig(AppConfig):
    name = "evalsite"
    verbose_name = "Evalsite"

    def ready(self) -> None:
        from evalsite import checks  # noqa: F401, PLC0415 (registers the checks)


class EvalsiteAdminConfig(AdminConfig):
    default_site = "evalsite.admin.EvalsiteAdminSite"
