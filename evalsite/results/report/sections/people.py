"""What single people did: for pages of staff alone, in no file."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from django.urls import reverse

from evalsite.analysis.figure import Figure
from evalsite.results.document.blocks import Block, Cell, Column, Entry, Heading, Table, isolate
from evalsite.results.document.figures import (
    make_figure,
    read_figure,
    write_value,
)
from evalsite.results.report.sections.flags import FLAGS
from evalsite.results.report.sections.further import name_code, read_own
from evalsite.results.report.source import Source, Stored

# rows of a list that a page shows, and columns beside the names
_MOST_ROWS, _MOST_COLUMNS, _MOST_ITEMS, _MOST_PEOPLE = 100, 6, 20, 50
_WHY = {
    "rejected": "rejected, though every score is good",
    "accepted": "accepted, though a score is bad",
}
Link = Callable[[str], str]
# figures of a person, as columns are headed
_COLUMNS = {
    "median_seconds": "Median seconds",
    "speed_ratio": "Pace compared with others",
    "share_under_floor": "Too fast to read",
    "gold_share": "Checks answered right",
    "spearman": "Order compared with others",
    "offset": "Above others by",
    "top_share": "Most used value",
    "geo_mean": "Geometric mean",
    "sd_log": "sd of logarithms",
    "share_of_5s": "Multiples of 5",
    "share_of_10s": "Multiples of 10",
    "share_of_standard": "Equal to the standard",
    "ratio": "Largest over smallest",
    "tie_share": "Ties",
    "first_share": "First place preferred",
    "circular_share": "Triples in a circle",
    "exact": "Same again",
    "mean_abs_change": "Mean change",
    "sd_log_change": "sd of log changes",
    "reported": "Items reported",
}
# tables of a person's figures
_PARTS = {
    "scale": "Use of the scale",
    "reserved": "Points meant to be rare",
    "magnitude": "Magnitudes",
    "preference": "Preferences",
    "repeats": "The same items shown twice",
    "problems": "Problems reported",
}
# parts whose caption names the question, if there are several
_OF_ONE_QUESTION = ("magnitude",)


def make_people(source: Source) -> Iterator[Block]:
    """Yield what is known of each person, flags first."""
    link = _find_link(source)
    raters = _take_most_flagged(source.kept["raters"])
    if raters["rows"]:
        yield Heading("Raters", 2, "raters", place="page")
        yield _tabulate_people(raters, link)
        yield from _tabulate_flags(raters, link)
        yield from _tabulate_parts(raters, link)


def _take_most_flagged(raters: Stored) -> Stored:
    """Return the figures of people; of many, those with most flags."""
    rows = sorted(raters["rows"], key=lambda row: -len(row["flags"]))[:_MOST_PEOPLE]
    return {**raters, "rows": rows}


def _find_link(source: Source) -> Link:
    return lambda name: reverse("admin:study-person", args=[source.study_id, name]) if name else ""


def make_answers(source: Source) -> Iterator[Block]:
    """Yield answers to look at again: items that were ignored, decisions against their scores."""
    link = _find_link(source)
    together = source.kept["together"]
    if listed := together.get("ignored_items"):
        yield _tabulate_ignored("items", "Ignored, by item", listed[:_MOST_ITEMS], lambda _: "")
    if listed := together.get("ignored_raters"):
        yield _tabulate_ignored("raters", "Ignored, by person", listed, link)
    if listed := together.get("contradictions"):
        yield _tabulate_contradictions(source, listed[:_MOST_ROWS], link)


def _name(name: str, link: Link) -> Cell:
    return Cell(isolate(name), link=link(name))


def _tabulate_people(raters: Stored, link: Link) -> Table:
    shown = [column for column in raters["columns"] if not column.get("part")]
    columns = [Column("Person", is_number=False), Column("Ratings"),
               Column("Flags", is_number=False)]  # fmt: skip
    columns += [Column(name_column(column)) for column in shown]
    rows: list[list[Entry]] = []
    for row in raters["rows"]:
        group = {"participant": str(row["participant"])}
        cells = [_write_figure(row, column, group) for column in shown]
        name = _name(str(row["participant"]), link)
        rows.append([name, make_figure("n", row["n"], group), list_flags(row["flags"]), *cells])
    return Table("raters", "Figures of each person", columns, rows, place="page")


def _tabulate_parts(raters: Stored, link: Link) -> Iterator[Table]:
    parts: dict[str, list[Stored]] = {}
    for column in raters["columns"]:
        if column["part"]:
            parts.setdefault(_name_part(column), []).append(column)
    for part, mine in parts.items():
        for number, start in enumerate(range(0, len(mine), _MOST_COLUMNS), start=1):
            shown = mine[start : start + _MOST_COLUMNS]
            keys = {column["key"] for column in shown}
            people = [row for row in raters["rows"] if keys & set(row["figures"])]
            columns = [Column("Person", is_number=False)]
            columns += [Column(name_column(column)) for column in shown]
            rows: list[list[Entry]] = []
            for row in people:
                group = {"participant": str(row["participant"])}
                cells = [_write_figure(row, column, group) for column in shown]
                rows.append([_name(str(row["participant"]), link), *cells])
            ending = f"-{number}" if number > 1 else ""
            name = f"raters-{part.lower().replace(' ', '-')}{ending}"
            yield Table(name, part, columns, rows, place="page")


def name_column(column: Stored) -> str:
    """Return how a column is headed, with the question that it is of if there are several."""
    criterion = str(column["criterion"])
    if column["part"] == "reserved":
        return criterion
    label = _COLUMNS[column["name"]]
    if not criterion or column["part"] in _OF_ONE_QUESTION:
        return label
    return f"{criterion}: {label.lower()}"


def _name_part(column: Stored) -> str:
    is_of_one = column["part"] in _OF_ONE_QUESTION and column["criterion"]
    return _PARTS[column["part"]] + (f": {column['criterion']}" if is_of_one else "")


def _write_figure(row: Stored, column: Stored, group: Mapping[str, str]) -> Entry:
    stored = row["figures"].get(column["key"])
    if stored is None:
        return ""
    figure = read_own(stored, {**group, "column": str(column["key"])})
    counts = list(figure.n.values())
    number = f" of {counts[0]:,}" if counts and column.get("has_n") else ""
    return Cell(f"{write_value(figure)}{number}", (figure,))


def list_flags(flags: Sequence[Stored]) -> str:
    """Return each flag once, with the questions that it was raised on."""
    raised: dict[str, list[str]] = {}
    for flag in flags:
        raised.setdefault(name_flag(flag), []).append(str(flag.get("criterion") or ""))
    phrases = [
        f"{text} ({', '.join(map(isolate, labels))})" if any(labels) else text
        for text, labels in raised.items()
    ]
    return f"{'. '.join(phrases)}." if phrases else "none"


def name_flag(flag: Stored) -> str:
    """Return the sentence of a flag without its full stop, to go on or to be counted."""
    return FLAGS.write(flag).removesuffix(".")


def _tabulate_flags(raters: Stored, link: Link) -> Iterator[Table]:
    rows: list[list[Entry]] = []
    for row in raters["rows"]:
        for flag in row["flags"]:
            group = {"participant": str(row["participant"]), "flag": str(flag["code"])}
            figure = read_own(flag["figure"], group)
            limit = write_value(read_figure(
                {**flag["figure"], "value": flag["threshold"], "reason": None, "low": None,
                 "high": None}, figure.name, unit=figure.unit,
            ))  # fmt: skip
            label = f" ({isolate(str(flag['criterion']))})" if flag.get("criterion") else ""
            rows.append([
                _name(str(row["participant"]), link), f"{name_flag(flag)}{label}",
                name_code(figure.name), Cell(write_value(figure), (figure,)), limit,
                "this study" if flag.get("is_own") else "the software",
            ])  # fmt: skip
    if rows:
        heads = ("Person", "Flag", "Figure", "Value", "Threshold", "Set by")
        columns = [Column(head, is_number=head in ("Value", "Threshold")) for head in heads]
        yield Table("flags-of-people", "Flags", columns, rows, place="page")


def _tabulate_ignored(key: str, caption: str, listed: Sequence[Stored], link: Link) -> Table:
    first = "Item" if key == "items" else "Person"
    rows: list[list[Entry]] = []
    for entry in listed:
        name = str(entry["item"] if key == "items" else entry["participant"])
        figure = read_own(entry["share"], {first.lower(): name})
        left_out = ", left out" if entry.get("is_dropped") else ""
        rows.append([_name(name, link), figure, _count_ignored(figure, left_out)])
    columns = [Column(first, is_number=False), Column("Ignored (95% CI)"), Column("Times")]
    return Table(f"ignored-{key}", caption, columns, rows, place="page")


def _count_ignored(figure: Figure, ending: str) -> str:
    return f"{figure.n.get('hits', 0):,} of {figure.n.get('answers', 0):,}{ending}"


def _tabulate_contradictions(source: Source, listed: Sequence[Stored], link: Link) -> Table:
    scored = [
        other_criterion
        for other_criterion in source.criteria
        if other_criterion.key in listed[0]["scores"]
    ]
    heads = ("Person", "Item", "System", "Why")
    columns = [Column(head, is_number=False) for head in heads]
    columns += [Column(criterion.label) for criterion in scored]
    rows: list[list[Entry]] = [
        [
            _name(str(entry.get("participant", "")), link), isolate(str(entry["item"])),
            isolate(str(entry["system"])), _WHY.get(str(entry["why"]), str(entry["why"])),
            *(f"{entry['scores'][criterion.key]:g}" for criterion in scored),
        ]
        for entry in listed
    ]  # fmt: skip
    caption = "Decisions against their scores, to look at again"
    return Table("contradictions", caption, columns, rows, place="page")
