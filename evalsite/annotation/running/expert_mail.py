"""E-mails to experts: an invitation and two reminders at most, kept until they are sent."""

import logging
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urljoin

from django.core.mail import EmailMessage, get_connection
from django.db.models import Exists, OuterRef, Q
from django.template.loader import render_to_string
from django.urls import reverse

from evalsite.annotation.models import Slot
from evalsite.jobs.schedule import scheduled
from evalsite.lib.clock import now
from evalsite.lib.mail import MailDelayed, MailRefused, MailServerDown, is_mail_on, send_message
from evalsite.participants.models import Expert, ExpertMail, ParticipantLink
from evalsite.studies.models import Study
from evalsite.studies.versions import shown_content

logger = logging.getLogger(__name__)

INVITATION, NOT_OPENED, DUE_SOON = 0, 1, 2
# after the invitation, if the link hasn't been opened
_UNOPENED = timedelta(days=3)
# before the due date, if items are left
_BEFORE_DUE = timedelta(days=7)
# two e-mails are never closer than this
_APART = timedelta(days=2)
_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(minutes=10), timedelta(days=1)
_AT_ONCE = 50


@scheduled("Send e-mails to experts", is_on=is_mail_on)
def send_expert_mail() -> None:
    """Send what is due: invitations, and reminders to people with items left."""
    for expert in _list_reminded():
        _plan_reminder(expert)
    moment = now()
    # a try that is further away was set by a clock that was ahead
    is_due = Q(next_try_at__lte=moment) | Q(next_try_at__gt=moment + _LONGEST_PAUSE)
    waiting = ExpertMail.objects.filter(is_due, sent_at__isnull=True, refused_at__isnull=True)
    due = waiting.select_related("expert__link__participant", "expert__study__version")[:_AT_ONCE]
    connection = get_connection()
    try:
        for mail in due:
            _try_to_send(mail, connection)
    finally:
        connection.close()


def _list_reminded() -> list[Expert]:
    left = Slot.objects.assigned().filter(participant=OuterRef("link__participant"))
    experts = Expert.objects.filter(
        Exists(left), is_reminded=True, study__state=Study.State.LIVE, mails__sent_at__isnull=False
    )
    return list(experts.select_related("link").prefetch_related("mails").distinct())


def _plan_reminder(expert: Expert) -> None:
    mails = {mail.number: mail for mail in expert.mails.all()}
    sent = [mail.sent_at for mail in mails.values() if mail.sent_at is not None]
    if len(sent) < len(mails) or now() < max(sent) + _APART:
        return
    is_opened = ParticipantLink.objects.filter(token_hash=expert.link.token_hash).exists()
    if NOT_OPENED not in mails and not is_opened and now() >= min(sent) + _UNOPENED:
        number = NOT_OPENED
    elif DUE_SOON not in mails and _is_due_soon(expert, now()):
        number = DUE_SOON
    else:
        return
    # two workers may plan the same one
    ExpertMail.objects.get_or_create(
        expert=expert, number=number, defaults={"study_id": expert.study_id}
    )


def _is_due_soon(expert: Expert, moment: datetime) -> bool:
    if expert.due_on is None:
        return False
    return expert.due_on - _BEFORE_DUE <= moment.date() <= expert.due_on


def _try_to_send(mail: ExpertMail, connection: Any) -> None:
    """Send one e-mail, unless another worker does; keep the reason if that fails."""
    pause = min(_FIRST_PAUSE * 2 ** min(mail.tries, 10), _LONGEST_PAUSE)
    mine = ExpertMail.objects.filter(pk=mail.pk)
    untried = mine.filter(sent_at__isnull=True, refused_at__isnull=True, tries=mail.tries)
    if not untried.update(tries=mail.tries + 1, next_try_at=now() + pause):
        return
    if not _is_wanted(mail):
        mine.delete()
        return
    try:
        send_message(connection, _write(mail))
    except MailServerDown as error:
        # not this e-mail's fault: it goes out as soon as there is a connection
        mine.update(tries=mail.tries, next_try_at=now(), problem=str(error))
        raise
    except MailDelayed as error:
        # never the address: a log isn't the place for it
        logger.warning("E-mail %s to an expert wasn't sent: %s", mail.pk, error)
        mine.update(problem=str(error))
    except MailRefused as error:
        logger.warning("E-mail %s to an expert was refused: %s", mail.pk, error)
        mine.update(refused_at=now(), problem=str(error))
    else:
        mine.update(sent_at=now(), problem="")


def _is_wanted(mail: ExpertMail) -> bool:
    """Whether there is still something to do for this person, in a study that runs."""
    expert = mail.expert
    left = Slot.objects.assigned().filter(participant=expert.link.participant_id)
    runs = expert.study.state in (Study.State.LIVE, Study.State.PAUSED)
    return runs and bool(expert.link.token) and left.exists()


def _write(mail: ExpertMail) -> EmailMessage:
    expert, study = mail.expert, mail.expert.study
    texts = shown_content(study)["texts"]
    path = reverse("participant-home", args=[expert.link.token])
    context = {
        "name": "" if expert.name == expert.email else expert.name,
        "texts": texts,
        "due_on": expert.due_on,
        "number": mail.number,
        "left": Slot.objects.assigned().filter(participant=expert.link.participant_id).count(),
        "item_names": study.config.item_names.lower(),
        "link": urljoin(expert.site_address, path),
    }
    text = render_to_string("participants/expert_mail.txt", context)
    subject, _, body = text.strip().partition("\n")
    answer_to = [texts["contact_email"]] if texts.get("contact_email") else []
    return EmailMessage(
        subject=" ".join(subject.split()), body=body.strip() + "\n", to=[expert.email],
        reply_to=answer_to,
    )  # fmt: skip
