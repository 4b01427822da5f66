"""Who was invited by name, and how far each of them is."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, IntegerField, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from evalsite.fieldwork.invited_people import find_if_alone
from evalsite.handout.models import Annotation, Slot
from evalsite.people.models import Expert, ExpertMail, ParticipantLink
from evalsite.studies.models import Study

# a link that nobody opened, and a person who stopped halfway, are mentioned after so long
PATIENCE = timedelta(days=3)
MOST_PEOPLE = 200
# an answer so long ago means that somebody is at work
_AT_WORK = timedelta(minutes=10)


@dataclass(frozen=True, kw_only=True)
class Invited:
    """A person with a link of their own, and what they have of it."""

    expert: Expert
    name: str  # a pseudonym for those who may not see who it is
    pseudonym: str
    done: int
    left: int
    answered_at: datetime | None
    sent_at: datetime
    is_mailed: bool
    is_alone: bool  # with the other people invited by name: nobody else can come
    state: str  # left, done, unopened, opened, working or stopped

    @property
    def total(self) -> int:
        return self.done + self.left


def list_invited(
    study: Study,
    moment: datetime,
    *,
    sees_identities: bool,
    is_owner: bool,
    people: Collection[int] | None = None,
) -> list[Invited]:
    """Return the people invited by name, or these participants among them, in one query."""
    mine = {"participant": OuterRef("link__participant")}
    slots = Slot.objects.filter(study=study, **mine).order_by().values("participant")
    answers = Annotation.objects.filter(**mine).order_by("-submitted_at")
    links = ParticipantLink.objects.filter(study=study, token_hash=OuterRef("link__token_hash"))
    mails = ExpertMail.objects.filter(expert=OuterRef("pk"), number=0)
    invited = study.experts.exclude(link__participant=None)
    experts = (
        (invited if people is None else invited.filter(link__participant__in=people))
        .select_related("link__participant")
        .order_by("pk")
        .annotate(
            done=_count(slots.annotate(rows=Count("pk", filter=Q(state=Slot.State.DONE)))),
            left=_count(slots.annotate(rows=Count("pk", filter=Q(state=Slot.State.LEASED)))),
            answered_at=Subquery(answers.values("submitted_at")[:1]),
            has_opened=Exists(links),
            mailed_at=Subquery(mails.values("sent_at")[:1]),
            is_alone=Exists(find_if_alone(study)),
        )
    )
    launched_at = study.launched_at or moment
    return [
        _describe(
            expert,
            expert.describe(with_address=is_owner) if sees_identities else "",
            launched_at,
            moment,
        )
        for expert in experts[:MOST_PEOPLE]
    ]


def _count(rows: Any) -> Coalesce:
    return Coalesce(Subquery(rows.values("rows")), 0, output_field=IntegerField())


def _describe(expert: Any, name: str, launched_at: datetime, moment: datetime) -> Invited:
    pseudonym = expert.link.participant.pseudonym
    return Invited(
        expert=expert,
        name=name or pseudonym,
        pseudonym=pseudonym,
        done=expert.done,
        left=expert.left,
        answered_at=expert.answered_at,
        sent_at=expert.mailed_at or max(expert.created_at, launched_at),
        is_mailed=expert.mailed_at is not None,
        is_alone=expert.is_alone,
        state=_find_state(expert, moment),
    )


def _find_state(expert: Any, moment: datetime) -> str:
    person, answered_at = expert.link.participant, expert.answered_at
    if person.withdrawn_at or person.stopped_at:
        return "left"
    if not expert.left:
        return "done"
    if not expert.has_opened:
        return "unopened"
    if answered_at is None:
        return "opened"
    return "working" if moment - answered_at <= _AT_WORK else "stopped"


def find_unopened(people: list[Invited], moment: datetime) -> list[Invited]:
    """Return who hasn't opened a link for days."""
    return [
        person
        for person in people
        if person.state == "unopened" and moment - person.sent_at >= PATIENCE
    ]


def find_stopped(people: list[Invited], moment: datetime) -> list[Invited]:
    """Return who has stopped halfway for days."""
    return [
        person
        for person in people
        if person.state == "stopped"
        and person.answered_at is not None
        and moment - person.answered_at >= PATIENCE
    ]


def find_awaited(people: list[Invited]) -> Invited | None:
    """Return the person that a study waits for: all others have begun, and some go on."""
    waiting = [person for person in people if person.state in ("unopened", "opened")]
    goes_on = any(person.state in ("working", "stopped") for person in people)
    return waiting[0] if len(waiting) == 1 and goes_on else None
