from django.apps import AppConfig


class QualityConfig(AppConfig):
    name = "evalsite.quality"

    def ready(self) -> None:
        # freezes plans at launch; closes studies at their time
        from evalsite.quality import closing, frozen_plans  # noqa: F401, PLC0415
