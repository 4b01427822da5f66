"""The sentences of a report: a function for each code, whose arguments are the facts.

`analysis` returns notes: {"code": "few_raters", "criterion": "fluency", "facts": {"raters": 3}}.
`write_sentence` makes plain text of one; pages, files and commands place it. To add a sentence,
return a note with a new code and write a function of that name here, with @sentence.

No Django: `python -m evalsite.analysis` prints the same sentences.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from evalsite.analysis.figure import write_coefficient
from evalsite.analysis.findings import write_p
from evalsite.lib.words import count_of

Note = Mapping[str, Any]
Pair = Mapping[str, Any]

SENTENCES: dict[str, Callable[..., str]] = {}
STUDIES = {"first": "First study", "second": "Repeat"}
_MOST_NAMED = 10  # names in a sentence
_MOST_TOLD = 3  # pairs with their figures


def sentence(write: Callable[..., str]) -> Callable[..., str]:
    """Register the sentence of the code that the function is named after."""
    SENTENCES[write.__name__] = write
    return write


def write_sentence(note: Note) -> str:
    """Return the sentence of a note; where two studies are compared, which of them it is about."""
    text = SENTENCES[note["code"]](**note["facts"])
    return f"{STUDIES[note['study']]}: {text}" if "study" in note else text


def _list_some(names: Sequence[str]) -> str:
    """Return the names with commas; of many only the first, and how many more."""
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f", and {more:,} more" if more > 0 else "")


def _list_pairs(pairs: Iterable[Sequence[str]]) -> str:
    return _list_some([f"{first} and {second}" for first, second in pairs])


def _list_few(phrases: Sequence[str]) -> str:
    """Return the first phrases as a list with semicolons, and how many more pairs there are."""
    more = len(phrases) - _MOST_TOLD
    rest = [f"{more:,} more {'pair' if more == 1 else 'pairs'}"] if more > 0 else []
    *before, last = [*phrases[:_MOST_TOLD], *rest]
    return f"{'; '.join(before)}; and {last}" if before else last


def _write_day(moment: str) -> str:
    at = datetime.fromisoformat(moment)
    return f"{at.day} {at:%B %Y}"


# --- warnings: of all of the data -----------------------------------------------------


@sentence
def simulated(ratings: int, total: int) -> str:
    whole = f"All {total:,}" if ratings == total else f"{ratings:,} of {total:,}"
    return f"{whole} ratings are simulated, so they show nothing about real systems."


@sentence
def imported(ratings: int, total: int) -> str:
    whole = f"All {total:,}" if ratings == total else f"{ratings:,} of {total:,}"
    return f"{whole} ratings are imported, so they were collected elsewhere."


@sentence
def raters_unknown() -> str:
    return (
        "The raters of this file are not single persons. Figures that need raters are left out, "
        "and results hold for these raters only, over inputs."
    )


@sentence
def unlinked() -> str:
    return (
        "The raters fall into groups that share no input, so nobody can tell whether one group is "
        "stricter or its inputs are harder."
    )


@sentence
def few_raters(raters: int) -> str:
    if raters < 2:
        return "With one rater, nobody knows how others would rate."
    wide = "very wide" if raters == 2 else "wide"
    people = {2: "two", 3: "three", 4: "four"}[raters]
    text = (
        f"With {raters} raters the intervals are {wide}: {people} people tell us little about how "
        "others would rate."
    )
    return text if raters == 2 else f"{text} In simulations the tests keep their 5% error rate."


@sentence
def few_items() -> str:
    return "Fewer than 10 inputs: intervals and p values are rough."


@sentence
def across(comparisons: int) -> str:
    return (
        "No primary criterion was named, so p values are corrected across all "
        f"{comparisons:,} comparisons of all criteria."
    )


@sentence
def ignored_by_most(items: int, ratings: int) -> str:
    return (
        f"{count_of(items, 'item is', 'items are')} left out of results with "
        f"{count_of(ratings, 'rating')}: more than half of those who rated or ignored such an "
        "item ignored it. Results without leaving any out are shown beside them."
    )


@sentence
def too_alike(pairs: Sequence[Mapping[str, Any]]) -> str:
    phrases = [
        f"{' and '.join(pair['labels'])} ({write_coefficient(pair['correlation'] or 0.0)})"
        for pair in pairs
    ]
    return (
        "Raters may not tell these criteria apart (Spearman’s ρ over outputs): "
        f"{', '.join(phrases)}."
    )


@sentence
def copied(
    pairs: int, equal: int, outputs: int, others: Sequence[float], raters: Sequence[str] = ()
) -> str:
    """`others`: the lowest and the highest share of the other pairs; `raters`: the names of the
    two, on pages for staff."""
    who = " and ".join(raters) or "Two raters"
    if pairs > 1:
        who = f"In {pairs:,} pairs, raters gave nearly identical answers: in one of them, both"
    shares = " to ".join(dict.fromkeys(f"{share:.0%}" for share in others))
    beside = f" Other pairs agree on {shares}." if shares else ""
    return (
        f"{who} gave identical answers on {equal:,} of {count_of(outputs, 'output')}.{beside} "
        "Check whether one copied the other, or whether they are the same person. Agreement and "
        "tests count them as two."
    )


@sentence
def both_alike(equal: int, outputs: int) -> str:
    return (
        f"Both raters gave the same answer on {equal:,} of {count_of(outputs, 'output')}. If they "
        "settled their answers together, say so in the report: agreement then describes the "
        "discussion."
    )


@sentence
def copies_unseen(most_shared: int) -> str:
    return (
        "Copies can't be seen in sets this small: two people share "
        f"{count_of(most_shared, 'output')} at most, and equal answers on all of them may be "
        "chance."
    )


@sentence
def unknown_kind(kind: str, analysed_as: str) -> str:
    return (
        f"Questions of the kind {kind} are analysed as {analysed_as}, going by their columns. Say "
        "--protocol if they are something else."
    )


@sentence
def read_as_points(low: float, high: float, step: float, is_range_found: bool) -> str:
    if step != 1:
        return f"Read as points from {low:g} to {high:g} in steps of {step:g}."
    if is_range_found:
        return (
            f"Read as points from {low:g} to {high:g} (the range found); give --scale if it is "
            "wider."
        )
    return f"Read as points from {low:g} to {high:g}."


@sentence
def read_as_slider(low: float, high: float, is_range_found: bool) -> str:
    found = " (the range found); give --scale if it is wider" if is_range_found else ""
    return f"Read as a slider from {low:g} to {high:g}{found}."


@sentence
def read_as_numbers(low: float | None, high: float | None) -> str:
    if low is None:
        return "Read as numbers without bounds; give --scale if the scale has ends."
    return f"Read as numbers from {low:g} to {high:g}."


@sentence
def read_as_decisions() -> str:
    return "Read as decisions: 1 is yes, 0 is no."


# --- warnings: of the plan ------------------------------------------------------------


@sentence
def late_baseline(answers: int, at: str) -> str:
    return f"The baseline was chosen {_write_late(answers, at)}"


@sentence
def late_primary(answers: int, at: str) -> str:
    return f"The primary criterion was chosen {_write_late(answers, at)}"


@sentence
def late_margins(answers: int, at: str) -> str:
    return f"The margin was set {_write_late(answers, at)}"


@sentence
def late_rule(answers: int, at: str) -> str:
    return f"The exclusion rule was worded {_write_late(answers, at)}"


def _write_late(answers: int, at: str) -> str:
    return f"after {count_of(answers, 'answer')}, on {_write_day(at)}: not before data were seen."


# --- warnings: of one criterion -------------------------------------------------------


@sentence
def nested_raters() -> str:
    return (
        "Each rater rated one system only, so differences between raters and between systems "
        "can't be told apart well."
    )


@sentence
def one_rater() -> str:
    return (
        "One rater: this says nothing about other raters, so systems are described and not tested."
    )


@sentence
def one_item() -> str:
    return "With only one input, a system's own effect can't be separated from that input's."


@sentence
def no_shared_input() -> str:
    return (
        "No input has ratings of two systems, so nothing is paired: systems are compared across "
        "different inputs. If outputs share inputs, is a column group missing?"
    )


@sentence
def no_baseline() -> str:
    return "The baseline has no ratings here, so every pair of systems is compared."


@sentence
def no_direction() -> str:
    return "Nothing says whether high or low numbers are better: no ranks."


@sentence
def thin_systems(systems: Sequence[str]) -> str:
    return (
        f"Ratings of a single input, or by a single rater: {_list_some(systems)}. A system's own "
        "effect can't be separated from that input's or rater's, so these are not compared with "
        "others. Two that share their only input are compared over raters, on this input only."
    )


@sentence
def thin_pairs(pairs: Sequence[Sequence[str]]) -> str:
    return (
        f"All answers by a single rater: {_list_pairs(pairs)}. A system's own effect can't be "
        "separated from what that rater prefers, so these are not compared."
    )


@sentence
def undetermined(pairs: Sequence[Sequence[str]]) -> str:
    return (
        "These are not compared, because their ratings can't separate a system's own effect from "
        f"that of its inputs or raters: {_list_pairs(pairs)}."
    )


@sentence
def many_pairs() -> str:
    return (
        "More than 1,000 pairs of systems: their effect sizes are left out. With a baseline there "
        "are fewer pairs, and fewer tests to correct for."
    )


@sentence
def bootstrap_instead_of_model() -> str:
    return (
        "The mixed model could not be used for some pairs. The bootstrap over inputs and raters "
        "replaces it there."
    )


@sentence
def own_error_differs(pairs: Sequence[Pair]) -> str:
    phrases = [
        f"{pair['system_1']} and {pair['system_2']} then "
        f"{'differ' if pair['p'] < 0.05 else 'do not differ'} clearly (p {write_p(pair['p'])})"
        for pair in pairs
    ]
    return (
        "The model assumes that raters vary alike between systems. With a separate standard error "
        f"for each pair, some verdicts change: {_list_some(phrases)}."
    )


@sentence
def models_disagree(pairs: Sequence[Pair]) -> str:
    phrases = [
        f"{pair['system_1']} and {pair['system_2']}, p {write_p(pair['p_ranks'])} and "
        f"p {write_p(pair['p_means'])}"
        for pair in pairs
    ]
    return (
        "A rank test (Wilcoxon) and a test of means (sign flips) over the same inputs disagree at "
        f"the 5% level, before correction: {_list_few(phrases)}. Look at the distributions."
    )


@sentence
def possible_slips() -> str:
    return (
        "Some scores are so far from the others that they may be slips, such as 700 for 70. They "
        "count as entered, and can move means and comparisons: before you believe a difference, "
        "look at the winsorised means and the order on a page, among the further analyses."
    )


@sentence
def separated() -> str:
    return "A system wins, or loses, every comparison: its strength has no finite value."


@sentence
def disconnected() -> str:
    return "Some systems are never compared, not even through others."


@sentence
def model_misfit() -> str:
    return (
        "Davidson's model does not fit: one strength for each system and one share of ties don't "
        "give the observed counts. Rely on the pairs, and compare expected with observed."
    )


@sentence
def through_others() -> str:
    return (
        "Some systems were never compared directly, only through others. How they rank against "
        "each other rests on the model alone."
    )


# --- warnings: of a study and its repetition ------------------------------------------


@sentence
def same_answers(ratings: int) -> str:
    return (
        f"{count_of(ratings, 'rating')} in both studies {'has' if ratings == 1 else 'have'} one "
        "participant, item and time: they are the same answers, and agree with themselves. A copy "
        "of a study is no repetition of it."
    )


@sentence
def no_shared_outputs(noun: str) -> str:
    return (
        f"The studies have no {noun}s in common, matched by item and system: what they say of "
        "systems can be compared, agreement on outputs can't."
    )


@sentence
def other_items(noun: str, common: int, first: int, second: int) -> str:
    return (
        f"{count_of(common, noun)} {'is' if common == 1 else 'are'} in both studies, of "
        f"{first:,} in the first and {second:,} in the repeat. Scores of systems are of all that "
        "each rated."
    )


@sentence
def other_texts(noun: str, changed: int) -> str:
    return (
        f"{count_of(changed, noun)} of one name {'has' if changed == 1 else 'have'} another text "
        "or input in the repeat: left out of agreement, not of the scores of systems."
    )


@sentence
def only_first(systems: Sequence[str]) -> str:
    return f"First study only: {', '.join(systems)}."


@sentence
def only_second(systems: Sequence[str]) -> str:
    return f"Repeat only: {', '.join(systems)}."


@sentence
def other_criteria(criteria: Sequence[str]) -> str:
    return f"Rated in one of the studies only: {', '.join(criteria)}."


@sentence
def other_scale(label: str) -> str:
    return (
        f"{label}: the studies have other scales, so scores and agreement can't be compared; the "
        "order of systems and what was found can."
    )


@sentence
def other_standard(label: str, standard: float) -> str:
    return (
        f"{label}: standards differ. All scores are put in relation to a standard of {standard:g}."
    )


@sentence
def versions(number: int) -> str:
    return (
        f"It has {number} versions of its texts and settings; what follows compares the newest "
        "ones."
    )


@sentence
def other_instructions() -> str:
    return "The instructions of the two studies differ."


@sentence
def other_language() -> str:
    return "The two studies are in different languages."


@sentence
def other_wording(labels: Sequence[str]) -> str:
    return f"Questions, definitions or scales differ between the two: {', '.join(labels)}."


@sentence
def other_options(options: Sequence[str]) -> str:
    return f"Options of the protocol differ: {', '.join(options)}."


_SETTINGS = {
    "k": "answers per item",
    "set_size": "size of a set",
    "max_sets": "sets a person",
    "groups": "how a person meets an input",
    "item_order": "order of items",
    "is_aided": "aids",
    "is_practice_on": "practice",
    "may_skip_practice": "skipping practice",
    "is_qualification_on": "qualification",
    "is_eligibility_on": "questions at entry",
    "is_check_on": "check of the instructions",
}
SETTINGS = tuple(_SETTINGS)  # those whose differences are named


@sentence
def other_settings(settings: Sequence[tuple[str, Any, Any]]) -> str:
    phrases = [
        f"{_SETTINGS[name]} {_write_setting(first)} in the first, {_write_setting(second)} here"
        for name, first, second in settings
    ]
    return f"Set up differently: {'; '.join(phrases)}."


def _write_setting(value: Any) -> str:
    if value is None:
        return "no limit"
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


# --- methods: README and scripts of a bundle have the same words ----------------------

METHOD_WORDS = {
    "model": "a linear mixed model (REML) of all systems",
    "errors": "Kenward–Roger standard errors and degrees of freedom",
    "correction": "Tests are two-sided; p values are corrected by Holm’s method.",
    "agreement": "Intervals of agreement treat raters and inputs as samples, or say for which "
    "raters they hold.",
}
