"""What only the page of the summary shows: decisions drawn, what would decide them, and links."""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import log

from evalsite.analysis.figure import Figure
from evalsite.lib.words import count_of
from evalsite.results.document.blocks import Block, Code, DecisionChart, Sentence, isolate
from evalsite.results.document.figures import make_figure, write_number
from evalsite.results.report.sections.findings import (
    find_own_pair,
    find_pair,
    orient_difference,
    say_judge,
    write_decision,
    write_finding,
)
from evalsite.results.report.sections.questions import name_reasons
from evalsite.results.report.sections.words import name_judge, name_label, say_p
from evalsite.results.report.source import Criterion, Decision, Source, list_decisions

# results that were computed so soon after closing belong to it
_AS_IT_CLOSED = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True)
class Card:
    """One planned question: its answer, the drawing of it, and what would decide an open one."""

    answer: Sentence
    judge: Sentence | None  # what the plan's judge has to do with it
    chart: DecisionChart | None
    facts: list[Sentence]
    plan: Sentence | None
    command: Code | None
    people: int = 0  # who would decide it in a repeat; 0: nobody knows, or it is decided
    answers_each: int = 0  # to an item, in that repeat

    @property
    def outcome(self) -> str:
        return self.answer.code.rpartition("_")[2]

    @property
    def blocks(self) -> list[Block]:
        parts = [self.answer, self.judge, self.chart, *self.facts, self.plan, self.command]
        return [part for part in parts if part is not None]


def list_cards(source: Source, *, bundle: str) -> list[Card]:
    """List the planned questions. `bundle`: the name of the file that a gate checks."""
    decisions = [
        decision for criterion in source.criteria for decision in list_decisions(criterion)
    ]
    return [_make_card(source, decision, bundle) for decision in decisions]


def _make_card(source: Source, decision: Decision, bundle: str) -> Card:
    plan = (decision.stored or {}).get("plan") or {}
    is_open = decision.outcome == "open" and decision.margin is not None
    people = int(plan.get("people_needed") or 0) if is_open else 0
    each = plan.get("answers_each", 0)
    return Card(
        answer=write_decision(decision),
        judge=say_judge(decision),
        chart=_draw_decision(decision),
        facts=list(_list_facts(source, decision)) if is_open else [],
        plan=describe_plan(source, decision),
        command=_write_command(source, decision, bundle),
        people=people,
        answers_each=round(each * people / plan["people"]) if people else 0,
    )


# --- the drawing ----------------------------------------------------------------------------------


def _draw_decision(decision: Decision) -> DecisionChart | None:
    reference = 1.0 if decision.criterion.difference_unit == "ratio" else 0.0
    name = f"{decision.criterion.key}-decision"
    drawn = _list_drawn(decision)
    if not drawn:
        return None
    figures, labels = [figure for figure, _ in drawn], [label for _, label in drawn]
    if decision.margin is None:
        return DecisionChart(
            name, "intervals", "Differences with 95% CI and corrected p", figures,
            reference=reference, place="page", labels=labels,
        )  # fmt: skip
    margins, passing = _place_margins(decision)
    return DecisionChart(
        name, "intervals", "Difference with its interval, and the margin", figures,
        reference=reference, place="page", margins=margins, passing=passing, labels=labels,
    )  # fmt: skip


def _list_drawn(decision: Decision) -> list[tuple[Figure, str]]:
    """List the differences that decide, with labels; where a judge's labels correct them, then
    people's own."""
    sign = " : " if decision.criterion.difference_unit == "ratio" else " − "
    over = decision.relation == "better" and decision.criterion.better == "higher"
    test = decision.judge if decision.is_judged else None
    beside = f", with {name_judge(test)}" if test else ""
    drawn: list[tuple[Figure | None, str]] = []
    if decision.margin is not None:
        label = f"{isolate(decision.system)}{sign}{isolate(decision.against[0])}"
        drawn.append((decision.planned_difference, label + beside))
        drawn.append((decision.people_difference, f"{label}, people alone"))
    finders = [find_pair, find_own_pair] if decision.is_judged else [find_pair]
    for find in finders if decision.margin is None else ():
        for other in decision.against:
            label = f"over {isolate(other)}" if over else ""
            label = label or f"{isolate(decision.system)}{sign}{isolate(other)}"
            label += ", people alone" if find is find_own_pair else beside
            pair = find(decision, other)
            figure = orient_difference(pair, decision.system) if pair else None
            drawn.append((figure, label))
    return [(figure, label) for figure, label in drawn if figure and figure.value is not None]


def _place_margins(
    decision: Decision,
) -> tuple[tuple[float, ...], tuple[float | None, float | None]]:
    """Return where the margins are, and between which ends the answer is yes."""
    margin = decision.margin or 0.0
    is_ratio = decision.criterion.difference_unit == "ratio"
    below, above = (1 / margin, margin) if is_ratio else (-margin, margin)
    if decision.relation == "equivalent":
        return (below, above), (below, above)
    if decision.criterion.better == "lower":
        return (above,), (None, above)
    return (below,), (below, None)


# --- what would decide it -------------------------------------------------------------------------


def _list_facts(source: Source, decision: Decision) -> Iterator[Sentence]:
    """Yield the test, what would decide the question, and what wouldn't."""
    test = decision.stored or {}
    group = {
        "criterion": decision.criterion.key, "system_1": decision.system,
        "system_2": decision.against[0],
    }  # fmt: skip
    if "se" in test:
        yield _describe_test(decision, group)
    if not (plan := test.get("plan")):
        return
    people, inputs = int(plan["people"]), int(plan["inputs"])
    more = plan["more_answers"]
    who = count_of(people, "person", "people")
    if plan["inputs_needed"]:
        number = _round(more["inputs"])
        yield _fact(
            "would_decide", "What would decide it", f"about {number:,} more answers",
            f"from these {who}, if both are equal, in 8 of 10 such studies",
            make_figure("answers_needed", number, group),
        )  # fmt: skip
    elif plan["people_needed"]:
        number, needed = _round(more["people"]), int(plan["people_needed"])
        yield _fact(
            "would_decide", "What would decide it", f"about {number:,} more answers",
            f"from {needed - people:,} more people on the same items, if both are equal, in 8 of "
            "10 such studies",
            make_figure("answers_needed", number, group),
            make_figure("people_needed", needed, group),
        )  # fmt: skip
        yield _fact(
            "would_not_decide", "What wouldn’t", f"the same {who}",
            f"Even {20 * inputs:,} items would decide in fewer than 8 of 10 studies",
            make_figure("people", people, group),
        )  # fmt: skip
    else:
        yield _fact(
            "would_not_decide", "What would decide it", "not a study like this one",
            "The margin is too small for this design",
        )  # fmt: skip


def _describe_test(decision: Decision, group: dict[str, str]) -> Sentence:
    test = decision.stored or {}
    margin, figure = decision.margin or 0.0, decision.planned_difference
    # as the test was computed: higher is better, ratios as logarithms
    bound = log(margin) if test["is_log"] else margin
    t = (test["difference"] + bound) / test["se"]
    if decision.relation == "equivalent":
        t = min(t, (bound - test["difference"]) / test["se"])
    p = None if figure is None else figure.p
    corrected = None if figure is None else figure.p_corrected
    p = p if corrected is None else corrected
    side = "two one-sided tests" if decision.relation == "equivalent" else "one-sided"
    level = f"{decision.level:g}".removeprefix("0")
    return _fact(
        "decision_test", "Test", say_p(p, "p" if corrected is None else "corrected p"),
        f"t = {write_number(t, 'statistic')}, df {test['df']:.1f}, {side}; “Yes” below {level}",
        make_figure("p", p, group), make_figure("t", t, group),
    )  # fmt: skip


def _fact(code: str, term: str, value: str, text: str, *figures: Figure) -> Sentence:
    return Sentence(code, text, figures=figures, question=term, answer=value, place="page")


def _round(number: int) -> int:
    """Return about so many: two figures."""
    unit = 10 ** max(0, len(str(number)) - 2)
    return round(number / unit) * unit


# --- the plan, and a command that asks the same ---------------------------------------------------


def describe_plan(source: Source, decision: Decision) -> Sentence | None:
    """Say when the question was planned, and for how many comparisons p is corrected."""
    plan = source.plan
    if not plan.get("frozen_at"):
        return None
    at = datetime.fromisoformat(plan["frozen_at"])
    answers = min((moment["answers"] for moment in plan["moments"].values()), default=0)
    when = "before the first answer" if not answers else f"after {count_of(answers, 'answer')}"
    hidden = ", and hidden until closing" if plan.get("hides_results") else ""
    figures = (make_figure("answers_in", answers),)
    text = f"Planned on {at.day} {at:%B %Y}, {when}{hidden}."
    size = decision.criterion.family_size
    if decision.margin is None and size > 1:
        text += f" p is corrected for {count_of(size, 'comparison')}."
    return Sentence("planned", text, figures=figures, place="page")


def _write_command(source: Source, decision: Decision, bundle: str) -> Code | None:
    """Write the command that answers the same question from a bundle."""
    if decision.relation != "not_worse" or decision.outcome == "untested":
        return None
    words = [
        "evalsite", "gate", bundle, "--system", decision.system, "--against", decision.against[0],
        "--margin", f"{decision.margin:g}",
    ]  # fmt: skip
    if len(source.criteria) > 1:
        words += ["--criterion", decision.criterion.key]
    if digest := source.plan.get("sha256"):
        words += ["--plan-hash", digest[:12]]
    return Code("Command for CI", shlex.join(words), place="page")


# --- every question -------------------------------------------------------------------------------


def list_findings(source: Source, find_url: Callable[[str], str]) -> list[Sentence]:
    """List one sentence for each question, in the order of the instrument if none is primary."""
    return [write_finding(criterion, link=find_url(criterion.key)) for criterion in source.criteria]


def describe_correction(source: Source) -> Sentence | None:
    """Say what p values are corrected for, and which question is primary."""
    tested = [criterion for criterion in source.criteria if criterion.is_tested]
    if not tested:
        return None
    primary = next(
        (criterion for criterion in source.criteria if criterion.role == "primary"), None
    )
    if primary is not None and len(source.criteria) > 1:
        text = (
            f"{isolate(primary.label)} is primary. The others are secondary: corrected within "
            "each question, not across them."
        )
        return Sentence("correction_primary", text, place="page")
    start = ""
    if not source.plan.get("frozen_at"):
        start = "No analysis plan: treat these results as exploratory. "
    if any(criterion.is_across for criterion in tested):
        text = f"p is corrected across {_name_all(len(tested))}."
    else:
        size = max(criterion.family_size for criterion in tested)
        text = f"p is corrected for {size:,} comparisons."
        if size == 1:
            text = "There is one comparison, so p isn’t corrected."
    return Sentence("correction", start + text, place="page")


def _name_all(number: int) -> str:
    return "both questions" if number == 2 else f"all {number} questions"


# --- what people wrote ----------------------------------------------------------------------------


def describe_reasons(source: Source) -> Sentence | None:
    """Name the reason that was ticked most for each side, in one sentence."""
    parts, figures = [], []
    for criterion in source.criteria:
        for system, label, figure in name_reasons(criterion):
            named, answers = figure.n.get("named", 0), figure.n.get("answers", 0)
            parts.append(
                f"Where {isolate(system)} was preferred{_say_question(source, criterion)}, most "
                f"named “{isolate(label)}” ({named:,} of {answers:,})."
            )
            figures.append(figure)
    return (
        Sentence("reasons", " ".join(parts), figures=tuple(figures), place="page")
        if parts
        else None
    )


def _say_question(source: Source, criterion: Criterion) -> str:
    return f" on {name_label(criterion)}" if len(source.criteria) > 1 else ""


# --- what it rests on -----------------------------------------------------------------------------


def describe_counts(source: Source, target: int, *, closed_at: datetime | None) -> Sentence:
    """Say how many answers are in, how many are used, and when they were computed."""
    data = source.kept["data"]
    done = source.collection.get("done") or data["annotations"]
    used = data["annotations"]
    figures = (make_figure("answers_in", done), make_figure("answers_used", used))
    if done >= target:
        text = f"All {done:,} answers are in"
    else:
        text = f"{done:,} of {count_of(target, 'answer')} are in"
    text += f"; {used:,} are used." if used != done else "."
    at = source.facts.made_at
    text += f" Computed on {at.day} {at:%B %Y at %H:%M} UTC"
    if closed_at is not None and timedelta(0) <= at - closed_at < _AS_IT_CLOSED:
        text += ", when the study closed"
    return Sentence("counts", f"{text}.", figures=figures, place="page")


def describe_method(source: Source) -> Sentence:
    """Say in one line what was computed, and how it is drawn again."""
    data, facts = source.kept["data"], source.facts
    modelled = any(criterion.is_by_model for criterion in source.criteria)
    people = count_of(data["participants"], "person", "people")
    inputs = count_of(data["groups"], "item")
    return Sentence(
        "method",
        f"{'Mixed model' if modelled else 'Comparisons'}, {people} and {inputs} as samples. "
        f"Methods version {facts.methods}, seed {facts.seed}.",
        figures=(
            make_figure("people", data["participants"]),
            make_figure("inputs", data["groups"]),
        ),
        place="page",
    )


def describe_data(source: Source) -> list[Sentence]:
    """Give the hashes that a reader compares."""
    return [Sentence("data_hash", f"SHA-256 of ratings.csv: {source.facts.sha256}.", place="page")]
