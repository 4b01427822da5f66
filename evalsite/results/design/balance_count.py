"""Counting the balance of a large study, in a job: it takes longer than a page may."""

from functools import partial
from typing import Any

from evalsite.jobs.models import Job
from evalsite.jobs.services import job_kind, report_progress, revive_job, start_job
from evalsite.results.design.report import Report, report_design
from evalsite.studies.models import Study

KIND = "design"


def newest_count(study: Study) -> Job | None:
    return Job.objects.filter(study_id=study.pk, kind=KIND).first()


def newest_report(study: Study) -> tuple[Job, Report] | None:
    """Return what was counted last, and when; None: nothing yet."""
    counted = Job.objects.filter(study_id=study.pk, kind=KIND, state=Job.State.DONE).first()
    return None if counted is None else (counted, Report.of_dict(counted.result))


def start_count(*, study: Study, by: Any) -> Job:
    """Start counting the balance, or start again a count that stopped responding."""
    job = newest_count(study)
    if job is not None and job.is_stale:
        return revive_job(job, by=by)
    return start_job(KIND, study_id=study.pk, by=by)


@job_kind(KIND)
def run_count(job: Job) -> dict[str, Any]:
    """Return the report of the design as it was at this moment."""
    study = Study.objects.get(pk=str(job.study_id))
    return report_design(study, partial(report_progress, job)).as_dict()
