from django.apps import AppConfig


class ImportsConfig(AppConfig):
    name = "evalsite.imports"
    # its first name, which databases keep
    label = "exchange"

    def ready(self) -> None:
        # they register their jobs
        from evalsite.imports import demo  # noqa: F401, PLC0415
        from evalsite.imports.batches import importer, new_study  # noqa: F401, PLC0415
        from evalsite.imports.judges import importer as judges  # noqa: F401, PLC0415
        from evalsite.imports.metrics import importer as metrics  # noqa: F401, PLC0415
        from evalsite.imports.ratings import importer as ratings  # noqa: F401, PLC0415
        from evalsite.imports.ratings import new_study as bare_ratings  # noqa: F401, PLC0415
