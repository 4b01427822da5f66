"""Topping up: further places for items of which answers were excluded.

An exclusion frees nothing by itself. An editor or owner decides, and the log says how many places
there are. Such a place shows its item as the excluded answer showed it, so the balance is that of
the answers that are left.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Subquery

from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.frozen_plans import note_more_answers
from evalsite.decisions.models import Exclusion
from evalsite.fieldwork.launch import insist_on_editor
from evalsite.fieldwork.live_changes import lock_running
from evalsite.handout.models import TOP_UP_ACTION, TOP_UP_FROM, Annotation, Slot
from evalsite.lib.seeds import make_random
from evalsite.studies.models import Item, Study

_CHUNK = 5_000


@dataclass(frozen=True)
class Shortage:
    """What a top-up would add: so many places, for so many items."""

    items: int
    places: int


def excluded_answers(study: Study, *, also: Q | None = None) -> QuerySet[Annotation]:
    """Return the counted answers that are excluded: alone, or with their participant.

    `also`: further answers, as if they were left out too.
    """
    active = Exclusion.objects.active()
    alone = Q(Exists(active.filter(annotation=OuterRef("pk"))))
    by_person = Q(Exists(active.filter(participant=OuterRef("participant"), study=study)))
    counted = Annotation.objects.counted().filter(study=study)
    return counted.filter(alone | by_person | (also or Q()))


def find_shortage(study: Study, *, also: Q | None = None) -> Shortage:
    """Count the answers that items lack and nobody is asked for, as if `also` were excluded too."""
    missing = _count_missing(study, also)
    return Shortage(items=len(missing), places=sum(missing.values()))


def _count_missing(study: Study, also: Q | None = None) -> dict[int, int]:
    """Return for each item that is short: k, less its places but those of excluded answers."""
    left_out = excluded_answers(study, also=also).order_by().values("item")
    places = Slot.objects.filter(item=OuterRef("item")).order_by().values("item")
    per_item = Subquery(places.annotate(n=Count("pk")).values("n"))
    rows = left_out.annotate(out=Count("pk"), places=per_item).filter(places__isnull=False)
    missing = {
        item: study.k - (places - out)
        for item, out, places in rows.values_list("item", "out", "places")
    }
    return {item: n for item, n in missing.items() if n > 0}


@transaction.atomic
def top_up(*, study: Study, by: Any) -> int:
    """Add places, after all others, for items short of answers; return how many."""
    insist_on_editor(study, by)
    current = lock_running(study)
    missing = _count_missing(current)
    slots = list(_plan_slots(current, missing))
    Slot.objects.bulk_create(slots, batch_size=_CHUNK)
    if slots:
        AuditEntry.objects.record(
            TOP_UP_ACTION, by=by, study_id=study.pk, items=len(missing), slots=len(slots)
        )
        note_more_answers(current, by, len(slots))
    return len(slots)


def _plan_slots(study: Study, missing: dict[int, int]) -> Iterator[Slot]:
    """Return the places: every item once in a seeded order, then again those that lack more."""
    turns = _find_turns(study, missing)
    added = Slot.objects.filter(item__in=missing, no__gte=TOP_UP_FROM).order_by()
    last = dict(added.values_list("item").annotate(last=Max("no")))
    top = Slot.objects.filter(item__study=study).aggregate(top=Max("pos"))["top"]
    base = 0 if top is None else top + 1
    groups = _in_groups(study, missing)
    make_random(study.seed, "top up", base).shuffle(groups)
    for turn in range(max(missing.values(), default=0)):
        for rank, group in enumerate(groups):
            for item_id in group:
                if missing[item_id] <= turn:
                    continue
                yield Slot(
                    study=study,
                    item_id=item_id,
                    no=last.get(item_id, TOP_UP_FROM - 1) + 1 + turn,
                    pos=base + turn * len(groups) + rank,
                    arrangement=turns[item_id][turn % len(turns[item_id])],
                )


def _in_groups(study: Study, missing: dict[int, int]) -> list[list[int]]:
    """Return items that are dealt together, in one list each, in the order of the file."""
    is_together = study.groups == Study.Groups.TOGETHER
    groups: dict[object, list[int]] = defaultdict(list)
    items = Item.objects.filter(pk__in=missing).order_by("pk")
    for pk, group in items.values_list("pk", "group"):
        groups[group if is_together else pk].append(pk)
    return list(groups.values())


def _find_turns(study: Study, missing: dict[int, int]) -> dict[int, list[int]]:
    """Return the arrangements of excluded answers by item that no top-up has made good for."""
    out: dict[int, Counter[int]] = defaultdict(Counter)
    excluded = excluded_answers(study).filter(item__in=missing).order_by("item", "pk")
    for item, arrangement in excluded.values_list("item", "slot__arrangement"):
        out[item][arrangement] += 1
    made_good: dict[int, Counter[int]] = defaultdict(Counter)
    added = Slot.objects.filter(item__in=missing, no__gte=TOP_UP_FROM)
    left_out = Annotation.objects.filter(pk__in=excluded, slot=OuterRef("pk"))
    for item, arrangement in added.filter(~Exists(left_out)).values_list("item", "arrangement"):
        made_good[item][arrangement] += 1
    return {
        item: list((counts - made_good[item]).elements()) or list(counts)
        for item, counts in out.items()
    }
