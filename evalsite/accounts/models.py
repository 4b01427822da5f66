"""What belongs to accounts: the cache that counts failed sign-ins, and choices of e-mail."""

from django.conf import settings
from django.db import models


class CacheEntry(models.Model):
    """One row of Django's database cache: all web processes count failed sign-ins together."""

    cache_key = models.CharField(max_length=255, primary_key=True)
    value = models.TextField()
    expires = models.DateTimeField(db_index=True)

    class Meta:
        db_table = "evalsite_cache"

    def __str__(self) -> str:
        return self.cache_key


class MailChoice(models.Model):
    """Whether a researcher wants to be written to, and what the last message said."""

    class When(models.TextChoices):
        NEEDED = "need", "When a study needs me"
        DAILY = "daily", "Every day while a study is running"
        NEVER = "never", "Never"

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="mail_choice"
    )
    when = models.CharField(max_length=5, choices=When.choices, default=When.NEEDED)
    noticed_at = models.DateTimeField(null=True)
    # of what the last message said, so that nobody reads the same every day
    digest = models.CharField(max_length=64, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(when__in=["need", "daily", "never"]), name="mail_choice_is_known"
            )
        ]

    def __str__(self) -> str:
        return self.when
