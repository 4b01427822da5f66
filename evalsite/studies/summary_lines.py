"""A study in a few words: its state line, and what its design amounts to."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from math import ceil
from typing import Any, NamedTuple

from django.db.models import Count, Max, QuerySet
from django.utils.formats import date_format
from django.utils.text import slugify

from evalsite.core.accounts.time_zones import format_local
from evalsite.instruments.installed import installed_folders
from evalsite.lib.money import format_money as format_money
from evalsite.lib.words import count_of, list_of
from evalsite.studies.models import Item, Study
from evalsite.studies.set_size import (
    checks_in,
    estimate_minutes,
    items_per_set,
    mains_per_set,
    repeats_in,
)


def format_moment(moment: datetime) -> str:
    return f"{date_format(moment, 'j F Y, H:i')} UTC"


def name_start(study: Study) -> str:
    """Return how the names of a study's files begin: its title, as far as file names allow it."""
    return slugify(study.title)[:40].strip("-") or "study"


def name_of_file(study: Study, file: str, *, is_simulated: bool = False) -> str:
    """Return the name of a file of the study, such as rooms_ratings.csv.

    `is_simulated`: a row of this very file is simulated.
    """
    return "_".join([name_start(study), *(["simulated"] if is_simulated else []), file])


def name_of_protocol(name: str) -> str:
    """Return the title of a protocol; its bare name when it is no longer installed."""
    folder = installed_folders().get(name)
    return name if folder is None or folder.problems else folder.instrument.title


def name_of_instrument(study: Study) -> str:
    """Return the title of what a study asks."""
    if study.instrument is None:
        return name_of_protocol(study.protocol)
    return study.instrument.title


def name_unit(study: Study, systems: int | None = None) -> str:
    """Return what answers are counted of; a pair of the only two systems is the whole item."""
    unit = study.config.unit_name
    if unit != "pair":
        return unit
    return "item" if (study.systems.count() if systems is None else systems) <= 2 else unit


def describe_study(study: Study, *, items: int, systems: int, reader: Any) -> list[str]:
    """Return the facts of the line beside a study's title; items are records of its data."""
    facts = [name_of_instrument(study)]
    if study.is_launched and study.version is not None:
        facts.append(str(study.version))
    facts.append(f"{count_of(items, 'item')}, {count_of(systems, 'system')}")
    if study.is_demo:
        facts.append("demo")
    if study.closed_at is not None:
        facts.append(f"closed {format_local(study.closed_at, reader)}")
    elif study.is_before_opening and study.opens_at is not None:
        facts.append(f"opens {format_local(study.opens_at, reader)}")
    elif study.closes_at is not None:
        verb = "ended" if study.is_past_its_end else "ends"
        facts.append(f"{verb} {format_local(study.closes_at, reader)}")
    return facts


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a design amounts to for this many items."""

    items: int
    answers: int
    sets: int
    hours: float
    cost: Decimal | None
    hourly: Decimal | None


def minutes_per_set(study: Study, items: int | None = None) -> int:
    """Return how many whole minutes a set takes: as the study says, or as it is estimated.

    `items`: there are no more.
    """
    if study.minutes_per_set:
        return study.minutes_per_set
    # rounded first: 10 times 1.1 is a little more than 11 in binary
    return max(1, ceil(round(items_per_set(study, items) * estimate_minutes(study), 6)))


def hourly_pay(study: Study, items: int | None = None) -> Decimal | None:
    """Return the hourly pay, given the pay for a set and its announced minutes."""
    pay = study.pay_per_set
    return None if pay is None else pay * 60 / minutes_per_set(study, items)


class MetOnce(NamedTuple):
    """The groups of items of which a person meets one item each, and the items of the largest."""

    groups: int
    largest: int


def count_groups(study: Study, items: QuerySet[Item]) -> MetOnce | None:
    """Return the groups of these items where a person meets each once; None: as often as wanted."""
    if study.groups != Study.Groups.ONCE:
        return None
    sizes = items.order_by().values("group").annotate(size=Count("pk"))
    totals = sizes.aggregate(groups=Count("group"), largest=Max("size"))
    return MetOnce(totals["groups"], totals["largest"] or 0)


def count_sets(study: Study, items: int, groups: MetOnce | None = None) -> int:
    """Return the fewest sets in which this many items get their answers."""
    size = most_in_a_set(study, items, groups)
    # nobody answers an item twice, so however large the sets, k people take one each; nor two of
    # a group that is met once
    least = study.k * (groups.largest if groups else 1)
    return max(least, ceil(items * study.k / size)) if items else 0


def most_in_a_set(study: Study, items: int, groups: MetOnce | None) -> int:
    """Return the most items a set can hold: all there are, or one of each group met once."""
    return min(mains_per_set(study), groups.groups if groups and groups.groups else items, items)


def estimate_work(study: Study, items: int, groups: MetOnce | None = None) -> Estimate:
    """Answers, sets, hours and pay that this design needs for this many items."""
    answers = items * study.k
    sets = count_sets(study, items, groups)
    pay = study.pay_per_set
    size = most_in_a_set(study, items, groups)
    minutes = minutes_per_set(study, size or None)
    return Estimate(
        items=items,
        answers=answers,
        sets=sets,
        hours=sets * minutes / 60,
        cost=None if pay is None else sets * pay,
        hourly=hourly_pay(study, size or None),
    )


def describe_sets(study: Study, items: int, groups: MetOnce | None = None) -> str:
    """Return in a sentence or two what a set holds besides its pages, and why it may be shorter."""
    sentences = [_describe_groups(study, groups), _describe_set(study, items, groups)]
    return " ".join(filter(None, sentences)) if items else ""


def _describe_groups(study: Study, groups: MetOnce | None) -> str:
    """Return a sentence on why sets are shorter than the settings ask; "" if they aren't."""
    if groups is None or groups.groups >= mains_per_set(study):
        return ""
    count = groups.groups
    words = "is 1 input" if count == 1 else f"are {count:,} inputs"
    most = count_of(count, name_unit(study))
    return f"Nobody meets an input twice, and there {words}: a set has at most {most}."


def _describe_set(study: Study, items: int, groups: MetOnce | None) -> str:
    """Return a sentence on what a set shows besides its items; "" if nothing."""
    mains = most_in_a_set(study, items, groups)
    checks, repeats = checks_in(study, mains), repeats_in(study, mains)
    more = [count_of(checks, "check")] if checks else []
    more += [count_of(repeats, "repeat")] if repeats else []
    if not more:
        return ""
    shown = items_per_set(study, mains)
    return f"A set shows up to {shown} pages: {list_of([str(mains), *more])}."
