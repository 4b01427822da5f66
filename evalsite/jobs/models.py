"""Long work outside web requests: one row a job, with progress that a page can show."""

from datetime import timedelta
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.utils import timezone

STALE_AFTER = timedelta(minutes=2)


class Job(models.Model):
    """One piece of long work. Restartable: running a kind twice does no more than once."""

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    study_id = models.UUIDField(null=True, db_index=True)
    kind = models.CharField(max_length=40)
    # what it works on, where a study may have several of a kind at once: an upload, an export
    subject = models.CharField(max_length=64, blank=True)
    params = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    message = models.TextField(blank=True)
    result = models.JSONField(default=dict)
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)
    # the worker that runs it, by its name in the queue; empty outside a worker
    worker = models.CharField(max_length=64, blank=True)
    started_at = models.DateTimeField(null=True)
    # how often it was started again because its worker, or the database, had gone
    takeovers = models.PositiveSmallIntegerField(default=0)
    # when a worker was last heard of: of one that waits, a worker that was at another
    heartbeat_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["study_id", "kind", "subject"],
                condition=models.Q(state__in=["waiting", "running"]),
                name="one_open_job_of_a_kind_and_subject_per_study",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} ({self.state})"

    @property
    def is_open(self) -> bool:
        return self.state in (self.State.WAITING, self.State.RUNNING)

    @property
    def is_stale(self) -> bool:
        """Open, but nobody has heard of it for two minutes: its worker is gone, or never came."""
        last_sign = self.heartbeat_at or self.created_at
        return self.is_open and last_sign < timezone.now() - STALE_AFTER

    @property
    def has_stopped(self) -> bool:
        """It failed, or nobody hears of it any more: only starting it again gets it done."""
        return self.state == self.State.FAILED or self.is_stale

    @property
    def progress(self) -> str:
        """How far it is, to be followed by what it counts: "12,000 of 100,000"."""
        return f"{min(self.done, self.total):,} of {self.total:,}"
