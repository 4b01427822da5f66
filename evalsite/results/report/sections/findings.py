"""What was found: the headline, the plan's questions, every question, and the table for a paper."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from evalsite.analysis.figure import Figure
from evalsite.lib.words import count_of, list_of
from evalsite.results.document.blocks import (
    Block,
    Cell,
    Column,
    Entry,
    Heading,
    Sentence,
    Table,
    isolate,
    start_sentence,
)
from evalsite.results.document.figures import (
    explain_none,
    explain_reason,
    make_figure,
    write_figure,
    write_interval,
    write_number,
    write_value,
)
from evalsite.results.report.sections.words import (
    MOST_NAMED,
    WHY_PEOPLE,
    find_higher,
    join_sentences,
    list_names,
    name_judge,
    name_label,
    say_ahead,
    say_leads,
    say_p,
    say_tested,
    write_amount,
    write_ci,
)
from evalsite.results.report.source import Criterion, Decision, Pair, Source, Stored, list_decisions

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
FEW_ANSWERS = 10
_FEW_QUESTIONS = 3


def make_findings(source: Source) -> Iterator[Block]:
    yield Heading("Findings", 2, "findings")
    decisions = [
        decision for criterion in source.criteria for decision in list_decisions(criterion)
    ]
    for decision in decisions:
        yield write_decision(decision)
    for criterion in source.criteria:
        yield write_finding(criterion, link=criterion.key)
    if source.criteria:
        yield make_paper(source)


# --- headline -----------------------------------------------------------------------------------


def make_headline(source: Source) -> Iterator[Block]:
    """Yield the headline of the report, and what it rests on."""
    _, text = find_headline(source)
    yield Heading(text, 1, "report")
    data = source.kept["data"]
    done = source.collection.get("done") or data["annotations"]
    figures = (make_figure("answers_in", done), make_figure("answers_used", data["annotations"]))
    used = "" if done == data["annotations"] else f"; {data['annotations']:,} are used"
    at = source.facts.made_at
    yield Sentence(
        "computed",
        f"Report of the study “{isolate(source.facts.title)}”. Computed on {at.day} "
        f"{at:%B %Y at %H:%M} UTC from {count_of(done, 'answer')}{used}.",
        figures=figures,
    )


def find_headline(source: Source) -> tuple[str, str]:
    """Return code and text of the headline; the first case that holds."""
    data, criteria = source.kept["data"], source.criteria
    if not data["annotations"] or not criteria:
        return "no_answers", "No answers yet"
    target = source.collection.get("target") or data["annotations"]
    if data["annotations"] < FEW_ANSWERS:
        return "too_few", f"Too few answers to tell: {data['annotations']:,} of {target:,}"
    decisions = [decision for criterion in criteria for decision in list_decisions(criterion)]
    if len(decisions) == 1:
        return f"decision_{decisions[0].outcome}", head_decision(decisions[0])
    if decisions:
        return head_decisions(decisions)
    if len(data["systems"]) == 1:
        return "one_system", _head_one_system(criteria[0])
    if len(criteria) == 1:
        return "finding", start_sentence(f"{say_leader(criteria[0])} on {name_label(criteria[0])}")
    return _head_several(criteria)


def head_decisions(decisions: Sequence[Decision]) -> tuple[str, str]:
    yes = sum(decision.outcome == "yes" for decision in decisions)
    judges = [name_judge(test) for each in decisions if each.is_judged and (test := each.judge)]
    extent = "" if len(judges) == len(decisions) else "some "
    end = f", {extent}with the labels of {list_of([*dict.fromkeys(judges)])}" if judges else ""
    if yes == len(decisions):
        return "decisions", f"All {yes} planned questions are answered yes{end}"
    return "decisions", f"{yes} of {len(decisions)} planned questions are answered yes{end}"


def _head_one_system(criterion: Criterion) -> str:
    system = criterion.systems[0]
    mean = criterion.mean(system)
    points = criterion.stored["answers"]
    of = f" of {points[-1]['value']}" if points and mean.unit == "points" else ""
    interval = f" ({write_ci(mean)})" if write_interval(mean) else ""
    name = isolate(str(system["system"]))
    return f"{name}: {write_value(mean)}{of} on {name_label(criterion)}{interval}"


def _head_several(criteria: Sequence[Criterion]) -> tuple[str, str]:
    leaders = {criterion.key: find_leader(criterion) for criterion in criteria}
    led = [criterion for criterion in criteria if leaders[criterion.key]]
    if len(criteria) > _FEW_QUESTIONS:
        if not any(criterion.clear_pairs for criterion in criteria):
            return "finding_none", f"No clear difference on any of {len(criteria)} questions"
        best = max(set(leaders.values()) - {""}, key=list(leaders.values()).count, default="")
        if best:
            number = list(leaders.values()).count(best)
            of = "all" if number == len(criteria) else f"{number} of"
            return "finding", start_sentence(
                f"{isolate(best)} leads on {of} {len(criteria)} questions"
            )
        number = sum(bool(criterion.clear_pairs) for criterion in criteria)
        return "finding", f"Systems differ on {number} of {len(criteria)} questions"
    by_words: dict[str, list[str]] = {}
    for criterion in [*led, *(criterion for criterion in criteria if criterion not in led)]:
        by_words.setdefault(say_leader(criterion), []).append(name_label(criterion))
    parts = [f"{words} on {list_of(labels)}" for words, labels in by_words.items()]
    code = "finding" if any(criterion.clear_pairs for criterion in criteria) else "finding_none"
    return code, start_sentence("; ".join(parts))


def find_leader(criterion: Criterion) -> str:
    """Return the system that is clearly ahead of all others, if there is one."""
    behind: dict[str, int] = {}
    for pair in criterion.pairs:
        if pair.ahead:
            behind[pair.ahead[0]] = behind.get(pair.ahead[0], 0) + 1
    most = len(criterion.systems) - 1
    return next((name for name, number in behind.items() if number == most > 0), "")


def say_leader(criterion: Criterion) -> str:
    """Return the headline of one question, without the question."""
    names = criterion.names
    if len(names) < 2 or not criterion.pairs:
        return "nothing to compare"
    if not criterion.is_tested:
        return "no test of the systems"
    if leader := find_leader(criterion):
        words = {1: isolate(next(name for name in names if name != leader)), 2: "both others"}
        behind = words.get(len(names) - 1, f"all {len(names) - 1} others")
        return f"{isolate(leader)} {say_leads(criterion, [leader])} {behind}"
    if not criterion.clear_pairs:
        sides = f" between {list_names(names)}" if len(names) == 2 else ""
        return f"no clear difference{sides}"
    tiers = find_tiers(criterion)
    if len(tiers) > 1:
        behind = "the others" if len(tiers) == 2 else "the rest"
        if list_untiered(criterion):
            behind = count_of(sum(map(len, tiers[1:])), "other system")
        if len(tiers) == 2 and len(tiers[1]) == 1:
            behind = isolate(tiers[1][0])
        return f"{list_names(tiers[0])} {say_leads(criterion, tiers[0])} {behind}"
    number, pairs = len(criterion.clear_pairs), len(criterion.pairs)
    return f"{number} of {pairs} pairs differ clearly"


# --- planned questions --------------------------------------------------------------------------


def write_decision(decision: Decision, *, has_people: bool = True) -> Sentence:
    """Return the plan's question with its answer and its figures.

    Where the plan names a judge, it says whether its labels correct the result, and what people
    alone say, unless `has_people` is False.
    """
    criterion = decision.criterion
    if decision.margin is not None:
        text, figures = _describe_margin(decision)
    else:
        pairs = [pair for other in decision.against if (pair := find_pair(decision, other))]
        figures = tuple(pair.difference for pair in pairs)
        text = join_sentences(f"{describe_pair(pair)}." for pair in pairs)
    text = text or f"The comparison can’t be tested on {name_label(criterion)}."
    if judged := say_judge(decision, has_people=has_people):
        text, figures = f"{text} {judged.text}", (*figures, *judged.figures)
    return Sentence(
        f"decision_{decision.outcome}",
        text,
        "headline",
        figures=figures,
        question=ask_decision(decision),
        answer=answer_decision(decision),
    )


def say_judge(decision: Decision, *, has_people: bool = True) -> Sentence | None:
    """Say that the labels of the planned judge correct the difference, and what people alone say;
    or why people alone decide; None if the plan names no judge."""
    test = decision.judge
    if test is None:
        return None
    name = name_judge(test)
    if not decision.is_judged:
        why = WHY_PEOPLE[test["why"]]
        text = f"The plan names the judge {name}, but {why}, so people alone decide."
        return Sentence("judge_not_used", text, place="page")
    these = "these differences" if len(decision.against) > 1 else "this difference"
    text = f"The labels of {name} correct {these}, as planned."
    figures: tuple[Figure, ...] = ()
    if has_people and decision.margin is not None:
        figure = decision.people_difference
        figures = () if figure is None else (figure,)
        text += f" People alone: {_size_margin(decision, figure) if figure else 'no test'}."
    elif has_people:
        pairs = [pair for other in decision.against if (pair := find_own_pair(decision, other))]
        figures = tuple(pair.difference for pair in pairs)
        text += f" People alone: {'; '.join(map(describe_pair, pairs)) or 'no test'}."
    return Sentence("judge_used", text, figures=figures, place="page")


def ask_decision(decision: Decision) -> str:
    criterion = decision.criterion
    system, rivals = isolate(decision.system), list_names(decision.against)
    label = name_label(criterion)
    margin = _write_margin(decision)
    match decision.relation:
        case "not_worse":
            return f"Is {system} at most {margin} worse than {rivals} on {label}?"
        case "equivalent":
            return f"Do {system} and {rivals} differ by less than {margin} on {label}?"
        case "differs":
            return f"Does {system} differ from {rivals} on {label}?"
    if counts := criterion.family.counts:
        return f"Does {system} have fewer {counts} than {rivals} on {label}?"
    return f"Is {system} {say_ahead(criterion)} {rivals} on {label}?"


def _write_margin(decision: Decision) -> str:
    if decision.margin is None:
        return ""
    unit = decision.criterion.difference_unit
    # as it was entered
    text = f"{decision.margin * (100 if unit == 'difference in shares' else 1):g}"
    if unit == "ratio":
        return f"{text} times"
    words = decision.criterion.unit_words
    return f"{text} {words}".strip()


def answer_decision(decision: Decision) -> str:
    match decision.outcome:
        case "yes":
            both = {1: "", 2: ", than both"}.get(len(decision.against), ", than all")
            return "Yes" + (both if decision.relation == "better" else "")
        case "no":
            return "No"
        case "open":
            return "Not shown yet" if decision.margin is not None else "No clear difference"
    return "Not tested"


def head_decision(decision: Decision) -> str:
    """Return the planned question and its answer as a headline, which says whose labels correct the
    result."""
    head, test = _head_decision(decision), decision.judge
    return f"{head}, with the labels of {name_judge(test)}" if test and decision.is_judged else head


def _head_decision(decision: Decision) -> str:
    system, rivals = isolate(decision.system), list_names(decision.against)
    margin, label = _write_margin(decision), name_label(decision.criterion)
    figure, outcome = decision.planned_difference, decision.outcome
    if outcome == "untested":
        return f"Not tested: {ask_decision(decision)}"
    if decision.relation == "not_worse":
        if outcome == "open" and figure is not None and write_interval(figure):
            up_to = _write_worst(decision, figure)
            return f"Not shown yet: {system} could be up to {up_to} worse than {rivals}"
        start = "Yes" if outcome == "yes" else "No" if outcome == "no" else "Not shown yet"
        most = "more than" if outcome == "no" else "at most"
        return f"{start}: {system} is {most} {margin} worse than {rivals}"
    if decision.relation == "equivalent":
        if outcome == "open" and figure is not None and write_interval(figure):
            up_to = _write_worst(decision, figure)
            return f"Not shown yet: {system} and {rivals} could differ by up to {up_to}"
        words = {"yes": "Yes: {} and {} differ by less than {}"}.get(
            outcome, "No: {} and {} differ by more than {}"
        )
        return words.format(system, rivals, margin)
    if outcome == "yes":
        number = len(decision.against)
        behind = rivals if number == 1 else "both others" if number == 2 else f"all {number} others"
        if decision.relation == "differs":
            return start_sentence(f"{system} differs from {behind} on {label}")
        leads = say_leads(decision.criterion, [decision.system])
        return start_sentence(f"{system} {leads} {behind} on {label}")
    if outcome == "no":
        return start_sentence(
            f"{rivals} {say_leads(decision.criterion, decision.against)} {system} on {label}: "
            "the plan expected the opposite"
        )
    behind = rivals if len(decision.against) == 1 else "the others"
    return f"No clear difference between {system} and {behind} on {label}"


def _write_worst(decision: Decision, figure: Figure) -> str:
    """Return how far the interval reaches on the bad side, or on either side."""
    criterion = decision.criterion
    low, high = figure.low or 0.0, figure.high or 0.0
    if figure.unit == "ratio":
        worst = max(1 / low if low else 0.0, high)
    elif decision.relation == "equivalent":
        worst = max(abs(low), abs(high))
    else:
        worst = high if criterion.better == "lower" else -low
    words = "times" if figure.unit == "ratio" else criterion.unit_words
    return f"{write_number(worst, figure.unit)} {words}".strip()


def _describe_margin(decision: Decision) -> tuple[str, tuple[Figure, ...]]:
    criterion, test = decision.criterion, decision.stored or {}
    group = {
        "criterion": criterion.key, "system_1": decision.system, "system_2": decision.against[0],
    }  # fmt: skip
    margin = make_figure("margin", decision.margin, group, unit=criterion.difference_unit)
    figure = decision.planned_difference
    if figure is None or decision.outcome == "untested":
        why = explain_reason(str(test.get("reason") or "no_data"))
        return start_sentence(f"the margin can’t be tested: {why}."), (margin,)
    sides = f"{isolate(decision.system)} − {isolate(decision.against[0])}"
    if figure.unit == "ratio":
        sides = sides.replace(" − ", " : ")
    return f"{sides}: {_size_margin(decision, figure)}.", (figure, margin)


def _size_margin(decision: Decision, figure: Figure) -> str:
    """ "0.12 points (90% CI −0.31 to 0.55, p = .041)"."""
    p = say_p(figure.p_corrected, "corrected p") or say_p(figure.p)
    inside = ", ".join(filter(None, (write_ci(figure), p)))
    value = f"{write_value(figure)} {decision.criterion.unit_words}".strip()
    return f"{value} ({inside})"


def find_pair(decision: Decision, other: str) -> Pair | None:
    """Return the comparison that decides: people's, or the one that a judge's labels correct."""
    if decision.is_judged:
        return next(
            (Pair(decision.criterion, test["pair"]) for test in decision.tests
             if test["other"] == other), None,
        )  # fmt: skip
    return find_own_pair(decision, other)


def find_own_pair(decision: Decision, other: str) -> Pair | None:
    """Return people's own comparison."""
    sides = {decision.system, other}
    pairs = (pair for pair in decision.criterion.pairs if {pair.first, pair.second} == sides)
    return next(pairs, None)


# --- every question -----------------------------------------------------------------------------


def write_finding(criterion: Criterion, *, link: str = "") -> Sentence:
    """Return what was found on one question."""
    code, text = describe_finding(criterion)
    role = " (secondary)" if criterion.role == "secondary" else ""
    return Sentence(
        code,
        name_alone(criterion, text),
        figures=tuple(pair.difference for pair in criterion.pairs[:MOST_NAMED]),
        question=f"{criterion.label}{role}",
        link=link,
    )


def name_alone(criterion: Criterion, text: str) -> str:
    """Say whose finding it is where a judge's labels correct what the plan asked."""
    if not any(decision.is_judged for decision in list_decisions(criterion)):
        return text
    return f"People alone: {f'no {text[3:]}' if text.startswith('No ') else text}"


def describe_finding(criterion: Criterion) -> tuple[str, str]:
    """Return code and sentences of what was found on a question."""
    pairs = criterion.pairs
    if not pairs:
        return "finding_nothing", "There is nothing to compare."
    if not criterion.is_tested:
        return "finding_untested", _describe_untested(criterion)
    if len(criterion.systems) == 2:
        (pair,) = pairs[:1]
        if pair.is_clear:
            return "finding_single", f"{start_sentence(describe_pair(pair))}."
        return "finding_none", f"No clear difference: {_size_pair(pair)} ({say_tested(pair)})."
    if not criterion.clear_pairs:
        return "finding_none", "No clear difference between the systems."
    tiers = find_tiers(criterion)
    if len(tiers) > 1:
        return "finding", join_sentences(_describe_tiers(criterion, tiers))
    return "finding_crossed", join_sentences(_describe_leads(criterion))


def _describe_untested(criterion: Criterion) -> str:
    if "by_one_rater" in {pair.code for pair in criterion.pairs}:
        return "One person rated: differences are described, not tested."
    reasons = {
        pair.reason or str(pair.difference.details.get("interval", "")) for pair in criterion.pairs
    }
    code = next(iter(reasons)) if len(reasons) == 1 else ""
    why = explain_none(code) or explain_reason(code) or "too few values"
    return f"Systems can’t be compared: {why}."


def describe_pair(pair: Pair) -> str:
    """Return a comparison as the beginning of a sentence."""
    criterion, figure = pair.criterion, pair.difference
    if figure.value is None:
        names = f"{isolate(pair.first)} and {isolate(pair.second)}"
        return f"{names} can’t be compared: {explain_reason(pair.reason)}"
    if not pair.is_clear:
        names = f"{isolate(pair.first)} and {isolate(pair.second)}"
        return f"{names}: no clear difference, {_size_pair(pair)} ({say_tested(pair)})"
    first, second = (isolate(name) for name in find_higher(pair))
    ahead, amount = say_ahead(criterion), write_amount(figure, criterion)
    tested = say_tested(pair, is_size=True)
    if criterion.family.compares:
        return f"{first} is preferred to {second} by {amount} ({tested})"
    if criterion.family.orders:
        return f"{first} is {ahead} {second}, by {amount} in log strength ({tested})"
    if figure.unit == "ratio":
        # as the figure stands, whichever is better
        return (
            f"{isolate(pair.first)} is rated {amount} as high as {isolate(pair.second)} "
            f"({say_tested(pair)})"
        )
    if counts := criterion.family.counts:
        size = write_number(abs(figure.value), figure.unit)
        return f"{first} has {size} fewer {counts} than {second} ({tested})"
    verb, _, than = ahead.partition(" ")
    return f"{first} is {verb} {amount} {than} {second} ({tested})"


def _size_pair(pair: Pair) -> str:
    """Return a difference with its sign and direction, which isn't clear."""
    figure = pair.difference
    if figure.unit == "ratio":
        return f"a ratio of {write_value(figure)}"
    return f"{write_value(figure)} {pair.criterion.unit_words}".strip()


def find_tiers(criterion: Criterion) -> list[list[str]]:
    """Return the systems of each tier, the best tier first."""
    tiers: dict[int, list[str]] = {}
    for system in criterion.systems:
        if number := system.get("cluster"):
            tiers.setdefault(number, []).append(str(system["system"]))
    return [tiers[number] for number in sorted(tiers)]


def list_untiered(criterion: Criterion) -> list[str]:
    """Return the systems without a tier: beside tiers, they have too few values to be compared."""
    return [str(system["system"]) for system in criterion.systems if not system.get("cluster")]


def _describe_tiers(criterion: Criterion, tiers: Sequence[Sequence[str]]) -> Iterator[str]:
    shown = tiers[:MOST_NAMED]
    text = f"{list_names(shown[0])} {say_leads(criterion, shown[0])} {list_names(shown[1])}"
    for before, tier in pairwise(shown[1:]):
        text += f", which {say_leads(criterion, before)} {list_names(tier)}"
    yield f"{text}."
    for tier in shown:
        if len(tier) > 1 and not _has_clear_within(criterion, tier):
            yield f"{list_names(tier)}: no clear difference."
    within = [
        pair
        for pair in criterion.clear_pairs
        if any({pair.first, pair.second} <= set(tier) for tier in tiers)
    ]
    for pair in within[:MOST_NAMED]:
        first, second = find_higher(pair)
        leads = say_leads(criterion, [first])
        yield f"{isolate(first)} {leads} {isolate(second)}, though they share a tier."
    if untiered := list_untiered(criterion):
        yield f"{list_names(untiered)} can’t be compared: too few values."


def _has_clear_within(criterion: Criterion, tier: Sequence[str]) -> bool:
    return any({pair.first, pair.second} <= set(tier) for pair in criterion.clear_pairs)


def _describe_leads(criterion: Criterion) -> Iterator[str]:
    """Yield who is ahead of whom where tiers can't show it."""
    clear = criterion.clear_pairs
    behind: dict[str, list[str]] = {}
    for pair in clear:
        first, second = find_higher(pair)
        behind.setdefault(first, []).append(second)
    for name, beaten in list(behind.items())[:MOST_NAMED]:
        yield f"{isolate(name)} {say_leads(criterion, [name])} {list_names(beaten)}."
    rest = len(criterion.pairs) - len(clear)
    if rest:
        yield f"{count_of(rest, 'other pair')}: no clear difference."


# --- the table for a paper ----------------------------------------------------------------------


def make_paper(source: Source) -> Table:
    """Return the table of systems by questions; the last row is agreement."""
    criteria = source.criteria
    if all(criterion.family.compares and len(criterion.pairs) == 1 for criterion in criteria):
        return _tabulate_preferences(source)
    names = list(dict.fromkeys(name for criterion in criteria for name in criterion.names))
    known = [
        {str(system["system"]): system for system in criterion.systems} for criterion in criteria
    ]
    rows: list[list[Entry]] = []
    for name in names:
        row: list[Entry] = [isolate(name)]
        for criterion, systems in zip(criteria, known, strict=True):
            row.append(_write_paper(criterion, systems[name]) if name in systems else "")
        rows.append(row)
    foot: list[Entry] = ["Agreement, α", *(criterion.alpha or "" for criterion in criteria)]
    columns = [Column("System", is_number=False)]
    columns += [
        Column(_head_column(criterion), scale=_name_scale(criterion)) for criterion in criteria
    ]
    has_tiers = any(isinstance(entry, Cell) and entry.above for row in rows for entry in row)
    return Table("paper", _caption_paper(source, has_tiers=has_tiers), columns, rows, [foot])


def _tabulate_preferences(source: Source) -> Table:
    """Return how often each of two systems was preferred, with a row for each question."""
    criteria = source.criteria
    pairs = [criterion.pairs[0] for criterion in criteria]
    first, second = pairs[0].first, pairs[0].second
    parts = [_count_answers(pair, first) for pair in pairs]
    names = [name for name in parts[0] if any(counts.get(name) for counts in parts)]
    labels = {"first": f"{isolate(first)} preferred", "second": f"{isolate(second)} preferred",
              "both_good": "Both good", "both_bad": "Both bad", "tie": "Tie"}  # fmt: skip
    columns = [Column("Question", is_number=False), *(Column(labels[name]) for name in names)]
    columns += [Column("Difference (95% CI)"), Column("Agreement, α")]
    rows: list[list[Entry]] = []
    for pair, counts in zip(pairs, parts, strict=True):
        total = sum(counts.values())
        shares = [
            make_figure(
                "chosen", counts.get(name, 0) / total if total else None,
                {"criterion": pair.criterion.key, "answer": name}, n={"answers": total},
            )
            for name in names
        ]  # fmt: skip
        difference = orient_difference(pair, first)
        rows.append([
            isolate(pair.criterion.label), *shares, difference, pair.criterion.alpha or "",
        ])  # fmt: skip
    data = source.kept["data"]
    people = count_of(data["participants"], "person", "people")
    caption = (
        f"Answers by question: {people}, {count_of(data['annotations'], 'answer')}. Difference: "
        f"{isolate(first)} minus {isolate(second)}, in percentage points. Agreement: "
        "Krippendorff’s α (95% CI)."
    )
    return Table("paper", caption, columns, rows)


def _count_answers(pair: Pair, first: str) -> dict[str, int]:
    """Count the answers of a pair, seen from this system; ties by their kind, where it is known."""
    counts, grades = pair.stored["counts"] or {}, pair.stored.get("grades") or {}
    both = {name: int(grades.get(name, 0)) for name in ("both_good", "both_bad")}
    wins, losses = int(counts.get("wins", 0)), int(counts.get("losses", 0))
    if pair.first != first:
        wins, losses = losses, wins
    ties = int(counts.get("ties", 0)) - sum(both.values())
    return {"first": wins, "second": losses, **both, "tie": ties}


def orient_difference(pair: Pair, first: str) -> Figure:
    """Return the difference of the pair, seen from this system."""
    figure = pair.difference
    if pair.first == first or figure.value is None:
        return figure
    ends = (figure.value, figure.high, figure.low)
    if figure.unit == "ratio":
        value, low, high = (1 / end if end else None for end in ends)
    else:
        value, low, high = (None if end is None else -end for end in ends)
    group = {"criterion": pair.criterion.key, "system_1": first, "system_2": pair.first}
    return replace(figure, value=value, low=low, high=high, group=tuple(group.items()))


def _name_scale(criterion: Criterion) -> str:
    """Return what is equal for questions whose answers are on one scale."""
    ends = criterion.stored.get("range") or [
        answer["value"] for answer in criterion.stored["answers"]
    ]
    if criterion.mean_unit == "share":
        return "share"
    return f"{criterion.stored['kind']} {ends}" if ends else criterion.key


def _head_column(criterion: Criterion) -> str:
    if criterion.family.compares:
        return f"{criterion.label} (net share)"
    if criterion.family.orders:
        return f"{criterion.label} (strength)"
    note = " (lower is better)" if criterion.better == "lower" else ""
    return f"{criterion.label}{note}"


def _write_paper(criterion: Criterion, system: Stored) -> Cell:
    if criterion.family.compares:
        return _write_net_share(criterion, system)
    mean, distance = criterion.mean(system), criterion.distance(system)
    tier = criterion.tier(system)
    figures = tuple(figure for figure in (mean, distance, tier) if figure is not None)
    text = write_value(mean)
    if half := write_half(distance):
        text += f" ± {half}"
    elif distance is not None and write_interval(distance):
        text += f" (×{write_value(distance)}; {write_interval(distance)})"
    elif write_interval(mean):
        text = write_figure(mean)
    letter = write_letter(tier)
    mark = place_mean(criterion, system)
    return Cell(text, figures, letter, is_strong=letter == "A", mark=mark)


def write_letter(tier: Figure | None) -> str:
    """Write a tier as a letter, A for the best; "" where there are no tiers."""
    return "" if tier is None else LETTERS[int((tier.value or 1) - 1) % len(LETTERS)]


def _write_net_share(criterion: Criterion, system: Stored) -> Cell:
    net, tier = criterion.net_share(system), criterion.tier(system)
    figures = (net,) if tier is None else (net, tier)
    letter = write_letter(tier)
    sign = "+" if (net.value or 0) > 0 else ""
    mark = net if net.value is not None else None
    return Cell(f"{sign}{write_figure(net)}", figures, letter, is_strong=letter == "A", mark=mark)


def place_mean(criterion: Criterion, system: Stored) -> Figure | None:
    """Return the mean with the interval of the system's distance from the average."""
    mean, distance = criterion.mean(system), criterion.distance(system)
    if mean.value is None:
        return None
    if distance is None or distance.value is None or distance.low is None or distance.high is None:
        return mean
    return criterion.move_interval(mean, distance)


def write_half(distance: Figure | None) -> str:
    """Return how far the interval reaches on either side; "" where the sides differ."""
    if distance is None or distance.low is None or distance.high is None:
        return ""
    if distance.unit == "ratio":
        return ""
    return write_number((distance.high - distance.low) / 2, distance.unit)


def _caption_paper(source: Source, *, has_tiers: bool) -> str:
    data = source.kept["data"]
    people = count_of(data["participants"], "person", "people")
    parts = [f"Systems by question: {people}, {count_of(data['annotations'], 'answer')}."]
    if any(
        criterion.distance(system)
        for criterion in source.criteria
        for system in criterion.systems[:1]
    ):
        parts.append(
            "±: half-width of the 95% interval of a system’s distance from the average of the "
            "systems."
        )
    if has_tiers:
        parts.append(
            "Every system in tier A is clearly ahead of every system in tier B (p < .05, Holm); a "
            "column without letters has no clear difference."
        )
    if any(criterion.family.compares for criterion in source.criteria):
        parts.append(
            "Net share: answers that prefer the system minus those that prefer the other, in "
            "percentage points (95% CI)."
        )
    if any(criterion.family.orders for criterion in source.criteria):
        parts.append(
            "Strength: log strength of the Plackett–Luce model (95% CI); those of all systems add "
            "up to 0."
        )
    parts.append("Last row: Krippendorff’s α (95% CI).")
    return " ".join(parts)
