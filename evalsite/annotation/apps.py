from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "evalsite.annotation"

    def ready(self) -> None:
        from evalsite.annotation import launch  # noqa: F401, PLC0415 (registers its job)
