"""Words: they are read, not counted."""

from evalsite.analysis.families.family import Family

TEXT = Family(
    name="text",
    is_analysed=False,
)
