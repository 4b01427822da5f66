"""Questions about each turn of a conversation: the mean of its turns is one score of it."""

from evalsite.analysis.families.family import Family

TURNS = Family(
    name="turns",
    is_scored=True,
    averages=True,
)
