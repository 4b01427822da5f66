"""Scores in proportion to the quality, often in relation to a standard."""

from math import log

from evalsite.analysis.families.family import GUESS, RANKME, Family, Planner, Source


def _read_difference(asked: float, widest: float) -> float:
    if not 1 < asked <= 10:
        raise ValueError("Enter a ratio above 1, at most 10, such as 1.2.")
    return log(asked)


MAGNITUDE = Family(
    name="magnitude",
    headline="The geometric mean of all counted scores: the mean of their natural "
    "logarithms, exponentiated. That scores are ratios is assumed by the method, "
    "not shown by the data; what the order within a page shows is given beside it"
    " (mean rank, share best, Plackett-Luce).",
    score="the geometric mean of all counted scores",
    human="mean of the natural logarithms of an output’s scores",
    people="mean logarithm",
    is_scored=True,
    is_log=True,
    rater_part="Magnitudes",
    rater_columns={
        "geo_mean": "Geometric mean",
        "sd_log": "sd of logarithms",
        "share_of_5s": "Multiples of 5",
        "share_of_10s": "Multiples of 10",
        "share_of_standard": "Equal to the standard",
        "ratio": "Largest over smallest",
    },
    planner=Planner(
        simulation="magnitude",
        question="Ratio to find, such as 1.2 for a fifth more",
        example="1.2",
        unit="natural logarithms",
        difference="a ratio of {asked} on {label}",
        read_difference=_read_difference,
        width="factor",
        sources=(
            Source(
                key="typical",
                label="Typical of magnitudes",
                origin=GUESS,
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
                label="RankME 2018, magnitudes",
                origin=f"{RANKME}Rieser 2018), magnitudes of informativeness, 900 ratings by 10 "
                "people",
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
