"""Long work outside web requests: one row a job, with progress that a page can show."""

from datetime import timedelta
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.utils import timezone

STALE_AFTER = timedelta(minutes=2)


class Job(models.Model):
    """One piece of long work. It can be restarted: running it twice has the same effect as once."""

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    study_id = models.UUIDField(null=True, db_index=True)
    kind = models.CharField(max_length=40)
    # what it works on, if a study may have several of a kind at once: an upload, an export
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
    # how often it was started again because its worker, or the database, went away
    takeovers = models.PositiveSmallIntegerField(default=0)
    # the last heartbeat; for a waiting job, that of a worker busy with another job
    heartbeat_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["study_id", "kind", "subject"],
                condition=models.Q(state__in=["waiting", "running"]),
                name="one_open_job_of_a_kind_and_subject_per_study",
            ),
            models.UniqueConstraint(
                fields=["kind", "subject"],
                condition=models.Q(state__in=["waiting", "running"], study_id=None)
                # a bundle may become the whole study and a draft at once
                & ~models.Q(subject="")
                & ~models.Q(kind="bundle import"),
                name="one_open_job_of_a_kind_and_subject_without_a_study",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} ({self.state})"

    @property
    def is_open(self) -> bool:
        return self.state in (self.State.WAITING, self.State.RUNNING)

    @property
    def is_stale(self) -> bool:
        """Return whether the job is open without a heartbeat for two minutes."""
        last_sign = self.heartbeat_at or self.created_at
        return self.is_open and last_sign < timezone.now() - STALE_AFTER

    @property
    def has_stopped(self) -> bool:
        """Return whether the job failed or stopped responding, and has to be started again."""
        return self.state == self.State.FAILED or self.is_stale

    @property
    def progress(self) -> str:
        """Return "12,000 of 100,000", to be followed by the unit."""
        return f"{min(self.done, self.total):,} of {self.total:,}"


class ScheduledTask(models.Model):
    """One thing that is done at set times: when next, and how it went the last time."""

    name = models.CharField(max_length=60, primary_key=True)
    # while a worker runs it, the time from which it counts as abandoned
    due_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    result = models.CharField(max_length=200, blank=True)
    # the last run that had something to do
    acted_at = models.DateTimeField(null=True)
    acted = models.CharField(max_length=200, blank=True)
    error = models.TextField(blank=True)
    failures = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class SiteClock(models.Model):
    """What the workers know of the server's clock: one row."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    # when a worker last looked at the schedule
    ticked_at = models.DateTimeField()
    # when the clock jumped, until it has been steady for a day or an administrator confirms it
    jumped_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="a_site_has_one_clock")
        ]

    def __str__(self) -> str:
        return f"clock at {self.ticked_at}"


class OutgoingMail(models.Model):
    """An e-mail to a researcher, kept until it is sent."""

    recipient = models.EmailField()
    subject = models.CharField(max_length=200)
    # emptied once it is sent: it may hold a link that signs someone in
    body = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # a link that ends is of no use later
    useful_until = models.DateTimeField(null=True)
    next_try_at = models.DateTimeField(default=timezone.now)
    tries = models.PositiveIntegerField(default=0)
    problem = models.CharField(max_length=200, blank=True)
    sent_at = models.DateTimeField(null=True)
    # when the server refused its recipient for good; it isn't tried again
    refused_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(sent_at__isnull=True) | models.Q(refused_at__isnull=True),
                name="mail_is_never_both_sent_and_refused",
            )
        ]
        indexes = [
            models.Index(
                fields=["next_try_at"],
                condition=models.Q(sent_at__isnull=True),
                name="mail_that_waits",
            )
        ]

    def __str__(self) -> str:
        # never the address: this text reaches logs
        return f"e-mail {self.pk}"
