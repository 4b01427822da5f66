from django.apps import AppConfig


class FilesConfig(AppConfig):
    name = "evalsite.data.files"
    label = "exports"

    def ready(self) -> None:
        # they register their jobs and tasks
        from evalsite.data.files import file_counts, jobs  # noqa: F401, PLC0415
