"""Pages of Files: what most people take, every file, and what is free while results are hidden."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.live_page import keep_watching
from evalsite.core.jobs.models import Job
from evalsite.data.bundle.job import (
    ANONYMOUS,
    DATASET,
    PAGE,
    has_entry_answers,
    list_kept,
    name_download,
)
from evalsite.data.bundle.job import KIND as BUNDLE
from evalsite.data.files.codebook import PANDAS
from evalsite.data.files.columns import NUMBER, WHOLE, list_downloads_of
from evalsite.data.files.file_counts import find_counts
from evalsite.data.files.identities import find_identities, find_last_view
from evalsite.data.files.jobs import KEPT_DAYS, find_file, find_until, is_large, read_choice
from evalsite.data.files.jobs import KIND as EXPORT
from evalsite.data.files.misread_ids import describe_misread
from evalsite.data.files.person_answers import find_answers
from evalsite.data.files.pseudonymised import FILES as PSEUDONYMISED
from evalsite.data.files.selection import SelectionForm, count_not_sharing
from evalsite.data.files.services import (
    SIMPLE,
    TABBED,
    Choice,
    count_rows,
    describe_export,
    describe_imports,
    find_origins,
    name_file,
)
from evalsite.data.files.views import FREE
from evalsite.data.files.ways_back import WAYS
from evalsite.data.files.ways_back.scores import count_known, explain_no_scores
from evalsite.data.files.workbook import MOST_ROWS
from evalsite.decisions.frozen_plans import is_hidden
from evalsite.lib.counts import count_together
from evalsite.lib.words import list_of
from evalsite.people.models import Origin
from evalsite.results.report.computation import newest_report
from evalsite.results.report.downloads import name_report_file
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import has_role, may_see_identities, study_page
from evalsite.studies.summary_lines import name_of_file

_SHOWN = 10
# the newest jobs, some of which ended without a file
_READ = 50
_PURPOSES = {
    "ratings_simple": "One row for each person and output, one column for each question. Only "
    "counted answers; excluded ones are marked.",
    "comments": "One row for each comment, with item, system, answer and reasons.",
    "ratings": "One row for each rating, every column.",
    "annotations": "One row for each answer: person, item, position, times, status.",
    "items": "Every output with its inputs and system. Can be uploaded again.",
    "highlights": "One row for each passage that was marked.",
    "participants": "One row for each person: sets, times, exclusion and its reason.",
    "metrics": "One row for each score of an automatic metric. Can be uploaded again.",
    "judge_labels": "One row for each label of a judge. Can be uploaded again.",
    "mqm": "One row for each error, in WMT’s format. Without excluded answers.",
}
# of studies in which people compare outputs
_OF_PAIRS = (
    "One row for each person and pair, one column for each question. Only counted answers; "
    "excluded ones are marked."
)


@study_page("files/", name="study-export", place="Files", tab="Files", order=90)
@require_safe
def show_files(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show the ratings, the report, the bundle and the public page."""
    if is_hidden(study):
        return _show_hidden(request, study)
    counts, report = find_counts(study), newest_report(study)
    jobs = list(Job.objects.filter(study_id=study.pk, kind=BUNDLE)[:_READ])
    pending = jobs[:1] if jobs and (jobs[0].is_open or jobs[0].has_stopped) else []
    has_answers, origins = find_origins(study, Choice(file=SIMPLE).selection)
    columns = [column.name for column in list_downloads_of(study)[SIMPLE]]
    ratings_name = name_file(study, Choice(file=SIMPLE))
    context = {
        "no_answers": "" if has_answers else explain_no_answers(study),
        "is_simulated": Origin.SIMULATED in origins,
        "imports": describe_imports(study) if Origin.IMPORTED in origins else [],
        "ratings_name": ratings_name,
        "ratings": counts and counts.rows.get(SIMPLE),
        "compares": "system_1" in columns,
        "misread": describe_misread(counts.misread) if counts else "",
        "snippet": _write_snippet(study, ratings_name),
        "report": report,
        "report_name": report and name_report_file(study, report, "report.html"),
        "bundle_name": name_of_file(study, "bundle.zip"),
        "archives": _find_archives(request, study, jobs),
        "pending": pending,
        "pending_for": {PAGE: "public", DATASET: "dataset"}.get(pending[0].subject, "bundle")
        if pending
        else "",
        "not_sharing": count_not_sharing(study) if study.asks_to_share else 0,
        "kept_days": KEPT_DAYS,
    }
    response = TemplateResponse(request, "results/files.html", context)
    return keep_watching(response, *pending)


def _write_snippet(study: Study, name: str) -> str:
    """Return a first look at ratings_simple, with the first question of the study."""
    columns = list_downloads_of(study)[SIMPLE]
    names = [column.name for column in columns]
    question = columns[names.index("participant") + 1]
    kept = 'r[r.excluded == "no"]'
    line = f"{kept}[{question.name!r}].value_counts()"
    if "system" in names and question.type in (NUMBER, WHOLE):
        line = f'{kept}.groupby("system")["{question.name}"].mean()'
    return f'import pandas as pd\nr = pd.read_csv("{name}")\n{line}'


@study_page("files/all/", name="files-all", within="Files")
@require_safe
def show_all_files(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show every file, and let people choose which rows they hold."""
    if is_hidden(study):
        return redirect("admin:study-export", study.pk)
    form = SelectionForm(request.GET)
    jobs = Job.objects.filter(study_id=study.pk, kind__in=(EXPORT, BUNDLE))
    newest = list(jobs.order_by("-created_at")[:_READ])
    exports = [job for job in newest if job.kind == EXPORT]
    pending = _list_pending(exports)
    counts = find_counts(study)
    chosen = describe_export(
        form.selection.describe() | {"for_spreadsheets": form.is_for_spreadsheets}
    )
    # a choice of rows is counted when it is made; all rows were counted before
    rows = count_rows(study, form.selection) if chosen else counts and counts.rows
    data, report = _list_data(study, rows or {}), newest_report(study)
    context = {
        "form": form,
        "chosen": chosen,
        "counted_at": counts and not chosen and counts.counted_at,
        "data": data,
        "columns": _count_columns(study),
        "is_simulated": Origin.SIMULATED in find_origins(study, form.selection)[1],
        "misread": describe_misread(counts.misread) if counts else "",
        "pandas": PANDAS,
        "pending": pending,
        "ready": [
            {
                "job": job,
                "title": describe_export(read_choice(job).describe()),
                "until": find_until(job),
            }
            for job in exports
            if find_file(job)
        ][:_SHOWN],
        "kept_days": KEPT_DAYS,
        "report": report,
        "has_outputs": report is not None and report.outputs.exists(),
        "archives": _find_archives(request, study, [job for job in newest if job.kind == BUNDLE]),
        "not_sharing": count_not_sharing(study) if study.asks_to_share else 0,
        "identities": _describe_identities(request, study),
        "downloads": list_last_downloads(study),
    }
    context |= _list_ways(study)
    context["files"] = len(data) + _count_others(context, study)
    response = TemplateResponse(request, "results/all_files.html", context)
    return keep_watching(response, *(entry["job"] for entry in pending))


def _count_others(context: Mapping[str, Any], study: Study) -> int:
    """Count the files that aren't tables of data."""
    of_paper = 8 + context["has_outputs"]
    of_archive = 3 + (study.instrument is not None)
    of_sets = 1 + len(context["ways"]) + bool(context["ways"])
    identities = context["identities"]
    of_people = 1 + (identities["answers"] > 0) if identities else 0
    return 1 + of_sets + of_paper + of_archive + of_people


def _list_ways(study: Study) -> dict[str, Any]:
    """List the tools that get scores back, and say why others don't."""
    reason = explain_no_scores(study)
    known = {} if reason else count_known(study, WAYS)
    return {
        "ways": [(way, known[name]) for name, way in WAYS.items() if known.get(name)],
        "without": list_of([way.tool for name, way in WAYS.items() if not known.get(name)]),
        "no_scores": reason,
    }


def _count_columns(study: Study) -> int:
    return sum(len(columns) for columns in list_downloads_of(study).values())


def _list_data(study: Study, rows: Mapping[str, int]) -> list[dict[str, Any]]:
    """List the tables of the study, and how many rows each would have, as far as it is known."""
    files = list_downloads_of(study)
    purposes = dict(_PURPOSES)
    if any(column.name == "system_1" for column in files[SIMPLE]):
        purposes[SIMPLE] = _OF_PAIRS
    return [
        {
            "name": name,
            "purpose": purposes[name],
            "kind": "TSV" if name == TABBED else "CSV",
            "rows": rows.get(name),
            "is_large": is_large(rows.get(name, 0)),
            "fits_sheet": rows.get(name, 0) <= MOST_ROWS,
        }
        for name in files
    ]


def _find_archives(request: HttpRequest, study: Study, jobs: Sequence[Job]) -> dict[str, Any]:
    """Return the newest bundle, anonymous bundle and public page that this person may take."""
    archives: dict[str, Any] = {}
    sees_identities = may_see_identities(request, study)
    for job in list_kept(jobs):
        if has_entry_answers(job) and not sees_identities:
            continue
        kinds = {ANONYMOUS: "anonymous", PAGE: "public", DATASET: "dataset"}
        kind = kinds.get(job.subject, "bundle")
        archives.setdefault(kind, {"job": job, "name": name_download(study, job)})
    return archives


def _describe_identities(request: HttpRequest, study: Study) -> dict[str, Any] | None:
    """Return what the page offers to those who may see identities; None for everyone else."""
    if not may_see_identities(request, study):
        return None
    counts = count_together(identities=find_identities(study), answers=find_answers(study))
    return {
        "count": counts["identities"],
        "answers": counts["answers"],
        "last": find_last_view(study),
    }


def _list_pending(jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """List files being written, and those whose job stopped and wasn't started again since."""
    newest: dict[str, Job] = {}
    for job in jobs[: 2 * _SHOWN]:
        newest.setdefault(job.subject, job)
    return [
        {"job": job, "title": f"Writing {describe_export(read_choice(job).describe())}"}
        for job in newest.values()
        if job.is_open or job.has_stopped
    ]


def list_last_downloads(study: Study) -> list[dict[str, Any]]:
    """List the last downloads, by whom, with checksums."""
    entries = AuditEntry.objects.filter(study_id=study.pk, action="data exported")[:_SHOWN]
    return [{"entry": entry, "title": describe_export(entry.detail)} for entry in entries]


def explain_no_answers(study: Study) -> str:
    """Explain why there are no answers, and what brings some."""
    if not study.items.main().exists():
        return "No answers yet, and nothing to answer: upload a batch under Items."
    if study.has_ended:
        return "No answers: nobody answered before the study was closed."
    if study.is_launched:
        return "No answers yet. Share the link."
    return "No answers yet. Take the pilot, or launch the study and share its link."


# --- while results are hidden -------------------------------------------------------------------


def _show_hidden(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show the files by what they would reveal."""
    counts = find_counts(study)
    data = _list_data(study, counts.rows if counts else {})
    rows = counts.pseudonymised if counts else {}
    context = {
        "columns": _count_columns(study),
        "free": [entry for entry in data if entry["name"] in FREE],
        "waiting": [entry["name"] for entry in data if entry["name"] not in FREE],
        "pseudonymised": [
            {"name": name, "purpose": purpose, "rows": rows.get(name)}
            for name, purpose in PSEUDONYMISED.items()
        ],
        "identities": _describe_identities(request, study),
        "is_owner": has_role(request, study, Membership.Role.OWNER),
        "downloads": list_last_downloads(study),
    }
    return TemplateResponse(request, "results/files_hidden.html", context)
