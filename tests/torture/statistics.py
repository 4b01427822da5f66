"""`python -m tests.torture.statistics`: how often tests are wrong.

Studies are simulated in which no system is better: how often the default test of one pair finds a
difference at 5%, and how often a family of all pairs makes some claim after Holm's correction. Each
rate is printed with its binomial interval, and the command fails where that lies wholly outside the
limits of its design. Ratings are latent normals, rounded to 1 to 5; decisions and preferences are
cut from the same latent values. Intervals of agreement are in `tests.torture.agreement`.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from multiprocessing import Pool
from typing import Any

# each process has a thread: those of the matrix library would only wait for one another
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from evalsite.analysis.difference_tests import compare_alone, correct
from evalsite.analysis.effects import wilson_share
from evalsite.analysis.mixed import fit_mixed
from evalsite.analysis.pairs import fit_pairs, read_preferences
from evalsite.analysis.ratings import Ratings, read_scores


@dataclass(frozen=True)
class World:
    """Who rates what: standard deviations of what ratings are made of, and the design.

    `of_each`: raters of an input ("pages": of all its outputs; "singles": of an output); 0: all.
    `divisive`: the standard deviation of rater:system of the last system, where it has its own.
    """

    raters: int = 6
    inputs: int = 40
    systems: int = 4
    of_each: int = 0
    by: str = "pages"
    rater: float = 0.6
    input: float = 0.6
    output: float = 0.5
    taste: float = 0.3
    divisive: float | None = None
    residual: float = 0.9
    mean: float = 3.0
    answers: str = "points"
    has_own_errors: bool = False


@dataclass(frozen=True)
class Design:
    """A world, what is counted in it, and the limits of these rates."""

    name: str
    world: World
    pair: tuple[float, float] | None = (0.04, 0.06)
    family: tuple[float, float] | None = (0.0, 0.055)


def draw(rng, world):
    """Codes of raters, inputs and systems, and the latent values."""
    tastes = np.full(world.systems, world.taste)
    if world.divisive is not None:
        tastes[-1] = world.divisive
    r, i, s = np.indices((world.raters, world.inputs, world.systems)).reshape(3, -1)
    if world.of_each:
        per = world.systems if world.by == "singles" else 1
        order = rng.random((world.raters, world.inputs, per)).argsort(axis=0).argsort(axis=0)
        keep = order[r, i, s if per > 1 else 0] < world.of_each
        r, i, s = r[keep], i[keep], s[keep]
    value = (
        world.mean
        + rng.normal(0, world.rater, world.raters)[r]
        + rng.normal(0, world.input, world.inputs)[i]
        + rng.normal(0, world.output, (world.inputs, world.systems))[i, s]
        + (rng.normal(0, 1, (world.raters, world.systems)) * tastes)[r, s]
        + rng.normal(0, world.residual, len(r))
    )
    return r, i, s, value


def answer(latent, answers):
    """What people enter."""
    if answers == "decisions":
        return (latent > 3).astype(float)
    if answers == "penalties":  # minor and major errors, and rare outputs that are no translation
        return np.select(
            [latent > 5.5, latent > 4.5, latent > 3.8, latent > 2.6], [25, 10, 5, 1], 0.0
        )
    return np.clip(np.rint(latent), 1, 5)


def find_p(rng, world):
    """The p values of all pairs of one study by the default test; None: no model."""
    pairs = list(combinations(range(world.systems), 2))
    if world.answers == "preferences":
        return _compare_preferences(rng, world, pairs)
    r, i, s, latent = draw(rng, world)
    value = answer(latent, world.answers)
    scores = read_scores(Ratings(rater=r, group=i, system=s, value=value))
    if world.has_own_errors:
        return _compare_alone(scores, pairs)
    fit = fit_mixed(scores).fit
    if fit is None:
        return None
    return [_p(fit, np.eye(world.systems)[b] - np.eye(world.systems)[a]) for a, b in pairs]


def _compare_alone(scores, pairs):
    """The p values by a model of each pair's two systems alone, which a plan may choose."""
    found = [compare_alone(scores, a, b).details.get("p") for a, b in pairs]
    return None if None in found else found


def _compare_preferences(rng, world, pairs):
    r, i, s, latent = draw(rng, world)
    value = dict(zip(zip(r.tolist(), i.tolist(), s.tolist(), strict=True), latent, strict=True))
    rows = [
        (rater, item, a, b, np.sign(np.rint(value[rater, item, a] - value[rater, item, b])))
        for rater, item in {(x, y) for x, y, _ in value}
        for a, b in pairs
    ]
    rater, item, left, right, outcome = zip(*rows, strict=True)
    data = read_preferences(
        Ratings(rater=rater, group=item, value=[int(one) for one in outcome]), left, right
    )
    fit = fit_pairs(data, pairs).fit
    return None if fit is None else [_p(fit, one) for one in np.eye(len(pairs))]


def _p(fit, weights):
    from scipy import stats  # noqa: PLC0415

    estimate, se, df = fit.contrast(weights)
    return float(2 * stats.t.sf(abs(estimate) / se, df))


@dataclass(frozen=True)
class Found:
    """What one study says: whether its tests claim a difference."""

    is_fitted: bool = False
    pair: bool = False
    family: bool = False


def run_study(design, seed):
    """What one simulated study says; the same for the same seed, wherever it runs."""
    world, rng = design.world, np.random.default_rng(seed)
    p = find_p(rng, world)
    # the last pair is one that a divisive system is in
    of_pair = -1 if world.divisive is not None else 0
    return Found(
        is_fitted=p is not None,
        pair=p is not None and p[of_pair] < 0.05,
        family=p is not None and bool((correct(p) < 0.05).any()),
    )


def measure(design, studies, run: Callable[..., Iterable[Found]], write: Callable[[str], object]):
    """Whether all rates of a design are within its limits, allowing for chance."""
    seeds = np.random.SeedSequence(2026).spawn(studies)
    found = list(run(partial(run_study, design), seeds))
    fitted = sum(one.is_fitted for one in found)
    rates = (
        ("one pair", design.pair, sum(one.pair for one in found), fitted),
        ("family", design.family, sum(one.family for one in found), fitted),
    )
    is_fine = True
    for what, ends, count, total in rates:
        if ends is None:
            continue
        share = wilson_share(count, total)
        is_out = share.low > ends[1] or share.high < ends[0]
        is_fine &= not is_out
        write(f"{design.name:60s} {what:16s} {share.value:.3f} ({share.low:.3f} to "
              f"{share.high:.3f}) of {total}; limits {ends[0]:g} to {ends[1]:g}"
              f"{'  OUTSIDE' if is_out else ''}\n")  # fmt: skip
    return is_fine


WIDE = (0.02, 0.06)
DESIGNS = [
    Design("3 raters, 4 systems", World(raters=3)),
    Design("4 raters, 4 systems", World(raters=4)),
    Design("6 raters, 4 systems", World()),
    Design("6 raters, 6 systems", World(systems=6)),
    Design("10 raters, 4 systems", World(raters=10)),
    Design("3 of 20 raters, pages, 2 systems", World(raters=20, of_each=3, systems=2), WIDE, None),
    Design("3 of 20 raters, pages, 4 systems", World(raters=20, of_each=3)),
    Design("3 of 20 raters, singles, 4 systems", World(raters=20, of_each=3, by="singles")),
    Design("1 of 10 raters, 2 systems", World(raters=10, of_each=1, systems=2), WIDE, None),
    Design("3 of 8 raters, 30 inputs, 4 systems", World(raters=8, inputs=30, of_each=3), WIDE),
    Design("penalties, 2 of 12 raters, 60 inputs, 4 systems",
           World(raters=12, inputs=60, of_each=2, answers="penalties"), WIDE),
    Design("3 raters, 2 systems", World(raters=3, systems=2), WIDE, None),
    Design("2 systems, rater:system 0", World(systems=2, taste=0), WIDE, None),
    Design("2 systems, rater:system .6", World(systems=2, taste=0.6), (0.04, 0.07), None),
    Design("decisions, 6 raters, 4 systems", World(answers="decisions")),
    Design("mean 4.6 of 5, 6 raters, 4 systems", World(mean=4.6)),
    Design("preferences, 4 raters, 4 systems", World(raters=4, answers="preferences")),
    Design("preferences, 6 raters, rater:system .6", World(taste=0.6, answers="preferences")),
    Design("one divisive system (.6 against .1), its pairs", World(taste=0.1, divisive=0.6),
           (0.0, 0.14), (0.0, 0.09)),
    Design("separate error for each pair, 6 raters, 4 systems", World(has_own_errors=True),
           family=(0.0, 0.07)),
    Design("separate error for each pair, one divisive system, its pairs",
           World(taste=0.1, divisive=0.6, has_own_errors=True), family=(0.0, 0.07)),
]  # fmt: skip


def run_designs(
    program: str,
    about: str | None,
    designs: Sequence[Any],
    judge: Callable[..., bool],
    studies: int,
) -> int:
    """Judge the designs that the arguments name; return 1 if one is outside its limits."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.torture.{program}", description=about)
    parser.add_argument("--studies", type=int, default=studies)
    parser.add_argument("--only", default="", help="designs whose name contains this")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    chosen = [design for design in designs if options.only in design.name]

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    with Pool(options.processes) as pool:
        run = partial(pool.imap, chunksize=10)
        return 0 if all([judge(design, options.studies, run, write) for design in chosen]) else 1


if __name__ == "__main__":
    sys.exit(run_designs("statistics", __doc__, DESIGNS, measure, studies=1000))
