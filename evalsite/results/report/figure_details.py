"""The figures behind the cells of a table, with every digit and how each was computed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from json import dumps
from typing import Any

from evalsite.results.report.prose import write_prose
from evalsite.results.report.wording import name_figure

# what a count is of, on pages: one, and several
_COUNTED = {
    "items": ("input", "inputs"),
    "groups": ("input", "inputs"),
    "units": ("output", "outputs"),
    "rows": ("output", "outputs"),
    "units_left_out": ("output with one rating left out", "outputs with one rating left out"),
    "rows_left_out": ("output left out", "outputs left out"),
    "hits": ("in this share", "in this share"),
    "zeros": ("difference of zero", "differences of zero"),
    "sets": ("group ranked together", "groups ranked together"),
    "sets_all_tied": ("group all tied", "groups all tied"),
    "no_majority": ("input without a majority", "inputs without a majority"),
    "triples": ("answered triple", "answered triples"),
    "circular": ("circle", "circles"),
    "left": ("won by the first place", "won by the first place"),
    "right": ("won by the second place", "won by the second place"),
    "wins": ("win", "wins"),
    "losses": ("loss", "losses"),
    "inputs_tied": ("input tied", "inputs tied"),
    "inputs_incomplete": ("incomplete input", "incomplete inputs"),
    "clusters": ("cluster of inputs", "clusters of inputs"),
    "inputs and raters": ("input and rater", "inputs and raters"),
    "outputs and raters": ("output and rater", "outputs and raters"),
    "pairs of raters": ("pair of raters of an output", "pairs of raters of an output"),
    "rater pairs": ("pair of raters", "pairs of raters"),
    "without_text": ("of them without a text", "of them without a text"),
    "yes_of_first_only": ("with yes for the first alone", "with yes for the first alone"),
    "yes_of_second_only": ("with yes for the second alone", "with yes for the second alone"),
}
# a database may forget the order of keys: first what figures are from, then how much of it
_IN_ORDER = (
    "items", "groups", "clusters", "inputs and raters", "units", "rows", "outputs",
    "outputs and raters", "pairs of raters", "rater pairs", "systems", "sets", "pages", "triples",
    "wins", "losses", "left", "right", "circular", "answers", "hits", "ratings", "raters",
)  # fmt: skip
# given only if there was any
_TOLD_IF_ANY = ("left_out", "zeros", "tied", "incomplete", "without_text", "no_majority")
_OF_DETAILS = {"transform": "transform", "weights": "weights", "ties": "ties", "how": "p"}
_RANKS = ("rank_best", "rank_worst", "tier")
_SELDOM_TOLD = ("", "none", "nothing", "None")
_KNOWN = (
    "figure", "value", "low", "high", "level", "p", "p_corrected", "method", "interval", "draws",
    "seed", "reason", "methods_version",
)  # fmt: skip
_TESTED = ("se", "df", "t", "df1", "df2", "family", "d", "d_low", "d_high")


Figure = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """A figure of a table, and what names its row."""

    row: tuple[tuple[str, str], ...]
    figure: dict[str, Any]


def entry(figure: dict[str, Any], **row: str) -> Entry:
    return Entry(tuple(row.items()), figure)


def count_figure(name: str, value: float | None) -> Figure:
    """Return a plain count, or a rank, as a figure: it needs no interval and no seed."""
    method = "rank" if name in _RANKS else "count"
    return {"name": name, "value": value, "method": method, "n": {}, "details": {}}


# --- how figures were computed --------------------------------------------------------------


def describe_computed(entries: Iterable[Entry]) -> list[str]:
    """A sentence or more for each way in which figures were made: method, interval, draws, seed
    and what went in."""
    ways: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for one in entries:
        ways.setdefault(_find_way(one.figure), []).append(one.figure)
    return [_describe_way(figures) for figures in ways.values()]


def _find_way(figure: dict[str, Any]) -> tuple[Any, ...]:
    details = figure["details"]
    phrases = tuple(
        str(details.get(key, "")) for key in ("interval", "draws", "unit", *_OF_DETAILS)
    )
    return (figure["method"], figure.get("seed"), *phrases)


def _describe_way(figures: Sequence[Figure]) -> str:
    first = figures[0]
    details, names = first["details"], list(dict.fromkeys(map(_name_kind, figures)))
    how = str(details.get("interval", "none"))
    has_interval = any(figure.get("low") is not None for figure in figures)
    if not has_interval:
        how = how.removeprefix("none").lstrip(": ") if how.startswith("none") else ""
    draws, seed = details.get("draws"), first.get("seed")
    return write_prose("computed.txt", {
        "names": names,
        "method": first["method"],
        "details": [
            (name, details[key])
            for key, name in _OF_DETAILS.items()
            if str(details.get(key, "")) not in _SELDOM_TOLD
        ],
        "has_interval": has_interval,
        "level": round(first.get("level", 0.95) * 100),
        "interval": how,
        "drawn": bool(draws) or seed is not None,
        "draws": f"{draws:,}" if draws else "",
        "seed": seed,
        "counts": _count_in_words(figures),
        "is_tested": names[0].startswith("ICC") and "p" in details,
    })  # fmt: skip


def _name_kind(figure: dict[str, Any]) -> str:
    """Return the figure's name without its systems."""
    name = name_figure(figure)
    return name.partition(": ")[0] if name.startswith("Plackett") else name.partition(", A :")[0]


def _count_in_words(figures: Sequence[Figure]) -> list[str]:
    """List what went in, such as "30 inputs" and "66 to 70 ratings", of any of these figures."""
    keys = order_counts(key for figure in figures for key in figure["n"])
    known = {key: [figure["n"].get(key, 0) for figure in figures] for key in keys}
    return [
        count_words(key, min(found), max(found), figures[0])
        for key, found in known.items()
        if max(found) or not key.endswith(_TOLD_IF_ANY)
    ]


def order_counts(keys: Iterable[str]) -> list[str]:
    """Return each of these names of counts once, in the report's order."""
    return sorted(
        set(keys),
        key=lambda key: (_IN_ORDER.index(key) if key in _IN_ORDER else len(_IN_ORDER), key),
    )


def count_words(key: str, least: int, most: int, figure: dict[str, Any]) -> str:
    """ "1 input", "66 to 70 ratings"."""
    plain = key.replace("_", " ")
    one, several = _COUNTED.get(key, (plain.removesuffix("s"), plain))
    words = one if most == 1 else several
    if unit := figure["details"].get("unit"):
        # what is no output is not rated either
        words = words.replace("output", unit).replace("rating", "answer")
    number = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return f"{number} {words}"


def describe_n(figure: dict[str, Any]) -> str:
    """Return what went into one figure, less what was left out where nothing was."""
    return ", ".join(_count_in_words([figure]))


# --- figures as a file ------------------------------------------------------------------------


def list_cells(entries: Sequence[Entry]) -> list[list[Any]]:
    """A head and a row for each figure, for a file that a program reads: every digit, no words in
    place of numbers, an empty cell where there is none."""
    rows = list(dict.fromkeys(key for one in entries for key, _ in one.row))
    counts = order_counts(key for one in entries for key in one.figure["n"])
    # of tests: columns of their own, where a figure of the table has them
    tested = [key for key in _TESTED if any(key in one.figure["details"] for one in entries)]
    head = [
        *rows, *_KNOWN, *tested, *(f"n_{key.replace(' ', '_')}" for key in counts), "details",
    ]  # fmt: skip
    return [head, *(_list_row(one, rows, tested, counts) for one in entries)]


def _list_row(
    one: Entry, rows: Sequence[str], tested: Sequence[str], counts: Sequence[str]
) -> list[Any]:
    figure, named = one.figure, dict(one.row)
    details = dict(figure["details"])
    cells_of_test = [_write_cell(details.pop(key, None)) for key in tested]
    known = {
        "figure": figure["name"],
        "methods_version": figure.get("version"),
        **{key: details.pop(key, None) for key in ("p", "p_corrected", "interval", "draws")},
        **{key: figure.get(key) for key in ("value", "low", "high", "level", "method", "seed",
                                            "reason")},
    }  # fmt: skip
    return [
        *(named.get(key, "") for key in rows),
        *(_write_cell(known[key]) for key in _KNOWN),
        *cells_of_test,
        *(_write_cell(figure["n"].get(key)) for key in counts),
        dumps(details, ensure_ascii=False, sort_keys=True) if details else "",
    ]


def _write_cell(value: Any) -> Any:
    return "" if value is None else value
