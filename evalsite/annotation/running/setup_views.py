"""Staff pages of Set up: its sections, each with a preview, and the launch checklist."""

from collections.abc import Callable
from copy import copy
from functools import cache
from typing import Any

from django import forms
from django.conf.locale import LANG_INFO
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.accounts.time_zones import zone_of
from evalsite.annotation.running.checklist import check_reading_time
from evalsite.annotation.running.launch import describe_frozen, launch_study, newest_launch
from evalsite.annotation.running.made_check_views import made_check_views
from evalsite.annotation.running.made_checks import list_made, list_uploaded
from evalsite.annotation.running.previews import is_preview, make_previews
from evalsite.annotation.running.setup import describe_dates, describe_setup
from evalsite.jobs.live_page import keep_watching
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.setting_changes import (
    ChangedMeanwhile,
    change_settings,
    describe_last_change,
)
from evalsite.studies.setup_forms import SectionForm, list_groups, make_options_form
from evalsite.studies.setup_sections import SECTIONS, Section
from evalsite.studies.staff_pages import StudyView, has_role, study_url
from evalsite.studies.summary_lines import describe_work, list_of
from evalsite.studies.versions import protocol_instructions

INVALID = 422
CONFLICT = 409
MOST_LISTED = 100
# where [Save and continue] leads: the navigation's next page
_NEXT = {
    "basics": ("batch-list", "items"),
    "first-page": ("setup-instructions", "instructions"),
    "instructions": ("setup-work", "work and pay"),
    "work": ("setup-checks", "checks"),
    "checks": ("study-analysis-plan", "the analysis plan"),
}


def _choose_next(study: Study, section: Section) -> tuple[str, str]:
    """Return where to go on: to the checklist if nothing is lacking in any other section."""
    is_draft = study.version_id is None and not study.has_ended
    if is_draft and all(one.url_name == section.page for one in describe_setup(study).problems):
        return "study-launch", "the launch checklist"
    if section.key == "basics" and describe_setup(study).counts.items:
        return "setup-first-page", "first page and consent"
    return _NEXT[section.key]


# --- sections -------------------------------------------------------------------------


def _show_section(section: Section) -> Callable[..., HttpResponseBase]:
    """Return the view of a section: saved whole or, with the reason, not at all."""

    @require_http_methods(["GET", "HEAD", "POST"])
    def view(request: HttpRequest, study: Study) -> HttpResponseBase:
        data = request.POST if request.method == "POST" else None
        # a copy: validation writes into it, and the page's frame shows the study as it is
        zone = zone_of(request.user)
        form = SectionForm(data, instance=copy(study), section=section, zone=zone)
        options = make_options_form(study, section, data)
        status, saved_since = 200, []
        if data is not None and request.POST.get("do") != "preview":
            status = _save(request, study, form, options)
            if status == 200:
                goes_on = request.POST.get("do") == "continue"
                saved = Study.objects.get(pk=study.pk)
                name = _choose_next(saved, section)[0] if goes_on else section.page
                return redirect(f"admin:{name}", study.pk)
            if status == CONFLICT:
                saved_since = form.note_change()
        context = _describe_section(study, form, options)
        return TemplateResponse(
            request,
            f"studies/setup_{section.key.replace('-', '_')}.html",
            context | {"saved_since": saved_since},
            status=status,
        )

    return view


def _describe_section(
    study: Study, form: SectionForm, options: forms.Form | None
) -> dict[str, Any]:
    section, shown = form.section, study
    if form.is_bound and form.is_valid():
        shown = form.instance
        if options is not None and options.is_valid():
            shown.options = options.cleaned_data
    setup = describe_setup(study)
    adds_up = section.key in ("work", "checks")
    return {
        "section": section,
        "form": form,
        "shown": shown,
        "groups": list(list_groups(form, options)),
        "has_errors": bool(form.errors or (options and options.errors)),
        "dates": describe_dates(shown, form.zone),
        "next_name": _choose_next(study, section)[1],
        "previews": make_previews(shown, section.previews),
        "lacking": [one for one in describe_setup(shown).problems if one.url_name == section.page],
        "checks": _list_checks(study) if section.key == "checks" else [],
        "work": describe_work(shown, setup.work.items, setup.find_groups(shown)) if adds_up else "",
        "own_instructions": (protocol_instructions(study) if section.key == "instructions" else ""),
        "languages": _list_languages() if section.key == "basics" else [],
        "can_delete": (
            section.key == "basics" and not study.is_launched and study.version_id is None
        ),
    }


@cache
def _list_languages() -> list[tuple[str, str]]:
    """Return codes of languages with their English names, by name."""
    names = {code: about["name"] for code, about in LANG_INFO.items() if "name" in about}
    return sorted(names.items(), key=lambda one: one[1])


def _list_checks(study: Study) -> list[tuple[Item, list[tuple[str, str]], bool]]:
    """Return each check with its right answers, and whether it was made here."""
    criteria = study.config.criteria
    made = [(item, True) for item in list_made(study)[:MOST_LISTED]]
    uploaded = [(item, False) for item in list_uploaded(study)[:MOST_LISTED]]
    return [
        (
            item,
            [(one.label, item.gold[one.key]) for one in criteria if item.gold.get(one.key)],
            is_made,
        )
        for item, is_made in [*made, *uploaded]
    ]


def _save(request: HttpRequest, study: Study, form: SectionForm, options: forms.Form | None) -> int:
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
            seen=form.cleaned_data["seen"],
            by=request.user,
            is_new_version=form.cleaned_data.get("is_new_version", False),
        )
    except ValidationError as error:
        form.add_error(None, error)
        return CONFLICT if isinstance(error, ChangedMeanwhile) else INVALID
    messages.success(request, _describe_saving(study, saved, form, values))
    return 200


def _describe_saving(study: Study, saved: Study, form: SectionForm, values: dict[str, Any]) -> str:
    names = [name for name in values if getattr(saved, name) != getattr(study, name)]
    labels = [
        str(form.fields[name].label).lower() if name in form.fields else "options of the protocol"
        for name in names
    ]
    if not labels:
        return "Nothing was changed."
    is_new = saved.version_id != study.version_id
    what = f"Saved as {saved.version}: " if is_new else "Saved: "
    return f"{what}{list_of(labels)}."


@require_safe
def show_preview(request: HttpRequest, study: Study, key: str) -> HttpResponseBase:
    """Show a page of participants by itself, as it is saved."""
    previews = make_previews(study, [key]) if is_preview(key) else []
    if not previews:
        raise Http404("There is no such page yet.")
    return HttpResponse(previews[0].html)


# --- the checklist ----------------------------------------------------------------------


@require_safe
def show_launch(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show the checklist; once launched is pressed, how far the job is."""
    if study.is_launched:
        return redirect("admin:study-overview", study.pk)
    job = newest_launch(study)
    setup = describe_setup(study)
    reading = check_reading_time(study)
    remarks = [*setup.remarks, *([reading] if reading.remark else [])]
    response = TemplateResponse(
        request,
        "studies/launch.html",
        {
            "job": job,
            "can_restart": job is not None and (not job.is_open or job.is_stale),
            "setup": setup,
            "dates": describe_dates(study, zone_of(request.user)),
            "problems": [(one, study_url(one.url_name, study)) for one in setup.problems],
            "remarks": [(one, study_url(one.url_name, study)) for one in remarks],
            "looks": len(remarks) + (not setup.counts.pilots),
            "sections": [
                (section, study_url(section.page, study))
                for section in SECTIONS
                if setup.marks[section.page].is_ready
            ],
            "is_owner": has_role(request, study, Membership.Role.OWNER),
            "frozen": describe_frozen(study),
        },
    )
    return keep_watching(response, job)


@require_safe
def show_changes(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show what can still change in a launched study; a draft has its checklist."""
    if not study.is_launched:
        return redirect("admin:study-launch", study.pk)
    return TemplateResponse(request, "studies/launched.html", {"setup": describe_setup(study)})


@require_POST
def start_launch(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Launch the study as the person saw it on the checklist."""
    try:
        if request.POST.get("revision", str(study.revision)) != str(study.revision):
            raise ValidationError(
                f"{describe_last_change(study, request.user)} Look at the list again."
            )
        seen = request.POST.getlist("seen") if "revision" in request.POST else None
        launch_study(study=study, by=request.user, seen=seen)
    except ValidationError as error:
        for problem in error.messages:
            messages.error(request, problem)
    return redirect("admin:study-launch", study.pk)


_EDITOR = Membership.Role.EDITOR
_ORDERS = {"basics": 10, "first-page": 30, "instructions": 32, "work": 34, "checks": 36}

setup_views = [
    StudyView(
        path="launch/",
        name="study-launch",
        view=show_launch,
        role=_EDITOR,
        place="Set up",
        tab="Launch",
        order=1,
        is_shown=lambda study: not study.is_launched,
    ),
    StudyView(
        path="set-up/",
        name="study-setup",
        view=show_changes,
        role=_EDITOR,
        place="Set up",
        tab="After launch",
        order=2,
        is_shown=lambda study: study.is_launched,
    ),
    StudyView(
        path="launch/start/",
        name="study-launch-start",
        view=start_launch,
        role=Membership.Role.OWNER,
    ),
    *(
        StudyView(
            path=f"set-up/{section.key}/",
            name=section.page,
            view=_show_section(section),
            role=_EDITOR,
            place="Set up",
            tab=section.label,
            order=_ORDERS[section.key],
        )
        for section in SECTIONS
    ),
    *made_check_views,
    StudyView(
        path="set-up/preview/<slug:key>/", name="setup-preview", view=show_preview, role=_EDITOR
    ),
]
