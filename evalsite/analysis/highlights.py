"""Marked passages: how much is marked, and whether raters mark the same words.

A passage is a span of code points. A token is a word or a symbol of the text, and is marked if any
part of it is. Krippendorff's unitised alpha and gamma aren't offered; nominal alpha over tokens is.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalsite.analysis.agreement import BOTH, alpha
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.intervals import DRAWS, METHOD, SEED, describe_draws, two_way_weights
from evalsite.analysis.ratings import Ratings, canonical_order, factor_codes

Marked = NDArray[np.bool_]
Span = tuple[int, int]
_TOKEN = re.compile(r"\w+|[^\w\s]")
_MOST_PAIRS = 200  # pairs of raters of one output
_CELLS = 4_000_000  # weights held at once
METHODS = {
    "highlighted_share": "share_marked",
    "token_f1": "f1_of_tokens",
    "span_f1": "f1_of_passages",
    "token_f1_with_empty": "f1_of_tokens_with_empty",
    "character_f1": "f1_of_characters",
    "character_f1_with_empty": "f1_of_characters_with_empty",
    "character_f1_pooled": "f1_of_characters_pooled",
    "without_errors": "share_without_errors",
    "errors_per_output": "mean_number_of_errors",
}


@dataclass(frozen=True, kw_only=True)
class MarkedOutput:
    """An output as a rater marked it; without spans, nothing was marked."""

    output: str
    rater: str
    spans: tuple[Span, ...] = ()
    block: str = ""  # what is drawn as a whole: the group or cluster; default the output


def split_tokens(text: str) -> list[Span]:
    """Return the words and symbols of a text as spans of code points."""
    return [token.span() for token in _TOKEN.finditer(text)]


def mark_tokens(tokens: list[Span], spans: Iterable[Span]) -> Marked:
    """Return for each token whether a passage touches it."""
    is_marked = np.zeros(len(tokens), dtype=bool)
    if not tokens:
        return is_marked
    starts, ends = np.array(tokens).T
    for start, end in spans:
        is_marked |= (starts < end) & (ends > start)
    return is_marked


def compare_highlights(
    marked: Iterable[MarkedOutput],
    texts: Mapping[str, str],
    *,
    seed: int = SEED,
) -> list[Figure]:
    """Return the share of tokens marked, token F1 and exact-span F1 of pairs of raters, and alpha
    over tokens.

    `texts`: of each output, as it was uploaded; outputs without a text are left out and counted.
    F1 of a pair is 2 x both / (first + second); pairs in which neither marked anything are left out
    of `token_f1` and `span_f1` and count as 1 in `token_f1_with_empty`. Intervals: bootstrap over
    blocks and raters; a rater who is drawn twice isn't compared with themselves. Undefined:
    no_data, no_overlap, no_variation (alpha: nothing or everything is marked).
    """
    everything = sorted(marked, key=lambda view: (view.output, view.rater))
    kept = [view for view in everything if texts.get(view.output, "").strip()]
    tokens = {view.output: split_tokens(texts[view.output]) for view in kept}
    marks = [mark_tokens(tokens[view.output], view.spans) for view in kept]
    n = {"outputs": len(tokens), "outputs_and_raters": len(kept),
         "without_text": len(everything) - len(kept)}  # fmt: skip
    shares = pd.DataFrame(
        {"block": [view.block or view.output for view in kept],
         "rater": [view.rater for view in kept],
         "value": [float(mark.mean()) for mark in marks]}
    )  # fmt: skip
    codes = [factor_codes(shares.block), factor_codes(shares.rater)]
    orders = canonical_order(codes, shares.value.to_numpy())
    shares["block"], shares["first"] = (order[of] for order, of in zip(orders, codes, strict=True))
    pairs = _pair_up(kept, marks, shares)
    decided = pairs[pairs.token.notna()] if len(pairs) else pairs
    gap = _find_gap(kept, pairs)
    of_pairs, of_decided = (
        {"outputs": n["outputs"], "rater_pairs": len(rows), "without_text": n["without_text"]}
        for rows in (pairs, decided)
    )
    with_empty = _column(pairs.fillna(1.0), "token")
    return [
        average_marks("highlighted_share", shares, n, Reason.NO_DATA, seed),
        average_marks("token_f1", _column(decided, "token"), of_decided, gap, seed),
        average_marks("span_f1", _column(decided, "span"), of_decided, gap, seed),
        average_marks("token_f1_with_empty", with_empty, of_pairs, gap, seed),
        _alpha_over_tokens(kept, marks, n),
    ]  # fmt: skip


def _find_gap(kept: list[MarkedOutput], pairs: pd.DataFrame) -> Reason:
    """Return why there is no mean over pairs, if there is none."""
    if not kept:
        return Reason.NO_DATA
    return Reason.NO_VARIATION if len(pairs) else Reason.NO_OVERLAP


def _pair_up(kept: list[MarkedOutput], marks: list[Marked], shares: pd.DataFrame) -> pd.DataFrame:
    """Return for each pair of raters of an output its block, both raters, and F1 of tokens and of
    spans (or missing)."""
    blocks, raters = shares.block.tolist(), shares["first"].tolist()
    by_output: dict[str, list[int]] = {}
    for place, each in enumerate(kept):
        by_output.setdefault(each.output, []).append(place)
    rows: list[tuple[int, int, int, float, float]] = []
    for places in by_output.values():
        for left, right in list(combinations(places, 2))[:_MOST_PAIRS]:
            first, second = kept[left], kept[right]
            token = _f1(int((marks[left] & marks[right]).sum()), int(marks[left].sum()),
                        int(marks[right].sum()))  # fmt: skip
            span = _f1(len(set(first.spans) & set(second.spans)), len(set(first.spans)),
                       len(set(second.spans)))  # fmt: skip
            rows.append((blocks[left], raters[left], raters[right], token, span))
    return pd.DataFrame(rows, columns=["block", "first", "second", "token", "span"])


def _f1(both: int, first: int, second: int) -> float:
    return 2 * both / (first + second) if first + second else np.nan


def _column(pairs: pd.DataFrame, name: str) -> pd.DataFrame:
    column = pairs[["block", "first", "second", name]].rename(columns={name: "value"})
    return column[column.value.notna()]


def average_marks(
    name: str, rows: pd.DataFrame, n: dict[str, int], gap: Reason, seed: int
) -> Figure:
    """Return the mean of `value` over rows, or its sum by that of `total` where rows have one, with
    a bootstrap over their blocks and raters: one rater of each row (`first`), or two. `gap`: why
    there are no rows, if there are none."""
    method = METHODS[name]
    if rows.empty:
        return undefined(name, gap, method=method, n=n)
    sides = [side for side in ("first", "second") if side in rows]
    rows = rows.sort_values(["block", *sides, "value"])
    value, block = rows.value.to_numpy(dtype=float), rows.block.to_numpy()
    total = rows["total"].to_numpy(dtype=float) if "total" in rows else np.ones(len(rows))
    raters = [rows[side].to_numpy() for side in sides]
    mean = float(value.mean()) if "total" not in rows else float(value.sum() / total.sum())
    if len(np.unique(block)) < 2 or len(np.unique(np.concatenate(raters))) < 2:
        details = {"interval": "needs_two_raters_and_blocks"}
        return Figure(name=name, method=method, value=mean, n=n, details=details, seed=seed)
    drawn = []
    levels = max(int(of.max()) for of in raters) + 1
    batch = max(1, _CELLS // len(rows))
    for by_rater, by_block in two_way_weights(levels, int(block.max()) + 1, draws=DRAWS, seed=seed):
        for start in range(0, len(by_block), batch):
            part = slice(start, start + batch)
            weight = by_block[part][:, block]
            for of in raters:
                weight = weight * by_rater[part][:, of]
            number = weight @ total
            sums = weight @ value / np.where(number > 0, number, 1)
            drawn.append(np.where(number > 0, sums, np.nan))
    spread = describe_draws(np.concatenate(drawn), mean)
    details = spread.details
    if spread.low is not None:
        details |= {"interval": METHOD, "over": BOTH}
    return Figure(name=name, method=method, value=mean, low=spread.low, high=spread.high, n=n,
                  details=details, seed=seed)  # fmt: skip


def _alpha_over_tokens(kept: list[MarkedOutput], marks: list[Marked], n: dict[str, int]) -> Figure:
    """Return nominal alpha of "marked or not" over tokens."""
    name = "token_alpha"
    if not kept:
        return undefined(name, Reason.NO_DATA, method="alpha_nominal", n=n)
    outputs = {output: place for place, output in enumerate(sorted({each.output for each in kept}))}
    raters = {rater: place for place, rater in enumerate(sorted({each.rater for each in kept}))}
    blocks = sorted({view.block or view.output for view in kept})
    number = {block: place for place, block in enumerate(blocks)}
    longest = max(len(mark) for mark in marks)
    lengths = [len(mark) for mark in marks]
    unit = np.concatenate([outputs[view.output] * longest + np.arange(length)
                           for view, length in zip(kept, lengths, strict=True)])  # fmt: skip
    rater = np.repeat([raters[view.rater] for view in kept], lengths)
    block = np.repeat([number[view.block or view.output] for view in kept], lengths)
    value = np.concatenate(marks).astype(float)
    ratings = Ratings(unit=unit, rater=rater, value=value, block=block)
    figure = alpha(ratings, "nominal", name=name)
    return replace(figure, details={**figure.details, "unit": "word"})
