"""`python -m tests.torture.gates`: how often gates fail by chance, and whether forecasts hold.

Studies are simulated in which the system is exactly at the margin in every slice: how often some
slice is called worse, with and without Holm's correction. And studies in which the two systems are
equal: how often the gate passes, beside the power that `plan_gate` forecasts. The command fails
where the binomial 99% interval of a rate lies wholly outside its limits.
"""

import argparse
import os
import sys
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pool

from evalsite.analysis.gate import GateDesign

# each process has a thread: those of the matrix library would only wait for one another
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from scipy import stats

from evalsite.analysis.difference_tests import correct
from evalsite.analysis.difference_tests import test_margin as judge_difference
from evalsite.analysis.effects import wilson_share
from evalsite.analysis.gate import plan_gate
from evalsite.analysis.mixed import fit_mixed
from evalsite.analysis.ratings import Ratings, read_scores
from tests.torture.statistics import World, draw

MARGIN = 0.5
LEVEL = 0.99  # of the interval that must reach into the limits
_NEAR = 0.04  # how far a forecast may be from the truth


@dataclass(frozen=True)
class Slices:
    """So many slices of 40 inputs each, rated by 6 people."""

    number: int
    corrected: tuple[float, float] = (0.0, 0.055)


@dataclass(frozen=True)
class Forecast:
    name: str
    world: World


SLICES = [Slices(4), Slices(8)]
FORECASTS = [
    Forecast("6 of 6 people, 30 inputs", World(raters=6, inputs=30, systems=2)),
    Forecast("10 of 10 people, 40 inputs", World(raters=10, inputs=40, systems=2)),
    Forecast("3 of 20 people, 40 inputs", World(raters=20, inputs=40, systems=2, of_each=3)),
]


def judge(scores, margin):
    """The test of the second system against the first; None: no model."""
    fit = fit_mixed(scores).fit
    if fit is None:
        return None
    difference, se, df = fit.contrast(np.array([-1.0, 1.0]))
    return judge_difference(difference=difference, se=se, df=df, margin=margin)


def run_slices(number, seed):
    """Whether some slice is called worse: without correction, and with Holm's."""
    rng = np.random.default_rng(seed)
    r, i, s, latent = draw(rng, World(inputs=40 * number, systems=2))
    value = latent - MARGIN * (s == 1)
    p = []
    for place in range(number):
        part = i // 40 == place
        scores = read_scores(
            Ratings(rater=r[part], group=i[part], system=s[part], value=value[part])
        )
        test = judge(scores, MARGIN)
        p.append(1.0 if test is None else test["p_worse"])
    return min(p) < 0.05, bool((correct(p) < 0.05).any())


def run_forecast(world, seed):
    """Whether the gate passes where the two systems are equal."""
    r, i, s, latent = draw(np.random.default_rng(seed), world)
    test = judge(read_scores(Ratings(rater=r, group=i, system=s, value=latent)), MARGIN)
    return test is not None and test["p_not_worse"] < 0.05


def is_within(count, total, ends):
    """Whether the binomial 99% interval reaches into the limits."""
    low, high = stats.binomtest(count, total).proportion_ci(LEVEL, "wilson")
    return low <= ends[1] and high >= ends[0]


def report(name, count, total, ends, write):
    share, is_fine = wilson_share(count, total), is_within(count, total, ends)
    write(f"{name:60s} {share.value:.3f} ({share.low:.3f} to {share.high:.3f}) of {total}; "
          f"limits {ends[0]:.3f} to {ends[1]:.3f}{'' if is_fine else '  OUTSIDE'}\n")  # fmt: skip
    return is_fine


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture.gates", description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    seeds = np.random.SeedSequence(2026).spawn(options.studies)
    outcomes = []

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    with Pool(options.processes) as pool:
        for slices in SLICES:
            found = np.array(pool.map(partial(run_slices, slices.number), seeds, chunksize=10))
            alone, corrected = (int(count) for count in found.sum(axis=0))
            name = f"some of {slices.number} slices at the margin is called worse"
            report(f"{name}, not corrected", alone, len(seeds), (0.0, 1.0), write)
            outcomes.append(report(name, corrected, len(seeds), slices.corrected, write))
        for forecast in FORECASTS:
            world = forecast.world
            passed = sum(pool.map(partial(run_forecast, world), seeds, chunksize=10))
            power = plan_gate(
                GateDesign(
                    people=world.raters, inputs=world.inputs,
                    answers_per_input=world.of_each or None,
                ),
                margin=MARGIN,
                variances=(2 * world.taste**2, 2 * world.output**2, 2 * world.residual**2),
            )["power"]  # fmt: skip
            name = f"passes, {forecast.name}; forecast {power:.3f}"
            ends = power - _NEAR, power + _NEAR
            outcomes.append(report(name, passed, len(seeds), ends, write))
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
