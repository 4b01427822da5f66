"""Staff pages: who meets the plan's rules, applying or declining them, and closing the study."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.decisions.applying_rules import (
    Matches,
    apply_rules,
    decline_rules,
    find_matches,
    insist_on_rest,
)
from evalsite.decisions.exclusion_rules import list_rules
from evalsite.decisions.frozen_plans import count_at_work, find_state, find_version, is_hidden
from evalsite.decisions.models import MOST_LETTERS, PlanEvent
from evalsite.fieldwork.launch import close_study
from evalsite.lib.deadlocks import in_transaction
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import study_page
from evalsite.studies.summary_lines import count_of

SHOWN = 20
INVALID = 422
APPLY, DECLINE = "apply", "decline"
_OWNER = Membership.Role.OWNER


class DecisionForm(forms.Form):
    """Whether the rules are applied; why not, where they aren't."""

    choice = forms.ChoiceField(
        error_messages=dict.fromkeys(
            ("required", "invalid_choice"), "Choose whether the rules are applied."
        ),
    )
    seen = forms.CharField(required=False)
    reason = forms.CharField(
        required=False,
        max_length=MOST_LETTERS,
        error_messages={
            "max_length": f"Give the reason in {MOST_LETTERS} characters or fewer.",
            "null_characters_not_allowed": "Enter a reason in plain characters.",
        },
    )

    def __init__(self, data: Any, *, may_decline: bool = True) -> None:
        super().__init__(data)
        choices = [(APPLY, "Apply the rules"), (DECLINE, "Leave everyone in")]
        self.fields["choice"].choices = choices if may_decline else choices[:1]  # type: ignore[attr-defined]
        self.fields["choice"].required = may_decline

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if values.get("choice") == DECLINE and not values.get("reason") and not self.errors:
            self.add_error("reason", "Enter why the rules aren’t applied. The report prints it.")
        return values


def describe_matches(study: Study, matches: Matches) -> dict[str, Any]:
    """Return who would be excluded, the first of them with the rule they meet."""
    fresh = matches.open
    return {
        "matches": matches,
        "would_go": len(fresh.people),
        "answers_gone": fresh.answers,
        "items_short": len(fresh.items),
        "already": len(matches.together.people) - len(fresh.people),
        "shown": [
            (person, [rule.sentence for rule in matches.outcomes if pk in rule.people])
            for pk, person in list(fresh.people.items())[:SHOWN]
        ],
        "more": max(0, len(fresh.people) - SHOWN),
    }


@study_page("exclusions/rules/", name="study-rules", role=_OWNER, within="Exclusions")
@require_http_methods(["GET", "HEAD", "POST"])
def show_rules(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show who meets the rules now; a post applies them, or of a closed study declines them."""
    state = find_state(study)
    must_decide = state.needs_decision
    data = request.POST if request.method == "POST" else None
    form = DecisionForm(data, may_decline=must_decide)
    if form.is_valid():
        try:
            in_transaction(lambda: _decide(study, form, request.user, must_rest=must_decide))
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, _describe_decision(study, form))
            return redirect("admin:study-exclusions", study.pk)
    context = {
        "form": form,
        "must_decide": must_decide,
        "at_work": count_at_work(study) if must_decide else 0,
        "plan_version": find_version(study),
        "are_systems_hidden": state.is_hidden,
        "has_ended": study.has_ended,
        **describe_matches(study, find_matches(study)),
    }
    status = INVALID if form.errors else 200
    return TemplateResponse(request, "results/rules.html", context, status=status)


def _decide(study: Study, form: DecisionForm, by: Any, *, must_rest: bool) -> None:
    values = form.cleaned_data
    if must_rest:
        insist_on_rest(study)
    if values["choice"] == DECLINE:
        decline_rules(study=study, by=by, reason=values["reason"])
    else:
        apply_rules(study=study, by=by, seen=values["seen"])


def _describe_decision(study: Study, form: DecisionForm) -> str:
    if form.cleaned_data["choice"] == DECLINE:
        return "Everyone is left in. The report lists this as a deviation."
    event = PlanEvent.objects.filter(study=study, kind=PlanEvent.Kind.APPLIED).last()
    gone = 0 if event is None else event.number
    who = count_of(gone, "more person", "more people") if gone else "nobody else"
    return f"The rules are applied: {who} excluded."


# --- closing --------------------------------------------------------------------------------


@study_page("close/", name="study-close-confirm", role=_OWNER, within="Overview")
@require_safe
def confirm_close(request: HttpRequest, study: Study) -> HttpResponseBase:
    return _show_closing(request, study, None)


def _show_closing(
    request: HttpRequest, study: Study, form: DecisionForm | None
) -> HttpResponseBase:
    at_work = count_at_work(study)
    has_rules = find_version(study) is not None and bool(list_rules(study))
    context: dict[str, Any] = {
        "form": form or DecisionForm(None),
        "at_work": at_work,
        "has_rules": has_rules,
        "can_decide_now": has_rules and not at_work,
        "are_systems_hidden": is_hidden(study),
    }
    if context["can_decide_now"]:
        context |= describe_matches(study, find_matches(study))
    status = 200 if form is None else INVALID
    return TemplateResponse(request, "results/close.html", context, status=status)


@study_page("close/now/", name="study-close", role=_OWNER)
@require_POST
def close(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Close the study; with nobody at work its rules are applied or declined at once."""
    is_open = study.state in (Study.State.LIVE, Study.State.PAUSED)
    has_rules = find_version(study) is not None and bool(list_rules(study))
    form = None
    if is_open and has_rules and not count_at_work(study):
        form = DecisionForm(request.POST)
        if not form.is_valid():
            return _show_closing(request, study, form)
    try:
        _close(study, form, request.user)
    except ValidationError as error:
        if form is not None:
            form.add_error(None, error)
            return _show_closing(request, study, form)
        messages.error(request, " ".join(error.messages))
    else:
        done = "Closed." if form is None else f"Closed. {_describe_decision(study, form)}"
        messages.success(request, done)
    return redirect("admin:study-overview", study.pk)


@transaction.atomic
def _close(study: Study, form: DecisionForm | None, by: Any) -> None:
    close_study(study=study, by=by)
    if form is not None:
        _decide(study, form, by, must_rest=False)
