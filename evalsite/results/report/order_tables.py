"""The table of the ranking by the order within a page, which needs no ratios."""

from typing import Any

from evalsite.results.report.criterion_tables import Table, because, enter_ranked, write_rank
from evalsite.results.report.wording import describe_interval, write_value
from evalsite.studies.summary_lines import count_of

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
