"""What the page on a repeated study shows: tables of words, made from the plain data."""

from dataclasses import dataclass, field
from typing import Any

from evalsite.results.report.criterion_tables import PAIR, SYSTEM, name_system, tabulate_figures
from evalsite.results.report.prose import write_prose
from evalsite.results.report.sentences import write_sentence
from evalsite.results.report.table import (
    INTERVAL,
    Column,
    Table,
    figure_column,
    fill_table,
    name_column,
    value_column,
    write_with_interval,
)
from evalsite.results.report.wording import (
    hold_together,
    name_figure,
    write_interval,
    write_p,
    write_value,
)

_FEW_SYSTEMS = 5
_SIDES = {"first": "First study", "second": "Repeat"}
_OUTCOMES = {
    "upheld": "Upheld",
    "reversed": "The other way round",
    "not_again": "No clear difference in the repeat",
    "not_compared": "Not compared in the repeat",
    "new": "Found in the repeat only",
    "open": "No clear difference in either",
}


@dataclass
class Compared:
    """One criterion of both studies, in words."""

    key: str
    label: str
    finding: str
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def list_compared(found: dict[str, Any]) -> list[Compared]:
    """Return every criterion that both studies rated."""
    return [_show(criterion) for criterion in found["criteria"]]


def list_comparable(found: dict[str, Any]) -> list[Compared]:
    """Return the criteria on which both studies rated a system of the same name."""
    return [one for one in list_compared(found) if one.tables]


def mark_differences(found: dict[str, Any]) -> str:
    """Why there is nothing to compare."""
    if not found["criteria"]:
        return "The two studies have no criterion in common with ratings in both."
    return (
        "The two studies have no system in common, so there is nothing to compare. Systems are "
        "matched by name."
    )


def choose_compared(found: dict[str, Any], key: str) -> Compared | None:
    """Return the criterion of this key, or the first; None where there is nothing to compare."""
    criteria = list_comparable(found)
    return next((one for one in criteria if one.key == key), criteria[0] if criteria else None)


def _show(criterion: dict[str, Any]) -> Compared:
    has_common = bool(criterion["systems"])
    tables = [tabulate_scores(criterion), tabulate_agreement(criterion)] if has_common else []
    if criterion["pairs"] and has_common:
        tables.append(tabulate_findings(criterion))
    finding = hold_together(write_sentence(criterion["finding"]))
    notes = [hold_together(write_sentence(note)) for note in criterion["notes"]]
    return Compared(criterion["key"], criterion["label"], finding, tables, notes)


def tabulate_sides(found: dict[str, Any]) -> Table:
    """Return what each study brought, and what both have."""
    one, two, common = found["first"], found["second"], found["common"]
    rows = [
        ("Ratings", f"{one['ratings']:,}", f"{two['ratings']:,}", ""),
        ("Participants", *(_count_people(side) for side in (one, two)), ""),
        ("Outputs", f"{one['outputs']:,}", f"{two['outputs']:,}", f"{common['outputs']:,}"),
        (
            "Systems",
            f"{len(one['systems']):,}",
            f"{len(two['systems']):,}",
            f"{len(common['systems']):,}",
        ),
    ]
    if common["changed"]:
        rows.append(("With another text or input", "", "", f"{common['changed']:,}"))
    headings = ("Counted", *_SIDES.values(), "In common")
    columns = [_make_text_column(heading, place) for place, heading in enumerate(headings)]
    return fill_table("What was compared", columns, rows, name="studies")


def _make_text_column(heading: str, place: int) -> Column:
    return name_column(heading, lambda row: row[place])


def _count_people(side: dict[str, Any]) -> str:
    return f"{side['participants']:,}" if side["raters_known"] else "unknown"


def tabulate_scores(criterion: dict[str, Any]) -> Table:
    """Return the score of each system in both studies, how far it moved, and CV*."""
    systems = criterion["systems"]
    moved = name_figure(systems[0]["moved"]) if systems else "Repeat minus first"
    return fill_table(
        f"{criterion['label']}: scores of systems",
        [
            SYSTEM,
            *(_make_score_column(heading, side) for side, heading in _SIDES.items()),
            value_column(moved, lambda one: one["moved"], names={"study": "moved"}),
            name_column(INTERVAL, lambda one: write_interval(one["moved"])),
            value_column(
                "CV*, %",
                lambda one: one["cv_star"],
                names={"study": "cv_star"},
                meaning="CV* shows how far apart the two scores are, in percent of their mean: 0 "
                "is the same score twice.",
            ),
        ],
        systems,
        row_names=name_system,
        name=f"{criterion['key']}-scores",
    )


def _make_score_column(heading: str, side: str) -> Column:
    """Return the column "5.21 (n = 48)" of the scores in one of the studies."""
    return Column(
        heading=heading,
        write=lambda one: f"{write_value(one[side])} (n = {_count(one[side])})",
        figures=lambda one: [one[side]],
        names={"study": side},
    )


def _count(figure: dict[str, Any]) -> str:
    return f"{figure['n']['ratings']:,}"


def tabulate_agreement(criterion: dict[str, Any]) -> Table:
    """Correlations of system scores, agreement on common outputs, and the share upheld."""
    figures = [criterion["upheld"], *criterion["correlations"], *criterion["agreement"]]
    few = len(criterion["systems"]) < _FEW_SYSTEMS
    return tabulate_figures(
        f"{criterion['label']}: both studies together",
        figures,
        name=f"{criterion['key']}-together",
        words=write_prose("tables/replication_together.txt", {"has_few_systems": few}),
    )  # fmt: skip


def tabulate_findings(criterion: dict[str, Any]) -> Table:
    """Return every two systems that the first study compares, and what the repeat says of them."""
    effect = name_figure(criterion["pairs"][0]["first"]).lower()
    return fill_table(
        f"{criterion['label']}: findings",
        [
            PAIR,
            *(
                _make_effect_column(f"{study}: {effect}", side)
                for side, study in _SIDES.items()
            ),
            name_column("Finding", lambda pair: _OUTCOMES[pair["outcome"]]),
        ],
        criterion["pairs"],
        row_names=lambda pair: {
            "system_1": pair["system_1"], "system_2": pair["system_2"],
            "study": "", "finding": pair["outcome"],
        },
        words=write_prose("tables/replication_findings.txt", {}),
        name=f"{criterion['key']}-findings",
    )  # fmt: skip


def _make_effect_column(heading: str, side: str) -> Column:
    return figure_column(
        heading,
        lambda pair: pair[side],
        write=lambda pair: _describe_effect(pair[side]),
        names={"study": side},
    )


def _describe_effect(figure: dict[str, Any] | None) -> str:
    """ "0.45 (0.21 to 0.69), p = .003"."""
    if figure is None:
        return "–"
    p = write_p(figure["details"].get("p_corrected"))
    is_equal = "= " if p.startswith(".") else ""
    return write_with_interval(figure) + (f", p {is_equal}{p}" if p else "")


def find_table(found: dict[str, Any], name: str) -> Table | None:
    """Return the table whose file has this name."""
    tables = [tabulate_sides(found)]
    tables += [table for one in list_compared(found) for table in one.tables]
    return next((table for table in tables if table.name == name), None)
