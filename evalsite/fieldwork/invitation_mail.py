"""E-mails to people invited by name: an invitation and two reminders, kept until they are sent."""

from datetime import datetime, timedelta
from urllib.parse import urljoin

from django.core.mail import EmailMessage
from django.db.models import Exists, OuterRef
from django.template.loader import render_to_string
from django.urls import reverse

from evalsite.core.jobs.outbox import Sender
from evalsite.core.jobs.schedule import scheduled
from evalsite.core.mail import is_mail_on
from evalsite.handout.models import Slot
from evalsite.lib.clock import now
from evalsite.people.models import Expert, ExpertMail, ParticipantLink
from evalsite.studies.models import Study
from evalsite.studies.versions import shown_content

INVITATION, NOT_OPENED, DUE_SOON = 0, 1, 2
# after the invitation, if the link hasn't been opened
_UNOPENED = timedelta(days=3)
# before the due date, if items are left
_BEFORE_DUE = timedelta(days=7)
# two e-mails are never closer than this
_APART = timedelta(days=2)


@scheduled("Send e-mails to people who are invited", is_on=is_mail_on)
def send_expert_mail() -> None:
    """Send what is due: invitations, and reminders to people with items left."""
    for expert in _list_reminded():
        _plan_reminder(expert)
    mails = ExpertMail.objects.select_related("expert__link__participant", "expert__study__version")
    _SENDER.send_due(mails)


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


def _write(mail: ExpertMail) -> EmailMessage | None:
    """Return the message; None if there is nothing left to do, or the study doesn't run."""
    expert, study = mail.expert, mail.expert.study
    left = Slot.objects.assigned().filter(participant=expert.link.participant_id).count()
    runs = study.state in (Study.State.LIVE, Study.State.PAUSED)
    if not runs or not expert.link.token or not left:
        return None
    texts = shown_content(study)["texts"]
    path = reverse("participant-home", args=[expert.link.token])
    context = {
        "name": "" if expert.name == expert.email else expert.name,
        "texts": texts,
        "due_on": expert.due_on,
        "number": mail.number,
        "left": left,
        "item_names": study.config.item.names.lower(),
        "link": urljoin(expert.site_address, path),
    }
    text = render_to_string("people/expert_mail.txt", context)
    subject, _, body = text.strip().partition("\n")
    answer_to = [texts["contact_email"]] if texts.get("contact_email") else []
    return EmailMessage(
        subject=" ".join(subject.split()), body=body.strip() + "\n", to=[expert.email],
        reply_to=answer_to,
    )  # fmt: skip


_SENDER = Sender(write=_write, first_pause=timedelta(minutes=10), longest_pause=timedelta(days=1))
