"""Jobs of files on staff pages: finding one, and starting one again that stopped."""

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from evalsite.jobs.models import Job
from evalsite.jobs.services import restart_job
from evalsite.studies.models import Study

# others, such as a launch, have conditions and a button of their own
_KINDS = {
    "check upload",
    "import batch",
    "undo batch",
    "check ratings",
    "import ratings",
    "undo ratings",
    "import metrics",
    "export",
    "bundle",
}


def newest_job(study: Study, kind: str, subject: object) -> Job | None:
    """The job of this kind that was started last for this subject."""
    jobs = Job.objects.filter(study_id=study.pk, kind=kind, subject=str(subject))
    return jobs.order_by("-created_at").first()


@require_POST
def restart(request: HttpRequest, study: Study, job_id: UUID) -> HttpResponseBase:
    """The job waits again; what it had done already is not done twice."""
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
