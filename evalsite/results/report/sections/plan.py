"""The plan's rules, what was excluded, and what departs from the plan."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from evalsite.lib.words import count_of
from evalsite.results.analysis_plan.wording import describe_deviation, plan_in_words
from evalsite.results.document.blocks import Block, Column, Entry, Heading, Sentence, Table, isolate
from evalsite.results.document.figures import make_figure
from evalsite.results.report.source import Source

_THRESHOLDS = "Thresholds of flags"
# rows of the plan that stand in tables of their own
_ELSEWHERE = ("Deviations", _THRESHOLDS)
_WORDS = (Column("", is_number=False), Column("", is_number=False))
# of a text before and after it was corrected; the bundle has all of it
_LONGEST_TEXT = 1000


def make_plan(source: Source) -> Iterator[Block]:
    yield Heading("Plan, exclusions, deviations", 2, "plan")
    plan, facts = source.plan, source.facts
    yield from tabulate_plan(plan, criteria=len(source.criteria))
    if facts.exclusions:
        phrases = [
            f"“{isolate(reason)}” ({count_of(number, 'decision')}"
            f"{_describe_decisions(facts.excluded.get(reason))})"
            for reason, number in facts.exclusions
        ]
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
    if facts.import_notes:
        notes = " ".join(isolate(note) for note in facts.import_notes)
        yield Sentence("imports", f"Confirmed at import: {notes}")
    yield from _list_changes(source)
    yield from list_deviations(plan)


def tabulate_plan(plan: Mapping[str, Any], *, criteria: int) -> Iterator[Block]:
    """Yield what was planned, and where flags begin; `criteria`: how many are compared."""
    rows = plan_in_words(plan, criteria=criteria)
    if any(plan.get(name) for name in ("moments", "frozen_at", "size")):
        shown: list[list[Entry]] = [
            [name, isolate(words)] for name, words in rows if name not in _ELSEWHERE
        ]
        yield Table("plan", "The plan", _WORDS, shown)
    else:
        yield Sentence("no_rule", "Nothing was planned.")
    yield from _list_thresholds(rows)


def list_deviations(plan: Mapping[str, Any]) -> Iterator[Block]:
    """Yield what departs from the plan, if it was frozen."""
    deviations = list(map(describe_deviation, plan.get("deviations") or ()))
    if deviations:
        listed = [[str(number), isolate(text)] for number, text in enumerate(deviations, start=1)]
        columns = [Column("No.", is_number=False), Column("Deviation", is_number=False)]
        yield Table("deviations", count_of(len(listed), "deviation"), columns, listed)
    elif plan.get("frozen_at"):
        yield Sentence("deviations_none", "There are no deviations from the plan.")


def _describe_decisions(decided: Mapping[str, Any] | None) -> str:
    """Return ", 2 people, 4 March 2026"; "" of a report that doesn't know."""
    if decided is None:
        return ""
    moments = (datetime.fromisoformat(decided[end]).astimezone(UTC) for end in ("first", "last"))
    days = dict.fromkeys(f"{at.day} {at:%B %Y}" for at in moments)
    return f", {count_of(decided['people'], 'person', 'people')}, {' to '.join(days)}"


def _list_thresholds(rows: Sequence[tuple[str, str]]) -> Iterator[Table]:
    """Yield where flags begin, for the further analyses."""
    words = dict(rows).get(_THRESHOLDS)
    if words:
        shown: list[list[Entry]] = [[_THRESHOLDS, words]]
        yield Table("thresholds", "Flags", _WORDS, shown, place="further")


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
