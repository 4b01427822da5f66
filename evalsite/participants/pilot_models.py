"""Colleagues who try a draft, and their comments: never part of the data."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from evalsite.lib.clock import now
from evalsite.studies.models import Item, Study


class Tester(models.Model):
    """The name that a colleague gave on the pilot link."""

    participant = models.OneToOneField(
        "Participant", on_delete=models.CASCADE, related_name="tester"
    )
    name = models.CharField(max_length=60)

    def __str__(self) -> str:
        # never the name: this text reaches logs and histories
        return f"tester {self.pk}"


class PilotComment(models.Model):
    """What a colleague says of a question, a text or an item."""

    class Kind(models.TextChoices):
        QUESTION = "question"
        TEXT = "text"
        ITEM = "item"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="pilot_comments")
    participant = models.ForeignKey(
        "Participant", on_delete=models.CASCADE, related_name="pilot_comments"
    )
    kind = models.CharField(max_length=10, choices=Kind.choices)
    # the criterion, or the name of the text
    subject = models.CharField(max_length=60, blank=True)
    item = models.ForeignKey(Item, null=True, on_delete=models.CASCADE, related_name="+")
    text = models.TextField()
    created_at = models.DateTimeField(default=now)
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind="item", item__isnull=False)
                | (~Q(kind="item") & Q(item__isnull=True)),
                name="pilot_comment_on_an_item_names_it",
            ),
        ]

    def __str__(self) -> str:
        return f"comment {self.pk}"
