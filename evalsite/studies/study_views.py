"""Staff pages of a study: its questions about people, and its team."""

from evalsite.studies import (  # noqa: F401 (pages that register themselves)
    instructions_check_views,
    question_views,
    team_views,
)
