"""Shares of statements that are true of an output, among those that apply."""

from evalsite.analysis.families.family import Family

SHARES = Family(
    name="shares",
    is_scored=True,
    averages=True,
)
