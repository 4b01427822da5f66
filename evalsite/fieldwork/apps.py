from django.apps import AppConfig


class FieldworkConfig(AppConfig):
    name = "evalsite.fieldwork"

    def ready(self) -> None:
        # they register their jobs and tasks
        from evalsite.fieldwork import (  # noqa: F401, PLC0415
            invitation_mail,
            launch,
            live_changes,
        )
