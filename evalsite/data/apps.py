from django.apps import AppConfig


class DataConfig(AppConfig):
    name = "evalsite.data"
    label = "exchange"

    def ready(self) -> None:
        # they register their jobs
        from evalsite.data import demo  # noqa: F401, PLC0415
        from evalsite.data.bundle import job, uploaded  # noqa: F401, PLC0415
        from evalsite.data.items import importer, new_study  # noqa: F401, PLC0415
        from evalsite.data.judges import importer as judges  # noqa: F401, PLC0415
        from evalsite.data.metrics import importer as metrics  # noqa: F401, PLC0415
        from evalsite.data.ratings import importer as ratings  # noqa: F401, PLC0415
        from evalsite.data.ratings import new_study as bare_ratings  # noqa: F401, PLC0415
