"""Staff pages of a study's results: its report, drawings, and the data of each table."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_POST, require_safe

from evalsite.annotation.models import Annotation
from evalsite.jobs.live_page import keep_watching
from evalsite.quality.frozen_plans import is_hidden
from evalsite.results.document.blocks import Table
from evalsite.results.document.html import render_html
from evalsite.results.document.latex import write_table
from evalsite.results.document.text import render_text, write_markdown_table, write_table_csv
from evalsite.results.documents.datasheet import make_datasheet
from evalsite.results.hidden.views import show_hidden
from evalsite.results.models import Report
from evalsite.results.report.computation import (
    newest_analysis,
    newest_report,
    start_analysis,
    take_fingerprint,
)
from evalsite.results.report.files import write_archive, write_page
from evalsite.results.report.parts import DETAILS, SUMMARY, list_parts, show_part
from evalsite.results.report.study_facts import make_source
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import StudyView, has_role
from evalsite.studies.summary_lines import name_start


@require_safe
def show_results(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show the newest report of the study, one part at a time, and whether it is out of date."""
    if is_hidden(study):
        return show_hidden(request, study)
    report, job = newest_report(study), newest_analysis(study)
    context: dict[str, Any] = {
        "report": report,
        "job": job,
        "is_computing": job is not None and job.is_open and not job.is_stale,
        "has_answers": Annotation.objects.filter(study=study).counted().exists(),
        "can_restart": has_role(request, study, Membership.Role.EDITOR),
    }
    if report is not None:
        context |= _describe(request, study, report)
    response = TemplateResponse(request, "results/results.html", context)
    return keep_watching(response, job)


def _describe(request: HttpRequest, study: Study, report: Report) -> dict[str, Any]:
    """Return what the part that was asked for shows, and the way to the others."""
    key = request.GET.get("part", "")
    is_everyone = request.GET.get("people") == "everyone"
    source = make_source(study, report, is_everyone=is_everyone)
    parts = list_parts(source)
    key = key if key in dict(parts) else ""
    document = show_part(source, key)
    whole = report.content["all"]
    paper = document.find_table("paper")
    return {
        "is_current": report.fingerprint == take_fingerprint(study),
        "criteria": source.criteria,
        "details": [part for part in parts if part[0] in DETAILS],
        "part_key": key,
        "everyone": source.is_everyone,
        "used": report.content["kept"]["data"]["annotations"],
        "whole": whole and whole["data"]["annotations"],
        "answers": source.kept["data"]["annotations"],
        "title": document.title,
        "body": render_html(document, is_folded=True),
        "tables": [block for block in document.blocks if isinstance(block, Table)],
        "paper": paper
        and [("LaTeX", write_table(paper)), ("Markdown", write_markdown_table(paper))],
        "has_outputs": report.outputs.exists(),
    }


@require_POST
def compute_results(request: HttpRequest, study: Study) -> HttpResponseBase:
    try:
        start_analysis(study=study, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    is_from_power = request.POST.get("back") == "power"
    return redirect("admin:study-planner" if is_from_power else "admin:study-results", study.pk)


@require_safe
def send_table(
    request: HttpRequest, study: Study, report_id: UUID, part: str, name: str
) -> HttpResponseBase:
    """Send the figures of a table with every digit, as CSV."""
    report = get_object_or_404(Report, pk=report_id, study=study)
    table = show_part(make_source(study, report), "" if part == SUMMARY else part).find_table(name)
    if table is None:
        raise Http404("No such table.")
    content = write_table_csv(table)
    response = HttpResponse(content, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name_start(study)}-{name}.csv"'
    return response


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
        path="results/",
        name="study-results",
        view=show_results,
        place="Results",
        tab="Summary",
        order=68,
    ),
    StudyView(
        path="results/compute/",
        name="study-results-compute",
        view=compute_results,
        role=Membership.Role.EDITOR,
        within="Summary",
        is_reading=True,
    ),
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
    StudyView(
        path="results/<uuid:report_id>/<slug:part>/<slug:name>.csv",
        name="study-results-table",
        view=send_table,
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
