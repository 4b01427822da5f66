"""Staff pages of a study: its questions about people, and its team."""

from evalsite.studies.instructions_check_views import instructions_check_views
from evalsite.studies.question_views import question_views
from evalsite.studies.team_views import team_views

study_views = [
    *instructions_check_views,
    *question_views,
    *team_views,
]
