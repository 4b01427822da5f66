from django.apps import AppConfig


class ResultsConfig(AppConfig):
    name = "evalsite.results"

    def ready(self) -> None:
        # they register their jobs
        from evalsite.results import analysing, counting, planning, repeating  # noqa: F401, PLC0415
