"""Sign flips of item differences: a test that generalises over items, not over raters."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalsite.analysis.effects import rounded
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.resample import SEED

Floats = NDArray[np.float64]

METHOD = "sign-flip permutation of item differences (generalises over items, not raters)"
EXACT_ITEMS = 20
RANDOM_FLIPS = 10_000
_COMMON_STEP = 60  # means of 1 to 6 whole ratings are multiples of 1/60
_MOST_STEPS = 2_000_000


def sign_flip_test(
    differences: Any, *, name: str = "difference", seed: int = SEED, flips: int = RANDOM_FLIPS
) -> Figure:
    """The mean item difference with the two-sided p value under exchange of the two systems.

    `differences`: (items,), second system minus first. Exact to 20 items by all flips, beyond that
    by counting where the differences are multiples of 1/60, else from random flips (p counts the
    data themselves as one flip). All differences 0: p = 1.
    """
    d = rounded(differences)
    n = {"items": len(d)}
    if not len(d):
        return undefined(name, Reason.NO_DATA, method=METHOD, n=n)
    p, how, used = _p_value(d, seed, flips)
    details: dict[str, Any] = {"p": p, "how": how, "interval": "none: a test"}
    if not d.any():
        details["note"] = str(Reason.NO_DIFFERENCE)
    return Figure(name=name, method=METHOD, value=float(d.mean()), n=n, seed=used, details=details)


def _p_value(d: Floats, seed: int, flips: int) -> tuple[float, str, int | None]:
    d = d[d != 0]  # a difference of 0 is the same either way
    if not len(d):
        return 1.0, "all differences are 0", None
    if len(d) <= EXACT_ITEMS:
        return flip_all(d), "exact, all flips", None
    steps = np.round(d * _COMMON_STEP)
    small = np.abs(steps).sum() * len(d) < _MOST_STEPS * 10
    if small and np.allclose(steps, d * _COMMON_STEP, atol=1e-6):
        return flip_by_counting(steps.astype(np.int64)), "exact, by counting", None
    rng = np.random.default_rng(seed)
    d = np.sort(d)  # the order of items is no part of the answer
    observed, hits, done = abs(d.sum()), 0, 0
    while done < flips:
        rows = min(1000, flips - done)
        bits = np.unpackbits(rng.integers(0, 256, (rows, len(d) // 8 + 1), np.uint8), axis=1)
        sums = 2 * (bits[:, : len(d)].astype(np.float64) @ d) - d.sum()
        hits += int((np.abs(sums) >= observed - 1e-9 * len(d)).sum())
        done += rows
    return (hits + 1) / (flips + 1), f"{flips} random flips", seed


def flip_all(d: Floats) -> float:
    """The exact p value over all 2**n flips of at most 20 differences."""
    sums = np.zeros(1)
    for one in np.sort(d):
        sums = np.concatenate([sums + one, sums - one])
    return float((np.abs(sums) >= abs(d.sum()) - 1e-9 * len(d)).mean())


def flip_by_counting(steps: NDArray[np.int64]) -> float:
    """The exact p value for whole-numbered differences: the chance of each sum, one by one."""
    size = np.sort(np.abs(steps))
    chance = np.ones(1)
    for one in size:
        wider = np.zeros(len(chance) + 2 * one)
        wider[: len(chance)] += chance / 2
        wider[2 * one :] += chance / 2
        chance = wider
    sums = np.arange(len(chance)) - size.sum()
    return float(min(1.0, chance[np.abs(sums) >= abs(steps.sum())].sum()))
