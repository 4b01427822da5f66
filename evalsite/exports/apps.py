from django.apps import AppConfig


class ExportsConfig(AppConfig):
    name = "evalsite.exports"

    def ready(self) -> None:
        # they register their jobs
        from evalsite.exports import jobs  # noqa: F401, PLC0415
        from evalsite.exports.bundle import job, uploaded  # noqa: F401, PLC0415
