"""Staff pages of what comes in: items, ratings collected elsewhere, scores of metrics."""

from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import restart_job
from evalsite.data import (  # noqa: F401 (pages that register themselves)
    study_deletion,
    views,
)
from evalsite.data.bundle import (  # noqa: F401 (as above)
    anonymous_views,
    dataset_views,
    public_views,
)
from evalsite.data.bundle import views as bundle_views  # noqa: F401 (as above)
from evalsite.data.items import views as batch_views  # noqa: F401 (as above)
from evalsite.data.judges import views as judge_views  # noqa: F401 (as above)
from evalsite.data.metrics import views as metrics_views  # noqa: F401 (as above)
from evalsite.data.ratings import views as ratings_views  # noqa: F401 (as above)
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import study_page

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


class BackForm(forms.Form):
    """The page on which a job is started again."""

    next = forms.CharField(required=False)

    def clean_next(self) -> str:
        back: str = self.cleaned_data["next"]
        return back if url_has_allowed_host_and_scheme(back, allowed_hosts=None) else ""


@study_page(
    "jobs/<uuid:job_id>/again/", name="job-restart", role=Membership.Role.EDITOR, is_reading=True
)
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
    form = BackForm(request.POST)
    back = form.cleaned_data["next"] if form.is_valid() else ""
    return redirect(back or reverse("admin:batch-list", args=[study.pk]))
