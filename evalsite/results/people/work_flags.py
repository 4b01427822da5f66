"""Signs that a person works carelessly: reasons to look, never verdicts.

They are read from plain measures while a study runs; reports add finer ones (`analysis.flags`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from evalsite.analysis.figure import write_coefficient
from evalsite.analysis.thresholds import Thresholds
from evalsite.quality.person_measures import Measures


@dataclass(frozen=True, kw_only=True)
class PersonFlag:
    """One sign about one person, in a word or two, and the figure that it rests on."""

    code: str
    label: str
    figure: str


def find_usual_seconds(people: Mapping[int, Measures]) -> float | None:
    """Return the median of all people's median seconds for an item."""
    seconds = [one.seconds for one in people.values() if one.seconds is not None]
    return median(seconds) if seconds else None


def find_usual_agreement(people: Mapping[int, Measures]) -> float | None:
    """Return the median of all people's agreement with the others."""
    found = [one.agreement for one in people.values() if one.agreement is not None]
    return median(found) if found else None


def flag_people(people: Mapping[int, Measures], limits: Thresholds) -> dict[int, list[PersonFlag]]:
    """Return the flags of each person who has some, by participant."""
    usual, agreement = find_usual_seconds(people), find_usual_agreement(people)
    found = {
        pk: [
            flag
            for flag in (
                _see_speed(one, usual, limits),
                _see_same_answer(one, limits),
                _see_disagreement(one, agreement, limits),
                _see_failed_checks(one, limits),
            )
            if flag is not None
        ]
        for pk, one in people.items()
    }
    return {pk: flags for pk, flags in found.items() if flags}


def _see_speed(one: Measures, usual: float | None, limits: Thresholds) -> PersonFlag | None:
    if one.seconds is None or not usual or one.answers < limits.speed_answers:
        return None
    if one.seconds >= limits.speed_ratio * usual:
        return None
    figure = f"{write_seconds(one.seconds)} per item (study’s median {write_seconds(usual)})"
    return PersonFlag(code="too_fast", label="Too fast", figure=figure)


def _see_same_answer(one: Measures, limits: Thresholds) -> PersonFlag | None:
    if one.top_share is None or one.answers < limits.top_share_ratings:
        return None
    if one.top_share <= limits.top_share:
        return None
    figure = f"{one.top_share:.0%} of answers are the same"
    return PersonFlag(code="same_answer", label="Same answer", figure=figure)


def _see_disagreement(one: Measures, usual: float | None, limits: Thresholds) -> PersonFlag | None:
    if one.agreement is None or usual is None or one.answers < limits.rho_ratings:
        return None
    if one.agreement >= limits.rho:
        return None
    figure = f"{write_coefficient(one.agreement)} (study’s median {write_coefficient(usual)})"
    return PersonFlag(code="disagrees", label="Disagrees", figure=figure)


def _see_failed_checks(one: Measures, limits: Thresholds) -> PersonFlag | None:
    if one.attention < limits.attention_checks:
        return None
    if one.failed_attention < limits.attention * one.attention:
        return None
    figure = f"{one.failed_attention} of {one.attention} attention checks failed"
    return PersonFlag(code="failed_checks", label="Failed checks", figure=figure)


def write_seconds(value: float) -> str:
    """Write seconds: 6.2 s, 47 s."""
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s"


def list_rules(limits: Thresholds) -> list[tuple[str, str]]:
    """Return when a person is flagged: the word, and the rule in words."""
    return [
        (
            "Too fast",
            f"median time under {limits.speed_ratio:.0%} of the study’s median, after "
            f"{limits.speed_answers:.0f} answers",
        ),
        (
            "Same answer",
            f"one point in over {limits.top_share:.0%} of at least "
            f"{limits.top_share_ratings:.0f} answers",
        ),
        (
            "Disagrees",
            f"agreement with the others under {write_coefficient(limits.rho)}, after "
            f"{limits.rho_ratings:.0f} answers",
        ),
        (
            "Failed checks",
            f"at least {limits.attention:.0%} of at least {limits.attention_checks:.0f} attention "
            "checks; gold items don’t count",
        ),
    ]
