"""Signs that a person works carelessly: reasons to look, never verdicts.

They are read from plain measures while a study runs; reports add finer ones (see
`analysis.report.raters`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, inf
from statistics import mean, median

from evalsite.analysis.figure import write_coefficient
from evalsite.analysis.thresholds import (
    Thresholds,
    count_needed_for_same,
    find_upper_end,
    is_same_answer,
    is_too_fast,
    is_unlike_others,
)
from evalsite.decisions.person_measures import Measures
from evalsite.studies.summary_lines import count_of


@dataclass(frozen=True, kw_only=True)
class PersonFlag:
    """One sign about one person, in a word or two, and the figure that it rests on."""

    code: str
    label: str
    figure: str


def find_usual_seconds(people: Mapping[int, Measures]) -> float | None:
    """Return the median of all people's median seconds for an item."""
    seconds = [person.seconds for person in people.values() if person.seconds is not None]
    return median(seconds) if seconds else None


def find_usual_agreement(people: Mapping[int, Measures]) -> float | None:
    """Return the median of all people's agreement with the others."""
    agreements = [person.agreement for person in people.values() if person.agreement is not None]
    return median(agreements) if agreements else None


def find_mean_agreement(people: Mapping[int, Measures]) -> float | None:
    """Return the mean of all people's agreement with the others."""
    agreements = [person.agreement for person in people.values() if person.agreement is not None]
    return mean(agreements) if agreements else None


def flag_people(people: Mapping[int, Measures], limits: Thresholds) -> dict[int, list[PersonFlag]]:
    """Return the flags of each person who has some, by participant."""
    usual, agreement = find_usual_seconds(people), find_mean_agreement(people)
    flags_by_person = {
        pk: [
            flag
            for flag in (
                _see_speed(person, usual, limits),
                _see_same_answer(person, limits),
                _see_disagreement(person, agreement, limits),
                _see_failed_checks(person, limits),
            )
            if flag is not None
        ]
        for pk, person in people.items()
    }
    return {pk: flags for pk, flags in flags_by_person.items() if flags}


def _see_speed(person: Measures, usual: float | None, limits: Thresholds) -> PersonFlag | None:
    ratio = person.seconds / usual if person.seconds is not None and usual else None
    if not is_too_fast(
        answers=person.answers, ratio=ratio, pages=person.pages, under=person.under, limits=limits
    ):
        return None
    phrases = []
    if person.seconds is not None and usual:
        mine = write_seconds(person.seconds)
        phrases = [f"{mine} per item (study’s median {write_seconds(usual)})"]
    if person.under:
        phrases.append(f"{person.under} of {person.pages} pages too fast to read")
    return PersonFlag(code="too_fast", label="Too fast", figure="; ".join(phrases))


def _see_same_answer(person: Measures, limits: Thresholds) -> PersonFlag | None:
    if person.top_share is None or not is_same_answer(person.uses, limits):
        return None
    figure = f"{person.top_share:.0%} of answers are the same"
    return PersonFlag(code="same_answer", label="Same answer", figure=figure)


def _see_disagreement(
    person: Measures, average: float | None, limits: Thresholds
) -> PersonFlag | None:
    if person.agreement is None or average is None:
        return None
    high = find_upper_end(person.agreement, person.shared)
    if not is_unlike_others(
        answers=person.answers, rho=person.agreement, high=high, mean=average, limits=limits
    ):
        return None
    figure = f"{write_coefficient(person.agreement)} (study’s mean {write_coefficient(average)})"
    return PersonFlag(code="disagrees", label="Disagrees", figure=figure)


def _see_failed_checks(person: Measures, limits: Thresholds) -> PersonFlag | None:
    if person.attention < limits.attention_checks:
        return None
    if person.failed_attention < limits.attention * person.attention:
        return None
    figure = f"{person.failed_attention} of {person.attention} attention checks failed"
    return PersonFlag(code="failed_checks", label="Failed checks", figure=figure)


def write_seconds(value: float) -> str:
    """Write seconds: 6.2 s, 47 s."""
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s"


def list_unjudged(person: Measures, limits: Thresholds, *, has_order: bool) -> list[str]:
    """Return for each flag that can't be raised yet why not, in a sentence.

    `has_order`: whether the study has scores, by which people can disagree.
    """
    fewest = limits.floor_pages if person.pages else limits.speed_answers_alone
    needed_for_same = count_needed_for_same(person.uses, limits)
    fewest_same = min((answers for answers, _, _ in person.uses), default=0)
    after = f"After {count_of(person.answers, 'answer')}"
    sentences = []
    if (person.pages or person.answers) < fewest:
        sentences.append(f"{after}, “too fast” can’t be judged (needs {fewest:.0f}).")
    if needed_for_same == inf and person.uses:
        sentences.append(
            "“Same answer” can’t be judged: the others give this person’s usual answer too often."
        )
    elif fewest_same < needed_for_same < inf:
        # an answer may have several ratings
        needed = ceil(needed_for_same * person.answers / max(fewest_same, 1))
        sentences.append(f"{after}, “same answer” can’t be judged (needs {needed}).")
    if has_order and person.answers < limits.rho_few_ratings:
        sentences.append(
            f"{after}, “disagrees” can’t be judged (needs {limits.rho_few_ratings:.0f})."
        )
    elif has_order and person.agreement is None:
        sentences.append(
            "“Disagrees” can’t be judged: too few outputs have an answer by anyone else."
        )
    if person.attention < limits.attention_checks:
        met = count_of(person.attention, "attention check")
        met = f"After {met}" if person.attention else "Without attention checks"
        sentences.append(
            f"{met}, “failed checks” can’t be judged (needs {limits.attention_checks:.0f})."
        )
    return sentences


def list_rules(limits: Thresholds) -> list[tuple[str, str]]:
    """Return when a person is flagged: the word, and the rule in words."""
    return [
        (
            "Too fast",
            f"at least {limits.floor_share:.0%} of at least {limits.floor_pages:.0f} pages took "
            "less than a second for every 10 words that were new to the person. Or the median "
            f"time is under {limits.speed_ratio:.0%} of the study’s median, after "
            f"{limits.speed_answers:.0f} answers, with at least {limits.under_floor:.0%} of such "
            f"pages ({limits.speed_answers_alone:.0f} answers where pages have no text)",
        ),
        (
            "Same answer",
            f"one point in over {limits.top_share:.0%} of at least "
            f"{limits.top_share_ratings:.0f} answers on every question, if the others give it so "
            "rarely that chance doesn’t explain it",
        ),
        (
            "Disagrees",
            f"agreement with the others under {write_coefficient(limits.rho)} after "
            f"{limits.rho_ratings:.0f} answers, or under {write_coefficient(limits.rho_few)} after "
            f"{limits.rho_few_ratings:.0f}, if its 95% interval is below the mean of all people",
        ),
        (
            "Failed checks",
            f"at least {limits.attention:.0%} of at least {limits.attention_checks:.0f} attention "
            "checks; gold items don’t count",
        ),
    ]
