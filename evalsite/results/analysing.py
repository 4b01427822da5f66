"""Computing the report of a study, in a job: from the very files that it exports."""

from functools import partial
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Max

import evalsite
from evalsite.analysis.figure import METHODS_VERSION
from evalsite.annotation.models import Annotation, RatingsFile, Revision
from evalsite.exchange.exports.cut import consistent_cut
from evalsite.exchange.exports.exporting import Choice, write_file
from evalsite.exchange.exports.writing import LINE_END
from evalsite.exchange.models import MetricFile, MetricScore
from evalsite.jobs.models import Job
from evalsite.jobs.services import job_kind, report_progress, revive_job, start_job
from evalsite.lib.clock import now
from evalsite.lib.seeds import derive_number
from evalsite.protocol import Criterion, Likert, Preference
from evalsite.quality.excluding import count_reasons
from evalsite.quality.models import Exclusion
from evalsite.results.models import Report
from evalsite.results.plan import describe_plan, find_state
from evalsite.results.plan_wording import warn_of_plan
from evalsite.studies.models import Study
from evalsite.studies.versions import hash_content

KIND = "analysis"
# reports of earlier data that are kept beside the newest
_KEPT = 5
_FILES = ("ratings", "annotations", "items")


def take_fingerprint(study: Study) -> str:
    """A text that is equal as long as data, decisions, options, methods and software stay.

    It is made of counts and newest rows, which a page can afford, not of the data themselves.
    """
    answers = Annotation.objects.filter(study=study)
    decisions = Exclusion.objects.filter(study=study)
    return hash_content(
        {
            "answers": sorted(answers.order_by().values_list("status").annotate(n=Count("id"))),
            "newest": answers.aggregate(last=Max("id"))["last"],
            "revised": Revision.objects.filter(study=study).aggregate(n=Count("id")),
            "decided": decisions.aggregate(last=Max("id"))["last"],
            "standing": decisions.standing().count(),
            "imported": RatingsFile.objects.filter(study=study).count(),
            "options": study.config.default_options | study.options,
            "metrics": _find_metrics(study),
            "plan": find_state(study),
            "version": study.version_id,
            "methods": METHODS_VERSION,
            "software": evalsite.__version__,
        }
    )


def _find_metrics(study: Study) -> dict[str, Any]:
    """Which files of metric scores there are, and how many scores: a batch may take some along."""
    files = MetricFile.objects.filter(study=study).order_by("pk")
    return {
        "files": [str(pk) for pk in files.values_list("pk", flat=True)],
        "scores": MetricScore.objects.filter(file__study=study).count(),
    }


def newest_report(study: Study) -> Report | None:
    return Report.objects.filter(study=study).first()


def newest_analysis(study: Study) -> Job | None:
    return Job.objects.filter(study_id=study.pk, kind=KIND).first()


def start_analysis(*, study: Study, by: Any) -> Job:
    """The report is being computed; work that has stopped without a word begins anew."""
    job = newest_analysis(study)
    if job is not None and job.is_stale:
        return revive_job(job, by=by)
    return start_job(KIND, study_id=study.pk, by=by)


@job_kind(KIND)
def run_analysis(job: Job) -> dict[str, Any]:
    """The newest report is of the study as it stood at this moment."""
    study = Study.objects.select_related("version").get(pk=str(job.study_id))
    report = compute_report(study, progress=partial(report_progress, job))
    return {"report": str(report.pk)}


def compute_report(study: Study, *, progress: Any = None) -> Report:
    """The report of the study's data; where they were analysed before, that report, in front."""
    found = take_fingerprint(study)
    if same := Report.objects.filter(study=study, fingerprint=found).first():
        return _bring_to_front(same)
    report = Report(study=study, fingerprint=found)
    report.content, report.sha256 = analyse_study(study, progress=progress, outputs=report.outputs)
    write_drawings(report)
    with transaction.atomic():
        report.save(force_insert=True)
        _forget_old(study)
    return report


def _bring_to_front(report: Report) -> Report:
    """The report is the newest one: data can return to what they were, as when scores go."""
    if newest_report(report.study) != report:
        report.made_at = now()
        report.save(update_fields=["made_at"])
    return report


def analyse_study(
    study: Study, *, progress: Any = None, outputs: Path | None = None
) -> tuple[dict[str, Any], str]:
    """What was found in the study's ratings as plain data, and the SHA-256 of ratings.csv.

    `outputs`: the file to which the table of outputs goes, if it is wanted.
    """
    from evalsite.analysis.report import make_reports  # noqa: PLC0415 (numpy stays out of web)

    plan = describe_plan(study)
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=settings.DATA_DIR) as folder:
        paths = _write_files(study, Path(folder))
        with paths["ratings"].open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
        content = make_reports(
            paths,
            instrument=[_describe(criterion, study) for criterion in study.config.criteria],
            seed=seed_of(study),
            baseline=plan["baseline"],
            thresholds=plan["thresholds"],
            progress=progress or (lambda done, total: None),
            keep_outputs=None if outputs is None else partial(_add_outputs, outputs),
        )
    for report in filter(None, content.values()):
        report["warnings"] += warn_of_plan(plan, has_excluded=content["all"] is not None)
    return content | {"plan": plan, "exclusions": count_reasons(study)}, digest


def _add_outputs(path: Path, table: Any) -> None:
    """The table of one more criterion stands at the end of the file."""
    is_new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, mode="a", header=is_new, index=False, lineterminator=LINE_END)


def seed_of(study: Study) -> int:
    """The seed of everything that is drawn: the same for every report of a study."""
    return derive_number(study.seed, "analysis") % 1_000_000


def _write_files(study: Study, folder: Path) -> dict[str, Path]:
    names = [*_FILES, *(["highlights"] if study.config.has_highlight else [])]
    if study.metric_files.exists():
        names.append("metrics")
    paths = {name: folder / f"{name}.csv" for name in names}
    with consistent_cut():
        for name, path in paths.items():
            with path.open("wb") as file:
                write_file(study, Choice(file=name), file)
    return paths


def _describe(criterion: Criterion, study: Study) -> dict[str, Any]:
    """What the numbers of a criterion mean, as plain data."""
    scale = criterion.scale
    if isinstance(scale, Likert):
        answers = [{"value": point.value, "label": point.label} for point in scale.points]
        reserved = [point.value for point in scale.points if point.reserved]
    elif isinstance(scale, Preference):
        answers, reserved = [], []
    else:
        reserved = []
        is_short = scale.maximum - scale.minimum == 1
        answers = [
            {"value": value, "label": scale.label_of(value)}
            for value in range(scale.minimum, scale.maximum + 1)
        ] if is_short else []  # fmt: skip
    return {
        "key": criterion.key,
        "label": criterion.label,
        "kind": scale.kind,
        "answers": answers,
        "reserved": reserved,
    }


def write_drawings(report: Report) -> None:
    """The drawings of the report stand in its folder, as SVG and as PDF."""
    from evalsite.results.drawing import draw_report  # noqa: PLC0415
    from evalsite.results.figures import write_drawing  # noqa: PLC0415

    report.folder.mkdir(parents=True, exist_ok=True)
    for name, drawing in draw_report(report.content["kept"]):
        (report.folder / f"{name}.svg").write_bytes(write_drawing(drawing, "svg"))
        # a narrow one is for small screens alone
        if not name.endswith("-narrow"):
            (report.folder / f"{name}.pdf").write_bytes(write_drawing(drawing, "pdf"))


def _forget_old(study: Study) -> None:
    """Only the newest reports are kept; the drawings of the others go with them."""
    for old in Report.objects.filter(study=study)[_KEPT:]:
        for path in old.folder.glob("*"):
            path.unlink()
        if old.folder.exists():
            old.folder.rmdir()
        old.delete()
