"""Work that ends before it is finished: for our reasons, or for somebody's conduct."""

from django.db import transaction

from evalsite.handout.leases import lock_participant, release_places
from evalsite.lib.clock import now
from evalsite.people.models import (
    ItemSet,
    Participant,
    StopKind,
    Visit,
)
from evalsite.people.platforms import Outcome
from evalsite.people.random_codes import make_completion_code
from evalsite.people.visits import find_visit
from evalsite.studies.models import Item


@transaction.atomic
def stop_person(participant: Participant, kind: StopKind, message: str = "") -> bool:
    """End this person's work and free their places; False if they have left already.

    For our reasons, a visit that had a place is completed, with the code of finished work.
    """
    locked = lock_participant(participant)
    if locked.stopped_at is not None or locked.withdrawn_at is not None:
        return False
    locked.stopped_at, locked.stopped_for, locked.stop_message = now(), kind, message
    locked.save(update_fields=["stopped_at", "stopped_for", "stop_message"])
    release_places(locked)
    visit = find_visit(locked)
    if kind == StopKind.OURS and visit is not None and visit.item_set_id is not None:
        Visit.objects.filter(pk=visit.pk, outcome="").update(
            outcome=Outcome.COMPLETED, ended_at=now()
        )
        ItemSet.objects.filter(pk=visit.item_set_id, code="").update(code=make_completion_code())
    return True


def stop_if_emptied(participant: Participant) -> bool:
    """End the work of a person of whose set nothing is left, because items were withdrawn.

    They had a place, so they get what finished work gets; False for everyone else.
    """
    open_set = ItemSet.objects.filter(participant=participant, finished_at__isnull=True).first()
    if participant.is_expert or open_set is None or open_set.total:
        return False
    withdrawn = Item.objects.filter(pk__in=open_set.lost_ids, kind=Item.Kind.WITHDRAWN)
    return withdrawn.exists() and stop_person(participant, StopKind.OURS)


def lost_place_to_end(participant: Participant) -> bool:
    """Return whether the study ended while this person had a place, which they can't use now."""
    if (
        participant.is_pilot
        or participant.stopped_at
        or not (participant.study.has_ended or participant.study.is_past_its_end)
    ):
        return False
    visit = find_visit(participant)
    return visit is not None and not visit.outcome and visit.item_set_id is not None
