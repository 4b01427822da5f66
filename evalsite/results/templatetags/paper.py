"""The files of a study's newest report, for pages of apps below this one."""

from typing import Any

from django import template

from evalsite.results.report.computation import newest_report
from evalsite.studies.models import Study

register = template.Library()


@register.inclusion_tag("results/_paper_files.html")
def list_paper_files(study: Study) -> dict[str, Any]:
    """List what goes into a paper."""
    return {"study": study, "report": newest_report(study)}
