"""How often the default comparison cries wolf, and how often its intervals hold.

Not in the suite (some minutes): `python -m tests.analysis.rates [--draws 500]` prints the
rates of simulated studies in which two systems do not differ (false alarms at 5%), and in which
they do (whether the interval holds the true difference). Then, with four systems, how often any
claim of a family is false, and how often a better system is found: every pair, or a baseline.
Last the same of decisions, magnitudes and preferences (`--kinds`: these alone).
"""

import argparse
import sys
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from evalsite.analysis.binary_tests import wilson_share
from evalsite.analysis.bootstrap import two_way_means
from evalsite.analysis.crossed import crossed_test
from evalsite.analysis.intervals import t_figure
from evalsite.analysis.multiple_testing import correct
from evalsite.analysis.reml import fit_reml, usable_terms
from tests.analysis.rates_of_kinds import count_alarms, count_false_ranks


@dataclass(frozen=True)
class World:
    """What ratings are made of: standard deviations on a scale of seven points."""

    rater: float = 0.7
    item: float = 0.5
    item_system: float = 0.4
    rater_system: float = 0.2
    residual: float = 0.9


def draw_study(rng, world, *, raters, items, difference, per_output=None):
    """Ratings (rater, item, system, value) of two systems, rounded to 1..7."""
    taste = rng.normal(0, world.rater_system, (raters, 2))
    output = rng.normal(0, world.item_system, (items, 2))
    value = (
        4
        + rng.normal(0, world.rater, raters)[:, None, None]
        + rng.normal(0, world.item, items)[None, :, None]
        + taste[:, None, :]
        + output[None, :, :]
        + rng.normal(0, world.residual, (raters, items, 2))
        + np.array([-difference / 2, difference / 2])
    )
    value = np.clip(np.rint(value), 1, 7)
    shown = np.ones((raters, items, 2), dtype=bool)
    if per_output is not None:
        order = rng.random((raters, items, 2)).argsort(axis=0).argsort(axis=0)
        shown = order < per_output
    rater, item, system = np.nonzero(shown)
    return rater, item, system, value[shown]


def compare_by_default(rater, item, system, value):
    """The figure that the product reports: crossed where complete, else the mixed model."""
    raters, items = rater.max() + 1, item.max() + 1
    if len(value) == raters * items * 2:
        table = np.empty((raters, items, 2))
        table[rater, item, system] = value
        return crossed_test(table[:, :, 1] - table[:, :, 0])
    terms, _ = usable_terms(
        {
            "rater": rater,
            "group": item,
            "group:system": item * 2 + system,
            "rater:system": rater * 2 + system,
            "rater:group": rater * items + item,
        },
        len(value),
    )
    fit = fit_reml(value, terms, system=system)
    estimate, se, df = fit.contrast([-1, 1])
    return t_figure("difference", estimate=estimate, se=se, df=df, method="REML", n={})


def compare_by_bootstrap(rater, item, system, value):
    """The percentile interval of the two-way bootstrap."""
    _, drawn = two_way_means(rater, item, system, value, draws=1000)
    return np.quantile(drawn[:, 1] - drawn[:, 0], [0.025, 0.975])


def measure(*, draws, world, difference, truth, **design):
    """Shares of studies: significant at 5%; holding the truth, by the test and the bootstrap."""
    rng = np.random.default_rng(2024)
    alarms = held = boot = 0
    for _ in range(draws):
        study = draw_study(rng, world, difference=difference, **design)
        found = compare_by_default(*study)
        alarms += found.details["p"] < 0.05
        held += found.low <= truth <= found.high
        low, high = compare_by_bootstrap(*study)
        boot += low <= truth <= high
    return alarms, held, boot


def draw_four(rng, world, *, raters, items, better):
    """Complete ratings (rater, item, system) of four systems, of which the last may be better."""
    shape = (raters, items, 4)
    value = (
        4
        + rng.normal(0, world.rater, raters)[:, None, None]
        + rng.normal(0, world.item, items)[None, :, None]
        + rng.normal(0, world.rater_system, (raters, 1, 4))
        + rng.normal(0, world.item_system, (1, items, 4))
        + rng.normal(0, world.residual, shape)
        + np.array([0, 0, 0, better])
    )
    return np.clip(np.rint(value), 1, 7)


def count_claims(*, draws, better, raters=6, items=30):
    """Of each family (every pair, the first as baseline): studies with a false claim, and those in
    which the last system is found above the first."""
    rng = np.random.default_rng(2025)
    pairs = list(combinations(range(4), 2))
    families = {"every pair": pairs, "a baseline": pairs[:3]}
    counts = {name: np.zeros(2, dtype=int) for name in families}
    for _ in range(draws):
        table = draw_four(rng, World(), raters=raters, items=items, better=better)
        p = {(i, j): crossed_test(table[:, :, j] - table[:, :, i]).details["p"] for i, j in pairs}
        for name, family in families.items():
            claimed = correct([p[pair] for pair in family]) < 0.05
            false = [
                one
                for pair, one in zip(family, claimed, strict=True)
                if not better or 3 not in pair
            ]
            counts[name] += [any(false), claimed[family.index((0, 3))]]
    return counts


def shown_difference(world, difference):
    """What a latent difference is after rounding to the scale, from a very large study."""
    rng = np.random.default_rng(1)
    _, _, system, value = draw_study(rng, world, raters=1000, items=1000, difference=difference)
    return value[system == 1].mean() - value[system == 0].mean()


def tell(label, hits, draws):
    one = wilson_share(hits, draws)
    sys.stdout.write(f"{label:76s} {one.value:.3f}  ({one.low:.3f} to {one.high:.3f})\n")


DESIGNS = [
    ("6 raters x 30 items", World(), {"raters": 6, "items": 30}),
    ("6 x 30, no rater:system variance", World(rater_system=0), {"raters": 6, "items": 30}),
    ("20 x 30", World(), {"raters": 20, "items": 30}),
    ("3 x 100", World(), {"raters": 3, "items": 100}),
    ("8 raters x 30 items, 3 a output (mixed model)", World(),
     {"raters": 8, "items": 30, "per_output": 3}),
    ("12 x 40, 1 a output (mixed model)", World(),
     {"raters": 12, "items": 40, "per_output": 1}),
]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--kinds", action="store_true")
    options = parser.parse_args()
    if not options.kinds:
        tell_of_points(options)
    tell_of_kinds(options)


def tell_of_kinds(options):
    for name, (alarms, held, boot) in count_alarms(draws=options.draws, world=World()).items():
        tell(f"{name}, 6 raters x 30 items: false alarms", alarms, options.draws)
        tell(f"{name}: interval of the test holds 0", held, options.draws)
        tell(f"{name}: bootstrap interval holds 0", boot, options.draws)
    claims, ranks = count_false_ranks(draws=options.draws, world=World())
    tell("preferences, four systems, 6 x 30: any false claim", claims, options.draws)
    tell("preferences, four systems, 6 x 30: any false rank", ranks, options.draws)


def tell_of_points(options):
    for label, world, design in DESIGNS:
        alarms, held, boot = measure(
            draws=options.draws, world=world, difference=0.0, truth=0.0, **design
        )
        tell(f"{label}: false alarms", alarms, options.draws)
        tell(f"{label}: interval of the test holds 0", held, options.draws)
        tell(f"{label}: bootstrap interval holds 0", boot, options.draws)
    truth = shown_difference(World(), 0.5)
    for label, world, design in DESIGNS[:1] + DESIGNS[4:5]:
        alarms, held, boot = measure(
            draws=options.draws, world=world, difference=0.5, truth=truth, **design
        )
        tell(f"{label}: true difference {truth:.3f} found", alarms, options.draws)
        tell(f"{label}: interval of the test holds it", held, options.draws)
        tell(f"{label}: bootstrap interval holds it", boot, options.draws)
    for better in (0.0, 0.5):
        for name, (false, found) in count_claims(draws=options.draws, better=better).items():
            label = f"four systems, 6 x 30, {name}, the last {better} better"
            tell(f"{label}: any false claim", false, options.draws)
            if better:
                tell(f"{label}: it is found", found, options.draws)


if __name__ == "__main__":
    main()
