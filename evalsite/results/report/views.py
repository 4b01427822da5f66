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
from evalsite.lib.csv_writer import write_rows
from evalsite.quality.frozen_plans import is_hidden
from evalsite.results.analysis_plan.wording import plan_in_words
from evalsite.results.design.tables import design_facts
from evalsite.results.hidden.views import show_hidden
from evalsite.results.models import Report
from evalsite.results.progress import count_edge
from evalsite.results.report.computation import (
    newest_analysis,
    newest_report,
    start_analysis,
    take_fingerprint,
)
from evalsite.results.report.criterion_view import view_criteria
from evalsite.results.report.datasheet import fill_datasheet, write_json, write_markdown
from evalsite.results.report.files import write_archive, write_page
from evalsite.results.report.first_look import find_first_look
from evalsite.results.report.folds import Fold, list_folds
from evalsite.results.report.limitations import Collection, has_ended
from evalsite.results.report.parts import (
    Blocks,
    describe_basis,
    find_picture,
    list_parts,
    show_part,
)
from evalsite.results.report.sentences import write_sentence
from evalsite.results.report.summary import choose_report, summarise
from evalsite.results.report.wording import hold_together
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import StudyView, has_role
from evalsite.studies.summary_lines import count_of, name_start

_TYPES = {"svg": "image/svg+xml", "pdf": "application/pdf"}


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
    template = "results/results.html"
    if report is not None:
        template, described = _describe(request, study, report)
        context |= described
    response = TemplateResponse(request, template, context)
    return keep_watching(response, job)


def _describe(request: HttpRequest, study: Study, report: Report) -> tuple[str, dict[str, Any]]:
    """Return the template of the part that was asked for, and what it shows."""
    key, content = request.GET.get("part", ""), report.content
    everyone = request.GET.get("people") == "everyone" and content["all"] is not None
    found = choose_report(content, everyone=everyone)[0]
    context = _describe_frame(study, report, found) | {"everyone": everyone}
    criteria = {one["key"]: one for one in found["criteria"]}
    labels = dict(list_parts(content))
    if key not in labels:
        edge = count_edge(study)
        collection = Collection(
            done=edge.done, target=edge.target, look=find_first_look(study),
            has_ended=has_ended(study),
        )  # fmt: skip
        summary = summarise(content, collection, everyone=everyone)
        return "results/summary.html", context | {"summary": summary, "part_key": ""}
    context |= {"part_key": key, **_describe_part(found, key)}
    if key not in criteria:
        return "results/part.html", context | {"part": show_part(report, key)}
    view = next(one for one in view_criteria(*choose_report(content, everyone=everyone))
                if one.key == key)  # fmt: skip
    notes = [hold_together(write_sentence(note)) for note in criteria[key]["notes"]]
    return "results/criterion.html", context | {
        "view": view, "folds": _list_folds(report, key), "notes": notes,
    }  # fmt: skip


def _describe_frame(study: Study, report: Report, found: dict[str, Any]) -> dict[str, Any]:
    """Return what every page of results shows."""
    whole = report.content["all"]
    labels = {one["key"]: one for one in found["criteria"]}
    return {
        "is_current": report.fingerprint == take_fingerprint(study),
        "criteria": [
            {"key": key, "label": one["label"], "role": one.get("role", "")}
            for key, one in labels.items()
        ],
        "details": [one for one in list_parts(report.content) if one[0] not in labels],
        "plan": plan_in_words(report.content.get("plan", {}), criteria=len(labels)),
        "found": found,
        "used": report.content["kept"]["data"]["annotations"],
        "whole": whole and whole["data"]["annotations"],
        "design": hold_together(design_facts(found)),
        "has_outputs": report.outputs.exists(),
        "basis": describe_basis(found, "", people=_describe_people(found)),
    }


def _describe_part(found: dict[str, Any], key: str) -> dict[str, Any]:
    """Return what the part rests on, and what warns of it."""
    return {
        "basis": describe_basis(found, key, people=_describe_people(found)),
        "warnings": [write_sentence(one) for one in found["warnings"] if one["criterion"] == key],
    }


def _describe_people(found: dict[str, Any]) -> str:
    data = found["data"]
    noun = "participant" if data["raters_known"] else "rater"
    return f" by {count_of(data['participants'], noun)}"


def _list_folds(report: Report, key: str) -> list[tuple[Fold, Blocks]]:
    """Return the further analyses of a criterion, each table with its drawing."""
    whole = report.content["all"]
    criterion, everything = (
        next((one for one in (some or {}).get("criteria", ()) if one["key"] == key), None)
        for some in (report.content["kept"], whole)
    )
    if criterion is None:
        return []
    return [
        (
            fold,
            [
                (table, find_picture(report, criterion, fold.pictures.get(table.name, "")))
                for table in fold.tables
            ],
        )
        for fold in list_folds(criterion, everything)
    ]


@require_POST
def compute_results(request: HttpRequest, study: Study) -> HttpResponseBase:
    try:
        start_analysis(study=study, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    is_from_power = request.POST.get("back") == "power"
    return redirect("admin:study-planner" if is_from_power else "admin:study-results", study.pk)


@require_safe
def send_drawing(
    request: HttpRequest, study: Study, report_id: UUID, name: str, kind: str
) -> HttpResponseBase:
    """Send the drawing: shown as SVG, saved as PDF, or as SVG where the address asks to save it."""
    report = get_object_or_404(Report, pk=report_id, study=study)
    path = report.folder / f"{name}.{kind}"
    # the name comes from the address: only files of the report's own folder are sent
    if kind not in _TYPES or path not in set(report.folder.glob("*")):
        raise Http404("No such drawing.")
    is_saved = kind == "pdf" or "save" in request.GET
    response = FileResponse(
        path.open("rb"),
        as_attachment=is_saved,
        filename=f"{name_start(study)}-{name}.{kind}",
        content_type=_TYPES[kind],
    )
    response["Cache-Control"] = "private, max-age=86400"
    return response


@require_safe
def send_table(
    request: HttpRequest, study: Study, report_id: UUID, part: str, name: str
) -> HttpResponseBase:
    """Send the figures of a table with every digit, as CSV."""
    report = get_object_or_404(Report, pk=report_id, study=study)
    tables = {table.name: table for table, _ in show_part(report, part).blocks if table.name}
    if name not in tables:
        raise Http404("No such table.")
    content = write_rows(tables[name].list_cells())
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
        path="results/<uuid:report_id>/drawing/<slug:name>.<slug:kind>",
        name="study-results-drawing",
        view=send_drawing,
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
    content = write_markdown(fill_datasheet(study, report))
    return _send(content, "text/markdown", f"{name_start(study)}-datasheet.md")


@require_safe
def send_datasheet_data(request: HttpRequest, study: Study, report_id: UUID) -> HttpResponseBase:
    """Send the datasheet for a program."""
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
    StudyView(
        path="results/<uuid:report_id>/datasheet.json",
        name="study-results-datasheet-data",
        view=send_datasheet_data,
        is_revealing=True,
    ),
]
