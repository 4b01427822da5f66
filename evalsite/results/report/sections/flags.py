"""Flags: what a person did, as a reason to look, in a sentence for each code."""

from evalsite.lib.words import count_of
from evalsite.results.report.sections.words import Notes

FLAGS = Notes()


@FLAGS.add
def straight_lining(is_one_value: bool) -> str:
    if is_one_value:
        return "Gives one value nearly always."
    return "Varies far less than the other raters."


@FLAGS.add
def speeder(share: float | None, is_under_floor: bool) -> str:
    """`share`: of the time that raters take; None where pages too short to read are the sign."""
    if share is None:
        return "Often takes too little time to read."
    part = "half" if share == 0.5 else f"{share:.0%}"
    floor = ", and often too little to read" if is_under_floor else ""
    return f"Takes less than {part} of the time that raters take{floor}."


@FLAGS.add
def disagreement() -> str:
    return "Orders outputs unlike the other raters."


@FLAGS.add
def offset(is_higher: bool) -> str:
    return f"Rates {'higher' if is_higher else 'lower'} than the other raters."


@FLAGS.add
def reserved_points() -> str:
    return "Uses points often that are meant for difficult cases."


@FLAGS.add
def drift_trial(is_rising: bool) -> str:
    return f"Ratings {'rise' if is_rising else 'fall'} over the study."


@FLAGS.add
def drift_place(is_rising: bool) -> str:
    return f"Ratings {'rise' if is_rising else 'fall'} over a set."


@FLAGS.add
def identical_criteria() -> str:
    return "Gives all criteria of an output one value."


@FLAGS.add
def gold() -> str:
    return "Answers too few control items right."


@FLAGS.add
def inconsistent() -> str:
    return "Rates the same output differently the second time."


@FLAGS.add
def always_ties(answers: int, share_of_others: float) -> str:
    return (
        f"Says “equal” in all {answers:,} answers; the others say so in {share_of_others:.0%} of "
        "theirs."
    )


@FLAGS.add
def never_ties(answers: int, share_of_others: float) -> str:
    return (
        f"Never says “equal” in {answers:,} answers; the others say so in {share_of_others:.0%} of "
        "theirs."
    )


@FLAGS.add
def one_place(place: str, answers: int) -> str:
    return (
        f"Prefers the {place} side whatever its text, judging by "
        f"{count_of(answers, 'decided answer')}."
    )


@FLAGS.add
def circles(circular: int, triples: int) -> str:
    return f"Goes in circles: {circular:,} of {count_of(triples, 'triple')}."
