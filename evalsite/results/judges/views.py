"""The page of judges and metrics: what their labels and scores are worth beside people."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from evalsite.core.csv_download import send_csv
from evalsite.core.jobs.live_page import keep_watching
from evalsite.data.forms import UploadForm
from evalsite.data.metrics.views import describe_metrics
from evalsite.data.models import Judge, JudgeFile, Upload
from evalsite.data.uploads import find_jobs, find_uploads, list_waiting, split_spent
from evalsite.instruments.scales import COMMENT
from evalsite.lib.csv_writer import guard_cell, write_rows
from evalsite.results.comments.written import find_texts
from evalsite.results.document.blocks import Document, isolate
from evalsite.results.document.figures import write_number, write_value
from evalsite.results.document.html import render_html
from evalsite.results.judges.certificate import list_missing, make_certificate, write_certificate
from evalsite.results.models import Report
from evalsite.results.navigation import count_evidence
from evalsite.results.progress import count_edge
from evalsite.results.report.computation import newest_report
from evalsite.results.report.newest import Newest, open_results
from evalsite.results.report.sections.judges import Judge as JudgeOfReport
from evalsite.results.report.sections.judges import (
    find_favour,
    list_judges,
    list_metrics,
    make_judge,
    read_agreement,
)
from evalsite.results.report.source import Criterion
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import has_role, may_edit, study_page
from evalsite.studies.summary_lines import name_of_file

_SHOWN = 3  # differences on the page
_CHEAPEST = 3  # designs that a planner names
_PURPOSES = (Upload.Purpose.JUDGES, Upload.Purpose.METRICS)


@study_page(
    "results/judges/", name="results-judges", place="Results", tab="Judges & metrics", order=78
)
@require_safe
def show_judges(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show judges and metrics beside people, and take their files.

    While results are hidden, only files are.
    """
    newest = open_results(study, request.user)
    can_edit = may_edit(request, study)
    evidence = count_evidence(study)
    is_blind = evidence["is_hidden"]
    uploads = find_uploads(study) if can_edit else []
    uploads = [upload for upload in uploads if upload.purpose in _PURPOSES]
    jobs = find_jobs(study) if uploads else []
    waiting = [row for purpose in _PURPOSES for row in list_waiting(study, purpose, uploads, jobs)]
    form = WidthForm(request.GET or None)
    judges = list(_list_known(study, newest))
    context: dict[str, Any] = {
        **split_spent(waiting),
        **(describe_metrics(study) if evidence["metrics"] else {"files": [], "metrics": []}),
        "evidence": evidence,  # of the navigation
        "newest": newest,
        "report": newest.report,
        "is_blind": is_blind,
        "can_compute": has_role(request, study, Membership.Role.EDITOR),
        "can_upload": can_edit,
        "judge_files": JudgeFile.objects.filter(study=study).select_related("uploaded_by")
        if judges
        else [],
        "judges": judges,
        "has_items": count_edge(study).items > 0,
        "form": UploadForm(None),
        "to": reverse("admin:upload-new", args=[study.pk]),
        "width": form,
    }
    if newest.report is not None and not is_blind:
        criteria = [Criterion(stored) for stored in newest.report.content["kept"]["criteria"]]
        context |= _describe(study, criteria, form)
    response = TemplateResponse(request, "results/judges.html", context)
    return keep_watching(response, newest.job)


def _list_known(study: Study, newest: Newest) -> Iterable[dict[str, Any]]:
    """Return every judge of the study, and what its certificate still needs."""
    criteria = newest.report.content["kept"]["criteria"] if newest.report else ()
    in_report = {
        (part["judge"], part["prompt_version"])
        for criterion in criteria
        for part in criterion.get("judges") or ()
    }
    for judge in Judge.objects.filter(study=study):
        yield {
            "judge": judge,
            "missing": list_missing(judge),
            "is_in_report": (judge.name, judge.prompt_version) in in_report,
        }


def _describe(study: Study, criteria: list[Criterion], form: "WidthForm") -> dict[str, Any]:
    """Return the judges of the report as HTML, the headline, and the metrics."""
    judges = list_judges(criteria)
    shown = []
    for judge in judges:
        document = Document("", list(make_judge(judge))[1:])
        shown.append(
            {
                "name": isolate(judge.name),
                "place": judge.place,
                "number": judge.number,
                "body": render_html(document.keep("main")),
                "further": render_html(document.keep("further"), is_folded=True),
                "differences": _list_differences(study, judge),
                "designs": _list_designs(judge, form),
            }
        )
    metrics = [block for criterion in criteria for block in list_metrics(criterion, "main")]
    return {
        "headline": _head(judges[0]) if judges else "",
        "shown": shown,
        "metrics_body": render_html(Document("", metrics).keep("main")),
        "metrics_further": render_html(Document("", metrics).keep("further")),
        "has_designs": any(row["designs"] for row in shown),
    }


def _head(judge: JudgeOfReport) -> str:
    """Return how the first judge agrees with people, and whom it favours if that is clear."""
    criterion, stored = judge.parts[0]
    figures = read_agreement(judge, criterion, stored)
    people, beside = figures["people_agreement"], figures["judge_agreement"]
    name = isolate(judge.name)
    if beside.value is None:
        return f"{name}: agreement with people can’t be measured yet"
    text = f"{name} agrees {write_value(beside)} with people"
    if people.value is not None:
        text += f", who agree {write_value(people)}"
    favour = find_favour(judge, criterion, stored)
    if favour is not None:
        system, figure = favour
        text += f"; it favours {isolate(system)} by {write_number(figure.value, figure.unit)}"
    return text


# --- differences ----------------------------------------------------------------------------------


def _list_differences(study: Study, judge: JudgeOfReport) -> list[dict[str, Any]]:
    """Return the outputs of the first question on which judge and people are furthest apart."""
    criterion, stored = judge.parts[0]
    shown, listed = stored["differences"][:_SHOWN], []
    comments = _find_comments(study, criterion, shown)
    for row in shown:
        items = reverse("admin:results-items", args=[study.pk])
        listed.append(
            {
                "name": row["item"],
                "url": f"{items}?{urlencode({'q': row['item']})}",
                "systems": [
                    isolate(row[name]) for name in ("system", "first", "second") if name in row
                ],
                "judge": write_number(row["judge"], "statistic").removesuffix(".00"),
                "people": write_number(row["people"], "statistic"),
                "answers": row["answers"],
                "comments": comments[row["item"], row.get("system")],
                "reason": row["reason"],
            }
        )
    return listed


def _find_comments(
    study: Study, criterion: Criterion, rows: Iterable[Mapping[str, Any]]
) -> dict[tuple[str, str | None], list[str]]:
    """Return what people wrote with their answers to the question, by input and system; on a
    comparison the system is None."""
    question = criterion.stored.get("of", criterion.key)
    texts = find_texts(study, is_everyone=False).filter(criterion=question, part=COMMENT)
    texts = texts.filter(annotation__item__group__in={row["item"] for row in rows})
    comments: dict[tuple[str, str | None], list[str]] = defaultdict(list)
    places = ("annotation__item__group", "output__system__name", "text")
    for item, system, text in texts.order_by("pk").values_list(*places):
        for place in {system, None}:
            comments[item, place].append(text)
    return comments


_COLUMNS = ("criterion", "item", "system", "system_1", "system_2", "judge", "people", "answers",
            "apart", "comments", "reason")  # fmt: skip


@study_page(
    "results/judges/<int:number>/differences.csv", name="judge-differences", is_revealing=True
)
@require_safe
def send_differences(request: HttpRequest, study: Study, number: int) -> HttpResponseBase:
    """Send the outputs on which this judge and people differ, the furthest apart first."""
    report = newest_report(study)
    criteria = report.content["kept"]["criteria"] if report else []
    judges = list_judges([Criterion(stored) for stored in criteria])
    judge = next((row for row in judges if row.number == number), None)
    if judge is None:
        raise Http404("No such judge.")
    rows = [
        [guard_cell(str(cell)) for cell in _write_difference(criterion.key, row, comments)]
        for criterion, stored in judge.parts
        for comments in [_find_comments(study, criterion, stored["differences"])]
        for row in stored["differences"]
    ]
    return send_csv(write_rows([_COLUMNS, *rows]), name_of_file(study, "judge_differences.csv"))


def _write_difference(
    key: str, row: Mapping[str, Any], comments: Mapping[tuple[str, str | None], list[str]]
) -> tuple[Any, ...]:
    """Return the cells of a difference; people's comments on lines of their own."""
    return (
        key, row["item"], row.get("system", ""), row.get("first", ""), row.get("second", ""),
        f"{row['judge']:g}", f"{row['people']:.6g}", row["answers"], f"{row['apart']:.6g}",
        "\n".join(comments[row["item"], row.get("system")]), row["reason"],
    )  # fmt: skip


# --- planner --------------------------------------------------------------------------------------


class WidthForm(forms.Form):
    """How precise a difference is to be."""

    width = forms.FloatField(
        label="Half of the 95% interval, in units of the scale",
        min_value=0.0001,
        error_messages={
            "invalid": "Enter a number, such as 0.25.",
            "min_value": "Enter a number above 0.",
        },
        widget=forms.TextInput(attrs={"class": "num", "inputmode": "decimal"}),
    )


def _list_designs(judge: JudgeOfReport, form: WidthForm) -> list[dict[str, Any]]:
    """Return for each question the designs with the fewest answers that are precise enough."""
    if not form.is_valid():
        return []
    width = form.cleaned_data["width"]
    listed = []
    for criterion, stored in judge.parts:
        rows = stored.get("planner") or ()
        if rows:
            listed.append(
                {
                    "label": criterion.label,
                    "further": stored["further"],
                    "without": _find_cheapest(rows, width, 3),
                    "beside": _find_cheapest(rows, width, 4),
                }
            )
    return listed


def _find_cheapest(rows: Iterable[list[float]], width: float, column: int) -> list[dict[str, Any]]:
    """Return the cheapest designs by answers to an output of each system, one for each number of
    people; `column`: of the half-width."""
    best: dict[int, tuple[int, list[float]]] = {}
    for row in rows:
        people, inputs, answers = (int(row[place]) for place in range(3))
        if row[column] <= width and inputs * answers < best.get(people, (10**9, row))[0]:
            best[people] = inputs * answers, row
    cheapest = sorted(best.items(), key=lambda pair: (pair[1][0], pair[0]))[:_CHEAPEST]
    return [
        {
            "people": people,
            "inputs": int(row[1]),
            "answers": int(row[2]),
            "total": total,
            "width": write_number(row[column], "points"),
        }
        for people, (total, row) in cheapest
    ]


# --- certificate ----------------------------------------------------------------------------------


@study_page(
    "results/judges/<int:judge_id>/certificate.json", name="judge-certificate", is_revealing=True
)
@require_safe
def send_certificate(request: HttpRequest, study: Study, judge_id: int) -> HttpResponseBase:
    """Send the certificate of a judge, by the newest report."""
    judge = get_object_or_404(Judge, study=study, pk=judge_id)
    report: Report | None = newest_report(study)
    try:
        if report is None:
            raise ValidationError("The results haven’t been computed yet.")
        content = make_certificate(study, report, judge)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("admin:results-judges", study.pk)
    response = HttpResponse(write_certificate(content), content_type="application/json")
    name = name_of_file(study, "judge_certificate.json")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
