"""What belongs to accounts: failed sign-ins, choices of e-mail, what new studies start with."""

from typing import Any

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


class Profile(models.Model):
    """What a researcher fills in once: every new study starts with it."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="profile"
    )
    organisation = models.CharField(max_length=120, blank=True)
    # whom participants write to; empty: the address of the account
    contact_email = models.EmailField(blank=True)
    # who answers for the data, and where complaints go; empty: the two above
    responsible = models.CharField(max_length=200, blank=True)
    complaints = models.CharField(max_length=200, blank=True)
    currency = models.CharField(max_length=3, default="GBP")
    # of the moments and dates on this person's pages; all moments are stored in UTC
    time_zone = models.CharField(max_length=40, default="UTC")

    def __str__(self) -> str:
        return f"profile of {self.user}"


def find_profile(user: Any) -> Profile:
    """Return what this person filled in, or what stands there before they did."""
    profile: Profile = getattr(user, "profile", None) or Profile()
    return profile


def describe_contact(user: Any) -> dict[str, str]:
    """Return what a study of this person starts with, by the study's own names."""
    profile = find_profile(user)
    return {
        "organisation": profile.organisation,
        "contact_email": profile.contact_email or getattr(user, "email", ""),
        "responsible": profile.responsible,
        "complaints": profile.complaints,
        "currency": profile.currency,
    }


def fill_in_profile(user: Any, values: dict[str, str]) -> None:
    """Store these values where the account has none: whatever is entered once is known."""
    profile, _ = Profile.objects.get_or_create(user=user)
    missing = [name for name, value in values.items() if value and not getattr(profile, name)]
    for name in missing:
        setattr(profile, name, values[name])
    if missing:
        profile.save(update_fields=missing)
