"""Tables of a report, each declared once: its columns, and the rows that they are filled from.

A page, LaTeX and text render the cells; the CSV file holds the figures behind them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evalsite.results.report.figure_details import (
    Entry,
    Figure,
    describe_computed,
    entry,
    list_cells,
)
from evalsite.results.report.wording import (
    describe_interval,
    explain_reason,
    hold_together,
    let_go,
    write_interval,
    write_value,
)
from evalsite.studies.summary_lines import list_of

INTERVAL = "95% CI"


def _list_nothing(row: Any) -> tuple[()]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table: how its cells read, and the figures behind them."""

    heading: str
    write: Callable[[Any], str]  # the cell of a row
    figures: Callable[[Any], Iterable[Figure]] = _list_nothing  # of the same row, for the file
    names: Mapping[str, str] = field(default_factory=dict)  # further names of its figures there
    meaning: str = ""  # a sentence below the table
    is_prose: bool = False  # whether cells hold sentences
    is_further: bool = False  # left out of the report itself
    is_folded: bool = False  # below the table on a phone


@dataclass(frozen=True)
class Table:
    """A table of texts: a caption, a head, and rows that begin with their name."""

    caption: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    words: str = ""  # the note below it
    sentence: str = ""  # what every form of the table says under its caption
    name: str = ""  # of its file
    prose: int = -1  # which column holds sentences
    entries: Sequence[Entry] = field(default_factory=list)  # the figures behind the cells
    names_people: bool = False  # files that leave the site name nobody
    links: Sequence[str] = ()  # where the name of each row leads, on the site
    unshown: Sequence[tuple[str, ...]] = ()  # further rows, of the file alone
    further: frozenset[int] = frozenset()  # columns that the report itself leaves out
    folded: frozenset[int] = frozenset()  # columns that a phone has below the table

    def __post_init__(self) -> None:
        held = {
            "columns": tuple(map(hold_together, self.columns)),
            # the first cell is a name, which keeps its spelling
            "rows": [(*row[:1], *map(hold_together, row[1:])) for row in self.rows],
            "words": hold_together(self.words),
            "sentence": hold_together(self.sentence),
        }
        for name, value in held.items():
            object.__setattr__(self, name, value)

    @property
    def folded_headings(self) -> str:
        """Return what the folded columns hold, without what their cells say: "t (df), p and d"."""
        names = [
            self.columns[place].removesuffix(f" ({INTERVAL})") for place in sorted(self.folded)
        ]
        return list_of(names)

    @property
    def linked_rows(self) -> list[tuple[str, tuple[str, ...]]]:
        """Each row with where its name leads, "" for nowhere."""
        nowhere = [""] * (len(self.rows) - len(self.links))
        return list(zip([*self.links, *nowhere], self.rows, strict=True))

    def shorten(self) -> "Table":
        """Return the table as the report itself has it."""

        def keep(cells: Sequence[str]) -> tuple[str, ...]:
            return tuple(cell for place, cell in enumerate(cells) if place not in self.further)

        return replace(
            self,
            columns=keep(self.columns),
            rows=[keep(row) for row in self.rows],
            further=frozenset(),
            folded=frozenset(
                place - sum(one < place for one in self.further)
                for place in self.folded - self.further
            ),
        )

    def describe_computed(self) -> list[str]:
        """Describe how the figures of the table were made."""
        return list(map(hold_together, describe_computed(self.entries)))

    def list_cells(self) -> list[Any]:
        """List what its file holds: figures with every digit or, without any, the texts."""
        if self.entries:
            return list_cells(self.entries)
        rows = (self.columns, *self.rows, *self.unshown)
        return [tuple(map(let_go, row)) for row in rows]


def fill_table(
    caption: str,
    columns: Sequence[Column],
    rows: Iterable[Any],
    *,
    row_names: Callable[[Any], Mapping[str, str]] = lambda row: {},
    words: str = "",
    shown: int | None = None,
    **options: Any,
) -> Table:
    """Return the table of these columns.

    `row_names` name a row in the file; so many rows as `shown` are on the page, all in the file.
    """
    sources = list(rows)
    cells = [tuple(column.write(row) for column in columns) for row in sources]
    prose = [place for place, column in enumerate(columns) if column.is_prose]
    return Table(
        caption,
        tuple(column.heading for column in columns),
        cells[:shown],
        words=" ".join(filter(None, (words, *(column.meaning for column in columns)))),
        prose=prose[0] if prose else -1,
        entries=[
            entry(figure, **{**row_names(row), **column.names})
            for row in sources
            for column in columns
            for figure in column.figures(row)
        ],
        unshown=[] if shown is None else cells[shown:],
        further=frozenset(n for n, column in enumerate(columns) if column.is_further),
        folded=frozenset(n for n, column in enumerate(columns) if column.is_folded),
        **options,
    )


# --- cells --------------------------------------------------------------------------


def because(figure: Figure) -> str:
    """Return " (too few values)", or "" of a figure that has a value."""
    reason = explain_reason(figure["reason"])
    return f" ({reason})" if reason else ""


def write_with_interval(figure: Figure) -> str:
    """ "0.45 (0.21 to 0.69)", or why there is no value."""
    interval = write_interval(figure)
    return write_value(figure) + (f" ({interval})" if interval else because(figure))


def explain_with_interval(figure: Figure) -> str:
    """Explain likewise, with the reason why an interval is missing: "0.45 (none: too few
    values)"."""
    interval = describe_interval(figure)
    return write_value(figure) + (f" ({interval})" if interval else because(figure))


# --- kinds of columns ---------------------------------------------------------------


def name_column(heading: str, write: Callable[[Any], str]) -> Column:
    """Return the column that names the rows, or another one of plain words."""
    return Column(heading=heading, write=write)


def value_column(heading: str, find: Callable[[Any], Figure], **options: Any) -> Column:
    """Return a column of the values of figures, each without its interval."""
    return Column(
        heading=heading,
        **{
            "write": lambda row: write_value(find(row)) + because(find(row)),
            "figures": lambda row: [find(row)],
            **options,
        },
    )


def interval_column(find: Callable[[Any], Figure]) -> Column:
    """Return the column of intervals for the figures in the column beside it."""
    return Column(heading=INTERVAL, write=lambda row: describe_interval(find(row)))


def figure_column(
    heading: str,
    find: Callable[[Any], Figure | None],
    *,
    write_figure: Callable[[Figure], str] = write_with_interval,
    **options: Any,
) -> Column:
    """Return a column of values with their intervals; empty where a row has no figure."""

    def write(row: Any) -> str:
        figure = find(row)
        return "" if figure is None else write_figure(figure)

    def list_figures(row: Any) -> list[Figure]:
        figure = find(row)
        return [] if figure is None else [figure]

    return Column(heading=heading, **{"write": write, "figures": list_figures, **options})


def figure_columns(
    headings: Iterable[str],
    find_all: Callable[[Any], Sequence[Figure]],
    *,
    start: int = 0,
    write_figure: Callable[[Figure], str] = write_with_interval,
) -> list[Column]:
    """Return a column for each figure of a row, by its place, from `start` on."""

    def make_column(heading: str, place: int) -> Column:
        def find(row: Any) -> Figure | None:
            figures = find_all(row)
            return figures[place] if place < len(figures) else None

        return figure_column(heading, find, write_figure=write_figure)

    return [make_column(heading, place) for place, heading in enumerate(headings, start=start)]


def align(rows: list[list[str]], *, words: int = 2) -> list[str]:
    """Return lines of aligned columns: `words` columns to the left, then numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number < words else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
