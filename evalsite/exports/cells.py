"""What rows of every file share: their cells are texts from the start, and "" for none.

A million rows must be written in seconds. So rows come as pages, and a page as columns: what is
done to a whole column at once, in C, costs a fraction of what it costs cell by cell.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, NamedTuple, Protocol

# rows fetched at a time, where they are not read by stretches
PAGE = 2_000

# Some cells that stand side by side in a row, put together once, as the file's form says.
# What comes back in many rows is put together once for all of them.
Part = Any
Column = Sequence[str]
Join = Callable[[Sequence[Column]], list[Part]]


class Form(Protocol):
    """How the cells of a file are put together: quoted and parted by commas, or left alone."""

    def join(self, names: Sequence[str]) -> Join:
        """Makes a part for each row of these columns; those that the file lacks are left out."""


class Page(NamedTuple):
    """Some rows of a file."""

    shared: Sequence[Column]  # cells that several rows share
    own: Sequence[Sequence[Part]]  # the parts of each row
    which: Sequence[int]  # the place of each row's shared cells in their columns


@dataclass(frozen=True)
class Source:
    """Rows still to be read, once; and which columns their cells belong to."""

    shared: tuple[str, ...]
    # the columns of each part
    own: tuple[tuple[str, ...], ...]
    pages: Iterable[Page]


def make_pages(rows: Iterable[Sequence[str]], size: int) -> Iterator[Page]:
    """Rows of which each stands for itself, as pages."""
    rows = iter(rows)
    while some := list(islice(rows, size)):
        yield Page([*zip(*some, strict=True)], (), range(len(some)))


def say(flag: Any) -> str:
    return "yes" if flag else "no"


def tell(cell: object) -> str:
    return "" if cell is None else str(cell)


def write_time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def name_output(item: str, position: int) -> str:
    """The id of an output: the same in every installation that holds the study."""
    return f"{item}#{position + 1}"
