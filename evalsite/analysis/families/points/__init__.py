"""Scores of outputs on points, such as 1 to 7 or 0 to 100."""

from evalsite.analysis.families.family import GUESS, RANKME, Family, Planner, Source


def _read_difference(asked: float, widest: float) -> float:
    if not 0 < asked <= widest:
        raise ValueError(f"Enter points above 0, at most {widest:g}, such as 0.5.")
    return asked


POINTS = Family(
    name="points",
    headline="The mean of all counted ratings of a system.",
    score="the mean of all counted ratings",
    human="mean rating of an output",
    people="mean",
    is_scored=True,
    has_points=True,
    planner=Planner(
        simulation="likert",
        question="Difference to find, in points",
        example="0.5",
        unit="points",
        difference="a difference of {asked} points on {label}",
        read_difference=_read_difference,
        has_points=True,
        note_on_design="Ratings are whole points from 1 to {points}: of the difference asked for, "
        "{difference:.2f} points are left in the means.",
        sources=(
            Source(
                key="typical",
                label="Typical of 5 to 7 points",
                origin=GUESS,
                points=7,
                parts={
                    "rater": 0.7,
                    "item": 0.5,
                    "item_system": 0.4,
                    "rater_system": 0.2,
                    "residual": 0.9,
                },
            ),
            Source(
                key="rankme",
                label="RankME 2018, points from 1 to 6",
                origin=f"{RANKME}Rieser 2018), informativeness from 1 to 6, 900 ratings by 19 "
                "people",
                points=6,
                parts={
                    "rater": 0.40,
                    "item": 0.0,
                    "item_system": 0.61,
                    "rater_system": 0.58,
                    "residual": 0.67,
                },
            ),
        ),
    ),
)
