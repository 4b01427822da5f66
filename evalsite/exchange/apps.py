from django.apps import AppConfig


class ExchangeConfig(AppConfig):
    name = "evalsite.exchange"

    def ready(self) -> None:
        # they register their jobs
        from evalsite.exchange.batches import files as batches  # noqa: F401, PLC0415
        from evalsite.exchange.bundle import job  # noqa: F401, PLC0415
        from evalsite.exchange.exports import jobs  # noqa: F401, PLC0415
        from evalsite.exchange.metrics import files as metrics  # noqa: F401, PLC0415
        from evalsite.exchange.ratings import files  # noqa: F401, PLC0415
