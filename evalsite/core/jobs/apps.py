from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "evalsite.core.jobs"

    def ready(self) -> None:
        from evalsite.core.jobs import outbox  # noqa: F401, PLC0415 (registers its task)
