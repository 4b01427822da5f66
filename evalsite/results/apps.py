from django.apps import AppConfig


class ResultsConfig(AppConfig):
    name = "evalsite.results"

    def ready(self) -> None:
        from evalsite.analysis.figure import METHODS_VERSION  # noqa: PLC0415
        from evalsite.exports.bundle.format import SOFTWARE_FIELDS  # noqa: PLC0415

        SOFTWARE_FIELDS["methods"] = METHODS_VERSION
        # they register their jobs
        from evalsite.results.design import balance_count  # noqa: F401, PLC0415
        from evalsite.results.power import design_search  # noqa: F401, PLC0415
        from evalsite.results.replication import comparison  # noqa: F401, PLC0415
        from evalsite.results.report import computation  # noqa: F401, PLC0415
