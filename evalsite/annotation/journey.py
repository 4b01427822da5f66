"""Where a participant is: which page comes next, decided from rows alone."""

from dataclasses import dataclass

from evalsite.annotation.models import Annotation
from evalsite.annotation.services import unanswered_places
from evalsite.participants.models import ItemSet, Participant
from evalsite.participants.services import consent_of, instructions_hash
from evalsite.studies.models import Item


@dataclass(frozen=True)
class Step:
    """A page by its URL name and the arguments after the token."""

    name: str
    args: tuple[int, ...] = ()


def entry_step(me: Participant) -> Step | None:
    """What must be done before any work, or None when all of it is done."""
    study = me.study
    if me.withdrawn_at is not None:
        return Step("participant-withdrawn")
    given = consent_of(me)
    if given is None:
        return Step("participant-consent")
    if not given.is_given:
        return Step("participant-declined")
    if study.is_eligibility_on and study.config.eligibility is not None:
        if me.is_eligible is None:
            return Step("participant-entry")
        if not me.is_eligible:
            return Step("participant-refused")
    if me.instructions_read != instructions_hash(study):
        return Step("participant-instructions")
    number = next_practice(me)
    return Step("participant-practice", (number,)) if number else None


def next_practice(me: Participant) -> int | None:
    """The number, from 1, of the first practice item without an answer; None when done."""
    if not me.study.is_practice_on or me.practised_at is not None:
        return None
    items = list(Item.objects.practice().filter(study=me.study).values_list("id", flat=True))
    answered = set(
        Annotation.objects.filter(participant=me, item_id__in=items).values_list(
            "item_id", flat=True
        )
    )
    return next((n for n, item in enumerate(items, start=1) if item not in answered), None)


def next_step(me: Participant) -> Step:
    """The page that the personal link opens now."""
    step = entry_step(me)
    if step is not None:
        return _unless_shut(me, step)
    open_set = ItemSet.objects.filter(participant=me, finished_at__isnull=True).first()
    if open_set is not None and open_set.item_ids:
        places = unanswered_places(open_set)
        if places:
            return _unless_shut(me, Step("rating-page", (open_set.number, places[0])))
        return Step("set-review", (open_set.number,))
    if ItemSet.objects.filter(participant=me, finished_at__isnull=False).exists():
        return Step("participant-finish")
    return _unless_shut(me, Step("participant-start"))


def _unless_shut(me: Participant, step: Step) -> Step:
    """The step, or the page of a paused or closed study; who holds a place may still finish it."""
    if me.is_pilot or me.study.is_open or step.name == "participant-withdrawn":
        return step
    if step.name == "rating-page" and me.slots.leased().exists():
        return step
    return Step("participant-shut")
