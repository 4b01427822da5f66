"""The staff page of a study's analysis plan."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from evalsite.quality.plan_state import plan_of
from evalsite.results.analysis_plan.forms import EVERY_PAIR, PlanForm
from evalsite.results.analysis_plan.stored import change_plan, describe_plan, limits_of
from evalsite.results.analysis_plan.wording import describe_margin, describe_moment, write_limit
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import StudyView, has_role


@require_http_methods(["GET", "HEAD", "POST"])
def show_analysis_plan(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show the plan: how results are compared, raters judged, answers left out.

    It is a form for editors until the launch, and for owners from then on. With `reset` the
    thresholds are the starting values again, whatever the fields hold.
    """
    role = Membership.Role.OWNER if study.is_launched else Membership.Role.EDITOR
    may_change = study.state != Study.State.ARCHIVED and has_role(request, study, role)
    if request.method == "POST" and not may_change:
        raise PermissionDenied
    posted = request.POST if request.method == "POST" else None
    form = PlanForm(posted, study=study, plan=plan_of(study)) if may_change else None
    if posted is not None and form is not None and _save(request, study, form):
        return redirect("admin:study-analysis-plan", study.pk)
    has_errors = form is not None and bool(form.errors)
    return TemplateResponse(
        request,
        "results/plan.html",
        {"form": form, "has_errors": has_errors, **_describe(study)},
        status=422 if has_errors else 200,
    )


def _save(request: HttpRequest, study: Study, form: PlanForm) -> bool:
    if "reset" in request.POST:
        form.drop_thresholds()
    if not form.is_valid():
        return False
    try:
        changed = change_plan(
            study=study, values=form.values, seen=form.cleaned_data["seen"], by=request.user
        )
    except ValidationError as error:
        form.add_error(None, error)
        return False
    messages.success(request, "Saved." if changed else "Nothing was changed.")
    return True


def _describe(study: Study) -> dict[str, Any]:
    """Return what the page shows beside the form, and instead of it to readers."""
    plan = describe_plan(study)
    own = plan["thresholds"]
    return {
        "plan": plan,
        "compared": f"Each system with {plan['baseline']}" if plan["baseline"] else EVERY_PAIR,
        "primary": next(
            (one.label for one in study.config.criteria if one.key == plan["primary"]), ""
        ),
        "primary_moment": describe_moment(plan, "primary"),
        "margins": [describe_margin(one) for one in plan["margins"]],
        "margins_moment": describe_moment(plan, "margins"),
        "baseline_moment": describe_moment(plan, "baseline"),
        "rule_moment": describe_moment(plan, "exclusion_rule"),
        "thresholds_moment": describe_moment(plan, "thresholds"),
        "limits": [
            {
                "limit": limit,
                "value": write_limit(limit, own.get(limit.key, limit.start)),
                "start": write_limit(limit, limit.start),
                "is_own": limit.key in own,
            }
            for limit in limits_of(study)
        ],
    }


plan_views = [
    StudyView(
        path="analysis-plan/",
        name="study-analysis-plan",
        view=show_analysis_plan,
        place="Set up",
        tab="Analysis plan",
        order=42,
    ),
]
