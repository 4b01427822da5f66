"""What Davidson's model expects of each pair of systems, beside what was observed."""

from typing import Any

from evalsite.results.report.criterion_tables import (
    Table,
    because,
    describe_pair,
    enter_ranked,
    write_rank,
)
from evalsite.results.report.figure_details import count_entry, entry
from evalsite.results.report.wording import describe_interval, write_value
from evalsite.studies.summary_lines import count_of

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
    pairs = _order(fit["pairs"], criterion["pairs"])
    return Table(
        f"{criterion['label']}: observed and expected by the model",
        ("Pair", *(words.capitalize() for words in _OUTCOMES.values())),
        [
            (
                describe_pair(pair),
                *(f"{pair['observed'][key]:,.0f} ({pair['expected'][key]:,.0f})"
                  for key in _OUTCOMES),
            )
            for pair in pairs
        ],
        words=" ".join(filter(None, [_describe_how(criterion), _describe_others(fit)])),
        name=f"{criterion['key']}-fit",
        entries=[
            one
            for pair in pairs
            for key in _OUTCOMES
            for one in _enter(pair, key)
        ],
    )  # fmt: skip


def _order(found: list[dict[str, Any]], shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pairs as the other tables show them: in their order, the same system first."""
    places = {(one["system_1"], one["system_2"]): place for place, one in enumerate(shown)}
    turned = [_turn(one) if (one["system_2"], one["system_1"]) in places else one for one in found]
    return sorted(
        turned, key=lambda one: places.get((one["system_1"], one["system_2"]), len(places))
    )


def _turn(pair: dict[str, Any]) -> dict[str, Any]:
    """The pair seen from its second system."""
    counts = {
        key: {"wins": pair[key]["losses"], "ties": pair[key]["ties"], "losses": pair[key]["wins"]}
        for key in ("observed", "expected")
    }
    return {"system_1": pair["system_2"], "system_2": pair["system_1"], **counts}


def _enter(pair: dict[str, Any], key: str) -> list[Any]:
    sides = {"system_1": pair["system_1"], "system_2": pair["system_2"]}
    expected = {
        "name": f"expected_{key}", "value": pair["expected"][key], "method": _METHOD, "n": {},
        "details": {"interval": "none: to be set beside what was observed"},
    }  # fmt: skip
    return [
        count_entry(f"observed_{key}", pair["observed"][key], **sides),
        entry(expected, **sides),
    ]


def _describe_how(criterion: dict[str, Any]) -> str:
    test = next((one for one in criterion["tests"] if one["name"] == "davidson_fit"), None)
    phrases = "Answers, in brackets those that Davidson’s model expects."
    if test is None or test["value"] is None:
        return f"{phrases} With so few pairs the model always fits: that is no sign that it holds."
    p = test["details"].get("p")  # none of one rater
    if p is not None and p < 0.05:
        return f"{phrases} The model does not fit: read the pairs, not the strengths."
    return phrases


def _describe_others(fit: dict[str, Any]) -> str:
    if not fit["through_others"]:
        return ""
    phrases = ", ".join(" and ".join(pair) for pair in fit["through_others"])
    return f"Never compared directly, only through others: {phrases}."


_WORDS = (
    "Logarithms that sum to zero, from the order within a page alone; a tie counts as the average "
    "over its orders. All systems of a tier are above all of the next one, by intervals that hold "
    "for all at once."
)


def tabulate_order(criterion: dict[str, Any]) -> Table:
    """Systems, the strongest first, with strengths, rank ranges and tiers."""
    order = criterion["order"]
    left_out = order[0]["left_out"]
    return Table(
        f"{criterion['label']}: order on a page",
        ("System", "Plackett-Luce strength", "95 % interval", "Rank", "Tier"),
        [
            (
                one["system"],
                write_value(one["strength"]) + because(one["strength"]),
                describe_interval(one["strength"]),
                write_rank(one["rank"]),
                f"{one['tier'] or ''}",
            )
            for one in order
        ],
        words=_WORDS
        + (f" Left out: {count_of(left_out, 'page')} with too many ties." if left_out else ""),
        name=f"{criterion['key']}-order",
        entries=[
            found
            for one in order
            for found in enter_ranked(one["system"], one["strength"], one["rank"], one["tier"])
        ],
    )
