"""Staff pages: making a study, and its settings."""

from copy import copy
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from evalsite.studies.forms import (
    NewStudyForm,
    SettingsForm,
    make_options_form,
    settings_sections,
)
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.question_views import question_views
from evalsite.studies.services import create_study
from evalsite.studies.setting_changes import ChangedMeanwhile, change_settings
from evalsite.studies.staff_pages import StudyView, has_role
from evalsite.studies.summary_lines import count_groups, describe_work
from evalsite.studies.team_views import team_views

INVALID = 422
CONFLICT = 409


@require_http_methods(["GET", "HEAD", "POST"])
def new_study(request: HttpRequest) -> HttpResponseBase:
    """Create a draft study of the chosen protocol, owned by the person who makes it."""
    is_post = request.method == "POST"
    form = NewStudyForm(request.POST if is_post else None)
    if is_post and form.is_valid():
        study = create_study(**form.cleaned_data, by=request.user)
        messages.success(request, "The study is made. Upload its items next.")
        return redirect("admin:study-overview", study.pk)
    return TemplateResponse(
        request, "studies/new.html", {"form": form}, status=INVALID if is_post else 200
    )


@require_http_methods(["GET", "HEAD", "POST"])
def show_settings(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show the settings in sections; saved whole or, with the reason, not at all."""
    data = request.POST if request.method == "POST" else None
    # a copy: validation writes into it, and the page's frame shows the study as it is
    form = SettingsForm(data, instance=copy(study))
    options = make_options_form(study, data)
    status = 200
    if data is not None:
        status = _save(request, study, form, options)
        if status == 200:
            return redirect("admin:study-settings", study.pk)
    items = Item.objects.main().filter(study=study)
    return TemplateResponse(
        request,
        "studies/settings.html",
        {
            "form": form,
            "sections": list(settings_sections(form, options)),
            "has_errors": bool(form.errors or (options and options.errors)),
            "work": describe_work(study, items.count(), count_groups(study, items)),
            "can_delete": not study.is_launched and has_role(request, study, Membership.Role.OWNER),
        },
        status=status,
    )


def _save(request: HttpRequest, study: Study, form: SettingsForm, options: Any) -> int:
    """Return the status to answer with: 200 once the settings are saved."""
    is_valid = form.is_valid()
    if (options is not None and not options.is_valid()) or not is_valid:
        return INVALID
    values = form.values()
    if options is not None:
        values["options"] = options.cleaned_data
    try:
        saved = change_settings(
            study=study,
            values=values,
            revision=form.cleaned_data["revision"],
            by=request.user,
            is_new_version=form.cleaned_data.get("is_new_version", False),
        )
    except ValidationError as error:
        form.add_error(None, error)
        return CONFLICT if isinstance(error, ChangedMeanwhile) else INVALID
    is_new = saved.version_id != study.version_id
    messages.success(request, f"Saved as {saved.version}." if is_new else "Saved.")
    return 200


study_views = [
    StudyView(
        path="settings/",
        name="study-settings",
        view=show_settings,
        role=Membership.Role.EDITOR,
        place="Set up",
        tab="Settings",
        order=30,
    ),
    *question_views,
    *team_views,
]
