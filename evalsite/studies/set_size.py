"""Checks and repeats in the design of a study: how many a set holds, from its settings alone."""

from math import ceil

from evalsite.studies.models import Study
from evalsite.studies.settings import FEWEST

# of silent reading in English, in the mean (Brysbaert 2019, Journal of Memory and Language 109)
WORDS_A_MINUTE = 238
SECONDS_A_QUESTION = 15
# of a set there are at least so many for each check
PAGES_PER_CHECK = 4
# a page comes at least so many pages before it is shown again
LEAST_DISTANCE = 8


def most_items(study: Study) -> int | None:
    """Return how many items the caps leave to one person; None: there is no cap."""
    caps = [study.max_sets and study.max_sets * study.set_size, study.max_items]
    return min((cap for cap in caps if cap is not None), default=None)


def answers_each(study: Study, items: int) -> int:
    """Return how many answers one person gives: one set where it is paid, else all they may."""
    caps = most_items(study)
    if caps is None and study.pay_per_set is not None:
        caps = mains_per_set(study)
    return items if caps is None else min(items, caps)


def has_room_for_repeats(study: Study) -> bool:
    """Return whether the caps leave one person enough items for some of them to be shown again."""
    most = most_items(study)
    return most is None or most >= FEWEST


def mains_per_set(study: Study) -> int:
    """Return how many main items a full set has: all, unless checks and repeats take places."""
    if not study.config.design.checks_take_places:
        return study.set_size
    room = study.set_size - min(study.checks_per_person, study.set_size // PAGES_PER_CHECK)
    fitting = (mains for mains in range(room, 0, -1) if mains + repeats_in(study, mains) <= room)
    return next(fitting, 1)


def checks_in(study: Study, items: int) -> int:
    """Return how many gold and attention items come with so many main items of a set, at most."""
    most = study.checks_per_person
    if not study.config.design.checks_take_places:
        return min(most, items // PAGES_PER_CHECK)
    # a check that takes a place is itself one of so many pages
    return min(most, study.set_size // PAGES_PER_CHECK, items // (PAGES_PER_CHECK - 1))


def repeats_in(study: Study, items: int) -> int:
    """Return the most repeats that come with so many main items: their share, rounded up."""
    return -(-items * study.repeat_percent // 100) if has_room_for_repeats(study) else 0


def items_per_set(study: Study, items: int | None = None) -> int:
    """Return how many items a full set shows, controls included; `items`: there are no more."""
    most = mains_per_set(study)
    mains = most if items is None else min(items, most)
    return mains + checks_in(study, mains) + repeats_in(study, mains)


def minutes_per_item(study: Study) -> float:
    """Return how many minutes an item takes, as announced, or else as it is estimated."""
    if study.minutes_per_set:
        return study.minutes_per_set / items_per_set(study)
    return estimate_minutes(study)


def is_by_reading(study: Study) -> bool:
    """Tell whether minutes that nobody chose are those of reading and answering.

    What is published with minutes of its own keeps to them, and without items nothing is read.
    """
    if not study.words_per_page:
        return False
    return study.instrument_id is not None or (
        "minutes_per_item" not in study.config.model_fields_set
    )


def estimate_minutes(study: Study) -> float:
    """Return how many minutes an item takes where nobody chose them."""
    config = study.config
    if not is_by_reading(study):
        return config.minutes_per_item
    outputs = config.item.outputs.least
    questions = sum(
        1 if criterion.per == "item" else outputs
        for criterion in config.criteria
        if criterion.is_always_answered
    )
    answering = max(1, questions) * SECONDS_A_QUESTION / 60
    return study.words_per_page / WORDS_A_MINUTE + answering


def estimate_reading(study: Study) -> int:
    """Return how many minutes it takes to read a set."""
    return ceil(study.words_per_page * items_per_set(study) / WORDS_A_MINUTE)
