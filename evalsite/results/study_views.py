"""Staff pages of results, people and progress."""

from evalsite.results.analysis_plan.views import show_plan  # noqa: F401 (a page by itself)
from evalsite.results.comments.views import show_comments  # noqa: F401 (a page by itself)
from evalsite.results.design.views import design_views
from evalsite.results.documents import views as document_views  # noqa: F401 (its pages)
from evalsite.results.exclusions.rule_views import show_rules  # noqa: F401 (a page by itself)
from evalsite.results.exclusions.views import show_exclusions  # noqa: F401 (a page by itself)
from evalsite.results.files_page import show_files  # noqa: F401 (a page by itself)
from evalsite.results.items.views import show_items  # noqa: F401 (a page by itself)
from evalsite.results.launch_page import show_launch  # noqa: F401 (a page by itself)
from evalsite.results.overview.views import show_overview  # noqa: F401 (a page by itself)
from evalsite.results.people.views import show_people  # noqa: F401 (a page by itself)
from evalsite.results.power.views import planner_views
from evalsite.results.quality_page import show_quality  # noqa: F401 (a page by itself)
from evalsite.results.raters.views import show_raters  # noqa: F401 (a page by itself)
from evalsite.results.replication.views import repeating_views
from evalsite.results.report import downloads  # noqa: F401 (its pages)
from evalsite.results.report.question_view import show_question  # noqa: F401 (a page by itself)
from evalsite.results.report.summary_view import show_summary  # noqa: F401 (a page by itself)

study_views = [
    *design_views,
    *planner_views,
    *repeating_views,
]
