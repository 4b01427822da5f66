"""Where a participant is: which page comes next, decided from rows alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from evalsite.handout.leases import answered_items
from evalsite.handout.models import Annotation
from evalsite.participation.instructions_check import is_check_due
from evalsite.participation.qualification import has_begun, next_to_qualify
from evalsite.participation.sets import wanted_places
from evalsite.people.models import ItemSet, Participant
from evalsite.people.services import consent_of, has_agreed, instructions_hash
from evalsite.people.visits import find_visit
from evalsite.studies.models import Item
from evalsite.studies.qualification import plan_qualification

# shown to whom they concern, also in a study that is paused or closed
_FAREWELLS = (
    "participant-withdrawn",
    "participant-stopped",
    "participant-unqualified",
    "instructions-missed",
    "participant-end",
)


@dataclass(frozen=True)
class Step:
    """A page by its URL name and the arguments after the token."""

    name: str
    args: tuple[int, ...] = ()


TAKE_PLACE = Step("participant-start")
END = Step("participant-end")
_WITHDRAWN = Step("participant-withdrawn")


def entry_step(participant: Participant) -> Step | None:
    """Return what must be done before any work, or None when all of it is done."""
    step = _open_step(participant)
    # asked last: people at work come here with every page
    return step if step in (None, _WITHDRAWN) else _unless_over(participant, step)


def _unless_over(participant: Participant, step: Step) -> Step:
    """Return the step, or the page of a visit that is over for good."""
    visit = find_visit(participant)
    return END if visit is not None and visit.is_final else step


def _open_step(participant: Participant) -> Step | None:
    if participant.withdrawn_at is not None:
        return _WITHDRAWN
    if participant.stopped_for:
        return Step("participant-stopped")
    if not has_agreed(participant):
        declined = consent_of(participant) is not None
        return Step("participant-declined" if declined else "participant-consent")
    if shut_out := _admission_step(participant):
        return shut_out
    step = _preparation_step(participant)
    # nobody reads or practises for a place that they don't get
    return TAKE_PLACE if step is not None and not _has_place(participant) else step


def _preparation_step(participant: Participant) -> Step | None:
    """Return what is to read and to practise before the first item."""
    study = participant.study
    if participant.instructions_read != instructions_hash(study):
        return Step("participant-instructions")
    if is_check_due(participant):
        return Step("instructions-check")
    if study.is_qualification_on:
        return _qualification_step(participant)
    number = next_practice(participant)
    return Step("participant-practice", (number,)) if number else None


def is_preparing(participant: Participant, step: Step | None) -> bool:
    """Return whether this step is to read or to practise before the first item."""
    return step is not None and step == _preparation_step(participant)


def _has_place(participant: Participant) -> bool:
    """Return whether this person holds a place, or had one and used it."""
    if participant.is_pilot:
        # a draft may be tried before it has items
        return (
            participant.item_sets.exists()
            or not Item.objects.main().filter(study=participant.study).exists()
        )
    return participant.slots.exists()


def _admission_step(participant: Participant) -> Step | None:
    """Return the question whether this person may take part, or the page that says they may not."""
    study = participant.study
    is_asked = study.is_eligibility_on and study.config.eligibility is not None
    if is_asked and participant.is_eligible is None:
        return Step("participant-entry")
    if participant.is_eligible is False:
        return Step("participant-refused")
    if study.is_check_on and participant.is_checked is False:
        return Step("instructions-missed")
    is_out = study.is_qualification_on and participant.is_qualified is False
    return Step("participant-unqualified") if is_out else None


def _qualification_step(participant: Participant) -> Step | None:
    """Return what the qualification still needs: an answer, or that the suggestions are read."""
    if participant.is_qualified:
        return None if participant.practised_at else Step("qualification-suggestions")
    plan = plan_qualification(participant.study)
    if plan is None:
        return None
    if plan.is_on_instructions:
        return Step("qualification-questions")
    number = next_to_qualify(participant) if has_begun(participant) else None
    return Step("qualification-item", (number,)) if number else Step("participant-qualification")


def next_practice(participant: Participant) -> int | None:
    """Return the number, from 1, of the first practice item without an answer; None when done."""
    if not participant.study.is_practice_on or participant.practised_at is not None:
        return None
    items = list(
        Item.objects.practice().filter(study=participant.study).values_list("id", flat=True)
    )
    answered = set(
        Annotation.objects.filter(participant=participant, item_id__in=items).values_list(
            "item_id", flat=True
        )
    )
    return next((n for n, item in enumerate(items, start=1) if item not in answered), None)


def next_step(participant: Participant) -> Step:
    """Return the page that the personal link opens now."""
    step = entry_step(participant)
    if step is not None:
        return _unless_shut(participant, step)
    return step_in(
        participant,
        ItemSet.objects.filter(participant=participant, finished_at__isnull=True).first(),
    )


def step_in(participant: Participant, open_set: ItemSet | None) -> Step:
    """Return the page of a person whose preparation is done: in their open set, or between two."""
    if open_set is not None and open_set.total:
        places = wanted_places(participant, open_set)
        if places and not may_go_on(
            participant, [open_set.item_ids[place - 1] for place in places]
        ):
            return Step("participant-shut")
        if places:
            return Step("rating-page", (open_set.number, places[0]))
        # also in a study that has ended: what is answered earns its code
        if answered_items(open_set):
            return Step("set-review", (open_set.number,))
    visit = find_visit(participant)
    is_new = visit is not None and not (visit.outcome or visit.recruitment.has_further_sets)
    if not is_new and participant.item_sets.filter(finished_at__isnull=False).exists():
        return Step("participant-finish")
    return _unless_shut(participant, _unless_over(participant, TAKE_PLACE))


def may_go_on(participant: Participant, missing: Sequence[int]) -> bool:
    """Return whether this person may rate these items now: the study is open, or they hold a place.

    Where only controls are missing, all that they held is answered: that set may be finished.
    """
    if participant.is_pilot or participant.study.is_open or participant.slots.leased().exists():
        return True
    return not Item.objects.main().filter(pk__in=missing).exists()


def _unless_shut(participant: Participant, step: Step) -> Step:
    """Return the step, or the page of a paused or closed study."""
    if participant.is_pilot or participant.study.is_open or step.name in _FAREWELLS:
        return step
    return Step("participant-shut")
