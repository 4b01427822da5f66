"""Which items the people invited by name rate: planned in a draft, given to them as places."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from heapq import nsmallest
from random import Random
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Count, Min, Q, QuerySet

from evalsite.core.audit.models import AuditEntry
from evalsite.core.mail import is_mail_on
from evalsite.handout.assigned import Assigned, assign_items
from evalsite.handout.leases import lapsed_slots
from evalsite.handout.models import TOP_UP_ACTION, Slot
from evalsite.lib.words import count_of, list_of
from evalsite.people.models import Expert, ExpertMail, Participant
from evalsite.studies.models import Batch, Item, Study

# items that are looked at for the names of their columns
_SAMPLE = 200
_MOST_NUMBER = 1_000_000
_NUMBERS = re.compile(r"\s*([0-9]{1,7})(?:\s*[-–]\s*([0-9]{1,7}))?\s*")

Rates = Expert.Rates


def list_items(study: Study) -> Any:
    """Return the items that people are dealt, or will be: a queryset in the seed's order."""
    items = Item.objects.main().open().filter(study=study)
    return items.order_by("group_shuffle_key", "shuffle_key", "pk")


def list_columns(study: Study) -> list[str]:
    """Return the columns of the files by which items can be given to people."""
    rows = Item.objects.main().filter(study=study).values_list("extra", "inputs")[:_SAMPLE]
    names = {name for extra, inputs in rows for part in (extra, inputs) for name in part}
    return sorted(names - {"item"})


def parse_numbers(text: str) -> list[range]:
    """Return the numbers of items in a list such as “1-30, 45”; ValidationError for others."""
    ranges = []
    for part in text.replace(";", ",").split(","):
        match = _NUMBERS.fullmatch(part)
        first = int(match[1]) if match else 0
        last = int(match[2] or match[1]) if match else 0
        if not 1 <= first <= last <= _MOST_NUMBER:
            raise ValidationError(
                "Enter numbers of items, such as 1-30, 45.", code="numbers", params={"part": part}
            )
        ranges.append(range(first, last + 1))
    return ranges


def is_for_everything(study: Study, person: Expert, items: int) -> bool:
    """Return whether this person rates everything, with no limit below it."""
    return person.rates == Rates.ALL and (study.max_items is None or study.max_items >= items)


def plan_shares(study: Study, people: Sequence[Expert]) -> list[list[int]]:
    """Return the items of each of these people, who have none yet.

    People who rate a share split evenly what the others leave open, and all of it once if they
    leave nothing; outputs of one input stay together. A limit of outputs makes everything a share.
    """
    rows = list(list_items(study).values_list("pk", "group"))
    needed = _count_needed(study, [pk for pk, _ in rows])
    shares: list[list[int]] = [[] for _ in people]
    sharing = []
    by_column: dict[str, dict[str, list[int]]] = {}
    for place, person in enumerate(people):
        if is_for_everything(study, person, len(rows)):
            shares[place] = [pk for pk, _ in rows]
        elif person.rates == Rates.COLUMN:
            named = by_column.setdefault(person.selection, _read_column(study, person.selection))
            picked = {*named[_fold(person.name)], *(named[_fold(person.email)] or ())}
            shares[place] = [pk for pk, _ in rows if pk in picked]
        elif person.rates == Rates.NUMBERS:
            picked = _find_by_number(study, person.selection)
            shares[place] = [pk for pk, _ in rows if pk in picked]
        else:
            sharing.append(place)
        needed.subtract(shares[place])
    if sharing:
        for place, share in zip(sharing, _split(study, rows, needed, len(sharing)), strict=True):
            shares[place] = share
    return shares


def count_planned(study: Study, people: Sequence[Expert], items: int) -> tuple[list[int], int]:
    """Return how many items of a draft each of these people will have, and the answers they leave.

    What is left is what all answers lack beyond what these people give.
    """
    if all(is_for_everything(study, person, items) for person in people):
        return [items] * len(people), max(0, study.k - len(people)) * items
    shares = plan_shares(study, people)
    answers = Counter(pk for share in shares for pk in share)
    answered = sum(min(study.k, times) for times in answers.values())
    return [len(share) for share in shares], study.k * items - answered


def _count_needed(study: Study, items: Sequence[int]) -> Counter[int]:
    """Return how many answers of each item nobody is to give so far."""
    if study.version_id is None or not study.is_launched:
        return Counter(dict.fromkeys(items, study.k))
    is_free = Q(state=Slot.State.FREE) | Q(pk__in=lapsed_slots(study))
    slots = Slot.objects.filter(is_free, study=study).order_by()
    return Counter(dict(slots.values_list("item").annotate(n=Count("pk"))))


def _split(
    study: Study, rows: Sequence[tuple[int, str]], needed: Counter[int], people: int
) -> list[list[int]]:
    """Split items between so many people, each as often as it is needed, nobody twice."""
    if not any(needed[pk] > 0 for pk, _ in rows):
        needed = Counter(pk for pk, _ in rows)
    is_once = study.groups == Study.Groups.ONCE
    units: dict[Any, list[int]] = defaultdict(list)
    group_of = {}
    for pk, group in rows:
        unit = pk if is_once else group
        units[unit].append(pk)
        group_of[unit] = group
    shares: list[list[int]] = [[] for _ in range(people)]
    met: list[set[str]] = [set() for _ in range(people)]
    # who comes first of those with as many items differs from item to item: all pairs of people
    # come to rate items that both rate
    draw = Random(f"shares of {study.seed}")  # noqa: S311 (no secret)
    for unit, items in sorted(units.items(), key=lambda pair: len(pair[1]), reverse=True):
        able = [
            place
            for place in range(people)
            if (study.max_items is None or len(shares[place]) + len(items) <= study.max_items)
            and not (is_once and group_of[unit] in met[place])
        ]
        times = max(needed[pk] for pk in items)
        picked = nsmallest(times, able, key=lambda place: (len(shares[place]), draw.random()))
        for turn, place in enumerate(picked):
            shares[place] += [pk for pk in items if needed[pk] > turn]
            met[place].add(group_of[unit])
    return shares


def _read_column(study: Study, column: str) -> dict[str, list[int]]:
    """Return the items by the name in this column."""
    named: dict[str, list[int]] = defaultdict(list)
    for pk, extra, inputs in list_items(study).values_list("pk", "extra", "inputs"):
        value = extra.get(column, inputs.get(column))
        if value not in (None, ""):
            named[_fold(str(value))].append(pk)
    return named


def _fold(name: str) -> str:
    return " ".join(name.split()).casefold()


def _find_by_number(study: Study, numbers: str) -> set[int]:
    """Return the items of the records with these numbers, as the page Items lists them."""
    items = Item.objects.main().filter(study=study)
    records = items.records().annotate(first=Min("pk")).order_by("first")
    names = list(records.values_list("name", flat=True))
    picked = {
        names[number - 1]
        for numbers_ in parse_numbers(numbers)
        for number in numbers_
        if number <= len(names)
    }
    named = items.records().values_list("name", "pk")
    return {pk for name, pk in named if name in picked}


def check_shares(
    study: Study,
    people: Sequence[Expert],
    shares: Sequence[Sequence[int]],
    *,
    has_names: bool = False,
) -> list[ValidationError]:
    """Return what is wrong with these shares: somebody gets nothing, or an input twice."""
    without = [person.name for person, items in zip(people, shares, strict=True) if not items]
    problems = []
    if without:
        # the person who launches may not be allowed to see names
        names = list_of(without) if has_names else count_of(len(without), "person", "people")
        words = f"There is nothing to rate for {names}. Choose other items under Invite."
        problems.append(ValidationError(words, code="no_items"))
    if study.groups == Study.Groups.ONCE and any(map(_has_group_twice, shares)):
        words = (
            "In this study nobody may see two outputs of one item, but these people would. Give "
            "each of them an equal share, or items that avoid this."
        )
        problems.append(ValidationError(words, code="once"))
    return problems


def _has_group_twice(items: Sequence[int]) -> bool:
    groups = Item.objects.filter(pk__in=items).order_by().values("group")
    return groups.annotate(n=Count("pk")).filter(n__gt=1).exists()


def find_uncertain(study: Study) -> QuerySet[Expert]:
    """Return the people of whom somebody may get no items, or an input twice: a plan shows it."""
    if study.groups == Study.Groups.ONCE:
        return study.experts.all()
    return study.experts.exclude(rates__in=(Rates.ALL, Rates.SHARE))


def find_problems(study: Study) -> list[ValidationError]:
    """Return what keeps the people who are invited from getting their items at launch."""
    people = list(study.experts.order_by("pk"))
    return check_shares(study, people, plan_shares(study, people))


def count_apart(study: Study, people: Sequence[Expert]) -> int:
    """Return how many groups of these people share no input with one another."""
    items = list_items(study).count()
    if len(people) < 2 or any(is_for_everything(study, person, items) for person in people):
        return min(len(people), 1)
    group_of = dict(list_items(study).values_list("pk", "group"))
    groups: list[set[str]] = []
    for share in plan_shares(study, people):
        inputs = {group_of[pk] for pk in share}
        apart = [group for group in groups if not group & inputs]
        groups = [*apart, inputs.union(*(group for group in groups if group & inputs))]
    return len(groups)


def place_people(study: Study, people: Sequence[Expert], by: Any) -> Assigned | None:
    """Give these people their items as places, and have links sent. In the caller's transaction."""
    if not people:
        return None
    shares = plan_shares(study, people)
    given_out: dict[Participant, list[int]] = {}
    for person, items in zip(people, shares, strict=True):
        participant = person.link.participant
        if participant is not None and participant.withdrawn_at is None:
            given_out[participant] = items
    assigned = assign_items(study, given_out)
    record_assigning(study, assigned, by, experts=len(people))
    if is_mail_on():
        ExpertMail.objects.bulk_create(
            [ExpertMail(study=study, expert=person, number=0) for person in people if person.email]
        )
    return assigned


def place_new_items(study: Study, batches: Sequence[Batch], by: Any) -> None:
    """Give the items of batches that were opened later to the people who rate everything."""
    opened = [
        batch.pk
        for batch in batches
        if not Slot.objects.filter(item__batch=batch, participant__is_expert=True).exists()
    ]
    items = list(list_items(study).filter(batch__in=opened).values_list("pk", flat=True))
    staying = study.experts.filter(
        rates=Rates.ALL,
        link__participant__withdrawn_at__isnull=True,
        link__participant__stopped_at__isnull=True,
    )
    people = list(staying.exclude(link__participant=None).select_related("link__participant"))
    participants = [person.link.participant for person in people if person.link.participant]
    if study.max_items is None and participants and items:
        shares = dict.fromkeys(participants, items)
        record_assigning(study, assign_items(study, shares), by, experts=len(people))


def record_assigning(study: Study, assigned: Assigned, by: Any, **detail: Any) -> None:
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
            reason="assigned to people who were invited",
        )
