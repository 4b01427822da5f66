"""Steering a study that runs: another k, and batches that were uploaded later.

The request says what is to be; a job makes and removes places until it is so. The job looks at the
study and its batches, not at what was asked for, so it may stop at any moment and run again.
"""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import job_kind, report_progress, restart_job, start_job
from evalsite.fieldwork.launch import insist_on_editor
from evalsite.fieldwork.shares import place_new_items
from evalsite.handout.change_k import (
    Fit,
    count_places,
    count_waiting,
    foresee_fit,
    list_lacking,
    remove_places,
)
from evalsite.handout.slots import make_slots
from evalsite.lib.clock import now
from evalsite.studies.models import Batch, Item, Study
from evalsite.studies.setting_changes import CHANGED_K, ChangedMeanwhile, describe_last_change
from evalsite.studies.versions import make_version

KIND = "places"
FITTED = "places fitted"
MOST = 1000


@transaction.atomic
def change_k(*, study: Study, k: int, revision: int, by: Any) -> Study:
    """Ask for k answers per item in a new version, and start a job that fits the places."""
    insist_on_editor(study, by)
    current = lock_running(study)
    if current.revision != revision:
        raise ChangedMeanwhile(describe_last_change(current, by))
    if not 1 <= k <= MOST:
        raise ValidationError(f"Enter a whole number from 1 to {MOST:,}.")
    if k == current.k:
        raise ValidationError(f"The study asks for {k} answers per item already.")
    fit = foresee_fit(current, k)
    before, current.k = current.k, k
    current.revision += 1
    current.save(update_fields=["k", "revision"])
    version = make_version(current, by=by)
    AuditEntry.objects.record(
        CHANGED_K, by=by, study_id=study.pk, before=before, after=k, version=version.number,
        foreseen={name: value for name, value in vars(fit).items() if value},
    )  # fmt: skip
    start_job(KIND, study_id=study.pk, by=by)
    return current


@transaction.atomic
def open_batch(*, batch: Batch, by: Any) -> Batch:
    """Give participants the items of this batch, as soon as a job has made their places."""
    insist_on_editor(batch.study, by)
    lock_running(batch.study)
    current = Batch.objects.select_for_update(no_key=True).get(pk=batch.pk)
    if current.opened_at is not None:
        raise ValidationError(f"{current.file_name} is open to people already.")
    items = Item.objects.main().filter(batch=current).count()
    current.opened_at = now()
    current.save(update_fields=["opened_at"])
    AuditEntry.objects.record(
        "batch opened", by=by, study_id=batch.study_id, batch=str(batch.pk), items=items
    )
    start_job(KIND, study_id=batch.study_id, by=by)
    return current


def lock_running(study: Study) -> Study:
    """Return the study's row, locked; ValidationError unless it runs and its places are at rest."""
    current = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if current.state not in (Study.State.LIVE, Study.State.PAUSED):
        raise ValidationError("Only a study that is live or paused has places to change.")
    job = newest_places(current)
    if job is not None and (job.state == Job.State.FAILED or job.is_stale):
        raise ValidationError(
            "Work on the places has stopped in the middle. Start it again on the Overview; "
            "when that is done, try again."
        )
    if job is not None and job.is_open:
        raise ValidationError(
            "Places are being made or removed just now. Wait until that is done, then try again."
        )
    return current


def newest_places(study: Study) -> Job | None:
    """Return the job that last made or removed places of this study, if one ever did."""
    return Job.objects.filter(study_id=study.pk, kind=KIND).first()


def unfinished_places(study: Study) -> QuerySet[Job]:
    """Return the jobs on places of this study that have not come to their end."""
    return Job.objects.filter(study_id=study.pk, kind=KIND).exclude(state=Job.State.DONE)


def restart_places(*, study: Study, by: Any) -> Job:
    """Let work on the places that stopped in the middle go on from where it was."""
    insist_on_editor(study, by)
    job = newest_places(study)
    if job is None or job.state == Job.State.DONE:
        raise ValidationError("There is nothing to start again.")
    return restart_job(job, by=by)


@job_kind(KIND)
def fit_places(job: Job) -> dict[str, Any]:
    """Give every main item of an open batch k places, filled with answers that wait for one."""
    study = Study.objects.get(pk=str(job.study_id))
    done = Fit(**job.params.get("done", {}))

    def note(fit: Fit) -> None:
        # kept in the transaction that did it: a job that is stopped and goes on reports all
        nonlocal done
        done += fit
        Job.objects.filter(pk=job.pk).update(params={"done": vars(done)}, heartbeat_at=now())

    batches = list_lacking(study)
    if batches:
        before = count_places(study, batches)
        after = make_slots(study, batches, lambda done, total: report_progress(job, done, total))
        note(Fit(added=after - before))
        with transaction.atomic():
            place_new_items(study, batches, job.started_by)
    remove_places(study, note)
    count_waiting(study, note)
    result = {name: value for name, value in vars(done).items() if value}
    AuditEntry.objects.record(FITTED, by=job.started_by, study_id=study.pk, k=study.k, **result)
    return result
