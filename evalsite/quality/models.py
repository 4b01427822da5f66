"""Decisions about analysis: recorded, reversible, deleting nothing and freeing nothing."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from evalsite.annotation.models import Annotation
from evalsite.participants.models import Participant
from evalsite.studies.models import Study


class ExclusionQuerySet(models.QuerySet["Exclusion"]):
    def standing(self) -> "ExclusionQuerySet":
        return self.filter(revoked_at__isnull=True)


class Exclusion(models.Model):
    """A participant, or one annotation, is left out of analysis."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="exclusions")
    participant = models.ForeignKey(Participant, null=True, on_delete=models.CASCADE)
    annotation = models.ForeignKey(Annotation, null=True, on_delete=models.CASCADE)
    reason = models.CharField(max_length=200)
    rule = models.CharField(max_length=60, blank=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    decided_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True)

    objects = ExclusionQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(participant__isnull=False, annotation__isnull=True)
                | Q(participant__isnull=True, annotation__isnull=False),
                name="an_exclusion_names_one_thing",
            ),
            models.UniqueConstraint(
                fields=["participant", "study"],
                condition=Q(revoked_at__isnull=True, participant__isnull=False),
                name="one_standing_exclusion_per_participant",
            ),
            models.UniqueConstraint(
                fields=["annotation", "study"],
                condition=Q(revoked_at__isnull=True, annotation__isnull=False),
                name="one_standing_exclusion_per_annotation",
            ),
        ]

    def __str__(self) -> str:
        return self.reason
