"""How long the full report of a large study and the model of a crowd take, without a database.

A study like RRGen: five criteria, one output an item, three raters each, raters who came for a few
sets. Only the first of the two processes measures, since the database plays no part.
"""

import csv
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evalsite.analysis.mixed import fit_mixed
from evalsite.analysis.ratings import Ratings, read_scores
from evalsite.analysis.report import Settings, make_reports
from tests.bench.lines import Line, say

CRITERIA = ("relevance", "fluency", "sentiment", "domain")
SYSTEMS = {"alpha": 0.3, "beta": 0.0, "gamma": -0.2}
RATERS = 200
RATINGS = 100_000
# the larger size is that of the plan
BUDGET_SECONDS, BUDGET_OF_MORE, BUDGET_MEMORY = 60.0, 300.0, 2048.0
_POINTS = [{"value": value, "label": ""} for value in range(1, 8)]
_DECISION = [{"value": 1, "label": "yes"}, {"value": 0, "label": "no"}]


def main() -> None:
    plan = json.loads(sys.argv[1])
    if plan["name"] != "sqlite":
        return
    for crowd in CROWDS:
        measure_model(crowd)
    measure_report(RATINGS, BUDGET_SECONDS)
    # the peak of a process never falls: the larger report comes last
    if plan["ratings"] > RATINGS:
        measure_report(plan["ratings"], BUDGET_OF_MORE)


@dataclass(frozen=True)
class Crowd:
    """Outputs dealt singly to a crowd: who rated an input's outputs differs between them."""

    inputs: int
    systems: int
    raters: int
    of_each: int
    budget: float


# 2,700 ratings with 4,035 effects, and 24,000
CROWDS = (Crowd(300, 3, 40, 3, 5.0), Crowd(2000, 4, 100, 3, 30.0))


def measure_model(crowd: Crowd) -> None:
    """Prints the processor time that the mixed model of all systems takes."""
    rng = np.random.default_rng(1)
    outputs = crowd.inputs * crowd.systems
    chosen = [rng.choice(crowd.raters, crowd.of_each, replace=False) for _ in range(outputs)]
    rater = np.concatenate(chosen)
    output = np.repeat(np.arange(outputs), crowd.of_each)
    group, system = np.divmod(output, crowd.systems)
    parts = (
        (0.6, rater), (0.6, group), (0.5, output), (0.3, rater * crowd.systems + system),
        (0.9, np.arange(len(output))),
    )  # fmt: skip
    value = 3 + sum(rng.normal(0, sd, code.max() + 1)[code] for sd, code in parts)
    value = np.clip(np.rint(value), 1, 5)
    used = time.process_time()
    mixed = fit_mixed(read_scores(Ratings(rater=rater, group=group, system=system, value=value)))
    cpu = time.process_time() - used
    assert mixed.fit is not None, mixed.reason
    pairs = len(np.unique(rater * crowd.inputs + group))
    effects = sum(len(np.unique(code)) for _, code in parts[:4]) + pairs
    say(f"\nMixed model of {len(value):,} ratings with up to {effects:,} effects")
    say(str(Line("CPU", cpu, crowd.budget, "s")))


def measure_report(ratings: int, budget: float) -> None:
    """Prints how long the full report takes, and the most memory that it needs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.csv"
        write_ratings(path, ratings)
        started, used = time.perf_counter(), time.process_time()
        make_reports(
            {"ratings": path},
            Settings(instrument=list(describe()), seed=1),
            keep_outputs=lambda table: None,
        )
        seconds, cpu = time.perf_counter() - started, time.process_time() - used
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    say(f"\nFull report of {ratings:,} ratings, with the table of outputs")
    for line in (
        Line("time", seconds, budget, "s"),
        Line("CPU", cpu, unit="s"),
        Line("peak memory of the process", memory, BUDGET_MEMORY, "MiB"),
    ):
        say(str(line))


def describe() -> Iterator[dict[str, Any]]:
    for key in CRITERIA:
        yield {"key": key, "label": key, "kind": "likert", "answers": _POINTS, "reserved": [3, 5]}
    yield {"key": "decision", "label": "decision", "kind": "decision", "answers": _DECISION}


def write_ratings(path: Path, ratings: int) -> None:
    """A ratings.csv of so many rows, the same each time."""
    rows = make_rows(random.Random(1), ratings)
    first = next(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(first))
        writer.writeheader()
        writer.writerow(first)
        writer.writerows(rows)


def make_rows(chance: random.Random, ratings: int) -> Iterator[dict[str, Any]]:
    lenience = {f"p-{number}": chance.gauss(0, 0.5) for number in range(RATERS)}
    annotation = 0
    for number in range(ratings // (3 * (len(CRITERIA) + 1))):
        system = list(SYSTEMS)[number % 3]
        ease = random.Random(number // 3).gauss(0, 0.6)
        for rater in chance.sample(list(lenience), 3):
            annotation += 1
            known = {
                "item": f"i{number}", "group": f"g{number // 3}", "system": system,
                "output_id": f"i{number}#1", "annotation": annotation, "participant": rater,
                "kind": "main", "status": "counted", "origin": "own", "excluded": "no",
                "person": "yes", "trial": annotation, "seconds": max(3, chance.gauss(40, 15)),
            }  # fmt: skip
            level = 4 + ease + lenience[rater] + SYSTEMS[system]
            for key in CRITERIA:
                value = min(7, max(1, round(level + chance.gauss(0, 1))))
                yield {**known, "criterion": key, "scale": "likert", "value": value}
            yield {**known, "criterion": "decision", "scale": "decision", "value": int(value > 3)}


if __name__ == "__main__":
    main()
