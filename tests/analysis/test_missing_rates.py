"""How often missing ratings are warned of: hardly ever by chance, and nearly always by system."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evalsite.analysis.design import find_missing, is_suspect, list_shown
from evalsite.analysis.ratings import make_table

STUDIES, RATERS, INPUTS, SYSTEMS = 100, 6, 50, "ABC"


def draw(rng: np.random.Generator, skip: str) -> pd.DataFrame:
    """One study on five points, in which people leave out ratings as `skip` says."""
    strictness = rng.normal(0, 0.6, (RATERS, 1, 1))
    latent = (
        strictness
        + rng.normal(0, 0.6, (1, INPUTS, 1))
        + rng.normal(0, 0.9, (RATERS, INPUTS, len(SYSTEMS)))
    )
    value = np.clip(np.round(3 + latent), 1, 5).astype(int)
    chance = rng.random(value.shape)
    is_low = value <= 2
    gone = {
        "at random": chance < 0.1,
        "by rater": chance < rng.uniform(0, 0.3, (RATERS, 1, 1)),
        "whole pages": np.broadcast_to(chance[:, :, :1] < 0.2, value.shape),
        "low of all": is_low & (chance < 0.4),
        "60% low of A": is_low & (chance < 0.6) & (np.arange(len(SYSTEMS)) == 0),
        "30% low of A": is_low & (chance < 0.3) & (np.arange(len(SYSTEMS)) == 0),
    }[skip]
    rater, item, system = np.nonzero(~gone)
    return pd.DataFrame(
        {
            "participant": [f"p{n}" for n in rater],
            "item": [f"i{n}" for n in item],
            "system": [SYSTEMS[n] for n in system],
            "criterion": "fit",
            "value": value[rater, item, system].astype(str),
        }
    )


@pytest.mark.torture
@pytest.mark.parametrize(
    ("skip", "least", "most"),
    [
        ("at random", 0, 0.01),
        ("by rater", 0, 0.01),
        ("whole pages", 0, 0.01),
        ("low of all", 0, 0.03),
        ("60% low of A", 0.97, 1),
        ("30% low of A", 0.85, 1),
    ],
)
def test_the_warning_comes_as_often_as_it_should(skip: str, least: float, most: float) -> None:
    rng = np.random.default_rng(47)

    warned = sum(
        any(map(is_suspect, find_missing(list_shown(make_table(draw(rng, skip)), "fit"))))
        for _ in range(STUDIES)
    )

    interval = stats.binomtest(warned, STUDIES).proportion_ci(0.99)
    assert interval.low <= most, (skip, warned)
    assert interval.high >= least, (skip, warned)
