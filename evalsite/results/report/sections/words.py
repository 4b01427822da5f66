"""Words that several sections share: who is ahead of whom, differences, p values; and a sentence
for each code of a note and of a flag.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from evalsite.analysis.figure import Figure, write_coefficient
from evalsite.lib.words import count_of, list_of
from evalsite.results.document.blocks import Sentence, isolate, start_sentence
from evalsite.results.document.figures import write_interval, write_number, write_p
from evalsite.results.report.source import Criterion, Pair, Source

# more systems or pairs than this are counted
MOST_NAMED = 6

# why the judge that a plan names doesn't decide
WHY_PEOPLE = {
    "no_labels": "it has no labels for this question",
    "raters_unknown": "nobody knows which answers are by one person",
    "few_people": "it takes three people to correct a result",
    "few_inputs": "too few inputs have people’s answers and its labels to every system",
    "no_further": "it labelled only what people rated",
    "not_determined": "the answers don’t determine the corrected difference",
}


def list_names(names: Sequence[str]) -> str:
    """Return the names of systems as a sentence lists them; of many, the first few."""
    shown = [isolate(name) for name in names[:MOST_NAMED]]
    more = len(names) - MOST_NAMED
    return list_of([*shown, f"{more:,} more"] if more > 0 else shown)


def name_judge(test: Mapping[str, Any]) -> str:
    """Return the name of a planned judge, with the version of its prompt."""
    version = isolate(test["prompt_version"]) if test.get("prompt_version") else ""
    return isolate(test["judge"]) + (f" (prompt {version})" if version else "")


def say_is(names: Sequence[str]) -> str:
    return "are" if len(names) > 1 else "is"


def say_leads(criterion: Criterion, names: Sequence[str]) -> str:
    """Return what these systems do that are ahead: "is rated higher than"."""
    if counts := criterion.family.counts:
        return f"{'have' if len(names) > 1 else 'has'} fewer {counts} than"
    return f"{say_is(names)} {say_ahead(criterion)}"


def say_ahead(criterion: Criterion) -> str:
    """Return what a system is that is ahead: "rated higher than"."""
    if criterion.family.compares:
        return "preferred to"
    if criterion.family.orders:
        return "ranked above"
    if criterion.family.decides:
        more = "less" if criterion.better == "lower" else "more"
        return f"accepted {more} often than"
    return "rated lower than" if criterion.better == "lower" else "rated higher than"


def write_amount(figure: Figure, criterion: Criterion) -> str:
    """Return the size of a difference, without its sign: "0.42 points"."""
    value = figure.value or 0.0
    if figure.unit == "ratio":
        return f"{write_number(value, figure.unit)} times"
    text, words = write_number(abs(value), figure.unit), criterion.unit_words
    if text == "1":
        words = words.removesuffix("s")
    return f"{text} {words}".strip()


def write_ci(figure: Figure) -> str:
    """ "95% CI 0.23 to 0.61", or "no interval"."""
    interval = write_interval(figure)
    return f"{100 * figure.level:g}% CI {interval}" if interval else "no interval"


def say_p(p: float | None, lead: str = "p") -> str:
    """ "p = .012", "corrected p < .001"; "" for None."""
    if p is None:
        return ""
    text = write_p(p)
    return f"{lead} {text}" if text[0] in "<>" else f"{lead} = {text}"


def say_tested(pair: Pair, *, is_size: bool = False) -> str:
    """ "95% CI 0.23 to 0.61, corrected p < .001"; `is_size`: of the difference without its sign."""
    figure = pair.difference
    if is_size and figure.unit != "ratio" and (figure.value or 0) < 0:
        low, high = (None if end is None else -end for end in (figure.high, figure.low))
        figure = replace(figure, low=low, high=high)
    p = say_p(figure.p_corrected, "corrected p") or say_p(figure.p)
    return ", ".join(filter(None, (write_ci(figure), p)))


def find_higher(pair: Pair) -> tuple[str, str]:
    """Return the system with the better figure first, whether or not the difference is clear."""
    if pair.ahead:
        return pair.ahead
    equal = 1.0 if pair.difference.unit == "ratio" else 0.0
    is_first = ((pair.difference.value or equal) > equal) != (pair.criterion.better == "lower")
    return (pair.first, pair.second) if is_first else (pair.second, pair.first)


def name_label(criterion: Criterion) -> str:
    """Return the label of a question as it stands within a sentence."""
    label = criterion.label
    first = label.partition(" ")[0]
    # "BLEU" and names keep their capitals
    return label[:1].lower() + label[1:] if first[1:].islower() or len(first) == 1 else label


def join_sentences(sentences: Iterable[str]) -> str:
    return " ".join(start_sentence(sentence) for sentence in sentences if sentence)


@dataclass(frozen=True)
class Notes:
    """Sentences of notes: for each code a text with the facts of the note in braces, or a function
    whose arguments are these facts."""

    by_code: dict[str, str | Callable[..., str]] = field(default_factory=dict)

    def add(self, write: Callable[..., str]) -> Callable[..., str]:
        """Register the sentence of the code that the function is named after."""
        self.by_code[write.__name__] = write
        return write

    def write(self, note: Mapping[str, Any]) -> str:
        sentence, facts = self.by_code[note["code"]], _isolate_names(note["facts"])
        return sentence.format(**facts) if isinstance(sentence, str) else sentence(**facts)


def _isolate_names(facts: Any) -> Any:
    """Return the facts with every text as `isolate` leaves it."""
    if isinstance(facts, str):
        return isolate(facts)
    if isinstance(facts, Mapping):
        return {key: _isolate_names(value) for key, value in facts.items()}
    if isinstance(facts, list | tuple):
        return [_isolate_names(value) for value in facts]
    return facts


# --- notes: what else the analysis warns of, for the further analyses

NOTES = Notes(
    {
        "raters_unknown": "The raters of this file are not single persons. Figures that need "
        "raters are left out, and results hold for these raters only, over inputs.",
        "unlinked": "The raters fall into groups that share no input, so a stricter group can’t be "
        "told apart from one with harder inputs.",
        "few_items": "Fewer than 10 inputs: intervals and p values are rough.",
        "nested_raters": "Each rater rated one system only, so differences between raters and "
        "between systems can’t be told apart well.",
        "one_item": "With only one input, a system’s own effect can’t be separated from that "
        "input’s.",
        "no_shared_input": "No input has ratings of two systems, so nothing is paired: systems are "
        "compared across different inputs. If outputs do share inputs, add a column group.",
        "no_baseline": "The baseline has no ratings here, so every pair of systems is compared.",
        "no_direction": "Nothing says whether high or low numbers are better, so there are no "
        "ranks.",
        "many_pairs": "More than 1,000 pairs of systems: their effect sizes are left out. With a "
        "baseline there are fewer pairs, and fewer tests to correct for.",
        "bootstrap_instead_of_model": "The mixed model could not be used for some pairs. A "
        "bootstrap over inputs and raters replaces it there, or sign flips where all differences "
        "are equal.",
        "possible_slips": "Some scores are so far from the others that they may be slips, such as "
        "700 for 70. They count as entered, and can move means and comparisons: before you believe "
        "a difference, look at the winsorised means and the order on a page, among the further "
        "analyses.",
        "separated": "A system wins, or loses, every comparison: its strength has no finite value.",
        "disconnected": "Some systems are never compared, not even through others.",
        "model_misfit": "Davidson’s model does not fit: one strength for each system and one share "
        "of ties don’t give the observed counts. Rely on the pairs, and compare expected with "
        "observed.",
        "through_others": "Some systems were never compared directly, only through others. How "
        "they rank against each other rests on the model alone.",
        "unknown_kind": "Questions of the kind {kind} are analysed as {analysed_as}, going by "
        "their columns. Use --protocol if they are something else.",
        "read_as_decisions": "Read as decisions: 1 is yes, 0 is no.",
    }
)
_MOST_NAMED = 10  # names in a sentence
_MOST_TOLD = 3  # pairs with their figures
_IN_PERCENT = {"risk_difference", "net_win_share"}
# warnings of the analysis that the limits say, or those about the methods
_SAID_ELSEWHERE = {
    "simulated", "few_raters", "one_rater", "missing_by_system", "own_error_differs", "copied",
    "across",
}  # fmt: skip


def list_notes(source: Source) -> Iterator[Sentence]:
    """Yield what else the analysis warns of, for the further analyses."""
    labels = {criterion.key: criterion.label for criterion in source.criteria}
    texts: dict[tuple[str, str], list[str]] = {}
    for note in source.kept["warnings"]:
        if note["code"] not in _SAID_ELSEWHERE:
            named = texts.setdefault((note["code"], NOTES.write(note)), [])
            if note["criterion"] in labels:
                named.append(isolate(labels[note["criterion"]]))
    for criterion in source.criteria:
        if note := criterion.stored.get("weighing"):
            texts.setdefault((note["code"], NOTES.write(note)), []).append(criterion.label)
    for (code, text), named in texts.items():
        start = f"{list_of(named)}: " if named else ""
        yield Sentence(code, f"{start}{text}", "warning", place="further")


# --- of all of the data -------------------------------------------------------------------------


@NOTES.add
def simulated(ratings: int, total: int) -> str:
    if ratings == total:
        return "These ratings are simulated, so they show nothing about real systems."
    are = "is" if ratings == 1 else "are"
    return (
        f"{ratings:,} of {total:,} ratings {are} simulated, so the results show nothing about real "
        "systems."
    )


@NOTES.add
def imported(ratings: int, total: int) -> str:
    if total == 1:
        return "The only rating is imported, so it was collected elsewhere."
    whole = f"All {total:,}" if ratings == total else f"{ratings:,} of {total:,}"
    are, they_were = ("is", "it was") if ratings == 1 else ("are", "they were")
    return f"{whole} ratings {are} imported, so {they_were} collected elsewhere."


@NOTES.add
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


@NOTES.add
def few_clusters(clusters: int, noun: str = "clusters") -> str:
    """`noun`: what the clusters are called: "talks"."""
    if clusters == 1:
        return "All inputs come from one cluster, so results describe this cluster and not others."
    return f"With only {clusters} {noun}, results describe these {noun} and not others."


@NOTES.add
def across(comparisons: int) -> str:
    all_of_them = "both" if comparisons == 2 else f"all {comparisons:,}"
    return (
        f"No primary criterion was named, so p values are corrected across {all_of_them} "
        "comparisons (Holm)."
    )


@NOTES.add
def ignored_by_most(items: int, ratings: int) -> str:
    return (
        f"{count_of(items, 'item')} with {count_of(ratings, 'rating')} "
        f"{'is' if items == 1 else 'are'} left out of results: more than half of those who rated "
        "or ignored such an item ignored it. Further analyses show the results with such items."
    )


@NOTES.add
def too_alike(pairs: Sequence[Mapping[str, Any]]) -> str:
    phrases = [
        f"{' and '.join(pair['labels'])} ({write_coefficient(pair['correlation'] or 0.0)})"
        for pair in pairs
    ]
    return (
        "Raters may not tell these criteria apart (Spearman’s ρ over outputs): "
        f"{', '.join(phrases)}."
    )


@NOTES.add
def copied(
    pairs: int, equal: int, outputs: int, shares: Sequence[float], raters: Sequence[str] = ()
) -> str:
    """`shares`: the lowest and the highest share of the other pairs; `raters`: the names of the
    two, on pages for staff."""
    who = " and ".join(raters) or "Two raters"
    if pairs > 1:
        who = f"In {pairs:,} pairs, raters gave nearly identical answers: in one of them, both"
    between = " to ".join(dict.fromkeys(f"{share:.0%}" for share in shares))
    beside = f" Other pairs agree on {between}." if between else ""
    return (
        f"{who} gave identical answers on {equal:,} of {count_of(outputs, 'output')}.{beside} "
        "Check whether one copied the other, or whether they are the same person. Agreement and "
        "tests count them as two."
    )


@NOTES.add
def both_alike(equal: int, outputs: int) -> str:
    return (
        f"Both raters gave the same answer on {equal:,} of {count_of(outputs, 'output')}. If they "
        "settled their answers together, say so in the report: agreement then describes the "
        "discussion."
    )


@NOTES.add
def copies_unseen(most_shared: int) -> str:
    return (
        "Copied answers can’t be detected in sets this small: two people share at most "
        f"{count_of(most_shared, 'output')}, and equal answers on all of them may be chance."
    )


@NOTES.add
def late_primary(answers: int, at: str) -> str:
    return f"The primary criterion was chosen {_write_late(answers, at)}"


@NOTES.add
def late_margins(answers: int, at: str) -> str:
    return f"The margin was set {_write_late(answers, at)}"


@NOTES.add
def late_rule(answers: int, at: str) -> str:
    return f"The exclusion rule was worded {_write_late(answers, at)}"


def _write_late(answers: int, at: str) -> str:
    return f"after {count_of(answers, 'answer')}, on {_write_day(at)}: not before data were seen."


def _write_day(moment: str) -> str:
    at = datetime.fromisoformat(moment).astimezone(UTC)
    return f"{at.day} {at:%B %Y}"


# --- of one question ----------------------------------------------------------------------------


@NOTES.add
def thin_systems(systems: Sequence[str]) -> str:
    return (
        f"Ratings of a single input, or by a single rater: {_list_some(systems)}. A system’s own "
        "effect can’t be separated from that input’s or rater’s, so these are not compared with "
        "others. Two that share their only input are compared over raters, on this input only."
    )


@NOTES.add
def thin_pairs(pairs: Sequence[Sequence[str]]) -> str:
    return (
        f"All answers by a single rater: {_list_pairs(pairs)}. A system’s own effect can’t be "
        "separated from what that rater prefers, so these are not compared."
    )


@NOTES.add
def undetermined(pairs: Sequence[Sequence[str]]) -> str:
    return (
        "These are not compared, because their ratings can’t separate a system’s own effect from "
        f"that of its inputs or raters: {_list_pairs(pairs)}."
    )


@NOTES.add
def models_disagree(pairs: Sequence[Mapping[str, Any]]) -> str:
    phrases = [
        f"{pair['system_1']} and {pair['system_2']}, {say_p(pair['p_ranks'])} and "
        f"{say_p(pair['p_means'])}"
        for pair in pairs
    ]
    return (
        "A rank test (Wilcoxon) and a test of means (sign flips) over the same inputs disagree at "
        f"the 5% level, before correction: {_list_few(phrases)}. Look at the distributions."
    )


@NOTES.add
def weighing(**facts: Any) -> str:
    # a share is shown in percent, its difference in percentage points
    unit = 100 if facts["effect"] in _IN_PERCENT else 1
    shown, compared = (f"{facts[key] * unit:.2f}" for key in ("shown", "compared"))
    if facts["has_counts"]:
        each = "counts take each answer once"
        words = f"the counts give a net win share of {shown} percentage points"
    else:
        each = "means count each rating once"
        verb = "have a ratio of" if facts["effect"] == "ratio" else "differ by"
        words = f"the means shown {verb} {shown}"
    return (
        f"Comparisons weight raters and inputs; {each}. So the two can differ: for "
        f"{facts['system_1']} and {facts['system_2']}, {words} and the comparison gives {compared}."
    )


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


# --- of how a file was read ---------------------------------------------------------------------


@NOTES.add
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


@NOTES.add
def read_as_points(low: float, high: float, step: float, is_range_found: bool) -> str:
    steps = f" in steps of {step:g}" if step != 1 else ""
    hint = " (the range found); give --scale if it is wider" if is_range_found else ""
    return f"Read as points from {low:g} to {high:g}{steps}{hint}."


@NOTES.add
def read_as_slider(low: float, high: float, is_range_found: bool) -> str:
    hint = " (the range found); give --scale if it is wider" if is_range_found else ""
    return f"Read as a slider from {low:g} to {high:g}{hint}."


@NOTES.add
def read_as_numbers(low: float | None, high: float | None) -> str:
    if low is None:
        return "Read as numbers without bounds; give --scale if the scale has ends."
    return f"Read as numbers from {low:g} to {high:g}."


@NOTES.add
def pairs_unknown(items: int) -> str:
    return (
        f"It isn’t known which two systems {count_of(items, 'item compares', 'items compare')}, so "
        "no systems are compared. Add the file of items, with columns item and system, or name "
        "both systems in columns system_1 and system_2."
    )


@NOTES.add
def pairs_by_ending(endings: Sequence[Sequence[str]]) -> str:
    phrases = [f"{end} is {first} and {second}" for end, first, second in endings]
    return f"The end of an item’s id says which two systems it compares: {'; '.join(phrases)}."


@NOTES.add
def columns_read(columns: Sequence[Sequence[str]]) -> str:
    phrases = ", ".join(f"{name}={field}" for name, field in columns)
    return f"Columns were read as {phrases}. Use --map COLUMN=FIELD to read one differently."


@NOTES.add
def only_raters(raters: Sequence[str]) -> str:
    return f"Only ratings by {', '.join(raters)} are analysed (--rater)."


@NOTES.add
def only_first_ratings(first: int, left_out: int) -> str:
    ratings = "first rating of each output is"
    if first > 1:
        ratings = f"first {first} ratings of each output are"
    return f"Only the {ratings} analysed (--first): {left_out:,} are left out."


# --- flags: what a person did, as a reason to look

FLAGS = Notes(
    {
        "disagreement": "Orders outputs unlike the other raters.",
        "reserved_points": "Uses points often that are meant for difficult cases.",
        "identical_criteria": "Gives all criteria of an output one value.",
        "gold": "Answers too few gold and attention items right.",
        "inconsistent": "Rates the same output differently the second time.",
        "always_ties": "Says “equal” in all {answers:,} answers; the others say so in "
        "{share_of_others:.0%} of theirs.",
        "never_ties": "Never says “equal” in {answers:,} answers; the others say so in "
        "{share_of_others:.0%} of theirs.",
    }
)


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
def offset(is_higher: bool) -> str:
    return f"Rates {'higher' if is_higher else 'lower'} than the other raters."


@FLAGS.add
def drift_trial(is_rising: bool) -> str:
    return f"Ratings {'rise' if is_rising else 'fall'} over the study."


@FLAGS.add
def drift_place(is_rising: bool) -> str:
    return f"Ratings {'rise' if is_rising else 'fall'} over a set."


@FLAGS.add
def one_place(place: str, answers: int) -> str:
    return (
        f"Prefers the {place} side whatever its text, judging by "
        f"{count_of(answers, 'decided answer')}."
    )


@FLAGS.add
def circles(circular: int, triples: int) -> str:
    return f"Goes in circles: {circular:,} of {count_of(triples, 'triple')}."
