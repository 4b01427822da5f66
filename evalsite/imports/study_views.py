"""Staff pages of what comes in: items, ratings collected elsewhere, scores of metrics."""

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from evalsite.imports.batches.views import item_views
from evalsite.imports.metrics.views import metrics_views
from evalsite.imports.ratings.views import ratings_views
from evalsite.imports.study_deletion import deletion_views
from evalsite.imports.views import upload_views
from evalsite.jobs.models import Job
from evalsite.jobs.services import restart_job
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import StudyView

# others, such as a launch, have their own conditions and button
_KINDS = {
    "check upload",
    "import batch",
    "undo batch",
    "check ratings",
    "import ratings",
    "undo ratings",
    "check metrics",
    "import metrics",
    "undo metrics",
    "export",
    "bundle",
}


@require_POST
def restart(request: HttpRequest, study: Study, job_id: UUID) -> HttpResponseBase:
    """Queue the job again; what it had already done isn't done twice."""
    job = get_object_or_404(Job, study_id=study.pk, pk=job_id, kind__in=_KINDS)
    try:
        if not job.has_stopped:
            raise ValidationError("This job has not stopped, so there is nothing to start again.")
        restart_job(job, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    back = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        back = reverse("admin:batch-list", args=[study.pk])
    return redirect(back)


study_views = [
    *item_views,
    *upload_views,
    *ratings_views,
    *metrics_views,
    StudyView(
        path="jobs/<uuid:job_id>/again/",
        name="job-restart",
        view=restart,
        role=Membership.Role.EDITOR,
        is_reading=True,
    ),
    *deletion_views,
]
