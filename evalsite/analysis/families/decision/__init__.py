"""Yes or no, stored as 1 and 0."""

from evalsite.analysis.families.family import Family

DECISION = Family(
    name="decision",
    headline="The share of counted decisions that are yes.",
    score="the share of counted decisions that are yes",
    human="share of yes of an output",
    people="share of yes",
    decides=True,
    unplanned="Decisions are planned by one of the scores.",
)
