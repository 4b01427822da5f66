"""The design as it was collected: its facts with their ranges, and places on the page."""

from typing import Any

from evalsite.results.report.figure_details import count_figure
from evalsite.results.report.table import Column, Table, fill_table, name_column
from evalsite.results.report.wording import is_about_pairs, is_share, name_figure, write_value

_TOLD = {
    "ratings_per_output": ("an output has {}", "rating"),
    "outputs_per_rater": ("a rater rated {}", "output"),
    "share_of_cells_filled": ("{} of all pairs of rater and output are rated", ""),
}
_TOLD_OF_PAIRS = {
    "ratings_per_output": ("a comparison has {}", "answer"),
    "outputs_per_rater": ("a rater answered {}", "comparison"),
    "share_of_cells_filled": ("{} of all pairs of rater and comparison are answered", ""),
}
_NAMES_OF_PAIRS = {
    "ratings_per_output": "Answers of a comparison, median",
    "outputs_per_rater": "Comparisons of a rater, median",
    "share_of_cells_filled": "Share of rater and comparison pairs answered",
}


def tabulate_design(found: dict[str, Any]) -> Table:
    """Return the facts of the achieved design: each with its range."""
    names = _NAMES_OF_PAIRS if is_about_pairs(found) else {}
    return fill_table(
        "The design, as collected",
        [
            name_column("Fact", lambda one: names.get(one["name"]) or name_figure(one)),
            Column(heading="Value", write=_write_fact, figures=lambda one: [one]),
            name_column("Least", lambda one: _write_bound(one, "least")),
            name_column("Most", lambda one: _write_bound(one, "most")),
        ],
        found["design"],
        name="design",
    )


def design_facts(found: dict[str, Any]) -> str:
    """The facts that a reader needs before any result, in a sentence; "" where none is known."""
    sentences = _TOLD_OF_PAIRS if is_about_pairs(found) else _TOLD
    phrases = [
        sentence.format(_write_range(figure, noun))
        for figure in found["design"]
        for sentence, noun in [sentences.get(figure["name"], ("", ""))]
        if sentence and figure["value"] is not None
    ]
    return f"{'; '.join(phrases).capitalize()}." if phrases else ""


def _write_range(figure: dict[str, Any], noun: str) -> str:
    """ "1 rating", or "1 to 3 ratings (median 2)"."""
    least, most = (_write_bound(figure, key) for key in ("least", "most"))
    fact = _write_fact(figure)
    if not noun:
        return fact
    if least == most:
        return f"{fact} {noun if fact == '1' else noun + 's'}"
    return f"{least} to {most} {noun}s (median {fact})"


def _write_fact(figure: dict[str, Any]) -> str:
    return write_value(figure) if is_share(figure) else _write_count(figure["value"])


def _write_bound(figure: dict[str, Any], key: str) -> str:
    bound = figure["details"].get(key)
    return "" if bound is None else _write_count(bound)


def _write_count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}".removesuffix(".0")


def tabulate_places(found: dict[str, Any]) -> Table | None:
    """How often each system stood in each place of the page; None where the places are unknown."""
    places = found["data"].get("places") or {}
    known = sorted({place for counts in places.values() for place in counts}, key=_as_number)
    if not known or known == ["1"]:
        return None
    # PostgreSQL keeps what JSON holds in an order of its own
    return fill_table(
        "Places on the page",
        [name_column("System", lambda row: row[0]), *map(_make_place_column, known)],
        sorted(places.items()),
        row_names=lambda row: {"system": row[0]},
        name="places",
    )


def _make_place_column(place: str) -> Column:
    return Column(
        heading=f"Place {place}",
        write=lambda row: f"{row[1].get(place, 0):,}",
        figures=lambda row: [count_figure(f"place {place}", row[1].get(place, 0))],
    )


def _as_number(place: str) -> tuple[int, str]:
    return (int(place), "") if place.isdecimal() else (0, place)
