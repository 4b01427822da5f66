"""Two systems in a design where every rater rates every item under both, in closed form: what the
planner simulates many studies with."""

import numpy as np
from numpy.typing import NDArray


def find_error(
    ms_rater: NDArray[np.float64],
    ms_item: NDArray[np.float64],
    ms_rest: NDArray[np.float64],
    *,
    raters: int,
    items: int,
    contrasts: int = 1,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Variance of a mean difference and its degrees of freedom, from mean squares of as many
    contrasts.

    Error = MS_item + MS_rater - MS_residual, never below MS_residual; degrees of freedom by
    Satterthwaite (Westfall, Judd & Kenny 2014).
    """
    error = np.maximum(ms_item + ms_rater - ms_rest, ms_rest)
    below = ms_item**2 / (items - 1) + ms_rater**2 / (raters - 1)
    below = below + ms_rest**2 / ((raters - 1) * (items - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.where(below > 0, contrasts * error**2 / below, 1.0)
    return error / (raters * items), df


def mean_squares(differences: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """The mean, and the mean squares of raters, of items, and of what is left.

    `differences`: (..., raters, items), no gaps, at least two of each. Leading axes are kept: a
    batch of studies at once.
    """
    raters, items = differences.shape[-2:]
    mean = differences.mean(axis=(-2, -1))
    by_rater = differences.mean(axis=-1) - mean[..., None]
    by_item = differences.mean(axis=-2) - mean[..., None]
    rest = differences - mean[..., None, None] - by_rater[..., :, None] - by_item[..., None, :]
    ms_rater = items * (by_rater**2).sum(axis=-1) / (raters - 1)
    ms_item = raters * (by_item**2).sum(axis=-1) / (items - 1)
    ms_rest = (rest**2).sum(axis=(-2, -1)) / ((raters - 1) * (items - 1))
    return mean, ms_rater, ms_item, ms_rest
