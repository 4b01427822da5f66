"""Experts: invitations with items, due dates and reminders, and moving items to someone else."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db.models import Count, Max

from evalsite.annotation.allocation.assigned import (
    Assigned,
    assign_items,
    find_who_has_any_of,
    foresee_assigning,
    move_assigned,
)
from evalsite.annotation.models import TOP_UP_ACTION, Annotation, Draft, Slot
from evalsite.annotation.running.launch import insist_on_editor
from evalsite.annotation.running.live_changes import lock_running
from evalsite.audit.models import AuditEntry
from evalsite.lib.deadlocks import in_transaction
from evalsite.lib.mail import is_mail_on
from evalsite.participants.models import (
    Expert,
    ExpertMail,
    ItemSet,
    Participant,
    PersonalLink,
    Recruitment,
)
from evalsite.participants.random_codes import hash_token
from evalsite.participants.recruiting import create_recruitment, turn_on
from evalsite.platforms import installed_platforms
from evalsite.studies.models import Item, Study

MOST_EXPERTS = 100
_LONGEST_NAME = 120
# a line such as "Eva Lind, eva.lind@example.org" or "Eva Lind <eva.lind@example.org>"
_WITH_ADDRESS = re.compile(r"(.*?)[\s,;<]*([^\s,;<>]+@[^\s,;<>]+)>?\s*")
# items that are looked at for the names of their columns
_SAMPLE = 200


class Named(NamedTuple):
    """A person as the researcher entered them."""

    name: str
    email: str


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """What a researcher asks for: whom to invite, to which items, by when."""

    people: Sequence[Named]
    # "all", "share" or "column"
    what: str
    column: str = ""
    due_on: date | None = None
    is_reminded: bool = False


def parse_people(text: str) -> list[Named]:
    """Return the people of a pasted list, one a line; ValidationError names what is wrong."""
    found: dict[Named, None] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = " ".join(line.split())
        if words:
            found[_parse_person(words, number)] = None
    if not found:
        raise ValidationError("Enter a name or an e-mail address.", code="nobody")
    if len(found) > MOST_EXPERTS:
        raise ValidationError(f"Enter {MOST_EXPERTS} people at most.", code="too_many")
    return list(found)


def _parse_person(words: str, number: int) -> Named:
    match = _WITH_ADDRESS.fullmatch(words) if "@" in words else None
    name, email = (match[1].strip(" ,;\"'"), match[2]) if match else (words, "")
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


def list_columns(study: Study) -> list[str]:
    """Return the columns of the batches by which items can be given to people."""
    rows = _open_items(study).values_list("extra", "inputs")[:_SAMPLE]
    names = {name for extra, inputs in rows for part in (extra, inputs) for name in part}
    return sorted(names)


def _open_items(study: Study) -> Any:
    return Item.objects.main().filter(study=study, batch__opened_at__isnull=False)


def split_items(study: Study, asked: Assignment, people: Sequence[Named]) -> list[list[int]]:
    """Return the items of each of these people; ValidationError if somebody gets none."""
    if not people:
        return []
    if asked.what == "all":
        items = list(_open_items(study).values_list("pk", flat=True))
        shares = [list(items) for _ in people]
    elif asked.what == "share":
        shares = _split_evenly(study, len(people))
    else:
        shares = _split_by_column(study, asked.column, people)
    without = [person.name for person, items in zip(people, shares, strict=True) if not items]
    if without:
        raise ValidationError(
            f"There is no item for {', '.join(without)}. Check the column, or choose another way.",
            code="no_items",
        )
    _refuse_groups_twice(study, shares)
    return shares


def _split_evenly(study: Study, people: int) -> list[list[int]]:
    """Split all items evenly, those of one input together, in a seeded order."""
    groups: dict[str, list[int]] = defaultdict(list)
    rows = _open_items(study).order_by("group_shuffle_key", "shuffle_key", "pk")
    for pk, group in rows.values_list("pk", "group"):
        groups[group].append(pk)
    shares: list[list[int]] = [[] for _ in range(people)]
    for items in sorted(groups.values(), key=len, reverse=True):
        min(shares, key=len).extend(items)
    return shares


def _split_by_column(study: Study, column: str, people: Sequence[Named]) -> list[list[int]]:
    named: dict[str, list[int]] = defaultdict(list)
    for pk, extra, inputs in _open_items(study).values_list("pk", "extra", "inputs"):
        value = extra.get(column, inputs.get(column))
        if value not in (None, ""):
            named[" ".join(str(value).split()).casefold()].append(pk)
    return [
        sorted({*named[person.name.casefold()], *(named[person.email.casefold()] or ())})
        for person in people
    ]


def _refuse_groups_twice(study: Study, shares: Sequence[Collection[int]]) -> None:
    if study.groups != Study.Groups.ONCE:
        return
    for items in shares:
        groups = Item.objects.filter(pk__in=items).order_by().values("group")
        if groups.annotate(n=Count("pk")).filter(n__gt=1).exists():
            raise ValidationError(
                "In this study nobody may see two items of one input, but these experts would. "
                "Give them their items by a column that avoids this.",
                code="once",
            )


def list_new(study: Study, people: Sequence[Named]) -> list[Named]:
    """Return those of these people who aren't invited yet."""
    known = set(study.experts.values_list("name", "email"))
    return [person for person in people if tuple(person) not in known]


def foresee_experts(study: Study, asked: Assignment) -> tuple[list[tuple[Named, int]], Assigned]:
    """Return how many items each new person would get, and what that takes."""
    people = list_new(study, asked.people)
    shares = split_items(study, asked, people)
    times = Counter(item for items in shares for item in items)
    counts = [(person, len(items)) for person, items in zip(people, shares, strict=True)]
    return counts, foresee_assigning(study, list(times), times)


def invite_experts(*, study: Study, asked: Assignment, site_address: str, by: Any) -> int:
    """Invite the people who aren't invited yet, with their items; return how many that are."""
    insist_on_editor(study, by)
    return in_transaction(partial(_invite, study, asked, site_address, by))


def _invite(study: Study, asked: Assignment, site_address: str, by: Any) -> int:
    current = lock_running(study)
    people = list_new(current, asked.people)
    shares = split_items(current, asked, people)
    if not people:
        return 0
    experts = [_create_expert(current, person, asked, site_address, by) for person in people]
    given = {
        expert.link.participant: items
        for expert, items in zip(experts, shares, strict=True)
        if expert.link.participant is not None
    }
    _record(current, assign_items(current, given), by, experts=len(experts))
    return len(experts)


def _create_expert(
    study: Study, person: Named, asked: Assignment, site_address: str, by: Any
) -> Expert:
    recruitment = _find_round(study, by)
    last = recruitment.personal_links.aggregate(last=Max("number"))["last"] or 0
    link = PersonalLink(
        study=study,
        recruitment=recruitment,
        number=last + 1,
        participant=Participant.objects.create(study=study, is_expert=True),
    )
    link.token_hash = hash_token(link.derive_token())
    link.save(force_insert=True)
    expert = Expert.objects.create(
        study=study,
        link=link,
        name=person.name,
        email=person.email,
        due_on=asked.due_on,
        is_reminded=asked.is_reminded,
        site_address=site_address,
    )
    if person.email and is_mail_on():
        ExpertMail.objects.create(study=study, expert=expert, number=0)
    return expert


def _find_round(study: Study, by: Any) -> Recruitment:
    """Return the round of the study's experts, which is on."""
    found = study.recruitments.filter(personal_links__expert__isnull=False).first()
    if found is not None:
        return found
    platform = next(one for one in installed_platforms().values() if one.has_personal_links)
    recruitment = create_recruitment(study=study, platform=platform, by=by)
    turn_on(recruitment=recruitment, by=by)
    return recruitment


def _record(study: Study, assigned: Assigned, by: Any, **detail: Any) -> None:
    AuditEntry.objects.record(
        "items assigned", by=by, study_id=study.pk, places=assigned.places, **detail
    )
    if assigned.added:
        # places beyond k, whatever they were added for, are counted from these entries
        AuditEntry.objects.record(
            TOP_UP_ACTION,
            by=by,
            study_id=study.pk,
            items=assigned.items,
            slots=assigned.added,
            reason="assigned to experts",
        )


# --- moving items, and dates ------------------------------------------------------------------


def list_takers(expert: Expert) -> list[Expert]:
    """Return the experts of the study who have none of what this one has left."""
    items = list_items_left(expert)
    others = Expert.objects.filter(study=expert.study_id).exclude(pk=expert.pk)
    others = others.filter(link__participant__withdrawn_at__isnull=True)
    people = others.exclude(link__participant=None).select_related("link__participant")
    return list(people.exclude(link__participant__in=find_who_has_any_of(items)))


def list_items_left(expert: Expert) -> list[int]:
    held = Slot.objects.assigned().filter(participant=expert.link.participant_id)
    return list(held.order_by("pos", "id").values_list("item", flat=True))


def reassign(*, expert: Expert, to: Expert | None, by: Any) -> int:
    """Give what this expert has left to another, or to whoever takes part; return how many."""
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


def change_due_date(*, study: Study, due_on: date | None, by: Any) -> None:
    """Set the due date of every expert who has items left."""
    insist_on_editor(study, by)
    people = Slot.objects.assigned().filter(study=study).values("participant")
    study.experts.filter(link__participant__in=people).update(due_on=due_on)
    AuditEntry.objects.record(
        "due date changed", by=by, study_id=study.pk, due_on=str(due_on or "")
    )


# --- how far they are ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far an expert is. `seen_at`: when they last opened their link, entered or saved."""

    expert: Expert
    done: int
    left: int
    seen_at: datetime | None
    reminders: int
    problem: str

    @property
    def total(self) -> int:
        return self.done + self.left

    @property
    def is_invited(self) -> bool:
        """Whether the invitation was sent by e-mail."""
        return any(mail.number == 0 and mail.sent_at for mail in self.expert.mails.all())


def list_progress(study: Study) -> list[Progress]:
    """Return how far each expert of the study is, as invited."""
    experts = list(
        study.experts.select_related("link__participant").prefetch_related("mails").order_by("pk")
    )
    people = [one.link.participant_id for one in experts]
    answers = Annotation.objects.filter(participant__in=people, item__kind=Item.Kind.MAIN)
    done = _by_person(answers.exclude(status=Annotation.Status.WITHDRAWN), Count("pk"))
    left = _by_person(Slot.objects.assigned().filter(participant__in=people), Count("pk"))
    seen = _find_seen(people)
    return [
        Progress(
            expert=one,
            done=done.get(one.link.participant_id, 0),
            left=left.get(one.link.participant_id, 0),
            seen_at=seen.get(one.link.participant_id),
            reminders=sum(1 for mail in one.mails.all() if mail.number and mail.sent_at),
            problem=next((mail.problem for mail in one.mails.all() if mail.problem), ""),
        )
        for one in experts
    ]


def _by_person(rows: Any, what: Any) -> dict[Any, Any]:
    return dict(rows.order_by().values_list("participant").annotate(found=what))


def _find_seen(people: Sequence[Any]) -> dict[Any, datetime]:
    """Return when each of these people was last active here."""
    rows = (
        (Participant.objects.filter(pk__in=people), "visits__arrived_at", "pk"),
        (Annotation.objects.filter(participant__in=people), "submitted_at", "participant"),
        (Draft.objects.filter(participant__in=people), "updated_at", "participant"),
        (ItemSet.objects.filter(participant__in=people), "created_at", "participant"),
    )
    found: dict[Any, datetime] = {}
    for queryset, column, person in rows:
        latest = queryset.order_by().values_list(person).annotate(last=Max(column))
        for pk, last in latest:
            if last is not None:
                found[pk] = max(last, found.get(pk, last))
    return found
