"""Checks and repeats in the design of a study: how many a set holds, from its settings alone."""

from evalsite.studies.models import Study

# with fewer items a person, nobody is asked twice: each pair of answers would be a large part
FEWEST = 24


def most_items(study: Study) -> int | None:
    """Return how many items the caps leave to one person; None: there is no cap."""
    caps = [study.max_sets and study.max_sets * study.set_size, study.max_items]
    return min((cap for cap in caps if cap is not None), default=None)


def has_room_for_repeats(study: Study) -> bool:
    """Return whether the caps leave one person enough items for some of them to be shown again."""
    most = most_items(study)
    return most is None or most >= FEWEST


def mains_per_set(study: Study) -> int:
    """Return how many main items a full set has: all, unless checks and repeats take places."""
    if not study.config.design.checks_take_places:
        return study.set_size
    room = study.set_size - _most_checks(study)
    fitting = (mains for mains in range(room, 0, -1) if mains + repeats_in(study, mains) <= room)
    return next(fitting, 1)


def items_per_check(study: Study) -> int:
    """Return after how many main items a check comes; 0: never."""
    every = study.check_every or 0
    # a check that takes a place is itself one of so many
    return max(1, every - 1) if every and study.config.design.checks_take_places else every


def _most_checks(study: Study) -> int:
    return min(study.set_size // study.check_every, study.set_size // 2) if study.check_every else 0


def checks_in(study: Study, items: int) -> int:
    """Return how many gold and attention items come with so many main items of a set."""
    every = items_per_check(study)
    if not every:
        return 0
    if study.config.design.checks_take_places:
        return min(items // every, _most_checks(study))
    return items // every


def repeats_in(study: Study, items: int) -> int:
    """Return the most repeats that come with so many main items: their share, rounded up."""
    return -(-items * study.repeat_percent // 100) if has_room_for_repeats(study) else 0


def items_per_set(study: Study, items: int | None = None) -> int:
    """Return how many items a full set shows, controls included; `items`: there are no more."""
    most = mains_per_set(study)
    mains = most if items is None else min(items, most)
    return mains + checks_in(study, mains) + repeats_in(study, mains)


def minutes_per_item(study: Study) -> float:
    """Return how many minutes an item takes, as announced, or else as its protocol says."""
    if study.minutes_per_set:
        return study.minutes_per_set / items_per_set(study)
    return study.config.minutes_per_item
