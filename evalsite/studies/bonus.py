"""How many sets one person may complete, and the bonus for completing them, in words."""

from evalsite.studies.models import Study
from evalsite.studies.summary_lines import count_of, format_money


def promises_bonus(study: Study) -> bool:
    """Whether somebody who completes every set that the cap allows earns a bonus."""
    return study.has_bonus and study.max_sets is not None


def name_bonus(study: Study) -> str:
    """The bonus with its amount, if that is said: "bonus of £2.00"."""
    return f"bonus of {format_money(study.bonus, study.currency)}" if study.bonus else "bonus"


def cap_in_words(study: Study) -> str:
    """What is told before any work; nothing where there is no cap."""
    if study.max_sets is None:
        return ""
    cap = f"You can complete at most {count_of(study.max_sets, 'set')}."
    return f"{cap} {bonus_in_words(study)}".strip()


def bonus_in_words(study: Study) -> str:
    """What earns the bonus, as a sentence; nothing where there is none."""
    if not promises_bonus(study):
        return ""
    sets = "it" if study.max_sets == 1 else f"all {study.max_sets}"
    return f"Completing {sets} earns a {name_bonus(study)}."


def due_bonus_in_words(study: Study, finished: int) -> str:
    """What is told to somebody who has finished this many sets, and to whom the bonus is due."""
    most = study.max_sets or 0
    sets = f"all {most} sets" if most > 1 else "your set"
    if finished < most:
        sets = "all there were for you"
    return f"You have completed {sets}: the {name_bonus(study)} is yours."


def open_bonus_in_words(study: Study, finished: int) -> str:
    """What is told to somebody who has finished this many sets and may do more."""
    most = study.max_sets
    if most is None:
        return "Another set is open, if you like."
    left = most - finished
    if not promises_bonus(study):
        return f"You have finished {finished} of at most {most} sets. Another one is open."
    # how many there are depends on what others take meanwhile
    sets = "1 more set is" if left == 1 else f"Up to {left} more sets are"
    return f"{sets} open (at most {most}; {name_bonus(study)} after all {most})."
