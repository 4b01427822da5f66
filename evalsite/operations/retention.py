"""When identities are deleted, and what else of a person goes when they are erased."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Max, QuerySet, Value
from django.db.models.functions import Concat

from evalsite.annotation.pages.consent import erase_answers
from evalsite.audit.models import AuditEntry
from evalsite.jobs.schedule import HOURLY, scheduled
from evalsite.lib.clock import now
from evalsite.participants.models import (
    Expert,
    Participant,
    ParticipantIdentity,
    Visit,
)
from evalsite.participants.random_codes import make_receipt
from evalsite.participants.recognition import forget_marks
from evalsite.quality.models import Approval, PeopleFigures
from evalsite.studies.consent_sentences import MOST_IDENTITY_DAYS
from evalsite.studies.models import Study

# whatever is still to be decided about pay, identities go so long after the end of their study
LONGEST = timedelta(days=MOST_IDENTITY_DAYS)


def find_expiry(study: Study) -> datetime | None:
    """Return when this study's identities are deleted; None: it hasn't been closed."""
    if study.closed_at is None or study.is_open:
        return None
    decided = Approval.objects.filter(study=study).aggregate(
        *(Max(name) for name in ("decided_at", "answered_at", "marked_at", "bonus_marked_at"))
    )
    paid = Visit.objects.filter(study=study).aggregate(Max("bonus_marked_at"))
    moments = [study.closed_at, *decided.values(), *paid.values()]
    last = max(moment for moment in moments if moment is not None)
    return min(last + timedelta(days=settings.IDENTITY_DAYS), study.closed_at + LONGEST)


@scheduled("Delete identities whose time is over", every=HOURLY, is_deleting=True)
def retain() -> str:
    """Keep nothing for longer than was said."""
    deleted = delete_expired()
    return f"{sum(deleted.values())} people of {len(deleted)} studies" if deleted else ""


def delete_expired() -> dict[str, int]:
    """Delete the identities whose time is over; return how many people each study lost."""
    forget_marks()
    deleted = {}
    for study in _list_closed_with_identities():
        ends_at = find_expiry(study)
        if ends_at is not None and ends_at <= now():
            deleted[str(study.pk)] = delete_identities(study)
    return deleted


def _list_closed_with_identities() -> QuerySet[Study]:
    found = Study.objects.filter(closed_at__isnull=False)
    known = {
        *ParticipantIdentity.objects.order_by().values_list("study", flat=True).distinct(),
        *_named_visits().order_by().values_list("study", flat=True).distinct(),
        *_named_experts().order_by().values_list("study", flat=True).distinct(),
    }
    return found.filter(pk__in=known).order_by("closed_at")


def _named_visits() -> QuerySet[Visit]:
    return Visit.objects.filter(ids_deleted_at__isnull=True).exclude(
        person_id="", visit_id="", platform_study_id=""
    )


def _named_experts() -> QuerySet[Expert]:
    return Expert.objects.filter(name_deleted_at__isnull=True)


@transaction.atomic
def delete_identities(study: Study) -> int:
    """Delete who the people of a study are; pseudonyms, answers and decisions stay."""
    Study.objects.select_for_update(no_key=True).only("pk").get(pk=study.pk)
    people = Participant.objects.filter(study=study)
    count = _delete_identities(people)
    AuditEntry.objects.record("identities deleted", by=None, study_id=study.pk, people=count)
    return count


def _delete_identities(people: QuerySet[Participant]) -> int:
    """Delete the identities of these people; return how many people had one."""
    identities = ParticipantIdentity.objects.filter(participant__in=people)
    visits = _named_visits().filter(participant__in=people)
    experts = _named_experts().filter(link__participant__in=people)
    known = {
        *identities.values_list("participant", flat=True),
        *visits.values_list("participant", flat=True),
        *experts.values_list("link__participant", flat=True),
    }
    identities.delete()
    visits.update(person_id="", visit_id="", platform_study_id="", ids_deleted_at=now())
    experts.update(name=Concat(Value("Expert "), F("pk")), email="", name_deleted_at=now())
    return len(known)


@transaction.atomic
def erase_person(participant: Participant, *, by: Any) -> None:
    """Delete all that this person gave or is known by; what is left says that somebody was here.

    Their places are free again, and no later study recognises them. Done twice, it is done once.
    """
    erase_answers(participant)
    mine = Participant.objects.filter(pk=participant.pk)
    _delete_identities(mine)
    participant.links.all().delete()
    # measured again without them
    PeopleFigures.objects.filter(study=participant.study_id).delete()
    Approval.objects.filter(item_set__participant=participant).update(review_text="", checks={})
    mine.update(receipt=make_receipt(), stop_message="")
    AuditEntry.objects.record(
        "person erased", by=by, study_id=participant.study_id, who=participant.pseudonym
    )
