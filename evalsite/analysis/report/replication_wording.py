"""What a repetition says in sentences: what was upheld, what to mind, how it was computed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalsite.analysis.bootstrap import METHOD as OVER_BOTH
from evalsite.analysis.families import find_family
from evalsite.analysis.figure import METHODS_VERSION, Figure, Reason

_SIDES = ("first", "second")
_NAMES = ("First study", "Repeat")


def describe_upheld(figure: Figure) -> str:
    """How many findings the repeat found again; never that there is no difference."""
    if figure.reason is Reason.NOTHING_IN_COMMON:
        return "No two systems are compared in both studies, so no finding can be upheld."
    counts = {key: figure.details[key] for key in ("upheld", "reversed", "not_again",
              "not_compared", "new")}  # fmt: skip
    if figure.value is None:
        phrases = ["The first study could tell no two systems apart that the repeat compares, so "
                "there is no finding to uphold."]  # fmt: skip
    else:
        number, upheld = figure.n["findings"], counts["upheld"]
        alone = "found it" if upheld else "did not find it"
        again = f"found {upheld:,} of them" if number > 1 else alone
        phrases = [f"The first study found {_count(number, 'difference')} between systems that the "
                f"repeat compares too; the repeat {again} again, in the same "
                "direction."]  # fmt: skip
    return " ".join([*phrases, *_describe_others(counts)])


def _describe_others(counts: Mapping[str, int]) -> Iterator[str]:
    if number := counts["reversed"]:
        yield f"{_were(number)} found the other way round."
    if number := counts["not_again"]:
        yield (
            f"For {number:,} it has not enough data to tell, which does not say that there is no "
            "difference."
        )
    if number := counts["not_compared"]:
        yield f"{_count(number, 'further finding')} of the first study could not be looked at."
    if number := counts["new"]:
        yield (
            f"The repeat found {_count(number, 'difference')} that the first study could not tell."
        )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _were(number: int) -> str:
    return f"{number:,} {'was' if number == 1 else 'were'}"


# --- warnings -------------------------------------------------------------------------


def warn_of_both(
    found: Mapping[str, Any], warnings: Sequence[Sequence[Mapping[str, Any]]]
) -> list[dict[str, str]]:
    """What a reader must know before believing a comparison of two studies.

    `warnings`: those of the report of each study; what one says of all of its data is said here.
    """
    phrases = [
        {"code": str(one["code"]), "text": f"{name}: {one['text']}"}
        for name, given in zip(_NAMES, warnings, strict=True)
        for one in given
        if one["criterion"] is None
    ]
    mine = [*_warn_of_copies(found), *_warn_of_outputs(found), *_warn_of_systems(found),
            *_warn_of_criteria(found)]  # fmt: skip
    return [{"code": code, "text": text} for code, text in mine] + phrases


def _warn_of_copies(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if number := found["common"]["same_answers"]:
        yield (
            "same_answers",
            f"{_count(number, 'rating')} in both studies {'has' if number == 1 else 'have'} one "
            "participant, item and time: they are the same answers, and agree with themselves. A "
            "copy of a study is no repetition of it.",
        )


def _warn_of_outputs(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    common = found["common"]
    mine = [found[side]["outputs"] for side in _SIDES]
    is_pairs = any(find_family(one).compares for one in found["criteria"])
    noun = "compared pair" if is_pairs else "output"
    if not common["outputs"]:
        yield (
            "other_items",
            f"The studies have no {noun}s in common, matched by item and system: what they say "
            "of systems can be compared, agreement on outputs can't.",
        )
    elif max(mine) > common["outputs"] + common["changed"]:
        yield (
            "other_items",
            f"{_count(common['outputs'], noun)} "
            f"{'is' if common['outputs'] == 1 else 'are'} in both studies, of {mine[0]:,} in the "
            f"first and {mine[1]:,} in the repeat. Scores of systems are of all that each rated.",
        )
    if number := common["changed"]:
        yield (
            "other_texts",
            f"{_count(number, noun)} of one name {'has' if number == 1 else 'have'} another text "
            "or input in the repeat: left out of agreement, not of the scores of systems.",
        )


def _warn_of_systems(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for side, name in zip(_SIDES, _NAMES, strict=True):
        if alone := found["common"][f"only_{side}"]:
            yield f"only_{side}", f"{name} only: {', '.join(alone)}."


def _warn_of_criteria(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    one, two = (found[side]["criteria"] for side in _SIDES)
    if alone := [key for key in (*one, *two) if (key in one) != (key in two)]:
        yield "other_criteria", f"Rated in one of the studies only: {', '.join(alone)}."
    for criterion in found["criteria"]:
        if criterion["has_other_scale"]:
            yield (
                "other_scale",
                f"{criterion['label']}: the studies have other scales, so scores and agreement "
                "can't be compared; the order of systems and what was found can.",
            )
        if criterion["standard"] is not None:
            yield (
                "other_standard",
                f"{criterion['label']}: standards differ. All scores are put in relation to a "
                f"standard of {criterion['standard']:g}.",
            )


# --- how it was computed --------------------------------------------------------------


def write_notes(criterion: Mapping[str, Any], low: float, seed: int) -> list[str]:
    """The sentences for one criterion, whose figures are given."""
    return [*_write(criterion, low), f"Seed {seed}, methods version {METHODS_VERSION}."]


def _write(criterion: Mapping[str, Any], low: float) -> Iterator[str]:
    family = find_family(criterion)
    yield f"The score of a system is {family.score}, in each study by itself."
    yield (
        "CV* (Belz, Popović and Mille 2022): the standard deviation of both scores, divided by "
        "what makes it unbiased for normal scores, in percent of their mean, times 1 + 1/(4n) "
        f"with n = 2. 0 would be the same score twice. {_describe_shift(low)}"
    )
    moved = [one["moved"] for one in criterion["systems"]]
    if drawn := [one for one in moved if one.details.get("draws")]:
        pool = ", raters of both from one pool" if drawn[0].method == OVER_BOTH else ""
        yield (
            "Intervals of differences and correlations hold the middle 95 % of "
            f"{drawn[0].details['draws']:,} draws of the {drawn[0].method}: inputs that both "
            f"studies have are drawn together{pool}."
        )
    yield (
        "Correlations are of the systems' scores"
        f"{', as logarithms' if family.is_log else ''}; of fewer than 10 systems they have "
        "an interval and no p."
    )
    yield (
        "Outputs in common have the same item and system in both. α of all ratings takes every "
        "rater of both studies as one more rater; α of both scores takes each study as one rater "
        "that gives the mean of its ratings."
    )
    yield (
        "A finding is a difference whose corrected p is below .05 in the report of the first "
        "study. It is upheld where the report of the repeat finds the same system higher, by its "
        "own corrected p. A smaller repeat upholds fewer, whatever is true."
    )


def _describe_shift(low: float) -> str:
    if low:
        return f"The scale is shifted by {-low:g} first, so that it begins at 0.".replace("-", "−")
    return "The scale begins at 0 already."
