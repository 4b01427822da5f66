"""Studies and their records: versions, batches, outputs, jobs, rows of two studies."""

from collections.abc import Iterable
from functools import cache, partial
from typing import Any

from django.apps import apps
from django.db.models import (
    Count,
    F,
    ForeignKey,
    Max,
    Model,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Coalesce

from evalsite.core.jobs.models import Job
from evalsite.data.fsck.findings import PLACE_JOBS, RESTORE, Check, checks_in
from evalsite.handout.models import Annotation
from evalsite.lib.prepared import Prepared
from evalsite.people.models import Origin
from evalsite.studies.models import Change, Item, Output, Study
from evalsite.studies.versions import hash_content


def state_against_the_launch(study: Study) -> Iterable[str]:
    """Find a state against the launch: a launched study has a version and a launched state."""
    is_draft = study.state == Study.State.DRAFT or (
        study.state == Study.State.ARCHIVED and study.version_id is None
    )
    if study.is_launched and is_draft:
        yield f"the state is {study.state}, but it was launched"
    if not study.is_launched and not is_draft:
        yield f"the state is {study.state}, but it was never launched"
    if not is_draft and study.version_id is None:
        yield f"the state is {study.state}, but there is no version"
    if study.version is not None and study.version.study_id != study.pk:
        yield "its version belongs to another study"
    if study.has_ended and not is_draft and study.closed_at is None:
        yield "it is closed, but the time of closing is missing"


def version_that_was_changed(study: Study) -> Iterable[str]:
    for version in study.versions.iterator():
        if hash_content(version.content) != version.sha256:
            yield str(version)


def batch_open_at_the_wrong_time(study: Study) -> Iterable[str]:
    """Find batches that are open before the launch, and launched studies without an open one.

    Before the launch only answers that were collected elsewhere open the batch of their items.
    """
    opened = study.batches.filter(opened_at__isnull=False)
    if not study.is_launched:
        imported = Annotation.objects.filter(study=study, origin=Origin.IMPORTED)
        early = opened.exclude(pk__in=imported.values("item__batch"))
        yield from (f"{batch.file_name} is open before the launch" for batch in early)
    elif not opened.exists():
        yield "no batch is open though the study is launched"


def outputs_that_are_not_numbered(study: Study) -> Iterable[str]:
    """Find items whose outputs don't have the positions 0, 1, 2 and so on."""
    outputs = Output.objects.stored().filter(item__study=study).order_by().values("item__key")
    counts = outputs.annotate(n=Count("pk"), last=Max("position")).exclude(n=F("last") + 1)
    for key in counts.order_by("item__key").values_list("item__key", flat=True).iterator():
        yield f"item {key}"


def repeat_of_a_wrong_item(study: Study) -> Iterable[str]:
    shown_again = (Item.Kind.MAIN, Item.Kind.WITHDRAWN)
    wrong = ~Q(repeat_of__kind__in=shown_again) | ~Q(repeat_of__study=study)
    repeats = Item.objects.filter(study=study, repeat_of__isnull=False).filter(wrong)
    yield from (f"item {key}" for key in repeats.order_by("pk").values_list("key", flat=True))


def withdrawal_that_nobody_recorded(study: Study) -> Iterable[str]:
    """Find items that are withdrawn without a reason, or recorded as withdrawn, but aren't."""
    changed = Change.objects.filter(item=OuterRef("pk"), kind__in=_COMING_AND_GOING)
    last = Subquery(changed.order_by("-at", "-id").values("kind")[:1])
    items = Item.objects.planned().filter(study=study).annotate(last=Coalesce(last, Value("")))
    is_recorded = Q(last=Change.Kind.WITHDRAWN)
    is_withdrawn = Q(kind=Item.Kind.WITHDRAWN)
    wrong = items.filter((is_withdrawn & ~is_recorded) | (~is_withdrawn & is_recorded))
    yield from (f"item {key}" for key in wrong.order_by("pk").values_list("key", flat=True))


_COMING_AND_GOING = (Change.Kind.WITHDRAWN, Change.Kind.PUT_BACK)


def job_that_has_stopped(study: Study) -> Iterable[str]:
    newest = {}
    for job in Job.objects.filter(study_id=study.pk).order_by("created_at"):
        newest[job.kind] = job
    for job in newest.values():
        if job.is_stale:
            yield f"the job “{job.kind}”, which hasn't responded for two minutes"
        elif job.state == Job.State.FAILED and job.kind in PLACE_JOBS:
            yield f"the job “{job.kind}”: {job.message}"


def row_of_two_studies(study: Study | None) -> Iterable[str]:
    """Find rows that refer to rows of another study."""
    for model, field, of_one in _list_references():
        pks = of_one.all(study.pk) if study else _wrong_rows(model, field).iterator()
        for (pk,) in pks:
            yield f"{model._meta.verbose_name} {pk} and its {field.replace('_', ' ')}"


@cache
def _list_references() -> list[tuple[Any, str, Prepared[Any]]]:
    """Return each model and foreign key, and the query that finds wrong rows of one study."""
    return [
        (model, field.name, Prepared(partial(_wrong_rows, model, field.name)))
        for model in apps.get_models()
        if _is_of_a_study(model)
        for field in model._meta.get_fields()
        if isinstance(field, ForeignKey) and _is_of_a_study(field.related_model)
    ]


def _wrong_rows(model: Any, field: str, study_id: Any = None) -> QuerySet[Any, Any]:
    rows = model._default_manager.filter(**{f"{field}__isnull": False})
    if study_id is not None:
        rows = rows.filter(Q(study_id=study_id) | Q(**{f"{field}__study_id": study_id}))
    wrong = rows.exclude(study_id=F(f"{field}__study_id")).order_by("pk")
    return wrong.values_list("pk")


def _is_of_a_study(model: type[Model]) -> bool:
    return any(
        isinstance(field, ForeignKey) and field.name == "study" and field.related_model is Study
        for field in model._meta.get_fields()
    )


CHECKS: tuple[Check, ...] = (
    *checks_in(
        ("The state of the study can't be", state_against_the_launch),
        ("Batches are open, or not, against the state of the study", batch_open_at_the_wrong_time),
        ("Items have outputs that are not numbered one by one", outputs_that_are_not_numbered),
        ("Repeats are of an item that can't be repeated", repeat_of_a_wrong_item),
        ("Items are withdrawn, or not, against what was recorded", withdrawal_that_nobody_recorded),
    ),
    *checks_in(
        ("Versions are not what participants were shown", version_that_was_changed),
        todo=f"A version never changes. {RESTORE}",
    ),
    *checks_in(
        ("Work in the background has stopped", job_that_has_stopped),
        todo=(
            "See that the job worker (manage.py db_worker) is running. Then open the study, and "
            "press [Start again] where it says that the work has stopped."
        ),
    ),
)
SITE_CHECKS = checks_in(("Rows belong to two studies at once", row_of_two_studies))
