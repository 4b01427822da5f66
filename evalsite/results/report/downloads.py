"""The files of a study's newest report: to read in the browser, for a paper, and as data."""

from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from evalsite.results.document.blocks import Table
from evalsite.results.document.text import render_text, write_table_csv
from evalsite.results.documents.datasheet import make_datasheet
from evalsite.results.models import Report
from evalsite.results.report.computation import newest_report
from evalsite.results.report.files import (
    pack_files,
    read_document,
    write_archive,
    write_figures,
    write_page,
)
from evalsite.studies.models import Study
from evalsite.studies.staff_pages import study_page
from evalsite.studies.summary_lines import name_of_file

# a page that needs no other file: nothing in it runs, and it asks no host for anything
_POLICY = "default-src 'none'; style-src data:; img-src data:; sandbox"
_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "tex": "application/x-tex; charset=utf-8",
    "zip": "application/zip",
}


def _write_tables(study: Study, report: Report) -> bytes:
    """Return every table with every digit, in one zip."""
    blocks = read_document(study, report).blocks
    tables = [block for block in blocks if isinstance(block, Table)]
    return pack_files({f"{table.name}.csv": write_table_csv(table).encode() for table in tables})


FILES: dict[str, Callable[[Study, Report], str | bytes]] = {
    "report.html": write_page,
    "report.md": lambda study, report: render_text(read_document(study, report).keep("main")),
    "report_latex.zip": write_archive,
    "further.html": lambda study, report: write_page(study, report, is_further=True),
    "figures.zip": write_figures,
    "tables.zip": _write_tables,
    "datasheet.md": lambda study, report: render_text(make_datasheet(study, report)),
    "outputs.csv": lambda study, report: report.outputs.read_bytes(),
}


@study_page("files/report/<str:name>", name="report-file", is_revealing=True)
@require_safe
def send_report_file(request: HttpRequest, study: Study, name: str) -> HttpResponseBase:
    """Send a file of the newest report."""
    report = newest_report(study)
    is_there = name in FILES and (name != "outputs.csv" or (report and report.outputs.exists()))
    if report is None or not is_there:
        raise Http404("No such file.")
    return send_file(FILES[name](study, report), name_report_file(study, report, name))


def name_report_file(study: Study, report: Report, name: str) -> str:
    """Return the name under which a file of the report is saved."""
    origins = report.content["kept"]["data"]["origins"]
    return name_of_file(study, name, is_simulated=bool(origins.get("simulated")))


def send_file(content: str | bytes, name: str) -> HttpResponse:
    """Send a file under this name; a browser shows a page of HTML instead of saving it."""
    kind = name.rpartition(".")[2]
    place = "inline" if kind == "html" else "attachment"
    response = HttpResponse(content, content_type=_TYPES[kind])
    response.headers["Content-Disposition"] = f'{place}; filename="{name}"'
    if kind == "html":
        response.headers["Content-Security-Policy"] = _POLICY
    return response
