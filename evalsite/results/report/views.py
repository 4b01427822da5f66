"""The files of a report."""

from uuid import UUID

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from evalsite.results.document.text import render_text
from evalsite.results.documents.datasheet import make_datasheet
from evalsite.results.models import Report
from evalsite.results.report.files import write_archive, write_page
from evalsite.studies.models import Study
from evalsite.studies.staff_pages import StudyView
from evalsite.studies.summary_lines import name_start


@require_safe
def send_outputs(request: HttpRequest, study: Study, report_id: UUID) -> HttpResponseBase:
    """Send every output with its averages, as CSV."""
    report = get_object_or_404(Report, pk=report_id, study=study)
    if not report.outputs.exists():
        raise Http404("No table of outputs.")
    return FileResponse(
        report.outputs.open("rb"),
        as_attachment=True,
        filename=f"{name_start(study)}-outputs.csv",
        content_type="text/csv; charset=utf-8",
    )


@require_safe
def send_report(request: HttpRequest, study: Study, report_id: UUID) -> HttpResponseBase:
    """Send all of the report as data, with every digit."""
    report = get_object_or_404(Report, pk=report_id, study=study)
    data = {
        "study": str(study.pk),
        "made_at": report.made_at,
        "ratings_sha256": report.sha256,
        **report.content,
    }
    response = JsonResponse(data, json_dumps_params={"indent": 1, "ensure_ascii": False})
    response["Content-Disposition"] = f'attachment; filename="{name_start(study)}-report.json"'
    return response


result_views = [
    StudyView(
        path="results/<uuid:report_id>/report.json",
        name="study-results-report",
        view=send_report,
        is_revealing=True,
    ),
    StudyView(
        path="results/<uuid:report_id>/outputs.csv",
        name="study-results-outputs",
        view=send_outputs,
        is_revealing=True,
    ),
]


@require_safe
def send_page(request: HttpRequest, study: Study, report_id: UUID) -> HttpResponseBase:
    """Send the report as one HTML page, to be saved: nothing of it runs on this site."""
    report = get_object_or_404(Report, pk=report_id, study=study)
    return _send(write_page(study, report), "text/html", f"{name_start(study)}-report.html")


@require_safe
def send_further(request: HttpRequest, study: Study, report_id: UUID) -> HttpResponseBase:
    """Send everything that the report leaves out, as one HTML page."""
    report = get_object_or_404(Report, pk=report_id, study=study)
    page = write_page(study, report, is_further=True)
    return _send(page, "text/html", f"{name_start(study)}-further-analyses.html")


@require_safe
def send_latex(request: HttpRequest, study: Study, report_id: UUID) -> HttpResponseBase:
    report = get_object_or_404(Report, pk=report_id, study=study)
    return _send(write_archive(study, report), "application/zip", f"{name_start(study)}-latex.zip")


@require_safe
def send_datasheet(request: HttpRequest, study: Study, report_id: UUID) -> HttpResponseBase:
    report = get_object_or_404(Report, pk=report_id, study=study)
    content = render_text(make_datasheet(study, report))
    return _send(content, "text/markdown", f"{name_start(study)}-datasheet.md")


def _send(content: str | bytes, kind: str, name: str) -> HttpResponse:
    charset = "" if isinstance(content, bytes) else "; charset=utf-8"
    response = HttpResponse(content, content_type=f"{kind}{charset}")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


report_views = [
    StudyView(
        path="results/<uuid:report_id>/report.html",
        name="study-results-page",
        view=send_page,
        is_revealing=True,
    ),
    StudyView(
        path="results/<uuid:report_id>/further-analyses.html",
        name="study-results-further",
        view=send_further,
        is_revealing=True,
    ),
    StudyView(
        path="results/<uuid:report_id>/latex.zip",
        name="study-results-latex",
        view=send_latex,
        is_revealing=True,
    ),
    StudyView(
        path="results/<uuid:report_id>/datasheet.md",
        name="study-results-datasheet",
        view=send_datasheet,
        is_revealing=True,
    ),
]
