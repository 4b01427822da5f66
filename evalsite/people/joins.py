"""Joining a study: the same person is found again, and strangers are counted and limited."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from evalsite.core.jobs.schedule import HOURLY, scheduled
from evalsite.lib.clock import now
from evalsite.people.models import (
    JoinCount,
    Participant,
    ParticipantIdentity,
    ParticipantLink,
    PersonalLink,
    Recruitment,
    Visit,
)
from evalsite.people.networks import (
    SITE_FACTOR,
    LimitReached,
    Network,
    find_network,
    is_a_day_away,
)
from evalsite.people.platforms import Outcome
from evalsite.people.platforms.arrival import Arrival
from evalsite.people.random_codes import hash_token
from evalsite.people.services import admit_participant
from evalsite.studies.models import Study, StudyVersion

_WINDOW = timedelta(hours=1)
# how often one person may press Start again: each time makes a link
RETURNS_AN_HOUR = 60

# said of a visit from another study of the platform than the round's first
OTHER_STUDY = "other study id"

_is_unlimited: ContextVar[bool] = ContextVar("joins_are_unlimited", default=False)


class TooManyJoins(LimitReached):
    """The limit on new participants is reached."""


@contextmanager
def unlimited_joins() -> Iterator[None]:
    """Don't count people who join inside the block: for simulated crowds."""
    token = _is_unlimited.set(True)
    try:
        yield
    finally:
        _is_unlimited.reset(token)


def join_study(*, recruitment: Recruitment, arrival: Arrival, address: str) -> str:
    """Return the token of a fresh link for a person who joins, new or known by their id.

    Raise TooManyJoins if they would be new and too many have joined.
    """
    study = recruitment.study
    with transaction.atomic():
        recruitment = _store(recruitment)
        if not arrival.person_id:
            _count_join(study, address)
            participant, token = admit_participant(study=study)
            Visit.objects.create(study=study, participant=participant, recruitment=recruitment)
            return token
        participant, is_new = _find_or_admit(study, arrival, address)
        if is_new:
            _record_visit(participant, recruitment, arrival)
            return ParticipantLink.objects.mint(participant, token=arrival.token)
        if participant.links.filter(token_hash=hash_token(arrival.token)).exists():
            return arrival.token
        if arrival.is_typed:
            raise TypedIdIsKnown
        _check_return(participant)
        visit, is_known = _record_visit(participant, recruitment, arrival)
        # the first visit opens everything, if it has an id that tells it from others
        is_first = (
            is_known and visit.visit_id and visit == participant.visits.order_by("pk").first()
        )
        return ParticipantLink.objects.mint(participant, later_visit=None if is_first else visit)


class TypedIdIsKnown(Exception):
    """A person has started with this id, and another one may have typed it."""


def find_personal_link(token: str) -> PersonalLink | None:
    """Return the personal link of this token, used or not."""
    links = PersonalLink.objects.filter(token_hash=hash_token(token))
    return links.select_related("recruitment__study__version").first()


@transaction.atomic
def use_personal_link(link: PersonalLink) -> Participant:
    """Let the person who has this link take part by it. Done twice, it is done once."""
    current = PersonalLink.objects.select_for_update(no_key=True).get(pk=link.pk)
    participant = current.participant
    if participant is not None and current.is_used:
        return participant
    if participant is None:
        participant = Participant.objects.create(study_id=link.study_id)
        current.participant = participant
        current.save(update_fields=["participant"])
    ParticipantLink.objects.create(
        study_id=link.study_id, participant=participant, token_hash=current.token_hash
    )
    Visit.objects.create(
        study_id=link.study_id, participant=participant, recruitment_id=link.recruitment_id
    )
    return participant


def _store(recruitment: Recruitment) -> Recruitment:
    """Return the round as it is stored; that of a study's own link may not be stored yet."""
    if not recruitment._state.adding:
        return recruitment
    return Recruitment.objects.get_or_create(
        study=recruitment.study,
        number=recruitment.number,
        defaults={
            "platform": recruitment.platform,
            "is_on": recruitment.is_on,
            "has_further_sets": recruitment.has_further_sets,
        },
    )[0]


def find_namespace(recruitment: Recruitment) -> str:
    """Return the scope in which an id that arrives by this round means one person."""
    platform = recruitment.adapter
    name = platform.namespace(recruitment.platform_settings)
    earlier = Recruitment.objects.filter(
        study=recruitment.study_id, platform=recruitment.platform, number__lt=recruitment.number
    )
    if platform.has_ids_of_round and earlier.exists():
        return f"{name}:{recruitment.number}"
    return name


def find_person(study: Study, arrival: Arrival) -> Participant | None:
    """Return the participant who arrived by this id before, if anyone did."""
    identities = ParticipantIdentity.objects.filter(
        study=study, platform=arrival.namespace, outside_id=arrival.key
    )
    return Participant.objects.filter(identities__in=identities).first()


def _find_or_admit(study: Study, arrival: Arrival, address: str) -> tuple[Participant, bool]:
    """Return the participant with this id, and whether they are new."""
    known = find_person(study, arrival)
    if known is not None:
        return known, False
    _lock_joins(study)
    # the same Start may have made them meanwhile
    known = find_person(study, arrival)
    if known is not None:
        return known, False
    try:
        with transaction.atomic():
            _count_join(study, address)
            participant = Participant.objects.create(study=study)
            ParticipantIdentity.objects.create(
                study=study,
                participant=participant,
                platform=arrival.namespace,
                outside_id=arrival.key,
            )
            return participant, True
    except IntegrityError:
        # a study whose version changes at this moment has two locks
        known = find_person(study, arrival)
        if known is None:
            raise
        return known, False


def _record_visit(
    participant: Participant, recruitment: Recruitment, arrival: Arrival
) -> tuple[Visit, bool]:
    """Return this visit, and whether it was known before."""
    visit, is_new = Visit.objects.get_or_create(
        participant=participant,
        recruitment=recruitment,
        visit_id=arrival.visit_id,
        defaults={
            "study_id": participant.study_id,
            "platform": arrival.namespace,
            "person_id": arrival.person_id,
            "platform_study_id": arrival.platform_study_id,
            "flags": [*arrival.flags, *_note_other_study(recruitment, arrival)],
        },
    )
    outcome = _find_old_outcome(participant, recruitment) if is_new else None
    if outcome is not None:
        visit.outcome, visit.ended_at = outcome, now()
        visit.save(update_fields=["outcome", "ended_at"])
    return visit, not is_new


def _note_other_study(recruitment: Recruitment, arrival: Arrival) -> list[str]:
    """Note that a second study on the platform has this round's link."""
    if not arrival.platform_study_id:
        return []
    named = recruitment.visits.exclude(platform_study_id="")
    is_known = named.filter(platform_study_id=arrival.platform_study_id).exists()
    return [] if is_known or not named.exists() else [OTHER_STUDY]


def _find_old_outcome(participant: Participant, recruitment: Recruitment) -> Outcome | None:
    """Return what a new visit ends in because of an earlier one; None if it may lead to work."""
    if participant.is_eligible is False:
        return Outcome.SCREENED_OUT
    if False in (participant.is_checked, participant.is_qualified):
        return Outcome.FAILED_CHECK
    if recruitment.has_further_sets:
        return None
    sets = participant.item_sets.order_by()
    if sets.filter(finished_at__isnull=True).exists():
        return None
    finished = participant.visits.filter(recruitment=recruitment, item_set__isnull=False)
    most = participant.study.max_sets
    is_done = finished.filter(outcome=Outcome.COMPLETED).count() >= recruitment.sets_per_person
    return Outcome.COMPLETED if is_done or (most and sets.count() >= most) else None


def visible_receipt(participant: Participant) -> str:
    """Return the receipt number, or "" if this person arrived by an id, which is no password."""
    return "" if participant.visits.exclude(person_id="").exists() else participant.receipt


# --- limits ---------------------------------------------------------------------------


def find_limited_network(study: Study, address: str) -> Network | None:
    """Return the network of this address; None if networks aren't limited here."""
    if _is_unlimited.get() or not settings.JOINS_PER_ADDRESS:
        return None
    return find_network(study, address)


def _count_join(study: Study, address: str) -> None:
    """Count one more new participant of the study; raise TooManyJoins if that is one too many."""
    if _is_unlimited.get() or not (settings.JOINS_PER_ADDRESS or settings.JOINS_PER_STUDY):
        return
    _lock_joins(study)
    recent = JoinCount.objects.filter(study=study, **_in_window("joined_at"))
    network = find_network(study, address)
    if network is None or study.is_from_one_place:
        _check_limit(recent, settings.JOINS_PER_STUDY)
    else:
        _check_network(recent, network)
    JoinCount.objects.create(study=study, digest=network.today if network else "")


def _check_network(recent: QuerySet[JoinCount], network: Network) -> None:
    """Raise TooManyJoins if too many have joined from this network, or from its site."""
    most = settings.JOINS_PER_ADDRESS
    try:
        _check_limit(recent, settings.JOINS_PER_STUDY)
    except TooManyJoins:
        # however many others joined, they don't shut out a further network
        most = 1
    _check_limit(recent.filter(digest__in=network.digests), most)
    _check_limit(recent.filter(network.is_of("digest")), SITE_FACTOR * most)


def _check_return(participant: Participant) -> None:
    """Raise TooManyJoins if this person has had too many fresh links in an hour."""
    if _is_unlimited.get() or not settings.JOINS_PER_ADDRESS:
        return
    links = participant.links.filter(**_in_window("created_at")).order_by("-created_at")
    _check_times(links.values_list("created_at", flat=True), RETURNS_AN_HOUR)


def _check_limit(joins: QuerySet[JoinCount], limit: int) -> None:
    if limit:
        _check_times(joins.order_by("-joined_at").values_list("joined_at", flat=True), limit)


def _check_times(latest_first: QuerySet[Any, datetime], limit: int) -> None:
    """Raise TooManyJoins if there are as many times as the limit allows."""
    # once the oldest of so many is an hour old, there is room again
    for moment in latest_first[limit - 1 : limit]:
        raise TooManyJoins(max(1, ceil((moment + _WINDOW - now()).total_seconds())))


def _in_window(column: str) -> dict[str, datetime]:
    """Return the condition for the last hour; a clock that was wrong has left later moments."""
    moment = now()
    return {f"{column}__gt": moment - _WINDOW, f"{column}__lte": moment}


def _lock_joins(study: Study) -> None:
    """Let one transaction at a time count new participants of this study.

    The row of its version serves as the lock: an import holds that of the study for long.
    """
    if study.version_id is not None:
        StudyVersion.objects.select_for_update(no_key=True).get(pk=study.version_id)


def find_recent_joins(window: timedelta) -> QuerySet[JoinCount]:
    """Return the counts of new participants within the window, of every study."""
    return JoinCount.objects.filter(joined_at__gt=now() - window)


@scheduled("Forget counts of arrivals", every=HOURLY, is_deleting=True)
def forget_old_joins() -> None:
    """Delete counts that are older than a day, or later than now by as much."""
    JoinCount.objects.filter(is_a_day_away("joined_at")).delete()
