"""How often decisions, magnitudes and preferences are told apart where no system is better.

Part of `python -m tests.analysis.rates`; `--kinds` prints these alone.
"""

import numpy as np

from evalsite.analysis.bootstrap import two_way_means
from evalsite.analysis.crossed import crossed_test
from evalsite.analysis.pairs import compare_pairs, read_preferences

RATERS, ITEMS = 6, 30
_TIE = 0.6  # latent differences smaller than this are ties
_PAIRS = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


def draw_latent(rng, world, systems):
    """What raters feel of outputs (raters, items, systems), no system better than another."""
    shape = (RATERS, ITEMS, systems)
    return (
        rng.normal(0, world.rater, RATERS)[:, None, None]
        + rng.normal(0, world.item, ITEMS)[None, :, None]
        + rng.normal(0, world.rater_system, (RATERS, 1, systems))
        + rng.normal(0, world.item_system, (1, ITEMS, systems))
        + rng.normal(0, world.residual, shape)
    )


def decide(latent):
    """Accepted where more is felt than nothing: 1, else 0."""
    return (latent > 0).astype(float)


def write_magnitudes(latent):
    """The logarithms of scores around 80, to the nearest multiple of 5, as raters write them."""
    return np.log(np.maximum(5 * np.rint(80 * np.exp(latent / 2) / 5), 5))


def prefer(latent, i, j):
    """1 where system i is preferred on an item, 0 a tie, -1 system j: (raters, items)."""
    apart = latent[:, :, i] - latent[:, :, j]
    return np.where(np.abs(apart) < _TIE, 0.0, np.sign(apart))


KINDS = {
    "decisions": lambda latent: decide(latent)[:, :, 0] - decide(latent)[:, :, 1],
    "magnitudes": lambda latent: np.subtract(*write_magnitudes(latent).transpose(2, 0, 1)),
    "preferences": lambda latent: prefer(latent, 0, 1),
}


def count_alarms(*, draws, world):
    """Of each kind: studies with p below 5%, and those whose test and bootstrap hold 0."""
    rng = np.random.default_rng(2026)
    rater, item = (one.ravel() for one in np.indices((RATERS, ITEMS)))
    zero = np.zeros(len(rater), dtype=np.int64)
    counts = {name: np.zeros(3, dtype=int) for name in KINDS}
    for _ in range(draws):
        latent = draw_latent(rng, world, 2)
        for name, read in KINDS.items():
            apart = read(latent)
            found = crossed_test(apart)
            _, drawn = two_way_means(rater, item, zero, apart.ravel(), draws=1000)
            low, high = np.quantile(drawn[:, 0], [0.025, 0.975])
            p, has_interval = found.details.get("p", 1.0), found.low is not None
            holds = has_interval and found.low <= 0 <= found.high
            counts[name] += [p < 0.05, holds, low <= 0 <= high]
    return counts


def count_false_ranks(*, draws, world):
    """Of four equal systems, all six pairs compared: studies in which some corrected p is below
    5%, and those in which some rank range leaves out a rank."""
    rng = np.random.default_rng(2027)
    rater, item = (one.ravel() for one in np.indices((RATERS, ITEMS)))
    false = np.zeros(2, dtype=int)
    for _ in range(draws):
        latent = draw_latent(rng, world, 4)
        left = np.repeat([f"s{i}" for i, _ in _PAIRS], len(rater))
        right = np.repeat([f"s{j}" for _, j in _PAIRS], len(rater))
        data = read_preferences(
            rater=np.tile(rater, len(_PAIRS)),
            item=np.tile(item, len(_PAIRS)),
            left=left,
            right=right,
            outcome=np.concatenate([prefer(latent, i, j).ravel() for i, j in _PAIRS]).astype(int),
            is_position_known=False,
        )
        found = compare_pairs(data, draws=500)
        ranges = found.model.rank_ranges.values()
        false += [
            any((pair.p_corrected or 1.0) < 0.05 for pair in found.pairs),
            any(rank != (1, 4) for rank in ranges),
        ]
    return false
