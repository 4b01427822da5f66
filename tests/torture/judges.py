"""`python -m tests.torture.judges`: how often a difference corrected by a judge misses the truth.

Two equal systems; people rate all outputs of 50 inputs, a judge that favours one of the systems by
half a point labels these and 950 others. How often the 95% interval holds 0 is printed with its
binomial interval, and the command fails where that lies wholly below the limit. On the same draws
the estimators of potato-annotation and truescore, which take people as fixed, run in an
environment of their own (`--others PYTHON`).
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any

# each process has a thread: those of the matrix library would only wait for one another
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd

from evalsite.analysis.effects import wilson_share
from evalsite.analysis.figure import Figure
from evalsite.analysis.judges import find_corrected

INPUTS, FURTHER = 50, 950
RATER, INPUT, OUTPUT, RESIDUAL, FAVOUR = 0.6, 0.6, 0.5, 0.9, 0.5
LIMIT = 0.93


@dataclass(frozen=True)
class Design:
    """`taste`: the standard deviation of what people add to a system. `r`: how the judge's
    differences correlate with the true ones."""

    people: int
    taste: float
    r: float


DESIGNS = [
    Design(people, taste, r)
    for people in (3, 5, 10, 20)
    for taste in (0.0, 0.2, 0.4)
    for r in (0.3, 0.6, 0.9)
]


def draw(design: Design, seed: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Points of people (people, inputs, systems), and labels (all inputs, systems)."""
    rng = np.random.default_rng(seed)
    worth = rng.normal(0, INPUT, (INPUTS + FURTHER, 1)) + rng.normal(
        0, OUTPUT, (INPUTS + FURTHER, 2)
    )
    strict = rng.normal(0, RATER, (design.people, 1, 1))
    taste = rng.normal(0, design.taste, (design.people, 1, 2))
    noise = rng.normal(0, RESIDUAL, (design.people, INPUTS, 2))
    points = np.clip(np.rint(3 + worth[:INPUTS] + strict + taste + noise), 1, 5)
    spread = OUTPUT * np.sqrt(1 / design.r**2 - 1)
    labels = 3 + worth + rng.normal(0, spread, worth.shape) + np.array([FAVOUR, 0.0])
    return points, labels


def to_frames(points: np.ndarray, labels: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame]:
    person, item, system = np.indices(points.shape).reshape(3, -1)
    people = pd.DataFrame(
        {"rater": person, "item": item, "system": system, "value": points.ravel()}
    )
    item, system = np.indices(labels.shape).reshape(2, -1)
    judge = pd.DataFrame({"item": item, "system": system, "value": labels.ravel()})
    names = {0: "A", 1: "B"}
    return (
        people.assign(system=people["system"].map(names)),
        judge.assign(system=judge["system"].map(names)),
    )


def cover(design: Design, seed: Sequence[int]) -> tuple[bool, float] | None:
    """Whether the corrected interval holds 0, and its width over that of people alone; None where
    the model gives no interval."""
    people, judge = to_frames(*draw(design, seed))
    result = find_corrected(people=people, judge=judge)
    figure, alone = result.pairs[0], result.people[0]
    if figure.low is None or alone.low is None:
        return None
    low, high = read_ends(figure)
    least, most = read_ends(alone)
    return low <= 0 <= high, (high - low) / (most - least)


def read_ends(figure: Figure) -> tuple[float, float]:
    assert figure.low is not None
    assert figure.high is not None
    return figure.low, figure.high


def run_others(python: str, design: Design, seeds: Sequence[Sequence[int]]) -> dict[str, float]:
    """The coverage of estimators elsewhere, on the same draws."""
    drawn = [draw(design, seed) for seed in seeds]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "draws.npz"
        np.savez(path, points=[points.mean(axis=0) for points, _ in drawn],
                 labels=[labels for _, labels in drawn])  # fmt: skip
        script = Path(__file__).with_name("judges_elsewhere.py")
        made = subprocess.run([python, script, path], check=True, capture_output=True, text=True)
    return {name: float(value) for name, value in map(str.split, made.stdout.splitlines())}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=300)
    parser.add_argument("--seed", type=int, default=20261129)
    parser.add_argument("--others", help="the Python of an environment with the other packages")
    parser.add_argument("--r", type=float, help="only judges with this correlation")
    options = parser.parse_args(arguments)
    failed = 0
    sys.stdout.write("people  rater:system  r    this (99% interval)   width  elsewhere\n")
    with Pool() as pool:
        for number, design in enumerate(DESIGNS):
            if options.r is not None and design.r != options.r:
                continue
            seeds = [(options.seed, number, study) for study in range(options.studies)]
            made = pool.map(partial(cover, design), seeds, chunksize=4)
            found: list[Any] = [pair for pair in made if pair is not None]
            share = wilson_share(sum(hit for hit, _ in found), len(found), level=0.99)
            low, high = read_ends(share)
            is_low = high < LIMIT
            failed += is_low
            others = run_others(options.others, design, seeds) if options.others else {}
            said = ", ".join(f"{name} {value:.3f}" for name, value in others.items())
            width = float(np.median([width for _, width in found]))
            sys.stdout.write(
                f"{design.people:6}  {design.taste:12}  {design.r:.1f}  {share.value:.3f} "
                f"({low:.3f} to {high:.3f})  {width:5.2f}  {said}"
                f"{'' if len(found) == len(made) else f', no interval {len(made) - len(found)}'}"
                f"{'  FAILED' if is_low else ''}\n"
            )
            sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
