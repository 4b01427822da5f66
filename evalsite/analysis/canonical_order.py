"""Ratings in an order that neither the rows nor the names of units and raters decide.

A bootstrap draws the third unit, not the unit named u3. So that a file in another order, or with
other names, gives the same digits, units and raters are numbered by what was rated: each gets a
colour from its ratings, then from the colours of those it shares them with, and so on (the
refinement of Weisfeiler and Leman). Levels of one colour are as good as interchangeable.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalsite.analysis.figure import Reason

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_ROUNDS = 4
_ODD = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)


@dataclass(frozen=True, kw_only=True)
class Coded:
    """Ratings with units, raters and blocks as numbers from 0; rows by unit, then rater.

    All arrays are of one length, the number of ratings. `rater` is None where raters are unknown.
    A block is what is resampled as a whole: the unit itself, or the group or cluster it is of.
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
        found = {"units": units, "ratings": len(self.value)}
        if self.rater is not None:
            found["raters"] = len(np.unique(self.rater))
        return found

    def counts_of_overlapping(self) -> dict[str, int]:
        """What goes into a figure that is of units with two ratings or more, and what does not."""
        found = self.overlapping().counts()
        return found | {"units_left_out": self.counts()["units"] - found["units"]}

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


def code(
    *, unit: ArrayLike, value: ArrayLike, rater: ArrayLike | None = None,
    block: ArrayLike | None = None,
) -> Coded:  # fmt: skip
    """Ratings as numbers, in an order that depends on what was rated alone.

    `unit`, `rater` and `block` hold ids of any kind, `value` numbers, all of length n; a missing
    value (NaN) is left out. ValueError: lengths differ, a rater has two values for one unit, or
    a unit is in two blocks.
    """
    values = np.asarray(value, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError("value must be a flat array.")
    keep = ~np.isnan(values)
    columns = [_factor(one, keep) for one in (unit, rater, block) if one is not None]
    if any(len(codes) != keep.sum() for codes, _ in columns):
        raise ValueError("unit, rater, block and value must be of one length.")
    values = values[keep] + 0.0
    orders = canonical_order([codes for codes, _ in columns], values)
    numbered = [order[codes] for order, (codes, _) in zip(orders, columns, strict=True)]
    units = numbered[0]
    raters = numbered[1] if rater is not None else None
    blocks = numbered[-1] if block is not None else units
    names = _name(columns[1][1], orders[1]) if rater is not None else []
    _refuse_doubles(units, raters, blocks)
    last = raters if raters is not None else np.zeros_like(units)
    rows = np.lexsort((values, last, units))
    return Coded(
        unit=units[rows],
        value=values[rows],
        block=blocks[rows],
        rater=None if raters is None else raters[rows],
        raters=names,
    )


def canonical_order(columns: list[Ints], values: Floats) -> list[Ints]:
    """For each column of codes the new number of each level, by what was rated.

    `columns`: arrays of length n with codes from 0; `values`: length n. Ties of colour keep the
    order of the codes.
    """
    content = _mix(values.view(np.uint64))
    colours = [np.zeros(int(one.max()) + 1 if one.size else 0, np.uint64) for one in columns]
    for _ in range(_ROUNDS):
        row = content.copy()
        for place, (codes, colour) in enumerate(zip(columns, colours, strict=True)):
            row += _mix(colour[codes] + np.uint64(_ODD[place % len(_ODD)]))
        row = _mix(row)
        colours = [
            _gather(codes, row, len(old)) for codes, old in zip(columns, colours, strict=True)
        ]
    return [_rank(colour) for colour in colours]


def find_gap(data: Coded, *, of_overlap: bool = True) -> Reason | None:
    """Why agreement is undefined for these ratings, if it is."""
    if not data.value.size:
        return Reason.NO_DATA
    pairable = data.overlapping()
    if not pairable.value.size and of_overlap:
        return Reason.NO_OVERLAP
    values = pairable.value if of_overlap else data.value
    return Reason.NO_VARIATION if np.ptp(values) == 0 else None


def _factor(ids: ArrayLike, keep: NDArray[np.bool_]) -> tuple[Ints, NDArray[Any]]:
    found = np.asarray(ids)
    if found.ndim != 1 or len(found) != len(keep):
        raise ValueError("unit, rater, block and value must be of one length.")
    ids = found[keep]
    if ids.dtype.kind not in "biuU":  # objects may be of mixed kinds; numbers sort as they are
        ids = ids.astype(str)
    names, codes = np.unique(ids, return_inverse=True)
    return codes.astype(np.intp), names


def _name(names: NDArray[Any], order: Ints) -> list[str]:
    return [str(one) for one in names[np.argsort(order)]]


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


def _rank(colour: NDArray[np.uint64]) -> Ints:
    order = np.empty(len(colour), dtype=np.intp)
    order[np.argsort(colour, kind="stable")] = np.arange(len(colour))
    return order


def _gather(codes: Ints, row: NDArray[np.uint64], levels: int) -> NDArray[np.uint64]:
    total = np.zeros(levels, dtype=np.uint64)
    np.add.at(total, codes, row)
    return _mix(total)


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The bits stirred (the finaliser of splitmix64), so that sums of them tell multisets apart."""
    bits = bits + np.uint64(_ODD[0])
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
