"""Decisions about analysis: recorded, reversible, deleting nothing and freeing nothing."""

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q

from evalsite.annotation.models import Annotation
from evalsite.lib.clock import now
from evalsite.participants.models import Participant
from evalsite.studies.models import Study

MOST_LETTERS = 200  # of a reason
LONGEST_RULE = 2000
# the parts of an analysis plan, and where each keeps the moment of its last change
PLAN_MOMENTS = {
    "baseline": "baseline_changed_at",
    "thresholds": "thresholds_changed_at",
    "exclusion_rule": "rule_changed_at",
}


class ExclusionQuerySet(models.QuerySet["Exclusion"]):
    def standing(self) -> "ExclusionQuerySet":
        return self.filter(revoked_at__isnull=True)


class Exclusion(models.Model):
    """A participant, or one annotation, is left out of analysis."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="exclusions")
    participant = models.ForeignKey(Participant, null=True, on_delete=models.CASCADE)
    annotation = models.ForeignKey(Annotation, null=True, on_delete=models.CASCADE)
    reason = models.CharField(max_length=MOST_LETTERS)
    rule = models.CharField(max_length=60, blank=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    decided_at = models.DateTimeField(auto_now_add=True)
    revoked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
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
            models.CheckConstraint(
                condition=Q(revoked_at__isnull=False) | Q(revoked_by__isnull=True),
                name="only_revoked_exclusions_say_who_revoked_them",
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


class AnalysisPlan(models.Model):
    """How a study's results are compared and its raters judged, written down by its researchers.

    Each part keeps the moment of its last change: before or after the first answer, reports say.
    """

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="analysis_plan")
    # all comparisons are with this system; blank: every pair of systems
    baseline = models.CharField(max_length=200, blank=True)
    # only those that differ from what the software starts with, by the name of the flag
    thresholds = models.JSONField(default=dict, blank=True)
    # whose answers will be left out, in the researchers' words
    exclusion_rule = models.TextField(max_length=LONGEST_RULE, blank=True)
    repeats = models.ForeignKey(
        Study, null=True, blank=True, on_delete=models.SET_NULL, related_name="repetitions"
    )
    baseline_changed_at = models.DateTimeField(null=True)
    thresholds_changed_at = models.DateTimeField(null=True)
    rule_changed_at = models.DateTimeField(null=True)
    changed_at = models.DateTimeField(default=now)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    def __str__(self) -> str:
        return f"analysis plan of {self.study_id}"

    @property
    def moments(self) -> dict[str, datetime]:
        """When each part was last changed, of those that ever were."""
        moments = {name: getattr(self, field) for name, field in PLAN_MOMENTS.items()}
        return {name: moment for name, moment in moments.items() if moment is not None}
