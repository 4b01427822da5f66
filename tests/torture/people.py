"""`python -m tests.torture.people`: who is flagged, and which copied answers are found.

Crowds are simulated in which some people answer carelessly, and studies in which one rater copies
another: how often honest people are flagged, careless ones found, honest pairs taken for copies,
and copies found. Each rate is printed with its 99% binomial interval, and the command fails where
that lies wholly outside the limits of its cell. Ratings are latent normals, rounded to 1 to 5.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pool
from typing import Any

# each process has a thread: those of the matrix library would only wait for one another
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd

from evalsite.analysis.behaviour import describe_pace
from evalsite.analysis.effects import wilson_share
from evalsite.analysis.ratings import make_table
from evalsite.analysis.report.raters import check_raters, find_copied, flag_answers, see_speed
from evalsite.analysis.thresholds import START

STRICTNESS, OUTPUT, NOISE = 0.6, 0.78, 0.9
EACH = 3  # people who rate an output of a crowd
Limits = tuple[float, float]


def rate(rng, mean, truth, strictness, noise=NOISE, points=5):
    """What a person gives to outputs of these qualities."""
    latent = mean + truth + strictness + rng.normal(0, noise, truth.shape)
    if points == 2:
        return (latent > 3).astype(float)
    return np.clip(np.rint(latent), 1, points)


# --- careless people of a crowd -----------------------------------------------------------------

PEOPLE = 60
KINDS = ["random"] * 6 + ["fast"] * 3 + ["one point"] * 2 + ["honest"] * 49
WORDS = 60  # of a page


@dataclass(frozen=True)
class Crowd:
    """Sixty people with so many answers each, and the limits of the rates."""

    name: str
    answers: int
    questions: int = 1
    mean: float = 3.0
    points: int = 5
    one_point: Limits = (0.0, 1.0)

    def list_limits(self) -> dict[str, Limits]:
        return {"honest": (0.0, 0.02), "fast": (0.95, 1.0), "one point": self.one_point}

    def run(self, seed) -> Iterator[tuple[str, bool]]:
        """Yield of each person what they are, and whether a flag was raised."""
        rng = np.random.default_rng(seed)
        rows = pd.DataFrame(self._answer(rng))
        answers = dict.fromkeys(rows.participant.unique(), self.answers)
        flagged: set[str] = set()
        pages = rows.drop_duplicates(["participant", "item"])
        pace = describe_pace(
            rater=pages.participant, seconds=pages.seconds, words=[WORDS] * len(pages)
        )
        flagged |= {
            name for name, figures in pace.items() if see_speed(figures, self.answers, START)
        }
        criteria = [
            check_raters(make_table(ratings).results()) for _, ratings in rows.groupby("criterion")
        ]
        flagged |= flag_answers(criteria, answers, START).keys()
        for place, kind in enumerate(KINDS):
            yield kind, f"p{place:02}" in flagged

    def _answer(self, rng) -> Iterator[dict[str, Any]]:
        items = PEOPLE * self.answers // EACH
        truth = rng.normal(0, OUTPUT, (items, self.questions))
        # dealt in turn: nobody meets an item twice
        order = rng.permutation(items)
        dealt = np.concatenate([np.roll(order, shift) for shift in range(EACH)])
        for place, kind in enumerate(KINDS):
            mine = dealt[place * self.answers : (place + 1) * self.answers]
            values = rate(
                rng, self.mean, truth[mine], rng.normal(0, STRICTNESS), points=self.points
            )
            least = 0 if self.points == 2 else 1
            if kind in ("random", "fast"):
                most = 2 if self.points == 2 else self.points + 1
                values = rng.integers(least, most, values.shape)
            elif kind == "one point":
                values = np.full(values.shape, rng.integers(least, least + self.points))
            usual = 2.0 if kind == "fast" else 20 * rng.lognormal(0, 0.3)
            seconds = usual * rng.lognormal(0, 0.4, len(mine))
            for at, item in enumerate(mine):
                for question in range(self.questions):
                    yield {
                        "participant": f"p{place:02}", "item": f"i{item}", "system": "A",
                        "criterion": f"q{question}", "value": values[at, question],
                        "seconds": seconds[at],
                    }  # fmt: skip


# --- copied answers -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Study:
    """Raters who all rate the same outputs, or a crowd in sets; one may copy another.

    `sets`: outputs of a set, each rated by three people; 0: everyone rates all. `settled`: the
    share of answers that raters talked over and then gave alike. `copied`, `changed`: limits of
    the rate of copies found, as they are and with 2% of the answers drawn again.
    """

    name: str
    raters: int
    outputs: int
    questions: int = 1
    mean: float = 3.0
    points: int = 5
    strictness: float = STRICTNESS
    noise: float = NOISE
    sets: int = 0
    settled: float = 0.0
    copied: Limits | None = None
    changed: Limits | None = None

    def list_limits(self) -> dict[str, Limits]:
        cells = {
            "honest studies": (0.0, 0.01),
            "copied": self.copied,
            "2% drawn again": self.changed,
        }
        return {name: limits for name, limits in cells.items() if limits is not None}

    def run(self, seed) -> Iterator[tuple[str, bool]]:
        """Yield whether an honest study is flagged, and whether copies are found in it."""
        rng = np.random.default_rng(seed)
        answers = self._answer(rng)
        yield "honest studies", bool(_find(answers))
        if self.copied is None:
            return
        for name, share in (("copied", 0.0), ("2% drawn again", 0.02)):
            values, mine = answers["r00"]
            least = 0 if self.points == 2 else 1
            drawn = rng.integers(least, least + self.points, values.shape)
            mine_too = np.where(rng.random(values.shape) < share, drawn, values)
            pairs = _find(answers | {"r01": (mine_too, mine)})
            yield name, ("r00", "r01") in pairs

    def _answer(self, rng) -> dict[str, tuple[Any, Any]]:
        """The values of each rater, and which outputs they are of; the first two share theirs."""
        truth = rng.normal(0, OUTPUT, (self.outputs, self.questions))
        latent = truth + self.mean
        common = np.clip(np.rint(latent), 1, self.points)
        if self.points == 2:
            common = (latent > 3).astype(float)
        is_settled = rng.random(truth.shape) < self.settled
        answers = {}
        for rater in range(self.raters):
            mine = np.arange(self.outputs)
            if self.sets:
                mine = (rater // EACH) * self.sets + np.arange(self.sets)
            values = rate(
                rng, self.mean, truth[mine], rng.normal(0, self.strictness), self.noise, self.points
            )
            answers[f"r{rater:02}"] = np.where(is_settled[mine], common[mine], values), mine
        return answers


def _find(answers) -> set[tuple[str, str]]:
    rows = pd.concat([
        pd.DataFrame({
            "rater": name, "unit": np.repeat(mine, values.shape[1]),
            "criterion": np.tile(range(values.shape[1]), len(mine)), "value": values.ravel(),
        })
        for name, (values, mine) in answers.items()
    ])  # fmt: skip
    pairs = find_copied(
        unit=rows.unit, rater=rows.rater, criterion=rows.criterion, value=rows.value
    )
    return {(pair["first_rater"], pair["second_rater"]) for pair in pairs["pairs"]}


CROWDS = [
    Crowd("1 question, 5 answers", 5, one_point=(0.0, 0.4)),
    Crowd("1 question, 8 answers", 8, one_point=(0.4, 0.9)),
    Crowd("1 question, 12 answers", 12, one_point=(0.8, 1.0)),
    Crowd("1 question, 20 answers", 20, one_point=(0.95, 1.0)),
    Crowd("3 questions, 8 answers", 8, 3, one_point=(0.3, 0.9)),
    Crowd("3 questions, 15 answers", 15, 3, one_point=(0.9, 1.0)),
    Crowd("1 question, ceiling, 12 answers", 12, mean=4.6, one_point=(0.7, 1.0)),
    Crowd("decisions, 12 answers", 12, points=2, one_point=(0.0, 0.5)),
    Crowd("decisions, 20 answers", 20, points=2, one_point=(0.4, 1.0)),
]
STUDIES = [
    Study("3 raters x 50 x 2", 3, 100, copied=(0.95, 1), changed=(0.7, 1)),
    Study("4 raters x 50 x 2", 4, 100),
    Study("6 raters x 40 x 3", 6, 120, copied=(0.95, 1), changed=(0.55, 1)),
    Study("mean 4.9 of 5, 3 x 100 x 2", 3, 200, mean=4.9, copied=(0.8, 1), changed=(0.65, 1)),
    Study("mean 4.9 of 5, 6 x 50 x 3", 6, 150, mean=4.9),
    Study("settled 95%, 3 x 50 x 2", 3, 100, settled=0.95),
    Study("settled 95%, 4 x 50 x 2", 4, 100, settled=0.95),
    Study("settled 80%, 3 x 100 x 2", 3, 200, settled=0.8, copied=(0.95, 1), changed=(0.6, 1)),
    Study("raters alike, noise .4", 4, 100, strictness=0.0, noise=0.4),
    Study("raters alike, noise .25", 4, 100, strictness=0.0, noise=0.25),
    Study("crowd, sets of 10", 60, 200, sets=10, copied=(0, 1), changed=(0, 1)),
    Study("crowd, sets of 10, 3 questions", 60, 200, 3, sets=10, copied=(0.9, 1),
          changed=(0.4, 0.9)),
    Study("crowd, sets of 10, mean 4.6 of 5", 60, 200, mean=4.6, sets=10),
    Study("crowd, sets of 20", 60, 400, sets=20, copied=(0.65, 1), changed=(0.35, 0.8)),
    Study("yes/no, 5% yes, 4 x 100 x 2", 4, 200, mean=1.0, points=2, copied=(0, 0.1),
          changed=(0, 0.1)),
    Study("crowd, decisions, sets of 10", 60, 200, points=2, sets=10, copied=(0, 0.05),
          changed=(0, 0.05)),
]  # fmt: skip


def run_study(design, seed):
    """What a simulated study says; the same for the same seed, wherever it runs."""
    return list(design.run(seed))


def measure(design, studies: int, run: Callable[..., Any], write: Callable[[str], object]) -> bool:
    """Whether all rates of a design are within its limits, allowing for chance."""
    seeds = np.random.SeedSequence(2026).spawn(studies)
    counts: dict[str, list[int]] = {}
    for results in run(partial(run_study, design), seeds):
        for name, is_hit in results:
            count = counts.setdefault(name, [0, 0])
            count[0] += is_hit
            count[1] += 1
    is_fine = True
    for name, (hits, total) in counts.items():
        least, most = design.list_limits().get(name, (0.0, 1.0))
        share = wilson_share(hits, total, level=0.99)
        is_out = share.low > most or share.high < least
        is_fine &= not is_out
        write(f"{design.name:36s} {name:16s} {share.value:.3f} ({share.low:.3f} to "
              f"{share.high:.3f}) of {total}; limits {least:g} to {most:g}"
              f"{'  OUTSIDE' if is_out else ''}\n")  # fmt: skip
    return is_fine


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture.people", description=__doc__)
    parser.add_argument("--crowds", type=int, default=40)
    parser.add_argument("--studies", type=int, default=300)
    parser.add_argument("--only", default="", help="designs whose name contains this")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    chosen = parser.parse_args()

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    numbers = [(design, chosen.crowds) for design in CROWDS]
    numbers += [(design, chosen.studies) for design in STUDIES]
    with Pool(chosen.processes) as pool:
        run = partial(pool.imap, chunksize=5)
        results = [
            measure(design, number, run, write)
            for design, number in numbers
            if chosen.only in design.name
        ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
