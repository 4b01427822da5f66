"""Tables that a report has beside those of its parts: design, places, exclusions, flags."""

from collections import Counter
from statistics import median
from typing import Any

from evalsite.analysis.thresholds import BY_KEY
from evalsite.results.analysis_plan.wording import write_limit
from evalsite.results.models import Report
from evalsite.results.report.criterion_tables import Table
from evalsite.results.report.figure_details import entry
from evalsite.results.report.sections import DESIGN, RATERS, TOGETHER, Part, list_parts, show_part
from evalsite.results.report.study_facts import Facts
from evalsite.results.report.wording import write_number

# the design has a place of its own at the top, and raters are told as counts
_OF_PAGES = (DESIGN, RATERS)
_FLAGS = {
    "straight_lining": "Gives one value nearly always, or varies far less than the others",
    "speeder": "Is much faster than the others",
    "disagreement": "Orders outputs unlike the others",
    "offset": "Rates higher or lower than the others",
    "reserved_points": "Uses points often that are meant for difficult cases",
    "drift_trial": "Ratings rise or fall over the study",
    "drift_place": "Ratings rise or fall over a set",
    "identical_criteria": "Gives all criteria of an output one value",
    "gold": "Answers too few control items right",
    "degraded": "Does not rate spoilt copies lower",
    "never_ties": "Never says that two outputs are equal",
    "always_ties": "Always says that two outputs are equal",
    "one_place": "Prefers one place whatever stands there",
    "circles": "Goes in circles more than the others",
    "inconsistent": "Rates the same output otherwise the second time",
}


def list_shown(report: Report) -> list[Part]:
    """The parts that a report writes out; none of their tables names a rater."""
    keys = [key for key, _ in list_parts(report.content) if key not in _OF_PAGES]
    parts = [show_part(report, key) for key in keys]
    for part, key in zip(parts, keys, strict=True):
        named = [table for table, _ in part.blocks if table.names_people]
        part.blocks = [block for block in part.blocks if not block[0].names_people]
        if any(table.name == f"{key}-kappas" for table in named):
            part.blocks.append((_sum_up_kappas(report.content["kept"], key), None))
    return [part for part in parts if part.blocks or part.key != TOGETHER]


def _sum_up_kappas(found: dict[str, Any], key: str) -> Table:
    """The kappas of all pairs of raters as a range: who they are stays on the site."""
    kappas = next(one["kappas"] for one in found["criteria"] if one["key"] == key)
    values = [
        value
        for place, row in enumerate(kappas["values"])
        for value in row[place + 1 :]
        if value is not None
    ]
    phrases = [("Pairs of raters", f"{len(values):,}")]
    ends: dict[str, float] = {}
    if values:
        ends = {"Lowest": min(values), "Median": median(values), "Highest": max(values)}
        phrases += [(name, write_number(value)) for name, value in ends.items()]
    return Table(
        "Weighted κ of two raters",
        ("Of all pairs", "Value"),
        list(phrases),
        words="Quadratic weights; only of two who share at least 5 outputs.",
        name=f"{key}-kappas-range",
        entries=[
            entry({"name": name.lower(), "value": value, "n": {"pairs_of_raters": len(values)},
                   "details": {"weights": "quadratic"},
                   "method": "Cohen's kappa of two raters who share at least 5 outputs"})
            for name, value in ends.items()
        ],
    )  # fmt: skip


def tabulate_exclusions(facts: Facts) -> Table | None:
    """Reasons of the decisions that stand, with their number; None where there are none."""
    if not facts.exclusions:
        return None
    rows: list[tuple[str, ...]] = [(reason, f"{number:,}") for reason, number in facts.exclusions]
    return Table("Decisions to leave out", ("Reason", "Decisions"), rows)


def tabulate_flags(found: dict[str, Any]) -> Table | None:
    """How many raters have a flag of each kind, nobody named; None where nobody has one."""
    counts = Counter(
        code for row in found["raters"]["rows"] for code in {flag["code"] for flag in row["flags"]}
    )
    rows: list[tuple[str, ...]] = [
        (name_flag(code), f"{number:,}") for code, number in sorted(counts.items())
    ]
    return Table("Flags", ("Flag", "Raters"), rows) if rows else None


def tabulate_thresholds(facts: Facts) -> Table | None:
    """Where flags begin in this study; None of a report from before there were plans."""
    if not facts.plan:
        return None
    own = facts.plan["thresholds"]
    rows: list[tuple[str, ...]] = [
        (
            limit.label,
            write_limit(limit, own.get(limit.key, limit.start)),
            write_limit(limit, limit.start),
            limit.measures,
        )
        for limit in (BY_KEY[key] for key in facts.plan["limits"])
    ]
    columns = ("Threshold", "Here", "Starts at", "What it measures")
    return Table("Thresholds of flags", columns, rows, prose=3)


def name_flag(code: str) -> str:
    return _FLAGS.get(code, code.replace("_", " ").capitalize())
