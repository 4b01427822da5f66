from django.apps import AppConfig


class DecisionsConfig(AppConfig):
    name = "evalsite.decisions"
    label = "quality"

    def ready(self) -> None:
        # freezes plans at launch; closes studies at their time; measures people
        from evalsite.decisions import closing, frozen_plans, people_figures  # noqa: F401, PLC0415
