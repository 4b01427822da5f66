"""Staff pages: pausing joins, people from one place, and places held without an answer."""

from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_POST, require_safe

from evalsite.core.audit.models import AuditEntry
from evalsite.fieldwork.kept_places import list_squatters, take_back_unanswered
from evalsite.lib.clock import now
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import study_page
from evalsite.studies.summary_lines import count_of

_EDITOR = Membership.Role.EDITOR


class JoiningForm(forms.Form):
    """Whether new people may join; without a choice, they may not."""

    do = forms.ChoiceField(choices=[("pause", "Pause"), ("resume", "Resume")], initial="pause")


@transaction.atomic
def pause_joins(*, study: Study, by: Any) -> None:
    """Let nobody new join by a link that people share; doing it again changes nothing."""
    if Study.objects.filter(pk=study.pk, joins_paused_at=None).update(joins_paused_at=now()):
        AuditEntry.objects.record("joining paused", by=by, study_id=study.pk)


@transaction.atomic
def resume_joins(*, study: Study, by: Any) -> None:
    paused = Study.objects.filter(pk=study.pk, joins_paused_at__isnull=False)
    if paused.update(joins_paused_at=None):
        AuditEntry.objects.record("joining resumed", by=by, study_id=study.pk)


@study_page("joining/", name="study-joining", role=_EDITOR)
@require_POST
def switch_joins(request: HttpRequest, study: Study) -> HttpResponseBase:
    form = JoiningForm(request.POST)
    if form.is_valid() and form.cleaned_data["do"] == "resume":
        resume_joins(study=study, by=request.user)
        messages.success(request, "New people can join again.")
    else:
        pause_joins(study=study, by=request.user)
        messages.success(request, "Joining is paused. People who have started can go on.")
    return redirect("admin:study-overview", study.pk)


@study_page("places/unanswered/", name="study-places-unanswered", role=_EDITOR, within="Overview")
@require_safe
def show_unanswered(request: HttpRequest, study: Study) -> HttpResponseBase:
    """List people who hold places and have saved nothing, before these are taken back."""
    squatters = list_squatters(study)
    context = {"squatters": squatters, "places": sum(squatter.places for squatter in squatters)}
    return TemplateResponse(request, "fieldwork/unanswered_places.html", context)


@study_page("places/unanswered/take-back/", name="study-unanswered-take-back", role=_EDITOR)
@require_POST
def take_back(request: HttpRequest, study: Study) -> HttpResponseBase:
    squatters = take_back_unanswered(study=study, by=request.user)
    if squatters:
        places = count_of(sum(squatter.places for squatter in squatters), "place")
        people = count_of(len(squatters), "person", "people")
        messages.success(request, f"Taken back: {places} from {people}.")
    else:
        messages.warning(request, "Nothing was taken back: nobody holds places without an answer.")
    return redirect("admin:study-overview", study.pk)
