"""What a reader of a report must know before believing it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalsite.analysis.design import count_parts
from evalsite.analysis.other_tests import describe_disagreeing
from evalsite.analysis.table import Table

FEW_RATERS = 5
FEW_ITEMS = 10

_TEXTS = {
    "few_raters": "Fewer than 5 raters: no method can show that a difference holds for others.",
    "few_items": "Fewer than 10 inputs: intervals and p values are rough.",
    "raters_unknown": "The raters of this file are not single persons. What needs raters is left "
    "out, and results hold for these raters, over items.",
    "incomplete_crossing": "Not everybody rated everything: systems are compared by a mixed model.",
    "nested_raters": "Each rater rated one system only, so raters and systems can't be told "
    "apart well.",
    "separated": "A system wins, or loses, every comparison: its strength has no finite value.",
    "disconnected": "Some systems are never compared, not even through others.",
    "one_rating_per_output": "Each output has one rating, so what is peculiar to an output and "
    "chance can't be told apart.",
    "bootstrap_instead_of_model": "The mixed model could not be used: the bootstrap over items and "
    "raters stands in its place.",
    "one_rater": "One rater: nothing can be said about other raters, so systems are described and "
    "not tested.",
    "one_item": "One input: nothing can be said about other inputs.",
    "unlinked": "The raters fall into groups that share no input. Whether one group is stricter or "
    "its inputs are harder can't be told.",
    "model_misfit": "Davidson's model does not fit: one strength for each system and one share of "
    "ties do not give the counts that were seen. Read the pairs; see expected beside observed.",
    "through_others": "Some systems were never compared directly, only through others. What ranks "
    "and strengths say of them is the model's word.",
    "many_pairs": "More than 1,000 pairs of systems: their effect sizes are left out. With a "
    "baseline there are fewer pairs, and fewer tests to correct for.",
    "thin_systems": "Ratings of a single input, or by a single rater: {names}. What is a system's "
    "own can't be told from what is that input's or that rater's, so it is not compared with "
    "others; two that share their one input are compared over raters, on this input only.",
    "thin_pairs": "All answers by a single rater: {names}. What is a system's own can't be told "
    "from what that rater prefers, so these are not compared.",
    "undetermined": "These are not compared, since their ratings can't tell what is a system's own "
    "from what is its inputs' or its raters': {names}.",
    "no_shared_input": "No input has ratings of two systems: nothing is paired, and systems meet "
    "across different inputs only. If some outputs are of one input, is a column group missing?",
    "no_data": "There are no ratings.",
    "no_baseline": "The baseline has no ratings here, so every pair of systems is compared.",
    "possible_slips": "Some scores are so far from the others that they may be slips, such as 700 "
    "for 70. They count as entered, and can move means and comparisons: look at the winsorised "
    "means and at the order within pages before you believe a difference.",
}


def warn_about(table: Table) -> list[dict[str, Any]]:
    """What is true of all of the data."""
    rows = table.rows
    found = []
    for origin, words in (
        ("simulated", "simulated: they are no data about anything"),
        ("imported", "imported: they were collected elsewhere"),
    ):
        count = int((rows.origin == origin).sum())
        if count:
            whole = f"All {len(rows):,}" if count == len(rows) else f"{count:,} of {len(rows):,}"
            found.append(_warning(origin, f"{whole} ratings are {words}."))
    if not table.raters_known:
        found.append(describe("raters_unknown"))
    if table.raters_known and count_parts(rows) > 1:
        found.append(describe("unlinked"))
    return found


def warn_of_few(parts: Mapping[str, Table]) -> list[dict[str, Any]]:
    """Where few raters or inputs count, by criterion; said of all of the data where all do.

    `parts`: of each criterion that has some, its ratings or answers.
    """
    found: dict[str, list[str]] = {"few_raters": [], "few_items": []}
    for key, part in parts.items():
        if part.raters_known and part.rows.participant.nunique() < FEW_RATERS:
            found["few_raters"].append(key)
        if part.rows.group.nunique() < FEW_ITEMS:
            found["few_items"].append(key)
    return [
        describe(code, key)
        for code, keys in found.items()
        for key in ([None] if keys and len(keys) == len(parts) else keys)
    ]


def warn_of_criterion(
    key: str, cautions: Iterable[str], pairs: Sequence[Mapping[str, Any]] = ()
) -> list[dict[str, Any]]:
    """What is true of one criterion, less what is said elsewhere (as by `warn_of_few`). `pairs`:
    those compared, of which "models_disagree" names some."""
    # a variance of 0 is a valid answer: the notes tell it
    said_elsewhere = {"few_raters", "raters_unknown", "few_items", "singular_model"}
    return [
        _warning(code, describe_disagreeing(pairs), key)
        if code == "models_disagree"
        else describe(code, key)
        for code in dict.fromkeys(cautions)
        if code not in said_elsewhere
    ]


def describe(code: str, criterion: str | None = None) -> dict[str, Any]:
    """The warning of this code, which may be followed by what it names, as in "code: A, B"; one
    that is not known here stands as its code."""
    code, _, names = code.partition(": ")
    text = _TEXTS.get(code, code.replace("_", " ").capitalize() + ".")
    # names are put in as they stand, whatever signs they hold
    return _warning(code, text.replace("{names}", names), criterion)


def _warning(code: str, text: str, criterion: str | None = None) -> dict[str, Any]:
    return {"code": code, "text": text, "criterion": criterion}
