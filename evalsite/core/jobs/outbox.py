"""Sending stored e-mails, tried again while the server is down; and those to researchers."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.core.mail import EmailMessage, get_connection
from django.db.models import Q, QuerySet

from evalsite.core.jobs.models import OutgoingMail
from evalsite.core.jobs.schedule import HOURLY, scheduled
from evalsite.core.mail import MailDelayed, MailRefused, MailServerDown, is_mail_on, send_message
from evalsite.lib.clock import now

logger = logging.getLogger(__name__)

# without a term of its own
_GIVEN_UP_AFTER = timedelta(days=7)
_KEPT_FOR = timedelta(days=30)
_AT_ONCE = 50


@dataclass(frozen=True, kw_only=True)
class Sender:
    """How the e-mails of one model are sent: how each is written, and the pauses between tries.

    The model has the columns next_try_at, tries, problem, sent_at and refused_at.
    """

    # None: nobody needs it any more, and it is deleted
    write: Callable[[Any], EmailMessage | None]
    first_pause: timedelta
    longest_pause: timedelta
    # what a row forgets once it was sent or refused
    emptied: dict[str, str] = field(default_factory=dict)

    def send_due(self, waiting: QuerySet[Any]) -> Counter[str]:
        """Send what is due; return what became of it. Raise MailServerDown without a connection."""
        moment = now()
        # a try that is further away was set by a clock that was ahead
        is_due = Q(next_try_at__lte=moment) | Q(next_try_at__gt=moment + self.longest_pause)
        due = waiting.filter(is_due, sent_at__isnull=True, refused_at__isnull=True)[:_AT_ONCE]
        connection = get_connection()
        try:
            return Counter(self._try_to_send(mail, connection) for mail in due)
        finally:
            connection.close()

    def _try_to_send(self, mail: Any, connection: Any) -> str:
        """Send one e-mail, unless another worker does; return what became of it."""
        pause = min(self.first_pause * 2 ** min(mail.tries, 10), self.longest_pause)
        mine = type(mail).objects.filter(pk=mail.pk)
        untried = mine.filter(sent_at__isnull=True, refused_at__isnull=True, tries=mail.tries)
        if not untried.update(tries=mail.tries + 1, next_try_at=now() + pause):
            return ""
        message = self.write(mail)
        if message is None:
            mine.delete()
            return ""
        try:
            send_message(connection, message)
        except MailServerDown as error:
            # not this e-mail's fault: it goes out as soon as there is a connection
            mine.update(tries=mail.tries, next_try_at=now(), problem=str(error))
            raise
        except MailDelayed as error:
            # never the address: a log isn't the place for it
            logger.warning("Couldn't send %s: %s", mail, error)
            mine.update(problem=str(error))
            return "put off"
        except MailRefused as error:
            logger.warning("The server refused %s: %s", mail, error)
            mine.update(refused_at=now(), problem=str(error), **self.emptied)
            return "refused"
        mine.update(sent_at=now(), problem="", **self.emptied)
        return "sent"


# --- e-mails to researchers -----------------------------------------------------------------------


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


def find_refused(addresses: Iterable[str]) -> dict[str, datetime]:
    """Return which of these addresses the mail server refused for good, and when it last did."""
    refused = OutgoingMail.objects.filter(recipient__in=addresses, refused_at__isnull=False)
    rows = refused.order_by("refused_at").values_list("recipient", "refused_at")
    return {recipient: moment for recipient, moment in rows if moment is not None}


def list_refused() -> QuerySet[OutgoingMail]:
    """Return the e-mails that the mail server refused for good, the newest first."""
    return OutgoingMail.objects.filter(refused_at__isnull=False).order_by("-refused_at")


_SENDER = Sender(
    write=lambda mail: EmailMessage(subject=mail.subject, body=mail.body, to=[mail.recipient]),
    first_pause=timedelta(minutes=1),
    longest_pause=timedelta(hours=6),
    emptied={"body": ""},
)


@scheduled("Send e-mails", is_on=is_mail_on)
def send_waiting_mail() -> str:
    """Send what waits. Only a server that can't be reached is a failure, not an address."""
    waiting = OutgoingMail.objects.filter(
        Q(useful_until__isnull=True) | Q(useful_until__gte=now()),
        sent_at__isnull=True,
        refused_at__isnull=True,
    )
    try:
        outcomes = _SENDER.send_due(waiting)
    except MailServerDown as error:
        message = f"{waiting.count()} e-mails wait. No connection to the mail server: {error}"
        raise MailServerDown(message) from error
    return ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in sorted(filter(None, outcomes)))


@scheduled("Delete old e-mails", every=HOURLY, is_deleting=True)
def delete_old_mail() -> str:
    """Delete what was sent or refused long ago, and what is of no use any more."""
    moment = now()
    deleted, _ = OutgoingMail.objects.filter(
        Q(sent_at__lt=moment - _KEPT_FOR)
        | Q(refused_at__lt=moment - _KEPT_FOR)
        | Q(sent_at=None, refused_at=None, useful_until__lt=moment)
    ).delete()
    return f"{deleted} deleted" if deleted else ""
