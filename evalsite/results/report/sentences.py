"""The sentences of a report: a function for each code, whose arguments are the facts.

`analysis` returns notes: {"code": "few_raters", "criterion": "fluency", "facts": {"raters": 3}}.
`write_sentence` makes plain text of one; pages, files and commands place it. To add a sentence,
return a note with a new code and write a function of that name here, with @sentence.

No Django: `python -m evalsite.analysis` prints the same sentences.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from math import exp, log10
from typing import Any

from evalsite.analysis.figure import write_coefficient
from evalsite.lib.words import count_of, list_of
from evalsite.results.document.methods import write_method, write_way

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


def write_p(p: float) -> str:
    """Return "= .023", "< .001" or "> .999"."""
    if p > 0.9994:
        return "> .999"
    return "< .001" if p < 0.001 else f"= {p:.3f}".replace("0.", ".", 1)


def _write_day(moment: str) -> str:
    at = datetime.fromisoformat(moment).astimezone(UTC)
    return f"{at.day} {at:%B %Y}"


# --- warnings: of all of the data -----------------------------------------------------


@sentence
def simulated(ratings: int, total: int) -> str:
    if ratings == total:
        return "These ratings are simulated, so they show nothing about real systems."
    are = "is" if ratings == 1 else "are"
    return (
        f"{ratings:,} of {total:,} ratings {are} simulated, so the results show nothing about real "
        "systems."
    )


@sentence
def imported(ratings: int, total: int) -> str:
    if total == 1:
        return "The only rating is imported, so it was collected elsewhere."
    whole = f"All {total:,}" if ratings == total else f"{ratings:,} of {total:,}"
    are, they_were = ("is", "it was") if ratings == 1 else ("are", "they were")
    return f"{whole} ratings {are} imported, so {they_were} collected elsewhere."


@sentence
def raters_unknown() -> str:
    return (
        "The raters of this file are not single persons. Figures that need raters are left out, "
        "and results hold for these raters only, over inputs."
    )


@sentence
def unlinked() -> str:
    return (
        "The raters fall into groups that share no input, so a stricter group can’t be told apart "
        "from one with harder inputs."
    )


@sentence
def few_raters(raters: int, keeps_error_rate: bool = False) -> str:
    if raters < 2:
        return "One rater can’t show how others would rate."
    wide = "very wide" if raters == 2 else "wide"
    people = {2: "two", 3: "three", 4: "four"}.get(raters, str(raters))
    text = (
        f"With {raters} raters the intervals are {wide}: {people} people tell us little about how "
        "others would rate."
    )
    if keeps_error_rate:
        text += " In simulations of designs like this one, the tests keep their 5% error rate."
    return text


@sentence
def few_clusters(clusters: int, noun: str = "clusters") -> str:
    """`noun`: what the clusters are called: "talks"."""
    if clusters == 1:
        return "All inputs come from one cluster, so results describe this cluster and not others."
    return f"With only {clusters} {noun}, results describe these {noun} and not others."


@sentence
def clusters_used(items: int, clusters: int, noun: str, column: str) -> str:
    """Say what was answered at import, for the plan and the methods."""
    return f"{_write_clusters(items, clusters, noun, column)} These are used as clusters of items."


@sentence
def clusters_not_used(items: int, clusters: int, noun: str, column: str) -> str:
    """Say what was answered at import, for the plan and the methods."""
    return f"{_write_clusters(items, clusters, noun, column)} Items are treated as independent."


def _write_clusters(items: int, clusters: int, noun: str, column: str) -> str:
    if column:
        return f"{items:,} items come from {clusters:,} {noun} (column {column})."
    return f"The ids of {items:,} items share {clusters:,} beginnings."


@sentence
def clusters_not_named(items: int, clusters: int, column: str) -> str:
    if column:
        start = f"These {items:,} items come from {clusters:,} clusters (column {column})."
        named = f"--map {column}=cluster"
    else:
        start = f"The ids of these {items:,} items share {clusters:,} beginnings, as in clusters."
        named = "a column cluster"
    return (
        f"{start} Items of one cluster resemble each other. If clusters aren’t named, tests find "
        "differences that don’t exist in 9% of studies instead of 5%. Name them with "
        f"{named}, or add --independent if the items are independent."
    )


@sentence
def few_items() -> str:
    return "Fewer than 10 inputs: intervals and p values are rough."


@sentence
def across(comparisons: int) -> str:
    all_of_them = "both" if comparisons == 2 else f"all {comparisons:,}"
    return (
        f"No primary criterion was named, so p values are corrected across {all_of_them} "
        "comparisons (Holm)."
    )


@sentence
def ignored_by_most(items: int, ratings: int) -> str:
    return (
        f"{count_of(items, 'item')} with {count_of(ratings, 'rating')} "
        f"{'is' if items == 1 else 'are'} left out of results: more than half of those who rated "
        "or ignored such an item ignored it. Further analyses show the results with such items."
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
        "Copied answers can’t be detected in sets this small: two people share at most "
        f"{count_of(most_shared, 'output')}, and equal answers on all of them may be chance."
    )


@sentence
def unknown_kind(kind: str, analysed_as: str) -> str:
    return (
        f"Questions of the kind {kind} are analysed as {analysed_as}, going by their columns. Use "
        "--protocol if they are something else."
    )


@sentence
def read_as_points(low: float, high: float, step: float, is_range_found: bool) -> str:
    steps = f" in steps of {step:g}" if step != 1 else ""
    found = " (the range found); give --scale if it is wider" if is_range_found else ""
    return f"Read as points from {low:g} to {high:g}{steps}{found}."


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


# --- how a file was read --------------------------------------------------------------


@sentence
def pairs_unknown(items: int) -> str:
    return (
        f"It isn’t known which two systems {count_of(items, 'item compares', 'items compare')}, so "
        "no systems are compared. Add the file of items, with columns item and system, or name "
        "both systems in columns system_1 and system_2."
    )


@sentence
def pairs_by_ending(endings: Sequence[Sequence[str]]) -> str:
    phrases = [f"{end} is {first} and {second}" for end, first, second in endings]
    return f"The end of an item’s id says which two systems it compares: {'; '.join(phrases)}."


@sentence
def columns_read(columns: Sequence[Sequence[str]]) -> str:
    phrases = ", ".join(f"{name}={field}" for name, field in columns)
    return f"Columns were read as {phrases}. Use --map COLUMN=FIELD to read one differently."


@sentence
def only_raters(raters: Sequence[str]) -> str:
    return f"Only ratings by {', '.join(raters)} are analysed (--rater)."


@sentence
def only_first_ratings(first: int, left_out: int) -> str:
    which = "first rating of each output is"
    if first > 1:
        which = f"first {first} ratings of each output are"
    return f"Only the {which} analysed (--first): {left_out:,} are left out."


# --- warnings: of the plan ------------------------------------------------------------


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
        "can’t be told apart well."
    )


@sentence
def one_rater() -> str:
    return (
        "One rater: this says nothing about other raters, so systems are described and not tested."
    )


@sentence
def one_item() -> str:
    return "With only one input, a system’s own effect can’t be separated from that input’s."


@sentence
def no_shared_input() -> str:
    return (
        "No input has ratings of two systems, so nothing is paired: systems are compared across "
        "different inputs. If outputs do share inputs, add a column group."
    )


@sentence
def no_baseline() -> str:
    return "The baseline has no ratings here, so every pair of systems is compared."


@sentence
def no_direction() -> str:
    return "Nothing says whether high or low numbers are better, so there are no ranks."


@sentence
def thin_systems(systems: Sequence[str]) -> str:
    return (
        f"Ratings of a single input, or by a single rater: {_list_some(systems)}. A system’s own "
        "effect can’t be separated from that input’s or rater’s, so these are not compared with "
        "others. Two that share their only input are compared over raters, on this input only."
    )


@sentence
def thin_pairs(pairs: Sequence[Sequence[str]]) -> str:
    return (
        f"All answers by a single rater: {_list_pairs(pairs)}. A system’s own effect can’t be "
        "separated from what that rater prefers, so these are not compared."
    )


@sentence
def undetermined(pairs: Sequence[Sequence[str]]) -> str:
    return (
        "These are not compared, because their ratings can’t separate a system’s own effect from "
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
        "The mixed model could not be used for some pairs. A bootstrap over inputs and raters "
        "replaces it there, or sign flips where all differences are equal."
    )


@sentence
def missing_by_system(
    system: str,
    shown: int,
    missing: int,
    share: float,
    others: float,
    p: float,
    better: str,
    unit: str,
    effect: str,
    shift: float | None,
) -> str:
    worse = "high" if better == "lower" else "low"
    text = (
        f"Ratings of {system} are missing more often than those of the others ({share:.0%} and "
        f"{others:.0%}, p {write_p(p)})."
    )
    if better == "none":
        return (
            f"{text} If people skip outputs because of how they would rate them, figures are "
            "biased."
        )
    text += (
        f" If people skip outputs that they would rate {worse}, {system} looks better than it is"
    )
    if shift is None:
        return f"{text}."
    unit = _add_unit(unit) if effect == "difference" else ""
    return (
        f"{text}: the {count_of(missing, 'missing rating')} would have to be "
        f"{_write_amount(shift, effect)}{unit} {worse}er on average to change the finding."
    )


@sentence
def own_error_differs(pairs: Sequence[Pair]) -> str:
    phrases = [
        f"With its own standard error, the difference of {pair['system_1']} and "
        f"{pair['system_2']} {'is' if pair['p'] < 0.05 else 'isn’t'} clear "
        f"(p {write_p(pair['p'])})."
        for pair in pairs[:_MOST_NAMED]
    ]
    more = [pair["system"] for pair in pairs if pair["p"] >= 0.05]
    less = [pair["system"] for pair in pairs if pair["p"] < 0.05]
    starts = [
        f"Raters differ {how} about {list_of(systems)} than about the others."
        for how, named, opposite in (("more", more, less), ("less", less, more))
        # in one pair a system may have the larger error, in another the smaller
        if (systems := [name for name in dict.fromkeys(named) if name not in opposite])
    ]
    rest = len(pairs) - _MOST_NAMED
    ends = [f"The same holds for {count_of(rest, 'more pair')}."] if rest > 0 else []
    return " ".join([*starts, *phrases, *ends])


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
        "Davidson’s model does not fit: one strength for each system and one share of ties don’t "
        "give the observed counts. Rely on the pairs, and compare expected with observed."
    )


@sentence
def through_others() -> str:
    return (
        "Some systems were never compared directly, only through others. How they rank against "
        "each other rests on the model alone."
    )


# --- flags: what a rater did, as a reason to look -------------------------------------


@sentence
def straight_lining(is_one_value: bool) -> str:
    if is_one_value:
        return "Gives one value nearly always."
    return "Varies far less than the other raters."


@sentence
def speeder(share: float | None, is_under_floor: bool) -> str:
    """`share`: of the time that raters take; None where pages too short to read are the sign."""
    if share is None:
        return "Often takes too little time to read."
    part = "half" if share == 0.5 else f"{share:.0%}"
    floor = ", and often too little to read" if is_under_floor else ""
    return f"Takes less than {part} of the time that raters take{floor}."


@sentence
def disagreement() -> str:
    return "Orders outputs unlike the other raters."


@sentence
def offset(is_higher: bool) -> str:
    return f"Rates {'higher' if is_higher else 'lower'} than the other raters."


@sentence
def reserved_points() -> str:
    return "Uses points often that are meant for difficult cases."


@sentence
def drift_trial(is_rising: bool) -> str:
    return f"Ratings {'rise' if is_rising else 'fall'} over the study."


@sentence
def drift_place(is_rising: bool) -> str:
    return f"Ratings {'rise' if is_rising else 'fall'} over a set."


@sentence
def identical_criteria() -> str:
    return "Gives all criteria of an output one value."


@sentence
def gold() -> str:
    return "Answers too few control items right."


@sentence
def inconsistent() -> str:
    return "Rates the same output differently the second time."


@sentence
def always_ties(answers: int, share_of_others: float) -> str:
    return (
        f"Says “equal” in all {answers:,} answers; the others say so in {share_of_others:.0%} of "
        "theirs."
    )


@sentence
def never_ties(answers: int, share_of_others: float) -> str:
    return (
        f"Never says “equal” in {answers:,} answers; the others say so in {share_of_others:.0%} of "
        "theirs."
    )


@sentence
def one_place(place: str, answers: int) -> str:
    return (
        f"Prefers the {place} side whatever its text, judging by "
        f"{count_of(answers, 'decided answer')}."
    )


@sentence
def circles(circular: int, triples: int) -> str:
    return f"Goes in circles: {circular:,} of {count_of(triples, 'triple')}."


# --- limitations: of the study and its collection --------------------------------------


# --- findings: a comparison of two systems --------------------------------------------

# what a comparison by this effect says of the system that is ahead, and where nothing is clear
_AHEAD = {
    "difference": "is rated {size}{unit} higher than {other}",
    "ratio": "is rated {size} times as high as {other}",
    "risk_difference": "is accepted {size} more often than {other}",
    "net_win_share": ("is preferred to {other} more often than the reverse, by {size}"),
}
_UNCLEAR = {
    "difference": "{value}{unit}",
    "ratio": "a ratio of {value}",
    "risk_difference": "{value}",
    "net_win_share": "a net win share of {value}",
}
_AHEAD_LOWER = {
    "difference": "is rated {size}{unit} lower than {other}",
    "ratio": "is rated {size} times as high as {other}",
    "risk_difference": "is accepted {size} less often than {other}",
}
# where neither high nor low values are better
_APART = {
    "difference": "{first} and {second} differ by {size}{unit}",
    "ratio": "{first} and {second} differ by a factor of {size}",
    "risk_difference": "{first} and {second} differ by {size}",
}
# where every rater gives the same difference on every input
_ALWAYS = _AHEAD | {"net_win_share": "is preferred to {other} by {size} of all answers"}
_ALWAYS_WHOLLY = {
    "risk_difference": "is accepted and {other} is not",
    "net_win_share": "is preferred to {other}",
}
_IN_PERCENT = {"risk_difference", "net_win_share"}
_UNITS = {
    "inputs": ("input", "inputs"),
    "clusters": ("cluster of inputs", "clusters of inputs"),
    "raters": ("rater", "raters"),
}
_WHY_UNDEFINED = {
    "no_data": "there are no ratings of both",
    "no_variation": "all ratings are equal",
    "too_few": "there are too few ratings",
    "no_overlap": "nothing links their ratings",
    "thin": "one of them has ratings of a single input, or by a single rater",
    "undetermined": "their ratings can’t separate systems from inputs or raters",
    "no_shared_input": "no input has ratings of both",
    "by_one_rater": "all answers on them are by a single rater",
}


@sentence
def higher(**facts: Any) -> str:
    return _write_clear(facts)


@sentence
def lower(**facts: Any) -> str:
    return _write_clear(facts)


@sentence
def not_enough(**facts: Any) -> str:
    if facts["spread"] is not None:
        return _write_always(facts) + _write_reach(facts)
    value = _UNCLEAR[facts["effect"]].format(
        value=_write_amount(facts["value"], facts["effect"]), unit=_add_unit(facts["unit"])
    )
    brackets = [
        *(["mixed model"] if facts["is_by_model"] else []),
        *_write_interval(facts, is_turned=False),
        *_write_t(facts),
        *([f"corrected p {write_p(facts['p_corrected'])}"] if _is_tested(facts) else []),
    ]
    if not _is_tested(facts) and not facts["has_interval"]:
        brackets.append("not tested: too few raters or inputs for an interval")
    text = f"No clear difference between {facts['first']} and {facts['second']}: {value}"
    text += f" ({', '.join(brackets)})." if brackets else "."
    if _is_tested(facts) and facts["p"] is not None and facts["p"] < 0.05 and facts["family"] > 1:
        equal = "1" if facts["effect"] == "ratio" else "0"
        text += (
            f" The interval for this pair excludes {equal}, but it isn’t corrected; after "
            f"correction for {facts['family']:,} comparisons the difference isn’t clear."
        )
    return text + _write_reach(facts)


@sentence
def undefined(first: str, second: str, why: str) -> str:
    reason = _WHY_UNDEFINED.get(why, why.replace("_", " "))
    return f"{first} and {second} can’t be compared: {reason}."


def _is_tested(facts: Mapping[str, Any]) -> bool:
    return facts["p_corrected"] is not None


def _write_clear(facts: Mapping[str, Any]) -> str:
    if facts["spread"] is not None:
        return _write_always(facts) + _write_reach(facts)
    is_turned = _take_sides(facts)[-1]
    words = _write_ahead(_AHEAD, facts)
    # a mixed model weighs answers: its balance is not that of the counts
    if facts["effect"] == "net_win_share" and not facts["is_by_model"]:
        words += " of all answers"
    brackets = [
        *(["lower is better"] if facts["better"] == "lower" else []),
        *([f"{_take_sides(facts)[0]} is higher"] if facts["better"] == "none" else []),
        *(["mixed model"] if facts["is_by_model"] else []),
        *_write_interval(facts, is_turned=is_turned),
        f"corrected p {write_p(facts['p_corrected'])}",
    ]
    return f"{words} ({', '.join(brackets)})." + _write_reach(facts)


def _write_ahead(words: Mapping[str, str], facts: Mapping[str, Any]) -> str:
    """Return which system is ahead, by how much; or that the two differ, if none is better."""
    ahead, other, size, _ = _take_sides(facts)
    effect, better = facts["effect"], facts["better"]
    unit = _add_unit(facts["unit"])
    if better == "none":
        first, second = facts["first"], facts["second"]
        return _APART[effect].format(first=first, second=second, size=size, unit=unit)
    known = _AHEAD_LOWER[effect] if better == "lower" else words[effect]
    return f"{ahead} {known.format(size=size, unit=unit, other=other)}"


def _add_unit(unit: str) -> str:
    return f" {unit}" if unit else ""


def _take_sides(facts: Mapping[str, Any]) -> tuple[str, str, str, bool]:
    """Return the system that is ahead, the other, the size of the effect without a sign, and
    whether the interval has to be turned to go with it."""
    effect, value, is_lower = facts["effect"], facts["value"], facts["better"] == "lower"
    is_below = value <= 1 if effect == "ratio" else value <= 0
    is_second = is_below != is_lower
    size = abs(value)
    is_turned = is_below
    if effect == "ratio":
        # where lower is better, a ratio is below 1
        is_turned = is_second
        size = 1 / value if is_turned else value
    first, second = facts["first"], facts["second"]
    ahead, other = (second, first) if is_second else (first, second)
    return ahead, other, _write_amount(size, effect), is_turned


def _write_amount(value: float, effect: str) -> str:
    """Return the size of an effect; of shares with its unit, which goes with the number."""
    text = _write_effect(value, effect)
    if effect not in _IN_PERCENT:
        return text
    return f"{text} percentage {'point' if text in ('1', '−1') else 'points'}"


def _write_effect(value: float, effect: str) -> str:
    # a zero has no sign: what rounds to it does not either
    text = f"{round(value * 100) + 0}" if effect in _IN_PERCENT else f"{round(value, 2) + 0.0:.2f}"
    return text.replace("-", "−")


def _write_interval(facts: Mapping[str, Any], *, is_turned: bool) -> list[str]:
    """Return the interval as seen from the system that is named first, and t where it has one."""
    effect, low, high = facts["effect"], facts["low"], facts["high"]
    if low is None or high is None:
        is_open = _is_tested(facts) and not facts["has_interval"]
        why = "no interval, since with so few ratings every difference is possible"
        return [why] if is_open else []
    if is_turned:
        low, high = (1 / high, 1 / low) if effect == "ratio" else (-high, -low)
    bounds = f"{_write_effect(low, effect)} to {_write_effect(high, effect)}"
    return [f"{facts['level']:.0%} CI {bounds}"]


def _write_t(facts: Mapping[str, Any]) -> list[str]:
    if facts["t"] is None or facts["df"] is None:
        return []
    t = f"{round(facts['t'], 2) + 0.0:.2f}".replace("-", "−")
    return [f"t({_write_df(facts['df'])}) = {t}"]


def _write_df(df: float) -> str:
    """Return degrees of freedom with one decimal, where there is one."""
    return f"{df:,.1f}".removesuffix(".0")


def _write_reach(facts: Mapping[str, Any]) -> str:
    """Return what the comparison holds for, where that isn't as planned."""
    text = " This holds on this input only." if facts["is_on_one_input"] else ""
    if facts["is_exploratory"]:
        text += " Exploratory: the plan doesn’t name this comparison."
    return text


def _write_always(facts: Mapping[str, Any]) -> str:
    """Return the sentence for differences that are all equal, so that chance can't be estimated."""
    spread, effect = facts["spread"], facts["effect"]
    unit, units = _UNITS[spread["units_of"]]
    if not spread["is_difference"]:
        return (
            f"{facts['first']} and {facts['second']} come out equal "
            f"{_write_where(spread, 'with')}, so there is nothing to test. That is not proof that "
            "they are equally good."
        )
    is_whole = effect in _ALWAYS_WHOLLY and abs(facts["value"]) == 1
    is_whole = is_whole and facts["better"] == "higher"
    words = _write_ahead(_ALWAYS_WHOLLY if is_whole else _ALWAYS, facts)
    exactly = "" if is_whole else "exactly this much "
    p = f"corrected p {write_p(facts['p_corrected'])}, " if _is_tested(facts) else ""
    number = f"{spread['units']:,} {unit if spread['units'] == 1 else units}"
    brackets = f"({p}by sign flips over {number})"
    where = _write_where(spread, "by")
    if _is_tested(facts) and facts["p_corrected"] < 0.05:
        return f"{words}, {exactly}{where} {brackets}."
    return (
        f"No clear difference between {facts['first']} and {facts['second']}: {words}, "
        f"{exactly}{where}, but too few {units} show it {brackets}."
    )


def _write_where(spread: Mapping[str, Any], by: str) -> str:
    """Return where a difference is always the same: everywhere, or in the means of its units."""
    if not spread["is_of_means"]:
        return f"{by} every rater on every input" if spread["has_raters"] else "on every input"
    before = {"clusters": "in", "raters": by}.get(spread["units_of"], "on")
    return f"on average {before} every {_UNITS[spread['units_of']][0]}"


# --- conclusions: what the pairs of a criterion come to -------------------------------


@sentence
def clear_within_tier(pairs: Sequence[Sequence[str]]) -> str:
    these = "These differ" if len(pairs) == 1 else "These pairs differ"
    return (
        f"{these} clearly, yet share a tier: {_list_pairs(pairs)}. Pairs are tested by the mixed "
        "model. A tier ends only where the strengths of Davidson’s model also set every system "
        "above apart from every system below, by intervals that hold for all at once."
    )


@sentence
def detectable(unit: str, effect: str, value: float, low: float, high: float, tests: int) -> str:
    noun = "a ratio of" if effect == "ratio" else "a difference of"
    unit = _add_unit(unit) if effect == "difference" else ""
    correction = f" (after correction for {tests:,} comparisons)" if tests > 1 else ""
    return (
        f"A new study like this one would find {noun} {_write_amount(value, effect)}{unit} in 8 of "
        f"10 cases{correction}. This figure is itself uncertain: {_write_effect(low, effect)} to "
        f"{_write_effect(high, effect)}."
    )


@sentence
def nothing_detectable() -> str:
    return "Even the largest possible difference would often be missed."


@sentence
def planned_power(words: str, at: str) -> str:
    return f"Planned: {words} ({_write_day(at)})."


# what one rater did, and where that is the same with both systems
_BY_ONE = {
    "difference": "rates {ahead} {size}{unit} higher than {other}",
    "ratio": "rates {ahead} {size} times {other}",
    "risk_difference": "accepts {ahead} {size} more often than {other}",
    "net_win_share": ("prefers {ahead} to {other} more often than the reverse, by {size}"),
}
_ALIKE_BY_ONE = {
    "difference": "rates {first} and {second} alike on average",
    "ratio": "rates {first} and {second} alike on average",
    "risk_difference": "accepts {first} and {second} equally often",
    "net_win_share": "prefers {first} to {second} as often as the reverse",
}


@sentence
def by_one_rater(first: str, second: str, unit: str, effect: str, value: float) -> str:
    equal = 1 if effect == "ratio" else 0
    if _write_effect(value, effect) == _write_effect(equal, effect):
        words = _ALIKE_BY_ONE[effect].format(first=first, second=second)
    else:
        # one person's values are told as they are
        facts = {
            "first": first, "second": second, "effect": effect, "value": value, "better": "higher"
        }  # fmt: skip
        ahead, other, size, _ = _take_sides(facts)
        words = _BY_ONE[effect].format(ahead=ahead, other=other, size=size, unit=_add_unit(unit))
    return f"This one rater {words}. This isn’t tested."


# --- how figures were computed --------------------------------------------------------

_TERMS = {
    "rater": "rater",
    "group": "input",
    "cluster": "cluster of inputs",
    "group:system": "input and system",
    "cluster:system": "cluster of inputs and system",
    "input:system": "input and system",
    "rater:system": "rater and system",
    "rater:group": "rater and input",
    "residual": "the residual",
}
_WHY_LEFT_OUT = {
    "like_residual": "it merges with the residual: one rating for each level",
    "one_level": "it merges with the mean: one level",
    "like_means": "it merges with the means of the systems",
    "few_repeats": "few raters have several ratings of one input",
    "poorly_known": "its variance is known too poorly",
}
_WHY_NO_MODEL = {
    "too_large": "there are more random effects than it can fit",
    "no_answer": "it has no solution for these values",
    "nothing_varies": "nothing varies apart from systems, raters and inputs",
    "not_converged": "it did not converge",
}


# how the figure of a system is computed
_HEADLINES = {
    "points": "The mean of all counted ratings of a system.",
    "magnitude": "The geometric mean of all counted scores: the mean of their natural "
    "logarithms, exponentiated. That scores are ratios is assumed by the method, not shown by the "
    "data; what the order within a page shows is given beside it (mean rank, share best, "
    "Plackett-Luce).",
    "decision": "The share of counted decisions that are yes.",
    "preference": "With two systems, the share of answers in which a system is preferred, a tie "
    "as half; with more, the log strengths of Davidson’s (1970) model with ties, which sum to "
    "zero.",
    "categories": "The share of counted answers that took an option.",
    "shares": "The mean share of statements answered yes, among those that apply.",
    "turns": "The mean over conversations of what each person said of their turns, averaged first "
    "for each person and conversation.",
}


@sentence
def headline(family: str) -> str:
    return _HEADLINES[family]


@sentence
def interval_of_headline(how: str) -> str:
    return f"Its interval: {write_way(how)}."


_DRAWN = {"clusters": "clusters of inputs", "inputs": "inputs"}


@sentence
def interval_by_draws(level: float, draws: int, drawn: str, has_raters: bool) -> str:
    raters = " and raters, both" if has_raters else ","
    return (
        f"Its interval holds the middle {level:.0%} of {draws:,} draws of the bootstrap over "
        f"{_DRAWN[drawn]}{raters} resampled with replacement."
    )


@sentence
def model_mean(method: str) -> str:
    return (
        "The mean by the mixed model is the model’s own mean of a system, so it allows for who "
        f"rated what: {write_method(method)}. Its predictions for single outputs are in the table "
        "of outputs."
    )


@sentence
def no_model_mean(reason: str) -> str:
    return f"There is no mean by the mixed model ({reason.replace('_', ' ')})."


@sentence
def slips_counted(slips: float, scores: int, method: str) -> str:
    return (
        f"Possible slips, such as 700 for 70: {slips:,.0f} of {scores:,} scores "
        f"({write_method(method)}). They count in full; the winsorised mean moves each to that "
        "limit."
    )


@sentence
def nothing_compared() -> str:
    return "No two systems are compared: the findings say why."


@sentence
def nothing_tested() -> str:
    return "All ratings are equal, so nothing is tested."


@sentence
def compared_by(method: str) -> str:
    way = write_method(method)
    return f"Systems are compared by: {way}. The item factor is the input, not the item."


@sentence
def compared_on_one_input(method: str) -> str:
    return f"Two systems that share their only input are compared by: {write_method(method)}."


@sentence
def not_tested_by_one_rater() -> str:
    return (
        "Nothing is tested, and there are no ranks: one rater says nothing about others. Intervals "
        "of pairs are for other inputs that this rater might rate."
    )


@sentence
def corrected(pairs: int, baseline: str | None, family: int, elsewhere: int) -> str:
    only = f" with the baseline {baseline} (no others are tested)" if baseline else ""
    across = (
        f" and {count_of(elsewhere, 'comparison')} of the other criteria, {family:,} in all"
        if elsewhere
        else ""
    )
    return (
        f"The p values are two-sided and corrected by Holm’s method for {count_of(pairs, 'pair')} "
        f"of this criterion{only}{across}. Each interval is for its pair alone, so it may exclude "
        "zero although the corrected p is above .05."
    )


@sentence
def own_errors_in_data() -> str:
    return (
        "For each pair, the data also hold its difference by a model of the two systems alone, "
        "with a standard error of its own (own_error)."
    )


@sentence
def checks(methods: Sequence[str]) -> str:
    phrases = [
        f"({number}) {write_method(method)}" for number, method in enumerate(methods, start=1)
    ]
    return f"Checks, not corrected: {' '.join(phrases)}."


@sentence
def checks_over_inputs(pairs: Sequence[Pair]) -> str:
    phrases = [
        f"{pair['system_1']} and {pair['system_2']}, p {write_p(pair['p'])} by the comparison, "
        f"p {write_p(pair['p_ranks'])} by Wilcoxon and p {write_p(pair['p_means'])} by sign flips"
        for pair in pairs
    ]
    return (
        "The checks generalise over inputs only, the comparison over raters too, so before "
        f"correction they may disagree at the 5% level: {_list_few(phrases)}."
    )


@sentence
def draws_of_sizes(draws: int) -> str:
    return f"Intervals of effect sizes: {draws:,} draws of the same bootstrap."


@sentence
def sizes_over_inputs() -> str:
    return (
        "Effect sizes over inputs compare the means of all ratings of two systems. Where different "
        "raters rated the two, a size may point the other way than the tested difference."
    )


@sentence
def classic_test(test: str, method: str, tied: int, incomplete: int) -> str:
    start = {
        "friedman": "A test of all systems",
        "mcnemar": "A classic test beside it",
        "cochran_q": "A classic test of all systems",
    }[test]
    text = f"{start}: {write_method(method)}. It ignores raters."
    phrases = []
    if tied:
        phrases.append(f"{tied:,} where as many decided yes as no on an output")
    if incomplete:
        phrases.append(f"{incomplete:,} where no rater decided on the output of a system")
    if phrases:
        text += f" It leaves out {count_of(tied + incomplete, 'input')}: {' and '.join(phrases)}."
    return text


@sentence
def order_on_page(method: str, interval: str, draws: int, left_out: int) -> str:
    text = (
        f"Order on a page: {write_method(method)}; its interval: {write_way(interval)}. Rank "
        "ranges and tiers hold for all pairs at once."
    )
    if left_out:
        text += (
            f" In {left_out:,} of {draws:,} draws some systems are always above others: those "
            "draws are left out; if they are more than 5% there is no interval."
        )
    return text


@sentence
def model_terms(terms: Sequence[str]) -> str:
    names = ", ".join(_TERMS.get(term, term) for term in terms)
    return f"The mixed model of all systems has random effects of: {names}."


@sentence
def model_term_left_out(term: str, why: Sequence[str]) -> str:
    code, *terms = why
    names = [_TERMS.get(name, name) for name in terms]
    if code == "tied":
        reason = f"it can’t be told from {' and from '.join(names)} in these ratings"
    elif code == "like_term":
        reason = f"it merges with {names[0]}: the same levels"
    else:
        reason = _WHY_LEFT_OUT[code]
    return f"Left out of it: {_TERMS.get(term, term)}, since {reason}."


@sentence
def model_variances(variances: Mapping[str, float], residual: float) -> str:
    phrases = [f"{_TERMS.get(term, term)} {value:.3g}" for term, value in variances.items()]
    return f"Its variances: {', '.join(phrases)}, residual {residual:.3g}."


@sentence
def equal_spacing() -> str:
    return "Means of points are compared as if the points were equally spaced."


@sentence
def variance_of_zero() -> str:
    return "A variance that is estimated as 0 is a valid answer."


@sentence
def model_not_used(why: str) -> str:
    return f"The mixed model was not used: {_WHY_NO_MODEL[why]}."


@sentence
def davidson() -> str:
    return (
        "Davidson’s model: the first is preferred, there is a tie, the second is preferred, as "
        "s1 : t √(s1 s2) : s2, with a strength s of each system and one t for all. Expected counts "
        "are those that it gives for the comparisons made."
    )


@sentence
def never_compared(pairs: Sequence[Sequence[str]]) -> str:
    phrases = ", ".join(f"{first} and {second}" for first, second in pairs)
    return (
        f"Never compared directly: {phrases}. Their ranks differ only if the model can be checked "
        "and fits."
    )


@sentence
def place_in_model() -> str:
    return "Davidson’s model has a term for the place of an output on the page."


@sentence
def rank_ranges() -> str:
    return (
        "A rank range counts the systems that are clearly above and those that are clearly below, "
        "by simultaneous intervals of all differences, and by the corrected test of the pair. "
        "Ranges are widened where needed, so that no system has a better range than one with a "
        "better estimate."
    )


@sentence
def ranks_overlap(ranges: Sequence[Sequence[int]]) -> str:
    written = [f"{low}–{high}" if low != high else f"{low}" for low, high in ranges]
    return f"Ranks {list_of(written)} overlap: the data don’t settle this order."


@sentence
def equal_texts(inputs: int, share: float) -> str:
    return (
        f"On {count_of(inputs, 'input')}, two systems gave the same text; raters scored the two "
        f"copies equally in {share:.0%} of cases."
    )


@sentence
def weighing(
    system_1: str, system_2: str, effect: str, has_counts: bool, shown: float, compared: float
) -> str:
    # a share is shown in percent, its difference in percentage points
    unit = 100 if effect in _IN_PERCENT else 1
    if has_counts:
        each = "counts take each answer once"
        words = f"the counts give a net win share of {shown * unit:.2f} percentage points"
    else:
        each = "means count each rating once"
        verb = "have a ratio of" if effect == "ratio" else "differ by"
        words = f"the means shown {verb} {shown * unit:.2f}"
    return (
        f"Comparisons weight raters and inputs; {each}. So the two can differ: for {system_1} and "
        f"{system_2}, {words} and the comparison gives {compared * unit:.2f}."
    )


@sentence
def missing_at_random(share: float) -> str:
    amount = "Less than 1%" if share < 0.005 else f"{share:.0%}"
    return (
        f"{amount} of planned ratings are missing; tests and means assume that what is missing "
        "doesn’t depend on the rating that would have been given (missing at random)."
    )


@sentence
def shown_unknown() -> str:
    return (
        "The ratings don’t say which outputs each rater was shown, so it can’t be checked whether "
        "ratings of one system are missing more often. Tests and means assume that they aren’t."
    )


@sentence
def not_applicable(counts: Mapping[str, int]) -> str:
    return f"Answered “not applicable”: {_list_counts(counts)}. These answers are in no figure."


@sentence
def not_answered(counts: Mapping[str, int]) -> str:
    return (
        f"Not asked, or left open where that was allowed: {_list_counts(counts)}. These answers "
        "are in no figure."
    )


def _list_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{system} {count:,}" for system, count in counts.items())


@sentence
def seed(seed: int, methods: str) -> str:
    return f"Seed {seed}, methods version {methods}."


# --- agreement ------------------------------------------------------------------------


@sentence
def agreement_over(unit: str, left_out: int) -> str:
    rated, rating = ("rated", "rating") if unit == "output" else ("answered", "answer")
    alone = f"; {left_out:,} with one {rating} are left out" if left_out else ""
    return (
        f"Agreement is computed over {unit}s that two or more raters {rated}{alone}. Intervals "
        "treat raters and inputs as samples, unless they say “for these raters”."
    )


@sentence
def few_raters_agree(raters: int, low: float, high: float) -> str:
    ends = f"{write_coefficient(low)} to {write_coefficient(high)}"
    return (
        f"{raters} raters show little about how others would agree. For these raters, α: {ends} "
        "(95% CI)."
    )


@sentence
def reliability_of_mean(
    ratings: float, value: float, low: float | None, high: float | None, over: str | None
) -> str:
    interval = ""
    if low is not None and high is not None:
        whom = " for these raters" if over == "inputs" else ""
        interval = f" (95% CI{whom} {write_coefficient(low)} to {write_coefficient(high)})"
    return (
        f"The mean of {round(ratings, 1):g} ratings has reliability {write_coefficient(value)}"
        f"{interval}."
    )


@sentence
def shares_of_variance(units: float, raters: float, rest: float) -> str:
    return (
        f"Of the variance of ratings, {units:.0%} lies between outputs, {raters:.0%} between "
        f"raters who are more or less strict, and {rest:.0%} is the rest. Where agreement is low, "
        "this shows why: raters who differ in strictness, outputs that hardly differ, or noise."
    )


@sentence
def icc_with_gaps() -> str:
    return (
        "Not every rater rated the same outputs, so use ICC(1,1) for a single rating, and ICC(1,k) "
        "for the mean of an output’s ratings. The other forms assume that every rater rated every "
        "output."
    )


@sentence
def low_alpha_by_offset(
    alpha: float, bound: float, icc_c: float | None = None, icc_a: float | None = None
) -> str:
    text = f"{_write_low(alpha, bound)} Raters vary more than the residual"
    if icc_c is None or icc_a is None:
        return f"{text}."
    return (
        f"{text} (offset of raters): ICC(C,1), which allows each rater a level of their own, is "
        f"{write_coefficient(icc_c)}; ICC(A,1), which does not, is {write_coefficient(icc_a)}."
    )


@sentence
def low_alpha_by_noise(
    alpha: float,
    bound: float,
    outputs: float,
    raters: float,
    rest: float,
    even: float | None = None,
) -> str:
    spread = _write_spread(outputs, raters, rest, even)
    return f"{_write_low(alpha, bound)} The residual varies more than raters do: {spread}."


@sentence
def low_alpha_by_range(
    alpha: float, bound: float, outputs: float, raters: float, rest: float, even: float
) -> str:
    spread = _write_spread(outputs, raters, rest, even)
    return (
        f"{_write_low(alpha, bound)} Outputs lie within a narrow range, and raters near one "
        f"another: {spread}."
    )


def _write_low(alpha: float, bound: float) -> str:
    return f"α is {write_coefficient(alpha)}, below {str(bound).removeprefix('0')}."


def _write_spread(outputs: float, raters: float, rest: float, even: float | None) -> str:
    spread = (
        f"the standard deviation of outputs is {outputs:.2f}, that of raters {raters:.2f}, that of "
        f"the rest {rest:.2f}"
    )
    if even is None:
        return spread
    return f"{spread}; with all points used equally often it would be {even:.2f}"


# --- automatic metrics ----------------------------------------------------------------


# the score of an output that automatic metrics are compared with
_HUMAN = {
    "points": "mean rating of an output",
    "magnitude": "mean of the natural logarithms of an output’s scores",
    "decision": "share of yes of an output",
    "preference": "net wins of a system: answers won less answers lost, as a share of the answers "
    "to an item, mean over items",
    "categories": "share of an option at an output",
    "shares": "share of statements of an output",
    "turns": "mean of the turns of a conversation",
}


@sentence
def metrics(family: str, outputs: int) -> str:
    return (
        f"Automatic metrics are shown beside the human score, the {_HUMAN[family]}. Of "
        f"{outputs:,} outputs that people judged, those with a score of the metric are taken."
    )


@sentence
def metrics_by_input(has_clusters: bool) -> str:
    drawn = "clusters of inputs" if has_clusters else "inputs"
    return (
        "Within inputs: the correlation over the systems of an input, averaged over inputs; inputs "
        "where people’s scores or those of the metric are all equal have none. Over all outputs: "
        "one row for each output. Inputs’ means removed: the same after subtracting the mean of "
        "each input, so that hard and easy inputs make no correlation. Over systems: the means of "
        f"systems. Intervals: within inputs t over {drawn}, for these people; else bootstrap over "
        f"{drawn}, systems kept; for τ-b with very many values Fisher’s z."
    )


@sentence
def pairwise_accuracy() -> str:
    return (
        "Pairwise accuracy with ties (Deutsch, Foster and Freitag 2023): the share of pairs of an "
        "input’s systems that the metric orders as people do, or that tie on both sides, averaged "
        "over inputs. The metric ties where its difference is at most the threshold that makes "
        "this share largest in these data. Soft pairwise accuracy (Thompson and others 2024): 1 "
        "minus the mean distance between the one-sided p values that people and the metric give to "
        "pairs of systems, over inputs, with raters fixed."
    )


@sentence
def metrics_of_systems(has_clusters: bool) -> str:
    drawn = "clusters of inputs" if has_clusters else "inputs"
    return (
        "Where people compare outputs, metrics are looked at for systems only. Intervals: "
        f"bootstrap over {drawn}, systems kept."
    )


@sentence
def metric_pairs_in_order() -> str:
    return (
        "Pairs in order: the share of pairs that the metric orders as people do. Scores are "
        "reversed first where lower is better, so that good metrics correlate positively."
    )


@sentence
def metric_ceiling(halvings: int) -> str:
    return (
        "What as many other people would reach: the correlation of the mean of half of an output’s "
        "ratings with that of the other half, stepped up to all of them (Spearman-Brown), on "
        f"average over {halvings} random halvings. A metric without any error could reach its "
        "square root."
    )


@sentence
def metrics_compared(metrics: int) -> str:
    return (
        "Two metrics are compared by Williams’ test (1959) of dependent correlations, each turned "
        "to correlate positively; outputs count as independent, which outputs of one input are not "
        f"quite. Corrected by Holm’s method for all pairs of the {metrics} metrics that correlate "
        "most."
    )


# --- what the comparisons of a criterion add up to ------------------------------------


# --- further analyses: what a closed section says -------------------------------------


# --- hypotheses, and planned tests against a margin -----------------------------------


# --- warnings: of a study and its repetition ------------------------------------------


@sentence
def same_answers(ratings: int) -> str:
    return (
        f"{count_of(ratings, 'rating')} in both studies {'has' if ratings == 1 else 'have'} the "
        "same participant, item and time: they are the same answers, and agree with themselves. A "
        "copy of a study doesn’t repeat it."
    )


# what two studies have in common
_IN_COMMON = {False: "output", True: "compared pair"}


@sentence
def no_shared_outputs(is_pairs: bool) -> str:
    noun = _IN_COMMON[is_pairs]
    return (
        f"The studies have no {noun}s in common, matched by item and system: their results "
        "on systems can be compared, but not agreement on outputs."
    )


@sentence
def other_items(is_pairs: bool, common: int, first: int, second: int) -> str:
    return (
        f"{count_of(common, _IN_COMMON[is_pairs])} {'is' if common == 1 else 'are'} in both "
        "studies, "
        f"of {first:,} in the first and {second:,} in the repeat. Scores of systems use everything "
        "that each rated."
    )


@sentence
def other_texts(is_pairs: bool, changed: int) -> str:
    return (
        f"{count_of(changed, _IN_COMMON[is_pairs])} {'has' if changed == 1 else 'have'} another "
        "text or input "
        "under the same name in the repeat: left out of agreement, but not of scores of systems."
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
        f"{label}: the studies have different scales, so scores and agreement can’t be compared; "
        "the order of systems and what was found can."
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


# --- a study and its repetition -------------------------------------------------------


@sentence
def nothing_repeated() -> str:
    return "No two systems are compared in both studies, so no finding can be upheld."


@sentence
def upheld(
    findings: int, upheld: int, reversed: int, not_again: int, not_compared: int, new: int
) -> str:
    """Say how many findings the repeat found again; never that there is no difference."""
    if findings:
        alone = "found it" if upheld else "did not find it"
        again = f"found {upheld:,} of them" if findings > 1 else alone
        sentences = [
            f"The first study found {count_of(findings, 'difference')} between systems that the "
            f"repeat compares too; the repeat {again} again, in the same direction."
        ]
    else:
        sentences = [
            "The first study could tell no two systems apart that the repeat compares, so there is "
            "no finding to uphold."
        ]
    if reversed:
        was = "was" if reversed == 1 else "were"
        sentences.append(f"{reversed:,} {was} found the other way round.")
    if not_again:
        sentences.append(
            f"For {not_again:,} it shows no clear difference, which doesn’t mean that there is "
            "none."
        )
    if not_compared:
        sentences.append(
            f"{count_of(not_compared, 'further finding')} of the first study could not be looked "
            "at."
        )
    if new:
        sentences.append(
            f"The repeat found {count_of(new, 'difference')} that the first study didn’t."
        )
    return " ".join(sentences)


# what a replication compares of each system
_SCORES = {
    "points": "the mean of all counted ratings",
    "magnitude": "the geometric mean of all counted scores",
    "decision": "the share of counted decisions that are yes",
    "preference": "the share of its answers in which it is preferred, a tie as half",
    "categories": "the share of counted answers that took an option",
    "shares": "the mean share of statements answered yes",
    "turns": "the mean of the turns of a conversation",
}


@sentence
def repeated_score(family: str) -> str:
    return f"The score of a system is {_SCORES[family]}, computed separately in each study."


@sentence
def repeated_cv(low: float) -> str:
    shift = f"{-low:g}".replace("-", "−")
    begins = (
        f"The scale is shifted by {shift} first, so that it begins at 0."
        if low
        else "The scale begins at 0 already."
    )
    return (
        "CV* (Belz, Popović and Mille 2022): the standard deviation of both scores, divided by "
        "what makes it unbiased for normal scores, in percent of their mean, times 1 + 1/(4n) "
        f"with n = 2. 0 would be the same score twice. {begins}"
    )


@sentence
def repeated_intervals(draws: int, method: str, is_one_pool: bool) -> str:
    pool = ", raters of both from one pool" if is_one_pool else ""
    return (
        f"Intervals of differences and correlations hold the middle 95% of {draws:,} draws of the "
        f"{write_method(method)}: inputs that both studies have are drawn together{pool}."
    )


@sentence
def repeated_correlations(is_log: bool) -> str:
    logs = ", as logarithms" if is_log else ""
    return (
        f"Correlations are of the systems’ scores{logs}; of fewer than 10 systems they have an "
        "interval and no p."
    )


@sentence
def repeated_agreement() -> str:
    return (
        "Outputs in common have the same item and system in both. α of all ratings takes every "
        "rater of both studies as one more rater; α of both scores takes each study as one rater "
        "that gives the mean of its ratings."
    )


@sentence
def repeated_findings() -> str:
    return (
        "A finding is a difference whose corrected p is below .05 in the report of the first "
        "study. It is upheld where the report of the repeat finds the same system higher, by its "
        "own corrected p. A smaller repeat upholds fewer, whatever is true."
    )


# --- a gate ---------------------------------------------------------------------------

_GATE_OUTCOMES = {
    "pass": "{system} is not worse than {other} by more than {by}",
    "fail": "{system} is worse than {other} by more than {by}",
    "undecided": "not shown that {system} is not worse than {other} by more than {by}",
}
_GATE_EXACT = {
    "constant": "every rater gives the same difference ({difference}) on every input, so there is "
    "no interval",
    "all_equal": "all ratings of the two are equal, so there is no interval",
}
_GATE_TOO_FEW = "; fewer than 3 raters or 10 inputs can’t decide"
_GATE_REASONS = {
    "one_rater": "there is one rater, who says nothing about others",
    "no_data": "there are no ratings of both",
    "equal_means": "the ratings vary, but their difference is the same on average everywhere, "
    "which can’t be tested against a margin",
    "too_few": "there are too few ratings for a test",
}


@sentence
def gate(**facts: Any) -> str:
    """Say how the gate ended, in a paragraph."""
    sentences = [
        _write_gate_outcome(facts),
        *write_gate_slices(facts),
        _write_gate_plan(facts),
        _write_gate_raters(facts),
        _write_gate_mapped(facts),
        _write_gate_runs(facts),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _write_gate_outcome(facts: Mapping[str, Any]) -> str:
    """Say what the test on all inputs found; a slice may overrule it."""
    test = facts["test"]
    start = f"Gate, {facts['criterion']}, {facts['outcome']}: "
    system, other = test["system"], test["other"]
    if test["outcome"] is None:
        why = _GATE_REASONS.get(test["reason"], str(test["reason"]).replace("_", " "))
        return f"{start}{system} can’t be compared with {other} ({why})."
    by = f"a factor of {test['margin']:g}" if test["is_log"] else f"{test['margin']:g}"
    words = _GATE_OUTCOMES[test["outcome"]].format(system=system, other=other, by=by)
    over = " on all inputs together" if "slices" in facts else ""
    lower = "lower is better; " if test["better"] == "lower" else ""
    return f"{start}{words}{over} ({lower}{_write_gate_test(test)})."


def _write_gate_test(test: Mapping[str, Any]) -> str:
    if "exact" in test:
        words = _GATE_EXACT[test["exact"]["code"]].format(difference=_write_gate_difference(test))
        return words + (_GATE_TOO_FEW if str(test["reason"]).endswith("_too_few") else "")
    p = {"pass": f"p {write_p(test['p'])}", "fail": f"p {write_p(test['p_fail'])}"}
    both = f"p {write_p(test['p'])} for not worse, p {write_p(test['p_fail'])} for worse"
    known = p.get(test["outcome"], both)
    difference = f"{_name_gate_effect(test)} {_write_gate_difference(test)}"
    return f"{difference}, {_write_gate_interval(test)}, {known}"


def _name_gate_effect(test: Mapping[str, Any]) -> str:
    return "ratio" if test["is_log"] else "difference"


def _write_gate_difference(test: Mapping[str, Any]) -> str:
    """Return the system minus the other, or their ratio, in the units of the scale."""
    return _write_gate_number(_turn_gate(test) * test["difference"], test)


def _write_gate_interval(test: Mapping[str, Any]) -> str:
    """Return the interval that matches the one-sided test: 90% at the level of 5%."""
    ends = sorted(_turn_gate(test) * test[end] for end in ("low", "high"))
    low, high = (_write_gate_number(end, test) for end in ends)
    return f"{1 - 2 * test.get('level', 0.05):.0%} CI {low} to {high}"


def _turn_gate(test: Mapping[str, Any]) -> int:
    """Return the sign that takes facts, in which more is better, back to the scale."""
    return -1 if test.get("better") == "lower" else 1


def _write_gate_number(value: float, test: Mapping[str, Any]) -> str:
    number = exp(value) if test["is_log"] else value
    return f"{number + 0.0:.4g}".replace("-", "−")


def write_gate_slices(facts: Mapping[str, Any]) -> list[str]:
    """Say where the system is worse, or else which slice comes nearest to it."""
    if "slices" not in facts:
        return []
    level, better = facts["test"]["level"], facts["test"]["better"]
    slices = [{**each, "level": level, "better": better} for each in facts["slices"]]
    worse = [each for each in slices if each["is_worse"]]
    sentences = [f"Fails in slice {each['slice']}: {_write_gate_slice(each)}." for each in worse]
    worst = facts["worst"]
    if worst is not None and worst["slice"] not in [each["slice"] for each in worse]:
        worst = {**worst, "level": level, "better": better}
        sentences.append(f"Worst slice {worst['slice']}: {_write_gate_slice(worst)}.")
    if worst is None:
        sentences.append("No slice has a difference to test.")
    if facts.get("unsliced"):
        number = facts["unsliced"]
        sentences.append(f"{number:,} {'input is' if number == 1 else 'inputs are'} in no slice.")
    return sentences


def _write_gate_slice(each: Mapping[str, Any]) -> str:
    phrases = [f"{_name_gate_effect(each)} {_write_gate_difference(each)}"]
    if "low" in each:
        phrases.append(_write_gate_interval(each))
    if "p_corrected" in each:
        phrases.append(f"corrected p {write_p(each['p_corrected'])}")
    elif each["is_tested"]:
        phrases.append("the same for every rater on every input")
    else:
        number = each["inputs"]
        phrases.append(f"not tested, with {number} {'input' if number == 1 else 'inputs'}")
    return ", ".join(phrases)


def _write_gate_plan(facts: Mapping[str, Any]) -> str:
    """Say how many more answers would decide; "" where that isn't known."""
    plan = facts.get("plan")
    if plan is None:
        return ""
    more, people, inputs = plan["more_answers"], plan["people"], plan["inputs"]
    if more["inputs"]:
        return (
            f"If they are equal, about {_round_to_two(more['inputs'])} more answers from these "
            f"{people} people would show it in 8 of 10 studies."
        )
    if plan["inputs_needed"] is not None:
        # enough already: the difference itself is why nothing is shown
        return ""
    if plan["is_sparse"]:
        return ""
    if plan["people_needed"] is None:
        return "This margin is too small for this design."
    number = plan["people_needed"] - people
    return (
        f"More inputs won’t be enough. If they are equal, about {number} more "
        f"{'person' if number == 1 else 'people'} on the same {inputs} inputs "
        f"({_round_to_two(more['people'])} answers) would show it in 8 of 10 studies."
    )


def _round_to_two(number: int) -> str:
    """Round to two digits: a forecast is no more precise."""
    digits = max(0, int(log10(number)) - 1) if number else 0
    return f"{round(number, -digits):,}"


def _write_gate_raters(facts: Mapping[str, Any]) -> str:
    if facts["raters_known"] or facts["test"]["outcome"] is None:
        return ""
    return "The raters are unknown, so this generalises over inputs, not raters."


def _write_gate_mapped(facts: Mapping[str, Any]) -> str:
    outcome = facts["undecided_as"]
    return f"Undecided counts as {outcome} here (--undecided {outcome})." if outcome else ""


def _write_gate_runs(facts: Mapping[str, Any]) -> str:
    level, runs, other = facts["test"]["level"], facts["runs"], facts["test"]["other"]
    start = f"One test at {level * 100:g}%"
    if runs is None:
        return f"{start}."
    day = datetime.fromisoformat(runs["first_at"])
    number = runs["number"]
    counted = "1 gate has" if number == 1 else f"{number:,} gates have"
    return f"{start}; {counted} been run against {other} since {day.day} {day:%B %Y}."


# --- tables of a criterion ------------------------------------------------------------


# --- how systems were compared: a report's page, and the LaTeX of a paper ---------------


@sentence
def primary_criterion() -> str:
    return (
        "This is the primary criterion of the analysis plan: its corrected p values are the result "
        "of the study."
    )


@sentence
def secondary_criterion() -> str:
    return "Secondary: not corrected across criteria."


# --- methods: README and scripts of a bundle have the same words ----------------------

METHOD_WORDS = {
    "model": "a linear mixed model (REML) of all systems",
    "errors": "Kenward–Roger standard errors and degrees of freedom",
    "correction": "Tests are two-sided; p values are corrected by Holm’s method.",
    "agreement": "95% intervals of agreement treat raters and inputs as samples (1,000 "
    "quasi-random draws from a crossed random-effects model on a latent normal scale); intervals "
    "marked “for these raters” do not.",
}
