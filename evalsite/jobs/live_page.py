"""Pages that show a job at work and follow it: with static/staff-watch.js in place, else anew."""

from django.template.response import TemplateResponse

from evalsite.jobs.models import Job


def keep_watching(response: TemplateResponse, *jobs: Job | None) -> TemplateResponse:
    """The page follows these jobs for as long as one of them is at work, with scripts or without.

    Not for pages on which somebody may be writing: without scripts what they wrote would be lost.
    """
    # what was refused stands at an address that takes forms only
    has_address = response.status_code == 200
    is_at_work = any(job is not None and job.is_open and not job.is_stale for job in jobs)
    if has_address and is_at_work:
        response.context_data = {**(response.context_data or {}), "is_watched": True}
    return response
