"""The ratings of one criterion, as all statistics take them, and in an order of their own.

A bootstrap draws the third unit, not the unit named u3. So that a file in another order, or with
other names, gives the same digits, units and raters are numbered by what was rated: each gets a
colour from its ratings, then from the colours of those it shares them with, and so on
(Weisfeiler-Leman refinement). Levels of the same colour are as good as interchangeable.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalsite.analysis.figure import Reason

Column = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Ratings:
    """Columns of one length, with a row for each rating; lists and series become arrays.

    Columns other than `value` hold ids of any kind. `unit` is what raters agree on, such as an
    output; `rater` is None where raters are unknown. `group` is the input that outputs share;
    `block` is drawn or weighted as a whole: the input, or the cluster it belongs to.
    ValueError: lengths differ.
    """

    value: NDArray[np.float64]
    unit: Column | None = None
    rater: Column | None = None
    group: Column | None = None
    block: Column | None = None
    system: Column | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            column = getattr(self, field.name)
            if column is None:
                continue
            kind = np.float64 if field.name == "value" else None
            object.__setattr__(self, field.name, np.asarray(column, dtype=kind))
            if getattr(self, field.name).shape != (len(self.value),):
                raise ValueError("The columns of ratings must be flat and of one length.")

    def __len__(self) -> int:
        return len(self.value)

    def get(self, name: str) -> Column:
        """Return a column that a statistic can't do without."""
        column = getattr(self, name)
        if column is None:
            raise ValueError(f"The ratings have no column {name}.")
        return np.asarray(column)


# --- in an order that depends on neither rows nor names ----------------------------------------

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Codes = NDArray[np.int64]

_ROUNDS = 4
_ODD = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)


@dataclass(frozen=True, kw_only=True)
class Coded:
    """Ratings with units, raters and blocks as numbers from 0; rows by unit, then rater.

    The arrays have one entry for each rating. `rater` is None where raters are unknown. A block is
    resampled as a whole: the unit itself, or the group or cluster it belongs to.
    """

    unit: Ints
    value: Floats
    block: Ints
    rater: Ints | None
    raters: list[str]  # names, by number

    @property
    def n_blocks(self) -> int:
        return int(self.block.max()) + 1 if self.block.size else 0

    @property
    def sizes(self) -> Ints:
        """How many ratings each unit has."""
        return np.bincount(self.unit)

    def counts(self) -> dict[str, int]:
        """Return the numbers of what went in, for a figure's `n`."""
        units = len(np.unique(self.unit))
        counted = {"units": units, "ratings": len(self.value)}
        if self.rater is not None:
            counted["raters"] = len(np.unique(self.rater))
        return counted

    def counts_of_overlapping(self) -> dict[str, int]:
        """Return the `n` of a figure of units with two or more ratings, and how many units are left
        out."""
        counted = self.overlapping().counts()
        return counted | {"units_left_out": self.counts()["units"] - counted["units"]}

    def overlapping(self) -> "Coded":
        """Return only the units with two ratings or more, renumbered."""
        keep = (self.sizes >= 2)[self.unit] if self.unit.size else np.zeros(0, dtype=bool)
        return Coded(
            unit=_renumber(self.unit[keep]),
            value=self.value[keep],
            block=_renumber(self.block[keep]),
            rater=None if self.rater is None else self.rater[keep],
            raters=self.raters,
        )


def code(ratings: Ratings) -> Coded:
    """Return units, values, raters and blocks as numbers, in an order that depends only on what was
    rated.

    A missing value (NaN) is left out. ValueError: a rater has two values for one unit, or a unit is
    in two blocks.
    """
    rater, block = ratings.rater, ratings.block
    keep = ~np.isnan(ratings.value)
    columns = [_factor(ids[keep]) for ids in (ratings.get("unit"), rater, block) if ids is not None]
    values = ratings.value[keep] + 0.0
    orders = canonical_order([codes for codes, _ in columns], values)
    numbered = [order[codes] for order, (codes, _) in zip(orders, columns, strict=True)]
    units = numbered[0]
    raters = numbered[1] if rater is not None else None
    blocks = numbered[-1] if block is not None else units
    names = columns[1][1][np.argsort(orders[1])].tolist() if rater is not None else []
    _refuse_doubles(units, raters, blocks)
    last = raters if raters is not None else np.zeros_like(units)
    rows = np.lexsort((values, last, units))
    return Coded(
        unit=units[rows],
        value=values[rows],
        block=blocks[rows],
        rater=None if raters is None else raters[rows],
        raters=[str(name) for name in names],
    )


def canonical_order(columns: list[Ints], values: Floats) -> list[Ints]:
    """Return for each column of codes the new number of each level, by what was rated.

    `columns`: arrays of length n with codes from 0; `values`: length n. Ties of colour keep the
    order of the codes.
    """
    content = _mix(values.view(np.uint64))
    colours = [np.zeros(int(codes.max()) + 1 if codes.size else 0, np.uint64) for codes in columns]
    for _ in range(_ROUNDS):
        row = content.copy()
        for place, (codes, colour) in enumerate(zip(columns, colours, strict=True)):
            row += _mix(colour[codes] + np.uint64(_ODD[place % len(_ODD)]))
        row = _mix(row)
        for place, codes in enumerate(columns):
            total = np.zeros_like(colours[place])
            np.add.at(total, codes, row)
            colours[place] = _mix(total)
    # the rank of each level: the inverse of the permutation that sorts the colours
    return [np.argsort(np.argsort(colour, kind="stable")) for colour in colours]


def find_gap(data: Coded) -> Reason | None:
    """Return why agreement is undefined for these ratings; None if it is defined."""
    if not data.value.size:
        return Reason.NO_DATA
    pairable = data.overlapping()
    if not pairable.value.size:
        return Reason.NO_OVERLAP
    return Reason.NO_VARIATION if np.ptp(pairable.value) == 0 else None


def _factor(ids: Column) -> tuple[Ints, Column]:
    if ids.dtype.kind not in "biuU":  # objects may have mixed types; numbers sort as numbers
        ids = ids.astype(str)
    names, codes = np.unique(ids, return_inverse=True)
    return codes.astype(np.intp), names


def _refuse_doubles(unit: Ints, rater: Ints | None, block: Ints) -> None:
    if not unit.size:
        return
    if rater is not None:
        both = unit * (int(rater.max()) + 1) + rater
        if len(np.unique(both)) < len(both):
            raise ValueError("A rater has two values for one unit; keep the first of them.")
    both = unit * (int(block.max()) + 1) + block
    if len(np.unique(both)) > len(np.unique(unit)):
        raise ValueError("A unit is in two blocks.")


def _renumber(codes: Ints) -> Ints:
    return np.unique(codes, return_inverse=True)[1].astype(np.intp)


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble the bits (the finaliser of splitmix64), so that their sums identify multisets."""
    bits = bits + np.uint64(_ODD[0])
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def factor_codes(values: Any) -> Codes:
    """Return integers from 0 for the distinct values, in the order of the values."""
    codes, _ = pd.factorize(pd.Series(values), sort=True)
    return np.asarray(codes, dtype=np.int64)


def canonical_rows(value: Any, *factors: Any) -> tuple[NDArray[np.int64], list[Codes]]:
    """Return the order of the rows, and the codes of each factor in it, by what was rated alone.

    `value`: (n,) numbers; `factors`: names or codes (n,) each, such as raters, items and systems.
    Levels that take part in the same ratings in the same way are interchangeable, so a sum or a
    bootstrap over the codes gives the same digits whatever the names and the order of rows are.
    """
    values = np.asarray(value, dtype=np.float64) + 0.0
    codes = [factor_codes(factor) for factor in factors]
    if not len(values):
        return np.zeros(0, dtype=np.int64), codes
    orders = canonical_order(codes, values)
    named = [
        np.asarray(order[code], dtype=np.int64) for order, code in zip(orders, codes, strict=True)
    ]
    rows = np.lexsort((values, *reversed(named)))
    return rows, [code[rows] for code in named]
