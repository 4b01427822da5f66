"""Whether so many people can finish a design, and which nearby designs they could finish.

Numbers only, so that it can be proved by playing it through. Who is dealt which items depends
on who comes when, and a person may be left with nothing but items they have met already. A
number of people is called enough only if no order in which they come can end that way.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from evalsite.studies.summary_lines import count_of

_MOST_PER_SET = 500
_MOST_SETS = 32_767


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What has to be answered, and how much of it one person may do.

    `largest` and `sizes`: how many items the groups hold; `group_count`: how many groups.
    `is_size_fixed`: checks take places in a set, so its size is not what one more item changes.
    """

    items: int
    group_count: int
    sizes: tuple[int, ...]
    k: int
    set_size: int
    max_sets: int | None = None
    max_items: int | None = None
    groups: str = "free"
    is_size_fixed: bool = False
    unit: str = "item"  # what a page calls an item

    @property
    def answers(self) -> int:
        return self.items * self.k

    @property
    def largest(self) -> int:
        return max(self.sizes, default=1)


@dataclass(frozen=True, kw_only=True)
class Offer:
    """Other settings with which the expected people can finish, and how a button says them."""

    changes: tuple[tuple[str, Any], ...]
    words: str

    @property
    def key(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.changes)


def can_be_finished(work: Workload) -> bool:
    """Return whether any number of people would do: nobody may be given a part of a group."""
    is_bound = work.groups == "together" and work.max_items is not None
    return not is_bound or work.largest <= (work.max_items or 0)


def fewest_people(work: Workload) -> int:
    """Return the number of people below which the design can't be finished in any order."""
    least = work.k * (work.largest if work.groups == "once" else 1)
    most = most_each(work)
    return least if most is None else max(least, -(-work.answers // most))


def people_needed(work: Workload) -> int:
    """Return how many people finish the design in any order of arrivals and sets.

    Suppose they are stuck: places are free, and nobody may take one. Everyone either has done all
    that the cap allows, at least `sure` items, or has met all that is still free. The second are
    fewer than the answers that the smallest free thing wants, or it would not be free. So the
    answers given are at least `sure` for each of the others, and one more person is too many.
    """
    enough = work.k * (work.largest if work.groups == "once" else 1)
    sure = sure_each(work)
    if sure is None or sure >= (work.group_count if work.groups == "once" else work.items):
        return enough
    is_one_set = work.max_sets == 1 or (work.max_items or work.set_size + 1) <= work.set_size
    is_once = work.groups == "once" and work.largest > 1
    is_mixed = work.groups == "together" and len(work.sizes) > 1
    if is_one_set and not is_once and not is_mixed:
        # newcomers only, who are always dealt what lacks the most answers: no order can hurt
        return fewest_people(work)
    smallest = min(work.sizes, default=1) if work.groups == "together" else 1
    met = enough if work.groups == "once" else work.k * smallest
    return enough + max(0, work.answers - met) // sure


def most_each(work: Workload) -> int | None:
    """Return how many items one person may answer at most, where there is a limit."""
    caps = []
    if work.max_sets is not None:
        caps.append(work.max_sets * _fullest(work, work.set_size))
    if work.max_items is not None:
        caps.append(_fullest(work, work.max_items))
    if not caps:
        return None
    # a person meets each item, or each group, no more than once
    return min(*caps, work.group_count if work.groups == "once" else work.items)


def sure_each(work: Workload) -> int | None:
    """Return how many items a person whom a cap keeps from more has answered at least."""
    caps = []
    if work.max_sets is not None:
        caps.append(work.max_sets * _emptiest(work, work.set_size))
    if work.max_items is not None:
        caps.append(_emptiest(work, work.max_items))
    return min(caps) if caps else None


def _fullest(work: Workload, room: int) -> int:
    """Return the most items that this room holds: whole groups, or one that is larger."""
    return max(_sums(work.sizes, room)) if work.groups == "together" else room


def _emptiest(work: Workload, room: int) -> int:
    """Return the fewest items that fill this room so that the next group may not fit."""
    if work.groups != "together":
        return room
    no_room = max(1, room - work.largest + 1)
    return min(total for total in _sums(work.sizes, room) if total >= no_room)


@lru_cache(maxsize=64)
def _sums(sizes: tuple[int, ...], room: int) -> tuple[int, ...]:
    """Return the totals of whole groups that fit into the room, and those of single groups."""
    reached = {0}
    for total in range(1, room + 1):
        if any(total - size in reached for size in sizes):
            reached.add(total)
    return tuple(sorted((reached | set(sizes)) - {0}))


# --- what would do instead ------------------------------------------------------------------


def find_offers(work: Workload, people: int, *, has_bonus: bool = False) -> list[Offer]:
    """Return each other setting that alone makes this a design that so many people finish.

    A bonus for all sets needs its number of sets, so with one that cap is not taken away.
    """
    offers = [
        _offer_more(work, people, "max_sets", _MOST_SETS),
        _offer_more(work, people, "max_items", max(work.items, 1)),
    ]
    if work.max_sets and not work.is_size_fixed:
        offers.append(_offer_more(work, people, "set_size", _MOST_PER_SET))
    if not any(offers):
        offers = [_offer_no_caps(work, people, keep_sets=has_bonus)]
    k = next((k for k in range(work.k - 1, 0, -1) if _is_enough(work, people, k=k)), None)
    if k is not None:
        offers.append(
            Offer(changes=(("k", k),), words=f"Ask for {count_of(k, 'answer')} per {work.unit}")
        )
    is_short = work.groups == "once" and people < work.k * work.largest
    if is_short and _is_enough(work, people, groups="free"):
        words = f"Let a person meet more than one {work.unit} of a group"
        offers.append(Offer(changes=(("groups", "free"),), words=words))
    return [offer for offer in offers if offer is not None]


def _is_enough(work: Workload, people: int, **changes: Any) -> bool:
    changed = replace(work, **changes)
    return can_be_finished(changed) and people_needed(changed) <= people


def _offer_more(work: Workload, people: int, name: str, most: int) -> Offer | None:
    """Return the least that this setting must be raised to, if that is enough."""
    now = getattr(work, name)
    if now is None:
        return None
    higher = range(now + 1, most + 1)
    at = bisect_left(higher, True, key=lambda value: _is_enough(work, people, **{name: value}))
    if at == len(higher) or not _is_enough(work, people, **{name: higher[at]}):
        return None
    words = {
        "max_sets": f"Let each person take {count_of(higher[at], 'set')}",
        "max_items": f"Let each person answer {count_of(higher[at], work.unit)}",
        "set_size": f"Make sets of {count_of(higher[at], work.unit)}",
    }
    return Offer(changes=((name, higher[at]),), words=words[name])


def _offer_no_caps(work: Workload, people: int, *, keep_sets: bool) -> Offer | None:
    """Offer no limit for a participant, where raising one of the limits is not enough."""
    names = [name for name in ("max_sets", "max_items") if getattr(work, name) is not None]
    if not names or (keep_sets and "max_sets" in names):
        return None
    changes = dict.fromkeys(names)
    if not _is_enough(work, people, **changes):
        return None
    return Offer(changes=tuple(changes.items()), words="Set no limit to what a person may answer")
