"""Yes or no, stored as 1 and 0."""

from evalsite.analysis.families.family import Family, Planner, Source


def _read_difference(asked: float, widest: float) -> float | None:
    return asked / 100 if 0 < asked < 100 else None


DECISION = Family(
    name="decision",
    decides=True,
    planner=Planner(
        simulation="decision",
        example="15",
        read_difference=_read_difference,
        width="share",
        shows_spread=False,
        sources=(
            Source(
                key="typical",
                parts={
                    "rater": 0.6,
                    "item": 0.6,
                    "item_system": 0.5,
                    "rater_system": 0.3,
                    "residual": 0.9,
                },
            ),
        ),
    ),
)
