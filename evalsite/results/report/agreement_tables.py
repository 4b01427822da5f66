"""The tables of how much raters agree on a criterion, made from the plain data of its report."""

from typing import Any

from evalsite.results.report.criterion_tables import tabulate_figures
from evalsite.results.report.prose import write_prose
from evalsite.results.report.table import Table

_NO_COEFFICIENTS = ("percent_agreement", "within_", "share_of_")
_OTHER_AGREEMENT = "Agreement in percent, means of ratings, and variance"


def tabulate_agreement(criterion: dict[str, Any]) -> list[Table]:
    """The coefficients of agreement, then what is no coefficient: shares, and means of ratings."""
    figures = criterion["agreement"]
    coefficients = [figure for figure in figures if is_coefficient(figure)]
    others = [figure for figure in figures if not is_coefficient(figure)]
    tables = [_tabulate_coefficients(criterion, coefficients)] if coefficients else []
    if others:
        name = f"{criterion['key']}-reliability"
        tables.append(
            tabulate_figures(
                _OTHER_AGREEMENT, others, name=name, words=write_prose("tables/reliability.txt", {})
            )
        )
    return tables


def is_coefficient(figure: dict[str, Any]) -> bool:
    """Return whether it says of single ratings, from 0 by chance to 1, how much raters agree."""
    name = figure["name"]
    return not name.startswith(_NO_COEFFICIENTS) and not name.endswith(",k)")


def _tabulate_coefficients(criterion: dict[str, Any], figures: list[dict[str, Any]]) -> Table:
    return tabulate_figures(
        "Agreement",
        figures,
        name=f"{criterion['key']}-agreement",
        words=write_prose("tables/agreement.txt", {}),
    )
