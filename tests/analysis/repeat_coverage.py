"""How often intervals of repetitions hold the truth: `python -m tests.analysis.repeat_coverage`.

Not part of the suite: it takes minutes. Two studies rate outputs of the same systems with other
raters; on average over raters and inputs no score moves, so the interval of each system's
difference is to hold 0.
"""

import sys

import numpy as np
import pandas as pd

from evalsite.analysis.report.replication import find_differences, score_twice

STUDIES = 250
SYSTEMS = 3
# inputs, raters, ratings of an output, whether both studies have the same inputs
DESIGNS = ((30, 6, 6, True), (30, 12, 3, True), (30, 6, 6, False), (100, 3, 3, True))


def draw_outputs(rng: np.random.Generator, inputs: int) -> np.ndarray:
    """How good each output is (inputs, systems)."""
    apart = np.linspace(0, 0.5, SYSTEMS)
    own = rng.normal(0, 0.4, (inputs, SYSTEMS))
    return apart + rng.normal(0, 0.4, (inputs, 1)) + own


def draw_study(
    rng: np.random.Generator, quality: np.ndarray, raters: int, per_output: int
) -> pd.DataFrame:
    """Ratings from 1 to 7 of the outputs, by raters of this study alone."""
    item, rater, system = (one.ravel() for one in np.indices((len(quality), raters, SYSTEMS)))
    dealt = (rater + item) % raters < per_output
    item, rater, system = item[dealt], rater[dealt], system[dealt]
    severe, fond = rng.normal(0, 0.5, raters), rng.normal(0, 0.2, (raters, SYSTEMS))
    value = 4 + quality[item, system] + severe[rater] + fond[rater, system]
    value += rng.normal(0, 0.9, len(item))
    return pd.DataFrame(
        {"rater": rater, "group": item, "block": item, "unit": item * SYSTEMS + system,
         "system": system.astype(str), "value": np.clip(np.round(value), 1, 7)}
    )  # fmt: skip


def measure(design: tuple[int, int, int, bool]) -> float:
    """The share of intervals that hold 0."""
    inputs, raters, per_output, is_same = design
    held = []
    for seed in range(STUDIES):
        rng = np.random.default_rng(seed)
        one = draw_outputs(rng, inputs)
        first = draw_study(rng, one, raters, per_output)
        two = one if is_same else draw_outputs(rng, inputs)
        second = draw_study(rng, two, raters, per_output)
        if not is_same:
            second[["group", "block", "unit"]] += 10_000
        found = find_differences(score_twice(first, second))
        for figure in found.values():
            # an interval that is missing holds nothing
            assert figure.low is not None
            assert figure.high is not None
            held.append(figure.low <= 0 <= figure.high)
    return float(np.mean(held))


def main() -> None:
    for design in DESIGNS:
        inputs, raters, per_output, is_same = design
        sys.stdout.write(
            f"{inputs} {'same' if is_same else 'other'} inputs, {raters} raters a study, "
            f"{per_output} ratings an output: {measure(design):.3f} of {STUDIES * SYSTEMS}\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
