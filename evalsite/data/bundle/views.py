"""Staff pages of bundles: asking for one, watching it being made, and taking it away."""

from typing import Any, cast
from uuid import UUID

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.live_page import keep_watching
from evalsite.core.jobs.models import Job
from evalsite.data.bundle.format import Contents
from evalsite.data.bundle.job import (
    KEPT_DAYS,
    KIND,
    find_file,
    has_data,
    has_entry_answers,
    list_kept,
    name_download,
    start_packing,
)
from evalsite.data.files.selection import Selection, count_not_sharing
from evalsite.data.files.services import has_simulated
from evalsite.decisions.frozen_plans import is_hidden
from evalsite.studies.models import Study
from evalsite.studies.staff_pages import may_see_identities, study_page

_SHOWN = 10
_CONTENTS = [
    ("public", "To publish: only people who agreed to sharing, without free text"),
    ("data", "Everything, without what people wrote in their own words"),
    ("free-text", "Everything, with free text"),
    ("design", "The design only: items, texts, settings, plans; nobody’s answers"),
]


class BundleForm(forms.Form):
    """What a bundle holds."""

    contents = forms.ChoiceField(
        widget=forms.RadioSelect, error_messages={"required": "Choose what goes in."}
    )

    def __init__(self, *args: Any, study: Study, is_hidden: bool, **named: Any) -> None:
        super().__init__(*args, **named)
        choices = _CONTENTS if study.asks_to_share else _CONTENTS[1:]
        self.initial = {"contents": "design" if is_hidden else choices[0][0]}
        cast(forms.ChoiceField, self.fields["contents"]).choices = choices


@study_page("files/bundle/", name="export-bundle", within="Files", is_reading=True)
@require_http_methods(["GET", "HEAD", "POST"])
def edit_bundle(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Ask what the bundle holds, and start making it; list those that are kept."""
    hides, is_post = is_hidden(study), request.method == "POST"
    form = BundleForm(request.POST if is_post else None, study=study, is_hidden=hides)
    sees_identities = may_see_identities(request, study)
    if is_post and form.is_valid():
        wish = form.cleaned_data["contents"]
        if wish != "design" and hides:
            return _lead_to_form(study)
        is_public = wish == "public"
        contents = Contents(
            has_data=wish != "design",
            has_free_text=wish == "free-text",
            # consent to sharing isn't about them
            has_entry_answers=not is_public and sees_identities,
            is_public=is_public,
        )
        start_packing(study, contents, by=request.user)
        return redirect("admin:export-bundle", study.pk)
    jobs = list(Job.objects.filter(study_id=study.pk, kind=KIND)[:_SHOWN])
    # a stopped job is shown until another is started
    pending = [job for job in jobs[:1] if job.is_open or job.has_stopped]
    context = {
        "form": form,
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
        "are_systems_hidden": hides,
    }
    status = 422 if form.errors else 200
    response = TemplateResponse(request, "data/bundle.html", context, status=status)
    return keep_watching(response, *pending)


@study_page("files/bundle/<uuid:job_id>.zip", name="export-bundle-file", is_reading=True)
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
        raise Http404("This file isn't kept any more, or holds what was taken back.")
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
