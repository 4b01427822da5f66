"""Pages that take the bundle of a study: what it holds, and what can be made of it here."""

from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from evalsite.core.jobs.live_page import keep_watching
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import restart_job
from evalsite.data.bundle.uploaded import (
    KEPT_DAYS,
    find_check,
    is_here,
    is_kept,
    keep_bundle,
    list_checks,
    list_imports,
    remove_bundle,
    start_import,
)
from evalsite.studies.models import Study

INVALID = 422


class BundleForm(forms.Form):
    """The file of a bundle."""

    file = forms.FileField(
        error_messages={"required": "Choose a file.", "empty": "This file is empty."}
    )

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > settings.UPLOAD_MAX_BYTES:
            raise ValidationError(
                f"This file is larger than {settings.UPLOAD_MAX_BYTES // 1024**2} MB."
            )
        return file


class ActForm(forms.Form):
    """What to do with a bundle."""

    do = forms.ChoiceField(choices=[(act, act) for act in ("again", "remove", "data", "draft")])


@require_http_methods(["GET", "HEAD", "POST"])
def upload_bundle(request: HttpRequest) -> HttpResponseBase:
    """Take a bundle, and start its check; list those that are kept."""
    is_post = request.method == "POST"
    form = BundleForm(request.POST if is_post else None, request.FILES if is_post else None)
    if form.is_valid():
        try:
            check = keep_bundle(form.cleaned_data["file"], by=request.user)
        except ValidationError as error:
            form.add_error("file", error)
        else:
            return redirect("admin:bundle", UUID(check.subject))
    problem = " ".join(map(str, form.errors.get("file", ())))
    context = {
        "problem": problem,
        "checks": [(UUID(check.subject), check) for check in list_checks(request.user)],
        "kept_days": KEPT_DAYS,
        "largest": settings.UPLOAD_MAX_BYTES,
        "title": "Import a bundle",
    }
    status = INVALID if problem else 200
    return TemplateResponse(request, "builder/bundles.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def show_bundle(request: HttpRequest, bundle_id: UUID) -> HttpResponseBase:
    """Show what a bundle of this person holds, and do what is asked for."""
    check = find_check(request.user, bundle_id)
    if check is None:
        raise Http404("No such bundle.")
    imports = list_imports(request.user, bundle_id)
    if request.method == "POST":
        form = ActForm(request.POST)
        return _do(request, check, imports, form.cleaned_data["do"] if form.is_valid() else "")
    is_sound = check.state == Job.State.DONE and not check.result["faults"]
    context = {
        "bundle_id": bundle_id,
        "check": check,
        "found": check.result,
        "is_sound": is_sound,
        "is_kept": is_kept(check),
        "kept_days": KEPT_DAYS,
        "is_here": is_sound and is_here(check.result),
        "facts": _list_facts(check.result) if is_sound else [],
        "instrument_value": _name_instrument(check),
        # a stopped job is shown until another is started
        "imports": [job for number, job in enumerate(imports) if not (number and job.has_stopped)],
        "made": _list_made(request.user, imports),
        "title": "Bundle",
    }
    response = TemplateResponse(request, "builder/bundle.html", context)
    return keep_watching(response, check, *imports[:1])


def _do(request: HttpRequest, check: Job, imports: list[Job], done: str) -> HttpResponseBase:
    if done == "remove":
        remove_bundle(check)
        messages.success(request, "The file is deleted. What was made of it stays.")
        return redirect("admin:bundle-upload")
    stopped = next((job for job in (*imports[:1], check) if job.has_stopped), None)
    if done == "again" and stopped is not None:
        try:
            restart_job(stopped, by=request.user)
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
    is_usable = check.state == Job.State.DONE and not check.result["faults"] and is_kept(check)
    if done in ("data", "draft") and is_usable and not check.result["problem"]:
        has_data = done == "data" and check.result["has_data"]
        start_import(check, by=request.user, has_data=has_data)
    return redirect("admin:bundle", UUID(check.subject))


def _list_facts(bundle: dict[str, Any]) -> list[tuple[str, int]]:
    """Return what is counted as on the pages of a study: without practice and pilots."""
    counts = bundle["counts"]
    answers = counts.get("annotations", {})
    return [
        ("Items", counts.get("items", {}).get("main", 0)),
        ("Systems", bundle["systems"]),
        ("People", counts.get("participants", 0)),
        ("Answers", answers.get("counted", 0) if isinstance(answers, dict) else 0),
    ]


def _name_instrument(check: Job) -> str:
    """Return what the page New study calls this bundle's instrument."""
    if check.result.get("built"):
        return f"bundle:{check.subject}"
    return f"protocol:{check.result.get('protocol', '')}"


def _list_made(user: Any, imports: list[Job]) -> list[tuple[Study, list[str]]]:
    """Return the studies that were made of a bundle and that are still here, with remarks."""
    remarks = {job.result["study"]: job.result["remarks"] for job in imports if job.result}
    studies = Study.objects.visible_to(user).filter(pk__in=remarks).only("title", "state")
    return [(study, remarks[str(study.pk)]) for study in studies]
