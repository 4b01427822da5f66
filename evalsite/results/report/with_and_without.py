"""The tables of a criterion without and with what is left out, side by side."""

from dataclasses import dataclass
from typing import Any

from evalsite.results.report.criterion_tables import describe_pair, name_sides, write_corrected
from evalsite.results.report.sentences import write_sentence
from evalsite.results.report.table import (
    Column,
    Table,
    figure_column,
    fill_table,
    interval_column,
    name_column,
    value_column,
)
from evalsite.results.report.wording import name_figure

_RATIOS = ("ratio",)
# the halves of a table, and the place of their figures in its rows
_HALVES = {"Without": 1, "With": 2}


@dataclass(frozen=True)
class LeftOut:
    """What distinguishes the two halves of each table: words, names of files, a column."""

    words: str
    file: str
    column: str


EXCLUDED = LeftOut("what is excluded", "both", "excluded")
IGNORED = LeftOut("the items that most ignored", "undropped", "ignored_by_most")


def tabulate_both(
    kept: dict[str, Any], everything: dict[str, Any], what: LeftOut = EXCLUDED
) -> list[Table]:
    """Headline figures, comparisons and agreement, each without and with what is left out."""
    tables = [
        _compare_systems(kept, everything, what),
        _compare_pairs(kept, everything, what),
        _compare_agreement(kept, everything, what),
    ]
    return [table for table in tables if table.rows]


def _compare_systems(kept: dict[str, Any], everything: dict[str, Any], what: LeftOut) -> Table:
    whole = {one["system"]: one["headline"] for one in everything["systems"]}
    found = [
        (one["system"], one["headline"], whole[one["system"]])
        for one in kept["systems"]
        if one["system"] in whole
    ]
    return fill_table(
        f"{kept['label']}: without and with {what.words}",
        [name_column("System", lambda row: str(row[0])), *_list_halves(what)],
        found,
        row_names=lambda row: {"system": row[0]},
        name=f"{kept['key']}-{what.file}",
    )


def _compare_pairs(kept: dict[str, Any], everything: dict[str, Any], what: LeftOut) -> Table:
    """Return each comparison, seen from the system that comes first without what is left out."""
    whole = {frozenset((one["system_1"], one["system_2"])): one for one in everything["pairs"]}
    found = [
        (pair, pair["effect"], _turn(other, pair["system_1"]), write_sentence(other["finding"]))
        for pair in kept["pairs"]
        if (other := whole.get(frozenset((pair["system_1"], pair["system_2"]))))
    ]
    return fill_table(
        f"{kept['label']}: comparisons without and with {what.words}",
        [
            name_column("Pair", lambda row: describe_pair(row[0])),
            *(
                column
                for heading, place in _HALVES.items()
                for column in _list_compared(heading, place, what)
            ),
            Column(heading="Found with it", write=lambda row: row[3], is_prose=True),
        ],
        found,
        row_names=lambda row: name_sides(row[0]),
        name=f"{kept['key']}-{what.file}-pairs",
    )


def _list_compared(heading: str, place: int, what: LeftOut) -> list[Column]:
    """List the columns of the effects at this place of the rows, and of their p values."""
    return [
        figure_column(heading, lambda row: row[place], names={what.column: heading.lower()}),
        name_column("Corrected p", lambda row: write_corrected(row[place])),
    ]


def _turn(pair: dict[str, Any], first: str) -> dict[str, Any]:
    """Return the effect of the pair as seen from `first`, whichever of the two was named first."""
    effect: dict[str, Any] = pair["effect"]
    if pair["system_1"] == first:
        return effect
    turned = {
        end: None if value is None else _turn_number(value, effect["name"])
        for end, value in (
            ("value", effect["value"]),
            ("low", effect["high"]),
            ("high", effect["low"]),
        )
    }
    return effect | turned


def _turn_number(value: float, name: str) -> float | None:
    if name not in _RATIOS:
        return -value
    return 1 / value if value else None


def _compare_agreement(kept: dict[str, Any], everything: dict[str, Any], what: LeftOut) -> Table:
    whole = {figure["name"]: figure for figure in everything["agreement"]}
    return fill_table(
        f"{kept['label']}: agreement without and with {what.words}",
        [name_column("Figure", lambda row: row[0]), *_list_halves(what)],
        [
            (name_figure(one), one, whole[one["name"]])
            for one in kept["agreement"]
            if one["name"] in whole
        ],
        name=f"{kept['key']}-{what.file}-agreement",
    )


def _list_halves(what: LeftOut) -> list[Column]:
    """List the columns of values and intervals, without and with what is left out."""
    columns = [_list_values(heading, place, what) for heading, place in _HALVES.items()]
    return [column for pair in columns for column in pair]


def _list_values(heading: str, place: int, what: LeftOut) -> list[Column]:
    return [
        value_column(heading, lambda row: row[place], names={what.column: heading.lower()}),
        interval_column(lambda row: row[place]),
    ]
