"""Words: they are read, not counted."""

from evalsite.analysis.families.family import Family

TEXT = Family(
    name="text",
    headline="Words have no statistics: read them in the files.",
    score="none",
    human="none",
    people="none",
    is_analysed=False,
    unplanned="Words are read, not counted, so they need no plan.",
)
