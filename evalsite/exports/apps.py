from django.apps import AppConfig


class ExportsConfig(AppConfig):
    name = "evalsite.exports"

    def ready(self) -> None:
        # they register their jobs and tasks
        from evalsite.exports import file_counts, jobs  # noqa: F401, PLC0415
        from evalsite.exports.bundle import job, uploaded  # noqa: F401, PLC0415
