"""Who may take part, beside what a person's answers say: quotas, and people of earlier studies."""

from django.db import models
from django.db.models import Q

from evalsite.lib.clock import now
from evalsite.studies.models import Study


class Quota(models.Model):
    """How many people with this answer to a question before the work may have a place."""

    study = models.ForeignKey(
        Study, on_delete=models.CASCADE, related_name="quotas", db_index=False
    )
    question = models.CharField(max_length=40)
    value = models.CharField(max_length=300)
    people = models.PositiveIntegerField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "question", "value"], name="one_quota_for_each_answer"
            )
        ]

    def __str__(self) -> str:
        return f"quota of {self.question}"


class ParticipantMark(models.Model):
    """A keyed hash of a person's platform id, by which later studies recognise them for a time.

    The id can't be read from it. Only those who agreed to a text that says so have one.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+", db_index=False)
    participant = models.ForeignKey("Participant", on_delete=models.CASCADE, related_name="marks")
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "digest", "participant"], name="one_mark_of_a_person_per_study"
            )
        ]

    def __str__(self) -> str:
        return f"mark of {self.participant_id}"


class EarlierStudyRule(models.Model):
    """That people of an earlier study are kept out of this one, or that it takes one of them."""

    class Rule(models.TextChoices):
        BAR = "bar", "Keep them out"
        REQUIRE = "require", "Require one of them"

    study = models.ForeignKey(
        Study, on_delete=models.CASCADE, related_name="earlier_rules", db_index=False
    )
    earlier = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    rule = models.CharField(max_length=10, choices=Rule.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "earlier"], name="one_rule_for_each_earlier_study"
            ),
            models.CheckConstraint(
                condition=~Q(study=models.F("earlier")), name="no_rule_for_the_study_itself"
            ),
        ]

    def __str__(self) -> str:
        return self.rule
