"""Scores in proportion to the quality, often in relation to a standard."""

from math import log

from evalsite.analysis.families.family import Family, Planner, Source


def _read_difference(asked: float, widest: float) -> float | None:
    return log(asked) if 1 < asked <= 10 else None


MAGNITUDE = Family(
    name="magnitude",
    is_scored=True,
    is_log=True,
    rater_columns=(
        "geo_mean",
        "sd_log",
        "share_of_5s",
        "share_of_10s",
        "share_of_standard",
        "ratio",
    ),
    planner=Planner(
        simulation="magnitude",
        example="1.2",
        read_difference=_read_difference,
        width="factor",
        sources=(
            Source(
                key="typical",
                parts={
                    "rater": 0.3,
                    "item": 0.2,
                    "item_system": 0.2,
                    "rater_system": 0.1,
                    "residual": 0.25,
                },
            ),
            Source(
                key="rankme",
                parts={
                    "rater": 0.074,
                    "item": 0.035,
                    "item_system": 0.189,
                    "rater_system": 0.109,
                    "residual": 0.220,
                },
            ),
        ),
    ),
)
