"""A study that repeats another: which one, and what the two say together, computed in a job."""

from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from evalsite.analysis.families import find_family
from evalsite.analysis.figure import make_note
from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import job_kind, report_progress, revive_job, start_job
from evalsite.decisions.models import AnalysisPlan
from evalsite.handout.models import Annotation
from evalsite.instruments.schema import SCREEN_OPTION
from evalsite.lib.transactions import consistent_cut
from evalsite.results.models import Report
from evalsite.results.replication.tables import SETTINGS
from evalsite.results.report.computation import (
    Snapshot,
    report_on,
    seed_of,
    take_fingerprint,
    take_snapshot,
)
from evalsite.studies.models import Item, Output, Study
from evalsite.studies.versions import hash_content, shown_content

KIND = "repeat"
# comparisons of earlier data that are kept in addition to the newest
_KEPT = 5
# of each of its three parts, the two reports and what is made of both
_STEPS = 100


def original_of(study: Study) -> Study | None:
    """Return the study that this one repeats, if one was chosen and it is still there."""
    plan = AnalysisPlan.objects.filter(study=study).select_related("repeats__version").first()
    return None if plan is None else plan.repeats


def list_originals(study: Study, user: Any) -> QuerySet[Study]:
    """Return the studies that this one may be said to repeat, of those that this person may see."""
    studies = Study.objects.visible_to(user).filter(protocol=study.protocol)
    return studies.exclude(pk=study.pk)


def list_repetitions(study: Study, user: Any) -> QuerySet[Study]:
    """Return the studies that repeat this one, of those that this person may see."""
    return Study.objects.visible_to(user).filter(analysis_plan__repeats=study)


@transaction.atomic
def choose_original(*, study: Study, original: Study | None, by: Any) -> AnalysisPlan:
    """Set which study this one repeats, if any, and log the change."""
    if original is not None:
        _refuse_unlike(study, original)
    plan, _ = AnalysisPlan.objects.get_or_create(study=study)
    if plan.repeats != original:
        plan.repeats = original
        plan.save(update_fields=["repeats"])
        chosen = "" if original is None else str(original.pk)
        AuditEntry.objects.record("original chosen", by=by, study_id=study.pk, original=chosen)
    return plan


def _refuse_unlike(study: Study, original: Study) -> None:
    if original.pk == study.pk:
        raise ValidationError("A study is no repetition of itself. Choose another study.")
    if original.protocol != study.protocol:
        raise ValidationError(
            "The two studies have different protocols. Choose a study of the same protocol."
        )


def _refuse_empty(study: Study, original: Study) -> None:
    if name := find_unanswered(study, original):
        raise ValidationError(f"{name} has no answers yet. Compare them when it has some.")


def find_unanswered(study: Study, original: Study) -> str:
    """Return which of the two has no answers yet, as a sentence begins; "" where both have some."""
    for entry, name in ((original, "The other study"), (study, "This study")):
        if not Annotation.objects.filter(study=entry).counted().exists():
            return name
    return ""


# --- the comparison -----------------------------------------------------------------------


def take_mark(study: Study, original: Study) -> str:
    """Return a text that is equal as long as neither study's data, decisions or methods change."""
    return hash_content(
        {
            "original": str(original.pk),
            "first": take_fingerprint(original),
            "second": take_fingerprint(study),
        }
    )


def newest_attempt(study: Study, original: Study) -> Job | None:
    """Return the newest job that compared the two, in any state."""
    return _list_jobs(study, original).first()


def newest_comparison(study: Study, original: Study) -> Job | None:
    """Return what was computed last of the two; its `result` is what `compare_studies` returns."""
    return _list_jobs(study, original).filter(state=Job.State.DONE).first()


def _list_jobs(study: Study, original: Study) -> QuerySet[Job]:
    jobs = Job.objects.filter(study_id=study.pk, kind=KIND)
    return jobs.filter(params__original=str(original.pk))


def start_comparison(*, study: Study, original: Study, by: Any) -> Job:
    """Start comparing the two, unless the newest comparison is of the same data."""
    _refuse_unlike(study, original)
    _refuse_empty(study, original)
    mark = take_mark(study, original)
    job = _list_jobs(study, original).filter(subject=mark).first()
    # data can return to what they were: pages show the newest comparison, not that of then
    if job is not None and job == newest_comparison(study, original):
        return job
    if job is not None and job.is_stale:
        return revive_job(job, by=by)
    return start_job(KIND, study_id=study.pk, by=by, subject=mark, original=str(original.pk))


@job_kind(KIND)
def run_comparison(job: Job) -> dict[str, Any]:
    """Return what the two studies say together, as they stood at this moment."""
    studies = Study.objects.select_related("version")
    study = studies.get(pk=str(job.study_id))
    original = studies.filter(pk=job.params["original"]).first()
    if original is None:
        raise ValidationError("The other study has been deleted. Choose another one.")
    old = Job.objects.filter(study_id=study.pk, kind=KIND, state=Job.State.DONE)[_KEPT:]
    Job.objects.filter(pk__in=[job.pk for job in old]).delete()
    return compare_studies(study, original, progress=partial(report_progress, job))


def compare_studies(study: Study, original: Study, *, progress: Any = None) -> dict[str, Any]:
    """Return the original, the first study, beside the study that repeats it, as plain data.

    The reports of both are made, or taken where they are kept.
    """
    _refuse_unlike(study, original)
    _refuse_empty(study, original)
    beat = progress or (lambda done, total: None)
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=settings.DATA_DIR) as folder:
        with consistent_cut():
            pair = [_take_snapshot(entry, Path(folder)) for entry in (original, study)]
            changed = find_changed_outputs(original, study)
            warnings = [*warn_of_texts(original, study)]
        reports = [
            report_on(entry, progress=partial(_report_part, beat, number))
            for number, entry in enumerate(pair)
        ]
        comparison = _compare(pair, reports, changed, partial(_report_part, beat, len(pair)))
    comparison["warnings"] = [*warnings, *comparison["warnings"]]
    comparison["studies"] = [
        {
            "id": str(entry.study.pk),
            "ratings_sha256": report.sha256,
            "made_at": report.made_at.isoformat(),
        }
        for entry, report in zip(pair, reports, strict=True)
    ]
    return comparison


def _take_snapshot(study: Study, folder: Path) -> Snapshot:
    """Return each of the two in a folder of its own."""
    subfolder = folder / study.pk.hex
    subfolder.mkdir()
    return take_snapshot(study, subfolder)


def _report_part(beat: Any, part: int, done: int, total: int) -> None:
    """A third of the work each: the report of the one, of the other, and the comparison."""
    beat(part * _STEPS + done * _STEPS // max(total, 1), 3 * _STEPS)


def _compare(
    pair: list[Snapshot], reports: list[Report], changed: set[tuple[str, str]], beat: Any
) -> dict[str, Any]:
    # numpy stays out of the web process
    from evalsite.analysis.report.replication import make_repetition, read_side  # noqa: PLC0415

    kept = [report.content["kept"] for report in reports]
    instrument = list(_list_criteria(kept))
    done = iter(range(1, len(instrument) + 2))

    def step() -> None:
        beat(next(done), len(instrument) + 1)

    first, second = (
        read_side(snapshot.paths, report) for snapshot, report in zip(pair, kept, strict=True)
    )
    step()
    return make_repetition(
        (first, second), instrument=instrument, seed=seed_of(pair[1].study), changed=changed,
        step=step,
    )  # fmt: skip


def _list_criteria(kept: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Return what both reports say of their criteria, each once, in the order of the first."""
    known = {
        criterion["key"]: criterion for report in reversed(kept) for criterion in report["criteria"]
    }
    keys = dict.fromkeys(criterion["key"] for report in kept for criterion in report["criteria"])
    for key in keys:
        criterion = known[key]
        named = {name: criterion[name] for name in ("key", "label", "kind", "answers")}
        ends = zip(("minimum", "maximum"), criterion.get("range", ()), strict=False)
        yield named | {"family": find_family(criterion).name} | dict(ends)


def find_changed_outputs(first: Study, second: Study) -> set[tuple[str, str]]:
    """Item and system of outputs whose text, or whose input, is another in the other study."""
    known = dict(_hash_outputs(first))
    return {key for key, digest in _hash_outputs(second) if key in known and known[key] != digest}


def _hash_outputs(study: Study) -> Iterator[tuple[tuple[str, str], bytes]]:
    rows = Output.objects.stored().filter(item__study=study, item__kind=Item.Kind.MAIN)
    columns = ("item__key", "system__name", "text", "item__inputs")
    for item, system, text, inputs in rows.order_by().values_list(*columns).iterator():
        shown = f"{text}\x00{hash_content(inputs)}"
        yield (item, system or ""), sha256(shown.encode()).digest()


def warn_of_texts(first: Study, second: Study) -> list[dict[str, Any]]:
    """What participants of the two met otherwise: a difference may be due to each of these."""
    return [*compare_versions(first, second), *_compare_texts(first, second)]


def compare_versions(first: Study, second: Study) -> Iterator[dict[str, Any]]:
    for study, side in ((first, "first"), (second, "second")):
        if (number := study.versions.count()) > 1:
            yield {**make_note("versions", number=number), "study": side}


def _compare_texts(first: Study, second: Study) -> Iterator[dict[str, Any]]:
    earlier, two = shown_content(first), shown_content(second)
    if earlier["texts"]["instructions"] != two["texts"]["instructions"]:
        yield make_note("other_instructions")
    if earlier["texts"]["language"] != two["texts"]["language"]:
        yield make_note("other_language")
    if labels := _list_other_criteria(first, second):
        yield make_note("other_wording", labels=labels)
    # PostgreSQL keeps what JSON holds in an order of its own
    # what was launched before there was a choice of layouts has one item per page
    options_of = [{SCREEN_OPTION: "one"} | content["options"] for content in (earlier, two)]
    if options := sorted(_list_unlike(*options_of)):
        yield make_note("other_options", options=options)
    # what was launched before there was a setting had it off
    settings = [
        (name, earlier["settings"].get(name, False), two["settings"].get(name, False))
        for name in SETTINGS
    ]
    if changed := [setting for setting in settings if setting[1] != setting[2]]:
        yield make_note("other_settings", settings=changed)


def _list_other_criteria(first: Study, second: Study) -> list[str]:
    known = [study.config.criterion_by_key for study in (first, second)]
    labels = {key: criterion.label for of in known for key, criterion in of.items()}
    return [labels[key] for key in _list_unlike(*known)]


def _list_unlike(earlier: dict[str, Any], two: dict[str, Any]) -> list[str]:
    """Return the names under which the two hold different things."""
    return [name for name in {**earlier, **two} if earlier.get(name) != two.get(name)]
