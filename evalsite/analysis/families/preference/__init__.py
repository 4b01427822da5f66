"""Which of two outputs is better, or neither."""

from math import log

from evalsite.analysis.families.family import Family, Planner, Source


def _read_difference(asked: float, widest: float) -> float | None:
    return log(asked / (100 - asked)) if 50 < asked < 100 else None


PREFERENCE = Family(
    name="preference",
    compares=True,
    planner=Planner(
        simulation="pairs",
        example="60",
        read_difference=_read_difference,
        width="share",
        parts=("item_system", "rater_system"),
        has_ties=True,
        # net wins vary on another scale than the strengths that plans are made of
        shows_spread=False,
        first_items=50,
        sources=(
            Source(
                key="typical",
                parts={"item_system": 0.8, "rater_system": 0.3, "residual": 0.0},
            ),
        ),
    ),
)
