from django.apps import AppConfig


class QualityConfig(AppConfig):
    name = "evalsite.quality"

    def ready(self) -> None:
        from evalsite.quality import frozen_plans  # noqa: F401, PLC0415 (freezes plans at launch)
