"""Staff pages of a study that runs: another number of answers per item, and later batches."""

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_POST, require_safe

from evalsite.fieldwork.checklist import measure_work, people_needed
from evalsite.fieldwork.kept_places import (
    IDLE_MINUTES,
    count_places,
    list_holders,
    take_back_places,
)
from evalsite.fieldwork.live_changes import (
    MOST,
    change_k,
    newest_places,
    open_batch,
    restart_places,
)
from evalsite.handout.change_k import Fit, foresee_fit
from evalsite.lib.clock import now
from evalsite.studies.models import Batch, Item, Membership, Study
from evalsite.studies.staff_pages import study_page
from evalsite.studies.summary_lines import count_of, name_unit

INVALID = 422
_EDITOR = Membership.Role.EDITOR
_BATCH = "batches/<uuid:batch_id>/open/"


class AnswersForm(forms.Form):
    """How many answers each item needs from now on."""

    k = forms.IntegerField(
        label="Answers per item from now on",
        min_value=1,
        max_value=MOST,
        error_messages={
            "required": "Enter how many answers each item wants.",
            "invalid": f"Enter a whole number from 1 to {MOST:,}.",
            "min_value": f"Enter a whole number from 1 to {MOST:,}.",
            "max_value": f"Enter a whole number from 1 to {MOST:,}.",
        },
    )


@study_page("answers/", name="study-answers", role=_EDITOR, within="Overview")
@require_safe
def show_answers(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show how many answers each item wants; with a number in the address, what that would do."""
    form = AnswersForm(request.GET if "k" in request.GET else None)
    is_asked = form.is_bound and form.is_valid()
    k = form.cleaned_data["k"] if is_asked else study.k
    context: dict[str, Any] = {
        "form": form,
        "k": k,
        "entered": request.GET.get("k", study.k),
        "error": form.errors["k"][0] if form.errors else "",
        "runs": study.state in (Study.State.LIVE, Study.State.PAUSED),
    }
    if is_asked and k != study.k:
        context["consequences"] = describe_fit(study, k, foresee_fit(study, k))
    status = INVALID if form.errors else 200
    return TemplateResponse(request, "fieldwork/answers.html", context, status=status)


def describe_fit(study: Study, k: int, fit: Fit) -> list[str]:
    """Return what asking for k answers per item does, one sentence each."""
    phrases = []
    if fit.added:
        verb = "comes" if fit.added == 1 else "come"
        phrases.append(f"{count_of(fit.added, 'place')} {verb} after the existing ones.")
    if fit.now_counted:
        phrases.append(
            f"{count_of(fit.now_counted, 'surplus answer')} will count, in these places."
        )
    if fit.free_gone:
        phrases.append(f"{count_of(fit.free_gone, 'free place')} will be taken away.")
    if fit.leased_gone:
        phrases.append(
            f"{count_of(fit.leased_gone, 'place')} that people hold will be taken away. Anyone "
            "with it on screen can still save it; the answer is kept as surplus."
        )
    if fit.now_surplus:
        phrases.append(
            f"{count_of(fit.now_surplus, 'answer')} will become surplus: the newest of each "
            f"{name_unit(study)} first. They stay in the exports, with that status."
        )
    if k > study.k:
        people = people_needed(study, replace(measure_work(study), k=k))[0]
        phrases.append(f"It then takes {count_of(people, 'person', 'people')} or more.")
    return phrases


class ChangeForm(AnswersForm):
    """The number, and the study's revision when the person saw what it would do."""

    revision = forms.IntegerField(min_value=0)


@study_page("answers/change/", name="study-answers-change", role=_EDITOR)
@require_POST
def change_answers(request: HttpRequest, study: Study) -> HttpResponseBase:
    form = ChangeForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Nothing was changed. Enter the number again.")
        return redirect("admin:study-answers", study.pk)
    k, revision = form.cleaned_data["k"], form.cleaned_data["revision"]
    try:
        changed = change_k(study=study, k=k, revision=revision, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("admin:study-answers", study.pk)
    messages.success(
        request,
        f"The study asks for {count_of(k, 'answer')} per {name_unit(study)} from now on, "
        f"as {changed.version} says.",
    )
    return redirect("admin:study-overview", study.pk)


# --- later batches ------------------------------------------------------------------


@study_page(f"{_BATCH}confirm/", name="batch-open-confirm", role=_EDITOR, within="Items")
@require_safe
def confirm_open(request: HttpRequest, study: Study, batch_id: UUID) -> HttpResponseBase:
    batch = get_object_or_404(Batch, study=study, pk=batch_id)
    items = Item.objects.main().filter(batch=batch).count()
    context = {"batch": batch, "items": items, "places": items * study.k}
    return TemplateResponse(request, "fieldwork/open_batch.html", context)


@study_page(_BATCH, name="batch-open", role=_EDITOR)
@require_POST
def open_now(request: HttpRequest, study: Study, batch_id: UUID) -> HttpResponseBase:
    batch = get_object_or_404(Batch, study=study, pk=batch_id)
    try:
        open_batch(batch=batch, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, f"{batch.file_name} is open to people.")
    return redirect("admin:batch-list", study.pk)


# --- places kept for people who left ------------------------------------------------


class SilenceForm(forms.Form):
    """Since when people have been silent."""

    before = forms.CharField()

    def clean_before(self) -> datetime:
        try:
            before = datetime.fromisoformat(self.cleaned_data["before"])
        except ValueError:
            before = None
        if before is None or before.tzinfo is None:
            raise ValidationError("Enter a moment with its time zone.", code="moment")
        return min(before, now())


@study_page("places/kept/", name="study-places-kept", role=_EDITOR, within="Overview")
@require_safe
def show_kept(request: HttpRequest, study: Study) -> HttpResponseBase:
    """List people who hold places and have gone quiet, before these are taken back."""
    asked = request.GET.get("minutes", "")
    minutes = int(asked) if re.fullmatch("[0-9]{1,4}", asked) else IDLE_MINUTES
    before = now() - timedelta(minutes=minutes)
    holders = list_holders(study, before=before)
    context = {
        "holders": holders,
        "places": count_places(holders),
        "minutes": minutes,
        "before": before.isoformat(),
    }
    return TemplateResponse(request, "fieldwork/kept_places.html", context)


@study_page("places/kept/take-back/", name="study-places-take-back", role=_EDITOR)
@require_POST
def take_back(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Free the places that the page showed, but for those of people who answered since."""
    form = SilenceForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Nothing was taken back. Look at the list again.")
        return redirect("admin:study-places-kept", study.pk)
    before = form.cleaned_data["before"]
    holders = take_back_places(study=study, before=before, by=request.user)
    if holders:
        places = count_of(count_places(holders), "place")
        people = count_of(len(holders), "person", "people")
        messages.success(request, f"Taken back: {places} from {people}.")
    else:
        messages.warning(request, "Nothing was taken back: these places are no longer held.")
    return redirect("admin:study-overview", study.pk)


# --- the job ------------------------------------------------------------------------


def describe_places(study: Study) -> dict[str, Any]:
    """Return what a page shows of work on the places; nothing once it is done."""
    job = newest_places(study)
    if job is None or job.state == "done":
        return {}
    return {"places": job, "has_stopped": not job.is_open or job.is_stale}


@study_page("places/again/", name="study-places-again", role=_EDITOR)
@require_POST
def restart(request: HttpRequest, study: Study) -> HttpResponseBase:
    try:
        restart_places(study=study, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("admin:study-overview", study.pk)
