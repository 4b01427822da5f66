"""Decisions about analysis: recorded, reversible, deleting nothing and freeing nothing."""

from collections import Counter
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce

from evalsite.handout.models import Annotation
from evalsite.lib.clock import now
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.models import Item, Study

MOST_LETTERS = 200  # of a reason
LONGEST_RULE = 2000
LONGEST_NOTE = 2000
# of a planned test against a margin
RELATIONS = ("not_worse", "equivalent")
# the parts of an analysis plan, and where each keeps the moment of its last change
PLAN_MOMENTS = {
    "thresholds": "thresholds_changed_at",
    "exclusion_rule": "rule_changed_at",
    "primary": "primary_changed_at",
    "margins": "margins_changed_at",
}
# of planned tests against a margin
LEVELS = (0.05, 0.025, 0.01)
# of a planned test of a difference
DIFFERENCES = ("better", "differs")


class ExclusionQuerySet(models.QuerySet["Exclusion"]):
    def active(self) -> "ExclusionQuerySet":
        return self.filter(revoked_at__isnull=True)

    def count_reasons(self) -> list[tuple[str, int]]:
        """Return the reasons, each with the number of its exclusions."""
        return sorted(Counter(self.values_list("reason", flat=True)).items())

    def time_reasons(self) -> dict[str, dict[str, Any]]:
        """Return of each reason whom it leaves out, and when that was decided."""
        decided: dict[str, list[tuple[int, datetime]]] = {}
        person = Coalesce("participant", "annotation__participant")
        rows = self.annotate(person=person).order_by()
        for reason, who, at in rows.values_list("reason", "person", "decided_at"):
            decided.setdefault(reason, []).append((who, at))
        return {
            reason: {
                "people": len({who for who, _ in decisions}),
                "first": min(at for _, at in decisions).isoformat(),
                "last": max(at for _, at in decisions).isoformat(),
            }
            for reason, decisions in sorted(decided.items())
        }


class Exclusion(models.Model):
    """A participant, or one annotation, is left out of analysis."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="exclusions")
    participant = models.ForeignKey(Participant, null=True, on_delete=models.CASCADE)
    annotation = models.ForeignKey(Annotation, null=True, on_delete=models.CASCADE)
    reason = models.CharField(max_length=MOST_LETTERS)
    rule = models.CharField(max_length=60, blank=True)
    # the rule of the analysis plan that was applied; none: a decision about this one
    planned_rule = models.ForeignKey(
        "ExclusionRule", null=True, on_delete=models.SET_NULL, related_name="exclusions"
    )
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

    class Stopping(models.TextChoices):
        ANSWERS = "answers", "All planned answers are in"
        CLOSING = "closing", "The closing date is reached"

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="analysis_plan")
    # the criterion whose corrected p values are the result; blank: none
    primary = models.CharField(max_length=100, blank=True)
    # planned tests against a margin: rows of criterion, system, relation, other and margin; level
    # where it isn't .05, and the column that slices the inputs, where one does; judge, with
    # prompt_version if it has one, where a model's labels correct the difference
    margins = models.JSONField(default=list, blank=True)
    # planned tests of a difference: rows of criterion, system, relation and other; judge as above
    hypotheses = models.JSONField(default=list, blank=True)
    # each pair of systems is tested with an error of its own
    has_own_errors = models.BooleanField(default=False)
    # for precision and power only: nothing is tested against it
    smallest = models.FloatField(null=True, blank=True)
    stopping = models.CharField(max_length=10, choices=Stopping.choices, default=Stopping.ANSWERS)
    # only those that differ from what the software starts with, by the name of the flag
    thresholds = models.JSONField(default=dict, blank=True)
    # whose answers will be left out, in the researchers' words
    exclusion_rule = models.TextField(max_length=LONGEST_RULE, blank=True)
    repeats = models.ForeignKey(
        Study, null=True, blank=True, on_delete=models.SET_NULL, related_name="repetitions"
    )
    thresholds_changed_at = models.DateTimeField(null=True)
    rule_changed_at = models.DateTimeField(null=True)
    primary_changed_at = models.DateTimeField(null=True)
    margins_changed_at = models.DateTimeField(null=True)
    changed_at = models.DateTimeField(default=now)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    def __str__(self) -> str:
        return f"analysis plan of {self.study_id}"

    @property
    def moments(self) -> dict[str, datetime]:
        """Return when each part was last changed, of those that ever were."""
        moments = {name: getattr(self, field) for name, field in PLAN_MOMENTS.items()}
        return {name: moment for name, moment in moments.items() if moment is not None}


class AnalysisPlanVersion(models.Model):
    """The analysis plan as it was frozen: version 1 at launch, even if there was none.

    Every later version is a deviation.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="plan_versions")
    number = models.PositiveIntegerField()
    content = models.JSONField(default=dict)
    sha256 = models.CharField(max_length=64)
    # of the content with all else that is fixed before answers (plan_commitment.py); blank while
    # the launch is under way
    commitment = models.CharField(max_length=64, blank=True)
    # False: nothing was planned
    has_plan = models.BooleanField()
    reason = models.CharField(max_length=MOST_LETTERS, blank=True)
    # that were in at that time
    answers = models.PositiveIntegerField(default=0)
    frozen_at = models.DateTimeField(default=now)
    frozen_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "number"], name="one_plan_version_of_each_number"
            ),
            models.CheckConstraint(
                condition=Q(number=1) | (Q(number__gt=1) & ~Q(reason="")),
                name="a_changed_plan_has_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"analysis plan of {self.study_id}, version {self.number}"


class ExclusionRuleQuerySet(models.QuerySet["ExclusionRule"]):
    def current(self) -> "ExclusionRuleQuerySet":
        return self.filter(removed_at__isnull=True)


class ExclusionRule(models.Model):
    """A person is excluded if all conditions of any one rule hold."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="exclusion_rules")
    position = models.PositiveSmallIntegerField()
    # rows of measure, comparison and threshold
    conditions = models.JSONField()
    # kept once the plan was frozen: exclusions name it
    removed_at = models.DateTimeField(null=True)

    objects = ExclusionRuleQuerySet.as_manager()

    class Meta:
        ordering = ["position", "id"]
        constraints = [
            models.CheckConstraint(
                condition=~Q(conditions=[]), name="a_rule_of_exclusions_has_a_condition"
            ),
        ]

    def __str__(self) -> str:
        return f"rule {self.position} of {self.study_id}"


class PlanEvent(models.Model):
    """What was done about a frozen plan, and how many answers were in at that time."""

    class Kind(models.TextChoices):
        REVEALED = "revealed", "results revealed"
        APPLIED = "applied", "rules applied"
        DECLINED = "declined", "rules declined"
        TOPPED_UP = "topped_up", "more answers asked for"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="plan_events")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    at = models.DateTimeField(default=now)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    answers = models.PositiveIntegerField()
    # of a reveal: how many were planned; of rules: people excluded; of a top-up: answers
    number = models.PositiveIntegerField(default=0)
    reason = models.CharField(max_length=MOST_LETTERS, blank=True)

    class Meta:
        ordering = ["at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["study"], condition=Q(kind="revealed"), name="results_are_revealed_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, study {self.study_id}"


class Note(models.Model):
    """What somebody of the team noted about a person or an item; in no file that leaves."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="notes")
    participant = models.ForeignKey(Participant, null=True, on_delete=models.CASCADE)
    item = models.ForeignKey(Item, null=True, on_delete=models.CASCADE)
    text = models.TextField(max_length=LONGEST_NOTE)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    written_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["written_at", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(participant__isnull=False, item__isnull=True)
                | Q(participant__isnull=True, item__isnull=False),
                name="a_note_is_about_one_thing",
            ),
        ]

    def __str__(self) -> str:
        return f"note {self.pk}"


class Approval(models.Model):
    """What was decided about the pay of one set. Without a row, it is waiting."""

    class State(models.TextChoices):
        WAITING = "waiting"
        APPROVED = "approved"
        REJECTED = "rejected"
        REVIEW = "review", "review asked for"
        PAID = "paid", "marked as paid"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="approvals")
    item_set = models.OneToOneField(ItemSet, on_delete=models.CASCADE, related_name="approval")
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    # what was due for the set when that was decided
    amount = models.DecimalField(max_digits=8, decimal_places=2, default=0)
    # of a rejection: a reason of the platform, what the person reads, and the checks that failed
    reason = models.CharField(max_length=20, blank=True)
    message = models.TextField(blank=True)
    checks = models.JSONField(default=dict, blank=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    decided_at = models.DateTimeField(null=True)
    review_text = models.TextField(blank=True)
    review_asked_at = models.DateTimeField(null=True)
    review_due_at = models.DateTimeField(null=True)
    answer = models.TextField(blank=True)
    answered_at = models.DateTimeField(null=True)
    marked_at = models.DateTimeField(null=True)
    bonus = models.DecimalField(max_digits=8, decimal_places=2, null=True)
    bonus_marked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=~Q(state__in=["rejected", "review"])
                | (~Q(reason="") & ~Q(message="") & Q(amount=0)),
                name="a_rejection_has_a_reason_and_a_message",
            ),
            models.CheckConstraint(
                condition=~Q(state="review")
                | Q(review_asked_at__isnull=False, review_due_at__isnull=False),
                name="a_review_has_a_due_date",
            ),
            models.CheckConstraint(
                condition=Q(state="paid", marked_at__isnull=False)
                | (~Q(state="paid") & Q(marked_at__isnull=True)),
                name="what_is_paid_says_since_when",
            ),
            models.CheckConstraint(
                condition=Q(bonus__isnull=True, bonus_marked_at__isnull=True) | Q(bonus__gt=0),
                name="only_a_bonus_of_a_set_is_marked_as_paid",
            ),
        ]
        indexes = [models.Index(fields=["study", "state"], name="approval_by_state")]

    def __str__(self) -> str:
        return f"approval of set {self.item_set_id}"


class PeopleFigures(models.Model):
    """What each person of a study did, in figures, as they were a short while ago.

    Measured from all answers by the job worker, since pages must not read them all.
    """

    study = models.OneToOneField(
        Study, primary_key=True, on_delete=models.CASCADE, related_name="people_figures"
    )
    measured_at = models.DateTimeField()
    seconds = models.FloatField()  # that measuring took
    people = models.JSONField()  # `Measures` as plain data, by participant

    def __str__(self) -> str:
        return f"figures of people of {self.study_id}"
