"""Tables of the strengths of systems: the fit of Davidson's model, and the order on a page."""

from typing import Any

from evalsite.results.report.criterion_tables import (
    PAIR,
    SYSTEM,
    list_ranks,
    name_sides,
    name_system,
    write_rank,
)
from evalsite.results.report.figure_details import Figure, count_figure
from evalsite.results.report.prose import write_prose
from evalsite.results.report.table import (
    Column,
    Table,
    fill_table,
    interval_column,
    name_column,
    value_column,
)

_OUTCOMES = {
    "wins": "first is preferred",
    "ties": "tie",
    "losses": "second is preferred",
}
_METHOD = "Davidson’s model, maximum likelihood: expected counts of the comparisons made"


def tabulate_fit(criterion: dict[str, Any]) -> Table | None:
    """Observed and expected counts of each pair; None where there is no model of strengths."""
    fit = criterion.get("fit")
    if not fit:
        return None
    return fill_table(
        f"{criterion['label']}: observed and expected by the model",
        [PAIR, *(_make_outcome_column(key, words) for key, words in _OUTCOMES.items())],
        _order(fit["pairs"], criterion["pairs"]),
        row_names=name_sides,
        words=_describe_fit(criterion, fit),
        name=f"{criterion['key']}-fit",
    )


def _make_outcome_column(key: str, words: str) -> Column:
    """Return the column "1,204 (1,198)": counts observed, in brackets those expected."""

    def list_figures(pair: dict[str, Any]) -> list[Figure]:
        expected = {
            "name": f"expected_{key}", "value": pair["expected"][key], "method": _METHOD, "n": {},
            "details": {"interval": "none: compare it with what was observed"},
        }  # fmt: skip
        return [count_figure(f"observed_{key}", pair["observed"][key]), expected]

    return Column(
        heading=words.capitalize(),
        write=lambda pair: f"{pair['observed'][key]:,.0f} ({pair['expected'][key]:,.0f})",
        figures=list_figures,
    )


def _order(found: list[dict[str, Any]], shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the pairs as the other tables show them: in their order, the same system first."""
    places = {(one["system_1"], one["system_2"]): place for place, one in enumerate(shown)}
    turned = [_turn(one) if (one["system_2"], one["system_1"]) in places else one for one in found]
    return sorted(
        turned, key=lambda one: places.get((one["system_1"], one["system_2"]), len(places))
    )


def _turn(pair: dict[str, Any]) -> dict[str, Any]:
    """Return the pair seen from its second system."""
    counts = {
        key: {"wins": pair[key]["losses"], "ties": pair[key]["ties"], "losses": pair[key]["wins"]}
        for key in ("observed", "expected")
    }
    return {"system_1": pair["system_2"], "system_2": pair["system_1"], **counts}


def _describe_fit(criterion: dict[str, Any], fit: dict[str, Any]) -> str:
    """Return how to read the table, and which pairs were never compared directly."""
    test = next((one for one in criterion["tests"] if one["name"] == "davidson_fit"), None)
    p = None if test is None else test["details"].get("p")  # none of one rater
    return write_prose("tables/fit.txt", {
        "has_test": test is not None and test["value"] is not None,
        "is_misfit": p is not None and p < 0.05,
        "through_others": fit["through_others"],
    })  # fmt: skip


def tabulate_order(criterion: dict[str, Any]) -> Table:
    """Systems, the strongest first, with strengths, rank ranges and tiers."""
    order = criterion["order"]
    return fill_table(
        f"{criterion['label']}: order on a page",
        [
            SYSTEM,
            value_column("Plackett-Luce strength", _find_strength),
            interval_column(_find_strength),
            Column(
                heading="Rank",
                write=lambda one: write_rank(one["rank"]),
                figures=lambda one: list_ranks(one["rank"], one["tier"]),
            ),
            name_column("Tier", lambda one: f"{one['tier'] or ''}"),
        ],
        order,
        row_names=name_system,
        words=write_prose("tables/order.txt", {"left_out": order[0]["left_out"]}),
        name=f"{criterion['key']}-order",
    )


def _find_strength(system: dict[str, Any]) -> Figure:
    strength: Figure = system["strength"]
    return strength
