"""A study beside the one that it repeats, as blocks made from the plain data of a comparison."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalsite.analysis.figure import Figure
from evalsite.lib.words import count_of
from evalsite.results.document.blocks import (
    Block,
    Cell,
    Column,
    Document,
    Entry,
    Heading,
    Sentence,
    Table,
    isolate,
)
from evalsite.results.document.figures import CODES, write_figure, write_method, write_value
from evalsite.results.report.sections.further import list_figures, name_code, read_own
from evalsite.results.report.sections.words import NOTES as NOTES_OF_ONE
from evalsite.results.report.sections.words import Notes, say_p

# --- what a reader has to know of both: a sentence for each code

NOTES = Notes(
    {
        "other_scale": "{label}: the studies have different scales, so scores and agreement can’t "
        "be compared; the order of systems and what was found can.",
        "other_standard": "{label}: standards differ. All scores are put in relation to a standard "
        "of {standard:g}.",
        "versions": "It has {number} versions of its texts and settings; what follows compares the "
        "newest ones.",
        "other_instructions": "The instructions of the two studies differ.",
        "other_language": "The two studies are in different languages.",
        "nothing_repeated": "No two systems are compared in both studies, so no finding can be "
        "upheld.",
        "repeated_agreement": "Outputs in common have the same item and system in both. α of all "
        "ratings takes every rater of both studies as one more rater; α of both scores takes each "
        "study as one rater that gives the mean of its ratings.",
        "repeated_findings": "A finding is a difference whose corrected p is below .05 in the "
        "report of the first study. It is upheld where the report of the repeat finds the same "
        "system higher, by its own corrected p. A smaller repeat upholds fewer, whatever is true.",
        "seed": "Seed {seed}, methods version {methods}.",
    }
)
SIDES = {"first": "First study", "second": "Repeat"}


def write_note(note: Mapping[str, Any]) -> str:
    """Return the sentence; of a note on one of the studies, which of them it is about."""
    notes = NOTES if note["code"] in NOTES.by_code else NOTES_OF_ONE
    start = f"{SIDES[note['study']]}: " if "study" in note else ""
    return f"{start}{notes.write(note)}"


@NOTES.add
def same_answers(ratings: int) -> str:
    return (
        f"{count_of(ratings, 'rating')} in both studies {'has' if ratings == 1 else 'have'} the "
        "same participant, item and time: they are the same answers, and agree with themselves. A "
        "copy of a study doesn’t repeat it."
    )


# what two studies have in common
_IN_COMMON = {False: "output", True: "compared pair"}


@NOTES.add
def no_shared_outputs(is_pairs: bool) -> str:
    noun = _IN_COMMON[is_pairs]
    return (
        f"The studies have no {noun}s in common, matched by item and system: their results "
        "on systems can be compared, but not agreement on outputs."
    )


@NOTES.add
def other_items(is_pairs: bool, common: int, first: int, second: int) -> str:
    return (
        f"{count_of(common, _IN_COMMON[is_pairs])} {'is' if common == 1 else 'are'} in both "
        "studies, "
        f"of {first:,} in the first and {second:,} in the repeat. Scores of systems use everything "
        "that each rated."
    )


@NOTES.add
def other_texts(is_pairs: bool, changed: int) -> str:
    return (
        f"{count_of(changed, _IN_COMMON[is_pairs])} {'has' if changed == 1 else 'have'} another "
        "text or input "
        "under the same name in the repeat: left out of agreement, but not of scores of systems."
    )


@NOTES.add
def only_first(systems: Sequence[str]) -> str:
    return f"First study only: {', '.join(systems)}."


@NOTES.add
def only_second(systems: Sequence[str]) -> str:
    return f"Repeat only: {', '.join(systems)}."


@NOTES.add
def other_criteria(criteria: Sequence[str]) -> str:
    return f"Rated in one of the studies only: {', '.join(criteria)}."


@NOTES.add
def other_wording(labels: Sequence[str]) -> str:
    return f"Questions, definitions or scales differ between the two: {', '.join(labels)}."


@NOTES.add
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


@NOTES.add
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


@NOTES.add
def upheld(**facts: int) -> str:
    """Say how many findings the repeat found again; never that there is no difference."""
    found_first, found_again = facts["findings"], facts["upheld"]
    again = f"found {found_again:,} of them"
    if found_first == 1:
        again = "found it" if found_again else "did not find it"
    sentences = [
        f"The first study found {count_of(found_first, 'difference')} between systems that the "
        f"repeat compares too; the repeat {again} again, in the same direction."
        if found_first
        else "The first study could tell no two systems apart that the repeat compares, so there "
        "is no finding to uphold."
    ]
    if number := facts["reversed"]:
        sentences.append(
            f"{number:,} {'was' if number == 1 else 'were'} found the other way round."
        )
    if number := facts["not_again"]:
        sentences.append(
            f"For {number:,} it shows no clear difference, which doesn’t mean that there is none."
        )
    if number := facts["not_compared"]:
        further = count_of(number, "further finding")
        sentences.append(f"{further} of the first study could not be looked at.")
    if number := facts["new"]:
        differences = count_of(number, "difference")
        sentences.append(f"The repeat found {differences} that the first study didn’t.")
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
    "penalties": "the mean penalty of its outputs",
    "ranks": "minus its mean place; for the best and the worst, the times it was best less the "
    "times it was worst, over the times it was shown",
    "edits": "the mean edit rate of its outputs",
}


@NOTES.add
def repeated_score(family: str) -> str:
    return f"The score of a system is {_SCORES[family]}, computed separately in each study."


@NOTES.add
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


@NOTES.add
def repeated_intervals(draws: int, method: str, is_one_pool: bool) -> str:
    pool = ", raters of both from one pool" if is_one_pool else ""
    return (
        f"Intervals of differences and correlations hold the middle 95% of {draws:,} draws of the "
        f"{write_method(method)}: inputs that both studies have are drawn together{pool}."
    )


@NOTES.add
def repeated_correlations(is_log: bool) -> str:
    logs = ", as logarithms" if is_log else ""
    return (
        f"Correlations are of the systems’ scores{logs}; of fewer than 10 systems they have an "
        "interval and no p."
    )


# --- blocks

Stored = Mapping[str, Any]
_FEW_SYSTEMS = 5
_OUTCOMES = {
    "upheld": "Upheld",
    "reversed": "The other way round",
    "not_again": "No clear difference in the repeat",
    "not_compared": "Not compared in the repeat",
    "new": "Found in the repeat only",
    "open": "No clear difference in either",
}


def list_comparable(comparison: Stored) -> list[Stored]:
    """Return the criteria on which both studies rated a system of the same name."""
    return [criterion for criterion in comparison["criteria"] if criterion["systems"]]


def explain_apart(comparison: Stored) -> str:
    """Return why there is nothing to compare."""
    if not comparison["criteria"]:
        return "The two studies have no question in common with ratings in both."
    return (
        "The two studies have no system in common, so there is nothing to compare. Systems are "
        "matched by name."
    )


def choose_criterion(comparison: Stored, key: str) -> Stored | None:
    """Return the criterion of this key, or the first; None where there is nothing to compare."""
    criteria = list_comparable(comparison)
    chosen = (criterion for criterion in criteria if criterion["key"] == key)
    return next(chosen, criteria[0] if criteria else None)


def make_comparison(comparison: Stored) -> Document:
    """Return all of the comparison."""
    warnings = [
        Sentence(note["code"], write_note(note), "warning") for note in comparison["warnings"]
    ]
    blocks: list[Block] = [*warnings, tabulate_sides(comparison)]
    for criterion in comparison["criteria"]:
        blocks += [Heading(criterion["label"], 2, criterion["key"]), *show_criterion(criterion)]
    return Document("A study and its repeat", blocks)


def show_criterion(criterion: Stored) -> Iterator[Block]:
    """Yield what became of one criterion: the finding, scores, both together, each comparison."""
    note = criterion["finding"]
    yield Sentence(note["code"], write_note(note))
    if not criterion["systems"]:
        return
    yield _tabulate_scores(criterion)
    figures = [criterion["upheld"], *criterion["correlations"], *criterion["agreement"]]
    name, caption = f"{criterion['key']}-together", f"{criterion['label']}: both studies together"
    together = list_figures(name, caption, figures, criterion=criterion["key"])
    yield replace(together, place="main")
    if len(criterion["systems"]) < _FEW_SYSTEMS:
        yield Sentence("few_systems", "With so few systems, their correlation says little.")
    if criterion["pairs"]:
        yield _tabulate_findings(criterion)
    for note in criterion["notes"]:
        yield Sentence(note["code"], write_note(note), place="further")


def tabulate_sides(comparison: Stored) -> Table:
    """Return what each study brought, and what both have."""
    first, second, common = comparison["first"], comparison["second"], comparison["common"]
    rows: list[list[Entry]] = [
        ["Ratings", f"{first['ratings']:,}", f"{second['ratings']:,}", ""],
        ["Participants", _count_people(first), _count_people(second), ""],
        ["Outputs", f"{first['outputs']:,}", f"{second['outputs']:,}", f"{common['outputs']:,}"],
        ["Systems", *(f"{len(side['systems']):,}" for side in (first, second, common))],
    ]
    if common["changed"]:
        rows.append(["With another text or input", "", "", f"{common['changed']:,}"])
    columns = [Column("Counted", is_number=False), *map(Column, (*SIDES.values(), "In common"))]
    return Table("studies", "What was compared", columns, rows)


def _count_people(side: Stored) -> str:
    return f"{side['participants']:,}" if side["raters_known"] else "unknown"


def _tabulate_scores(criterion: Stored) -> Table:
    """Return the score of each system in both studies, how far it moved, and CV*."""
    rows: list[list[Entry]] = []
    for system in criterion["systems"]:
        name = str(system["system"])
        group = {"criterion": criterion["key"], "system": name}
        scores = [_write_score(system[side], group | {"study": side}) for side in SIDES]
        moved = read_own(system["moved"], group)
        rows.append([isolate(name), *scores, moved, read_own(system["cv_star"], group)])
    moved_name = name_code(criterion["systems"][0]["moved"]["name"])
    heads = [*SIDES.values(), f"{moved_name} (95% CI)", CODES["cv_star"][1]]
    columns = [Column("System", is_number=False), *map(Column, heads)]
    caption = (
        f"{criterion['label']}: scores of systems. CV* is how far apart the two scores are, in "
        "percent of their mean."
    )
    return Table(f"{criterion['key']}-scores", caption, columns, rows)


def _write_score(stored: Stored, group: Mapping[str, str]) -> Cell:
    """Return "5.21 (n = 48)"."""
    figure = read_own(stored, group)
    return Cell(f"{write_value(figure)} (n = {figure.n['ratings']:,})", (figure,))


def _tabulate_findings(criterion: Stored) -> Table:
    """Return every two systems that the first study compares, and what the repeat says of them."""
    rows: list[list[Entry]] = []
    for pair in criterion["pairs"]:
        first, second = str(pair["system_1"]), str(pair["system_2"])
        group = {"criterion": criterion["key"], "system_1": first, "system_2": second}
        effects = [_write_effect(pair[side], group | {"study": side}) for side in SIDES]
        rows.append([f"{isolate(first)} : {isolate(second)}", *effects, _OUTCOMES[pair["outcome"]]])
    effect = name_code(criterion["pairs"][0]["first"]["name"]).lower()
    columns = [
        Column("Pair", is_number=False),
        *(Column(f"{study}: {effect}") for study in SIDES.values()),
        Column("Finding", is_number=False),
    ]
    return Table(f"{criterion['key']}-findings", f"{criterion['label']}: findings", columns, rows)


def _write_effect(stored: Stored | None, group: Mapping[str, str]) -> Entry:
    """Return "0.45 (0.21 to 0.69), p = .003"."""
    if stored is None:
        return "–"
    figure: Figure = read_own(stored, group)
    p = say_p(figure.p_corrected)
    return Cell(", ".join(filter(None, (write_figure(figure), p))), (figure,))
