"""When identities are deleted, and what else of a person goes when they are erased."""

from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Concat, TruncMinute

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.schedule import HOURLY, scheduled
from evalsite.data.bundle import job as bundle_job
from evalsite.data.files import jobs as export_jobs
from evalsite.decisions.models import Approval, Exclusion, Note, PeopleFigures
from evalsite.handout.models import Annotation
from evalsite.lib.clock import now
from evalsite.participation.consent import erase_answers
from evalsite.people.models import (
    Consent,
    Expert,
    ItemSet,
    Participant,
    ParticipantIdentity,
    Visit,
)
from evalsite.people.random_codes import make_receipt
from evalsite.people.recognition import forget_marks
from evalsite.studies.consent_sentences import MOST_IDENTITY_DAYS
from evalsite.studies.models import Study
from evalsite.studies.version_cache import read_content
from evalsite.studies.versions import get_identity_days, shown_content

# in place of a text that has to be there
ERASED = "erased"
_TIMES_OF_PERSON = ("created_at", "practised_at", "stopped_at", "withdrawn_at")
_FILES = {export_jobs.KIND: export_jobs.find_written, bundle_job.KIND: bundle_job.find_written}

# whatever is still to be decided about pay, identities go so long after the end of their study
LONGEST = timedelta(days=MOST_IDENTITY_DAYS)


def find_expiries(study: Study) -> dict[int | None, datetime]:
    """Return when the identities of this study are deleted, by the version that people agreed to.

    None stands for people who answered no consent text: the version that is shown now counts. The
    days are those that the version promised. There is nothing to delete until the study is closed.
    """
    if study.closed_at is None or study.is_open:
        return {}
    decided = Approval.objects.filter(study=study).aggregate(
        *(Max(name) for name in ("decided_at", "answered_at", "marked_at", "bonus_marked_at"))
    )
    paid = Visit.objects.filter(study=study).aggregate(Max("bonus_marked_at"))
    moments = [study.closed_at, *decided.values(), *paid.values()]
    last = max(moment for moment in moments if moment is not None)
    versions = study.versions.values_list("pk", flat=True)
    contents = {pk: read_content(study.pk, pk) for pk in versions} | {None: shown_content(study)}
    expiries = {}
    for version, content in contents.items():
        # without pay the text speaks of the end of the study alone
        is_paid = content["settings"].get("pay_per_set") is not None
        ends_at = last if is_paid else study.closed_at
        kept = timedelta(days=get_identity_days(content))
        expiries[version] = min(ends_at + kept, study.closed_at + LONGEST)
    return expiries


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
        if people := delete_identities(study):
            deleted[str(study.pk)] = people
    return deleted


def _list_closed_with_identities() -> QuerySet[Study]:
    known = {
        *ParticipantIdentity.objects.order_by().values_list("study", flat=True).distinct(),
        *_named_visits().order_by().values_list("study", flat=True).distinct(),
        *_named_experts().order_by().values_list("study", flat=True).distinct(),
    }
    return Study.objects.filter(closed_at__isnull=False, pk__in=known).order_by("closed_at")


def _named_visits() -> QuerySet[Visit]:
    return Visit.objects.filter(ids_deleted_at__isnull=True).exclude(
        person_id="", visit_id="", platform_study_id=""
    )


def _named_experts() -> QuerySet[Expert]:
    return Expert.objects.filter(name_deleted_at__isnull=True)


@transaction.atomic
def delete_identities(study: Study) -> int:
    """Delete who people of a study are once their time is over; return how many people.

    Pseudonyms, answers and decisions stay.
    """
    Study.objects.select_for_update(no_key=True).only("pk").get(pk=study.pk)
    count = _delete_identities(_list_due(study))
    if count:
        AuditEntry.objects.record("identities deleted", by=None, study_id=study.pk, people=count)
    return count


def _list_due(study: Study) -> QuerySet[Participant]:
    """List the people who were promised that their identity is deleted by now.

    A person who answered several consent texts was promised what each of them says.
    """
    expiries = find_expiries(study)
    due = {version for version, ends_at in expiries.items() if ends_at <= now()}
    answered = Consent.objects.filter(participant=OuterRef("pk"), version__isnull=False)
    is_due = Q(Exists(answered.filter(version__in=due - {None})))
    if None in due:
        is_due |= ~Q(Exists(answered))
    return Participant.objects.filter(is_due, study=study)


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
    experts.update(name=Concat(Value("Person "), F("pk")), email="", name_deleted_at=now())
    return len(known)


@transaction.atomic
def erase_person(participant: Participant, *, by: Any) -> None:
    """Delete all that this person gave or is known by; what is left says that somebody was here.

    Their places are free again, and no later study recognises them. Done twice, it is done once.
    Raise ValidationError while a file is written that may have read their answers.
    """
    _check_files(participant.study_id)
    erase_answers(participant)
    mine = Participant.objects.filter(pk=participant.pk)
    _delete_identities(mine)
    participant.links.all().delete()
    # measured again without them
    PeopleFigures.objects.filter(study=participant.study_id).delete()
    _erase_remarks(participant)
    _blur_times(participant)
    mine.update(receipt=make_receipt(), stop_message="", network="", network_at=None)
    transaction.on_commit(partial(_delete_files, participant.study_id))
    AuditEntry.objects.record(
        "person erased", by=by, study_id=participant.study_id, who=participant.pseudonym
    )


def _erase_remarks(participant: Participant) -> None:
    """Delete what the team wrote about this person, and what they wrote to the team."""
    Note.objects.filter(participant=participant).delete()
    about = Q(participant=participant) | Q(annotation__participant=participant)
    Exclusion.objects.filter(about).update(reason=ERASED)
    approvals = Approval.objects.filter(item_set__participant=participant)
    approvals.update(review_text="", answer="", checks={})
    approvals.exclude(message="").update(message=ERASED)


def _blur_times(participant: Participant) -> None:
    """Cut the times of this person to the minute, and forget what their browser said.

    With a second, and a browser's language, the log of a web server says who it was.
    """
    mine = Q(participant=participant)
    of_set = ("created_at", "finished_at", "reserved_until", "leased_until")
    for people, names in (
        (Participant.objects.filter(pk=participant.pk), _TIMES_OF_PERSON),
        (Consent.objects.filter(mine), ("answered_at",)),
        (Visit.objects.filter(mine), ("arrived_at", "ended_at", "ids_deleted_at")),
        (ItemSet.objects.filter(mine), of_set),
        (Annotation.objects.filter(mine), ("started_at", "submitted_at")),
        (Approval.objects.filter(item_set__participant=participant), ("review_asked_at",)),
    ):
        people.update(**{name: TruncMinute(name) for name in names})
    Annotation.objects.filter(mine).update(
        device="", language="", time_given="", client_ms=None, active_ms=None
    )


def _check_files(study_id: UUID) -> None:
    running = Job.objects.filter(study_id=study_id, kind__in=_FILES, state=Job.State.RUNNING)
    if any(not job.is_stale for job in running):
        raise ValidationError(
            "A file of this study is being written. Wait until it is done, then erase this "
            "person, so that the file is deleted too.",
            code="file_being_written",
        )


def _delete_files(study_id: UUID) -> None:
    """Delete the exports and bundles that were made before."""
    for job in Job.objects.filter(study_id=study_id, kind__in=_FILES):
        path = _FILES[job.kind](job)
        if path is not None:
            path.unlink(missing_ok=True)
