"""Questions about each turn of a conversation: the mean of its turns is one score of it."""

from evalsite.analysis.families.family import Family

TURNS = Family(
    name="turns",
    headline="The mean over conversations of what each person said of their turns, "
    "averaged first for each person and conversation.",
    score="the mean of the turns of a conversation",
    human="mean of the turns of a conversation",
    people="mean of turns",
    is_scored=True,
    averages=True,
    unplanned="Questions about turns are planned by one of the scores of whole conversations.",
)
