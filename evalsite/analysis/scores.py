"""The ratings of one criterion in the form that comparisons use, and what their design allows."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from evalsite.analysis.figure import Cautions
from evalsite.analysis.ratings import Ratings, canonical_rows

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


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
