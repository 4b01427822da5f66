"""What the pages of Set up share: saved whole or, with the reason, not at all."""

from copy import copy
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from evalsite.core.accounts.time_zones import zone_of
from evalsite.fieldwork.setup import PAGE_NAMES, describe_setup
from evalsite.studies.models import Study
from evalsite.studies.setting_changes import ChangedMeanwhile, change_settings
from evalsite.studies.settings import describe_more
from evalsite.studies.setup_forms import SettingsForm
from evalsite.studies.summary_lines import list_of

INVALID = 422
CONFLICT = 409
PREVIEW, CONTINUE, INVITE = "preview", "continue", "invite"
INVITE_PAGE = "study-invite"


def make_form(kind: type[SettingsForm], request: HttpRequest, study: Study) -> SettingsForm:
    """Return the form of a page: with what was posted, or with what is saved."""
    # a copy: validation writes into it, and the page's frame shows the study as it is
    data = request.POST if request.method == "POST" else None
    return kind(data, instance=copy(study), zone=zone_of(request.user))


def save_settings(request: HttpRequest, form: SettingsForm) -> HttpResponseBase | None:
    """Save what was posted and lead on; None for a page to show, with its errors if any.

    The button that was pressed decides: Save stays, Save and continue leads to the next page.
    """
    if not form.is_bound or form.action == PREVIEW:
        return None
    if not form.is_valid():
        return None
    values = form.values()
    study = Study.objects.get(pk=form.instance.pk)
    try:
        saved = change_settings(
            study=study,
            values=values,
            seen=form.cleaned_data["seen"],
            by=request.user,
            is_new_version=form.cleaned_data.get("is_new_version", False),
        )
    except ValidationError as error:
        form.add_error(None, error)
        return None
    messages.success(request, _describe_saving(study, saved, form, values))
    leads_to = {CONTINUE: find_next(form.page), INVITE: INVITE_PAGE}
    name = leads_to.get(form.action, PAGE_NAMES[form.page])
    return redirect(f"admin:{name}", study.pk)


def _describe_saving(study: Study, saved: Study, form: SettingsForm, values: dict[str, Any]) -> str:
    names = [name for name in values if getattr(saved, name) != getattr(study, name)]
    labels = [str(form.fields[name].label).lower() for name in names]
    if not labels:
        return "Nothing was changed."
    is_new = saved.version_id != study.version_id
    start = f"Saved as {saved.version}: " if is_new else "Saved: "
    return f"{start}{list_of(labels)}."


def find_next(page: str) -> str:
    """Return the name of the page after this one of Set up; after the last, that of the launch."""
    keys = list(PAGE_NAMES)
    number = keys.index(page) + 1
    return PAGE_NAMES[keys[number]] if number < len(keys) else "study-launch"


def describe_page(study: Study, form: SettingsForm) -> dict[str, Any]:
    """Return what the template of every page of Set up needs; `shown` is as typed, if valid."""
    is_valid = form.is_bound and form.is_valid()
    shown = form.instance if is_valid else study
    is_checked = form.is_bound and form.action != PREVIEW
    errors = form.non_field_errors().as_data() if is_checked else []
    is_conflict = any(isinstance(error, ChangedMeanwhile) for error in errors)
    return {
        "form": form,
        "shown": shown,
        "more": describe_more(form.page, shown),
        "has_errors": bool(is_checked and form.errors),
        "saved_since": form.note_change() if is_conflict else [],
        "is_conflict": is_conflict,
        "lacking": [
            check
            for check in describe_setup(shown).problems
            if check.url_name == PAGE_NAMES[form.page]
        ],
    }


def choose_status(context: dict[str, Any]) -> int:
    """Return the status of the answer with this context."""
    if context["is_conflict"]:
        return CONFLICT
    return INVALID if context["has_errors"] else 200
