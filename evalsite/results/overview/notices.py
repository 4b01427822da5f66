"""A message a day at most to each researcher whose studies need them."""

from collections import defaultdict
from datetime import timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import urljoin
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count
from django.template.loader import render_to_string
from django.urls import reverse

from evalsite.core.accounts.models import MailChoice
from evalsite.core.jobs.outbox import post_mail
from evalsite.core.jobs.schedule import HOURLY, scheduled
from evalsite.core.mail import is_mail_on
from evalsite.decisions.models import Approval
from evalsite.lib.clock import now
from evalsite.results.overview.studies import StudyRow, describe_running
from evalsite.studies.models import Membership

# an hour less than a day, as the schedule looks once an hour
_APART = timedelta(hours=23)
# the same things are said again
_AGAIN_AFTER = timedelta(days=7)


@scheduled("Write to researchers whose studies need them", every=HOURLY, is_on=is_mail_on)
def send_notices() -> str:
    """Post today's messages; nobody gets two in a day, or the same for a week."""
    moment = now()
    teams: dict[Any, dict[UUID, bool]] = defaultdict(dict)
    for member in Membership.objects.exclude(role=Membership.Role.VIEWER):
        sees = member.role == Membership.Role.OWNER or member.has_identities
        teams[member.user_id][member.study_id] = sees
    rows = describe_running({study for studies in teams.values() for study in studies})
    asked = Approval.objects.filter(study__in=list(rows), state=Approval.State.REVIEW)
    reviews = dict(asked.order_by().values_list("study").annotate(count=Count("pk")))
    sent = 0
    for user in User.objects.filter(pk__in=teams, is_active=True, is_staff=True).exclude(email=""):
        choice, _ = MailChoice.objects.get_or_create(user=user)
        if choice.when == MailChoice.When.NEVER:
            continue
        if choice.noticed_at is not None and moment - choice.noticed_at < _APART:
            continue
        studies = [
            (rows[study], reviews.get(study, 0) if sees_identities else 0)
            for study, sees_identities in teams[user.pk].items()
            if study in rows
        ]
        sent += _notify(user, choice, studies)
    return f"{sent} messages" if sent else ""


@transaction.atomic
def _notify(user: User, choice: MailChoice, studies: list[tuple[StudyRow, int]]) -> bool:
    """Post the message of this person, if there is something new to say."""
    urgent = [(row, reviews) for row, reviews in studies if row.is_urgent or reviews]
    wants_all = choice.when == MailChoice.When.DAILY
    shown = studies if wants_all else urgent
    if not shown:
        return False
    text = "\n".join(
        sorted(f"{row.study.pk} {row.flag} {row.reported} {reviews}" for row, reviews in urgent)
    )
    digest = sha256(text.encode()).hexdigest()
    moment = now()
    is_old = choice.noticed_at is None or moment - choice.noticed_at >= _AGAIN_AFTER
    if choice.digest == digest and not (wants_all or is_old):
        return False
    # another worker may have posted it since
    mine = MailChoice.objects.filter(pk=choice.pk, noticed_at=choice.noticed_at)
    if not mine.update(noticed_at=moment, digest=digest):
        return False
    subject, _, body = render_to_string(
        "results/notice_mail.txt",
        {
            "name": user.get_full_name() or user.get_username(),
            "urgent": [(row, reviews, _link(row)) for row, reviews in urgent],
            "calm": [row for row, reviews in shown if not (row.is_urgent or reviews)],
            "account": urljoin(settings.SITE_ADDRESS, reverse("account")),
        },
    ).partition("\n")
    post_mail(to=user.email, subject=subject, body=body)
    return True


def _link(row: StudyRow) -> str:
    path = reverse("admin:study-overview", args=[row.study.pk])
    return urljoin(settings.SITE_ADDRESS, path)
