"""Staff pages of results, people and progress."""

from evalsite.results.analysis_plan.views import show_plan  # noqa: F401 (a page by itself)
from evalsite.results.design.views import show_design  # noqa: F401 (a page by itself)
from evalsite.results.disagreement.views import disagreement_views
from evalsite.results.documents.views import document_views
from evalsite.results.exclusions.rule_views import show_rules  # noqa: F401 (a page by itself)
from evalsite.results.exclusions.views import show_exclusions  # noqa: F401 (a page by itself)
from evalsite.results.hidden.views import hidden_views
from evalsite.results.launch_page import show_launch  # noqa: F401 (a page by itself)
from evalsite.results.overview.views import show_overview  # noqa: F401 (a page by itself)
from evalsite.results.people.views import show_people  # noqa: F401 (a page by itself)
from evalsite.results.power.views import show_planner  # noqa: F401 (a page by itself)
from evalsite.results.quality_page import show_quality  # noqa: F401 (a page by itself)
from evalsite.results.raters.views import show_raters  # noqa: F401 (a page by itself)
from evalsite.results.replication.views import show_repeat  # noqa: F401 (a page by itself)
from evalsite.results.report.question_view import show_question  # noqa: F401 (a page by itself)
from evalsite.results.report.summary_view import show_summary  # noqa: F401 (a page by itself)
from evalsite.results.report.views import report_views, result_views

study_views = [
    *result_views,
    *hidden_views,
    *disagreement_views,
    *report_views,
    *document_views,
]
