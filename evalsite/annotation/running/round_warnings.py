"""What a researcher should weigh about a round, though nothing forbids it."""

from collections.abc import Iterator
from math import ceil

from evalsite.annotation.running.pilot_results import (
    find_answers,
    list_pilots,
    measure_times,
    suggest_time_and_pay,
)
from evalsite.participants.models import Recruitment
from evalsite.participants.recruiting import promised_minutes
from evalsite.studies.set_size import mains_per_set
from evalsite.studies.summary_lines import count_of


def list_warnings(recruitment: Recruitment) -> list[str]:
    """Return a sentence for each."""
    return [*_warn_of_minutes(recruitment), *_warn_of_places(recruitment)]


def _warn_of_minutes(recruitment: Recruitment) -> Iterator[str]:
    pilots = list_pilots(recruitment.study)
    if not pilots:
        return
    times = measure_times(pilots, find_answers(pilots))
    tried = suggest_time_and_pay(recruitment.study, times)
    promised = promised_minutes(recruitment)
    if tried is not None and tried.minutes > promised:
        yield f"You announce {count_of(promised, 'minute')}. Your pilot took {tried.minutes}."


def _warn_of_places(recruitment: Recruitment) -> Iterator[str]:
    if not recruitment.places:
        return
    study = recruitment.study
    sets = ceil(study.items.main().count() * study.k / mains_per_set(study))
    if 0 < sets < recruitment.places:
        yield (
            f"This round has {recruitment.places:,} places, but the study has work for "
            f"{count_of(sets, 'set')}. Whoever comes later finds no place."
        )
