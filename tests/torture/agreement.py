"""`python -m tests.torture.agreement`: how often intervals of agreement hold the true value.

Studies are simulated design by design. The true value is that of very many units, each rated by two
people who rate nothing else but one unit of another input. Each rate is printed with its binomial
interval (99%), and the command fails where that lies wholly outside the limits of its cell. Cells
with a lower limit of their own are known to be weak: docs/results.md names them.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

# each process has a thread: those of the matrix library would only wait for one another
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from scipy.special import ndtri

from evalsite.analysis.effects import wilson_share
from evalsite.analysis.ratings import Ratings
from tests.analysis.compared import describe_agreement
from tests.torture.statistics import run_designs

SEED = 2026
UNITS = 300_000  # that stand for all
SURE = 0.99
LEAST = 0.93  # of studies whose interval holds the true value, unless a cell is known to be weak
CATEGORIES = 4
# how far inputs, outputs of an input, and ratings lie apart
INPUT, OUTPUT, NOISE = 0.6, 0.5, 0.9
FIGURES = {
    "alpha_ordinal": "α ordinal", "alpha_nominal": "α nominal", "alpha_interval": "α interval",
    "ac1": "AC1", "ac2": "AC2", "agreement": "percent", "ICC(C,1)": "ICC(C,1)",
}  # fmt: skip
SHOWN = {
    "points": ("alpha_ordinal", "alpha_nominal", "ac1", "ac2", "agreement", "ICC(C,1)"),
    "decision": ("alpha_nominal", "ac1", "agreement"),
    "values": ("alpha_interval", "ICC(C,1)"),
    "categories": ("alpha_nominal", "ac1", "agreement"),
}


@dataclass(frozen=True)
class Design:
    """Who rates what, and how far apart answers lie by what they are made of.

    `of_each`: raters of an input; 0: all. `by_rank`: raters' loads are as 1/rank. `strict`, `taste`
    and `of_input` are standard deviations of raters, rater:system and rater:input; `unlike` that of
    the logarithm of raters' noise. `top`: the share of the top point, or of "yes". `weak`: lower
    limits of cells that are known to be weak.
    """

    name: str
    raters: int
    inputs: int
    systems: int = 2
    of_each: int = 0
    by_rank: bool = False
    strict: float = 0.7
    taste: float = 0.3
    of_input: float = 0.0
    unlike: float = 0.0
    kind: str = "points"
    points: int = 5
    top: float | None = None
    weak: Mapping[str, float] = field(default_factory=dict)

    @property
    def spread(self) -> float:
        parts = (self.strict, INPUT, OUTPUT, self.taste, self.of_input, NOISE)
        return float(np.sqrt(sum(part**2 for part in parts)))

    @property
    def scale(self):
        return {"points": list(range(1, self.points + 1)), "decision": [0, 1]}.get(self.kind)

    def draw(self, rng, sd, *shape):
        """Effects of levels; of categories one for each."""
        more = (CATEGORIES,) if self.kind == "categories" else ()
        return sd * rng.normal(0, 1, (*shape, *more))

    def draw_widths(self, rng, *shape):
        """How far the ratings of each rater lie apart from noise alone."""
        widths = NOISE * np.exp(self.unlike * rng.normal(0, 1, shape))
        return widths[..., None] if self.kind == "categories" else widths

    def answer(self, latent):
        """What people enter, for scores whose mean is 0."""
        if self.kind == "categories":
            return latent.argmax(axis=-1).astype(float)
        if self.kind == "decision":
            return (latent > -self.spread * ndtri(self.top)).astype(float)
        if self.kind == "values":
            return np.clip(np.round(50 + 15 * latent, 1), 0, 100)
        middle = (self.points + 1) / 2
        if self.top is not None:
            middle = self.points - 0.5 + self.spread * ndtri(self.top)
        return np.clip(np.rint(middle + latent), 1, self.points)


def draw_study(design, rng):
    """Codes of raters, inputs and systems, and the answers."""
    shape = (design.raters, design.inputs, design.systems)
    r, i, s = np.indices(shape).reshape(3, -1)
    if design.of_each:
        # those with the largest keys rate an input: at random, or in proportion to 1/rank
        weight = 1 / np.arange(1, design.raters + 1) if design.by_rank else np.ones(design.raters)
        keys = np.log(weight)[:, None] + rng.gumbel(size=shape[:2])
        keep = (-keys).argsort(axis=0).argsort(axis=0)[r, i] < design.of_each
        r, i, s = r[keep], i[keep], s[keep]
    latent = (
        design.draw(rng, design.strict, design.raters)[r]
        + design.draw(rng, INPUT, design.inputs)[i]
        + design.draw(rng, OUTPUT, design.inputs, design.systems)[i, s]
        + design.draw(rng, design.taste, design.raters, design.systems)[r, s]
        + design.draw(rng, design.of_input, design.raters, design.inputs)[r, i]
        + design.draw(rng, 1, len(r)) * design.draw_widths(rng, design.raters)[r]
    )
    return r, i, s, design.answer(latent)


def draw_pairs(design, rng):
    """Answers of two new people to each unit, and of the first to a unit of another input."""
    unit, other = (
        design.draw(rng, INPUT, UNITS) + design.draw(rng, OUTPUT, UNITS) for _ in range(2)
    )
    system, other_system = rng.integers(0, design.systems, (2, UNITS))
    strict = design.draw(rng, design.strict, 2, UNITS)
    taste = design.draw(rng, design.taste, 2, UNITS, design.systems)
    of_input = design.draw(rng, design.of_input, 3, UNITS)
    widths, noise = design.draw_widths(rng, 2, UNITS), design.draw(rng, 1, 3, UNITS)
    each = np.arange(UNITS)
    first = unit + strict[0] + taste[0, each, system] + of_input[0] + widths[0] * noise[0]
    second = unit + strict[1] + taste[1, each, system] + of_input[1] + widths[1] * noise[1]
    third = other + strict[0] + taste[0, each, other_system] + of_input[2] + widths[0] * noise[2]
    return [design.answer(latent) for latent in (first, second, third)]


def find_truth(design):
    """The coefficients by their definitions, of very many units and raters."""
    first, second, third = draw_pairs(design, np.random.default_rng(SEED))
    if design.kind == "values":
        apart = 2 * np.concatenate([first, second]).var()
        within, by_rater = ((first - of).__pow__(2).mean() for of in (second, third))
        return {"alpha_interval": 1 - within / apart, "ICC(C,1)": (apart - within) / by_rater}
    points = np.unique(np.concatenate([first, second, third, design.scale or []]))
    k = len(points)

    def tabulate(left, right):
        table = np.zeros((k, k))
        np.add.at(table, (np.searchsorted(points, left), np.searchsorted(points, right)), 1)
        return (table + table.T) / table.sum() / 2

    table, by_rater = tabulate(first, second), tabulate(first, third)
    share = table.sum(axis=0)
    chance = np.outer(share, share)
    ranks = share.cumsum() - share / 2
    square = np.subtract.outer(points, points) ** 2

    def alpha(distance):
        return float(1 - (table * distance).sum() / (chance * distance).sum())

    def gwet(weights):
        expected = weights.sum() / (k * (k - 1)) * (share * (1 - share)).sum()
        return float(((table * weights).sum() - expected) / (1 - expected))

    return {
        "alpha_ordinal": alpha(np.subtract.outer(ranks, ranks) ** 2),
        "alpha_nominal": alpha(1 - np.eye(k)),
        "ac1": gwet(np.eye(k)),
        "ac2": gwet(1 - square / square.max()),
        "agreement": float(np.trace(table)),
        "ICC(C,1)": float(((chance - table) * square).sum() / (by_rater * square).sum()),
    }


def run_study(design, truth, seed):
    """Which intervals hold the true value (None: there is no interval), and how wide the first is;
    the same for the same seed, wherever it runs."""
    r, i, s, value = draw_study(design, np.random.default_rng(seed))
    figures = describe_agreement(
        Ratings(unit=i * design.systems + s, block=i, rater=r, value=value),
        design.kind,
        scale=design.scale,
    )
    names = SHOWN[design.kind]
    holds = {
        name: None if figure["low"] is None else figure["low"] <= truth[name] <= figure["high"]
        for name, figure in ((name, figures[name]) for name in names)
    }
    first = figures[names[0]]
    return holds, None if first["low"] is None else first["high"] - first["low"]


def measure(design, studies, run, write):
    """Whether all rates of a design are within their limits, allowing for chance."""
    truth = find_truth(design)
    # each study of a design has a seed of its own, and studies of all designs share them
    seeds = np.random.SeedSequence(SEED).spawn(studies)
    results = list(run(partial(run_study, design, truth), seeds))
    widths = [width for _, width in results if width is not None]
    is_fine = True
    write(f"{design.name}: {np.mean(widths):.2f} is the mean width of the first interval\n")
    for name in SHOWN[design.kind]:
        known = [holds[name] for holds, _ in results if holds[name] is not None]
        share = wilson_share(sum(known), len(known), level=SURE)
        least = design.weak.get(name, LEAST)
        is_out = share.high < least
        is_fine &= not is_out
        write(f"  {FIGURES[name]:10s} {share.value:.3f} ({share.low:.3f} to {share.high:.3f}) of "
              f"{len(known)}; true value {truth[name]:.3f}; limits {least:g} to 1"
              f"{'  OUTSIDE' if is_out else ''}\n")  # fmt: skip
    return is_fine


_TEN = {"raters": 10, "inputs": 100, "systems": 3, "of_each": 3}
DESIGNS = [
    Design("2 raters × 50 inputs × 2 systems", 2, 50),
    Design("3 × 50 × 2", 3, 50),
    Design("4 × 50 × 2", 4, 50),
    Design("6 × 50 × 2", 6, 50),
    Design("10 × 50 × 2", 10, 50),
    Design("3 of 4 × 60 × 3", 4, 60, 3, of_each=3),
    Design("3 of 10 × 100 × 3, even", **_TEN),
    Design("3 of 10 × 30 × 2, even", 10, 30, of_each=3),
    Design("3 of 10 × 100 × 3, loads 1/rank", **_TEN, by_rank=True),
    Design("3 of 20 × 60 × 2, even", 20, 60, of_each=3),
    Design("3 of 20 × 100 × 2, loads 1/rank", 20, 100, of_each=3, by_rank=True),
    Design("66% in the top point, 4 × 50 × 2", 4, 50, top=0.66),
    Design("66% in the top point, 3 of 10 × 100 × 3, loads 1/rank", **_TEN, by_rank=True, top=0.66,
           weak={"ac1": 0.84, "ac2": 0.84, "agreement": 0.84}),
    Design("80% in the top point, 4 × 50 × 2", 4, 50, top=0.8),
    Design("80% in the top point, 3 of 20 × 60 × 2", 20, 60, of_each=3, top=0.8),
    Design("55% in the top point, 6 × 50 × 2", 6, 50, top=0.55),
    Design("yes/no, 5% yes, 4 × 100 × 2", 4, 100, kind="decision", top=0.05),
    Design("yes/no, 5% yes, 3 of 20 × 100 × 2", 20, 100, of_each=3, kind="decision", top=0.05),
    Design("yes/no, 5% yes, 6 × 60 × 2", 6, 60, kind="decision", top=0.05),
    Design("noise differs (sd of its log .5), 4 × 50 × 2", 4, 50, unlike=0.5,
           weak={"ICC(C,1)": 0.76}),
    Design("noise differs, 3 of 10 × 100 × 3, loads 1/rank", **_TEN, by_rank=True, unlike=0.5,
           weak={"ICC(C,1)": 0.62, "alpha_ordinal": 0.88, "ac2": 0.89}),
    Design("rater:system .6, 4 × 50 × 2", 4, 50, taste=0.6),
    Design("no strictness, 4 × 50 × 2", 4, 50, strict=0.0),
    Design("strictness .3, 6 × 30 × 2", 6, 30, strict=0.3),
    Design("Likert 7, 4 × 40 × 3", 4, 40, 3, points=7),
    Design("strictness 1.4 (57% of all variance), 3 × 50 × 2", 3, 50, strict=1.4,
           weak={"alpha_ordinal": 0.86, "alpha_nominal": 0.83, "ac1": 0.65, "ac2": 0.51,
                 "agreement": 0.67}),
    Design("rater:input .5, 6 × 40 × 3", 6, 40, 3, of_input=0.5),
    Design("many values, 4 × 50 × 2", 4, 50, kind="values"),
    Design("many values, 3 of 10 × 100 × 3, even", **_TEN, kind="values", weak={"ICC(C,1)": 0.9}),
    Design("4 categories, 4 × 50 × 2", 4, 50, kind="categories"),
    Design("4 categories, 3 of 10 × 100 × 3, even", **_TEN, kind="categories"),
]  # fmt: skip


if __name__ == "__main__":
    sys.exit(run_designs("agreement", __doc__, DESIGNS, measure, studies=300))
