"""The ratings that all statistics take: one criterion's, their means, and the table that they are
read from.

A bootstrap draws the third unit, not the unit named u3. So that a file in another order, or with
other names, gives the same digits, units and raters are numbered by what was rated: each gets a
colour from its ratings, then from the colours of those it shares them with, and so on
(Weisfeiler-Leman refinement). Levels of the same colour are as good as interchangeable.

The table has one row for each rating, whatever the file: a ratings.csv as this site exports it, or
a bare CSV with participant, item, criterion and value or preferred, and, where there are some,
system, group, cluster, standard, seconds, place, trial, kind, status, excluded, person.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from evalsite.analysis.figure import Cautions, Reason, make_note
from evalsite.lib.limited import read_json
from evalsite.lib.rating_columns import (
    DECISION_WORDS,
    DIRECTIONS,
    FIELDS,
    MISSING_WORDS,
    check_mapping,
    melt,
)
from evalsite.lib.rating_guess import guess_bare

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
        for declared in fields(self):
            column = getattr(self, declared.name)
            if column is None:
                continue
            kind = np.float64 if declared.name == "value" else None
            object.__setattr__(self, declared.name, np.asarray(column, dtype=kind))
            if getattr(self, declared.name).shape != (len(self.value),):
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


# --- means by system and input, as comparisons use them, and what their design allows


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Ratings as codes from 0, rows in an order that names and files do not decide.

    `group` is the input (the item factor), `block` what is resampled: the group, or its cluster.
    `rater` is None where the participants of an import aren't persons. `row`: the number of each
    rating's row in the input.
    """

    systems: list[str]
    raters: int | None
    rater: Codes | None
    group: Codes
    block: Codes
    system: Codes
    value: Floats
    row: Codes
    is_log: bool
    has_clusters: bool

    def counts(self) -> dict[str, int]:
        """Return the numbers of what went in, for a figure's `n`."""
        counted = {"items": int(self.group.max()) + 1, "ratings": len(self.value)}
        if self.has_clusters:
            counted["clusters"] = len(np.unique(self.block))
        if self.raters is not None:
            counted["raters"] = self.raters
        return counted

    def take(self, rows: NDArray[np.bool_]) -> "Scores":
        """Return some of the rows, with raters and groups renumbered; systems stay."""
        rater = None if self.rater is None else renumber(self.rater[rows])
        return Scores(
            systems=self.systems,
            raters=None if rater is None else int(rater.max(initial=-1)) + 1,
            rater=rater,
            group=renumber(self.group[rows]),
            block=renumber(self.block[rows]),
            system=self.system[rows],
            value=self.value[rows],
            row=self.row[rows],
            is_log=self.is_log,
            has_clusters=self.has_clusters,
        )


def renumber(codes: Codes) -> Codes:
    """Return the codes that occur, numbered from 0 in their order."""
    return np.asarray(np.unique(codes, return_inverse=True)[1], dtype=np.int64)


def read_scores(ratings: Ratings, *, is_log: bool = False) -> Scores:
    """Return the ratings of one criterion; rows without a value are left out.

    The blocks of the ratings are clusters; without them, groups are resampled. `is_log`: values are
    magnitudes, and their natural logarithms are compared. ValueError: a magnitude of 0 or less.
    """
    values, rater, block = ratings.value, ratings.rater, ratings.block
    is_known = np.isfinite(values)
    values = values[is_known]
    if is_log:
        if (values <= 0).any():
            raise ValueError("A magnitude must be above 0; leave out the ratings that are not.")
        values = np.log(values)
    names = pd.Series(ratings.get("system")).astype(str).to_numpy()[is_known]
    systems, codes = np.unique(names, return_inverse=True)
    groups = ratings.get("group")[is_known]
    blocks = groups if block is None else block[is_known]
    who = np.zeros(len(values)) if rater is None else rater[is_known]
    rows, (who_code, group_code, block_code, _) = canonical_rows(
        values, who, groups, blocks, codes.astype(np.int64)
    )
    return Scores(
        systems=[str(name) for name in systems],
        raters=None if rater is None else int(who_code.max(initial=-1)) + 1,
        rater=None if rater is None else who_code,
        group=group_code,
        block=block_code,
        system=np.asarray(codes, dtype=np.int64)[rows],
        value=values[rows],
        row=np.flatnonzero(is_known)[rows],
        is_log=is_log,
        has_clusters=block is not None,
    )


def cell_means(data: Scores, system: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Return sums and counts (groups, raters) of one system, sparse; one column if raters are
    unknown."""
    rows = data.system == system
    rater = np.zeros(len(data.value), dtype=np.int64) if data.rater is None else data.rater
    shape = (int(data.group.max()) + 1, int(rater.max()) + 1)
    where = (data.group[rows], rater[rows])
    return (
        sparse.csr_matrix((data.value[rows], where), shape=shape),
        sparse.csr_matrix((np.ones(int(rows.sum())), where), shape=shape),
    )


def item_means(data: Scores, system: int) -> Floats:
    """Return the mean of each group under one system (groups,); NaN where it has no rating."""
    rows = data.system == system
    size = int(data.group.max()) + 1
    count = np.bincount(data.group[rows], minlength=size)
    sums = np.bincount(data.group[rows], weights=data.value[rows], minlength=size)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums / count)


def find_thin(data: Scores) -> list[int]:
    """Return the systems with ratings of fewer than two groups, or by fewer than two raters: the
    system's own effect can't be separated from that group's or rater's."""
    fewest: NDArray[np.int64] = np.full(len(data.systems), 2)
    for codes in (data.group, data.rater):
        if codes is not None:
            both = np.unique(np.column_stack([data.system, codes]), axis=0)
            fewest = np.minimum(fewest, np.bincount(both[:, 0], minlength=len(fewest)))
    return [int(system) for system in np.flatnonzero(fewest < 2)]


def design_cautions(data: Scores) -> Cautions:
    """Return codes for what can't be claimed with this design, which the pages word."""
    outputs = len(np.unique(data.group * len(data.systems) + data.system))
    is_shared = outputs > int(data.group.max()) + 1
    cautions: Cautions = {}
    if len(data.systems) > 1 and not is_shared:
        cautions["no_shared_input"] = {}
    if data.raters is None or data.rater is None:
        return {"raters_unknown": {}, **cautions}
    if data.raters == 1:
        cautions["one_rater"] = {}
    if int(data.group.max()) == 0:
        cautions["one_item"] = {}
    if data.raters > 1 and len(data.systems) > 1:
        seen = len(np.unique(data.rater * len(data.systems) + data.system))
        if seen == data.raters:
            cautions["nested_raters"] = {}
    return cautions


# --- preferences, as the table names their sides


TIE = "tie"
_OUTCOMES = {"1": -1.0, TIE: 0.0, "2": 1.0}
_ENDING = r"[-_.:/#]([^-_.:/#]+)$"
_ENOUGH = 20  # decided answers for each ending, before ids are trusted to identify the pair
_SIDES = ("system_1", "system_2")
# words for the first and the second of a pair, which are no names of systems
_PLACES = {"1": 0, "first": 0, "system_1": 0, "2": 1, "second": 1, "system_2": 1}
_PLACES_ON_SCREEN = {"left", "right"}
Pair = tuple[str, str]


def find_outcomes(
    rows: pd.DataFrame, text: pd.DataFrame, outputs: pd.DataFrame | None
) -> list[dict[str, Any]]:
    """Set the `outcome` of each row, and `preferred` to a system's name or a tie; return notes.

    `text`: the file's content. `outputs`: item and system, if known, with group and cluster. If the
    pairs of some items stay unknown, no row has an outcome: the items with a known pair are those
    that were decided, and would show too few ties. Columns system_1 and system_2 of the file take
    precedence; with them, preferred may be first or second, too. ValueError: an item compares more
    than two systems, or prefers a system that it doesn't compare, or a place without a system.
    """
    rows["outcome"] = np.nan
    if "outcome" in text:  # as the site exports it
        exported = text["outcome"].map(_OUTCOMES).to_numpy(dtype=float)
        rows["outcome"] = exported
        rows.loc[~np.isnan(exported) & (rows.preferred == "").to_numpy(), "preferred"] = TIE
        return []
    if "preferred" not in text:
        return []
    rows["preferred"] = rows.preferred.str.strip()
    tied = rows.preferred.str.casefold() == TIE
    rows.loc[tied, "preferred"] = TIE
    notes: list[dict[str, Any]] = []
    if _names_systems(rows):
        _read_sides(rows)
    else:
        pairs, notes = _find_pairs(rows, outputs)
        for place, name in enumerate(_SIDES):
            rows[name] = [pairs.get(item, ("", ""))[place] for item in rows["item"]]
    if outputs is not None:
        _take_groups(rows, outputs)
    lost = rows.loc[(rows.system_1 == "") & (rows.preferred != ""), "item"].nunique()
    if lost:
        return [make_note("pairs_unknown", items=lost)]
    _refuse_strangers(rows)
    outcome = np.where(tied, 0.0, np.where(rows.preferred == rows.system_2, 1.0, -1.0))
    rows["outcome"] = np.where(rows.preferred == "", np.nan, outcome)
    return notes


def _names_systems(rows: pd.DataFrame) -> bool:
    """Return whether the file itself names both systems; ValueError where only some rows do."""
    named = (rows.system_1.str.strip() != "") & (rows.system_2.str.strip() != "")
    if not ((rows.system_1 != "") | (rows.system_2 != "")).any():
        return False
    gone = rows[~named & (rows.preferred != "")]
    if len(gone):
        raise ValueError(f"Row {gone.iloc[0].row}: name both systems, system_1 and system_2.")
    return True


def _read_sides(rows: pd.DataFrame) -> None:
    """Set the two systems of each row, sorted by name, and the name that it prefers."""
    names_of_side = [rows[name].str.strip() for name in _SIDES]
    place = rows.preferred.str.casefold().map(_PLACES)
    is_name = (rows.preferred == names_of_side[0]) | (rows.preferred == names_of_side[1])
    for number, names in enumerate(names_of_side):
        rows["preferred"] = rows.preferred.where(is_name | (place != number), names)
    if (names_of_side[0] == names_of_side[1]).any():
        row = rows[names_of_side[0] == names_of_side[1]].iloc[0]
        raise ValueError(f"Row {row.row}: {row.system_1} is compared with itself.")
    is_turned = names_of_side[0] > names_of_side[1]
    rows["system_1"] = names_of_side[0].where(~is_turned, names_of_side[1])
    rows["system_2"] = names_of_side[1].where(~is_turned, names_of_side[0])
    pairs = rows.drop_duplicates(["item", *_SIDES])
    if (double := pairs["item"].duplicated()).any():
        raise ValueError(f"Item {pairs['item'][double].iloc[0]} compares more than two systems.")


def _refuse_places(decided: pd.DataFrame) -> None:
    """Raise ValueError where `preferred` holds a place on the page instead of a system."""
    words = set(decided.preferred.str.casefold())
    if not words or not words <= {*_PLACES, *_PLACES_ON_SCREEN}:
        return
    first = decided.iloc[0]
    raise ValueError(
        f"Row {first.row}: preferred is {first.preferred}, a place and no system. Write the name "
        "of the preferred system, or name both in columns system_1 and system_2 (then preferred "
        "may be first, second or tie)."
    )


def _refuse_strangers(rows: pd.DataFrame) -> None:
    known = rows.preferred.isin(["", TIE])
    known |= (rows.preferred == rows.system_1) | (rows.preferred == rows.system_2)
    if not known.all():
        first = rows[~known].iloc[0]
        raise ValueError(
            f"Row {first.row}: item {first['item']} compares {first.system_1} and "
            f"{first.system_2}, not {first.preferred}."
        )


def _find_pairs(
    rows: pd.DataFrame, outputs: pd.DataFrame | None
) -> tuple[dict[str, Pair], list[dict[str, Any]]]:
    """Return the two systems of each compared item, sorted, where both are known; and notes."""
    if outputs is not None:
        for name in ("item", "system"):
            if name not in outputs:
                raise ValueError(f"The file of the items has no column {name}.")
        return _pair_up(outputs.groupby("item").system.unique()), []
    decided = rows[(rows.preferred != "") & (rows.preferred != TIE)]
    _refuse_places(decided)
    everywhere = sorted(decided.preferred.unique())
    if len(everywhere) == 2:
        return dict.fromkeys(rows["item"].unique(), (everywhere[0], everywhere[1])), []
    named = _pair_up(decided.groupby("item").preferred.unique())
    by_ending = _split_by_ending(rows, decided)
    if len(named) == rows["item"].nunique() or not by_ending:
        return named, []
    note = make_note("pairs_by_ending", endings=[[end, *pair] for end, pair in by_ending.items()])
    ending = rows["item"].str.extract(_ENDING, expand=False)
    return {item: by_ending[end] for item, end in zip(rows["item"], ending, strict=True)}, [note]


def _pair_up(named: pd.Series) -> dict[str, Pair]:
    pairs = {}
    for item, names in named.items():
        if len(names) > 2:
            raise ValueError(f"Item {item} compares more than two systems.")
        if len(names) == 2:
            first, second = sorted(names)
            pairs[str(item)] = (first, second)
    return pairs


def _split_by_ending(rows: pd.DataFrame, decided: pd.DataFrame) -> dict[str, Pair]:
    """Return the pair of each ending of ids, such as -1 and -2; {} unless every ending has exactly
    one pair."""
    endings = rows["item"].str.extract(_ENDING, expand=False)
    if endings.isna().any():
        return {}
    by = decided.preferred.groupby(endings[decided.index])
    named, number = by.unique(), by.size()
    if set(named.index) != set(endings) or (number < _ENOUGH).any():
        return {}
    if any(len(names) != 2 for names in named):
        return {}
    return _pair_up(named)


def _take_groups(rows: pd.DataFrame, outputs: pd.DataFrame) -> None:
    """Set groups and clusters from the file of the items."""
    first = outputs.drop_duplicates("item").set_index("item")
    for name in ("group", "cluster"):
        if name in first:
            cells = rows["item"].map(first[name].astype(object)).fillna("")
            rows[name] = cells.where(cells != "", rows[name])
    rows["block"] = rows.cluster.where(rows.cluster != "", rows.group)


# --- the table ------------------------------------------------------------------------
# Texts, then numbers: every table has all of them, empty where the file has none.
TEXTS = ("participant", "item", "group", "cluster", "system", "output", "criterion", "scale",
         "kind", "status", "origin", "annotation", "repeat_of", "system_1", "system_2",
         "preferred", "shown_first", "submitted_at", "part", "text",
         "not_applicable", "both", "turn", "label", "better", "systems_shown")  # fmt: skip
NUMBERS = ("value", "standard", "seconds", "trial", "place", "place_in_set", "set", "scale_min",
           "scale_max")  # fmt: skip
COUNTED = ("counted",)
_KNOWN = frozenset([*TEXTS, *NUMBERS, "output_id", "outcome", "excluded", "person"])
_ARCHIVE = b"PK\3\4"
_LONGEST_HEADER = 1_000_000  # bytes; a binary file may have no line break
_SAMPLE = 50  # rows that show which columns hold numbers
# words for values, where all values of a criterion are such words
_DEFAULTS = {"kind": "main", "status": "counted", "origin": "own", "criterion": "rating"}


@dataclass(frozen=True, kw_only=True)
class Table:
    """Ratings in the order of the file, and what was left out of them and why.

    `rows` has the columns TEXTS and NUMBERS, and `outcome` (-1: system_1 is preferred, 0: a tie, 1:
    system_2; only if the pair is known), `block` (the cluster, or else the group), `is_excluded`
    and `row` (the place in the file, from 1). The group is the item factor. An empty text is "", a
    missing number NaN.
    """

    rows: pd.DataFrame
    raters_known: bool = True
    left_out: Mapping[str, int] = field(default_factory=dict)
    # rows that say only that a question doesn't apply
    silent: pd.DataFrame | None = None
    notes: tuple[dict[str, Any], ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def criteria(self) -> list[str]:
        """In the order of the file."""
        return list(self.rows.criterion.unique())

    @property
    def rater(self) -> pd.Series | None:
        """Who rated, or None where participants are no persons."""
        return self.rows.participant if self.raters_known else None

    def ratings(self, value: Any, unit: str = "output") -> Ratings:
        """Return the columns that statistics take. `value`: a number for each row; `unit`: the
        column of what raters agree on."""
        rows = self.rows
        return Ratings(value=value, unit=rows[unit], rater=self.rater, group=rows.group,
                       block=rows.block, system=rows.system)  # fmt: skip

    def of(self, criterion: str) -> "Table":
        """Return the ratings of one criterion."""
        return replace(self, rows=self.rows[self.rows.criterion == criterion])

    def keep_silent(self, *, with_excluded: bool) -> pd.DataFrame | None:
        """Return those of the rows without a value that results are made of."""
        if self.silent is None:
            return None
        rows = self.silent
        rows = rows[(rows.kind == "main") & rows.status.isin(COUNTED)]
        return rows if with_excluded else rows[~rows.is_excluded]

    def results(self, *, with_excluded: bool = False) -> "Table":
        """Return the ratings that results are made of: main items, counted, not excluded.

        A second rating of the same output by the same participant is left out: the first counts.
        What is left out is counted by its reason.
        """
        rows, out = self.rows, dict(self.left_out)
        steps = [("not_main", rows.kind != "main"),
                 ("not_counted", ~rows.status.isin(COUNTED))]  # fmt: skip
        if not with_excluded:
            steps.append(("excluded", rows.is_excluded))
        key = ["participant", "output", "criterion", "part", "turn"]
        gone = pd.Series(data=False, index=rows.index)
        for why, hit in steps:
            out[why] = int((hit & ~gone).sum())
            gone |= hit
        rows = rows[~gone]
        double = rows.duplicated(key)
        out["rated_twice"] = int(double.sum())
        silent = self.keep_silent(with_excluded=with_excluded)
        return replace(self, rows=rows[~double], left_out=out, silent=silent)


def read_systems(cell: str) -> list[str]:
    """Return the names in a cell that lists systems."""
    return [str(name) for name in read_json(cell) if name]


def read_table(
    path: Path | str, *, outputs: Path | str | None = None, raters_known: bool = True
) -> Table:
    """Read the table of a file. `outputs`: a batch file that names the two systems of each compared
    item, for a bare CSV of preferences. ValueError as for `make_table`."""
    frame = read_texts(path, usecols=lambda name: name in _KNOWN)
    known = None if outputs is None else read_texts(outputs)
    return make_table(frame, outputs=known, raters_known=raters_known)


def read_texts(path: Path | str, **known: Any) -> pd.DataFrame:
    """Return every cell of a file as text; tabs separate if the header has them and no commas.

    ValueError: it isn't CSV in UTF-8; the message names the file.
    """
    with Path(path).open("rb") as file:
        start = file.readline(_LONGEST_HEADER)
    if start.startswith(_ARCHIVE):
        raise ValueError(
            f"{path} is an archive. Unpack it and name the file in it; of a bundle that is "
            "data/ratings.csv."
        )
    try:
        header = start.decode("utf-8-sig")
        if "\0" in header:
            raise ValueError(f"{path} isn't text in UTF-8. Save it as CSV in UTF-8.")
        separator = "\t" if "\t" in header and "," not in header else ","
        return pd.read_csv(
            path, sep=separator, dtype=str, keep_default_na=False, encoding="utf-8-sig",
            compression=None, **known,
        )  # fmt: skip
    except UnicodeDecodeError:
        raise ValueError(f"{path} isn't text in UTF-8. Save it as CSV in UTF-8.") from None
    except pd.errors.EmptyDataError:
        raise ValueError(
            f"{path} is empty. It needs a row with the names of its columns."
        ) from None
    except pd.errors.ParserError as error:
        # the words of pandas, and ours
        raise ValueError(
            f"{path} can't be read as CSV: "
            + str(error)
            .rpartition("C error: ")[2]
            .strip()
            .removesuffix(".")
            .replace("EOF inside string starting at", "a quotation mark isn't closed, in")
            + ". Correct it there."
        ) from None


def read_bare_table(
    path: Path | str, *, mapping: Mapping[str, str] | None = None,
    outputs: Path | str | None = None, raters_known: bool = True, has_options: bool = False,
) -> Table:  # fmt: skip
    """Read a file from elsewhere: its columns have other names, or a row holds several ratings.

    `mapping`: the fields of columns whose names don't tell them, in the form of
    `lib.rating_columns`. `has_options`: values are the options of a choice. ValueError as for
    `make_table`, or with what is wrong with the columns.
    """
    start = read_texts(path, nrows=_SAMPLE)
    header = [str(name) for name in start.columns]
    guess = guess_bare(header, start.fillna("").to_numpy().tolist())
    # columns that only the analysis uses
    guess |= {name: name for name in header if name in _KNOWN - FIELDS.keys()}
    if unknown := [name for name, field in (mapping or {}).items() if field and name not in guess]:
        raise ValueError(f"The file has no column “{unknown[0]}”. It has: {', '.join(header)}.")
    guess |= {name: field for name, field in (mapping or {}).items() if name in guess}
    problems = check_mapping({name: field for name, field in guess.items()
                              if field not in _KNOWN - FIELDS.keys()})  # fmt: skip
    if problems:
        raise ValueError(" ".join(problem.message for problem in problems))
    used = {name: field for name, field in guess.items() if field}
    frame = read_texts(path, usecols=list(used))
    known = None if outputs is None else read_texts(outputs)
    # a field that is in neither list is one of a wide row
    if all(name == field for name, field in used.items() if field in _KNOWN or field not in FIELDS):
        return make_table(frame, outputs=known, raters_known=raters_known, has_options=has_options)
    long = _melt(frame, used)
    table = make_table(
        long, outputs=known, raters_known=raters_known, places=list(long.index + 1),
        has_options=has_options,
    )  # fmt: skip
    note = make_note(
        "columns_read", columns=[[*pair] for pair in used.items() if len(set(pair)) > 1]
    )
    return replace(table, notes=(*table.notes, note))


def _melt(frame: pd.DataFrame, mapping: Mapping[str, str]) -> pd.DataFrame:
    """Return one row for each rating, in the order of the file; the index is the file's row."""
    header = [str(name) for name in frame.columns]
    further = {name: name for name in header if mapping[name] in _KNOWN - FIELDS.keys()}
    further = {mapping[name]: name for name in further}
    parts = []
    for part in melt(header, mapping):
        columns = {field: header[at] for field, at in part.columns.items()} | further
        rows = pd.DataFrame({field: frame[name] for field, name in columns.items()})
        rows = rows.assign(**part.fixed)
        if part.is_wide:
            rating = "value" if "value" in part.columns else "preferred"
            rows = rows[rows[rating].str.strip() != ""]
        parts.append(rows)
    return pd.concat(parts).sort_index(kind="stable").fillna("")


def make_table(
    frame: pd.DataFrame, *, outputs: pd.DataFrame | None = None, raters_known: bool = True,
    places: Sequence[int] | None = None, has_options: bool = False,
) -> Table:  # fmt: skip
    """Return the tidy table of a frame with the columns of a ratings file.

    `places`: the row of the file, from 1, that each row of the frame comes from, if several come
    from the same. `has_options`: values are options of a choice, which become `label`; their
    number, by name, is the value. Where all values of a criterion are yes or no, true or false,
    they become 1 and 0. ValueError, with a sentence to act on: a column is missing, or a value
    isn't a number. A column `person` with "no" says that participants aren't persons, like
    `raters_known` False.
    """
    text = _take_texts(frame)
    _refuse_missing(text)
    rows = pd.DataFrame(index=range(len(text)))
    for name in TEXTS:
        cells = text[name].to_numpy() if name in text else ""
        rows[name] = cells
        if default := _DEFAULTS.get(name):
            rows[name] = rows[name].where(rows[name] != "", default)
    rows["row"] = np.arange(1, len(rows) + 1) if places is None else np.asarray(places)
    _check_directions(rows)
    if "value" in text:
        text = text.assign(
            value=_read_options(rows, text) if has_options else _read_words(rows, text)
        )
    for name in NUMBERS:
        rows[name] = _number(text, name, rows["row"].to_numpy())
    rows["is_excluded"] = (
        text["excluded"].to_numpy() == "yes" if "excluded" in text else np.zeros(len(rows), bool)
    )
    if "output_id" in text:
        rows["output"] = text["output_id"].to_numpy()
    rows["group"] = rows.group.where(rows.group != "", rows["item"])
    rows["block"] = rows.cluster.where(rows.cluster != "", rows.group)
    notes: list[dict[str, Any]] = []
    notes += find_outcomes(rows, text, outputs)
    missing = rows.value.isna() & (rows.preferred == "")
    if "person" in text and (text["person"] == "no").any():
        raters_known = False
    output = rows.output.where(rows.output != "", rows["item"] + "|" + rows.system)
    rows["output"] = output.where(rows.preferred == "", rows["item"])
    is_silent = missing & (rows.not_applicable == "yes")
    is_comment = missing & (rows.text != "") & ~is_silent
    out = {"no_value": int((missing & ~is_silent & ~is_comment).sum())}
    return Table(rows=rows[~missing].copy(), raters_known=raters_known, left_out=out,
                 silent=rows[is_silent].copy(), notes=tuple(notes))  # fmt: skip


def _check_directions(rows: pd.DataFrame) -> None:
    """Normalise `better` to a direction, the same in all rows of a criterion; ValueError names the
    row."""
    rows["better"] = rows.better.str.strip().str.casefold()
    wrong = rows[~rows.better.isin(["", *DIRECTIONS])]
    if len(wrong):
        first = wrong.iloc[0]
        raise ValueError(
            f"Row {first.row}: {first.better!r} in column better isn't a direction. Write higher, "
            "lower or none."
        )
    known = rows[rows.better != ""].drop_duplicates(["criterion", "better"])
    twice = known[known.duplicated("criterion")]
    if len(twice):
        first = twice.iloc[0]
        raise ValueError(
            f"Row {first.row}: {first.criterion} has two directions in column better. Write the "
            "same one in all its rows."
        )


def _read_options(rows: pd.DataFrame, text: pd.DataFrame) -> pd.Series:
    """Return the number of each option among those of its criterion, in order of their names."""
    option = text["value"].str.strip()
    rows["label"] = option.to_numpy()
    filled = option.where(option != "")
    number = filled.groupby(rows.criterion).transform(
        lambda cells: pd.Series(pd.factorize(cells, sort=True)[0] + 1, index=cells.index)
    )
    return number.where(filled.notna(), "").astype(str)


def _read_words(rows: pd.DataFrame, text: pd.DataFrame) -> pd.Series:
    """Return the values, 1 and 0 for the words of decisions."""
    value = text["value"]
    word = value.str.strip().str.casefold()
    value = value.where(~word.isin(MISSING_WORDS), "")
    number = word.map(DECISION_WORDS)
    if number.isna().all():
        return value
    is_other = (number.isna() & (value.str.strip() != "")).groupby(rows.criterion).transform("any")
    is_word = number.notna() & ~is_other
    rows.loc[is_word & (rows["scale"] == ""), "scale"] = "decision"
    return value.where(~is_word, number.map("{:.0f}".format))


def _take_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that a table knows, as texts; missing cells are empty."""
    known = frame[[name for name in frame.columns if name in _KNOWN]].reset_index(drop=True)
    if all(isinstance(kind, pd.StringDtype) for kind in known.dtypes):
        return known.fillna("")
    return known.astype(object).where(known.notna(), "").astype(str)


def _refuse_missing(text: pd.DataFrame) -> None:
    for name in ("participant", "item"):
        if name not in text:
            raise ValueError(f"The file has no column {name}.")
    if "value" not in text and "preferred" not in text:
        raise ValueError("The file has neither a column value nor a column preferred.")


def _number(text: pd.DataFrame, name: str, rows: Any) -> Any:
    if name not in text:
        return np.nan
    places, cells = pd.factorize(text[name])  # most cells repeat others
    numbers = pd.to_numeric(pd.Series(cells), errors="coerce").to_numpy(dtype=float)
    empty = np.array([not str(cell).strip() for cell in cells], dtype=bool)
    values = numbers[places]
    wrong = np.flatnonzero((~np.isfinite(numbers) & ~empty)[places])
    if wrong.size:
        row, cell = rows[wrong[0]], text[name].iloc[wrong[0]]
        if name == "value":
            raise ValueError(
                f"Row {row}: {cell!r} in column value isn't a number. If values are words, give "
                "--protocol choice."
            )
        raise ValueError(f"Row {row}: {cell!r} in column {name} isn't a number.")
    return values
