"""Staff pages of a study's results: its report, drawings, and the data of each table."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from evalsite.results.document.blocks import Table
from evalsite.results.document.html import render_html
from evalsite.results.document.text import write_table_csv
from evalsite.results.models import Report
from evalsite.results.report.downloads import name_report_file, send_file
from evalsite.results.report.newest import Newest
from evalsite.results.report.parts import SUMMARY, list_parts, show_part
from evalsite.results.report.study_facts import make_source
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import has_role, study_page


def show_results_part(request: HttpRequest, study: Study, newest: Newest) -> TemplateResponse:
    """Show a part of the newest report that has no page of its own yet."""
    report = newest.report
    assert report is not None
    context = {
        "newest": newest,
        "report": report,
        "can_compute": has_role(request, study, Membership.Role.EDITOR),
        **_describe(request, study, report),
    }
    return TemplateResponse(request, "results/results.html", context)


def _describe(request: HttpRequest, study: Study, report: Report) -> dict[str, Any]:
    """Return what the part that was asked for shows, and the way to the others."""
    key = request.GET.get("part", "")
    is_everyone = request.GET.get("people") == "everyone"
    source = make_source(study, report, is_everyone=is_everyone)
    parts = list_parts(source)
    key = key if key in dict(parts) else ""
    document = show_part(source, key)
    whole = report.content["all"]
    return {
        "part_key": key,
        "everyone": source.is_everyone,
        "used": report.content["kept"]["data"]["annotations"],
        "whole": whole and whole["data"]["annotations"],
        "answers": source.kept["data"]["annotations"],
        "title": document.title,
        "body": render_html(document, is_folded=True),
        "tables": [block for block in document.blocks if isinstance(block, Table)],
    }


@study_page(
    "results/<uuid:report_id>/<slug:part>/<slug:name>.csv",
    name="study-results-table",
    is_revealing=True,
)
@require_safe
def send_table(
    request: HttpRequest, study: Study, report_id: UUID, part: str, name: str
) -> HttpResponseBase:
    """Send the figures of a table with every digit, as CSV."""
    report = get_object_or_404(Report, pk=report_id, study=study)
    table = show_part(make_source(study, report), "" if part == SUMMARY else part).find_table(name)
    if table is None:
        raise Http404("No such table.")
    return send_file(write_table_csv(table), name_report_file(study, report, f"{name}.csv"))
