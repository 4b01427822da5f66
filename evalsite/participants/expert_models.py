"""Experts: named people who were given certain items, and the e-mails to them."""

from django.db import models
from django.db.models import Q

from evalsite.lib.clock import now
from evalsite.studies.models import Study


class Expert(models.Model):
    """Who an expert is: an identity. Answers know only the participant."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="experts")
    link = models.OneToOneField("PersonalLink", on_delete=models.CASCADE, related_name="expert")
    name = models.CharField(max_length=120)
    email = models.EmailField(blank=True)
    # since when a number is in place of the name because its time was over
    name_deleted_at = models.DateTimeField(null=True)
    due_on = models.DateField(null=True, blank=True)
    is_reminded = models.BooleanField(default=False)
    # the address of this site as the researcher saw it, for links in e-mails
    site_address = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "name", "email"], name="expert_invited_once_per_study"
            )
        ]

    def __str__(self) -> str:
        # never the name: this text reaches logs and histories
        return f"expert {self.pk}"

    def describe(self, *, with_address: bool) -> str:
        """Return the name, which is the address of people who were invited by that alone."""
        if self.name != self.email or with_address:
            return self.name
        return "Invited by e-mail"


class ExpertMail(models.Model):
    """An e-mail to an expert: the invitation (0), or one of two reminders."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+", db_index=False)
    expert = models.ForeignKey(Expert, on_delete=models.CASCADE, related_name="mails")
    number = models.PositiveSmallIntegerField()
    created_at = models.DateTimeField(default=now)
    # when it is tried next, while it isn't sent
    next_try_at = models.DateTimeField(default=now)
    tries = models.PositiveSmallIntegerField(default=0)
    problem = models.CharField(max_length=200, blank=True)
    sent_at = models.DateTimeField(null=True)
    # when the server refused the address for good; it isn't tried again
    refused_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["expert", "number"], name="each_mail_once_per_expert"),
            models.CheckConstraint(
                condition=Q(number__lte=2), name="an_expert_is_reminded_twice_at_most"
            ),
            models.CheckConstraint(
                condition=Q(sent_at__isnull=True) | Q(refused_at__isnull=True),
                name="expert_mail_is_never_both_sent_and_refused",
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_try_at"], condition=Q(sent_at__isnull=True), name="mail_waiting"
            ),
            models.Index(fields=["study"], name="expert_mail_by_study"),
        ]

    def __str__(self) -> str:
        return f"e-mail {self.number} to expert {self.expert_id}"
