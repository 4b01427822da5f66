"""Checks and repeats in the design of a study: how many a set holds, from its settings alone."""

from evalsite.studies.models import Study

# below so many items a person nobody is asked twice: each pair of answers would be a large part
FEWEST = 24


def most_items(study: Study) -> int | None:
    """Return how many main items the caps leave to one person; None: there is no cap."""
    caps = [study.max_sets and study.max_sets * study.set_size, study.max_items]
    return min((cap for cap in caps if cap is not None), default=None)


def has_room_for_repeats(study: Study) -> bool:
    """Whether the caps leave enough items to one person for some of them to be shown again."""
    most = most_items(study)
    return most is None or most >= FEWEST


def checks_in(study: Study, items: int) -> int:
    """Return how many gold and attention items come with so many main items of a set."""
    return items // study.check_every if study.check_every else 0


def repeats_in(study: Study, items: int) -> int:
    """The most repeats that come with so many main items of a set: their share, rounded up."""
    return -(-items * study.repeat_percent // 100) if has_room_for_repeats(study) else 0


def items_per_set(study: Study, items: int | None = None) -> int:
    """How many items a full set shows, checks and repeats with them; `items`: there are no more."""
    mains = study.set_size if items is None else min(items, study.set_size)
    return mains + checks_in(study, mains) + repeats_in(study, mains)
