"""What participants agreed to or declined, and to which text."""

from django.db import models

from evalsite.lib.clock import now
from evalsite.studies.models import Study, StudyVersion


class Consent(models.Model):
    """What a participant answered to a consent text, and to which text."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    participant = models.ForeignKey(
        "Participant", on_delete=models.CASCADE, related_name="consents"
    )
    version = models.ForeignKey(StudyVersion, null=True, on_delete=models.PROTECT)
    text_sha256 = models.CharField(max_length=64)
    is_given = models.BooleanField()
    answered_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["participant", "text_sha256", "study"],
                name="one_answer_to_each_consent_text",
            )
        ]

    def __str__(self) -> str:
        return "agreed" if self.is_given else "declined"
