"""The pages of a study on which its instrument and its example are changed."""

from evalsite.builder import (  # noqa: F401 (pages that register themselves)
    choice_views,
    study_examples,
)
