"""The newest results of a study: computed as it closes, and again as its data change.

A person who opens a page of Results after a change sees the last results with their time, and has
them computed again. That is the one thing that opening a page starts: it changes no result, it is
limited in rate, and it can be repeated.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import start_job
from evalsite.handout.models import Annotation
from evalsite.lib.clock import now
from evalsite.results.models import Report
from evalsite.results.progress import count_edge
from evalsite.results.report.computation import (
    KIND,
    newest_analysis,
    newest_report,
    start_analysis,
    take_fingerprint,
)
from evalsite.results.report.sections.findings import FEW_ANSWERS
from evalsite.studies.models import Study

# between the end of a computation and the next one that a page starts
PAUSE = timedelta(minutes=5)


@dataclass(frozen=True, kw_only=True)
class Newest:
    """The last results, the job that computes them again, and how many answers are in."""

    report: Report | None
    job: Job | None
    is_current: bool
    done: int
    target: int

    @property
    def has_few_answers(self) -> bool:
        """Return whether there is nothing to compute yet."""
        return self.done < FEW_ANSWERS

    @property
    def is_computing(self) -> bool:
        return self.job is not None and self.job.is_open and not self.job.is_stale

    @property
    def is_behind(self) -> bool:
        """Return whether there are results to come, or newer ones than those shown."""
        is_older = not self.is_current and (self.report is not None or not self.has_few_answers)
        return is_older or self.is_computing

    @property
    def is_due(self) -> bool:
        """Return whether newer results come by themselves, so that the page looks for them."""
        return self.is_behind and not self.has_few_answers

    @property
    def has_failed(self) -> bool:
        """Return whether the last attempt to compute them stopped."""
        return not self.is_current and self.job is not None and self.job.has_stopped

    @property
    def since(self) -> int:
        """Return how many answers have come in since; 0 if something else has changed."""
        if self.report is None:
            return self.done
        collection = self.report.content.get("collection") or {}
        return max(0, self.done - int(collection.get("done", self.done)))


def open_results(study: Study, reader: Any) -> Newest:
    """Return the newest results; compute them again if data, decisions or the plan have changed."""
    report, job, edge = newest_report(study), newest_analysis(study), count_edge(study)
    is_current = report is not None and report.fingerprint == take_fingerprint(study)
    if not is_current and edge.done >= FEW_ANSWERS and _may_start(job):
        job = start_job(KIND, study_id=study.pk, by=reader)
    return Newest(report=report, job=job, is_current=is_current, done=edge.done, target=edge.target)


def _may_start(job: Job | None) -> bool:
    """Return whether opening a page may start a computation: none is open or has just ended."""
    if job is None:
        return True
    return not job.is_open and (job.finished_at is None or job.finished_at < now() - PAUSE)


def compute_at_closing(study: Study, by: Any) -> None:
    """Start computing the results of a study that is being closed."""
    if Annotation.objects.counted().filter(study=study)[:FEW_ANSWERS].count() >= FEW_ANSWERS:
        start_analysis(study=study, by=by)
