"""Shares of statements that are true of an output, among those that apply."""

from evalsite.analysis.families.family import Family

SHARES = Family(
    name="shares",
    headline="The mean share of statements answered yes, among those that apply.",
    score="the mean share of statements answered yes",
    human="share of statements of an output",
    people="mean share",
    is_scored=True,
    averages=True,
    unplanned="Checklists are planned by one of the scores.",
)
