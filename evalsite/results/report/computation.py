"""Computing the report of a study, in a job: from the very files that it exports."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import file_digest
from math import log
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, Max, OuterRef, Q, Subquery

import evalsite
from evalsite.analysis.families import find_family
from evalsite.analysis.figure import METHODS_VERSION
from evalsite.analysis.thresholds import make_thresholds
from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.schedule import DAILY, scheduled
from evalsite.core.jobs.services import job_kind, report_progress, revive_job, start_job
from evalsite.data.files.services import Choice, write_file
from evalsite.data.models import JudgeFile, JudgeLabel, MetricFile
from evalsite.decisions.frozen_plans import count_answers, is_hidden, list_hidden
from evalsite.decisions.models import AnalysisPlan, AnalysisPlanVersion, Exclusion, PlanEvent
from evalsite.decisions.top_up import TOP_UP_ACTION
from evalsite.fieldwork.live_changes import FITTED
from evalsite.handout.models import Annotation, RatingsFile, Revision
from evalsite.instruments.schema import Criterion
from evalsite.lib.clock import now
from evalsite.lib.counts import count_together
from evalsite.lib.csv_writer import write_csv
from evalsite.lib.integrity import is_violation
from evalsite.lib.old_files import delete_older
from evalsite.lib.seeds import derive_number
from evalsite.lib.transactions import consistent_cut
from evalsite.people.models import Participant, ParticipantMark
from evalsite.results.analysis_plan.stored import describe_plan, find_state
from evalsite.results.analysis_plan.wording import warn_of_plan
from evalsite.results.design.report import report_design
from evalsite.results.models import Report
from evalsite.results.progress import count_edge
from evalsite.results.report.ahead import project
from evalsite.results.report.files import make_source, write_charts
from evalsite.results.report.sections.findings import find_headline
from evalsite.results.report.source import Criterion as StoredCriterion
from evalsite.studies.models import Study
from evalsite.studies.versions import describe_in_force, hash_content

# --- when results were first computed: tests assume that nobody goes on because of what they saw

# of the jobs that compute results
KIND = "analysis"


@dataclass(frozen=True, kw_only=True)
class Look:
    """The first time that results were there: how many answers were in, and were asked for then."""

    at: datetime
    answers: int
    asked_later: int
    is_revealed: bool = False  # an owner chose to look, though results were hidden

    def to_data(self) -> dict[str, Any]:
        return {**vars(self), "at": self.at.isoformat()}


def find_first_look(study: Study) -> Look | None:
    """Return the first look, or None if results were never there before the study was closed.

    Results that were computed while systems were hidden showed none: it was when an owner revealed
    them, or before the launch.
    """
    jobs = Job.objects.filter(study_id=study.pk, kind=KIND, finished_at__isnull=False)
    frozen = AnalysisPlanVersion.objects.filter(study_id=study.pk, number=1).values("frozen_at")[:1]
    shown = jobs.filter(finished_at__lt=Subquery(frozen))
    revealed = PlanEvent.objects.filter(study=OuterRef("pk"), kind=PlanEvent.Kind.REVEALED)
    asked = _find_asked(study).order_by("-created_at")
    # in one query: pages of results have few to spend
    known = Study.objects.filter(pk=study.pk).values_list(
        Subquery(jobs.order_by("finished_at").values("finished_at")[:1]),
        Subquery(shown.order_by("finished_at").values("finished_at")[:1]),
        Subquery(revealed.values("at")[:1]),
        Subquery(revealed.values("answers")[:1]),
        Subquery(asked.values("created_at")[:1]),
    )
    first, before_plan, revealed_at, answers, last_asked = known.get()
    if at := before_plan if study.hides_results else first:
        look = Look(at=at, answers=count_answers(study, before=at), asked_later=0)
    elif revealed_at:
        look = Look(at=revealed_at, answers=answers, asked_later=0, is_revealed=True)
    else:
        return None
    if study.closed_at is not None and look.at >= study.closed_at:
        return None  # nobody could go on because of it
    if last_asked is None or last_asked <= look.at:
        return look
    later = _find_asked(study).filter(created_at__gt=look.at)
    # of a top-up, and of more answers per item or a further batch
    places = sum(change.detail.get("slots", 0) + change.detail.get("added", 0) for change in later)
    return replace(look, asked_later=places)


def _find_asked(study: Study) -> Any:
    """Find where more answers were asked for."""
    return AuditEntry.objects.filter(study_id=study.pk, action__in=(TOP_UP_ACTION, FITTED))


# --- raters who also took part in the study that this one repeats, as far as they are recognised


@dataclass(frozen=True, kw_only=True)
class RatersMet:
    """How many of a study's raters had been in the study that it repeats."""

    number: int
    raters: int


def find_raters_met(study: Study) -> RatersMet | None:
    """Count them by what both studies keep of platform ids; None if nobody is recognised."""
    original = AnalysisPlan.objects.filter(study=study, repeats__isnull=False).values("repeats")
    earlier = ParticipantMark.objects.filter(study__in=original)
    marks = ParticipantMark.objects.filter(study=study.pk, digest__in=earlier.values("digest"))
    answers = Annotation.objects.counted().filter(study=study)
    raters = Participant.objects.filter(pk__in=answers.values("participant"))
    number = raters.filter(pk__in=marks.values("participant")).count()
    return RatersMet(number=number, raters=raters.count()) if number else None


# --- the computation

# reports of earlier data that are kept in addition to the newest, and for how long
_KEPT = 5
_KEPT_FOR = timedelta(days=30)
# files of a report that is being computed have no row yet
_COMPUTED_WITHIN = timedelta(days=1)
_FILES = ("ratings", "annotations", "items")


def take_fingerprint(study: Study) -> str:
    """Return a text that is equal as long as data, decisions, options, methods and software stay.

    It is made of counts and newest rows, which a page can afford, not of the data themselves.
    """
    answers = Annotation.objects.agreed().filter(study=study)
    decisions = Exclusion.objects.filter(study=study)
    files = MetricFile.objects.filter(study=study).order_by("pk")
    counts = count_together(
        by=(answers, "status"),
        newest=(answers, Max("pk")),
        revised=Revision.objects.filter(study=study),
        decided=decisions,
        standing=decisions.active(),
        imported=RatingsFile.objects.filter(study=study),
        metrics=files,
        judges=JudgeFile.objects.filter(study=study),
        labels=(JudgeLabel.objects.filter(file__study=study), Max("pk")),
        versions=study.plan_versions.all(),
        hidden=list_hidden().filter(pk=study.pk),
        events=study.plan_events.all(),
        changes=study.changes.all(),
    )
    scores: dict[Any, int] = {}
    if counts["metrics"]:
        scores = dict(files.annotate(n=Count("scores")).values_list("pk", "n"))
    return hash_content(
        {
            **counts,
            "options": study.config.default_options | study.options,
            # a batch may take some scores along
            "metrics": {"files": [str(pk) for pk in scores], "scores": sum(scores.values())},
            "plan": find_state(study, counts),
            "version": study.version_id,
            "methods": METHODS_VERSION,
            "software": evalsite.__version__,
            **_count_sharing(study),
        }
    )


def _count_sharing(study: Study) -> dict[str, int]:
    """Count who was asked whether their answers may be shared, and who doesn't share them."""
    if not study.asks_to_share:
        return {}
    asked = Participant.objects.filter(study=study, is_pilot=False, may_share__isnull=False)
    return asked.aggregate(asked=Count("pk"), not_sharing=Count("pk", filter=Q(may_share=False)))


def newest_report(study: Study) -> Report | None:
    """Return the newest report; none once results are shown, until there is one with systems."""
    report = Report.objects.filter(study=study).first()
    if report is not None and report.content.get("is_hidden") and not is_hidden(study):
        return None
    return report


def newest_analysis(study: Study) -> Job | None:
    return Job.objects.filter(study_id=study.pk, kind=KIND).first()


def start_analysis(*, study: Study, by: Any) -> Job:
    """Start computing the report, or start again a job that stopped responding."""
    job = newest_analysis(study)
    if job is not None and job.is_stale:
        return revive_job(job, by=by)
    return start_job(KIND, study_id=study.pk, by=by)


@job_kind(KIND)
def run_analysis(job: Job) -> dict[str, Any]:
    """Compute the report of the study's data as they are now."""
    study = Study.objects.get(pk=str(job.study_id))
    with open_snapshot(study) as snapshot:
        report = report_on(snapshot, progress=partial(report_progress, job))
        # of hidden results it is kept: what it rests on isn't
        ahead = report.content.get("ahead") or _project(snapshot, report)
    design = report_design(study).as_dict()
    return {"report": str(report.pk), "ahead": ahead, "design": design}


def _project(snapshot: "Snapshot", report: Report) -> dict[str, Any]:
    """Return what further answers would detect."""
    instrument = describe_instrument(snapshot.study)
    return project(
        snapshot.study, report, snapshot.paths, instrument, target=snapshot.target
    )  # fmt: skip


# --- what a report is computed from ---------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Everything that a report is computed from, read at one moment."""

    study: Study
    taken_at: datetime
    fingerprint: str
    plan: dict[str, Any]
    exclusions: list[tuple[str, int]]
    # of each reason, whom it leaves out and when that was decided
    excluded: dict[str, dict[str, Any]]
    # what was changed after the launch
    changes: list[dict[str, Any]]
    # of those who were asked, how many don't share their answers; {} if nobody is asked
    sharing: dict[str, int]
    # answers that are in, and those that are planned
    done: int
    target: int
    # results by system may not be seen yet
    is_hidden: bool
    met: RatersMet | None
    look: Look | None
    paths: dict[str, Path]


@contextmanager
def open_snapshot(study: Study) -> Iterator[Snapshot]:
    """Take a snapshot of the study; its files are deleted at the end of the block."""
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=settings.DATA_DIR) as folder:
        yield take_snapshot(study, Path(folder))


def take_snapshot(study: Study, folder: Path) -> Snapshot:
    """Read the study's decisions, and write its data to files in this folder."""
    with consistent_cut():
        # read again: the caller's copy is of an earlier moment
        study = Study.objects.select_related("version").get(pk=study.pk)
        edge = count_edge(study)
        active = Exclusion.objects.active().filter(study=study)
        return Snapshot(
            study=study,
            taken_at=now(),
            fingerprint=take_fingerprint(study),
            plan=describe_plan(study),
            exclusions=active.count_reasons(),
            excluded=active.time_reasons(),
            changes=describe_in_force(study),
            sharing=_count_sharing(study),
            done=edge.done,
            target=edge.target,
            is_hidden=is_hidden(study),
            met=find_raters_met(study),
            look=find_first_look(study),
            paths=_write_files(study, folder),
        )


def _write_files(study: Study, folder: Path) -> dict[str, Path]:
    names = [*_FILES, *(["highlights"] if study.config.has_marks else [])]
    if study.metric_files.exists():
        names.append("metrics")
    if study.judge_files.exists():
        names.append("judge_labels")
    paths = {name: folder / f"{name}.csv" for name in names}
    for name, path in paths.items():
        with path.open("wb") as file:
            write_file(study, Choice(file=name), file)
    return paths


# --- the report -----------------------------------------------------------------------------


def compute_report(study: Study, *, progress: Any = None) -> Report:
    """Return the report of the study's data as they are now, computed only if there is none."""
    with consistent_cut():
        study = Study.objects.select_related("version").get(pk=study.pk)
        fingerprint = take_fingerprint(study)
    if report := _find_report(study, fingerprint):
        return _make_newest(report)
    with open_snapshot(study) as snapshot:
        return report_on(snapshot, progress=progress)


def report_on(snapshot: Snapshot, *, progress: Any = None) -> Report:
    """Return the report of these data, computed only if there is none."""
    study, fingerprint = snapshot.study, snapshot.fingerprint
    if report := _find_report(study, fingerprint):
        return _make_newest(report)
    try:
        report = _make_report(snapshot, progress)
    except IntegrityError as error:
        if not is_violation(error, Report, "one_report_of_the_same_data"):
            raise
        # a command and a job computed it at once, and the other was first
        return _make_newest(Report.objects.get(study=study, fingerprint=fingerprint))
    for old in Report.objects.filter(study=study)[_KEPT:]:
        old.delete()
        _delete_files(old)
    return report


def _find_report(study: Study, fingerprint: str) -> Report | None:
    return Report.objects.filter(study=study, fingerprint=fingerprint).first()


def _make_report(snapshot: Snapshot, progress: Any) -> Report:
    """Compute the report and store it with its files, or leave no file behind."""
    report = Report(
        study=snapshot.study, fingerprint=snapshot.fingerprint, made_at=snapshot.taken_at
    )
    try:
        outputs = None if snapshot.is_hidden else report.outputs
        report.content, report.sha256 = _analyse(snapshot, progress, outputs=outputs)
        if snapshot.is_hidden:
            ahead = _project(snapshot, report)
            report.content = hide_systems(report.content) | {"ahead": ahead}
        else:
            report.headline = find_headline(make_source(snapshot.study, report))[1]
            write_charts(snapshot.study, report)
        with transaction.atomic():
            report.save(force_insert=True)
    except BaseException:
        _delete_files(report)
        raise
    return report


def _make_newest(report: Report) -> Report:
    """Show this report: data can return to what they were, as when metric scores are removed."""
    if newest_report(report.study) != report:
        report.requested_at = now()
        report.save(update_fields=["requested_at"])
    return report


def analyse_study(study: Study) -> tuple[dict[str, Any], str]:
    """Return what is found in the study's ratings as plain data, and the SHA-256 of ratings.csv."""
    with open_snapshot(study) as snapshot:
        return _analyse(snapshot, None, outputs=None)


# --- for bundles --------------------------------------------------------------------------------


def find_current(study: Study) -> Report | None:
    """Return the report of the study's data as they are, if it was computed."""
    return _find_report(study, take_fingerprint(study))


def _analyse(
    snapshot: Snapshot, progress: Any, *, outputs: Path | None
) -> tuple[dict[str, Any], str]:
    """Analyse the files of the snapshot; the table of outputs goes to `outputs`, if given."""
    from evalsite.analysis.plan import Plan  # noqa: PLC0415
    from evalsite.analysis.report import Settings, make_reports  # noqa: PLC0415 (no numpy in web)

    study, plan = snapshot.study, snapshot.plan
    with snapshot.paths["ratings"].open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    settings = Settings(
        instrument=describe_instrument(study),
        seed=seed_of(study),
        plan=Plan.read(plan),
        limits=make_thresholds(plan["thresholds"]),
    )
    content = make_reports(
        snapshot.paths,
        settings,
        progress=progress or (lambda done, total: None),
        keep_outputs=None
        if outputs is None
        else partial(_add_outputs, outputs, _read_numbers(snapshot.paths["items"])),
    )
    for report in filter(None, content.values()):
        report["warnings"] = name_clusters(report["warnings"], plan)
        report["warnings"] += warn_of_plan(plan, has_excluded=content["all"] is not None)
        if has_gone_on(snapshot.look, snapshot.done):
            report["warnings"] = withdraw_claims(report["warnings"])
        for criterion in report["criteria"]:
            plan_undecided(criterion, report["data"])
    basis = {
        "plan": plan,
        "exclusions": snapshot.exclusions,
        "excluded": snapshot.excluded,
        **({"changes": snapshot.changes} if snapshot.changes else {}),
        **({"sharing": snapshot.sharing} if snapshot.sharing else {}),
        "collection": {
            "done": snapshot.done,
            "target": snapshot.target,
            "met": snapshot.met and asdict(snapshot.met),
            **_describe_look(snapshot),
        },
        "version": study.version and study.version.number,
        "software": evalsite.__version__,
    }
    return content | basis, digest


def has_gone_on(look: Look | None, done: int) -> bool:
    """Return whether answers came, or were asked for, after results were first there."""
    return look is not None and (look.answers < done or look.asked_later > 0)


def name_clusters(warnings: list[dict[str, Any]], plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the warnings with what clusters are called, as far as imports say so in one word."""
    used = [note for note in plan.get("clusters", ()) if note["code"] == "clusters_used"]
    nouns = {note["facts"]["noun"] for note in used}
    if len(nouns) != 1:
        return warnings
    (noun,) = nouns
    return [
        note | {"facts": note["facts"] | {"noun": noun}} if note["code"] == "few_clusters" else note
        for note in warnings
    ]


def withdraw_claims(warnings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the warnings without a claim on the error rate: who looks and then collects more may
    stop at a good moment."""
    return [
        note | {"facts": note["facts"] | {"keeps_error_rate": False}}
        if note["code"] == "few_raters"
        else note
        for note in warnings
    ]


# how far the planned standard error may be from that of the fit
_CLOSE = 1.25


def plan_undecided(criterion: dict[str, Any], data: dict[str, Any]) -> None:
    """Add to each open question of "not worse than" how many more answers would decide it.

    Nothing is added where the closed form doesn't describe these ratings.
    """
    from evalsite.analysis.gate import GateDesign, plan_gate  # noqa: PLC0415 (numpy stays out of web)

    compares = find_family(criterion).compares
    model = criterion["model"] or {}
    variances, by_input = model.get("variances", {}), "input:system" if compares else "group:system"
    for test in criterion.get("margins") or ():
        sides = {test["system"], test["other"]}
        is_judged = bool(test.get("judge")) and "why" not in test
        pairs = [
            pair for pair in criterion["pairs"] if {pair["system_1"], pair["system_2"]} == sides
        ]
        if test["relation"] != "not_worse" or test["outcome"] != "undecided" or not pairs:
            continue
        if is_judged:
            # the form is that of people's answers
            continue
        counts = pairs[0]["effect"]["n"]
        people, inputs = counts.get("raters", 0), counts.get("items", 0)
        if "se" not in test or "rater:system" not in variances or min(people, inputs) < 2:
            continue
        answers = counts.get("answers") or counts["ratings"] / len(criterion["systems"])
        each = answers / inputs
        if by_input not in variances and each > 1:
            continue
        plan = plan_gate(
            GateDesign(
                people=people, inputs=inputs, answers_per_input=None if each == people else each
            ),
            margin=log(test["margin"]) if test["is_log"] else test["margin"], level=test["level"],
            variances=(
                2 * variances["rater:system"], 2 * variances.get(by_input, 0.0),
                (1 if compares else 2) * model["residual"],
            ),
        )  # fmt: skip
        if not 1 / _CLOSE <= plan["se"] / test["se"] <= _CLOSE:
            continue
        wider, more = plan["inputs_needed"], plan["people_needed"]
        test["plan"] = plan | {
            "answers_each": each,
            "more_answers": {
                "inputs": wider and round((wider - inputs) * data["annotations"] / inputs),
                "people": more and round((more - people) * data["annotations"] / people),
            },
        }


def _describe_look(snapshot: Snapshot) -> dict[str, Any]:
    """Return when results were first seen, if answers came or were asked for after that."""
    look = snapshot.look
    if look is None or not has_gone_on(look, snapshot.done):
        return {}
    return {"look": look.to_data()}


def _read_numbers(path: Path) -> Any:
    """Read the numbers of items and groups, by item, from an exported items.csv."""
    import pandas as pd  # noqa: PLC0415 (it stays out of web processes)

    rows = pd.read_csv(
        path, usecols=["item", "item_no", "group_no"], dtype={"item": str}, keep_default_na=False
    )
    return rows.drop_duplicates("item").set_index("item")


def _add_outputs(path: Path, numbers: Any, table: Any) -> None:
    """Append the table of one more criterion to the file, with the items' numbers last."""
    is_new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    table = table.join(numbers, on="item")
    cells = table.astype(object).where(table.notna(), "")
    with path.open("a", encoding="utf-8", newline="") as file:
        write_csv(file, [table.columns] if is_new else [])
        write_csv(file, cells.itertuples(index=False))


def seed_of(study: Study) -> int:
    """Return the seed of everything that is drawn: the same for every report of a study."""
    return derive_number(study.seed, "analysis") % 1_000_000


def describe_instrument(study: Study) -> list[dict[str, Any]]:
    """Return the criteria as the analysis reads them."""
    return [_describe(criterion, study) for criterion in study.config.criteria]


def _describe(criterion: Criterion, study: Study) -> dict[str, Any]:
    """Return what the numbers of a criterion mean, as plain data."""
    scale = criterion.scale
    # means of turns lie between the points
    answers = () if criterion.per_turn else scale.list_answers()
    options = [{"key": key, "label": label} for key, label in scale.list_options()]
    return {
        "key": criterion.key,
        "label": criterion.label,
        "kind": scale.kind,
        "family": criterion.family,
        "better": criterion.direction,
        "answers": [{"value": value, "label": label} for value, label in answers],
        "reserved": list(scale.reserved_values()),
        "minimum": scale.minimum,
        "maximum": scale.maximum,
        **({"per": "item"} if not criterion.is_of_outputs and not scale.compares else {}),
        **({"options": options} if options else {}),
        **({"reasons": scale.list_reasons()} if scale.list_reasons() else {}),
        **scale.describe_marks(),
        **({"is_conditional": True} if criterion.ask_if else {}),
        **({"is_loose": True} if scale.has_na or not criterion.is_always_answered else {}),
    }


@scheduled("Delete earlier reports and their drawings", every=DAILY, is_deleting=True)
def delete_old_reports() -> str:
    """Keep the newest report of each study and those of the last 30 days, with their drawings.

    A report of the same data can be computed again.
    """
    later = Report.objects.filter(
        study=OuterRef("study"), requested_at__gt=OuterRef("requested_at")
    )
    old = Report.objects.filter(Exists(later), requested_at__lt=now() - _KEPT_FOR)
    deleted = 0
    for report in old.only("id", "requested_at"):
        # it may have been asked for again since
        if Report.objects.filter(pk=report.pk, requested_at=report.requested_at).delete()[0]:
            _delete_files(report)
            deleted += 1
    kept = {str(pk) for pk in Report.objects.values_list("pk", flat=True)}
    folders = (settings.DATA_DIR / "reports").glob("*")
    strays = [folder for folder in folders if folder.name not in kept]
    deleted += delete_older(strays, _COMPUTED_WITHIN)
    return f"{deleted} deleted" if deleted else ""


def _delete_files(report: Report) -> None:
    if report.folder.exists():
        rmtree(report.folder)


# --- what is computed while results are hidden: agreement, precision and balance, without systems

Stored = dict[str, Any]
# of a report: everything else says something about systems, or may
_OF_A_REPORT = {
    "methods_version", "seed", "draws", "level", "plan", "family", "data", "raters", "copied",
}  # fmt: skip
_OF_A_QUESTION = {
    "key", "of", "label", "kind", "family", "better", "role", "answers", "standard", "range", "per",
    "estimator", "model", "agreement_notes", "kappas", "slips",
}  # fmt: skip
_WARNINGS = {"simulated", "few_raters", "one_rater", "copied", "few_clusters"}


def hide_systems(content: Stored) -> Stored:
    """Return the report with what may be seen before the study closes, and nothing else."""
    hidden = {name: content[name] and _hide(content[name]) for name in ("kept", "all")}
    return content | hidden | {"is_hidden": True}


def _hide(report: Mapping[str, Any]) -> Stored:
    hidden = {name: _empty(part, name, _OF_A_REPORT) for name, part in report.items()}
    return hidden | {
        "criteria": [_hide_question(stored) for stored in report["criteria"]],
        "warnings": [note for note in report["warnings"] if note["code"] in _WARNINGS],
        "design": [figure for figure in report["design"] if not figure.get("group")],
        **({"comments": report["comments"] | {"systems": {}}} if report.get("comments") else {}),
    }


def _hide_question(stored: Mapping[str, Any]) -> Stored:
    criterion = StoredCriterion(stored)
    hidden = {name: _empty(part, name, _OF_A_QUESTION) for name, part in stored.items()}
    precision = criterion.precision
    return hidden | {
        "agreement": [figure for figure in stored["agreement"] if not figure.get("group")],
        **_hide_spans(stored.get("spans")),
        "precision": {"half": precision.value, "unit": precision.unit} if precision else None,
    }


def _hide_spans(spans: Mapping[str, Any] | None) -> Stored:
    """Return how far people mark the same places."""
    if not spans:
        return {}
    empty = {name: _empty(part, name, {"agreement", "labels"}) for name, part in spans.items()}
    return {"spans": empty}


def _empty(part: Any, name: str, shown: set[str]) -> Any:
    """Return the part if it may be shown, or an empty one of its kind."""
    if name in shown:
        return part
    return type(part)() if isinstance(part, list | dict) else None
