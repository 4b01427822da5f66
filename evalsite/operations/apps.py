from django.apps import AppConfig


class OperationsConfig(AppConfig):
    name = "evalsite.operations"

    def ready(self) -> None:
        from evalsite.operations import (  # noqa: F401, PLC0415 (they register their tasks)
            backup,
            left_files,
            retention,
        )
