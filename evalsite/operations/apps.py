from django.apps import AppConfig


class OperationsConfig(AppConfig):
    name = "evalsite.operations"

    def ready(self) -> None:
        from evalsite.operations import retention  # noqa: F401, PLC0415 (registers its upkeep)
