"""Reports without a site, as text: of a file of ratings, by the sections that need no study, and
how a gate ended, for the command line and for summaries of workflows.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from math import exp, log10
from typing import Any

import evalsite
from evalsite.lib.words import count_of
from evalsite.results.document.blocks import Block, Document, Heading, Sentence, isolate
from evalsite.results.document.figures import let_go
from evalsite.results.document.text import render_text
from evalsite.results.replication.tables import make_comparison
from evalsite.results.report.sections.findings import find_headline, make_findings
from evalsite.results.report.sections.further import make_further
from evalsite.results.report.sections.judges import make_further_metrics, make_judges, make_metrics
from evalsite.results.report.sections.limits import make_limits
from evalsite.results.report.sections.methods import make_methods
from evalsite.results.report.sections.questions import make_questions
from evalsite.results.report.sections.words import NOTES, WHY_PEOPLE, name_judge, say_p
from evalsite.results.report.source import Facts, Source

_SECTIONS = [
    make_findings, make_questions, make_judges, make_metrics, make_limits, make_methods,
    make_further, make_further_metrics,
]  # fmt: skip
# what a file of ratings can't tell
_OF_STUDIES = ("no_plan", "fine")
_LEFT_OUT = {
    "no_value": "without a value",
    "rated_twice": "of an output that the same participant has rated before (the first counts)",
    "excluded_ratings": "excluded",
    "not_main": "of practice, checks or repeats",
    "not_counted": "that don’t count (their status says so)",
}


def write_report(report: Mapping[str, Any], *, has_other_papers: bool = False) -> str:
    """Return the report as Markdown; `has_other_papers`: with the figures that others print."""
    document = make_bare_document(report, has_other_papers=has_other_papers)
    return let_go(render_text(document))


def make_bare_document(report: Mapping[str, Any], *, has_other_papers: bool = False) -> Document:
    source = _make_source(report)
    blocks = [block for make in _SECTIONS for block in make(source)]
    blocks = [block for block in blocks if getattr(block, "code", "") not in _OF_STUDIES]
    if not has_other_papers:
        # tables that show what others print
        names = ((block, getattr(block, "name", "")) for block in blocks)
        blocks = [block for block, name in names if not name.endswith("-other-papers")]
    main = [*_head(source), *(block for block in blocks if block.place == "main")]
    further = [block for block in blocks if block.place == "further"]
    blocks = [*main, Heading("Further analyses", 1), *further]
    return Document(find_headline(source)[1], blocks)


def write_comparison(comparison: Mapping[str, Any]) -> str:
    """Return the comparison of a study with its repeat as Markdown."""
    return let_go(render_text(make_comparison(comparison)))


def _make_source(report: Mapping[str, Any]) -> Source:
    """Return what sections are made from, where there is a report and no study."""
    # a file of ratings says nothing of pages that were sent
    answers = report["data"]["annotations"] or report["data"]["ratings"]
    kept = {**report, "data": {**report["data"], "annotations": answers}}
    facts = Facts(
        software=f"Evalsite {evalsite.__version__}",
        methods=report["methods_version"],
        seed=report["seed"],
        made_at=datetime.now(UTC),
        data=kept["data"],
    )
    return Source(facts=facts, content={"kept": kept, "all": None}, is_closed=True)


def _head(source: Source) -> Iterator[Block]:
    """Yield what was counted, what was left out, and how columns and values were read."""
    data = source.kept["data"]
    inputs = "" if data["groups"] == data["items"] else f" of {count_of(data['groups'], 'input')}"
    yield Sentence(
        "counted",
        f"{count_of(data['ratings'], 'rating')}, {count_of(data['participants'], 'participant')}, "
        f"{count_of(data['items'], 'item')}{inputs}.",
    )
    left_out = [f"{data['left_out'][key]:,} {words}" for key, words in _LEFT_OUT.items()
                if data["left_out"][key]]  # fmt: skip
    if left_out:
        yield Sentence("left_out", f"Rows left out: {'; '.join(left_out)}.")
    for note in data["notes"]:
        yield Sentence(note["code"], NOTES.write(note))
    for criterion in source.criteria:
        if note := criterion.stored.get("reading"):
            yield Sentence(note["code"], f"{isolate(criterion.label)}: {NOTES.write(note)}")


# --- how a gate ended

_OUTCOMES = {
    "pass": "{system} is not worse than {other} by more than {by}",
    "fail": "{system} is worse than {other} by more than {by}",
    "undecided": "not shown that {system} is not worse than {other} by more than {by}",
}
_EXACT = {
    "constant": "every rater gives the same difference ({difference}) on every input, so there is "
    "no interval",
    "all_equal": "all ratings of the two are equal, so there is no interval",
}
_TOO_FEW = "; fewer than 3 raters or 10 inputs can’t decide"
_REASONS = {
    "one_rater": "there is one rater, who says nothing about others",
    "no_data": "there are no ratings of both",
    "equal_means": "the ratings vary, but their difference is the same on average everywhere, "
    "which can’t be tested against a margin",
    "too_few": "there are too few ratings for a test",
}


def write_gate(facts: Mapping[str, Any]) -> str:
    """Say how the gate ended, in a paragraph."""
    sentences = [
        _write_outcome(facts),
        _write_judge(facts["test"]),
        *_write_slices(facts),
        _write_plan(facts),
        _write_raters(facts),
        _write_mapped(facts),
        _write_runs(facts),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _write_outcome(facts: Mapping[str, Any]) -> str:
    """Say what the test on all inputs found; a slice may overrule it."""
    test = facts["test"]
    start = f"Gate, {facts['criterion']}, {facts['outcome']}: "
    system, other = test["system"], test["other"]
    if test["outcome"] is None:
        why = _REASONS.get(test["reason"], str(test["reason"]).replace("_", " "))
        return f"{start}{system} can’t be compared with {other} ({why})."
    by = f"a factor of {test['margin']:g}" if test["is_log"] else f"{test['margin']:g}"
    words = _OUTCOMES[test["outcome"]].format(system=system, other=other, by=by)
    over = " on all inputs together" if "slices" in facts else ""
    lower = "lower is better; " if test["better"] == "lower" else ""
    return f"{start}{words}{over} ({lower}{_write_test(test)})."


def _write_judge(test: Mapping[str, Any]) -> str:
    """Say that a judge's labels correct the difference, and what people alone say; or why not."""
    if not test.get("judge"):
        return ""
    name = name_judge(test)
    if "why" in test:
        why = WHY_PEOPLE[test["why"]]
        return f"The plan names the judge {name}, but {why}, so people alone decide."
    alone = test["alone"]
    known = _write_test(alone) if "p" in alone or "exact" in alone else "no test"
    return f"The labels of {name} correct the difference, as planned. People alone: {known}."


def _write_test(test: Mapping[str, Any]) -> str:
    if "exact" in test:
        words = _EXACT[test["exact"]["code"]].format(difference=_write_difference(test))
        return words + (_TOO_FEW if str(test["reason"]).endswith("_too_few") else "")
    p = {"pass": say_p(test["p"]), "fail": say_p(test["p_fail"])}
    both = f"{say_p(test['p'])} for not worse, {say_p(test['p_fail'])} for worse"
    known = p.get(test["outcome"], both)
    difference = f"{_name_effect(test)} {_write_difference(test)}"
    return f"{difference}, {_write_interval(test)}, {known}"


def _name_effect(test: Mapping[str, Any]) -> str:
    return "ratio" if test["is_log"] else "difference"


def _write_difference(test: Mapping[str, Any]) -> str:
    """Return the system minus the other, or their ratio, in the units of the scale."""
    return _write_number(_turn_gate(test) * test["difference"], test)


def _write_interval(test: Mapping[str, Any]) -> str:
    """Return the interval that matches the one-sided test: 90% at the level of 5%."""
    ends = sorted(_turn_gate(test) * test[end] for end in ("low", "high"))
    low, high = (_write_number(end, test) for end in ends)
    return f"{1 - 2 * test.get('level', 0.05):.0%} CI {low} to {high}"


def _turn_gate(test: Mapping[str, Any]) -> int:
    """Return the sign that takes facts, in which more is better, back to the scale."""
    return -1 if test.get("better") == "lower" else 1


def _write_number(value: float, test: Mapping[str, Any]) -> str:
    number = exp(value) if test["is_log"] else value
    return f"{number + 0.0:.4g}".replace("-", "−")


def _write_slices(facts: Mapping[str, Any]) -> list[str]:
    """Say where the system is worse, or else which slice comes nearest to it."""
    if "slices" not in facts:
        return []
    level, better = facts["test"]["level"], facts["test"]["better"]
    slices = [{**each, "level": level, "better": better} for each in facts["slices"]]
    worse = [each for each in slices if each["is_worse"]]
    sentences = [f"Fails in slice {each['slice']}: {_write_slice(each)}." for each in worse]
    worst = facts["worst"]
    if worst is not None and worst["slice"] not in [each["slice"] for each in worse]:
        worst = {**worst, "level": level, "better": better}
        sentences.append(f"Worst slice {worst['slice']}: {_write_slice(worst)}.")
    if worst is None:
        sentences.append("No slice has a difference to test.")
    if facts.get("unsliced"):
        number = facts["unsliced"]
        sentences.append(f"{number:,} {'input is' if number == 1 else 'inputs are'} in no slice.")
    return sentences


def _write_slice(each: Mapping[str, Any]) -> str:
    phrases = [f"{_name_effect(each)} {_write_difference(each)}"]
    if "low" in each:
        phrases.append(_write_interval(each))
    if "p_corrected" in each:
        phrases.append(f"{say_p(each['p_corrected'], 'corrected p')}")
    elif each["is_tested"]:
        phrases.append("the same for every rater on every input")
    else:
        number = each["inputs"]
        phrases.append(f"not tested, with {number} {'input' if number == 1 else 'inputs'}")
    return ", ".join(phrases)


def _write_plan(facts: Mapping[str, Any]) -> str:
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


def _write_raters(facts: Mapping[str, Any]) -> str:
    if facts["raters_known"] or facts["test"]["outcome"] is None:
        return ""
    return "The raters are unknown, so this generalises over inputs, not raters."


def _write_mapped(facts: Mapping[str, Any]) -> str:
    outcome = facts["undecided_as"]
    return f"Undecided counts as {outcome} here (--undecided {outcome})." if outcome else ""


def _write_runs(facts: Mapping[str, Any]) -> str:
    level, runs, other = facts["test"]["level"], facts["runs"], facts["test"]["other"]
    start = f"One test at {level * 100:g}%"
    if runs is None:
        return f"{start}."
    day = datetime.fromisoformat(runs["first_at"])
    number = runs["number"]
    counted = "1 gate has" if number == 1 else f"{number:,} gates have"
    return f"{start}; {counted} been run against {other} since {day.day} {day:%B %Y}."
