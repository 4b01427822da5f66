"""Which of two outputs is better, or neither."""

from math import log

from evalsite.analysis.families.family import GUESS, Family, Planner, Source


def _read_difference(asked: float, widest: float) -> float:
    if not 50 < asked < 100:
        raise ValueError("Enter a share above 50 and below 100, such as 60.")
    return log(asked / (100 - asked))


PREFERENCE = Family(
    name="preference",
    headline="With two systems, the share of answers in which a system is preferred, a tie"
    " as half; with more, the log strengths of Davidson’s (1970) model with ties,"
    " which sum to zero.",
    score="the share of its answers in which it is preferred, a tie as half",
    human="net wins of a system: answers won less answers lost, as a share of the answers "
    "to an item, mean over items",
    people="net wins",
    compares=True,
    planner=Planner(
        simulation="pairs",
        question="Share of wins to find, in % of the answers that are no tie",
        example="60",
        unit="log odds of a win",
        difference="{asked}% of wins among decided answers on {label}",
        read_difference=_read_difference,
        width="share",
        parts=("item_system", "rater_system"),
        has_ties=True,
        note="Preferences follow Davidson's model, with {ties} ties between equal outputs. The "
        "interval is of the net win share.",
        # net wins vary on another scale than the strengths that plans are made of
        no_results="Preferences can't show this: they show which output wins, not by how much. "
        "Plan for somewhat more inputs than the minimum.",
        first_items=50,
        sources=(
            Source(
                key="typical",
                label="Typical of preferences",
                origin=GUESS,
                parts={"item_system": 0.8, "rater_system": 0.3, "residual": 0.0},
            ),
        ),
    ),
)
