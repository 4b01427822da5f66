"""Simulated studies: the design, the variance parts of ratings, and latent ratings."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Standard deviations of the parts of a rating, in the units of the scale.

    Likert: points of the latent scale (one point = one step). Magnitude: natural logarithms.
    Pairs: log odds of the second system's win among decided answers (`item_system` and
    `rater_system` are of that difference; the residual is the model's own chance).
    """

    rater: float = 0.0
    item: float = 0.0
    item_system: float
    rater_system: float
    residual: float


@dataclass(frozen=True, kw_only=True)
class Design:
    """How many items, raters, and ratings for each output; all raters on all items if None."""

    items: int
    raters: int
    per_output: int | None = None

    @property
    def ratings_per_output(self) -> int:
        """How many raters see each item."""
        return self.raters if self.per_output is None else min(self.per_output, self.raters)

    @property
    def is_complete(self) -> bool:
        """Whether every rater sees every item."""
        return self.ratings_per_output == self.raters

    def shown(self) -> NDArray[np.bool_]:
        """Return which rater sees which item (raters, items), in rotation, with even loads."""
        k, table = self.ratings_per_output, np.zeros((self.raters, self.items), dtype=bool)
        for item in range(self.items):
            # Another stride each round, so that the same raters do not always meet.
            start = item * k + item * k // self.raters
            table[(start + np.arange(k)) % self.raters, item] = True
        return table


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What is true in simulated studies: how ratings vary, and how far the last system is ahead.

    `points`: of a scale with points; `tie_share`: of comparisons between equals.
    """

    parts: Parts
    difference: float
    systems: int = 2
    points: int = 0
    tie_share: float = 0.0


def draw_latent(rng: np.random.Generator, design: Design, truth: Truth, rows: int) -> Floats:
    """Draw latent ratings (rows, systems, raters, items); the last system is ahead."""
    p, q = design.raters, design.items
    parts, systems, difference = truth.parts, truth.systems, truth.difference
    rater = rng.normal(0, parts.rater, (rows, 1, p, 1))
    item = rng.normal(0, parts.item, (rows, 1, 1, q))
    output = rng.normal(0, parts.item_system, (rows, systems, 1, q))
    taste = rng.normal(0, parts.rater_system, (rows, systems, p, 1))
    rest = rng.normal(0, parts.residual, (rows, systems, p, q))
    shift = np.full((1, systems, 1, 1), -difference / 2)
    shift[:, -1] = difference / 2
    return np.asarray(rater + item + output + taste + rest + shift)
