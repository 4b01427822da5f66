"""Staff pages of metric scores: what there is, files to fill in, and taking scores back."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from evalsite.core.csv_download import send_csv
from evalsite.data.importing import Report
from evalsite.data.metrics.importer import LONGEST_METRIC, METRICS
from evalsite.data.models import MetricFile, MetricScore, Upload
from evalsite.data.uploads import begin_check, begin_import, keep_upload, read_report
from evalsite.data.views import KINDS, UploadKind
from evalsite.lib.csv_writer import write_rows
from evalsite.lib.limited import read_json
from evalsite.studies.models import Item, Membership, Output, Study
from evalsite.studies.staff_pages import study_page
from evalsite.studies.summary_lines import count_of, name_of_file


def _describe_new(study: Study) -> dict[str, Any]:
    return {"has_items": _list_outputs(study).exists(), "kept": list_kept_scores(study)}


def _describe(study: Study, report: Report) -> dict[str, Any]:
    return {"button": f"Import {count_of(report.summary['scores'], 'score')}"}


def _describe_import(study: Study, record: MetricFile) -> str:
    scores = count_of(record.scores.count(), "score")
    outputs = count_of(record.scores.values("output").distinct().count(), "output")
    return f"Imported {scores} of {outputs}. Results show them once they are computed again."


# the page of judges and metrics, which is among those of results
LIST = "results-judges"
KINDS[Upload.Purpose.METRICS] = UploadKind(
    list_name=LIST,
    within="Judges & metrics",
    title="Judges & metrics",
    noun="scores",
    describe_new=_describe_new,
    describe=_describe,
    describe_import=_describe_import,
    details="data/_scores.html",
)


@dataclass(frozen=True)
class Coverage:
    """How many of the study's outputs have a score of a metric."""

    metric: str
    outputs: int
    of: int


def describe_metrics(study: Study) -> dict[str, Any]:
    """Return what a page shows of metrics: every file with its scores, and what each covers."""
    of_file: dict[Any, list[tuple[str, int]]] = {}
    of_metric: dict[str, int] = {}
    counts = MetricScore.objects.filter(file__study=study).order_by("metric")
    for file_id, metric, number in counts.values_list("file", "metric").annotate(n=Count("pk")):
        of_file.setdefault(file_id, []).append((metric, number))
        of_metric[metric] = of_metric.get(metric, 0) + number
    total = _list_outputs(study).count() if of_file else 0
    files = MetricFile.objects.filter(study=study).select_related("uploaded_by")
    return {
        "files": [(file, of_file.get(file.pk, [])) for file in files] if of_file else [],
        "metrics": [Coverage(name, of_metric[name], total) for name in sorted(of_metric)],
    }


class KeptScoresForm(forms.Form):
    """Which scores that came with the items become metrics."""

    def __init__(self, data: Any, *, names: Sequence[str]) -> None:
        super().__init__(data)
        self.fields["score"] = forms.MultipleChoiceField(
            choices=[(name, name) for name in names], required=False
        )


@study_page("metrics/kept/", name="metrics-take", role=Membership.Role.EDITOR)
@require_POST
def take_kept_scores(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Make metrics of scores that came with the items; a faulty one is shown as any file is."""
    form = KeptScoresForm(request.POST, names=list_kept_scores(study))
    names = form.cleaned_data["score"] if form.is_valid() else []
    if not names:
        messages.info(request, "Choose at least one score. Those that are metrics already stay.")
        return redirect(f"admin:{LIST}", study.pk)
    try:
        upload = keep_upload(
            study=study,
            file_name=NAME,
            chunks=[write_kept_scores(study, names)],
            by=request.user,
            purpose=METRICS.purpose,
        )
        begin_check(upload, by=request.user)
        report = read_report(upload)
        is_ready = report is not None and report.is_importable
        record = begin_import(upload, by=request.user) if is_ready else None
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect(f"admin:{LIST}", study.pk)
    if record is None:
        return redirect("admin:upload-preview", study.pk, upload.pk)
    messages.success(request, _describe_import(study, record))
    return redirect(f"admin:{LIST}", study.pk)


def _list_outputs(study: Study) -> QuerySet[Output]:
    """Return the outputs that a metric can score: those of results."""
    return Output.objects.stored().filter(item__study=study, item__kind=Item.Kind.MAIN)


@study_page("metrics/template.csv", name="metrics-template")
@require_safe
def download_metrics_template(request: HttpRequest, study: Study) -> HttpResponse:
    """Send a file to fill in: a row for each output of the study."""
    rows = ((item, system, "", "") for _, item, system in _name_outputs(study))
    return _send(rows, name_of_file(study, "metrics.csv"))


@study_page("metrics/missing.csv", name="metrics-missing")
@require_safe
def download_missing_metrics(request: HttpRequest, study: Study) -> HttpResponse:
    """Send a file to fill in: a row for each score that is missing."""
    scores = MetricScore.objects.filter(file__study=study).order_by()
    known = set(scores.values_list("output_id", "metric").iterator())
    metrics = sorted({metric for _, metric in known})
    rows = (
        (item, system, metric, "")
        for pk, item, system in _name_outputs(study)
        for metric in metrics
        if (pk, metric) not in known
    )
    return _send(rows, name_of_file(study, "metrics_missing.csv"))


def _send(rows: Iterator[tuple[str, ...]], name: str) -> HttpResponse:
    return send_csv(write_rows([("item", "system", "metric", "value"), *rows]), name)


def _name_outputs(study: Study) -> Iterator[tuple[int, str, str]]:
    outputs = _list_outputs(study).order_by("item_id", "position")
    rows = outputs.values_list("pk", "item__key", "system__name").iterator()
    return ((pk, key, system or "") for pk, key, system in rows)


# --- scores that came with the items -----------------------------------------------------


NAME = "scores kept with the items.csv"
_PEEKED = 50  # items that tell which scores there are
# numbers that count or name something, or are the right answer
_NO_SCORE = re.compile(
    r"(.*[_.])?(id|idx|index|testidx|promptidx|epoch|seed|line|row|no|nr|number|sample|year|date|time"
    r"|target|answer|gold|reference|expected|label)_?",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
# how tools write a verdict instead of a number
_VERDICTS = {"true": "1", "false": "0", "C": "1", "P": "0.5", "I": "0"}


def list_kept_scores(study: Study) -> list[str]:
    """Return the names of the scores in the metadata of the first items that aren't metrics yet."""
    names: dict[str, None] = {}
    for item in _list_items(study)[:_PEEKED]:
        for output in item.outputs.all():
            names |= dict.fromkeys(read_scores(item.extra, output.system.name))
    if names:
        known = MetricScore.objects.filter(file__study=study).order_by()
        taken = {name.casefold() for name in known.values_list("metric", flat=True).distinct()}
        return [name for name in names if name.casefold() not in taken]
    return []


def write_kept_scores(study: Study, names: list[str]) -> bytes:
    """Write these scores as a file of metrics, with a row for each."""
    return write_rows([("item", "system", "metric", "value"), *_rows(study, names)]).encode()


def _rows(study: Study, names: list[str]) -> Iterator[tuple[str, ...]]:
    for item in _list_items(study).iterator(chunk_size=500):
        for output in item.outputs.all():
            scores = read_scores(item.extra, output.system.name)
            for name in names:
                if name in scores:
                    yield item.key, output.system.name, name, scores[name]


def _list_items(study: Study) -> Any:
    items = Item.objects.main().filter(study=study, batch__isnull=False).exclude(extra={})
    return items.prefetch_related("outputs__system").order_by("id").only("key", "extra")


def read_scores(extra: Mapping[str, Any], system: str) -> dict[str, str]:
    """Return the numbers in an item's metadata that are of this system's output."""
    scores: dict[str, str] = {}
    for column, kept in extra.items():
        text = kept.get(system, "") if isinstance(kept, dict) else kept
        if _NO_SCORE.fullmatch(column):
            continue
        if score := _read_score(text):
            scores[column] = score
        elif text.startswith("{") and "score" in column.casefold():
            scores |= _read_object(text)
    return {name: score for name, score in scores.items() if len(name) <= LONGEST_METRIC}


def _read_object(text: str) -> dict[str, str]:
    """Return the scores of an object such as {"f1": 0.5} or {"judge": {"value": "C"}}."""
    try:
        values = read_json(text)
    except ValueError:
        return {}
    scores = {}
    for name, value in values.items():
        if isinstance(value, dict):
            value = value.get("value")
        is_plain = isinstance(value, bool | int | float | str)
        if is_plain and (score := _read_score(json.dumps(value).strip('"'))):
            scores[str(name)] = score
    return scores


def _read_score(text: str) -> str:
    return text if _NUMBER.fullmatch(text) else _VERDICTS.get(text, "")
