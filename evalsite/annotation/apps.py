from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "evalsite.annotation"

    def ready(self) -> None:
        # they register their jobs and tasks
        from evalsite.annotation.running import (  # noqa: F401, PLC0415
            invitation_mail,
            launch,
            live_changes,
        )
