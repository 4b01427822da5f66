from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "evalsite.jobs"

    def ready(self) -> None:
        from evalsite.jobs import outbox  # noqa: F401, PLC0415 (registers its task)
