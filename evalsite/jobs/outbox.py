"""E-mails to researchers: stored first, sent by a worker, tried again while the server is down."""

import logging
from datetime import datetime, timedelta
from smtplib import SMTPException

from django.core.mail import EmailMessage
from django.db.models import Q

from evalsite.jobs.models import OutgoingMail
from evalsite.jobs.schedule import scheduled
from evalsite.lib.clock import now
from evalsite.lib.mail import is_mail_on

logger = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(minutes=1), timedelta(hours=6)
# without a term of its own
_GIVEN_UP_AFTER = timedelta(days=7)
_KEPT_FOR = timedelta(days=30)
_AT_ONCE = 50


class MailServerDown(Exception):
    """E-mails wait because the server doesn't take them."""


def post_mail(
    *, to: str, subject: str, body: str, useful_until: datetime | None = None
) -> OutgoingMail:
    """Store an e-mail; a worker sends it within a minute."""
    return OutgoingMail.objects.create(
        recipient=to,
        subject=" ".join(subject.split())[:200],
        body=body.strip() + "\n",
        useful_until=useful_until or now() + _GIVEN_UP_AFTER,
    )


@scheduled("Send e-mails", is_on=is_mail_on)
def send_waiting_mail() -> str:
    """Send what waits; raise MailServerDown if some of it still does."""
    moment = now()
    OutgoingMail.objects.filter(
        Q(sent_at__lt=moment - _KEPT_FOR) | Q(sent_at=None, useful_until__lt=moment)
    ).delete()
    waiting = OutgoingMail.objects.filter(sent_at__isnull=True, next_try_at__lte=moment)
    sent = sum(_try_to_send(mail) for mail in waiting[:_AT_ONCE])
    left = OutgoingMail.objects.filter(sent_at__isnull=True, tries__gt=0)
    if left.exists():
        problem = left.exclude(problem="").values_list("problem", flat=True).first()
        raise MailServerDown(f"{left.count()} e-mails wait. The server said: {problem}")
    return f"{sent} sent" if sent else ""


def _try_to_send(mail: OutgoingMail) -> bool:
    """Send one e-mail, unless another worker does; keep the reason if that fails."""
    pause = min(_FIRST_PAUSE * 2 ** min(mail.tries, 10), _LONGEST_PAUSE)
    mine = OutgoingMail.objects.filter(pk=mail.pk, sent_at__isnull=True, tries=mail.tries)
    if not mine.update(tries=mail.tries + 1, next_try_at=now() + pause):
        return False
    try:
        EmailMessage(subject=mail.subject, body=mail.body, to=[mail.recipient]).send()
    except (SMTPException, OSError) as error:
        logger.warning("E-mail %s wasn't sent: %s", mail.pk, type(error).__name__)
        code = getattr(error, "smtp_code", "")
        problem = f"{type(error).__name__} {code}".strip()[:200]
        OutgoingMail.objects.filter(pk=mail.pk).update(problem=problem)
        return False
    OutgoingMail.objects.filter(pk=mail.pk).update(sent_at=now(), body="", problem="")
    return True
