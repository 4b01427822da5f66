"""Options without an order: for each of them, the share of answers that chose it."""

from evalsite.analysis.families.family import Family

CATEGORIES = Family(
    name="categories",
    headline="The share of counted answers that took an option.",
    score="the share of counted answers that took an option",
    human="share of an option at an output",
    people="share",
    splits=True,
    unplanned="Choices are planned by one of the scores.",
)
