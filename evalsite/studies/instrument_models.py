"""Instruments that were built on the web or came as a file. Import them from `models`."""

from typing import Any
from uuid import uuid4

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

LONGEST_TITLE = 200


class InstrumentQuerySet(models.QuerySet["Instrument"]):
    def visible_to(self, user: Any) -> "InstrumentQuerySet":
        """Return those that this person may use and copy; a superuser sees all."""
        if not user.is_authenticated or not user.is_staff:
            return self.none()
        if user.is_superuser:
            return self
        own = InstrumentMember.objects.filter(user=user).values("instrument")
        return self.filter(Q(is_visible=True) | Q(pk__in=own))

    def editable_by(self, user: Any) -> "InstrumentQuerySet":
        """Return those that this person may change."""
        if user.is_superuser:
            return self
        own = InstrumentMember.objects.filter(user=user).exclude(role=InstrumentMember.Role.VIEWER)
        return self.visible_to(user).filter(pk__in=own.values("instrument"))


class Instrument(models.Model):
    """Questions that a study can ask, in versions; `draft` is what becomes the next one.

    A draft is plain data that may still have faults; empty: there is nothing but the versions.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    key = models.CharField(max_length=40, validators=[RegexValidator(r"\A[a-z][a-z0-9_]*\Z")])
    title = models.CharField(max_length=LONGEST_TITLE)
    draft = models.JSONField(default=dict, blank=True)
    # of the draft: each change counts, so that two people who edit overwrite nothing
    revision = models.PositiveIntegerField(default=0)
    # roles by user names that were entered and that nobody has: they look like members, so that
    # sharing doesn't tell who has an account
    unknown_members = models.JSONField(default=dict, blank=True)
    # others on this site may then use and copy it, but not change it
    is_visible = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    objects = InstrumentQuerySet.as_manager()

    class Meta:
        ordering = ["title", "created_at"]

    def __str__(self) -> str:
        return self.title

    @property
    def newest(self) -> "InstrumentVersion | None":
        return self.versions.order_by("-number").first()


class InstrumentMember(models.Model):
    """What a member of staff may do with an instrument."""

    class Role(models.TextChoices):
        OWNER = "owner", "Owner"
        EDITOR = "editor", "Editor"
        VIEWER = "viewer", "Viewer"

    instrument = models.ForeignKey(Instrument, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    role = models.CharField(max_length=10, choices=Role.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "instrument"], name="one_role_per_person_and_instrument"
            ),
            models.CheckConstraint(
                condition=Q(role__in=["owner", "editor", "viewer"]),
                name="instrument_member_has_a_known_role",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.role}"


class ChangedVersion(Exception):
    """An attempt to change a version, of which studies rely on every word."""


class InstrumentVersionQuerySet(models.QuerySet["InstrumentVersion"]):
    def update(self, **values: Any) -> int:
        raise ChangedVersion("A version of an instrument never changes: save another one.")


class InstrumentVersion(models.Model):
    """What an instrument was at one time, without fault; it never changes."""

    # random, so that what is remembered of one never stands for another
    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    instrument = models.ForeignKey(Instrument, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=LONGEST_TITLE)
    content = models.JSONField()
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    objects = InstrumentVersionQuerySet.as_manager()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["instrument", "number"], name="version_number_once_per_instrument"
            ),
            models.UniqueConstraint(
                fields=["instrument", "sha256"], name="same_content_once_per_instrument"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.title}, version {self.number}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Store a new version; ChangedVersion for one that is stored already."""
        if not self._state.adding:
            raise ChangedVersion("A version of an instrument never changes: save another one.")
        super().save(*args, **kwargs)
