"""People invited by name: before and after launch, what each rates, and how far they are."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db.models import Count, Exists, Max, OuterRef

from evalsite.core.audit.models import AuditEntry
from evalsite.core.mail import is_mail_on
from evalsite.fieldwork.launch import insist_on_editor
from evalsite.fieldwork.live_changes import lock_running
from evalsite.fieldwork.shares import (
    Rates,
    check_shares,
    is_for_everything,
    list_items,
    place_people,
    plan_shares,
    record_assigning,
)
from evalsite.handout.assigned import (
    assign_items,
    find_who_has_any_of,
    foresee_assigning,
    move_assigned,
)
from evalsite.handout.models import Annotation, Slot
from evalsite.lib.clock import now
from evalsite.lib.deadlocks import in_transaction
from evalsite.people.models import (
    Expert,
    ExpertMail,
    Participant,
    ParticipantLink,
    PersonalLink,
    Recruitment,
)
from evalsite.people.platforms import installed_platforms
from evalsite.people.random_codes import hash_token
from evalsite.people.recruiting import create_recruitment, turn_on
from evalsite.studies.models import Study
from evalsite.studies.setting_changes import change_settings
from evalsite.studies.settings import SETTINGS

MOST_PEOPLE = 200
_LONGEST_NAME = 120
# a line such as "Eva Lind <eva.lind@example.org>" or "Eva Lind, eva.lind@example.org"
_WORD = re.compile(r"[^\s,;<>]+")


class Named(NamedTuple):
    """A person as the researcher entered them."""

    name: str
    email: str


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What people are asked: which items they rate, and by when."""

    rates: str = Rates.ALL
    # a column, or numbers of items
    selection: str = ""
    due_on: date | None = None
    is_reminded: bool = False


def parse_people(text: str) -> list[Named]:
    """Return the people of a pasted list, one a line; ValidationError names what is wrong."""
    people: list[Named] = []
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = " ".join(line.split())
        if not words:
            continue
        person = _parse_person(words, number)
        earlier = lines.setdefault(person.name.casefold(), number)
        if earlier != number:
            raise ValidationError(
                f"Line {number}: {person.name} is on line {earlier}, too. Remove one of them, or "
                "tell two people apart by their names.",
                code="twice",
            )
        people.append(person)
    if not people:
        raise ValidationError("Enter a name.", code="nobody")
    if len(people) > MOST_PEOPLE:
        raise ValidationError(f"Enter {MOST_PEOPLE} people at most.", code="too_many")
    return people


def _parse_person(words: str, number: int) -> Named:
    # the last word is the address, if there is one
    email = _WORD.findall(words)[-1] if "@" in words else ""
    name = words[: words.rindex(email)].strip(" \t,;<\"'") if email else words
    name = name or email
    if len(name) > _LONGEST_NAME:
        raise ValidationError(
            f"Line {number}: this name has more than {_LONGEST_NAME} characters.", code="long_name"
        )
    if "@" in words:
        try:
            validate_email(email)
        except ValidationError:
            raise ValidationError(
                f"Line {number}: “{words[:80]}” has no e-mail address that works. Correct it, or "
                "enter a name alone.",
                code="address",
            ) from None
    return Named(name, email)


# --- what an invitation would do ----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What inviting these people adds: items for each of them, and what it does to the study."""

    counts: list[int]
    k: int
    # answers of an item after it: the most, and the fewest that are sure to come
    most: int
    fewest: int
    # places beyond k, and of how many items, in a study that runs
    added: int = 0
    items: int = 0

    @property
    def answers(self) -> int:
        return sum(self.counts)

    @property
    def range(self) -> tuple[int, int]:
        """Return the fewest and the most items that one of them gets."""
        return min(self.counts), max(self.counts)


def make_people(study: Study, people: Sequence[Named], terms: Terms) -> list[Expert]:
    """Return these people as they would be stored."""
    return [Expert(study=study, **person._asdict(), **vars(terms)) for person in people]


def foresee(study: Study, people: Sequence[Named], terms: Terms) -> Forecast:
    """Return what inviting these people would add; ValidationError if it can't be."""
    fresh = make_people(study, people, terms)
    if study.is_launched:
        shares = _share_out(study, [], fresh)
        times = Counter(item for items in shares for item in items)
        needed = foresee_assigning(study, list(times), times)
        counts = [len(items) for items in shares]
        return Forecast(
            counts=counts, k=study.k, most=needed.most, fewest=study.k, added=needed.added,
            items=needed.items,
        )  # fmt: skip
    known = list(study.experts.order_by("pk"))
    total = list_items(study).count()
    everything = _count_for_everything(study, [*known, *fresh], total)
    most = max(study.k, everything)
    if everything == len(known) + len(fresh):
        return Forecast(counts=[total] * len(fresh), k=study.k, most=most, fewest=everything)
    shares = plan_shares(study, [*known, *fresh])
    mine = shares[len(known) :]
    if problems := check_shares(study, fresh, mine, has_names=True):
        raise problems[0]
    times = Counter(item for items in shares for item in items)
    fewest = min(times.values()) if len(times) == total else 0
    return Forecast(counts=[len(items) for items in mine], k=study.k, most=most, fewest=fewest)


def _count_for_everything(study: Study, people: Sequence[Expert], items: int) -> int:
    return sum(is_for_everything(study, person, items) for person in people)


def _share_out(study: Study, known: list[Expert], fresh: list[Expert]) -> list[list[int]]:
    """Return the items of those who are new, among these who are known."""
    shares = plan_shares(study, [*known, *fresh])[len(known) :]
    if problems := check_shares(study, fresh, shares, has_names=True):
        raise problems[0]
    return shares


# --- inviting ------------------------------------------------------------------------------------


def invite_people(
    *, study: Study, people: Sequence[Named], terms: Terms, site_address: str, by: Any
) -> list[Expert]:
    """Invite these people, each with a link; what they rate is theirs from launch on.

    ValidationError if somebody is invited already. In a draft, people who rate everything raise
    the answers of each item to their number.
    """
    insist_on_editor(study, by)
    return in_transaction(partial(_invite, study, people, terms, site_address, by))


def _invite(
    study: Study, people: Sequence[Named], terms: Terms, site_address: str, by: Any
) -> list[Expert]:
    current = _lock(study)
    _refuse_known(current, people)
    fresh = make_people(current, people, terms)
    if not current.is_launched:
        items = list_items(current).count()
        known = list(current.experts.order_by("pk"))
        if not all(is_for_everything(current, person, items) for person in fresh) and items:
            _share_out(current, known, fresh)
        _raise_k(current, _count_for_everything(current, [*known, *fresh], items), by)
    recruitment = _find_round(current, by)
    last = recruitment.personal_links.aggregate(last=Max("number"))["last"] or 0
    for number, person in enumerate(fresh, start=last + 1):
        link = PersonalLink(
            study=current,
            recruitment=recruitment,
            number=number,
            participant=Participant.objects.create(study=current, is_expert=True),
        )
        link.token_hash = hash_token(link.derive_token())
        link.save(force_insert=True)
        person.link, person.site_address = link, site_address
        person.save(force_insert=True)
    AuditEntry.objects.record("people invited", by=by, study_id=study.pk, people=len(fresh))
    if current.is_launched:
        _share_out(current, [], fresh)
        place_people(current, fresh, by)
    return fresh


def _lock(study: Study) -> Study:
    """Return the study's row, locked, if people can be invited now."""
    current = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if current.is_launched and not current.has_ended:
        return lock_running(study)
    if current.version_id is not None:
        words = (
            "The study is closed, so nobody new can be invited."
            if current.has_ended
            else "The study is being launched just now. Try again in a moment."
        )
        raise ValidationError(words, code="state")
    return current


def _refuse_known(study: Study, people: Sequence[Named]) -> None:
    # not compared by the database: SQLite knows no letters beyond a to z
    names = {person.name.casefold() for person in people}
    for person in study.experts.select_related("link__participant"):
        if person.name.casefold() not in names:
            continue
        invited = person.link.participant
        if invited is not None and invited.withdrawn_at is not None:
            raise ValidationError(
                f"{person.name} has withdrawn from this study, and can’t be invited to it again.",
                code="withdrawn",
            )
        raise ValidationError(
            f"{person.name} is invited already. Remove the line, or tell two people apart by name.",
            code="known",
        )


def _raise_k(study: Study, people: int, by: Any) -> None:
    most = SETTINGS["k"].most or MOST_PEOPLE
    if people > most:
        raise ValidationError(
            f"At most {most} people can rate everything. Give some of them a share.", code="most"
        )
    if people > study.k:
        change_settings(study=study, values={"k": people}, by=by)


def _find_round(study: Study, by: Any) -> Recruitment:
    """Return the round of the people who are invited by name, which is on."""
    platform = next(
        platform for platform in installed_platforms().values() if platform.has_personal_links
    )
    recruitment = study.recruitments.filter(platform=platform.key).first()
    if recruitment is None:
        recruitment = create_recruitment(study=study, platform=platform, by=by)
        turn_on(recruitment=recruitment, by=by)
    return recruitment


# --- changing an invitation ------------------------------------------------------------------


def remove_person(*, person: Expert, by: Any) -> None:
    """Take back the invitation of somebody who hasn't started; ValidationError if they have."""
    insist_on_editor(person.study, by)
    in_transaction(partial(_remove, person, by))


def _remove(person: Expert, by: Any) -> None:
    # Start locks it, too
    link = PersonalLink.objects.select_for_update(no_key=True).get(pk=person.link_id)
    if not Expert.objects.filter(pk=person.pk).exists():
        return
    if link.is_used:
        raise ValidationError(
            "This person has started, so they can’t be removed. You can stop their work.",
            code="started",
        )
    participant = link.participant
    Expert.objects.filter(pk=person.pk).delete()
    # its number stays taken, so that nobody ever gets this link again
    link.participant = None
    link.generation += 1
    link.token_hash = hash_token(link.derive_token())
    link.save(update_fields=["participant", "generation", "token_hash"])
    if participant is not None:
        move_assigned(person.study, holder=participant, to=None)
        AuditEntry.objects.record(
            "invitation removed", by=by, study_id=person.study_id, who=participant.pseudonym
        )
        participant.delete()


def send_again(*, person: Expert, by: Any) -> bool:
    """Have the link sent again by e-mail; False if one is waiting, or can't be sent."""
    insist_on_editor(person.study, by)
    if not (person.email and is_mail_on() and person.study.is_launched):
        return False
    mail, is_new = ExpertMail.objects.get_or_create(
        expert=person, number=0, defaults={"study_id": person.study_id}
    )
    sent = ExpertMail.objects.filter(pk=mail.pk).exclude(sent_at=None, refused_at=None)
    fresh = {"sent_at": None, "refused_at": None, "problem": "", "tries": 0, "next_try_at": now()}
    is_sent = is_new or bool(sent.update(**fresh))
    if is_sent:
        AuditEntry.objects.record(
            "link sent again", by=by, study_id=person.study_id, number=person.link.number
        )
    return is_sent


def change_terms(*, person: Expert, terms: Terms, by: Any) -> int:
    """Change what this person rates and by when; return how many items they have to rate then.

    Answers stay. In a study that runs, unanswered items are taken back, and new ones given.
    """
    insist_on_editor(person.study, by)
    return in_transaction(partial(_change_terms, person, terms, by))


def _change_terms(person: Expert, terms: Terms, by: Any) -> int:
    study, participant = _lock(person.study), person.link.participant
    if participant is None or participant.withdrawn_at or participant.stopped_at:
        raise ValidationError("This person has left the study.", code="left")
    is_other = (terms.rates, terms.selection) != (person.rates, person.selection)
    for name, value in vars(terms).items():
        setattr(person, name, value)
    person.save(update_fields=[*vars(terms)])
    if not study.is_launched:
        people = list(study.experts.order_by("pk"))
        shares = plan_shares(study, people)
        place = people.index(person)
        if problems := check_shares(study, [person], [shares[place]], has_names=True):
            raise problems[0]
        _raise_k(study, _count_for_everything(study, people, list_items(study).count()), by)
        return len(shares[place])
    if not is_other:
        return len(list_items_left(person))
    (items,) = plan_shares(study, [person])
    if problems := check_shares(study, [person], [items], has_names=True):
        raise problems[0]
    move_assigned(study, holder=participant, to=None, but=items)
    answers = Annotation.objects.filter(participant=participant, item__in=items)
    known = {*list_items_left(person), *answers.values_list("item", flat=True)}
    assigned = assign_items(study, {participant: [pk for pk in items if pk not in known]})
    record_assigning(study, assigned, by, who=participant.pseudonym)
    return len(list_items_left(person))


def list_takers(expert: Expert) -> list[Expert]:
    """Return the people invited to the study who have none of what this one has left."""
    items = list_items_left(expert)
    people = Expert.objects.filter(study=expert.study_id).exclude(pk=expert.pk)
    people = people.filter(
        link__participant__withdrawn_at__isnull=True, link__participant__stopped_at__isnull=True
    )
    people = people.exclude(link__participant=None).select_related("link__participant")
    return list(people.exclude(link__participant__in=find_who_has_any_of(items)))


def list_items_left(expert: Expert) -> list[int]:
    slots = Slot.objects.assigned().filter(participant=expert.link.participant_id)
    return list(slots.order_by("pos", "id").values_list("item", flat=True))


def reassign(*, expert: Expert, to: Expert | None, by: Any) -> int:
    """Give what this person has left to another, or to anyone who takes part; return how many."""
    insist_on_editor(expert.study, by)
    holder, taker = expert.link.participant, to.link.participant if to else None
    if holder is None or (to is not None and (taker is None or taker.withdrawn_at is not None)):
        raise ValidationError("This person has left the study.", code="left")
    moved = move_assigned(expert.study, holder=holder, to=taker)
    if moved:
        AuditEntry.objects.record(
            "items reassigned",
            by=by,
            study_id=expert.study_id,
            items=moved,
            who=holder.pseudonym,
            to=taker.pseudonym if taker else "",
        )
    return moved


# --- how far they are ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a person is who was invited. `answered_at`: their last answer."""

    expert: Expert
    done: int
    left: int
    answered_at: datetime | None
    has_started: bool

    @property
    def total(self) -> int:
        return self.done + self.left

    @property
    def mails(self) -> list[ExpertMail]:
        return list(self.expert.mails.all())


def list_progress(study: Study) -> list[Progress]:
    """Return how far each person of the study is who was invited, in four queries."""
    links = ParticipantLink.objects.filter(
        study=study, token_hash=OuterRef("link__token_hash")
    ).order_by()
    experts = list(
        study.experts.select_related("link__participant")
        .prefetch_related("mails")
        .annotate(has_started=Exists(links))
        .order_by("pk")
    )
    people = Expert.objects.filter(study=study).order_by().values("link__participant")
    answers = Annotation.objects.filter(participant__in=people, item__kind="main").order_by()
    counted = answers.exclude(status=Annotation.Status.WITHDRAWN).values_list("participant")
    done = {
        pk: (count, last)
        for pk, count, last in counted.annotate(n=Count("pk"), last=Max("submitted_at"))
    }
    slots = Slot.objects.assigned().filter(participant__in=people).order_by()
    left = dict(slots.values_list("participant").annotate(n=Count("pk")))
    return [
        Progress(
            expert=expert,
            done=done.get(expert.link.participant_id, (0, None))[0],
            left=left.get(expert.link.participant_id, 0),
            answered_at=done.get(expert.link.participant_id, (0, None))[1],
            has_started=expert.has_started,
        )
        for expert in experts
    ]
