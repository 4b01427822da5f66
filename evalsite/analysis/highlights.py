"""Marked passages: how much is marked, and whether raters mark the same words.

A passage is a span of code points; a token is a word or a sign of the text, marked if any part of
it is. Krippendorff's unitised alpha and gamma are not offered; nominal alpha over tokens is.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalsite.analysis.agreement_interval import BOTH
from evalsite.analysis.alpha import alpha
from evalsite.analysis.bootstrap import METHOD, two_way_weights
from evalsite.analysis.canonical_order import canonical_order, factor_codes
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.resample import DRAWS, SEED, describe_draws

Marked = NDArray[np.bool_]
Span = tuple[int, int]
_TOKEN = re.compile(r"\w+|[^\w\s]")
_MOST_PAIRS = 200  # pairs of raters of one output


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One output as one rater marked it; no spans: nothing was marked."""

    output: str
    rater: str
    spans: tuple[Span, ...] = ()
    block: str = ""  # what is drawn as a whole: the group or cluster; default the output


def split_tokens(text: str) -> list[Span]:
    """Words and signs of a text as spans of code points."""
    return [one.span() for one in _TOKEN.finditer(text)]


def mark_tokens(tokens: list[Span], spans: Iterable[Span]) -> Marked:
    """Which tokens a passage touches."""
    found = np.zeros(len(tokens), dtype=bool)
    if not tokens:
        return found
    starts, ends = np.array(tokens).T
    for start, end in spans:
        found |= (starts < end) & (ends > start)
    return found


def compare_highlights(
    seen: Iterable[Seen], texts: Mapping[str, str], *, draws: int = DRAWS, seed: int = SEED
) -> list[Figure]:
    """Share of tokens marked, token F1 and exact-span F1 of pairs of raters, alpha over tokens.

    `texts`: of each output, as it was uploaded; outputs without a text are left out and counted.
    F1 of a pair is 2 x both / (one + other); pairs in which neither marked anything are left out
    of `token_f1` and `span_f1` and count as 1 in `token_f1_with_empty`. Intervals: bootstrap over
    blocks and raters; a rater who is drawn twice isn't compared with themselves. Undefined:
    no_data, no_overlap, no_variation (alpha: nothing or all is marked).
    """
    everything = sorted(seen, key=lambda one: (one.output, one.rater))
    kept = [one for one in everything if texts.get(one.output, "").strip()]
    tokens = {one.output: split_tokens(texts[one.output]) for one in kept}
    marks = [mark_tokens(tokens[one.output], one.spans) for one in kept]
    n = {"outputs": len(tokens), "outputs and raters": len(kept),
         "without_text": len(everything) - len(kept)}  # fmt: skip
    shares = pd.DataFrame(
        {"block": [one.block or one.output for one in kept],
         "rater": [marked.rater for marked in kept],
         "value": [float(one.mean()) for one in marks]}
    )  # fmt: skip
    codes = [factor_codes(shares.block), factor_codes(shares.rater)]
    orders = canonical_order(codes, shares.value.to_numpy())
    shares["block"], shares["first"] = (order[of] for order, of in zip(orders, codes, strict=True))
    pairs = _pair_up(kept, marks, shares)
    decided = pairs[pairs.token.notna()] if len(pairs) else pairs
    phrases: dict[str, Any] = {"draws": draws, "seed": seed}
    of_pairs, of_decided = (
        {"outputs": n["outputs"], "pairs of raters": len(some), "without_text": n["without_text"]}
        for some in (pairs, decided)
    )
    return [
        _mean("highlighted_share", "share of tokens marked, mean over outputs and raters",
              shares, n, **phrases),
        _mean("token_f1", "F1 of marked tokens, mean over pairs of raters",
              _column(decided, "token"), of_decided, gap=_find_gap(kept, pairs), **phrases),
        _mean("span_f1", "F1 of passages marked exactly alike, mean over pairs of raters",
              _column(decided, "span"), of_decided, gap=_find_gap(kept, pairs), **phrases),
        _mean("token_f1_with_empty", "F1 of marked tokens, 1 where neither marked any",
              _column(pairs.fillna(1.0), "token"), of_pairs, gap=_find_gap(kept, pairs), **phrases),
        _alpha_over_tokens(kept, marks, n),
    ]  # fmt: skip


def _find_gap(kept: list[Seen], pairs: pd.DataFrame) -> Reason:
    """Why there is no mean over pairs, should there be none."""
    if not kept:
        return Reason.NO_DATA
    return Reason.NO_VARIATION if len(pairs) else Reason.NO_OVERLAP


def _pair_up(kept: list[Seen], marks: list[Marked], shares: pd.DataFrame) -> pd.DataFrame:
    """Return for each pair of raters of an output: block, the two, and F1 of tokens and of spans
    (or missing)."""
    blocks, raters = shares.block.tolist(), shares["first"].tolist()
    by_output: dict[str, list[int]] = {}
    for place, each in enumerate(kept):
        by_output.setdefault(each.output, []).append(place)
    rows: list[tuple[int, int, int, float, float]] = []
    for places in by_output.values():
        for one, two in list(combinations(places, 2))[:_MOST_PAIRS]:
            first, second = kept[one], kept[two]
            token = _f1(int((marks[one] & marks[two]).sum()), int(marks[one].sum()),
                        int(marks[two].sum()))  # fmt: skip
            span = _f1(len(set(first.spans) & set(second.spans)), len(set(first.spans)),
                       len(set(second.spans)))  # fmt: skip
            rows.append((blocks[one], raters[one], raters[two], token, span))
    return pd.DataFrame(rows, columns=["block", "first", "second", "token", "span"])


def _f1(both: int, one: int, other: int) -> float:
    return 2 * both / (one + other) if one + other else np.nan


def _column(pairs: pd.DataFrame, name: str) -> pd.DataFrame:
    column = pairs[["block", "first", "second", name]].rename(columns={name: "value"})
    return column[column.value.notna()]


def _mean(
    name: str, method: str, rows: pd.DataFrame, n: dict[str, int], *, draws: int, seed: int,
    gap: Reason = Reason.NO_DATA,
) -> Figure:  # fmt: skip
    """Return the mean of `value` over rows, with a bootstrap over their blocks and raters: one
    rater of each row (`first`), or two."""
    if rows.empty:
        return undefined(name, gap, method=method, n=n)
    sides = [side for side in ("first", "second") if side in rows]
    rows = rows.sort_values(["block", *sides, "value"])
    value, block = rows.value.to_numpy(dtype=float), rows.block.to_numpy()
    raters = [rows[side].to_numpy() for side in sides]
    mean = float(value.mean())
    if len(np.unique(block)) < 2 or len(np.unique(np.concatenate(raters))) < 2:
        details = {"interval": "none: needs two raters and two blocks or more"}
        return Figure(name=name, method=method, value=mean, n=n, details=details, seed=seed)
    drawn = []
    levels = max(int(of.max()) for of in raters) + 1
    for by_rater, by_block in two_way_weights(levels, int(block.max()) + 1, draws=draws, seed=seed):
        weight = by_block[:, block]
        for of in raters:
            weight = weight * by_rater[:, of]
        total = weight.sum(axis=1)
        drawn.append(np.where(total > 0, weight @ value / np.where(total > 0, total, 1), np.nan))
    spread = describe_draws(np.concatenate(drawn))
    details = spread.details
    if spread.low is not None:
        details |= {"interval": f"{METHOD}, percentile", "over": BOTH}
    return Figure(name=name, method=method, value=mean, low=spread.low, high=spread.high, n=n,
                  details=details, seed=seed)  # fmt: skip


def _alpha_over_tokens(kept: list[Seen], marks: list[Marked], n: dict[str, int]) -> Figure:
    """Nominal alpha of "marked or not" over tokens."""
    name = "token_alpha"
    if not kept:
        return undefined(name, Reason.NO_DATA, method="Krippendorff's alpha, nominal", n=n)
    outputs = {one: place for place, one in enumerate(sorted({each.output for each in kept}))}
    raters = {one: place for place, one in enumerate(sorted({each.rater for each in kept}))}
    blocks = sorted({one.block or one.output for one in kept})
    number = {one: place for place, one in enumerate(blocks)}
    longest = max(len(one) for one in marks)
    lengths = [len(one) for one in marks]
    unit = np.concatenate([outputs[one.output] * longest + np.arange(length)
                           for one, length in zip(kept, lengths, strict=True)])  # fmt: skip
    rater = np.repeat([raters[one.rater] for one in kept], lengths)
    block = np.repeat([number[one.block or one.output] for one in kept], lengths)
    value = np.concatenate(marks).astype(float)
    found = alpha(unit=unit, rater=rater, value=value, level="nominal", input=block,
                  name=name)  # fmt: skip
    return replace(found, details={**found.details, "unit": "word"})
