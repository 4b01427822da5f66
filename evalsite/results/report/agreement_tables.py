"""The tables of how much raters agree on a criterion, made from the plain data of its report."""

from dataclasses import replace
from typing import Any

from evalsite.results.report.criterion_tables import Table, tabulate_figures
from evalsite.results.report.wording import write_interval

_NO_COEFFICIENTS = ("percent_agreement", "within_", "share_of_")
_OTHER_AGREEMENT = "Agreement in percent, means of ratings, and variance"
_MEANS = (
    "Shares of agreement are not corrected for chance. ICC(…,k) is of the mean of an output’s "
    "ratings, so it grows with their number: it is no agreement of two raters."
)


def tabulate_agreement(criterion: dict[str, Any]) -> list[Table]:
    """The coefficients of agreement, then what is no coefficient: shares, and means of ratings."""
    figures = criterion["agreement"]
    coefficients = [figure for figure in figures if is_coefficient(figure)]
    others = [figure for figure in figures if not is_coefficient(figure)]
    tables = [_tabulate_coefficients(criterion, coefficients)] if coefficients else []
    if others:
        name = f"{criterion['key']}-reliability"
        tables.append(tabulate_figures(_OTHER_AGREEMENT, others, name=name, words=_MEANS))
    return tables


def is_coefficient(figure: dict[str, Any]) -> bool:
    """Whether it says of single ratings, from 0 by chance to 1, how much raters agree."""
    name = figure["name"]
    return not name.startswith(_NO_COEFFICIENTS) and not name.endswith(",k)")


def _tabulate_coefficients(criterion: dict[str, Any], figures: list[dict[str, Any]]) -> Table:
    table = tabulate_figures(
        "Agreement",
        figures,
        name=f"{criterion['key']}-agreement",
        words="How much raters agree is one fact about the ratings; whether systems differ is "
        "another. Read both.",
    )
    jackknife = [_write_jackknife(figure) for figure in figures]
    if not any(jackknife):
        return table
    rows = [(*row[:3], other, *row[3:]) for row, other in zip(table.rows, jackknife, strict=True)]
    columns = (*table.columns[:3], "Jackknife interval", *table.columns[3:])
    return replace(table, columns=columns, rows=rows)


def _write_jackknife(figure: dict[str, Any]) -> str:
    """The interval by leaving out one input after the other, of the figures of alpha."""
    details = figure["details"]
    if not figure["name"].startswith("alpha") or "jackknife_low" not in details:
        return ""
    ends = {"low": details["jackknife_low"], "high": details["jackknife_high"]}
    return write_interval(figure | ends)
