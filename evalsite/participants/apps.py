from django.apps import AppConfig


class ParticipantsConfig(AppConfig):
    name = "evalsite.participants"

    def ready(self) -> None:
        from evalsite.participants import joins  # noqa: F401, PLC0415 (registers its task)
