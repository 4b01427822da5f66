"""Staff pages on which a study that was never launched is deleted."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_POST, require_safe

from evalsite.imports.removing import delete_draft, why_kept
from evalsite.studies.models import Membership, Study
from evalsite.studies.pages import StudyView


@require_safe
def confirm_delete(request: HttpRequest, study: Study) -> HttpResponseBase:
    """What would go, or why nothing can."""
    pilots = study.participants.filter(is_pilot=True).count()
    return TemplateResponse(
        request, "studies/delete.html", {"reason": why_kept(study), "pilots": pilots}
    )


@require_POST
def delete(request: HttpRequest, study: Study) -> HttpResponseBase:
    title = study.title
    try:
        delete_draft(study=study, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("admin:study-delete-confirm", study.pk)
    messages.success(request, f"Deleted: {title}.")
    return redirect("admin:index")


removing_views = [
    StudyView(
        path="delete/",
        name="study-delete-confirm",
        view=confirm_delete,
        role=Membership.Role.OWNER,
        within="Settings",
    ),
    StudyView(path="delete/now/", name="study-delete", view=delete, role=Membership.Role.OWNER),
]
