"""The tables of a criterion without and with what is left out, side by side."""

from dataclasses import dataclass
from typing import Any

from evalsite.results.report.criterion_tables import (
    Table,
    because,
    describe_pair,
    write_corrected,
    write_with_interval,
)
from evalsite.results.report.figure_details import Entry, entry
from evalsite.results.report.wording import (
    describe_interval,
    name_figure,
    write_value,
)

_RATIOS = ("ratio",)
_WITHOUT, _WITH = "Without", "With"


@dataclass(frozen=True)
class LeftOut:
    """What stands in one half of each table alone: in words, in names of files, as a column."""

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
    return Table(
        f"{kept['label']}: without and with {what.words}",
        ("System", _WITHOUT, "95 % interval", _WITH, "95 % interval"),
        [(name, *_write_both(one, other)) for name, one, other in found],
        name=f"{kept['key']}-{what.file}",
        entries=[
            each
            for name, one, other in found
            for each in _enter_both(one, other, what, system=name)
        ],
    )


def _compare_pairs(kept: dict[str, Any], everything: dict[str, Any], what: LeftOut) -> Table:
    """Each comparison, seen from the system that comes first without what is left out."""
    whole = {frozenset((one["system_1"], one["system_2"])): one for one in everything["pairs"]}
    found = [
        (pair, _turn(other, pair["system_1"]), other["finding"]["text"])
        for pair in kept["pairs"]
        if (other := whole.get(frozenset((pair["system_1"], pair["system_2"]))))
    ]
    return Table(
        f"{kept['label']}: comparisons without and with {what.words}",
        ("Pair", _WITHOUT, "Corrected p", _WITH, "Corrected p", "Found with it"),
        [
            (
                describe_pair(pair),
                *(
                    cell
                    for figure in (pair["effect"], other)
                    for cell in (
                        write_with_interval(figure),
                        write_corrected(figure),
                    )
                ),
                text,
            )
            for pair, other, text in found
        ],
        name=f"{kept['key']}-{what.file}-pairs",
        prose=5,
        entries=[
            each
            for pair, other, _ in found
            for each in _enter_both(
                pair["effect"], other, what, system_1=pair["system_1"], system_2=pair["system_2"]
            )
        ],
    )


def _turn(pair: dict[str, Any], first: str) -> dict[str, Any]:
    """The effect of the pair as seen from `first`, whichever of the two was named first."""
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
    found = [(one, whole[one["name"]]) for one in kept["agreement"] if one["name"] in whole]
    return Table(
        f"{kept['label']}: agreement without and with {what.words}",
        ("Figure", _WITHOUT, "95 % interval", _WITH, "95 % interval"),
        [(name_figure(one), *_write_both(one, other)) for one, other in found],
        name=f"{kept['key']}-{what.file}-agreement",
        entries=[each for one, other in found for each in _enter_both(one, other, what)],
    )


# --- parts --------------------------------------------------------------------------------


def _write_both(one: dict[str, Any], other: dict[str, Any]) -> tuple[str, ...]:
    return tuple(
        cell
        for figure in (one, other)
        for cell in (write_value(figure) + because(figure), describe_interval(figure))
    )


def _enter_both(
    one: dict[str, Any], other: dict[str, Any], what: LeftOut, **row: str
) -> list[Entry]:
    halves = (("without", one), ("with", other))
    return [entry(figure, **row, **{what.column: half}) for half, figure in halves]
