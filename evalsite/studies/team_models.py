"""Who may do what in a study: roles, members and invitations. Import them from `models`."""

from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.crypto import salted_hmac

from evalsite.lib.clock import now


class TeamRole(models.TextChoices):
    """The roles as people choose them, the least first. Each may do what those before it may."""

    VIEWER = "viewer", "Viewer"
    EDITOR = "editor", "Editor"
    EDITOR_WITH_IDENTITIES = "editor-with-identities", "Editor with identities"
    OWNER = "owner", "Owner"

    @property
    def rank(self) -> int:
        return list(TeamRole).index(self)

    @property
    def columns(self) -> dict[str, Any]:
        """The two columns in which a membership or an invitation stores this role."""
        has_identities = self == TeamRole.EDITOR_WITH_IDENTITIES
        return {
            "role": Membership.Role.EDITOR if has_identities else Membership.Role(self.value),
            "has_identities": has_identities,
        }


class Membership(models.Model):
    """What a member of staff may do in a study."""

    class Role(models.TextChoices):
        OWNER = "owner"
        EDITOR = "editor"
        VIEWER = "viewer"

    study = models.ForeignKey("studies.Study", on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    role = models.CharField(max_length=10, choices=Role.choices)
    # identities, entry answers and receipts: editors see them only if an owner allows it
    has_identities = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "study"], name="one_role_per_person_and_study"),
            models.CheckConstraint(
                condition=Q(has_identities=False) | Q(role="editor"),
                name="only_editors_are_given_identities",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.role}"

    @property
    def team_role(self) -> TeamRole:
        return TeamRole.EDITOR_WITH_IDENTITIES if self.has_identities else TeamRole(self.role)


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def unanswered(self) -> "InvitationQuerySet":
        """Those neither accepted nor withdrawn; they may have expired."""
        return self.filter(accepted_at__isnull=True, revoked_at__isnull=True)

    def by_token(self, token: str) -> "InvitationQuerySet":
        return self.filter(token_hash=Invitation.hash_token(token))


class Invitation(models.Model):
    """A one-time link by which a colleague joins a study, or the site.

    The token is derived from the row and its generation, so an owner can copy the link again, and
    a new generation ends the old link. Only the token's hash is stored.
    """

    class State(models.TextChoices):
        OPEN = "open"
        ACCEPTED = "accepted"
        EXPIRED = "expired"
        REVOKED = "revoked"

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    # none: an invitation to the site itself, which has no role
    study = models.ForeignKey(
        "studies.Study", null=True, on_delete=models.CASCADE, related_name="invitations"
    )
    role = models.CharField(max_length=10, choices=Membership.Role.choices, blank=True)
    has_identities = models.BooleanField(default=False)
    # whom it is for: a name or an address, for the team's own use
    label = models.CharField(max_length=120, blank=True)
    generation = models.PositiveIntegerField(default=1)
    token_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=now)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    revoked_at = models.DateTimeField(null=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["token_hash"], name="token_opens_one_invitation"),
            models.CheckConstraint(
                condition=Q(study__isnull=False, role__in=["owner", "editor", "viewer"])
                | Q(study__isnull=True, role=""),
                name="invitation_to_a_study_is_to_a_known_role",
            ),
            models.CheckConstraint(
                condition=Q(has_identities=False) | Q(role="editor"),
                name="only_editors_are_invited_to_identities",
            ),
            models.CheckConstraint(
                condition=Q(accepted_at__isnull=True) | Q(revoked_at__isnull=True),
                name="accepted_invitation_is_not_revoked",
            ),
            models.CheckConstraint(
                condition=Q(accepted_by__isnull=True) | Q(accepted_at__isnull=False),
                name="accepted_invitation_has_a_time",
            ),
        ]

    def __str__(self) -> str:
        # never the label: this text reaches logs and histories
        return f"invitation as {self.role or 'researcher'}"

    @staticmethod
    def hash_token(token: str) -> str:
        return sha256(token.encode("utf-8", "surrogateescape")).hexdigest()

    def derive_token(self) -> str:
        """Return the token of this generation, 192 bits, as the site's secret key gives it."""
        named = f"{self.pk}:{self.generation}"
        signed = salted_hmac("evalsite.studies.Invitation", named, algorithm="sha256").digest()
        return urlsafe_b64encode(signed[:24]).decode()

    @property
    def token(self) -> str:
        """The token; empty if the secret key has changed since, as it can't be derived again."""
        token = self.derive_token()
        return token if self.hash_token(token) == self.token_hash else ""

    @property
    def team_role(self) -> TeamRole:
        return TeamRole.EDITOR_WITH_IDENTITIES if self.has_identities else TeamRole(self.role)

    @property
    def state(self) -> State:
        if self.accepted_at is not None:
            return self.State.ACCEPTED
        if self.revoked_at is not None:
            return self.State.REVOKED
        return self.State.EXPIRED if now() >= self.expires_at else self.State.OPEN
