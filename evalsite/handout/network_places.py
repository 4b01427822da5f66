"""How many places the people of one network may hold at a time.

A person who joins again and again from one address would otherwise hold every place of a study,
without answering anything. People who were invited personally aren't limited and don't count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any

from django.db import connection
from django.db.models import Count, Min, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from evalsite.handout.models import ASSIGNED, Annotation, Slot
from evalsite.lib.clock import now
from evalsite.people.models import Participant, PersonalLink
from evalsite.people.networks import SITE_FACTOR, LimitReached, Network
from evalsite.studies.models import Study
from evalsite.studies.set_size import mains_per_set

# the larger of so many sets and a share of the study's open places, in percent: for people with
# fewer answers in their set than this, and for all people of the network
_NEWCOMERS_ANSWER = 3
_SETS = 5
_PERCENT_OF_NEWCOMERS, _PERCENT = 10, 30
_DIGITS_OF_LOCK = 15


class NetworkIsFull(LimitReached):
    """The people of this network hold as many places as they may."""


@dataclass(frozen=True)
class _PersonPlaces:
    """What a person of the network holds, and with how many answers in their set."""

    digest: str
    places: int
    until: datetime
    answers: int


def check_network(
    study: Study,
    network: Network | None,
    participant: Participant | None = None,
    *,
    is_locking: bool = False,
) -> None:
    """Raise NetworkIsFull if people of this network hold as many places as they may.

    `is_locking`: from here to the end of the transaction nobody else of its site takes a place.
    """
    if network is None or study.is_from_one_place:
        return
    if is_locking:
        _lock_site(network)
    rows = _list_places(study, network, participant)
    of_network = [row for row in rows if row.digest in network.digests]
    for people, factor in ((of_network, 1), (rows, SITE_FACTOR)):
        new = [row for row in people if row.answers < _NEWCOMERS_ANSWER]
        _check_share(study, new, factor * _SETS, factor * _PERCENT_OF_NEWCOMERS)
        _check_share(study, people, factor * _SETS, factor * _PERCENT)


def is_invited(participant: Participant) -> bool:
    """Return whether this person has a link of their own, made for them."""
    return participant.is_expert or PersonalLink.objects.filter(participant=participant).exists()


def _check_share(study: Study, rows: Sequence[_PersonPlaces], sets: int, percent: int) -> None:
    """Raise NetworkIsFull if these and a further set are more than so many sets and this share."""
    a_set = mains_per_set(study)
    asked = sum(row.places for row in rows) + a_set
    if asked <= sets * a_set:
        return
    # those that are done can't be held: of what is left, three networks always leave a part
    places = Slot.objects.filter(study=study).exclude(state=Slot.State.DONE).count()
    if 100 * asked > percent * places:
        wait = min(row.until for row in rows) - now()
        raise NetworkIsFull(max(1, ceil(wait.total_seconds())))


def _list_places(
    study: Study, network: Network, participant: Participant | None
) -> list[_PersonPlaces]:
    answers = count_answers_in_open_set(OuterRef("participant"))
    # the index of people by network, then that of what each of them holds
    people = Participant.objects.filter(~Q(network=""), network.is_of("network"), study=study)
    slots = Slot.objects.leased().filter(
        study=study, participant__in=people, lease_until__gt=now(), lease_until__lt=ASSIGNED
    )
    if participant is not None:
        slots = slots.exclude(participant=participant)
    rows = slots.order_by().values_list("participant__network", "participant")
    counted = rows.annotate(places=Count("pk"), until=Min("lease_until"), answers=answers)
    return [_PersonPlaces(digest, places, until, n) for digest, _, places, until, n in counted]


def count_answers_in_open_set(participant: Any) -> Coalesce:
    """Return how many answers a person has saved in their open set; reports and skips are none."""
    outcome = Annotation.Outcome
    saved = Annotation.objects.filter(
        participant=participant,
        item_set__participant=participant,
        item_set__finished_at__isnull=True,
        outcome__in=(outcome.RATED, outcome.IGNORED),
    )
    counted = saved.order_by().values("participant").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted), 0)


def _lock_site(network: Network) -> None:
    """Let one transaction at a time take places for people of this site.

    SQLite has one writer at a time anyway.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_advisory_xact_lock(%s)", [int(network.today[:_DIGITS_OF_LOCK], 16)]
            )
