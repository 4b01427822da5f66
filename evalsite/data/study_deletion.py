"""Deleting a study that was never launched, with all that was made while it was tried."""

from functools import partial
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_POST, require_safe

from evalsite.core.jobs.models import Job
from evalsite.data.items.new_study import remove_study
from evalsite.data.models import Upload
from evalsite.data.uploads import forget_bytes
from evalsite.fieldwork.launch import insist_on_owner
from evalsite.studies.models import Batch, Membership, Study
from evalsite.studies.staff_pages import study_page
from evalsite.studies.summary_lines import count_of


def why_kept(study: Study) -> str:
    """Say why this study can't be deleted, and what to do instead; "" if it can."""
    if study.is_launched:
        advice = {
            Study.State.CLOSED: " Archive it in the menu beside its title.",
            Study.State.ARCHIVED: " It is archived.",
        }.get(Study.State(study.state), " Close it, then archive it in the menu beside its title.")
        return f"The study has been launched, so it can't be deleted.{advice}"
    if batches := study.batches.count():
        each = "it" if batches == 1 else "each of them"
        return (
            f"The study has {count_of(batches, 'batch', 'batches')} of items. Undo {each} under "
            "Items, then delete the study."
        )
    if Batch.all_objects.filter(study=study).exists():
        return "Items are being imported or removed. Try again in a few minutes."
    open_jobs = Job.objects.filter(
        study_id=study.pk, state__in=[Job.State.WAITING, Job.State.RUNNING]
    )
    if open_jobs.exists():
        return "A job is running for this study. Wait until it is done, then delete the study."
    return ""


@transaction.atomic
def delete_draft(*, study: Study, by: Any) -> None:
    """The study was never there, but for the log; pilots and files that waited went with it."""
    insist_on_owner(study, by)
    current = Study.objects.select_for_update().get(pk=study.pk)
    if reason := why_kept(current):
        raise ValidationError(reason)
    uploads = list(Upload.objects.filter(study=current))
    remove_study(current, by=by)
    for upload in uploads:
        transaction.on_commit(partial(forget_bytes, upload))


# --- pages ----------------------------------------------------------------------------


@study_page("delete/", name="study-delete-confirm", role=Membership.Role.OWNER)
@require_safe
def confirm_delete(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show what would go, or why nothing can."""
    pilots = study.participants.filter(is_pilot=True).count()
    context = {
        "reason": why_kept(study),
        "pilots": pilots,
        "has_batches": not study.is_launched and study.batches.exists(),
    }
    return TemplateResponse(request, "data/delete.html", context)


@study_page("delete/now/", name="study-delete", role=Membership.Role.OWNER)
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
