"""Options without an order: for each of them, the share of answers that chose it."""

from evalsite.analysis.families.family import Family

CATEGORIES = Family(
    name="categories",
    splits=True,
)
