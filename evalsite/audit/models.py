"""Who did what, when. Append-only: nothing in the product updates or deletes an entry."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import models

from evalsite.lib.clock import now


class AuditEntryManager(models.Manager["AuditEntry"]):
    def record(
        self, action: str, *, by: Any, study_id: UUID | None = None, **detail: Any
    ) -> "AuditEntry":
        """Add an entry to the log. `detail` holds ids, names and counts, never ratings."""
        actor = by if getattr(by, "is_authenticated", False) else None
        return self.create(
            action=action,
            actor=actor,
            actor_name=actor.get_username() if actor else str(by or ""),
            study_id=study_id,
            detail=detail,
        )


class AuditEntry(models.Model):
    """One thing that a person did to a study."""

    # A number, not a foreign key: the log outlives what it describes.
    study_id = models.UUIDField(null=True, db_index=True)
    action = models.CharField(max_length=60)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    actor_name = models.CharField(max_length=150, blank=True)
    detail = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=now, editable=False)

    objects = AuditEntryManager()

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.action} by {self.actor_name or 'the system'}"
