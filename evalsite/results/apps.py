from django.apps import AppConfig


class ResultsConfig(AppConfig):
    name = "evalsite.results"

    def ready(self) -> None:
        from evalsite.analysis.figure import METHODS_VERSION  # noqa: PLC0415
        from evalsite.data.bundle import format as bundle_format  # noqa: PLC0415
        from evalsite.data.files import scripts  # noqa: PLC0415
        from evalsite.fieldwork import launch  # noqa: PLC0415

        # they register their jobs and tasks
        from evalsite.results.document.figures import METHOD_WORDS  # noqa: PLC0415
        from evalsite.results.documents import dataset_card  # noqa: PLC0415
        from evalsite.results.overview import notices  # noqa: F401, PLC0415
        from evalsite.results.power import design_search  # noqa: F401, PLC0415
        from evalsite.results.public import pages  # noqa: PLC0415
        from evalsite.results.replication import comparison  # noqa: F401, PLC0415
        from evalsite.results.report import bundled, newest  # noqa: PLC0415

        if newest.compute_at_closing not in launch.AT_CLOSING:
            launch.AT_CLOSING.append(newest.compute_at_closing)
        bundle_format.SOFTWARE_FIELDS["methods"] = METHODS_VERSION
        scripts.METHOD_WORDS |= METHOD_WORDS
        source = bundle_format.ReportSource(
            bundled.find_report,
            bundled.compute_report,
            bundled.write_plan,
            pages.write_pages,
            dataset_card.write_dataset_folder,
        )
        bundle_format.REPORT_SOURCES[:] = [source]
