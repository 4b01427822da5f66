"""Staff pages of the pilot: the link for colleagues, their times, answers and comments."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from evalsite.fieldwork.pilot import (
    is_link_open,
    pilot_token,
    settle_comment,
    start_pilot,
    switch_link,
)
from evalsite.fieldwork.pilot_results import (
    ROWS,
    compare_answers,
    find_answers,
    list_pilots,
    measure_times,
    name_pilot,
    suggest_time_and_pay,
)
from evalsite.fieldwork.setup import describe_setup
from evalsite.people.models import PilotComment
from evalsite.studies.models import Membership, Study
from evalsite.studies.setting_changes import change_settings
from evalsite.studies.settings import name_page
from evalsite.studies.staff_pages import study_page
from evalsite.studies.summary_lines import format_money, minutes_per_set

_EDITOR = Membership.Role.EDITOR
_TEXTS = {"first-page": "summary", "consent": "consent", "instructions": "instructions"}


class LinkForm(forms.Form):
    """Whether the link for colleagues works."""

    do = forms.ChoiceField(choices=[("on", "Make a link"), ("off", "Turn off the link")])


class SettleForm(forms.Form):
    """What becomes of a comment."""

    do = forms.ChoiceField(choices=[("resolve", "Resolve"), ("reopen", "Open again")])


@study_page("pilot/", name="study-pilot", role=_EDITOR, tab="Try it")
@require_safe
def show_pilot(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show who tried the study, how long it took, what they say and where they disagree."""
    people = list_pilots(study)
    answers = find_answers(people) if people else []
    times = measure_times(people, answers)
    compared = [person for person in people if person.given]
    differences = compare_answers(study, compared, answers)
    suggestion = suggest_time_and_pay(study, times)
    comments = list(
        study.pilot_comments.select_related("participant__tester", "item", "resolved_by")
    )
    link = reverse("pilot-join", args=[pilot_token(study)])
    return TemplateResponse(
        request,
        "fieldwork/pilot.html",
        {
            "pilots": people,
            "names": [name_pilot(person) for person in compared],
            "times": times,
            "longest": max((time.total.total_seconds() for time in times), default=0),
            "finished": sum(time.is_finished for time in times),
            "suggestion": suggestion,
            "suggested_pay": (
                format_money(suggestion.pay, study.currency)
                if suggestion is not None and suggestion.pay is not None
                else ""
            ),
            "promised": minutes_per_set(study),
            "differences": differences[:ROWS],
            "compared": len(differences),
            "open_comments": [
                _describe(study, comment) for comment in comments if not comment.resolved_at
            ],
            "resolved": [_describe(study, comment) for comment in comments if comment.resolved_at],
            "link": request.build_absolute_uri(link) if is_link_open(study) else "",
            "has_items": describe_setup(study).counts.items > 0,
        },
    )


def _describe(study: Study, comment: PilotComment) -> dict[str, Any]:
    """Return a comment with what it is about, and the page where that is changed."""
    if comment.kind == PilotComment.Kind.ITEM and comment.item is not None:
        about, name = f"Item: {comment.item.key}", "batch-list"
    elif comment.kind == PilotComment.Kind.QUESTION:
        labels = {criterion.key: criterion.label for criterion in study.config.criteria}
        about, name = (
            f"Question: {labels.get(comment.subject, comment.subject)}",
            name_page("instructions"),
        )
    else:
        about = f"Text: {comment.subject.replace('-', ' ')}"
        name = name_page(_TEXTS.get(comment.subject, "instructions"))
    return {
        "comment": comment,
        "about": about,
        "by": name_pilot(comment.participant),
        "url": reverse(f"admin:{name}", args=[study.pk]),
    }


@study_page("pilot/take/", name="study-pilot-take", role=_EDITOR)
@require_POST
def take_pilot(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Go to the participants' pages as a person whose answers never count."""
    try:
        token = start_pilot(study=study, by=request.user)
    except ValidationError as error:
        for problem in error.messages:
            messages.error(request, problem)
        return redirect("admin:study-pilot", study.pk)
    response = HttpResponseRedirect(reverse("participant-home", args=[token]))
    response.status_code = 303
    return response


@study_page("pilot/link/", name="study-pilot-link", role=_EDITOR)
@require_POST
def switch_pilot_link(request: HttpRequest, study: Study) -> HttpResponseBase:
    form = LinkForm(request.POST)
    is_on = form.is_valid() and form.cleaned_data["do"] == "on"
    switch_link(study=study, is_on=is_on, by=request.user)
    messages.success(
        request,
        "The link is ready: copy it, and send it to your colleagues."
        if is_on
        else "The link is turned off. People who have started can go on.",
    )
    return redirect("admin:study-pilot", study.pk)


@study_page("pilot/use/", name="study-pilot-use", role=_EDITOR)
@require_POST
def use_times(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Save the time and pay that the pilot suggests."""
    people = list_pilots(study)
    suggestion = suggest_time_and_pay(study, measure_times(people, find_answers(people)))
    if suggestion is None:
        messages.error(request, "At least three people must finish the pilot first.")
        return redirect("admin:study-pilot", study.pk)
    try:
        change_settings(study=study, values=suggestion.values, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        pay = (
            "" if suggestion.pay is None else f" and {format_money(suggestion.pay, study.currency)}"
        )
        messages.success(request, f"Saved: {suggestion.minutes} minutes{pay} for a set.")
    return redirect("admin:study-pilot", study.pk)


@study_page("pilot/comments/<int:comment_id>/", name="pilot-comment-settle", role=_EDITOR)
@require_POST
def settle(request: HttpRequest, study: Study, comment_id: int) -> HttpResponseBase:
    """Resolve a comment, or open it again."""
    comment = get_object_or_404(PilotComment, study=study, pk=comment_id)
    form = SettleForm(request.POST)
    is_resolved = form.is_valid() and form.cleaned_data["do"] == "resolve"
    settle_comment(comment=comment, is_resolved=is_resolved, by=request.user)
    messages.success(request, "Resolved." if is_resolved else "Open again.")
    return redirect("admin:study-pilot", study.pk)
