"""E-mails: an address that refuses them delays nobody else's, and whoever sent them sees it."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.test import Client
from django.urls import reverse

from evalsite.core.jobs.models import OutgoingMail, ScheduledTask
from evalsite.core.jobs.outbox import delete_old_mail, post_mail
from evalsite.core.jobs.schedule import run_schedule
from evalsite.fieldwork.invitation_mail import send_expert_mail
from evalsite.people.models import ExpertMail
from tests.support.experts import invite
from tests.support.factories import make_user
from tests.support.smtp import mail_server
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
# of an expert whom the tests call Gone
GONE = "gone@example.org"


@pytest.fixture
def clock():
    with time_machine.travel(NOON, tick=False) as traveller:
        yield traveller


@pytest.fixture
def server(settings):
    """A real server on this machine, which refuses one address."""
    with mail_server(GONE) as running:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = running.server_address
        settings.EMAIL_USE_TLS = False
        settings.DEFAULT_FROM_EMAIL = "eval@example.org"
        yield running


def test_refused_address_delays_no_other_and_is_no_failure_of_the_task(server, clock):
    post_mail(to=GONE, subject="First", body="x")
    failures = 0
    for minute in range(60):
        post_mail(to=f"p{minute}@example.org", subject="Next", body="x")
        run_schedule()
        failures += ScheduledTask.objects.get(name="send_waiting_mail").failures
        clock.shift(timedelta(minutes=1))

    waited = [
        (mail.sent_at - mail.created_at).total_seconds()
        for mail in OutgoingMail.objects.exclude(recipient=GONE)
    ]
    assert (len(server.delivered), max(waited), failures) == (60, 0, 0)
    refused = OutgoingMail.objects.get(recipient=GONE)
    assert (refused.tries, refused.sent_at, refused.body) == (1, None, "")
    assert refused.problem == "SMTPRecipientsRefused 550"


def test_server_that_cant_be_reached_slows_the_task_and_is_no_fault_of_a_mail(
    server, clock, settings
):
    port, settings.EMAIL_PORT = settings.EMAIL_PORT, 1
    post_mail(to="jane@example.org", subject="A link", body="x")
    for _ in range(10):
        run_schedule()
        clock.shift(timedelta(minutes=1))
    task = ScheduledTask.objects.get(name="send_waiting_mail")
    settings.EMAIL_PORT = port
    clock.shift(timedelta(hours=1))
    run_schedule()

    assert task.failures == 4  # after 0, 1, 3 and 7 minutes
    assert server.delivered == ["jane@example.org"]
    assert OutgoingMail.objects.get().tries == 1


def test_whoever_invited_a_refused_address_reads_so(server):
    admin = Client()
    admin.force_login(make_user("root", is_superuser=True))
    page = reverse("admin:site-invitations")
    for address in (GONE, "jane@example.org"):
        key = admin.get(page).context["form"]["key"].value()
        admin.post(page, {"key": key, "label": address})
    run_schedule()

    rows = {row.label: refused for row, _, refused in admin.get(page).context["invitations"]}

    assert rows == {GONE: True, "jane@example.org": False}
    assert admin.get(page).text.count("refused this address") == 1
    assert GONE in admin.get(reverse("admin:schedule")).text


def test_refused_expert_is_written_to_once_and_others_get_theirs(server, clock):
    study = make_live(items=4, set_size=2, is_practice_on=False)
    invite(study, "Gone Costa", "Ben Diaz")

    for _ in range(3):
        send_expert_mail()
        clock.shift(timedelta(hours=1))

    refused = ExpertMail.objects.get(sent_at=None)
    assert (refused.tries, refused.problem) == (1, "SMTPRecipientsRefused 550")
    assert server.delivered == ["ben@example.org"]


def test_mail_that_was_sent_refused_or_is_of_no_use_is_deleted_by_age(server, clock):
    post_mail(to=GONE, subject="Refused", body="x")
    post_mail(to="jane@example.org", subject="Sent", body="x")
    run_schedule()
    clock.shift(timedelta(days=29))
    delete_old_mail()
    kept = OutgoingMail.objects.count()
    OutgoingMail.objects.create(
        recipient="late@example.org", subject="Late", useful_until=NOON + timedelta(days=30)
    )
    clock.shift(timedelta(days=2))

    delete_old_mail()

    assert (kept, OutgoingMail.objects.count()) == (2, 0)
