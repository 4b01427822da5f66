"""Error spans: the penalty of an output, errors by category, and whether people mark the same.

A mark is a passage of an output, or of an input beside it, with a category and a severity, whose
weight is its penalty. The penalty of a person and output is the sum of their marks; it is analysed
like any score. Agreement is about places: characters that both marked, passages that both marked.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalsite.analysis.figure import Figure, Group, Reason
from evalsite.analysis.highlights import average_marks
from evalsite.analysis.intervals import SEED
from evalsite.analysis.ratings import canonical_order, factor_codes

# who looked at what; a row of marks has these, too
KEY = ["rater", "output"]


# --- errors by category and system --------------------------------------------------------------


def count_errors(
    seen: pd.DataFrame, marks: pd.DataFrame, column: str, names: Sequence[str]
) -> list[Figure]:
    """Return how many errors of each category, or severity, the outputs of each system have.

    `column`: category or severity; `names`: of it, in the order wanted. Both frames have `system`;
    `n` says how many outputs were looked at, once for each person.
    """
    looked_at = seen.groupby("system").size()
    counts = marks.groupby([column, "system"]).size()
    return [
        Figure(
            name="errors", method="count_of_errors", value=float(counts.get((name, system), 0)),
            n={"outputs_and_raters": int(number)}, details={"interval": "count"},
            group=((column, name), ("system", str(system))),
        )
        for name in names
        for system, number in looked_at.items()
    ]  # fmt: skip


def describe_errors(seen: pd.DataFrame, marks: pd.DataFrame, *, seed: int = SEED) -> list[Figure]:
    """Return for each system the mean number of errors, and the share of outputs without one.

    Intervals: bootstrap over raters and blocks.
    """
    rows = _number_levels(seen.assign(errors=_sum_of(seen, marks.assign(number=1.0))), "errors")
    figures = []
    for system, part in rows.groupby("system"):
        n = {"outputs_and_raters": len(part), "raters": int(part["first"].nunique())}
        group: Group = (("system", str(system)),)
        for name, value in (
            ("errors_per_output", part.errors),
            ("without_errors", (part.errors == 0).astype(float)),
        ):
            of_one = part.assign(value=value)[["block", "first", "value"]]
            figure = average_marks(name, _renumber(of_one), n, Reason.NO_DATA, seed)
            figures.append(replace(figure, group=group))
    return figures


def _sum_of(seen: pd.DataFrame, marks: pd.DataFrame) -> NDArray[np.float64]:
    """Return for each row of `seen` the sum of `number` over its marks, 0 of none."""
    sums = marks.groupby(KEY).number.sum().reset_index()
    return seen[KEY].merge(sums, how="left", on=KEY).number.fillna(0).to_numpy(dtype=float)


# --- agreement ----------------------------------------------------------------------------------


def agree_on_places(
    seen: pd.DataFrame, marks: pd.DataFrame, *, seed: int = SEED, group: Group = ()
) -> list[Figure]:
    """Return F1 of characters and of passages between people who looked at the same output.

    F1 of a pair is 2 x both / (first + second). The mean is over pairs of which one marked
    something; where neither did, a pair counts as 1 in `character_f1_with_empty` only.
    `character_f1_pooled` divides sums. A passage is alike if both of its ends are. `place` of a
    mark: the output or the input that it is in, and the turn. Intervals: bootstrap over blocks and
    raters; a rater who is drawn twice isn't compared with themselves. Undefined: no_data,
    no_overlap, no_variation (nobody marked anything).
    """
    looked_at = seen.drop_duplicates(KEY)
    # a number that says where all marks are
    places = _sum_of(looked_at, marks.assign(number=31.0 * marks.start + marks.end + 1))
    rows = _number_levels(looked_at.assign(places=places), "places")
    by_output = {output: part for output, part in marks.groupby("output")}
    pairs = [
        pair
        for output, raters in rows.groupby("output")
        if len(raters) > 1
        for pair in _compare_pairs(raters, by_output.get(output))
    ]
    columns = ["block", "first", "second", "both", "characters", "alike", "passages"]
    frame = pd.DataFrame(pairs, columns=columns)
    sides = frame[["block", "first", "second"]]
    # omissions have no characters, but a place
    of_characters, of_passages = frame.characters > 0, frame.passages > 0
    f1 = (2 * frame.both / frame.characters.where(of_characters)).astype(float)
    matched = (2 * frame.alike / frame.passages.where(of_passages)).astype(float)
    gap = Reason.NO_DATA if seen.empty else Reason.NO_VARIATION if pairs else Reason.NO_OVERLAP
    outputs = int(rows.output.nunique())

    def average(name: str, part: pd.DataFrame) -> Figure:
        n = {"outputs": outputs, "rater_pairs": len(part)}
        return replace(average_marks(name, part, n, gap, seed), group=group)

    pooled = sides.assign(value=2.0 * frame.both, total=frame.characters)
    return [
        average("character_f1", sides.assign(value=f1)[of_characters]),
        average("character_f1_with_empty", sides.assign(value=f1.fillna(1.0))),
        average("character_f1_pooled", pooled[of_characters]),
        average("span_f1", sides.assign(value=matched)[of_passages]),
    ]


def _compare_pairs(raters: pd.DataFrame, marks: pd.DataFrame | None) -> list[tuple[int, ...]]:
    """Return for each pair of raters of one output: block, both raters, characters of both, of
    either added up, and the same of passages."""
    names, numbers = raters.rater.tolist(), raters["first"].tolist()
    block = int(raters.block.iloc[0])
    passages: dict[Any, set[tuple[str, int, int]]] = {name: set() for name in names}
    if marks is not None:
        cells = zip(marks.rater, marks.place, marks.start, marks.end, strict=True)
        for name, place, start, end in cells:
            passages.setdefault(name, set()).add((place, int(start), int(end)))
    covered = _cover([passages[name] for name in names])
    both = covered @ covered.T
    rows = []
    for left, right in combinations(range(len(names)), 2):
        first, second = passages[names[left]], passages[names[right]]
        rows.append((
            block, *sorted((numbers[left], numbers[right])), int(both[left, right]),
            int(both[left, left] + both[right, right]), len(first & second),
            len(first) + len(second),
        ))  # fmt: skip
    return rows


def _cover(passages: Sequence[set[tuple[str, int, int]]]) -> NDArray[np.float64]:
    """Return for each rater which characters are marked: 1 or 0, of all texts in a row."""
    lengths: dict[str, int] = {}
    for marked in passages:
        for place, _, end in marked:
            lengths[place] = max(lengths.get(place, 0), end)
    offsets, total = {}, 0
    for place, length in sorted(lengths.items()):
        offsets[place], total = total, total + length
    covered = np.zeros((len(passages), total))
    for row, marked in zip(covered, passages, strict=True):
        for place, start, end in marked:
            row[offsets[place] + start : offsets[place] + end] = 1
    return covered


def _number_levels(rows: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return the rows with blocks and raters (`first`) as numbers that don't depend on names."""
    codes = [factor_codes(rows.block), factor_codes(rows.rater)]
    orders = canonical_order(codes, rows[value].to_numpy(dtype=float))
    block, first = (order[of] for order, of in zip(orders, codes, strict=True))
    return rows.assign(block=block, first=first)


def _renumber(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with numbers of blocks and raters that leave no gap."""
    return rows.assign(block=factor_codes(rows.block), first=factor_codes(rows["first"]))
