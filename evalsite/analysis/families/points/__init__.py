"""Scores of outputs on points, such as 1 to 7 or 0 to 100."""

from evalsite.analysis.families.family import Family, Planner, Source


def _read_difference(asked: float, widest: float) -> float | None:
    return asked if 0 < asked <= widest else None


POINTS = Family(
    name="points",
    is_scored=True,
    has_points=True,
    planner=Planner(
        simulation="likert",
        example="0.5",
        read_difference=_read_difference,
        has_points=True,
        sources=(
            Source(
                key="typical",
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
