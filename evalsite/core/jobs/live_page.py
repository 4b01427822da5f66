"""Pages that follow a running job: by script in place, without scripts by reloading."""

from django.template.response import TemplateResponse

from evalsite.core.jobs.models import Job


def keep_watching(response: TemplateResponse, *jobs: Job | None) -> TemplateResponse:
    """Have the page follow these jobs while one of them is open, with scripts or without.

    Not for pages with forms: without scripts, reloading would lose what was typed.
    """
    # the page of a refused form has an address that takes POST only
    has_address = response.status_code == 200
    is_at_work = any(job is not None and job.is_open and not job.is_stale for job in jobs)
    if has_address and is_at_work:
        response.context_data = {**(response.context_data or {}), "is_watched": True}
    return response
