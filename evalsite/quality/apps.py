from django.apps import AppConfig


class QualityConfig(AppConfig):
    name = "evalsite.quality"

    def ready(self) -> None:
        # freezes plans at launch; closes studies at their time; measures people
        from evalsite.quality import closing, frozen_plans, people_figures  # noqa: F401, PLC0415
