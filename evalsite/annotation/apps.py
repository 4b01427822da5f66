from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "evalsite.annotation"

    def ready(self) -> None:
        # they register their jobs
        from evalsite.annotation.running import launch, live_changes  # noqa: F401, PLC0415
