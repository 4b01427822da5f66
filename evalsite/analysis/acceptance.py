"""Decisions to accept or ignore outputs: majorities, and how decisions and scores agree."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.intervals import mean_with_t
from evalsite.analysis.ratings import Floats, canonical_order
from evalsite.analysis.resample import DRAWS, SEED, spread


def find_majority(*, unit: ArrayLike, value: ArrayLike) -> pd.DataFrame:
    """Return by unit the `yes` and `no` counts and the `majority`: 1, 0 or, in a tie, missing.

    Arrays of length n of ids and of 0 or 1.
    """
    rows = pd.DataFrame({"unit": np.asarray(unit), "value": np.asarray(value, dtype=float)})
    by = rows.dropna().groupby("unit").value.agg(["sum", "count"])
    yes, no = by["sum"].astype(int), (by["count"] - by["sum"]).astype(int)
    decided = (yes > no).astype(float).where(yes != no)
    return pd.DataFrame({"yes": yes, "no": no, "majority": decided})


@dataclass(frozen=True, kw_only=True)
class Consistency:
    """One criterion compared with the decision: `figures` has mean_accepted, mean_rejected and
    auc."""

    criterion: str
    figures: dict[str, Figure]


def compare_with_scores(
    *, accepted: ArrayLike, scores: pd.DataFrame, block: ArrayLike | None = None,
    lower: Collection[str] = (), seed: int = SEED,
) -> list[Consistency]:  # fmt: skip
    """Return for each column of `scores` its mean among accepted and rejected outputs, and the AUC.

    `accepted` (n,): 0 or 1; `scores`: n rows, one for each annotated output, criteria as columns;
    `block`: the unit of resampling for the interval of the AUC. `lower`: criteria whose lower
    scores are better. Undefined: no_data (none accepted, or none rejected).
    """
    yes = np.asarray(accepted, dtype=float)
    blocks = np.arange(len(yes)) if block is None else np.asarray(block)
    compared = []
    for name in scores.columns:
        scored = scores[name].to_numpy(dtype=float)
        keep = ~np.isnan(scored) & ~np.isnan(yes)
        figures = {}
        for label, side in (("mean_accepted", 1), ("mean_rejected", 0)):
            values = np.sort(scored[keep & (yes == side)])
            n = {"ratings": len(values)}
            figures[label] = (
                mean_with_t(label, values, method="mean", n=n) if len(values)
                else undefined(label, Reason.NO_DATA, method="mean", n=n)
            )  # fmt: skip
        figures["auc"] = find_auc(accepted=yes[keep], score=scored[keep], block=blocks[keep],
                                  is_lower_better=name in lower, seed=seed)  # fmt: skip
        compared.append(Consistency(criterion=str(name), figures=figures))
    return compared


def find_auc(
    *, accepted: ArrayLike, score: ArrayLike, block: ArrayLike | None = None,
    is_lower_better: bool = False, seed: int = SEED,
) -> Figure:  # fmt: skip
    """Return the chance that an accepted output scores better than a rejected one, ties as half.

    Arrays of length n without gaps. Interval: bootstrap over blocks. Undefined: no_data (one of
    the two sides is empty).
    """
    method = "auc_lower" if is_lower_better else "auc_higher"
    yes, scores = np.asarray(accepted, dtype=float), np.asarray(score, dtype=float)
    scores = -scores if is_lower_better else scores
    n = {"accepted": int((yes == 1).sum()), "rejected": int((yes == 0).sum())}
    if not n["accepted"] or not n["rejected"]:
        return undefined("auc", Reason.NO_DATA, method=method, n=n)
    points, place = np.unique(scores, return_inverse=True)
    blocks = np.arange(len(scores)) if block is None else np.asarray(block)
    codes = np.unique(blocks.astype(str), return_inverse=True)[1].astype(np.intp)
    content = (place * 2 + yes).astype(float)
    codes = canonical_order([codes], content)[0][codes]
    cells = np.zeros((int(codes.max()) + 1, 2 * len(points)))
    np.add.at(cells, (codes, place + len(points) * yes.astype(np.intp)), 1)

    def find(weights: Floats) -> Floats:
        drawn = weights @ cells
        no, up = drawn[:, : len(points)], drawn[:, len(points) :]
        below = np.cumsum(no, axis=1) - no / 2
        pairs = no.sum(axis=1) * up.sum(axis=1)
        return np.where(pairs > 0, (up * below).sum(axis=1) / np.maximum(pairs, 1), np.nan)

    interval = spread(find, len(cells), draws=DRAWS, seed=seed, width=2 * len(points))
    value = float(find(np.ones((1, len(cells))))[0])
    return Figure(name="auc", method=method, value=value, low=interval.low, high=interval.high, n=n,
                  details=interval.details, seed=seed)  # fmt: skip


def find_contradictions(
    *, accepted: ArrayLike, scores: pd.DataFrame, good: float, bad: float
) -> pd.DataFrame:
    """Return the rows that were rejected although every score is `good` or better, or accepted
    although a score is `bad` or worse: `scores` with a column `why` ("rejected", "accepted")."""
    yes = np.asarray(accepted, dtype=float)
    rejected = (yes == 0) & (scores >= good).all(axis=1).to_numpy()
    taken = (yes == 1) & (scores <= bad).any(axis=1).to_numpy()
    why = np.select([rejected, taken], ["rejected", "accepted"], "")
    return scores.assign(why=why)[why != ""]
