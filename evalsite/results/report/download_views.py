"""Downloads of a report that was computed: a page, LaTeX with its figures, a datasheet."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from evalsite.results.models import Report
from evalsite.results.report.datasheet import fill_datasheet, write_json, write_markdown
from evalsite.results.report.html_document import write_page
from evalsite.results.report.latex_document import write_archive
from evalsite.studies.models import Study
from evalsite.studies.staff_pages import StudyView
from evalsite.studies.summary_lines import name_start


@require_safe
def send_page(request: HttpRequest, study: Study, report_id: UUID) -> HttpResponseBase:
    """The report as one HTML page, to be saved: nothing of it runs on this site."""
    report = get_object_or_404(Report, pk=report_id, study=study)
    return _send(write_page(study, report), "text/html", f"{name_start(study)}-report.html")


@require_safe
def send_latex(request: HttpRequest, study: Study, report_id: UUID) -> HttpResponseBase:
    report = get_object_or_404(Report, pk=report_id, study=study)
    return _send(write_archive(study, report), "application/zip", f"{name_start(study)}-latex.zip")


@require_safe
def send_datasheet(request: HttpRequest, study: Study, report_id: UUID) -> HttpResponseBase:
    report = get_object_or_404(Report, pk=report_id, study=study)
    content = write_markdown(fill_datasheet(study, report))
    return _send(content, "text/markdown", f"{name_start(study)}-datasheet.md")


@require_safe
def send_datasheet_data(request: HttpRequest, study: Study, report_id: UUID) -> HttpResponseBase:
    """The datasheet for a program."""
    report = get_object_or_404(Report, pk=report_id, study=study)
    content = write_json(fill_datasheet(study, report))
    return _send(content, "application/json", f"{name_start(study)}-datasheet.json")


def _send(content: str | bytes, kind: str, name: str) -> HttpResponse:
    charset = "" if isinstance(content, bytes) else "; charset=utf-8"
    response = HttpResponse(content, content_type=f"{kind}{charset}")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


report_views = [
    StudyView(
        path="results/<uuid:report_id>/report.html", name="study-results-page", view=send_page
    ),
    StudyView(
        path="results/<uuid:report_id>/latex.zip", name="study-results-latex", view=send_latex
    ),
    StudyView(
        path="results/<uuid:report_id>/datasheet.md",
        name="study-results-datasheet",
        view=send_datasheet,
    ),
    StudyView(
        path="results/<uuid:report_id>/datasheet.json",
        name="study-results-datasheet-data",
        view=send_datasheet_data,
    ),
]
