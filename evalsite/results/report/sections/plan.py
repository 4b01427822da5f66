"""The plan's rules, what was excluded, and what departs from the plan."""

from collections.abc import Iterator
from typing import Any

from evalsite.lib.words import count_of
from evalsite.results.analysis_plan.wording import describe_deviation, describe_moment
from evalsite.results.document.blocks import Block, Column, Heading, Sentence, Table, isolate
from evalsite.results.document.figures import make_figure
from evalsite.results.report.source import Source

# of a text before and after it was corrected; the bundle has all of it
_LONGEST_TEXT = 1000


def make_plan(source: Source) -> Iterator[Block]:
    yield Heading("Plan, exclusions, deviations", 2, "plan")
    plan, facts = source.plan, source.facts
    if rules := plan.get("rules"):
        text = "; ".join(isolate(rule) for rule in rules)
        yield Sentence("rules", f"Exclusion rules of the plan: {text}.")
    if rule := plan.get("exclusion_rule"):
        moment = describe_moment(plan, "exclusion_rule")
        when = f", worded {moment}" if moment else ""
        yield Sentence("rule_in_words", f"Exclusion rule: “{isolate(rule)}”{when}.")
    if not plan.get("rules") and not plan.get("exclusion_rule"):
        yield Sentence("no_rule", "No exclusion rule was planned.")
    if facts.exclusions:
        phrases = [f"“{isolate(reason)}” ({number:,})" for reason, number in facts.exclusions]
        yield Sentence(
            "exclusions",
            f"Active exclusions by reason: {'; '.join(phrases)}.",
            figures=tuple(
                make_figure("rule_matches", number, {"rule": reason})
                for reason, number in facts.exclusions
            ),
        )
    else:
        yield Sentence("exclusions_none", "Nobody is excluded.")
    yield from _list_changes(source)
    deviations = [describe_deviation(one) for one in plan.get("deviations") or ()]
    if deviations:
        rows = [[str(number), isolate(text)] for number, text in enumerate(deviations, start=1)]
        columns = [Column("No.", is_number=False), Column("Deviation", is_number=False)]
        yield Table("deviations", count_of(len(rows), "deviation"), columns, rows)
    elif plan.get("frozen_at"):
        yield Sentence("deviations_none", "There are no deviations from the plan.")


def _list_changes(source: Source) -> Iterator[Table]:
    """Yield what was changed after the launch, with both texts."""
    if not source.facts.changes:
        return
    columns = [Column(label, is_number=False) for label in ("Changed", "Before", "After", "Reason")]
    rows = [
        [
            isolate(_name_change(change)),
            *(isolate(_shorten(change[part])) for part in ("before", "after", "reason")),
        ]
        for change in source.facts.changes
    ]
    yield Table("changes", "Changes after the launch", columns, rows)


def _name_change(change: dict[str, Any]) -> str:
    if change["kind"] == "renamed":
        return "Name of a system"
    if change["kind"] == "corrected":
        return f"Output {change['output']} of {change['item']}"
    return f"{change['item']}, withdrawn"


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
