"""Yes or no, stored as 1 and 0."""

from evalsite.analysis.families.family import GUESS, Family, Planner, Source


def _read_difference(asked: float, widest: float) -> float:
    if not 0 < asked < 100:
        raise ValueError("Enter percentage points above 0 and below 100, such as 15.")
    return asked / 100


DECISION = Family(
    name="decision",
    headline="The share of counted decisions that are yes.",
    score="the share of counted decisions that are yes",
    human="share of yes of an output",
    people="share of yes",
    decides=True,
    planner=Planner(
        simulation="decision",
        question="Difference to find, in percentage points of yes",
        example="15",
        unit="a judgement that turns into yes above a threshold",
        difference="a difference of {asked} percentage points on {label}",
        read_difference=_read_difference,
        width="share",
        note="About half of the decisions are yes: the nearer a share is to 0 or 100%, the more "
        "decisions it takes to find the same ratio.",
        no_results="Shares of yes don't tell how much the judgement behind them varies, so "
        "decisions are planned with typical values.",
        sources=(
            Source(
                key="typical",
                label="Typical decisions",
                origin=GUESS,
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
