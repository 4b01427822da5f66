"""Tables that a report has beside those of its parts: design, places, exclusions, flags."""

from collections import Counter
from dataclasses import replace
from statistics import median
from typing import Any

from evalsite.analysis.thresholds import BY_KEY
from evalsite.results.analysis_plan.wording import write_limit
from evalsite.results.models import Report
from evalsite.results.report.agreement_tables import tabulate_main_agreement
from evalsite.results.report.figure_details import Figure
from evalsite.results.report.parts import (
    DESIGN,
    RATERS,
    TOGETHER,
    Block,
    Part,
    Picture,
    list_parts,
    show_part,
)
from evalsite.results.report.prose import write_prose
from evalsite.results.report.study_facts import Facts
from evalsite.results.report.table import Column, Table, fill_table, name_column
from evalsite.results.report.wording import write_number

# the design is described at the top, and raters are given as counts
_OF_PAGES = (DESIGN, RATERS)
# of a text before and after it was corrected; the bundle has all of it
_LONGEST_TEXT = 1000
_FLAGS = {
    "straight_lining": "Gives one value nearly always, or varies far less than the others",
    "speeder": "Is much faster than the others",
    "disagreement": "Orders outputs unlike the others",
    "offset": "Rates higher or lower than the others",
    "reserved_points": "Often uses points meant for difficult cases",
    "drift_trial": "Ratings rise or fall over the study",
    "drift_place": "Ratings rise or fall over a set",
    "identical_criteria": "Gives all criteria of an output one value",
    "gold": "Answers too few control items right",
    "degraded": "Does not rate spoilt copies lower",
    "never_ties": "Never says that two outputs are equal",
    "always_ties": "Always says that two outputs are equal",
    "one_place": "Prefers one side, whatever its text",
    "circles": "Goes in circles more than the others",
    "inconsistent": "Rates the same output otherwise the second time",
}


def list_shown(report: Report) -> list[Part]:
    """Return the parts that a report writes out; none of their tables names a rater."""
    keys = [key for key, _ in list_parts(report.content) if key not in _OF_PAGES]
    parts = [show_part(report, key) for key in keys]
    for part, key in zip(parts, keys, strict=True):
        named = [table for table, _ in part.blocks if table.names_people]
        part.blocks = [block for block in part.blocks if not block[0].names_people]
        if any(table.name == f"{key}-kappas" for table in named):
            part.blocks.append((_sum_up_kappas(report.content["kept"], key), None))
    return [part for part in parts if part.blocks or part.key != TOGETHER]


def list_main(report: Report) -> list[Part]:
    """Return the parts of the report itself: of each criterion systems, pairs and agreement."""
    criteria = {one["key"]: one for one in report.content["kept"]["criteria"]}
    parts = [part for part in list_shown(report) if part.key in criteria]
    for part in parts:
        part.blocks = [
            (table.shorten(), picture) for table, picture in part.blocks if _is_main(part, table)
        ]
        if criteria[part.key]["agreement"]:
            part.blocks.append((tabulate_main_agreement(criteria[part.key]), None))
    return parts


def list_further(report: Report) -> list[Part]:
    """Return the parts of the further analyses: everything that the report itself leaves out."""
    parts = list_shown(report)
    for part in parts:
        part.blocks = [
            _complete(part, *block) for block in part.blocks if _is_further(part, block[0])
        ]
    return [part for part in parts if part.blocks or part.notes]


def _is_main(part: Part, table: Table) -> bool:
    return table.name in (f"{part.key}-systems", f"{part.key}-pairs")


def _is_further(part: Part, table: Table) -> bool:
    return bool(table.further) or not _is_main(part, table)


def _complete(part: Part, table: Table, picture: Picture | None) -> Block:
    """Return what the report shortens in full, under a name of its own."""
    if not _is_main(part, table):
        return table, picture
    caption, name = f"{table.caption}, in full", f"{table.name}-full"
    return replace(table, caption=caption, name=name), None


def _sum_up_kappas(found: dict[str, Any], key: str) -> Table:
    """Return the kappas of all pairs of raters as a range: who they are stays on the site."""
    kappas = next(one["kappas"] for one in found["criteria"] if one["key"] == key)
    values = [
        value
        for place, row in enumerate(kappas["values"])
        for value in row[place + 1 :]
        if value is not None
    ]
    rows: list[tuple[str, float | None]] = [("Pairs of raters", None)]
    if values:
        rows += [("Lowest", min(values)), ("Median", median(values)), ("Highest", max(values))]

    def list_figures(row: tuple[str, float | None]) -> list[Figure]:
        name, value = row
        if value is None:
            return []
        return [{
            "name": name.lower(), "value": value, "n": {"pairs_of_raters": len(values)},
            "details": {"weights": "quadratic"},
            "method": "Cohen's kappa of two raters who share at least 5 outputs",
        }]  # fmt: skip

    return fill_table(
        "Weighted κ of two raters",
        [
            name_column("Of all pairs", lambda row: row[0]),
            Column(
                heading="Value",
                write=lambda row: f"{len(values):,}" if row[1] is None else write_number(row[1]),
                figures=list_figures,
            ),
        ],
        rows,
        words=write_prose("tables/kappas.txt", {}),
        name=f"{key}-kappas-range",
    )


def tabulate_exclusions(facts: Facts) -> Table | None:
    """Return the reasons of active exclusions with their number; None if there are none."""
    if not facts.exclusions:
        return None
    columns = [
        name_column("Reason", lambda row: row[0]),
        name_column("Decisions", lambda row: f"{row[1]:,}"),
    ]
    return fill_table("Decisions to leave out", columns, facts.exclusions)


def tabulate_changes(facts: Facts) -> Table | None:
    """Return what was changed after the launch, with both texts; None if nothing was."""
    if not facts.changes:
        return None
    columns = [
        name_column("Changed", _name_change),
        name_column("Before", lambda change: shorten_text(change["before"])),
        name_column("After", lambda change: shorten_text(change["after"])),
        Column(heading="Reason", write=lambda change: change["reason"], is_prose=True),
    ]
    return fill_table("Changes after the launch", columns, facts.changes)


def _name_change(change: dict[str, Any]) -> str:
    if change["kind"] == "renamed":
        return "Name of a system"
    if change["kind"] == "corrected":
        return f"Output {change['output']} of {change['item']}"
    return f"{change['item']}, withdrawn"


def shorten_text(text: str) -> str:
    """Return the text, or the beginning of one that would fill the page."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def tabulate_flags(found: dict[str, Any]) -> Table | None:
    """Count the raters with a flag of each kind, without names; None if nobody has one."""
    counts = Counter(
        code for row in found["raters"]["rows"] for code in {flag["code"] for flag in row["flags"]}
    )
    columns = [
        name_column("Flag", lambda row: name_flag(row[0])),
        name_column("Raters", lambda row: f"{row[1]:,}"),
    ]
    return fill_table("Flags", columns, sorted(counts.items())) if counts else None


def tabulate_thresholds(facts: Facts) -> Table | None:
    """Return where flags begin in this study; None of a report from before there were plans."""
    if not facts.plan:
        return None
    own = facts.plan["thresholds"]
    columns = [
        name_column("Threshold", lambda limit: limit.label),
        name_column("Here", lambda limit: write_limit(limit, own.get(limit.key, limit.start))),
        name_column("Starts at", lambda limit: write_limit(limit, limit.start)),
        Column(heading="What it measures", write=lambda limit: limit.measures, is_prose=True),
    ]
    limits = [BY_KEY[key] for key in facts.plan["limits"]]
    return fill_table("Thresholds of flags", columns, limits)


def name_flag(code: str) -> str:
    return _FLAGS.get(code, code.replace("_", " ").capitalize())
