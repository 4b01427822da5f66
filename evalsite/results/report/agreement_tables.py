"""The tables of how much raters agree on a criterion, made from the plain data of its report."""

from typing import Any

from evalsite.results.report.criterion_tables import tabulate_figures
from evalsite.results.report.prose import write_prose
from evalsite.results.report.sentences import write_sentence
from evalsite.results.report.table import (
    Table,
    fill_table,
    interval_column,
    name_column,
    value_column,
)
from evalsite.results.report.wording import name_figure

_MAIN = ("ac1", "ac2", "percent_agreement", "ICC(1,1)", "pairwise_spearman")
_NO_COEFFICIENTS = ("percent_agreement", "within_", "share_of_", "reliability_of_")
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


def list_main_agreement(criterion: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the figures that pages and reports show: the first one, and the best known."""
    first, *others = criterion["agreement"] or [None]
    return [one for one in (first, *others) if one and (one is first or one["name"] in _MAIN)]


def tabulate_main_agreement(criterion: dict[str, Any]) -> Table:
    """Return the best known figures of agreement; all of them are among the further analyses."""
    return fill_table(
        f"{criterion['label']}: agreement",
        [
            name_column("Figure", name_figure),
            value_column("Value", lambda figure: figure),
            interval_column(lambda figure: figure),
        ],
        list_main_agreement(criterion),
        name=f"{criterion['key']}-main-agreement",
        words=write_agreement(criterion, "few_raters_agree"),
    )


def write_agreement(criterion: dict[str, Any], *codes: str) -> str:
    """Return what stands beside the coefficients: how little few raters show, and what means are
    worth; or the sentences of these codes only."""
    notes = criterion.get("agreement_notes", ())
    return " ".join(write_sentence(note) for note in notes if not codes or note["code"] in codes)


def is_coefficient(figure: dict[str, Any]) -> bool:
    """Return whether it says of single ratings, from 0 by chance to 1, how much raters agree."""
    name = figure["name"]
    return not name.startswith(_NO_COEFFICIENTS) and not name.endswith(",k)")


def _tabulate_coefficients(criterion: dict[str, Any], figures: list[dict[str, Any]]) -> Table:
    return tabulate_figures(
        "Agreement",
        figures,
        name=f"{criterion['key']}-agreement",
        words=f"{write_prose('tables/agreement.txt', {})} {write_agreement(criterion)}".strip(),
    )
