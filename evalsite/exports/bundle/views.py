"""Staff pages of bundles: asking for one, watching it being made, and taking it away."""

from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from evalsite.audit.models import AuditEntry
from evalsite.exports.bundle.anonymous_views import anonymous_views
from evalsite.exports.bundle.format import Contents
from evalsite.exports.bundle.job import (
    KEPT_DAYS,
    KIND,
    find_file,
    has_data,
    has_entry_answers,
    list_kept,
    name_download,
    start_packing,
)
from evalsite.exports.bundle.public_views import public_views
from evalsite.exports.selection import Selection, count_not_sharing
from evalsite.exports.services import has_simulated
from evalsite.jobs.live_page import keep_watching
from evalsite.jobs.models import Job
from evalsite.quality.frozen_plans import is_hidden
from evalsite.studies.models import Study
from evalsite.studies.staff_pages import StudyView, may_see_identities

_SHOWN = 10


@require_safe
def show_bundles(request: HttpRequest, study: Study) -> HttpResponseBase:
    sees_identities = may_see_identities(request, study)
    jobs = list(Job.objects.filter(study_id=study.pk, kind=KIND)[:_SHOWN])
    # a stopped job is shown until another is started
    pending = [job for job in jobs[:1] if job.is_open or job.has_stopped]
    context = {
        "pending": pending,
        # then the page comes again by itself, and would forget what was ticked
        "is_working": any(job.is_open and not job.is_stale for job in pending),
        "bundles": [
            (job, sees_identities or not has_entry_answers(job)) for job in list_kept(jobs)
        ],
        "sees_identities": sees_identities,
        "kept_days": KEPT_DAYS,
        "not_sharing": count_not_sharing(study) if study.asks_to_share else 0,
        "is_simulated": has_simulated(study, Selection()),
        "are_systems_hidden": is_hidden(study),
    }
    response = TemplateResponse(request, "exports/bundle.html", context)
    return keep_watching(response, *pending)


@require_POST
def make_bundle(request: HttpRequest, study: Study) -> HttpResponseBase:
    wish = request.POST.get("contents")
    if wish != "design" and is_hidden(study):
        return _lead_to_form(study)
    is_public = wish == "public" and study.asks_to_share
    contents = Contents(
        has_data=wish != "design",
        has_free_text=wish == "free-text",
        # consent to sharing isn't about them
        has_entry_answers=not is_public and may_see_identities(request, study),
        is_public=is_public,
    )
    start_packing(study, contents, by=request.user)
    return redirect("admin:export-bundle", study.pk)


@require_POST
def download_bundle(request: HttpRequest, study: Study, job_id: UUID) -> HttpResponseBase:
    """Send the archive. By POST, since the log keeps what was taken, by whom."""
    job = get_object_or_404(Job, study_id=study.pk, pk=job_id, kind=KIND)
    if has_entry_answers(job) and not may_see_identities(request, study):
        raise PermissionDenied
    if has_data(job) and is_hidden(study):
        return _lead_to_form(study)
    path = find_file(job)
    if path is None:
        raise Http404("This file is not kept any more.")
    name = name_download(study, job)
    AuditEntry.objects.record(
        "data exported",
        by=request.user,
        study_id=study.pk,
        file=name,
        rows=job.result["rows"],
        sha256=job.result["sha256"],
        contents=job.subject,
    )
    return FileResponse(path.open("rb"), as_attachment=True, filename=name)


def _lead_to_form(study: Study) -> HttpResponseBase:
    return redirect(f"{reverse('admin:study-results', args=[study.pk])}#reveal")


bundle_views = [
    StudyView(path="files/bundle/", name="export-bundle", view=show_bundles, within="Files"),
    StudyView(
        path="files/bundle/make/", name="export-bundle-make", view=make_bundle, is_reading=True
    ),
    StudyView(
        path="files/bundle/<uuid:job_id>.zip",
        name="export-bundle-file",
        view=download_bundle,
        is_reading=True,
    ),
    *anonymous_views,
    *public_views,
]
