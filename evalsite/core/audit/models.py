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


class Event(models.TextChoices):
    """What can happen to an account."""

    SIGNED_IN = "signed in", "Signed in"
    CODE_ASKED = "code asked", "Password accepted, code asked for"
    FAILED = "failed", "Sign-in failed"
    LOCKED = "locked", "Locked for 15 minutes"
    SIGNED_OUT = "signed out", "Signed out"
    CONFIRMED = "confirmed", "Confirmed who it is"
    RESET_ASKED = "reset asked", "New password asked for"
    RESET = "reset", "New password by an e-mailed link"
    EMAIL_ASKED = "email asked", "New e-mail address asked for"
    CHANGED = "changed", "Changed"
    SESSIONS_ENDED = "sessions ended", "Other devices signed out"
    MADE = "made", "Account created"
    DISABLED = "disabled", "Account disabled"
    ENABLED = "enabled", "Account enabled"


class AccountEvent(models.Model):
    """One thing that happened to an account. Kept for 180 days, and never changed."""

    # how it was done, or what was changed: codes, separated by commas
    DETAILS = {
        "password": "password",
        "code": "code",
        "recovery": "recovery code",
        "sso": "organisation",
        "invitation": "invitation",
        "administrator": "by an administrator",
        "command": "by a command",
        "username": "user name",
        "email": "e-mail",
        "profile": "name or messages",
        "two-factor-on": "two-factor sign-in turned on",
        "two-factor-off": "two-factor sign-in turned off",
        "codes": "recovery codes",
    }

    event = models.CharField(max_length=14, choices=Event.choices)
    detail = models.CharField(max_length=60, blank=True)
    # a number, not a foreign key: the log outlives the account
    account_id = models.BigIntegerField(null=True)
    # a keyed digest: people type passwords where the name belongs
    unknown_name = models.CharField(max_length=64, blank=True)
    # /24 or /48
    network = models.CharField(max_length=43, blank=True)
    # a keyed digest of account and network, of sign-ins only
    known_network = models.CharField(max_length=64, blank=True)
    at = models.DateTimeField(default=now, db_index=True)

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["account_id", "-at"], name="account_events_newest_first")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(event__in=Event.values), name="account_event_is_known"
            ),
            models.CheckConstraint(
                condition=models.Q(account_id__isnull=False, unknown_name="")
                | (models.Q(account_id=None) & ~models.Q(unknown_name="")),
                name="account_event_has_an_account_or_an_unknown_name",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.detail}".strip()

    def describe_detail(self) -> str:
        """Return how it was done, or what was changed, in words."""
        return ", ".join(self.DETAILS[code] for code in self.detail.split(",") if code)
