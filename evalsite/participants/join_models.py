"""Counts of new participants, for the limits on joining."""

from django.db import models

from evalsite.lib.clock import now
from evalsite.studies.models import Study


class JoinCount(models.Model):
    """One new participant of the last 24 hours, counted for the limits on joining.

    The digest represents an address on one day in one study, and can't be reversed.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+", db_index=False)
    digest = models.CharField(max_length=64, blank=True)
    joined_at = models.DateTimeField(default=now, db_index=True)

    class Meta:
        indexes = [models.Index(fields=["study", "joined_at"], name="join_by_study")]

    def __str__(self) -> str:
        return f"join of {self.joined_at:%Y-%m-%d %H:%M}"
