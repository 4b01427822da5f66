"""Staff page: what is missing, worth a look and frozen before a launch; and the launch itself."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import prefetch_related_objects
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_POST, require_safe

from evalsite.core.accounts.time_zones import zone_of
from evalsite.core.jobs.live_page import keep_watching
from evalsite.core.jobs.models import Job
from evalsite.core.mail import is_mail_on
from evalsite.decisions.exclusion_rules import describe_rule
from evalsite.decisions.frozen_plans import build_plan, mark_content, plan_of
from evalsite.decisions.models import AnalysisPlan
from evalsite.decisions.plan_commitment import foresee_line
from evalsite.fieldwork.checklist import (
    Check,
    check_pay,
    check_people,
    check_reading_time,
    check_trial,
)
from evalsite.fieldwork.invited_people import count_expected, list_rounds
from evalsite.fieldwork.launch import (
    launch_study,
    mark_frozen,
    mark_people,
    newest_launch,
    restart_launch,
)
from evalsite.fieldwork.read_views import count_words_read
from evalsite.fieldwork.setup import describe_dates, describe_setup
from evalsite.fieldwork.shares import Rates, count_apart
from evalsite.people.models import Expert
from evalsite.results.analysis_plan.sizes import check_sizes, measure_plan
from evalsite.results.analysis_plan.stored import name_criteria
from evalsite.results.analysis_plan.wording import describe_hypothesis, describe_margin
from evalsite.results.quality_page import find_flags
from evalsite.studies.models import Membership, Study
from evalsite.studies.setting_changes import change_settings
from evalsite.studies.staff_pages import has_role, may_see_identities, study_page, study_url

_MOST_NAMES = 10
_EDITOR, _OWNER = Membership.Role.EDITOR, Membership.Role.OWNER


@study_page("launch/", name="study-launch", role=_EDITOR, tab="Launch")
@require_safe
def show_launch(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show what a launch would freeze; once it is pressed, how far the job is; then Invite."""
    if study.is_launched:
        return redirect("admin:study-invite", study.pk)
    if study.version_id is not None and (job := newest_launch(study)) is not None:
        return _show_job(request, study, job)
    prefetch_related_objects([study], "systems")
    setup, plan, rounds = describe_setup(study), plan_of(study), list_rounds(study)
    people = list(study.experts.order_by("pk"))
    content, expected = build_plan(study, plan), count_expected(study, rounds)
    sizes = measure_plan(study, plan, expected)
    looks = [
        check_trial(setup.counts),
        check_reading_time(study),
        check_sizes(sizes),
        _check_invited(rounds),
        check_people(study, setup.work, expected or 0),
        _check_apart(study, people),
        check_pay(study, setup.estimate.hourly),
        *setup.remarks,
    ]
    is_owner = has_role(request, study, _OWNER)
    flags = find_flags(study, setup.counts, plan)
    problems = setup.problems
    marks = {"plan": mark_content(content), "people": mark_people(people)}
    context = {
        "setup": setup,
        "dates": describe_dates(study, zone_of(request.user)),
        "problems": [(check, study_url(check.url_name, study)) for check in problems],
        "looks": [(check, study_url(check.url_name, study)) for check in looks if check.remark],
        "words": count_words_read(study),
        "expected": expected,
        "people": people,
        "names": [
            person.describe(with_address=is_owner)
            for person in people[:_MOST_NAMES]
            if may_see_identities(request, study)
        ],
        "has_other_work": any(person.rates != Rates.ALL for person in people),
        "mails": sum(bool(person.email) for person in people) if is_mail_on() else 0,
        "flags": flags,
        "can_fire": sum(flag.can_fire for flag in flags),
        "questions": _describe_questions(study, plan),
        "rules": [*map(describe_rule, content.get("rules", ()))],
        "can_decide": sizes[0] if sizes else None,
        "line": "" if problems else foresee_line(study, content),
        "owners": "" if is_owner else _name_owners(study),
        "form": LaunchForm(initial={"seen": write_marks(mark_frozen(study, marks))}),
    }
    return TemplateResponse(request, "results/launch.html", context)


def _show_job(request: HttpRequest, study: Study, job: Job) -> HttpResponseBase:
    context = {
        "job": job,
        "can_restart": not job.is_open or job.is_stale,
        "is_owner": has_role(request, study, _OWNER),
    }
    return keep_watching(TemplateResponse(request, "results/launch_job.html", context), job)


def _check_invited(rounds: list[Any]) -> Check:
    """Somebody is invited, or a link that people share is on; else a remark."""
    is_invited = any((round_.is_on and round_.has_link) or round_.link_count for round_ in rounds)
    return Check(
        label="People",
        remark="" if is_invited else "Nobody is invited. You can invite after launch as well.",
        url_name="study-invite",
        action="Invite",
    )


def _check_apart(study: Study, people: list[Expert]) -> Check:
    """The people invited share inputs, if not all with all; else a remark."""
    is_simple = all(person.rates == Rates.ALL for person in people)
    groups = 1 if is_simple else count_apart(study, people)
    remark = (
        f"{groups} groups of people share no input. Nobody can tell then whether two groups "
        "differ, or what they rated. Let some inputs be rated by people of both."
    )
    return Check(
        label="Shared inputs",
        remark=remark if groups > 1 else "",
        url_name="study-invite",
        action="Change who rates what",
    )


def _describe_questions(study: Study, plan: AnalysisPlan) -> list[str]:
    names = name_criteria(study, plan)
    return [
        *(describe_hypothesis(names, question) for question in plan.hypotheses),
        *(describe_margin(names, question) for question in plan.margins),
    ]


def _name_owners(study: Study) -> str:
    owners = study.memberships.filter(role=_OWNER).select_related("user").order_by("pk")
    names = [owner.user.get_full_name() or owner.user.get_username() for owner in owners]
    return " or ".join(names)


# --- what is posted -----------------------------------------------------------------------


class LaunchForm(forms.Form):
    """What the person saw: a digest of each part that is frozen."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean_seen(self) -> dict[str, str] | None:
        """Return the digests by part; None if the request doesn't say what was seen."""
        text = self.cleaned_data["seen"]
        return dict(part.partition("=")[::2] for part in text.split()) if text else None


def write_marks(marks: dict[str, str]) -> str:
    return " ".join(f"{name}={mark}" for name, mark in marks.items())


@study_page("launch/start/", name="study-launch-start", role=_OWNER)
@require_POST
def start_launch(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Launch the study as the person saw it; if anything was changed since, say what."""
    form = LaunchForm(request.POST)
    form.is_valid()
    try:
        launch_study(study=study, by=request.user, seen=form.cleaned_data["seen"])
    except ValidationError as error:
        _show_error(request, error)
    return redirect("admin:study-launch", study.pk)


@study_page("launch/again/", name="study-launch-again", role=_OWNER)
@require_POST
def start_again(request: HttpRequest, study: Study) -> HttpResponseBase:
    try:
        restart_launch(study=study, by=request.user)
    except ValidationError as error:
        _show_error(request, error)
    return redirect("admin:study-launch", study.pk)


class OfferForm(forms.Form):
    """A setting with which the people invited can finish."""

    offer = forms.CharField()
    revision = forms.IntegerField()


@study_page("launch/offer/", name="study-launch-offer", role=_EDITOR)
@require_POST
def take_offer(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Save what a button of the page offers."""
    form = OfferForm(request.POST)
    offers = {offer.key: offer for offer in check_people(study).offers}
    offer = offers.get(form.cleaned_data["offer"]) if form.is_valid() else None
    if offer is None or form.cleaned_data["revision"] != study.revision:
        messages.error(request, "The settings were changed meanwhile. Look at the list again.")
        return redirect("admin:study-launch", study.pk)
    values: dict[str, Any] = dict(offer.changes)
    try:
        change_settings(study=study, values=values, revision=study.revision, by=request.user)
    except ValidationError as error:
        _show_error(request, error)
    else:
        messages.success(request, f"Changed: {offer.words[:1].lower()}{offer.words[1:]}.")
    return redirect("admin:study-launch", study.pk)


def _show_error(request: HttpRequest, error: ValidationError) -> None:
    for problem in error.messages:
        messages.error(request, problem)
