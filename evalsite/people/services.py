"""Arriving, agreeing, and answering what is asked before any work."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from typing import Any

from django.db import transaction

from evalsite.core.audit.models import AuditEntry
from evalsite.lib.clock import now
from evalsite.lib.prepared import Prepared
from evalsite.people.models import Answer, Consent, ItemSet, Participant, ParticipantLink
from evalsite.people.platforms import Outcome
from evalsite.people.recognition import mark_person
from evalsite.people.visits import WayOut, end_visit, find_way_out
from evalsite.studies.models import Study
from evalsite.studies.versions import hash_text, shown_content

_finished_sets_of = Prepared(
    lambda participant: ItemSet.objects.filter(
        participant=participant, finished_at__isnull=False
    ).order_by("number")
)


class Withdrawn(Exception):
    """The participant has withdrawn: nothing of theirs may be stored any more."""


@transaction.atomic
def admit_participant(*, study: Study, is_pilot: bool = False) -> tuple[Participant, str]:
    """Create a participant; return them with the token of the link that opens their pages."""
    participant = Participant.objects.create(study=study, is_pilot=is_pilot)
    return participant, ParticipantLink.objects.mint(participant)


def consent_text(study: Study) -> str:
    return str(shown_content(study)["texts"]["consent"])


def has_agreed(participant: Participant) -> bool:
    """Return whether this person has agreed to the consent text that is shown now."""
    return agreement_of(participant) is Agreement.CURRENT


class Agreement(Enum):
    """Whether a person agreed to the consent text that is shown now."""

    CURRENT = "to the text that is shown now"
    OUTDATED = "to an earlier text"
    NONE = "declined, or never asked"


def agreement_of(participant: Participant) -> Agreement:
    if not participant.consented_to:
        return Agreement.NONE
    is_current = participant.consented_to == consent_hash(participant.study)
    return Agreement.CURRENT if is_current else Agreement.OUTDATED


def consent_hash(study: Study) -> str:
    return hash_text(consent_text(study))


def consent_of(participant: Participant) -> Consent | None:
    """Return what this person answered to the consent text that is shown now, if anything."""
    digest = consent_hash(participant.study)
    return Consent.objects.filter(participant=participant, text_sha256=digest).first()


@transaction.atomic
def record_consent(*, participant: Participant, is_given: bool, may_share: bool = False) -> Consent:
    """Store the choice with the text and the version that it answers."""
    study = participant.study
    digest = consent_hash(study)
    consent, _ = Consent.objects.update_or_create(
        participant=participant,
        study=study,
        text_sha256=digest,
        defaults={"is_given": is_given, "version_id": study.version_id, "answered_at": now()},
    )
    participant.consented_to = digest if is_given else ""
    participant.may_share = may_share if is_given and study.asks_to_share else None
    participant.save(update_fields=["consented_to", "may_share"])
    if is_given:
        mark_person(participant)
    else:
        end_visit(participant, Outcome.NO_CONSENT)
    return consent


@transaction.atomic
def change_sharing(*, participant: Participant, may_share: bool) -> None:
    """Store whether this person's answers may be shared, once they were asked."""
    locked = Participant.objects.select_for_update(no_key=True).get(pk=participant.pk)
    if locked.withdrawn_at is not None:
        raise Withdrawn
    if locked.may_share is not None and locked.may_share != may_share:
        locked.may_share = may_share
        locked.save(update_fields=["may_share"])
        AuditEntry.objects.record(
            "sharing changed",
            by=None,
            study_id=locked.study_id,
            who=locked.pseudonym,
            shares=may_share,
        )


@transaction.atomic
def record_entry(
    *,
    participant: Participant,
    answers: Mapping[str, str],
    refuse: Callable[[Participant, Mapping[str, str]], str] | None = None,
) -> bool:
    """Return whether these answers allow taking part: decided once, and they stay as they are.

    `refuse` is asked of those whom the answers allow: why not, if anything else is against it.
    """
    locked = Participant.objects.select_for_update(no_key=True).get(pk=participant.pk)
    if locked.withdrawn_at is not None:
        raise Withdrawn
    if locked.is_eligible is None and locked.consented_to:
        study = participant.study
        locked.is_eligible = not study.is_eligibility_on or study.config.is_eligible(answers)
        if locked.is_eligible and refuse is not None:
            locked.refused_for = refuse(locked, answers)
            locked.is_eligible = not locked.refused_for
        locked.save(update_fields=["is_eligible", "refused_for"])
        if not locked.is_eligible:
            end_visit(locked, Outcome.SCREENED_OUT)
        record_answers(participant=participant, answers=answers)
    participant.is_eligible, participant.refused_for = locked.is_eligible, locked.refused_for
    return bool(locked.is_eligible)


def record_answers(*, participant: Participant, answers: Mapping[str, str]) -> None:
    """Store each answer, replacing an earlier one."""
    for question, value in answers.items():
        Answer.objects.update_or_create(
            participant=participant,
            study_id=participant.study_id,
            question=question,
            defaults={"value": value, "answered_at": now()},
        )


def mark_instructions_read(*, participant: Participant) -> None:
    participant.instructions_read = instructions_hash(participant.study)
    participant.save(update_fields=["instructions_read"])


def instructions_hash(study: Study) -> str:
    return hash_text(str(shown_content(study)["texts"]["instructions"]))


def finished_sets(participant: Participant) -> list[ItemSet]:
    """Return the sets that this person has finished, in their order."""
    return _finished_sets_of.all(participant.pk)


def is_paid(participant: Participant) -> bool:
    """Return whether this person was promised pay: by the round they came by, or by the study."""
    return find_way_out(participant, Outcome.COMPLETED).is_paid


def may_show_code(participant: Participant, item_set: ItemSet) -> bool:
    """Return whether the link in use may show this set's code: all answers were saved by it."""
    visit = participant.later_visit_id
    if visit is None:
        return True
    answers = participant.annotations.filter(item_set=item_set)
    return answers.filter(visit=visit).exists() and not answers.exclude(visit=visit).exists()


def shown_codes(participant: Participant, finished: list[ItemSet] | None = None) -> dict[str, Any]:
    """Return the code to show, the round's or that of the last finished set, and earlier codes."""
    finished = finished_sets(participant) if finished is None else finished
    if not finished:
        return {"code": "", "earlier_codes": [], "way_out": WayOut()}
    shown = [item_set for item_set in finished if may_show_code(participant, item_set)]
    *earlier, last = shown or [ItemSet()]
    way_out = find_way_out(participant, Outcome.COMPLETED, set_code=last.code)
    if way_out.hands_over and not way_out.code:
        way_out = replace(way_out, link="")
    if participant.is_expert and not way_out.is_paid:
        return {"code": "", "earlier_codes": [], "way_out": replace(way_out, code="", link="")}
    is_own = way_out.code == last.code
    return {
        "code": way_out.code,
        "earlier_codes": [(item_set.number, item_set.code) for item_set in earlier]
        if is_own
        else [],
        "way_out": way_out,
    }
